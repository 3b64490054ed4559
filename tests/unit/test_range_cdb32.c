/* Commands with CDBs of 32 bytes. */
#include "scsi_rig.h"

static void
cdb32(uint8_t *cdb, unsigned sa, uint8_t flags, uint64_t lba, uint32_t blocks)
{
	memset(cdb, 0, SCSI_CDB_MAX);
	cdb[0] = OP_VARIABLE;
	cdb[7] = 0x18;
	wr16(cdb + 8, (uint16_t)sa);
	cdb[10] = flags;
	wr64(cdb + 12, lba);
	wr32(cdb + 28, blocks);
}

static struct fake_cmd *
out32(struct nexus *nexus, unsigned sa, uint8_t flags, uint64_t lba, uint32_t blocks, uint32_t edtl,
    uint8_t pattern)
{
	uint8_t cdb[SCSI_CDB_MAX];

	cdb32(cdb, sa, flags, lba, blocks);
	return send_out(nexus, cdb, sizeof(cdb), edtl, pattern, DATA_BORROWED);
}

/* A disk of so many bytes, with 32-byte CDBs or not. */
static struct nexus *
start(uint32_t caps, uint64_t size, bool cdb32_on)
{
	fake_world_init(1);
	disk->caps = caps;
	disk->size = size;
	fakes.disk[0].cdb32 = cdb32_on;
	assert_int_equal(fake_world_start(1), 0);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

static void
only_where_they_are_asked_for(void **state)
{
	struct nexus *nexus = start(0, 1 << 20, false);
	struct fake_cmd *fc = out32(nexus, SA_WRITE_32, 0, 0, 1, 512, 1);

	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
they_do_what_the_short_ones_do(void **state)
{
	struct nexus *nexus = start(DISK_CAP_WRITE_CACHE | DISK_CAP_FUA, 1 << 20, true);
	uint8_t cdb[SCSI_CDB_MAX];
	struct fake_cmd *fc;

	DONE(out32(nexus, SA_WRITE_32, 0, 5, 3, 1536, 0x11), SCSI_GOOD);
	assert_int_equal(disk->fua, 0);
	DONE(out32(nexus, SA_WRITE_32, 0x08, 2047, 1, 512, 0x22), SCSI_GOOD);
	assert_int_equal(disk->fua, 1);
	assert_true(all_bytes(disk->mem + 5 * 512, 1536, 0x11));
	assert_true(all_bytes(disk->mem + 2047 * 512, 512, 0x22));
	cdb32(cdb, SA_READ_32, 0, 7, 2);
	fc = fake_in(nexus, 0, cdb, sizeof(cdb), 1024);
	assert_true(all_bytes(fc->in, 512, 0x11) && all_bytes(fc->in + 512, 512, 0));
	DONE(fc, SCSI_GOOD);
	DONE(out32(nexus, SA_VERIFY_32, 0x02, 5, 3, 1536, 0x11), SCSI_GOOD);
	DONE(out32(nexus, SA_VERIFY_32, 0x06, 5, 3, 512, 0x11), SCSI_GOOD);
	fc = out32(nexus, SA_VERIFY_32, 0x02, 5, 3, 1536, 0x12);
	assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
	fake_cmd_free(fc);
	fc = out32(nexus, SA_VERIFY_32, 0x04, 5, 3, 1536, 0x11);
	assert_field(fc, 10, 2);
	fake_cmd_free(fc);
	DONE(out32(nexus, SA_WRITE_VERIFY_32, 0x02, 9, 1, 512, 0x33), SCSI_GOOD);
	fc = out32(nexus, SA_WRITE_SAME_32, 0, 100, 50, 512, 0x44);
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	assert_true(all_bytes(disk->mem + 100 * 512, 50 * 512, 0x44));
	assert_true(all_bytes(disk->mem + 150 * 512, 512, 0));
	rig_stop(nexus);
}

static void
what_is_wrong_is_pointed_at(void **state)
{
	struct nexus *nexus = start(0, 1 << 20, true);
	static const struct { unsigned at, value, byte; int bit; } bad[] = {
		{ 1, 1, 1, 0 }, { 2, 0x80, 2, 7 }, { 6, 1, 6, 0 }, { 7, 0x10, 7, -1 }, { 7, 0, 7, -1 },
		{ 9, 0xff, 8, -1 }, { 8, 1, 8, -1 }, { 10, 0x20, 10, 5 }, { 11, 4, 11, 2 },
		{ 20, 1, 20, 0 }, { 27, 0x40, 27, 6 },
	};
	uint8_t cdb[SCSI_CDB_MAX];
	struct fake_cmd *fc;

	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		cdb32(cdb, SA_READ_32, 0, 0, 1);
		cdb[bad[i].at] = (uint8_t)bad[i].value;
		fc = fake_in(nexus, 0, cdb, sizeof(cdb), 512);
		assert_field(fc, bad[i].byte, bad[i].bit);
		fake_cmd_free(fc);
	}
	/* A transport that carried only half of it. */
	cdb32(cdb, SA_WRITE_SAME_32, 0, 0, 1);
	fc = send_out(nexus, cdb, 16, 512, 1, DATA_POOL);
	assert_field(fc, 7, -1);
	fake_cmd_free(fc);
	fc = out32(nexus, SA_WRITE_32, 0, 2048, 1, 512, 1);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	fc = out32(nexus, SA_WRITE_32, 0, UINT64_MAX, UINT32_MAX, 512, 1);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
	nexus = start(0, 1 << 24, true);
	fc = out32(nexus, SA_WRITE_32, 0, 0, BUF_XFER_MAX / 512 + 1, 512, 1);
	assert_field(fc, 28, -1);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_where_they_are_asked_for),
		cmocka_unit_test(they_do_what_the_short_ones_do),
		cmocka_unit_test(what_is_wrong_is_pointed_at),
	};

	return cmocka_run_group_tests_name("cdb32", tests, NULL, NULL);
}
