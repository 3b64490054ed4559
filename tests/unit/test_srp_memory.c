/* Memory is short: commands wait or are told BUSY, logins are refused, credits shrink. */
#include "srp_rig.h"

enum { BUDGET = 16 << 20, BIG = 1 << 20, DEPTH = 32 };

static struct ini ini;
static struct got got;

static int
up(void **state)
{
	buf_budget(BUDGET);
	rig_init(1);
	rig_conf[0].queue_depth = DEPTH;
	rig_start(1);
	ini_login(&ini);
	return 0;
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	buf_budget(256u << 20);
	return 0;
}

/* A write of 1 MiB, directly or by a table elsewhere. */
static uint64_t
big_write(bool table)
{
	struct srp_direct_buf d = build_desc(RIG_VA, RIG_KEY, BIG);
	uint64_t tag = ini_rw(&ini, &rig_u, true, 0, BIG / 512);

	if (table)
		build_indirect(&rig_u, true, &d, 1, 0, 0x4000, 77);
	else
		build_direct(&rig_u, true, RIG_VA, RIG_KEY, BIG);
	ini_request(&ini, &rig_u);
	return tag;
}

static void
expose(void)
{
	struct srp_direct_buf d = build_desc(RIG_VA, RIG_KEY, BIG);

	memset(mem_expose(ini.end, RIG_VA, RIG_KEY, BIG), 0x77, BIG);
	memcpy(mem_expose(ini.end, 0x4000, 77, 16), &d, 16);
}

/* More than the budget at once: they take turns, and all are done. */
static void
writes_take_turns(void **state)
{
	for (int table = 0; table < 2; table++) {
		uint64_t first = ini.tag;

		expose();
		mem_hold(ini.end, MEM_HOLD_READ);
		for (int i = 0; i < DEPTH - 1; i++)
			big_write(table);
		mem_settle();
		mem_hold(ini.end, 0);
		for (int i = 0; i < DEPTH - 1; i++) {
			rig_until(ini_poll(&ini, &got));
			assert_int_equal(got.rsp.status, SCSI_GOOD);
			assert_in_range(get64(got.rsp.tag), first, first + DEPTH - 1);
		}
		mem_hide(ini.end, RIG_KEY);
		mem_hide(ini.end, 77);
	}
	/* Credits that were held back come again when memory is there. */
	rig_tick(0);
	rig_tick(SEC);
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
}

/* An initiator that is aborted, or leaves, while its commands wait for memory. */
static void
ends_while_they_wait(void **state)
{
	for (int how = 0; how < 3; how++) {
		uint64_t last = 0;

		expose();
		mem_hold(ini.end, MEM_HOLD_READ);
		for (int i = 0; i < DEPTH - 2; i++)
			last = big_write(how & 1);
		mem_settle();
		if (how == 0) {
			uint64_t tag = ini_tmf(&ini, &rig_u, SRP_TSK_ABORT_TASK, last);

			ini_request(&ini, &rig_u);
			mem_settle();
			mem_hold(ini.end, 0);
			/* All but the one, and the function: in any order. */
			for (int i = 0; i < DEPTH - 2; i++) {
				rig_until(ini_poll(&ini, &got));
				assert_int_equal(got.rsp.status, SCSI_GOOD);
				assert_true(get64(got.rsp.tag) != last);
				if (get64(got.rsp.tag) == tag)
					assert_int_equal(got_code(&got), SRP_TSK_MGMT_COMPLETE);
			}
		}
		ini_free(&ini);
		rig_until(mem.conns == 0 && rig_live() == 0);
		ini_login(&ini);
	}
}

/* Somebody else has it all: reads are told BUSY, or wait; the channel lives. */
static void
reads_without_memory(void **state)
{
	uint64_t write, tag;

	expose();
	mem_expose(ini.end, 0x20000000, 5, 4 << 20);
	mem_hold(ini.end, MEM_HOLD_READ);
	for (int i = 0; i < 16; i++)
		write = big_write(false);
	mem_settle();
	assert_true(write);
	tag = ini_rw(&ini, &rig_u, false, 0, BIG / 512);
	build_direct(&rig_u, false, 0x20000000, 5, BIG);
	ini_request(&ini, &rig_u);
	mem_settle();
	mem_hold(ini.end, 0);
	for (int i = 0; i < 17; i++) {
		rig_until(ini_poll(&ini, &got));
		assert_true(got.rsp.status == SCSI_GOOD ||
		    (get64(got.rsp.tag) == tag && got.rsp.status == SCSI_BUSY));
	}
	rig_tick(0);
	ini_quiet_unit(&ini, 0);
}

/* Receive buffers are memory too: logins are refused before commands have none. */
static void
logins_without_memory(void **state)
{
	struct ini more[64];
	unsigned n = 0;

	ini_free(&ini);
	rig_conf[0].queue_depth = 256;
	for (; n < 64; n++) {
		ini_connect(&more[n], (struct say){ .port = (uint8_t)n, .iu_len = 16384 });
		mem_settle();
		if (mem_state(more[n].end) == MEM_REFUSED)
			break;
		ini_entered(&more[n]);
	}
	assert_true(n >= 1 && n < 8);
	assert_int_equal(ini_refused(&more[n]), SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
	/* Those who are in are served, with data. */
	for (unsigned i = 0; i < n; i++) {
		uint64_t tag;

		ini_quiet_unit(&more[i], 0);
		mem_expose(more[i].end, RIG_VA, RIG_KEY, 65536);
		tag = ini_rw(&more[i], &rig_u, true, 0, 128);
		build_direct(&rig_u, true, RIG_VA, RIG_KEY, 65536);
		ini_request(&more[i], &rig_u);
		ini_good(&more[i], tag);
		ini_free(&more[i]);
	}
	rig_until(mem.conns == 0);
	rig_conf[0].queue_depth = DEPTH;
	ini_login(&ini);
}

static void
limit_run(void *limit)
{
	struct srp_reactor *home = srp_reactor(reactor_self());

	*(uint32_t *)limit = list_first(&home->channels, struct srp_channel, link)->credit.limit;
}

/* What the target wants the request limit of the only channel to be. */
static uint32_t
limit_now(void)
{
	uint32_t limit;

	fake_run(0, limit_run, &limit);
	return limit;
}

/* When it is nearly used up there are fewer credits, but never fewer than two; then all again. */
static void
credits_follow_memory(void **state)
{
	enum { N = 220, LEN = 65536 };

	ini_free(&ini);
	rig_conf[0].queue_depth = 256;
	ini_login(&ini);
	mem_expose(ini.end, RIG_VA, RIG_KEY, LEN);
	mem_hold(ini.end, MEM_HOLD_READ);
	for (int i = 0; i < N; i++) {
		ini_rw(&ini, &rig_u, true, 0, LEN / 512);
		build_direct(&rig_u, true, RIG_VA, RIG_KEY, LEN);
		ini_request(&ini, &rig_u);
	}
	/* The reactor's own tick sees it: then responses do not give everything back. */
	rig_until(limit_now() == 32);
	mem_hold(ini.end, 0);
	for (int i = 0; i < N; i++) {
		rig_until(ini_poll(&ini, &got));
		assert_int_equal(got.rsp.status, SCSI_GOOD);
	}
	/* The next tick, and a response that carries them. */
	rig_until(limit_now() == 256);
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(writes_take_turns), T(ends_while_they_wait), T(reads_without_memory),
		T(logins_without_memory), T(credits_follow_memory),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
