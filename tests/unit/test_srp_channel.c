/* A channel's life: credits exact to the last one, requests of the target, and every way to end. */
#include "srp_rig.h"

static const uint8_t tur[16];
static struct ini ini;
static struct got got;

static int
up(void **state)
{
	rig_up(state);
	ini_login(&ini);
	return 0;
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	return 0;
}

static uint64_t
tur_send(void)
{
	uint64_t tag = ini_cmd(&ini, &rig_u, 0, tur, 16);

	ini_request(&ini, &rig_u);
	return tag;
}

/* The target asks it to leave for this reason, and it does. */
static void
logged_out(uint32_t reason)
{
	rig_until(ini_poll(&ini, &got));
	assert_int_equal(got.b[0], SRP_T_LOGOUT);
	assert_int_equal(got.len, sizeof(got.logout));
	assert_int_equal(get32(got.logout.reason), reason);
	assert_false(ini_poll(&ini, &got));
	mem_leave(ini.end);
	rig_until(mem.conns == 0);
}

static void
dropped(void)
{
	rig_until(mem_state(ini.end) == MEM_DROPPED && mem.conns == 0);
}

static void
again(void)
{
	ini_free(&ini);
	ini_login(&ini);
}

/* -- credits -- */

/* Each response gives back what its request took: at rest all are with the initiator. */
static void
all_come_back(void **state)
{
	for (int round = 0; round < 100; round++) {
		uint64_t first = ini.tag;
		unsigned n = 1 + (unsigned)round % RIG_DEPTH;

		for (unsigned i = 0; i < n; i++)
			tur_send();
		for (unsigned i = 0; i < n; i++)
			ini_good(&ini, first + i);
		ini_at_rest(&ini);
	}
}

/* R03: functions take and give one like commands, whatever comes of them. */
static void
functions_too(void **state)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_ABORT_TASK_SET,
		SRP_TSK_CLEAR_TASK_SET, SRP_TSK_LUN_RESET, SRP_TSK_CLEAR_ACA, 0, 3, 0x10, 0xff };

	for (int i = 0; i < 1000; i++) {
		uint64_t tag = ini_tmf(&ini, &rig_u, fns[(size_t)i % sizeof(fns)], 0xdead);

		ini_request(&ini, &rig_u);
		ini_rsp(&ini, &got, tag);
		got_code(&got);
		assert_int_equal(get32(got.rsp.req_lim_delta), 1);
	}
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
}

/* A unit that is refused has used its credit too, and gets it back. */
static void
refused_units_too(void **state)
{
	for (int i = 0; i < 100; i++) {
		uint64_t tag = ini_cmd(&ini, &rig_u, 0, tur, 16);

		((struct srp_cmd *)rig_u.b)->buf_fmt = 0x44;
		ini_request(&ini, &rig_u);
		ini_rsp(&ini, &got, tag);
		assert_int_equal(get32(got.rsp.req_lim_delta), 1);
	}
	ini_at_rest(&ini);
}

/* R05: requests that were not granted end the channel, and nothing else. */
static void
beyond_the_limit(void **state)
{
	for (unsigned more = 1; more <= 16; more++) {
		fakes.fake[0].hold[DISK_READ] = true;
		for (unsigned i = 0; i < RIG_DEPTH + more; i++) {
			ini_rw(&ini, &rig_u, false, 0, 1);
			build_direct(&rig_u, false, RIG_VA, RIG_KEY, 512);
			mem_send(ini.end, rig_u.b, rig_u.len);
		}
		dropped();
		assert_int_equal(fakes.fake[0].ops[DISK_READ], RIG_DEPTH);
		fakes.fake[0].ops[DISK_READ] = 0;
		fakes.fake[0].hold[DISK_READ] = false;
		fake_disk_release(&fakes.fake[0], RIG_DEPTH);
		again();
	}
	ini_at_rest(&ini);
}

/*
 * Commands that stay long hold all credits but the one that is kept for task
 * management: what ends meanwhile comes back by itself when no response is due.
 */
static void
credits_by_themselves(void **state)
{
	uint64_t reads[RIG_DEPTH];
	uint8_t *data = mem_expose(ini.end, RIG_VA, RIG_KEY, 512);
	int round;

	fakes.fake[0].hold[DISK_READ] = true;
	for (int i = 0; i < RIG_DEPTH - 2; i++) {
		reads[i] = ini_rw(&ini, &rig_u, false, 0, 1);
		build_direct(&rig_u, false, RIG_VA, RIG_KEY, 512);
		ini_request(&ini, &rig_u);
	}
	rig_until(fake_disk_held(&fakes.fake[0]) == RIG_DEPTH - 2);
	for (round = 0; round < 50; round++) {
		uint64_t tag = tur_send();

		ini_good(&ini, tag);
		assert_int_equal(ini.limit, 2);
	}
	fakes.fake[0].hold[DISK_READ] = false;
	fake_disk_release(&fakes.fake[0], RIG_DEPTH);
	for (int i = 0; i < RIG_DEPTH - 2; i++)
		ini_good(&ini, reads[i]);
	assert_int_equal(data[0], 0);
	ini_at_rest(&ini);
}

/* -- aborted commands: no response carries their credit -- */

/* Aborts n commands that a disk holds, by their tags or all at once. */
static void
abort_held(int n, uint8_t fn)
{
	uint64_t tags[RIG_DEPTH], tag;

	fakes.fake[0].hold[DISK_READ] = true;
	for (int i = 0; i < n; i++) {
		tags[i] = ini_rw(&ini, &rig_u, false, 0, 1);
		build_direct(&rig_u, false, RIG_VA, RIG_KEY, 512);
		ini_request(&ini, &rig_u);
	}
	rig_until(fake_disk_held(&fakes.fake[0]) == (unsigned)n);
	if (fn == SRP_TSK_ABORT_TASK) {
		for (int i = 0; i < n; i++) {
			tag = ini_tmf(&ini, &rig_u, fn, tags[i]);
			ini_request(&ini, &rig_u);
			mem_settle();
			fake_disk_release(&fakes.fake[0], 1);
			ini_rsp(&ini, &got, tag);
			assert_int_equal(got_code(&got), SRP_TSK_MGMT_COMPLETE);
		}
	} else {
		tag = ini_tmf(&ini, &rig_u, fn, 0);
		ini_request(&ini, &rig_u);
		mem_settle();
		fake_disk_release(&fakes.fake[0], RIG_DEPTH);
		ini_rsp(&ini, &got, tag);
		assert_int_equal(got_code(&got), SRP_TSK_MGMT_COMPLETE);
	}
	fakes.fake[0].hold[DISK_READ] = false;
}

static void
aborted_ones_too(void **state)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_ABORT_TASK_SET,
		SRP_TSK_CLEAR_TASK_SET, SRP_TSK_LUN_RESET };

	mem_expose(ini.end, RIG_VA, RIG_KEY, 512);
	for (int n = 1; n < RIG_DEPTH; n++) {
		for (size_t i = 0; i < sizeof(fns); i++) {
			abort_held(n, fns[i]);
			rig_until(ini_poll(&ini, &got) || ini.limit == RIG_DEPTH || ini.limit > 1);
			/* Wherever the rest is, the next response brings it. */
			ini_quiet_unit(&ini, 0);
			ini_at_rest(&ini);
		}
	}
}

/* An initiator that never answers SRP_CRED_REQ still gets its credits, by responses. */
static void
an_initiator_that_is_mute(void **state)
{
	ini.mute = true;
	mem_expose(ini.end, RIG_VA, RIG_KEY, 512);
	for (int n = 1; n < RIG_DEPTH; n++) {
		abort_held(n, SRP_TSK_ABORT_TASK_SET);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
	}
}

/* -- what the initiator answers -- */

static void
spurious_answers(void **state)
{
	static const uint8_t ops[] = { SRP_CRED_RSP, SRP_AER_RSP };

	for (size_t i = 0; i < sizeof(ops); i++) {
		ini_reply(&ini, ops[i], put64(99));
		logged_out(SRP_T_LOGOUT_SPURIOUS_RSP);
		again();
	}
}

static void
other_units(void **state)
{
	for (unsigned op = 0; op < 256; op++) {
		uint8_t b[64] = { (uint8_t)op };

		if (op == SRP_CMD || op == SRP_TSK_MGMT || op == SRP_I_LOGOUT ||
		    op == SRP_CRED_RSP || op == SRP_AER_RSP)
			continue;
		mem_send(ini.end, b, sizeof(b));
		logged_out(SRP_T_LOGOUT_INVALID_TYPE);
		again();
	}
}

/* L23: of no byte, of one, of all but the last of their header. */
static void
short_units(void **state)
{
	static const struct { uint8_t op; uint32_t len; } rows[] = {
		{ SRP_CMD, 0 }, { SRP_CMD, 1 }, { SRP_CMD, 15 }, { SRP_CMD, 47 },
		{ SRP_TSK_MGMT, 1 }, { SRP_TSK_MGMT, 47 }, { SRP_CRED_RSP, 15 }, { SRP_AER_RSP, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t *b = calloc(1, rows[i].len + 1);

		b[0] = rows[i].op;
		mem_send(ini.end, b, rows[i].len);
		free(b);
		logged_out(rows[i].len ? SRP_T_LOGOUT_INVALID_LEN : SRP_T_LOGOUT_INVALID_TYPE);
		again();
	}
}

/* Pings, and units of odd kinds, while commands run: what was begun is answered first, or ended. */
static void
bad_unit_behind_commands(void **state)
{
	uint8_t b[16] = { 0x99 };

	for (int i = 0; i < 5; i++)
		tur_send();
	mem_send(ini.end, b, sizeof(b));
	rig_until(mem_state(ini.end) == MEM_DROPPED);
	while (ini_poll(&ini, &got))
		assert_true(got.b[0] == SRP_RSP || got.b[0] == SRP_T_LOGOUT);
	dropped();
}

/* -- ends -- */

static void
initiator_logs_out(void **state)
{
	for (int held = 0; held < 2; held++) {
		fakes.fake[0].hold[DISK_READ] = held;
		ini_rw(&ini, &rig_u, false, 0, 1);
		build_direct(&rig_u, false, RIG_VA, RIG_KEY, 512);
		mem_expose(ini.end, RIG_VA, RIG_KEY, 512);
		ini_request(&ini, &rig_u);
		ini_reply(&ini, SRP_I_LOGOUT, put64(5));
		rig_until(mem_state(ini.end) == MEM_DROPPED);
		fakes.fake[0].hold[DISK_READ] = false;
		fake_disk_release(&fakes.fake[0], 1);
		dropped();
		again();
	}
}

/* R12. A peer that goes when it is told to, and one that does not. */
static void
target_stops(void **state)
{
	struct ini polite, rude;
	uint64_t begin;

	ini_login_as(&polite, (struct say){ .port = 1, .flags = SRP_LOSOLNT });
	ini_login_as(&rude, (struct say){ .port = 2 });
	srp_transport.portal_close(&fakes.portal);
	begin = now_ns();
	assert_int_equal(transports_stop(8 * SEC), 0);
	assert_true(now_ns() - begin < 4 * SEC);
	for (int i = 0; i < 2; i++) {
		struct ini *one = i ? &rude : &polite;

		assert_true(ini_poll(one, &got));
		assert_int_equal(got.b[0], SRP_T_LOGOUT);
		assert_int_equal(get32(got.logout.reason), SRP_T_LOGOUT_NO_REASON);
		assert_int_equal(got.solicited, !i);
		assert_int_equal(got.logout.sol_not, i ? 0 : SRP_SOLNT);
		ini_free(one);
	}
	/* For the teardown. */
	assert_int_equal(srp_transport.portal_open(&fakes.portal), 0);
}

/* R02: nothing is left of any of them, whatever was under way. */
static void
many_lives(void **state)
{
	for (int i = 0; i < 500; i++) {
		struct ini one;

		ini_login_as(&one, (struct say){ .port = 9, .rdma_form = i & 1 });
		for (int k = 0; k < i % 4; k++) {
			ini_cmd(&one, &rig_u, 0, tur, 16);
			ini_request(&one, &rig_u);
		}
		if (i % 3 == 0)
			mem_settle();
		if (i % 5 == 0)
			ini_reply(&one, SRP_I_LOGOUT, put64(1));
		ini_free(&one);
		rig_until(mem.conns == 1);
	}
	assert_int_equal(rig_live(), 1);
}

/* A unit that comes with the answer still on its way, and one that came before the peer left. */
static void
gone_before_it_began(void **state)
{
	for (int i = 0; i < 20; i++) {
		struct ini one;

		ini_connect(&one, (struct say){ .port = 9 });
		if (i & 1)
			mem_leave(one.end);
		ini_cmd(&one, &rig_u, 0, tur, 16);
		mem_send(one.end, rig_u.b, rig_u.len);
		if (i & 2)
			mem_leave(one.end);
		ini_free(&one);
		rig_until(mem.conns == 1);
	}
}

/* A portal without a device: said at start, and the rest runs. */
static void
no_device(void **state)
{
	srp_transport.portal_close(&fakes.portal);
	mem.absent = true;
	assert_int_equal(srp_transport.portal_open(&fakes.portal), 0);
	srp_transport.portal_close(&fakes.portal);
	mem.absent = false;
	assert_int_equal(srp_transport.portal_open(&fakes.portal), 0);
	ini_quiet_unit(&ini, 0);
}

/* -- silence -- */

static void
silence(void **state)
{
	rig_tick(0);
	assert_int_equal(mem_count(ini.end).writes, 0);
	rig_tick(IDLE_NS + SEC);
	/* A write of nothing, which the device answers though the initiator sleeps. */
	assert_true(mem_count(ini.end).writes >= 1);
	ini_at_rest(&ini);
	mem_arm(ini.end, 1, MEM_FAIL);
	rig_tick(3 * IDLE_NS);
	assert_int_equal(mem_hit(ini.end), MEM_AT_WRITE);
	dropped();
}

/* Logged in, and never heard of again. */
static void
never_established(void **state)
{
	ini_free(&ini);
	mem.hold = MEM_HOLD_ESTABLISHED;
	ini_login_as(&ini, (struct say){ 0 });
	rig_tick(ESTABLISH_NS + SEC);
	dropped();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(all_come_back), T(functions_too), T(refused_units_too), T(beyond_the_limit),
		T(credits_by_themselves), T(aborted_ones_too), T(an_initiator_that_is_mute),
		T(spurious_answers), T(other_units), T(short_units), T(bad_unit_behind_commands),
		T(initiator_logs_out), T(target_stops), T(many_lives), T(gone_before_it_began),
		T(no_device), T(silence), T(never_established),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
