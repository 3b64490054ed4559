/* The scheduler in the bridge: whose turn it is, and which of its commands. */
#include "policy_rig.h"

#include "conf.h"
#include "hba/bridge/order.h"
#include "hba/bridge/policy.h"

/* One command at a time, so that all but the first wait; the first is far away from all others. */
static void
start_sorted(int scheduler)
{
	rig_wants.scheduler = scheduler;
	rig_wants.max_xfer = 64 * BLOCK;
	pstart(1, 8, 2);
}

static void
serve(int n)
{
	for (int i = 0; i < n; i++)
		assert_true(give_back_oldest(0));
}

/* Addresses with room between them, so that nobody merges. */
static void
ask_scattered(int f, enum disk_op op, int n, uint64_t seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		ask(f, op, 10 + (seed >> 40) % 100000 * 10, 1);
	}
}

static void
sorted_runs_reach_the_disk(void **state)
{
	int jumps = 0;

	start_sorted(SCHEDULER_DEADLINE);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 1);
	ask_scattered(0, DISK_READ, 100, 1);
	pcheck();
	serve(101);
	for (int c = 1; c < 100; c++)
		jumps += pcmds[c].lba > pcmds[c + 1].lba;
	/*
	 * They are sorted some at a time: who comes in behind the sweep is served
	 * in the next. On a slow machine a batch may begin with one that waited long.
	 */
	assert_in_range(jumps, 0, 1 + 100 / ORDER_BATCH);
	pend();
}

static void
without_it_they_go_as_they_came(void **state)
{
	start_sorted(SCHEDULER_NONE);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 1);
	ask_scattered(0, DISK_READ, 100, 1);
	serve(101);
	for (int c = 0; c < 101; c++)
		assert_int_equal(pcmds[c].leader, c);
	pend();
}

/*
 * Several initiators at one LUN: each turn is a run, all runs are parts of one
 * sweep, shares are exact.
 */
static void
turns_are_runs_of_one_sweep(void **state)
{
	enum { N = 4, ROUNDS = 5 };
	int got[N] = { 0 }, jumps = 0, switches = 0;

	start_sorted(SCHEDULER_DEADLINE);
	for (int f = 0; f < N; f++)
		pflow(f, 0, (const char *[]){ "a", "b", "c", "d" }[f], f == 3 ? 2 : 1);
	ask(0, DISK_READ, 0, 1);
	for (int f = 0; f < N; f++)
		ask_scattered(f, DISK_READ, 300, (uint64_t)f + 1);
	/* Up to the first whole turn, then whole rounds: 1 + 1 + 1 + 2 batches each. */
	serve(ORDER_BATCH + ROUNDS * 5 * ORDER_BATCH);
	for (int c = ORDER_BATCH; c < ORDER_BATCH + ROUNDS * 5 * ORDER_BATCH; c++) {
		int f = preqs[pcmds[c].leader].flow;

		got[f]++;
		if (f == preqs[pcmds[c - 1].leader].flow)
			jumps += pcmds[c].lba < pcmds[c - 1].lba;
		else
			switches++;
	}
	for (int f = 0; f < N; f++)
		assert_int_equal(got[f], ROUNDS * ORDER_BATCH * (f == 3 ? 2 : 1));
	assert_in_range(switches, ROUNDS * N - 1, ROUNDS * N);
	/*
	 * In 25 runs of 16, and few of them begin again at the lowest; but on a
	 * slow machine each batch may begin with one that waited long. Without a
	 * sweep half of all 400 would be jumps.
	 */
	assert_in_range(jumps, 0, 40);
	pcheck();
	pend();
}

/* The sweep goes on where a merged command ends, not where its leader did. */
static void
the_sweep_passes_a_merged_command(void **state)
{
	start_sorted(SCHEDULER_DEADLINE);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 1);
	ask(0, DISK_READ, 100, 4);
	ask(0, DISK_READ, 102, 1);
	ask(0, DISK_READ, 110, 1);
	serve(4);
	assert_command(1, DISK_READ, 100, 4);
	assert_command(2, DISK_READ, 110, 1);
	assert_command(3, DISK_READ, 102, 1);
	pend();
}

static void
luns_have_a_sweep_each(void **state)
{
	uint64_t last[2] = { 0 };
	int jumps = 0;

	start_sorted(SCHEDULER_DEADLINE);
	pflow(0, 0, "a", 1);
	pflow(1, 1, "a", 1);
	ask(0, DISK_READ, 0, 1);
	ask_scattered(0, DISK_READ, 40, 1);
	ask_scattered(1, DISK_READ, 40, 2);
	serve(60);
	for (int c = 1; c < 60; c++) {
		int f = preqs[pcmds[c].leader].flow;

		jumps += pcmds[c].lba < last[f];
		last[f] = pcmds[c].lba;
	}
	assert_in_range(jumps, 0, 2 * (1 + 40 / ORDER_BATCH));
	pend();
}

static void
a_flush_stands_between(void **state)
{
	int flush;

	start_sorted(SCHEDULER_DEADLINE);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 1);
	ask_scattered(0, DISK_WRITE, 20, 1);
	flush = ask(0, DISK_FLUSH, 0, 1);
	ask_scattered(0, DISK_READ, 20, 2);
	pcheck();
	serve(42);
	for (int c = 0; c < 42; c++) {
		assert_int_equal(pcmds[c].leader == flush, c == 21);
		assert_int_equal(pcmds[c].leader > flush, c > 21);
	}
	pend();
}

/* What waits is served on, in whatever order, when a reload changes the scheduler. */
static void
the_scheduler_can_change_meanwhile(void **state)
{
	struct conf_adapter conf;

	start_sorted(SCHEDULER_NONE);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 1);
	for (int round = 0; round < 6; round++) {
		ask_scattered(0, DISK_READ, 50, (uint64_t)round + 1);
		conf = rig.adapter;
		conf.scheduler = round % 2 ? SCHEDULER_NONE : SCHEDULER_DEADLINE;
		assert_int_equal(policy_set(rig.host, &conf), 0);
		pcheck();
		serve(30);
	}
	serve(6 * 50 + 1 - 6 * 30);
	assert_int_equal(npcmds, 301);
	pend();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorted_runs_reach_the_disk),
		cmocka_unit_test(without_it_they_go_as_they_came),
		cmocka_unit_test(turns_are_runs_of_one_sweep),
		cmocka_unit_test(the_sweep_passes_a_merged_command),
		cmocka_unit_test(luns_have_a_sweep_each),
		cmocka_unit_test(a_flush_stands_between),
		cmocka_unit_test(the_scheduler_can_change_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
