/* Commands: their order, their tags, their additional headers, and the window around them. */
#include "iscsi_rig.h"

static struct ini ini;
static uint8_t pattern[65536];

static int
up(void **state)
{
	rig_init(2);
	rig_start(1);
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
expect_reject(struct iscsi_scsi_cmd *h, unsigned reason)
{
	ini_expect(&ini, &rig_in, ISCSI_REJECT);
	assert_int_equal(rig_in.reject.reason, reason);
	assert_int_equal(get32(rig_in.reject.itt), ISCSI_NO_TAG);
	assert_memory_equal(rig_in.data, h, ISCSI_BHS);
}

static void
cmd_sn_wraps_and_the_window_never_stalls(void **state)
{
	for (unsigned n = 0; n < 300; n++) {
		struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, n, 1);

		ini_send(&ini, &h, NULL, 0);
		ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
		assert_int_equal(get32(rig_in.data_in.exp_cmd_sn), ini.cmd_sn);
		assert_false(sn_before(ini.max_cmd_sn, ini.cmd_sn));
	}
	assert_true(ini.cmd_sn < 0x1000);
}

static void
outside_the_window_nothing_answers(void **state)
{
	uint32_t now = ini.cmd_sn;
	const uint32_t bad[] = { ini.max_cmd_sn + 1, now - 1, now + 0x7fffffff, now + 0x80000001, now - 100 };
	struct iscsi_scsi_cmd h;

	for (unsigned k = 0; k < ARRAY_LEN(bad); k++) {
		h = req_tur(&ini);
		h.cmd_sn = put32(bad[k]);
		ini_send(&ini, &h, NULL, 0);
	}
	/* With data, whole or not, which must be skipped. */
	h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
	h.cmd_sn = put32(now - 1);
	ini_send(&ini, &h, pattern, 4096);
	ini_quiet(&ini);
	ini.cmd_sn = now;
	h = req_tur(&ini);
	ini_send(&ini, &h, NULL, 0);
	ini_response(&ini, &rig_in, h.itt, SCSI_GOOD);
	assert_int_equal(rig_ops(DISK_WRITE), 0);
}

static void
a_gap_holds_what_follows_until_it_is_filled(void **state)
{
	struct iscsi_scsi_cmd h[6];
	struct iscsi_nop_out nop;

	for (unsigned k = 0; k < 6; k++)
		h[k] = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, k, 1);
	nop = (struct iscsi_nop_out){
		.opcode = ISCSI_NOP_OUT, .flags = ISCSI_F, .itt = put32(0x900),
		.ttt = put32(ISCSI_NO_TAG), .cmd_sn = put32(ini.cmd_sn++),
	};
	/* Backwards, one of them twice, and cut in its data. */
	ini_send(&ini, &nop, "hello", 5);
	for (unsigned k = 5; k > 0; k--) {
		uint8_t bytes[1024];
		size_t n = ini_pack(&ini, &h[k], memset(pattern, (int)k, 512), 512, bytes);

		ini_write(&ini, bytes, 300);
		fake_settle();
		usleep(2000);
		ini_write(&ini, bytes + 300, n - 300);
		if (k == 3)
			ini_write(&ini, bytes, n);
	}
	ini_quiet(&ini);
	assert_int_equal(rig_ops(DISK_WRITE), 0);
	ini_send(&ini, &h[0], memset(pattern, 0xf0, 512), 512);
	for (unsigned k = 0; k < 6; k++)
		ini_response(&ini, &rig_in, h[k].itt, SCSI_GOOD);
	ini_expect(&ini, &rig_in, ISCSI_NOP_IN);
	assert_int_equal(rig_in.len, 5);
	assert_memory_equal(rig_in.data, "hello", 5);
	assert_int_equal(rig_ops(DISK_WRITE), 6);
	for (unsigned k = 1; k < 6; k++)
		assert_int_equal(fakes.fake[0].mem[k * 512], k);
	assert_int_equal(fakes.fake[0].mem[0], 0xf0);
}

/* Its unsolicited data comes while the command is held: kept with it. */
static void
a_held_write_keeps_its_unsolicited_data(void **state)
{
	struct iscsi_scsi_cmd gap = req_tur(&ini), w = req_rw(&ini, SCSI_CMD_W, 4, 32);
	struct iscsi_data_out d;
	uint8_t bytes[8192 + 64];
	size_t n;

	rig_pattern(pattern, 16384, 3);
	ini_send(&ini, &w, pattern, 4096);
	d = req_first(&w, 0, 4096, false);
	ini_send(&ini, &d, pattern + 4096, 4096);
	d = req_first(&w, 1, 8192, true);
	n = ini_pack(&ini, &d, pattern + 8192, 8192, bytes);
	ini_write(&ini, bytes, 1000);
	ini_quiet(&ini);
	ini_write(&ini, bytes + 1000, n - 1000);
	ini_quiet(&ini);
	ini_send(&ini, &gap, NULL, 0);
	ini_response(&ini, &rig_in, gap.itt, SCSI_GOOD);
	ini_response(&ini, &rig_in, w.itt, SCSI_GOOD);
	assert_memory_equal(fakes.fake[0].mem + 2048, pattern, 16384);
}

/* More reads than output may be promised, at a disk that stalls: the rest waits, others pass. */
static void
reads_that_wait_for_output_make_nobody_deaf(void **state)
{
	enum { READS = 40 };
	struct iscsi_scsi_cmd h, w;
	struct iscsi_tmf_req tmf;
	unsigned begun, done;

	hold(true);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned k = 0; k < READS; k++) {
			h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 2048);
			ini_send(&ini, &h, NULL, 0);
		}
		w = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
		ini_send(&ini, &w, pattern, 4096);
		ini_ping(&ini, &rig_in);
		begun = fake_disk_held(&fakes.fake[0]);
		assert_true(begun > 0 && begun < READS);
		if (round == 1)
			break;
		hold(false);
		fake_disk_release(&fakes.fake[0], begun);
		for (done = 0; done < READS; done += rig_in.data_in.flags & DATA_IN_S)
			ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
		/* In order: the write behind them comes last. */
		ini_response(&ini, &rig_in, w.itt, SCSI_GOOD);
		hold(true);
	}
	tmf = req_tmf(&ini, ISCSI_ABORT_TASK_SET, put32(ISCSI_NO_TAG), put32(0));
	ini_send(&ini, &tmf, NULL, 0);
	ini_ping(&ini, &rig_in);
	hold(false);
	fake_disk_release(&fakes.fake[0], begun);
	ini_expect(&ini, &rig_in, ISCSI_TMF_RSP);
	assert_int_equal(rig_in.tmf.response, ISCSI_TMF_COMPLETE);
	h = req_tur(&ini);
	ini_send(&ini, &h, NULL, 0);
	ini_response(&ini, &rig_in, h.itt, SCSI_GOOD);
}

static void
held_requests_do_not_fill_the_memory(void **state)
{
	uint32_t base = ini.cmd_sn;

	for (unsigned k = 1; k < 40; k++) {
		struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 128);

		h.cmd_sn = put32(base + k);
		h.data_len = put24(65536);
		if (send(ini.fd, &h, sizeof(h), MSG_NOSIGNAL) < 0 ||
		    send(ini.fd, pattern, 65536, MSG_NOSIGNAL) < 0)
			break;
	}
	ini_eof(&ini);
	ini_open(&ini, 0);
}

static void
a_tag_in_use_is_refused(void **state)
{
	struct iscsi_scsi_cmd a, b;

	hold(true);
	a = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 8);
	ini_send(&ini, &a, NULL, 0);
	RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == 1);
	b = req_tur(&ini);
	b.itt = a.itt;
	ini_send(&ini, &b, NULL, 0);
	expect_reject(&b, ISCSI_REJECT_IN_PROGRESS);
	hold(false);
	fake_disk_release(&fakes.fake[0], 1);
	ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
	/* Free again when it is answered. */
	b = req_tur(&ini);
	b.itt = a.itt;
	ini_send(&ini, &b, NULL, 0);
	ini_response(&ini, &rig_in, a.itt, SCSI_GOOD);
}

static void
headers_that_make_no_task(void **state)
{
	struct iscsi_scsi_cmd h = req_tur(&ini);

	h.itt = put32(ISCSI_NO_TAG);
	ini_send(&ini, &h, NULL, 0);
	expect_reject(&h, ISCSI_REJECT_PROTOCOL);
	for (uint8_t attr = 5; attr <= 7; attr++) {
		h = req_tur(&ini);
		h.flags = SCSI_CMD_F | attr;
		ini_send(&ini, &h, NULL, 0);
		expect_reject(&h, ISCSI_REJECT_FIELD);
	}
	/* Each took its CmdSN. */
	h = req_tur(&ini);
	ini_send(&ini, &h, NULL, 0);
	ini_response(&ini, &rig_in, h.itt, SCSI_GOOD);
}

static void
additional_headers(void **state)
{
	static const struct { uint16_t len; uint8_t type, words; bool fine; } rows[] = {
		{ 17, ISCSI_AHS_EXTENDED_CDB, 5, true }, { 5, ISCSI_AHS_BIDI_READ, 2, true },
		{ 5, 9, 2, false }, { 0, 1, 1, false }, { 1000, 1, 5, false }, { 17, 1, 255, false },
	};

	for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
		struct iscsi_scsi_cmd h = req_tur(&ini);
		uint8_t ahs[1020] = { 0 };

		h.ahs_len = rows[k].words;
		wr16(ahs, rows[k].len);
		ahs[2] = rows[k].type;
		/* Header and additional header apart. */
		ini_write(&ini, &h, sizeof(h));
		fake_settle();
		ini_write(&ini, ahs, h.ahs_len * 4u);
		if (rows[k].fine)
			ini_expect(&ini, &rig_in, ISCSI_SCSI_RSP);
		else
			expect_reject(&h, ISCSI_REJECT_FIELD);
	}
}

static void
immediate_commands_are_few(void **state)
{
	uint32_t cmd_sn = ini.cmd_sn;
	struct iscsi_scsi_cmd h;

	hold(true);
	for (unsigned k = 0; k < IMMEDIATE_MAX + 1; k++) {
		h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 1);
		h.opcode |= ISCSI_IMMEDIATE;
		h.cmd_sn = put32(cmd_sn);
		ini_send(&ini, &h, NULL, 0);
	}
	expect_reject(&h, ISCSI_REJECT_TOO_MANY);
	RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == IMMEDIATE_MAX);
	hold(false);
	fake_disk_release(&fakes.fake[0], IMMEDIATE_MAX);
	for (unsigned k = 0; k < IMMEDIATE_MAX; k++) {
		ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
		assert_int_equal(get32(rig_in.data_in.exp_cmd_sn), cmd_sn);
	}
	/* They left the window alone; out of reach they are ignored. */
	ini.cmd_sn = cmd_sn;
	h = req_tur(&ini);
	h.opcode |= ISCSI_IMMEDIATE;
	h.cmd_sn = put32(cmd_sn - 4);
	ini_send(&ini, &h, NULL, 0);
	h.cmd_sn = put32(ini.max_cmd_sn + 9);
	ini_send(&ini, &h, NULL, 0);
	ini_quiet(&ini);
	ini.cmd_sn = cmd_sn;
	h = req_tur(&ini);
	ini_send(&ini, &h, NULL, 0);
	ini_response(&ini, &rig_in, h.itt, SCSI_GOOD);
}

static void
the_window_counts_what_is_unanswered(void **state)
{
	struct iscsi_scsi_cmd h;
	unsigned sent = 0;

	hold(true);
	while (!sn_before(ini.max_cmd_sn, ini.cmd_sn)) {
		h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 1);
		ini_send(&ini, &h, NULL, 0);
		sent++;
	}
	assert_int_equal(sent, rig_conf.queue_depth);
	RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == sent);
	ini_ping(&ini, &rig_in);
	assert_int_equal(ini.max_cmd_sn, ini.cmd_sn - 1);
	/* One more than allowed gets no answer; it may come again. */
	h = req_tur(&ini);
	ini_send(&ini, &h, NULL, 0);
	ini.cmd_sn--;
	ini_ping(&ini, &rig_in);
	hold(false);
	fake_disk_release(&fakes.fake[0], sent);
	for (unsigned k = 0; k < sent; k++)
		ini_expect(&ini, &rig_in, ISCSI_DATA_IN);
	assert_int_equal(ini.max_cmd_sn, ini.cmd_sn + rig_conf.queue_depth - 1);
}

static void
opcodes_that_are_not_requests(void **state)
{
	static const struct { uint8_t opcode, reason; } rows[] = {
		{ 0x07, ISCSI_REJECT_UNSUPPORTED }, { 0x1f, ISCSI_REJECT_UNSUPPORTED },
		{ ISCSI_NOP_IN, ISCSI_REJECT_UNSUPPORTED }, { ISCSI_REJECT, ISCSI_REJECT_UNSUPPORTED },
		{ ISCSI_SNACK, ISCSI_REJECT_SNACK }, { ISCSI_LOGIN_REQ, ISCSI_REJECT_PROTOCOL },
	};

	for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
		struct iscsi_bhs h = { .opcode = rows[k].opcode, .flags = ISCSI_F, .itt = put32(k) };

		ini_send(&ini, &h, pattern, k);
		ini_expect(&ini, &rig_in, ISCSI_REJECT);
		assert_int_equal(rig_in.reject.reason, rows[k].reason);
	}
	ini_ping(&ini, &rig_in);
}

static struct iovec taken_iov[1024][BUF_IOV_MAX];
static int taken_n[1024];
static unsigned ntaken;

static void
memory_take(void *arg)
{
	for (ntaken = 0; ntaken < ARRAY_LEN(taken_n); ntaken++) {
		taken_n[ntaken] = buf_get(reactor_self(), taken_iov[ntaken], BUF_XFER_MAX);
		if (taken_n[ntaken] < 0)
			break;
	}
	for (; ntaken < ARRAY_LEN(taken_n); ntaken++) {
		taken_n[ntaken] = buf_get(reactor_self(), taken_iov[ntaken], BUF_SEG_MAX);
		if (taken_n[ntaken] < 0)
			return;
	}
}

static void
memory_give(void *arg)
{
	while (ntaken--)
		buf_put(reactor_self(), taken_iov[ntaken], taken_n[ntaken]);
}

/* Unasked data that has no place costs a BUSY; what is asked for waits; the session lives. */
static void
memory_that_is_used_up(void **state)
{
	struct iscsi_scsi_cmd a, b;
	struct iscsi_data_out d;

	fake_run(0, memory_take, NULL);
	a = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 512);
	ini_send(&ini, &a, pattern, 4096);
	ini_response(&ini, &rig_in, a.itt, SCSI_BUSY);
	assert_int_equal(rig_in.len, 0);
	b = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 512);
	b.lun[1] = 1;
	ini_send(&ini, &b, NULL, 0);
	ini_ping(&ini, &rig_in);
	ini_quiet(&ini);
	fake_run(0, memory_give, NULL);
	ini_expect(&ini, &rig_in, ISCSI_R2T);
	for (unsigned at = 0; at < 4; at++) {
		struct iscsi_r2t r2t = rig_in.r2t;

		assert_int_equal(get32(r2t.length), 65536);
		d = req_data(&r2t, 0, get32(r2t.offset), true);
		ini_send(&ini, &d, pattern, 65536);
		assert_true(ini_recv(&ini, &rig_in));
	}
	assert_int_equal(rig_in.bhs.opcode, ISCSI_SCSI_RSP);
	assert_int_equal(rig_in.rsp.status, SCSI_GOOD);
	assert_int_equal(get32(rig_in.rsp.exp_data_sn), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cmd_sn_wraps_and_the_window_never_stalls, up, down),
		cmocka_unit_test_setup_teardown(outside_the_window_nothing_answers, up, down),
		cmocka_unit_test_setup_teardown(a_gap_holds_what_follows_until_it_is_filled, up, down),
		cmocka_unit_test_setup_teardown(a_held_write_keeps_its_unsolicited_data, up, down),
		cmocka_unit_test_setup_teardown(reads_that_wait_for_output_make_nobody_deaf, up, down),
		cmocka_unit_test_setup_teardown(held_requests_do_not_fill_the_memory, up, down),
		cmocka_unit_test_setup_teardown(a_tag_in_use_is_refused, up, down),
		cmocka_unit_test_setup_teardown(headers_that_make_no_task, up, down),
		cmocka_unit_test_setup_teardown(additional_headers, up, down),
		cmocka_unit_test_setup_teardown(immediate_commands_are_few, up, down),
		cmocka_unit_test_setup_teardown(the_window_counts_what_is_unanswered, up, down),
		cmocka_unit_test_setup_teardown(opcodes_that_are_not_requests, up, down),
		cmocka_unit_test_setup_teardown(memory_that_is_used_up, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
