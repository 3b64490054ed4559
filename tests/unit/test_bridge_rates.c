/* Rates in the bridge, against the real clock: nothing goes too early, and all goes in the end. */
#include "policy_rig.h"

#include <time.h>

enum { MS = 1000000 };

static enum disk_result
done_at_once(struct disk_io *io)
{
	io->result = 0;
	return DISK_DONE;
}

/* Two LUNs; a, in two sessions, has these rates. */
static void
start_paced(uint64_t iops, uint64_t bandwidth, uint64_t burst_ns)
{
	struct bridge_limits limits = { .weight = 1, .iops = iops, .bandwidth = bandwidth,
		.burst_ns = burst_ns };

	pstart(8, 8, 2);
	disk_answers = done_at_once;
	pflow_with(0, 0, "a", limits);
	pflow_with(1, 1, "a", limits);
	pflow(2, 0, "b", 1);
}

static int
count_done(void)
{
	int n = 0;

	rig_settle();
	for (int i = 0; i < npreqs; i++)
		n += preqs[i].done || preqs[i].verdict == BRIDGE_DONE;
	return n;
}

static void
nap(void)
{
	const struct timespec t = { .tv_nsec = MS };

	nanosleep(&t, NULL);
}

/* Until n are done; fails after a long time. Returns how long it took. */
static uint64_t
wait_for(int n)
{
	uint64_t from = now_ns();

	while (count_done() < n) {
		assert_true(now_ns() - from < 20000ull * MS);
		nap();
	}
	return now_ns() - from;
}

static void
so_many_a_second_over_all_sessions(void **state)
{
	uint64_t from = now_ns();

	start_paced(500, 0, 0);
	ask(0, DISK_READ, 0, 20);
	ask(1, DISK_READ, 0, 21);
	wait_for(41);
	/* The first goes at once, then one each 2 ms. */
	assert_true(now_ns() - from >= 80ull * MS);
	pcheck();
	pend();
}

static void
so_many_bytes_a_second(void **state)
{
	uint64_t from = now_ns();

	start_paced(0, 1 << 20, 0);
	for (int i = 0; i < 11; i++)
		ask_by(bridge_submit, 0, DISK_READ, 0, 16, 1, 0);
	wait_for(11);
	/* 8 KiB at 1 MiB/s: 7.8 ms. */
	assert_true(now_ns() - from >= 78ull * MS);
	pend();
}

static void
what_was_saved_up_goes_at_once(void **state)
{
	start_paced(10, 0, 1000ull * MS);
	ask(0, DISK_READ, 0, 11);
	/*
	 * A second's worth and the one that is begun: at 10 a second they would
	 * need another second.
	 */
	assert_true(wait_for(11) < 900ull * MS);
	ask(0, DISK_READ, 0, 1);
	assert_int_equal(count_done(), 11);
	wait_for(12);
	pend();
}

/* Many requests for one alarm; what was saved up is 50 of them. */
static void
a_high_rate_is_kept_too(void **state)
{
	uint64_t from = now_ns();

	start_paced(50000, 0, 1 * MS);
	ask(0, DISK_READ, 0, 2000);
	wait_for(2000);
	assert_true(now_ns() - from >= 38ull * MS);
	pend();
}

/* Nobody else has to wait, and no credit is kept by those who do. */
static void
others_are_not_held_up(void **state)
{
	start_paced(20, 0, 0);
	ask(0, DISK_READ, 0, 3);
	assert_in_range(count_done(), 1, 2);
	ask(2, DISK_READ, 0, 50);
	assert_in_range(count_done(), 51, 53);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 0);
	pcheck();
	wait_for(53);
	pend();
}

static void
a_cancelled_one_frees_its_place(void **state)
{
	int second;

	start_paced(1, 0, 0);
	ask(0, DISK_READ, 0, 1);
	second = ask(0, DISK_READ, 0, 1);
	assert_int_equal(count_done(), 1);
	assert_int_equal(pcancel(second), BRIDGE_CANCELLED);
	pcheck();
	pend();
}

/* The same rates again keep what is owed; other rates hold at once. */
static void
another_login_brings_other_rates(void **state)
{
	struct bridge_limits limits = { .weight = 1, .iops = 1 };

	start_paced(1, 0, 0);
	ask(0, DISK_READ, 0, 3);
	assert_int_equal(count_done(), 1);
	pflow_with(3, 1, "a", limits);
	assert_int_equal(count_done(), 1);
	pflow(4, 1, "a", 1);
	assert_true(wait_for(3) < 900ull * MS);
	pcheck();
	/* And from here on nothing of it is left: the fast path again. */
	ask(0, DISK_READ, 0, 1);
	assert_int_equal(preqs[3].verdict, BRIDGE_DONE);
	pend();
}

/* A debt at a low rate is a small one at a high rate. */
static void
a_rate_that_was_raised_holds_at_once(void **state)
{
	struct bridge_limits limits = { .weight = 1, .bandwidth = 1 << 30 };

	start_paced(0, 1024, 0);
	ask_by(bridge_submit, 0, DISK_READ, 0, 64, 1, 0);
	ask_by(bridge_submit, 0, DISK_READ, 0, 64, 20, 0);
	assert_int_equal(count_done(), 1);
	pflow_with(3, 1, "a", limits);
	assert_true(wait_for(21) < 900ull * MS);
	pcheck();
	pend();
}

static void
on_put_one(void *arg)
{
	int i = *(int *)arg;

	bridge_flow_put(pflows[i]);
	pflows[i] = NULL;
}

/* Its predecessor left with a debt of 32 seconds, which is nobody's. */
static void
another_name_inherits_no_alarm(void **state)
{
	struct bridge_limits limits = { .weight = 1, .iops = 1000 };

	start_paced(0, 1024, 0);
	ask_by(bridge_submit, 0, DISK_READ, 0, 64, 1, 0);
	assert_int_equal(count_done(), 1);
	for (int i = 0; i < 2; i++)
		rig_run(0, on_put_one, &i);
	rig_settle();
	pflow_with(3, 0, "c", limits);
	ask(3, DISK_READ, 0, 20);
	assert_true(wait_for(21) < 900ull * MS);
	pcheck();
	pend();
}

static void
what_may_not_wait_does_not(void **state)
{
	int i;

	start_paced(1000, 0, 1000ull * MS);
	i = ask_by(bridge_try, 0, DISK_READ, 0, 1, 1, 0);
	assert_int_equal(preqs[i].verdict, BRIDGE_WOULD_WAIT);
	pend();
}

/* Who rides counts: a second's worth of requests in one command. */
static void
riders_count_as_requests(void **state)
{
	struct bridge_limits limits = { .weight = 1, .iops = 1000 };
	uint64_t from;

	rig_wants.coalesce = true;
	rig_wants.max_xfer = 64 * BLOCK;
	pstart(1, 8, 2);
	pflow_with(0, 0, "a", limits);
	pflow(2, 0, "b", 1);
	ask(2, DISK_READ, 1000, 1);
	ask(0, DISK_READ, 0, 51);
	disk_answers = done_at_once;
	from = now_ns();
	give_back(0, 0);
	wait_for(52);
	assert_command(1, DISK_READ, 0, 51);
	ask(0, DISK_READ, 0, 1);
	wait_for(53);
	assert_true(now_ns() - from >= 51ull * MS);
	pend();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_a_second_over_all_sessions),
		cmocka_unit_test(so_many_bytes_a_second),
		cmocka_unit_test(what_was_saved_up_goes_at_once),
		cmocka_unit_test(a_high_rate_is_kept_too),
		cmocka_unit_test(others_are_not_held_up),
		cmocka_unit_test(a_cancelled_one_frees_its_place),
		cmocka_unit_test(another_login_brings_other_rates),
		cmocka_unit_test(a_rate_that_was_raised_holds_at_once),
		cmocka_unit_test(another_name_inherits_no_alarm),
		cmocka_unit_test(what_may_not_wait_does_not),
		cmocka_unit_test(riders_count_as_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
