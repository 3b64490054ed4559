/* Sessions: replaced, continued, refused; over two reactors, with a disk that does not answer. */
#include "iscsi_rig.h"

static uint8_t pattern[4096];

static unsigned
status_of(struct ini *i, uint8_t isid, uint16_t tsih, uint16_t cid)
{
	return ini_enter(i, isid, tsih, cid, "HeaderDigest=None", 18, &rig_in);
}

/* A login whose answer is not waited for. */
static void
login_send(struct ini *i, uint8_t isid)
{
	static const char keys[] = "InitiatorName=" RIG_INITIATOR "\0TargetName=" RIG_TARGET;
	struct iscsi_login_req h = {
		.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_LOGIN_T | ISCSI_STAGE_OPERATIONAL << 2 | ISCSI_STAGE_FULL_FEATURE,
		.isid = { 0x80, 0, 0, 0, 0, isid },
		.itt = put32(1),
		.cmd_sn = put32(i->cmd_sn),
	};

	ini_send(i, &h, keys, sizeof(keys));
}

static void
works(struct ini *i)
{
	struct iscsi_scsi_cmd h = req_tur(i);

	ini_send(i, &h, NULL, 0);
	ini_expect(i, &rig_in, ISCSI_SCSI_RSP);
	assert_int_equal(get32(rig_in.rsp.itt), get32(h.itt));
}

static void
isids_make_sessions_of_their_own(void **state)
{
	struct ini i[20];

	for (unsigned k = 0; k < ARRAY_LEN(i); k++) {
		ini_open(&i[k], k % 2);
		assert_int_equal(status_of(&i[k], (uint8_t)k, 0, 0), LOGIN_OK);
		assert_int_not_equal(i[k].tsih, 0);
		for (unsigned j = 0; j < k; j++)
			assert_int_not_equal(i[j].tsih, i[k].tsih);
	}
	for (unsigned k = 0; k < ARRAY_LEN(i); k++)
		works(&i[k]);
	for (unsigned k = 0; k < ARRAY_LEN(i); k++)
		ini_close(&i[k]);
}

static void
the_same_isid_replaces(void **state)
{
	struct ini a, b, c;

	for (unsigned r = 0; r < 2; r++) {
		ini_open(&a, 0);
		assert_int_equal(status_of(&a, 1, 0, 0), LOGIN_OK);
		works(&a);
		ini_open(&b, r);
		assert_int_equal(status_of(&b, 1, 0, 0), LOGIN_OK);
		ini_eof(&a);
		works(&b);
		/* The other target is another nexus. */
		ini_open(&c, 1);
		assert_int_equal(status_of(&c, 2, 0, 0), LOGIN_OK);
		works(&b);
		ini_close(&b);
		ini_close(&c);
	}
}

static void
many_at_once_leave_one(void **state)
{
	struct ini i[16];
	unsigned alive = 0;

	for (unsigned k = 0; k < ARRAY_LEN(i); k++) {
		ini_open(&i[k], k % 2);
		login_send(&i[k], 7);
	}
	/* All are answered; all but the last one then lose their session, so none is asked before. */
	for (unsigned k = 0; k < ARRAY_LEN(i); k++) {
		ini_expect(&i[k], &rig_in, ISCSI_LOGIN_RSP);
		assert_int_equal(rig_in.login.status_class, 0);
	}
	for (unsigned k = 0; k < ARRAY_LEN(i); k++) {
		struct iscsi_nop_out h = {
			.opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_F, .itt = put32(3),
			.ttt = put32(ISCSI_NO_TAG), .cmd_sn = put32(i[k].cmd_sn),
		};

		if (send(i[k].fd, &h, sizeof(h), MSG_NOSIGNAL) == sizeof(h) && ini_recv(&i[k], &rig_in))
			alive++;
		ini_close(&i[k]);
	}
	assert_int_equal(alive, 1);
}

/* T07, T08, L19: the disk has its commands; the login is answered when it gives them back, or bounded. */
static void
replaced_while_the_disk_has_its_writes(void **state)
{
	struct fake_disk *disk = &fakes.fake[0];
	uint64_t began;
	struct ini a, b;

	for (unsigned stuck = 0; stuck <= 1; stuck++) {
		struct pollfd pfd;

		disk->hold[DISK_WRITE] = true;
		ini_open(&a, 0);
		assert_int_equal(status_of(&a, 1, 0, 0), LOGIN_OK);
		ini_quiet_units(&a, 1);
		for (unsigned k = 0; k < 8; k++) {
			struct iscsi_scsi_cmd w = req_rw(&a, SCSI_CMD_F | SCSI_CMD_W, k * 8, 8);

			/* Half of them wait for their data instead. */
			ini_send(&a, &w, pattern, k & 1 ? 0 : 4096);
		}
		RIG_UNTIL(fake_disk_held(disk) == 4);
		ini_open(&b, 1);
		began = now_ns();
		login_send(&b, 1);
		pfd = (struct pollfd){ .fd = b.fd, .events = POLLIN };
		assert_int_equal(poll(&pfd, 1, 100), 0);
		if (!stuck)
			fake_disk_release(disk, 4);
		ini_expect(&b, &rig_in, ISCSI_LOGIN_RSP);
		assert_int_equal(rig_in.login.status_class, 0);
		assert_true(now_ns() - began < TMF_WAIT_NS + 2 * SEC);
		if (stuck)
			assert_true(now_ns() - began > SEC);
		works(&b);
		disk->hold[DISK_WRITE] = false;
		if (stuck)
			fake_disk_release(disk, 4);
		ini_quiet(&b);
		ini_close(&a);
		ini_close(&b);
	}
}

static void
who_waits_for_an_old_session_may_leave(void **state)
{
	struct fake_disk *disk = &fakes.fake[0];
	struct iscsi_scsi_cmd w;
	struct ini a, b;

	disk->hold[DISK_WRITE] = true;
	ini_open(&a, 0);
	assert_int_equal(status_of(&a, 1, 0, 0), LOGIN_OK);
	ini_quiet_units(&a, 1);
	w = req_rw(&a, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
	ini_send(&a, &w, pattern, 4096);
	RIG_UNTIL(fake_disk_held(disk) == 1);
	for (unsigned k = 0; k < 4; k++) {
		ini_open(&b, k % 2);
		login_send(&b, 1);
		fake_settle();
		ini_close(&b);
	}
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	ini_eof(&a);
}

static void
tsih_and_cid(void **state)
{
	struct ini a, b;
	uint16_t tsih;

	ini_open(&a, 0);
	assert_int_equal(status_of(&a, 1, 0, 5), LOGIN_OK);
	tsih = a.tsih;
	ini_open(&b, 1);
	assert_int_equal(status_of(&b, 1, (uint16_t)(tsih + 1), 5), LOGIN_NO_SESSION);
	ini_eof(&b);
	ini_open(&b, 1);
	assert_int_equal(status_of(&b, 2, tsih, 5), LOGIN_NO_SESSION);
	ini_eof(&b);
	ini_open(&b, 1);
	assert_int_equal(status_of(&b, 1, tsih, 6), LOGIN_TOO_MANY_CONNECTIONS);
	ini_eof(&b);
	works(&a);
	/* The same connection of the same session: it goes on under its TSIH. */
	ini_open(&b, 1);
	assert_int_equal(status_of(&b, 1, tsih, 5), LOGIN_OK);
	assert_int_equal(b.tsih, tsih);
	ini_eof(&a);
	works(&b);
	ini_close(&b);
}

static void
discovery_carries_no_scsi(void **state)
{
	static const char keys[] = "InitiatorName=" RIG_INITIATOR "\0SessionType=Discovery";
	struct iscsi_login_req l = {
		.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_LOGIN_T | ISCSI_STAGE_OPERATIONAL << 2 | ISCSI_STAGE_FULL_FEATURE,
		.isid = { 0x80, 0, 0, 0, 0, 1 }, .itt = put32(1),
	};
	struct iscsi_text_req text = {
		.opcode = ISCSI_TEXT_REQ, .flags = ISCSI_F, .itt = put32(9), .ttt = put32(ISCSI_NO_TAG),
	};
	struct iscsi_scsi_cmd h;
	struct iscsi_tmf_req tmf;
	struct iscsi_data_out d = { .opcode = ISCSI_DATA_OUT, .flags = ISCSI_F, .ttt = put32(4) };
	struct ini i;

	ini_open(&i, 0);
	l.cmd_sn = put32(i.cmd_sn);
	ini_send(&i, &l, keys, sizeof(keys));
	ini_expect(&i, &rig_in, ISCSI_LOGIN_RSP);
	assert_int_equal(rig_in.login.status_class, 0);
	h = req_tur(&i);
	ini_send(&i, &h, NULL, 0);
	ini_expect(&i, &rig_in, ISCSI_REJECT);
	assert_int_equal(rig_in.reject.reason, ISCSI_REJECT_PROTOCOL);
	tmf = req_tmf(&i, ISCSI_LUN_RESET, put32(ISCSI_NO_TAG), put32(0));
	ini_send(&i, &tmf, NULL, 0);
	ini_expect(&i, &rig_in, ISCSI_REJECT);
	ini_send(&i, &d, pattern, 100);
	text.cmd_sn = put32(i.cmd_sn++);
	ini_send(&i, &text, "SendTargets=All", 16);
	ini_expect(&i, &rig_in, ISCSI_TEXT_RSP);
	assert_int_equal(get32(rig_in.bhs.itt), 9);
	assert_non_null(memmem(rig_in.data, rig_in.len, RIG_TARGET, strlen(RIG_TARGET)));
	ini_close(&i);
}

static void
drop_all(void *arg)
{
	struct iscsi_reactor *home = iscsi_reactor_at(0);
	struct iscsi_sess *sess;

	list_for_each(sess, &home->sessions, link)
		iscsi_ops.drop(sess->nexus);
}

/* D24: who does not log out when asked is dropped at the deadline. */
static void
asked_to_log_out(void **state)
{
	uint64_t began = now_ns();
	struct ini i;

	ini_open(&i, 0);
	assert_int_equal(status_of(&i, 1, 0, 0), LOGIN_OK);
	fake_run(0, drop_all, NULL);
	ini_expect(&i, &rig_in, ISCSI_ASYNC);
	assert_int_equal(rig_in.async.event, ISCSI_ASYNC_LOGOUT);
	assert_int_equal(get16(rig_in.async.param3), GRACE_NS / SEC);
	works(&i);
	ini_eof(&i);
	assert_true(now_ns() - began >= GRACE_NS);
	assert_true(now_ns() - began < GRACE_NS + SEC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(isids_make_sessions_of_their_own, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(the_same_isid_replaces, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(many_at_once_leave_one, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(replaced_while_the_disk_has_its_writes, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(who_waits_for_an_old_session_may_leave, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(tsih_and_cid, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(discovery_carries_no_scsi, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(asked_to_log_out, rig_up, rig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
