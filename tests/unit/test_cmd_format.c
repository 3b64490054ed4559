/* FORMAT UNIT: what has nothing to do is done, and the rest refused. */
#include "scsi_rig.h"

static struct fake_cmd *
format(struct nexus *nexus, uint8_t flags, uint64_t list, uint32_t len)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, 0, CDB(OP_FORMAT_UNIT, flags, 0, 0, 0, 0));
	uint8_t bytes[8];

	fake_cmd_expect(fc, len, 0, 0);
	wr64(bytes, list);
	memcpy(fc->out, bytes, len);
	fc->how = DATA_POOL;
	fake_cmd_submit(fc);
	return fc;
}

static void
nothing_is_touched(void **state)
{
	struct nexus *nexus = start_with(0);

	memset(disk->mem, 0xaa, 1 << 20);
	DONE(format(nexus, 0, 0, 0), SCSI_GOOD);
	DONE(format(nexus, 0x10, 0, 4), SCSI_GOOD);
	DONE(format(nexus, 0x1f, 0x00f2ull << 48, 4), SCSI_GOOD);
	DONE(format(nexus, 0x30, 0x0082ull << 48, 8), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_WRITE] + disk->ops[DISK_ZERO] + disk->ops[DISK_UNMAP], 0);
	assert_true(all_bytes(disk->mem, 1 << 20, 0xaa));
	rig_stop(nexus);
}

static void
other_wishes_are_refused_where_they_stand(void **state)
{
	static const struct { uint8_t flags; uint64_t list; unsigned field; int bit; } bad[] = {
		{ 0x10, 0x01ull << 56, 0, -1 },		/* protection */
		{ 0x10, 0x08ull << 48, 1, 3 },		/* a pattern */
		{ 0x10, 0x10ull << 48, 1, 7 },		/* STPF without FOV */
		{ 0x10, 0x01ull << 32, 3, -1 },		/* a defect list */
		{ 0x30, 0x01ull << 40, 2, -1 },
		{ 0x30, 0x01ull, 7, -1 },
	};
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		fc = format(nexus, bad[i].flags, bad[i].list, bad[i].flags & 0x20 ? 8 : 4);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x26, 0x00);
		assert_int_equal(fc->sense[15], 0x80 | (bad[i].bit < 0 ? 0 : 0x08 | bad[i].bit));
		assert_int_equal(rd16(fc->sense + 16), bad[i].field);
		fake_cmd_free(fc);
	}
	fc = format(nexus, 0x80, 0, 0);
	assert_field(fc, 1, 7);
	fake_cmd_free(fc);
	for (uint32_t len = 0; len < 8; len++) {
		fc = format(nexus, len < 4 ? 0x10 : 0x30, 0, len);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_touched),
		cmocka_unit_test(other_wishes_are_refused_where_they_stand),
	};

	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
