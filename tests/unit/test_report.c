/* Reports: units, operation codes, task management functions. */
#include "scsi_rig.h"

#include "hba/scsi/usage.h"

static struct fake_cmd *
report_luns(struct nexus *nexus, uint8_t select, uint32_t allocation)
{
	uint8_t cdb[12] = { OP_REPORT_LUNS, 0, select };

	wr32(cdb + 6, allocation);
	return fake_in(nexus, 0, cdb, sizeof(cdb), MIN(allocation, 1u << 20));
}

static void
units_in_order(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(4);
	fakes.lun[0][0].lun = 0;
	fakes.lun[0][1].lun = 255;
	fakes.lun[0][2].lun = 256;
	fakes.lun[0][3].lun = 16383;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = report_luns(nexus, 0, 65535);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 40);
	assert_int_equal(rd32(fc->in), 32);
	assert_memory_equal(fc->in + 8, "\0\0\0\0\0\0\0\0", 8);
	assert_memory_equal(fc->in + 16, "\0\xff\0\0\0\0\0\0", 8);
	assert_memory_equal(fc->in + 24, "\x41\0\0\0\0\0\0\0", 8);
	assert_memory_equal(fc->in + 32, "\x7f\xff\0\0\0\0\0\0", 8);
	fake_cmd_free(fc);
	DONE(fake_in(nexus, 16383, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
	rig_stop(nexus);
}

static void
selections(void **state)
{
	struct nexus *nexus = rig_start(2, 1);
	static const uint32_t count[] = { 2, 1, 3 };

	for (unsigned select = 0; select < 256; select++) {
		struct fake_cmd *fc = report_luns(nexus, (uint8_t)select, 64);

		if (select < ARRAY_LEN(count)) {
			assert_status(fc, SCSI_GOOD);
			assert_int_equal(rd32(fc->in), count[select] * 8);
			if (select)
				assert_memory_equal(fc->in + count[select] * 8,
				    "\xc1\x01\0\0\0\0\0\0", 8);
		} else {
			assert_field(fc, 2, -1);
		}
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
small_rooms(void **state)
{
	struct nexus *nexus = rig_start(4, 1);
	static const uint32_t rooms[] = { 0, 1, 4, 5, 8, 16, 17, 40, 255, 0xffffffff };

	for (unsigned i = 0; i < ARRAY_LEN(rooms); i++) {
		struct fake_cmd *fc = report_luns(nexus, 0, rooms[i]);

		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, MIN(rooms[i], 40));
		if (rooms[i] >= 4)
			assert_int_equal(rd32(fc->in), 32);	/* the length of it all */
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

/* -- operation codes -- */

static struct fake_cmd *
report_opcodes(struct nexus *nexus, uint8_t options, uint8_t opcode, uint16_t sa,
    uint32_t allocation)
{
	uint8_t cdb[12] = { OP_MAINTENANCE_IN, SA_REPORT_OPCODES, options, opcode };

	wr16(cdb + 4, sa);
	wr32(cdb + 6, allocation);
	return fake_in(nexus, 0, cdb, sizeof(cdb), MIN(allocation, 65535));
}

static void
all_opcodes(void **state)
{
	for (unsigned with = 0; with < 8; with++) {
		bool thin = with & 1, copy = with & 2, wipe = with & 4;
		unsigned unmaps = 0, copies = 0, wipes = 0;
		struct nexus *nexus;

		fake_world_init(1);
		disk->caps = thin ? DISK_CAP_UNMAP : 0;
		fakes.lun[0][0].copy = copy;
		fakes.disk[0].sanitize = wipe;
		assert_int_equal(fake_world_start(1), 0);
		nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);

		for (int timeouts = 0; timeouts < 2; timeouts++) {
			struct fake_cmd *fc = report_opcodes(nexus, timeouts ? 0x80 : 0, 0, 0,
			    65535);
			unsigned size = timeouts ? 20 : 8, i = 0;
			const struct cmd_row *row;

			assert_status(fc, SCSI_GOOD);
			assert_int_equal(rd32(fc->in), fc->data_in - 4);
			for (unsigned at = 4; at < fc->data_in; at += size) {
				while ((row = usage_nth(i++)) && ((row->flags & ROW_THIN && !thin) ||
				    (row->flags & ROW_COPY && !copy) || row->flags & ROW_CDB32 ||
				    (row->flags & ROW_SANITIZE && !wipe)))
					continue;
				assert_int_equal(fc->in[at], row->opcode);
				assert_int_equal(rd16(fc->in + at + 2), row->sa);
				assert_int_equal(fc->in[at + 5], (timeouts ? 2 : 0) |
				    (row->flags & ROW_SA ? 1 : 0));
				assert_int_equal(rd16(fc->in + at + 6), row->cdb_len);
				if (timeouts)
					assert_int_equal(rd16(fc->in + at + 8), 10);
				unmaps += fc->in[at] == OP_UNMAP;
				copies += fc->in[at] == OP_COPY_OUT;
				wipes += fc->in[at] == OP_SANITIZE;
			}
			while ((row = usage_nth(i++)))
				assert_true(row->flags & ROW_OPTIONS);
			fake_cmd_free(fc);
		}
		assert_int_equal(unmaps, thin ? 2 : 0);
		assert_int_equal(copies, copy ? 2 : 0);
		assert_int_equal(wipes, wipe ? thin ? 6 : 4 : 0);
		rig_stop(nexus);
	}
}

static void
each_opcode_says_which_bits_it_knows(void **state)
{
	const struct cmd_row *row;
	struct nexus *nexus;

	fake_world_init(1);
	disk->caps = DISK_CAP_UNMAP;
	fakes.lun[0][0].copy = fakes.disk[0].sanitize = fakes.disk[0].cdb32 = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);

	for (unsigned i = 0; (row = usage_nth(i)); i++) {
		bool sa = row->flags & ROW_SA;
		struct fake_cmd *fc = report_opcodes(nexus, sa ? 2 : 1, row->opcode, row->sa, 255);

		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, 4 + row->cdb_len);
		assert_int_equal(fc->in[1], 3);
		assert_memory_equal(fc->in + 4, row->usage, row->cdb_len);
		fake_cmd_free(fc);
		fc = report_opcodes(nexus, 0x80 | 3, row->opcode, row->sa, 255);
		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->in[1], 0x83);
		assert_int_equal(fc->data_in, 4 + row->cdb_len + 12);
		assert_int_equal(rd16(fc->in + 4 + row->cdb_len), 10);
		fake_cmd_free(fc);
		/* The wrong option for it. */
		fc = report_opcodes(nexus, sa ? 1 : 2, row->opcode, row->sa, 255);
		assert_field(fc, 2, 2);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
unsupported_opcodes(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	static const uint16_t sas[] = { 0, 1, 0x1f, 0x20, 0x8000, 0xffff };

	for (unsigned op = 0; op < 256; op++) {
		for (unsigned option = 1; option < 8; option++) {
			for (unsigned s = 0; s < ARRAY_LEN(sas); s++) {
				struct fake_cmd *fc = report_opcodes(nexus, (uint8_t)option,
				    (uint8_t)op, sas[s], 64);

				assert_int_equal(fc->dones, 1);
				if (option > 3)
					assert_field(fc, 2, 2);
				else if (!usages[op].row && !usages[op].more)
					assert_memory_equal(fc->in, "\0\1\0\0", 4);
				fake_cmd_free(fc);
			}
		}
	}
	rig_stop(nexus);
}

static void
functions(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc;

	fc = fake_in(nexus, 0, CDB(OP_MAINTENANCE_IN, SA_REPORT_TMFS, 0, 0, 0, 0, 0, 0, 0, 64), 64);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 4);
	assert_memory_equal(fc->in, "\xde\x07\0\0", 4);	/* all but CLEAR ACA and WAKEUP */
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_MAINTENANCE_IN, SA_REPORT_TMFS, 0x80, 0, 0, 0, 0, 0, 0, 64),
	    64);
	assert_int_equal(fc->data_in, 16);
	assert_int_equal(fc->in[3], 12);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_in_order),
		cmocka_unit_test(selections),
		cmocka_unit_test(small_rooms),
		cmocka_unit_test(all_opcodes),
		cmocka_unit_test(each_opcode_says_which_bits_it_knows),
		cmocka_unit_test(unsupported_opcodes),
		cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
