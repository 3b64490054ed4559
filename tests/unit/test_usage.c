/* The command table: every bit that is not there is refused, at its place. */
#include "scsi_rig.h"

#include "hba/scsi/usage.h"

static void
a_command_starts_with_its_opcode(void **state)
{
	const struct cmd_row *row;

	usage_init();
	assert_non_null(usage_nth(0));
	for (unsigned i = 0; (row = usage_nth(i)); i++) {
		assert_int_equal(row->usage[0], row->opcode);
		assert_true(row->cdb_len == 6 || row->cdb_len == 10 || row->cdb_len == 12 ||
		    row->cdb_len == 16 || (row->cdb_len == 32 && row->opcode == OP_VARIABLE));
		for (unsigned j = row->cdb_len; j < SCSI_CDB_MAX; j++)
			assert_int_equal(row->usage[j], 0);
		if (row->opcode == OP_VARIABLE)
			assert_int_equal(rd16(row->usage + 8), row->sa);
		else if (row->flags & ROW_SA)
			assert_int_equal(row->usage[1] & 0x1f, 0x1f);
		else
			assert_int_equal(row->sa, 0);
		assert_non_null(row->exec);
	}
}

/* Opcode, service action and length. */
static void
cdb_init(uint8_t *cdb, const struct cmd_row *row)
{
	memset(cdb, 0, SCSI_CDB_MAX);
	cdb[0] = row->opcode;
	if (row->opcode == OP_VARIABLE) {
		cdb[7] = (uint8_t)(row->cdb_len - 8);
		wr16(cdb + 8, row->sa);
	} else {
		cdb[1] = (uint8_t)row->sa;
	}
}

static bool
is_action(const struct cmd_row *row, unsigned byte, unsigned bit)
{
	if (row->opcode == OP_VARIABLE)
		return byte >= 7 && byte <= 9;
	return row->flags & ROW_SA && byte == 1 && bit < 5;
}

static void
a_command_is_found_by_its_cdb(void **state)
{
	const struct cmd_row *row;

	usage_init();
	for (unsigned i = 0; (row = usage_nth(i)); i++) {
		uint8_t cdb[SCSI_CDB_MAX];

		cdb_init(cdb, row);
		assert_ptr_equal(usage_find(cdb)->row, row);
	}
	assert_null(usage_find((uint8_t[SCSI_CDB_MAX]){ 0xff }));
	assert_null(usage_find((uint8_t[SCSI_CDB_MAX]){ OP_SERVICE_IN_16, 0x1f }));
}

static void
commands_are_in_order(void **state)
{
	const struct cmd_row *row, *next;

	usage_init();
	for (unsigned i = 0; (row = usage_nth(i)) && (next = usage_nth(i + 1)); i++)
		assert_true(row->opcode < next->opcode ||
		    (row->opcode == next->opcode && row->sa < next->sa));
}

/* Sends a CDB of which one bit is set beside opcode and service action. */
static void
try_bit(struct nexus *nexus, const struct cmd_row *row, unsigned byte, unsigned bit)
{
	uint8_t cdb[SCSI_CDB_MAX];
	struct fake_cmd *fc;

	cdb_init(cdb, row);
	cdb[byte] |= (uint8_t)(1 << bit);
	fc = fake_cmd_new(nexus, 0, cdb, row->cdb_len);
	fake_cmd_expect(fc, row->flags & ROW_OUT ? 4096 : 0, row->flags & ROW_IN ? 4096 : 0, 0);
	fake_cmd_submit(fc);
	fake_settle();
	if (!(row->usage[byte] & 1 << bit))
		assert_field(fc, byte, (int)bit);
	fake_cmd_free(fc);
}

static void
undefined_bits_are_refused_where_they_are(void **state)
{
	const struct cmd_row *row;
	struct nexus *nexus;
	unsigned tried = 0;

	fake_world_init(1);
	fakes.fake[0].caps = DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	for (unsigned i = 0; (row = usage_nth(i)); i++)
		for (unsigned byte = 1; byte < row->cdb_len; byte++)
			for (unsigned bit = 0; bit < 8; bit++)
				if (!is_action(row, byte, bit)) {
					try_bit(nexus, row, byte, bit);
					tried++;
				}
	assert_true(tried > 1000);
	rig_stop(nexus);
}

static void
bytes_behind_a_cdb_do_not_matter(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	uint8_t cdb[16] = { OP_TEST_UNIT_READY };
	struct fake_cmd *fc;

	memset(cdb + 6, 0xff, 10);
	fc = fake_in(nexus, 0, cdb, sizeof(cdb), 0);
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
an_unknown_opcode_is_refused(void **state)
{
	struct nexus *nexus = rig_start(1, 1);

	for (unsigned op = 0; op < 256; op++) {
		struct fake_cmd *fc;

		if (usages[op].row || usages[op].more)
			continue;
		fc = fake_in(nexus, 0, CDB((uint8_t)op), 512);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
		assert_resid(fc, RESID_UNDER, 512);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_starts_with_its_opcode),
		cmocka_unit_test(a_command_is_found_by_its_cdb),
		cmocka_unit_test(commands_are_in_order),
		cmocka_unit_test(undefined_bits_are_refused_where_they_are),
		cmocka_unit_test(bytes_behind_a_cdb_do_not_matter),
		cmocka_unit_test(an_unknown_opcode_is_refused),
	};

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
