/* Task management over iSCSI: which answer, and what never comes after it. */
#include "iscsi_rig.h"

static struct ini ini;
static uint8_t pattern[65536];

static int
up(void **state)
{
	rig_init(2);
	rig_start(2);
	ini_session(&ini, 0, 1);
	return 0;
}

static int
down(void **state)
{
	ini_close(&ini);
	rig_stop();
	return 0;
}

static void
hold(bool on)
{
	fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = on;
}

static void
expect_tmf(const struct iscsi_tmf_req *h, uint8_t response)
{
	ini_expect(&ini, &rig_in, ISCSI_TMF_RSP);
	assert_int_equal(get32(rig_in.tmf.itt), get32(h->itt));
	assert_int_equal(rig_in.tmf.response, response);
}

static void
tmf(unsigned fn, be32 ref_itt, be32 ref_cmd_sn, uint8_t response)
{
	struct iscsi_tmf_req h = req_tmf(&ini, fn, ref_itt, ref_cmd_sn);

	ini_send(&ini, &h, NULL, 0);
	expect_tmf(&h, response);
}

static void
alive(void)
{
	struct iscsi_scsi_cmd h = req_tur(&ini);

	ini_send(&ini, &h, NULL, 0);
	ini_expect(&ini, &rig_in, ISCSI_SCSI_RSP);
	assert_int_equal(get32(rig_in.rsp.itt), get32(h.itt));
}

static void
each_function_has_its_answer(void **state)
{
	static const struct { uint8_t fn, response; } rows[] = {
		{ ISCSI_ABORT_TASK, ISCSI_TMF_NO_TASK }, { ISCSI_ABORT_TASK_SET, ISCSI_TMF_COMPLETE },
		{ ISCSI_CLEAR_TASK_SET, ISCSI_TMF_COMPLETE }, { ISCSI_LUN_RESET, ISCSI_TMF_COMPLETE },
		{ ISCSI_TARGET_WARM_RESET, ISCSI_TMF_COMPLETE },
		{ ISCSI_TASK_REASSIGN, ISCSI_TMF_NO_REASSIGN }, { 0, ISCSI_TMF_NOT_SUPPORTED },
		{ 13, ISCSI_TMF_NOT_SUPPORTED }, { 0x7f, ISCSI_TMF_NOT_SUPPORTED },
	};

	for (unsigned k = 0; k < ARRAY_LEN(rows); k++)
		tmf(rows[k].fn, put32(0x4711), put32(ini.cmd_sn - 1), rows[k].response);
	alive();
}

static void
a_lun_that_is_not_there(void **state)
{
	struct iscsi_tmf_req h = req_tmf(&ini, ISCSI_LUN_RESET, put32(ISCSI_NO_TAG), put32(0));

	h.lun[1] = 99;
	ini_send(&ini, &h, NULL, 0);
	expect_tmf(&h, ISCSI_TMF_NO_LUN);
}

/* T03: half of the data is here, the rest comes late. */
static void
a_write_aborted_between_its_data(void **state)
{
	struct iscsi_scsi_cmd w = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 128);
	struct iscsi_data_out d;
	struct iscsi_r2t r2t;

	ini_send(&ini, &w, NULL, 0);
	ini_expect(&ini, &rig_in, ISCSI_R2T);
	r2t = rig_in.r2t;
	memset(pattern, 0xee, sizeof(pattern));
	d = req_data(&r2t, 0, 0, false);
	ini_send(&ini, &d, pattern, 20000);
	tmf(ISCSI_ABORT_TASK, w.itt, w.cmd_sn, ISCSI_TMF_COMPLETE);
	d = req_data(&r2t, 1, 20000, true);
	ini_send(&ini, &d, pattern, 45536);
	ini_ping(&ini, &rig_in);
	ini_quiet(&ini);
	assert_int_equal(rig_ops(DISK_WRITE), 0);
	/* Its tag is free. */
	w = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 1);
	w.itt = r2t.itt;
	ini_send(&ini, &w, NULL, 0);
	ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
	assert_int_equal(rig_in.data[0], 0);
}

/* The payload of one PDU is cut by the end of its command. */
static void
reset_by_another_in_the_middle_of_a_payload(void **state)
{
	struct iscsi_scsi_cmd w = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 128);
	struct iscsi_tmf_req reset;
	struct iscsi_data_out d;
	uint8_t bytes[70000];
	struct ini other;
	size_t n;

	ini_session(&other, 1, 2);
	ini_send(&ini, &w, NULL, 0);
	ini_expect(&ini, &rig_in, ISCSI_R2T);
	memset(pattern, 0xee, sizeof(pattern));
	d = req_data(&rig_in.r2t, 0, 0, true);
	n = ini_pack(&ini, &d, pattern, 65536, bytes);
	ini_write(&ini, bytes, 40000);
	fake_settle();
	usleep(5000);
	reset = req_tmf(&other, ISCSI_LUN_RESET, put32(ISCSI_NO_TAG), put32(0));
	ini_send(&other, &reset, NULL, 0);
	ini_expect(&other, &rig_in, ISCSI_TMF_RSP);
	assert_int_equal(rig_in.tmf.response, ISCSI_TMF_COMPLETE);
	ini_write(&ini, bytes + 40000, n - 40000);
	ini_ping(&ini, &rig_in);
	ini_quiet(&ini);
	assert_int_equal(rig_ops(DISK_WRITE), 0);
	alive();
	ini_close(&other);
}

static void
a_command_at_the_disk_is_answered_after_it_came_back(void **state)
{
	struct iscsi_scsi_cmd w;
	struct iscsi_tmf_req h;

	hold(true);
	w = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
	ini_send(&ini, &w, pattern, 4096);
	RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == 1);
	h = req_tmf(&ini, ISCSI_ABORT_TASK, w.itt, w.cmd_sn);
	ini_send(&ini, &h, NULL, 0);
	ini_ping(&ini, &rig_in);
	ini_quiet(&ini);
	hold(false);
	fake_disk_release(&fakes.fake[0], 1);
	expect_tmf(&h, ISCSI_TMF_COMPLETE);
	/* No response for it, and its place in the window is free. */
	ini_quiet(&ini);
	ini_ping(&ini, &rig_in);
	assert_int_equal(ini.max_cmd_sn, ini.cmd_sn + rig_conf.queue_depth - 1);
}

/* T15: the response was first, so the task is not there any more. */
static void
an_answered_command_cannot_be_aborted(void **state)
{
	struct iscsi_scsi_cmd r = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 8);
	struct iscsi_tmf_req h = req_tmf(&ini, ISCSI_ABORT_TASK, r.itt, r.cmd_sn);
	uint8_t bytes[256];
	size_t n = ini_pack(&ini, &r, NULL, 0, bytes);

	n += ini_pack(&ini, &h, NULL, 0, bytes + n);
	ini_write(&ini, bytes, n);
	ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
	expect_tmf(&h, ISCSI_TMF_NO_TASK);
}

/* RFC 7143 11.6.1: a CmdSN that is missing counts as received once its task was aborted. */
static void
commands_that_have_not_had_their_turn(void **state)
{
	struct iscsi_scsi_cmd a = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 1);
	struct iscsi_scsi_cmd b = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 1, 1);
	struct iscsi_scsi_cmd c = req_tur(&ini);

	/* a never comes; b and c are held. */
	ini_send(&ini, &b, pattern, 512);
	ini_send(&ini, &c, NULL, 0);
	ini_quiet(&ini);
	/* Its CmdSN must be before the function's. */
	tmf(ISCSI_ABORT_TASK, put32(0x999), put32(ini.cmd_sn + 3), ISCSI_TMF_NO_TASK);
	tmf(ISCSI_ABORT_TASK, put32(0x999), put32(get32(a.cmd_sn) - 1), ISCSI_TMF_NO_TASK);
	tmf(ISCSI_ABORT_TASK, b.itt, b.cmd_sn, ISCSI_TMF_COMPLETE);
	ini_quiet(&ini);
	tmf(ISCSI_ABORT_TASK, a.itt, a.cmd_sn, ISCSI_TMF_COMPLETE);
	/* The gap is closed, b is gone, c has its turn. */
	ini_expect(&ini, &rig_in, ISCSI_SCSI_RSP);
	assert_int_equal(get32(rig_in.rsp.itt), get32(c.itt));
	assert_int_equal(rig_ops(DISK_WRITE), 0);
	/* It comes late: ignored. */
	ini_send(&ini, &a, pattern, 512);
	ini_ping(&ini, &rig_in);
	assert_int_equal(rig_ops(DISK_WRITE), 0);
}

/* T09: nobody is there for the answer. */
static void
its_connection_goes_while_it_waits(void **state)
{
	for (unsigned k = 0; k < 3; k++) {
		static const uint8_t fns[] = { ISCSI_ABORT_TASK, ISCSI_LUN_RESET, ISCSI_TARGET_WARM_RESET };
		struct iscsi_scsi_cmd w;
		struct iscsi_tmf_req h;
		struct ini i;

		hold(true);
		ini_session(&i, 1, 9);
		w = req_rw(&i, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
		ini_send(&i, &w, pattern, 4096);
		RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == 1);
		h = req_tmf(&i, fns[k], w.itt, w.cmd_sn);
		ini_send(&i, &h, NULL, 0);
		fake_settle();
		ini_close(&i);
		fake_settle();
		hold(false);
		fake_disk_release(&fakes.fake[0], 1);
	}
	alive();
}

static void
a_cold_reset_ends_all_sessions(void **state)
{
	struct iscsi_tmf_req h = req_tmf(&ini, ISCSI_TARGET_COLD_RESET, put32(ISCSI_NO_TAG), put32(0));
	struct ini a, b;

	ini_session(&a, 0, 2);
	ini_session(&b, 1, 3);
	ini_send(&ini, &h, NULL, 0);
	expect_tmf(&h, ISCSI_TMF_COMPLETE);
	ini_eof(&ini);
	ini_eof(&a);
	ini_eof(&b);
	ini_session(&ini, 0, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_function_has_its_answer, up, down),
		cmocka_unit_test_setup_teardown(a_lun_that_is_not_there, up, down),
		cmocka_unit_test_setup_teardown(a_write_aborted_between_its_data, up, down),
		cmocka_unit_test_setup_teardown(reset_by_another_in_the_middle_of_a_payload, up, down),
		cmocka_unit_test_setup_teardown(a_command_at_the_disk_is_answered_after_it_came_back, up, down),
		cmocka_unit_test_setup_teardown(an_answered_command_cannot_be_aborted, up, down),
		cmocka_unit_test_setup_teardown(commands_that_have_not_had_their_turn, up, down),
		cmocka_unit_test_setup_teardown(its_connection_goes_while_it_waits, up, down),
		cmocka_unit_test_setup_teardown(a_cold_reset_ends_all_sessions, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
