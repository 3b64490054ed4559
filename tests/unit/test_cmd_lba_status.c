/* GET LBA STATUS. */
#include "scsi_rig.h"

#include <errno.h>

static struct fake_cmd *
lba_status(struct nexus *nexus, uint64_t lba, uint32_t allocation)
{
	uint8_t cdb[16] = { OP_SERVICE_IN_16, SA_GET_LBA_STATUS };

	wr64(cdb + 2, lba);
	wr32(cdb + 10, allocation);
	return fake_in(nexus, 0, cdb, sizeof(cdb), allocation);
}

static void
where_the_disk_does_not_know_all_is_mapped(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	const uint64_t blocks = (1 << 20) / 512, at[] = { 0, 1, 1000, blocks - 1 };

	for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
		struct fake_cmd *fc = lba_status(nexus, at[i], 24);

		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, 24);
		assert_int_equal(rd32(fc->in), 20);
		assert_int_equal(rd64(fc->in + 8), at[i]);
		assert_int_equal(rd32(fc->in + 16), blocks - at[i]);
		assert_int_equal(fc->in[20], 0);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
past_the_end_and_short_allocations(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	const uint64_t past[] = { (1 << 20) / 512, UINT64_MAX };
	struct fake_cmd *fc;

	for (unsigned i = 0; i < ARRAY_LEN(past); i++) {
		fc = lba_status(nexus, past[i], 24);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
		fake_cmd_free(fc);
	}
	for (uint32_t n = 1; n < 24; n += 7) {
		fc = lba_status(nexus, 0, n);
		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, n);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

/* The disk answers in parts; what is alike is one descriptor. */
static void
holes_as_the_disk_knows_them(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP | DISK_CAP_STATUS);
	static const struct { uint64_t lba; uint32_t blocks; uint8_t status; } want[] = {
		{ 1, 2, 1 }, { 3, 1, 0 }, { 4, 196, 1 }, { 200, 301, 0 }, { 501, 1547, 1 },
	};
	struct fake_cmd *fc;

	memset(disk->mem + 3 * 512, 1, 512);
	memset(disk->mem + 200 * 512, 1, 301 * 512);
	for (unsigned room = 1; room <= ARRAY_LEN(want) + 1; room++) {
		unsigned n = MIN(room, (unsigned)ARRAY_LEN(want));

		fc = lba_status(nexus, 1, 8 + 16 * room + room);
		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, 8 + 16 * n);
		assert_int_equal(rd32(fc->in), 4 + 16 * n);
		for (unsigned i = 0; i < n; i++) {
			const uint8_t *p = fc->in + 8 + 16 * i;

			assert_int_equal(rd64(p), want[i].lba);
			assert_int_equal(rd32(p + 8), want[i].blocks);
			assert_int_equal(p[12], want[i].status);
		}
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
a_search_that_fails(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP | DISK_CAP_STATUS);
	struct fake_cmd *fc;

	disk->error[DISK_STATUS] = -EIO;
	fc = lba_status(nexus, 5, 24);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x11, 0x00);
	fake_cmd_free(fc);
	disk->error[DISK_STATUS] = 0;
	disk->hold[DISK_STATUS] = true;
	fc = lba_status(nexus, 5, 24);
	assert_int_equal(fc->dones, 0);
	disk->hold[DISK_STATUS] = false;
	fake_disk_release(disk, 1);
	rig_wait(&fc->dones, 0);
	assert_int_equal(rd32(fc->in + 16), 2043);
	DONE(fc, SCSI_GOOD);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_disk_does_not_know_all_is_mapped),
		cmocka_unit_test(past_the_end_and_short_allocations),
		cmocka_unit_test(holes_as_the_disk_knows_them),
		cmocka_unit_test(a_search_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
