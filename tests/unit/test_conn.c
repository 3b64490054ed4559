/* A connection: input cut anywhere, ends at any point, output nobody takes. */
#include "iscsi_rig.h"

static uint8_t pattern[262144];

static int
up(void **state)
{
	rig_init(1);
	rig_start(1);
	return 0;
}

/* A small conversation as bytes: a write with immediate data, one by R2T (its TTT is 0), a ping, a read. */
static size_t
talk_pack(struct ini *i, uint8_t *out, be32 itts[4])
{
	struct iscsi_scsi_cmd w1 = req_rw(i, SCSI_CMD_F | SCSI_CMD_W, 0, 1);
	struct iscsi_scsi_cmd w2 = req_rw(i, SCSI_CMD_F | SCSI_CMD_W, 1, 1);
	struct iscsi_scsi_cmd r = req_rw(i, SCSI_CMD_F | SCSI_CMD_R, 0, 2);
	struct iscsi_nop_out nop = {
		.opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_F, .itt = put32(i->itt++),
		.ttt = put32(ISCSI_NO_TAG), .cmd_sn = put32(i->cmd_sn - 3),
	};
	struct iscsi_r2t r2t = { .itt = w2.itt };
	struct iscsi_data_out d = req_data(&r2t, 0, 0, true);
	size_t n = 0;

	nop.cmd_sn = w1.cmd_sn;
	n += ini_pack(i, &nop, "ping!", 5, out + n);
	n += ini_pack(i, &w1, pattern, 511 + 1, out + n);
	n += ini_pack(i, &w2, NULL, 0, out + n);
	n += ini_pack(i, &d, pattern + 512, 512, out + n);
	n += ini_pack(i, &r, NULL, 0, out + n);
	itts[0] = nop.itt;
	itts[1] = w1.itt;
	itts[2] = w2.itt;
	itts[3] = r.itt;
	return n;
}

static void
talk_expect(struct ini *i, const be32 itts[4])
{
	ini_expect(i, &rig_in, ISCSI_NOP_IN);
	assert_int_equal(get32(rig_in.nop.itt), get32(itts[0]));
	assert_int_equal(rig_in.len, 5);
	assert_memory_equal(rig_in.data, "ping!", 5);
	ini_response(i, &rig_in, itts[1], SCSI_GOOD);
	ini_expect(i, &rig_in, ISCSI_R2T);
	assert_int_equal(get32(rig_in.r2t.ttt), 0);
	ini_response(i, &rig_in, itts[2], SCSI_GOOD);
	ini_expect(i, &rig_in, ISCSI_DATA_IN);
	assert_int_equal(get32(rig_in.data_in.itt), get32(itts[3]));
	assert_memory_equal(rig_in.data, pattern, 1024);
}

static void
open_for_talk(struct ini *i, unsigned digests)
{
	ini_open(i, 0);
	if (digests) {
		INI_LOGIN(i, 1, "HeaderDigest=CRC32C\0DataDigest=CRC32C");
		i->header_digest = i->data_digest = true;
	} else {
		INI_LOGIN(i, 1, "HeaderDigest=None");
	}
	ini_quiet_units(i, 1);
}

/* The order of the data must not matter to the Data-Out that comes before its R2T was read. */
static void
input_cut_at_every_byte(void **state)
{
	for (unsigned digests = 0; digests <= 1; digests++) {
		uint8_t bytes[2048];
		struct ini probe;
		be32 itts[4];
		size_t whole;

		rig_pattern(pattern, 1024, digests + 3);
		open_for_talk(&probe, digests);
		whole = talk_pack(&probe, bytes, itts);
		ini_write(&probe, bytes, whole);
		talk_expect(&probe, itts);
		ini_close(&probe);
		for (size_t cut = 1; cut < whole; cut += cut < 128 ? 1 : 7) {
			struct ini i;

			open_for_talk(&i, digests);
			assert_int_equal(talk_pack(&i, bytes, itts), whole);
			memset(fakes.fake[0].mem, 0, 1024);
			ini_write(&i, bytes, cut);
			fake_settle();
			ini_write(&i, bytes + cut, whole - cut);
			talk_expect(&i, itts);
			ini_close(&i);
		}
	}
}

static void
one_byte_at_a_time(void **state)
{
	uint8_t bytes[2048];
	struct ini i;
	be32 itts[4];
	size_t whole;

	rig_pattern(pattern, 1024, 8);
	open_for_talk(&i, 1);
	whole = talk_pack(&i, bytes, itts);
	for (size_t at = 0; at < whole; at++) {
		ini_write(&i, bytes + at, 1);
		fake_settle();
	}
	talk_expect(&i, itts);
	ini_close(&i);
}

/* T06: what half came is freed with the connection. rig_stop proves it. */
static void
closed_at_every_byte(void **state)
{
	uint8_t bytes[2048];
	size_t whole = 1;

	for (size_t cut = 1; cut < whole || whole == 1; cut += 5) {
		struct ini i;
		be32 itts[4];

		open_for_talk(&i, cut & 1);
		whole = talk_pack(&i, bytes, itts);
		ini_write(&i, bytes, MIN(cut, whole));
		ini_close(&i);
	}
}

static void
closed_with_commands_at_the_disk(void **state)
{
	fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = true;
	for (unsigned round = 0; round < 5; round++) {
		struct iscsi_scsi_cmd h;
		struct ini i;

		open_for_talk(&i, 0);
		for (unsigned n = 0; n < 8; n++) {
			h = req_rw(&i, SCSI_CMD_F | (n & 1 ? SCSI_CMD_R : SCSI_CMD_W), n, 8);
			ini_send(&i, &h, pattern, n & 1 ? 0 : 4096);
		}
		RIG_UNTIL(fake_disk_held(&fakes.fake[0]) == 8);
		ini_close(&i);
		fake_settle();
		usleep(10000);
		fake_disk_release(&fakes.fake[0], 8);
	}
	fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = false;
}

static void
live(void *arg)
{
	*(unsigned *)arg = iscsi_reactor_at(0)->cmds.used;
}

/* O05: reads above the cap are not begun while nobody takes their output; all of it comes in the end. */
static void
a_reader_that_does_not_read(void **state)
{
	enum { READS = 48 };
	struct iscsi_scsi_cmd h;
	uint32_t got = 0;
	unsigned begun, running;
	struct ini i;
	int small = 4096;

	open_for_talk(&i, 0);
	setsockopt(i.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	rig_pattern(fakes.fake[0].mem, 1 << 20, 1);
	for (unsigned n = 0; n < READS; n++) {
		h = req_rw(&i, SCSI_CMD_F | SCSI_CMD_R, 0, 1024);
		ini_send(&i, &h, NULL, 0);
	}
	fake_settle();
	usleep(50000);
	begun = rig_ops(DISK_READ);
	assert_true(begun > 0 && begun * 524288u <= TX_CAP + 524288u);
	assert_true(begun < READS);
	fake_run(0, live, &running);
	assert_true(running <= begun);
	for (unsigned done = 0; done < READS;) {
		ini_expect(&i, &rig_in, ISCSI_DATA_IN);
		got += rig_in.len;
		done += rig_in.data_in.flags & DATA_IN_S;
	}
	assert_int_equal(got, READS * 524288u);
	ini_close(&i);
}

static void
segments_longer_than_declared(void **state)
{
	struct iscsi_nop_out nop = {
		.opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_F, .itt = put32(7),
		.ttt = put32(ISCSI_NO_TAG),
	};
	struct ini i;

	open_for_talk(&i, 0);
	nop.cmd_sn = put32(i.cmd_sn);
	ini_send(&i, &nop, pattern, ISCSI_RECV_DSL);
	ini_expect(&i, &rig_in, ISCSI_NOP_IN);
	assert_int_equal(rig_in.len, ISCSI_RECV_DSL);
	nop.data_len = put24(ISCSI_RECV_DSL + 1);
	ini_write(&i, &nop, sizeof(nop));
	ini_eof(&i);
	/* Before login the limit is the protocol's, and the body is not waited for. */
	ini_open(&i, 0);
	nop.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE;
	nop.data_len = put24(ISCSI_LOGIN_DSL_MAX + 1);
	ini_write(&i, &nop, sizeof(nop));
	ini_eof(&i);
}

static void
anything_but_a_login_first(void **state)
{
	static const uint8_t opcodes[] = {
		ISCSI_SCSI_CMD, ISCSI_NOP_OUT, ISCSI_TEXT_REQ, ISCSI_DATA_OUT, ISCSI_LOGOUT_REQ,
		ISCSI_SNACK, ISCSI_TMF_REQ | ISCSI_IMMEDIATE, 0x3f, 0x1f,
	};

	for (unsigned k = 0; k < ARRAY_LEN(opcodes); k++) {
		struct iscsi_bhs h = { .opcode = opcodes[k], .itt = put32(5) };
		struct ini i;

		ini_open(&i, 0);
		ini_send(&i, &h, NULL, 0);
		ini_expect(&i, &rig_in, ISCSI_LOGIN_RSP);
		assert_int_equal(rig_in.login.status_class, 2);
		assert_int_equal(rig_in.login.status_detail, 0x0b);
		ini_eof(&i);
		/* And gone before the answer. */
		ini_open(&i, 0);
		ini_send(&i, &h, NULL, 0);
		ini_close(&i);
	}
}

static void
the_oldest_half_open_one_goes(void **state)
{
	struct ini i[HALF_OPEN_PER_ADDRESS + 2], ok;

	for (unsigned k = 0; k < ARRAY_LEN(i); k++) {
		ini_open(&i[k], 0);
		fake_settle();
	}
	ini_eof(&i[0]);
	ini_eof(&i[1]);
	/* Those that have logged in do not count. */
	for (unsigned k = 2; k < 12; k++)
		INI_LOGIN(&i[k], (uint8_t)k, "HeaderDigest=None");
	for (unsigned k = 0; k < 10; k++) {
		ini_open(&ok, 0);
		INI_LOGIN(&ok, (uint8_t)(100 + k), "HeaderDigest=None");
		ini_close(&ok);
	}
	for (unsigned k = 2; k < ARRAY_LEN(i); k++)
		ini_close(&i[k]);
}

static void
nothing_after_logout_is_served(void **state)
{
	struct iscsi_logout_req out = {
		.opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE, .flags = ISCSI_F | ISCSI_LOGOUT_SESSION,
		.itt = put32(0x777),
	};
	uint8_t bytes[2048];
	size_t n;
	struct iscsi_scsi_cmd h;
	struct ini i;

	open_for_talk(&i, 0);
	out.cmd_sn = put32(i.cmd_sn);
	n = ini_pack(&i, &out, NULL, 0, bytes);
	for (unsigned k = 0; k < 10; k++) {
		h = req_tur(&i);
		n += ini_pack(&i, &h, NULL, 0, bytes + n);
	}
	ini_write(&i, bytes, n);
	ini_expect(&i, &rig_in, ISCSI_LOGOUT_RSP);
	assert_int_equal(rig_in.logout.response, ISCSI_LOGOUT_OK);
	ini_eof(&i);
}

static void
logouts_that_do_not_log_out(void **state)
{
	static const struct { uint8_t reason; uint16_t cid; uint8_t response; } rows[] = {
		{ ISCSI_LOGOUT_CONNECTION, 9, ISCSI_LOGOUT_NO_CID },
		{ ISCSI_LOGOUT_RECOVERY, 0, ISCSI_LOGOUT_NO_RECOVERY },
		{ 5, 0, ISCSI_LOGOUT_FAILED },
	};
	struct ini i;

	open_for_talk(&i, 0);
	for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
		struct iscsi_logout_req out = {
			.opcode = ISCSI_LOGOUT_REQ, .flags = (uint8_t)(ISCSI_F | rows[k].reason),
			.itt = put32(k), .cid = put16(rows[k].cid), .cmd_sn = put32(i.cmd_sn++),
		};

		ini_send(&i, &out, NULL, 0);
		ini_expect(&i, &rig_in, ISCSI_LOGOUT_RSP);
		assert_int_equal(rig_in.logout.response, rows[k].response);
	}
	ini_ping(&i, &rig_in);
	ini_close(&i);
}

static void
a_silent_peer_is_pinged_and_dropped(void **state)
{
	struct ini good, mute;

	rig_conf.nop_interval_ns = rig_conf.nop_timeout_ns = 300 * MS;
	open_for_talk(&good, 0);
	ini_open(&mute, 0);
	INI_LOGIN(&mute, 2, "HeaderDigest=None");
	for (unsigned k = 0; k < 3; k++) {
		struct iscsi_nop_out pong = {
			.opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_F,
			.itt = put32(ISCSI_NO_TAG), .cmd_sn = put32(good.cmd_sn),
		};
		uint32_t before = get32(rig_in.nop.stat_sn);

		ini_expect(&good, &rig_in, ISCSI_NOP_IN);
		assert_int_equal(get32(rig_in.nop.itt), ISCSI_NO_TAG);
		assert_int_not_equal(get32(rig_in.nop.ttt), ISCSI_NO_TAG);
		/* A ping takes no StatSN. */
		if (k)
			assert_int_equal(get32(rig_in.nop.stat_sn), before);
		pong.ttt = rig_in.nop.ttt;
		ini_send(&good, &pong, NULL, 0);
	}
	ini_expect(&mute, &rig_in, ISCSI_NOP_IN);
	ini_eof(&mute);
	ini_close(&good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(input_cut_at_every_byte, up, rig_down),
		cmocka_unit_test_setup_teardown(one_byte_at_a_time, up, rig_down),
		cmocka_unit_test_setup_teardown(closed_at_every_byte, up, rig_down),
		cmocka_unit_test_setup_teardown(closed_with_commands_at_the_disk, up, rig_down),
		cmocka_unit_test_setup_teardown(a_reader_that_does_not_read, up, rig_down),
		cmocka_unit_test_setup_teardown(segments_longer_than_declared, up, rig_down),
		cmocka_unit_test_setup_teardown(anything_but_a_login_first, up, rig_down),
		cmocka_unit_test_setup_teardown(the_oldest_half_open_one_goes, up, rig_down),
		cmocka_unit_test_setup_teardown(nothing_after_logout_is_served, up, rig_down),
		cmocka_unit_test_setup_teardown(logouts_that_do_not_log_out, up, rig_down),
		cmocka_unit_test_setup_teardown(a_silent_peer_is_pinged_and_dropped, up, rig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
