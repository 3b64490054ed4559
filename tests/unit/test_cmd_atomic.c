/* WRITE ATOMIC(16). */
#include "scsi_rig.h"

#include <errno.h>

static struct fake_cmd *
atomic(struct nexus *nexus, uint64_t lba, uint16_t blocks, uint8_t flags, uint32_t edtl,
    uint8_t pattern)
{
	uint8_t cdb[16] = { OP_WRITE_ATOMIC_16, flags };

	wr64(cdb + 2, lba);
	wr16(cdb + 12, blocks);
	return send_out(nexus, cdb, sizeof(cdb), edtl, pattern, DATA_BORROWED);
}

static void
start_settle(struct fake_cmd *fc)
{
	rig_wait(&fc->dones, 0);
}

/* The disk of the fakes promises one block. */
static void
one_block_is_always_promised(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 1, 0xb0, 0, 64), 64);
	assert_int_equal(rd32(fc->in + 44), 1);		/* MAXIMUM ATOMIC TRANSFER LENGTH */
	assert_true(all_bytes(fc->in + 48, 16, 0));	/* alignment, granularity, boundaries */
	fake_cmd_free(fc);
	fc = atomic(nexus, 2047, 1, 0, 512, 0x5c);
	start_settle(fc);
	DONE(fc, SCSI_GOOD);
	assert_true(all_bytes(disk->mem, 2047 * 512, 0));
	assert_true(all_bytes(disk->mem + 2047 * 512, 512, 0x5c));
	fc = atomic(nexus, 0, 2, 0, 1024, 1);
	assert_field(fc, 12, -1);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
nothing_of_what_is_refused_is_written(void **state)
{
	static const struct { uint64_t lba; uint16_t blocks; uint32_t edtl; uint8_t asc, ascq; } bad[] = {
		{ 2048, 1, 512, 0x21, 0 },
		{ UINT64_MAX, 2, 512, 0x21, 0 },
		{ 0, UINT16_MAX, 512, 0x21, 0 },
		{ 0, 1, 0, 0x0e, 3 },
		{ 0, 1, 511, 0x0e, 3 },
		{ 0, 1, 1024, 0x0e, 3 },
	};
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		fc = atomic(nexus, bad[i].lba, bad[i].blocks, 0, bad[i].edtl, 9);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, bad[i].asc, bad[i].ascq);
		fake_cmd_free(fc);
	}
	/* ATOMIC BOUNDARY: the page says there is none. */
	fc = send_out(nexus, CDB(OP_WRITE_ATOMIC_16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1), 512, 9,
	    DATA_POOL);
	assert_field(fc, 11, 0);
	fake_cmd_free(fc);
	DONE(atomic(nexus, 2048, 0, 0, 0, 0), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
errors_and_fua(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;

	fc = atomic(nexus, 0, 1, 8, 512, 1);
	start_settle(fc);
	DONE(fc, SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 1);
	disk->error[DISK_WRITE] = -EIO;
	fc = atomic(nexus, 0, 1, 8, 512, 1);
	start_settle(fc);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

/* While it is in the disk, a read of its block waits; one of another does not. */
static void
who_reads_sees_all_or_nothing(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc, *same, *other;

	disk->hold[DISK_WRITE] = true;
	fc = atomic(nexus, 7, 1, 0, 512, 0x77);
	fake_settle();
	assert_int_equal(fake_disk_held(disk), 1);
	same = fake_read(nexus, 0, 7, 1);
	other = fake_read(nexus, 0, 8, 1);
	assert_int_equal(same->dones, 0);
	assert_int_equal(other->dones, 1);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	rig_wait(&same->dones, 0);
	assert_true(all_bytes(same->in, 512, 0x77));
	DONE(fc, SCSI_GOOD);
	DONE(same, SCSI_GOOD);
	DONE(other, SCSI_GOOD);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_block_is_always_promised),
		cmocka_unit_test(nothing_of_what_is_refused_is_written),
		cmocka_unit_test(errors_and_fua),
		cmocka_unit_test(who_reads_sees_all_or_nothing),
	};

	return cmocka_run_group_tests_name("atomic", tests, NULL, NULL);
}
