/* GET LBA STATUS. */
#include "scsi_rig.h"

static struct fake_cmd *
lba_status(struct nexus *nexus, uint64_t lba, uint32_t allocation)
{
	uint8_t cdb[16] = { OP_SERVICE_IN_16, SA_GET_LBA_STATUS };

	wr64(cdb + 2, lba);
	wr32(cdb + 10, allocation);
	return fake_in(nexus, 0, cdb, sizeof(cdb), allocation);
}

static void
everything_from_the_block_on_is_mapped(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_from_the_block_on_is_mapped),
		cmocka_unit_test(past_the_end_and_short_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
