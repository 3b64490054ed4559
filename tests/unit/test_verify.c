/* VERIFY and WRITE AND VERIFY. */
#include "scsi_rig.h"

#include <errno.h>

static void
verify_compares(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus = start_with(caps[c]);
		struct fake_cmd *fc;

		memset(disk->mem, 0x11, 1 << 20);
		/* The whole disk, in several pieces. */
		DONE(send_out(nexus, CDB(OP_VERIFY_10, 0x02, 0, 0, 0, 0, 0, 8, 0), 1 << 20, 0x11,
		    DATA_BORROWED), SCSI_GOOD);
		/* One block against all of them. */
		DONE(send_out(nexus, CDB(OP_VERIFY_12, 0x06, 0, 0, 0, 0, 0, 0, 8, 0), 512, 0x11,
		    DATA_POOL), SCSI_GOOD);
		/* None: it is only read. */
		DONE(fake_in(nexus, 0, CDB(OP_VERIFY_16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0), 0),
		    SCSI_GOOD);
		disk->mem[700007] = 0x12;
		fc = send_out(nexus, CDB(OP_VERIFY_10, 0x02, 0, 0, 0, 0, 0, 8, 0), 1 << 20, 0x11,
		    DATA_BORROWED);
		assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
		assert_int_equal(rd32(fc->sense + 3), 700007);
		fake_cmd_free(fc);
		fc = send_out(nexus, CDB(OP_VERIFY_10, 0x06, 0, 0, 0, 0, 0, 8, 0), 512, 0x11,
		    DATA_POOL);
		assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
		assert_int_equal(rd32(fc->sense + 3), 700007 % 512);
		fake_cmd_free(fc);
		rig_stop(nexus);
	}
}

static void
verify_needs_all_its_data(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	fc = send_out(nexus, CDB(OP_VERIFY_10, 0x02, 0, 0, 0, 0, 0, 0, 2), 512, 0, DATA_POOL);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
	assert_resid(fc, RESID_OVER, 512);
	fake_cmd_free(fc);
	fc = send_out(nexus, CDB(OP_VERIFY_10, 0x04, 0, 0, 0, 0, 0, 0, 2), 512, 0, DATA_POOL);
	assert_field(fc, 1, 2);
	fake_cmd_free(fc);
	/* Data announced that BYTCHK 0 does not want is left. */
	fc = send_out(nexus, CDB(OP_VERIFY_10, 0x10, 0, 0, 0, 0, 0, 0, 1), 512, 9, DATA_POOL);
	assert_status(fc, SCSI_GOOD);
	assert_resid(fc, RESID_UNDER, 512);
	fake_cmd_free(fc);
	disk->error[DISK_READ] = -EIO;
	fc = fake_in(nexus, 0, CDB(OP_VERIFY_10, 0, 0, 0, 0, 9, 0, 0, 2), 0);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x11, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
write_and_verify_does_both(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;

	DONE(send_out(nexus, CDB(OP_WRITE_VERIFY_10, 0x02, 0, 0, 0, 1, 0, 0, 2), 1024, 0x5c,
	    DATA_BORROWED), SCSI_GOOD);
	assert_true(all_bytes(disk->mem + 512, 1024, 0x5c));
	assert_int_equal(disk->ops[DISK_FLUSH], 1);
	assert_int_equal(disk->ops[DISK_READ], 1);
	disk->error[DISK_READ] = -EIO;
	fc = send_out(nexus, CDB(OP_WRITE_VERIFY_16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 512, 1,
	    DATA_POOL);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x11, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verify_compares),
		cmocka_unit_test(verify_needs_all_its_data),
		cmocka_unit_test(write_and_verify_does_both),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
