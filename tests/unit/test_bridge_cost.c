/* What a command costs its initiator's turn; and what statistics say of waits. */
#include "policy_rig.h"

#include <time.h>

#include "conf.h"

enum { KIB = 1024 / BLOCK };

/* Serves n commands and counts those of each flow. */
static void
serve(int n, int *got)
{
	int from = npcmds;

	memset(got, 0, sizeof(int) * RIG_DISKS);
	for (int i = 0; i < n; i++)
		assert_true(give_back_oldest(0));
	assert_int_equal(npcmds - from, n);
	for (int c = from; c < npcmds; c++)
		got[preqs[pcmds[c].leader].flow]++;
}

/* Bound at the adapter, at the bus target and at the LUN. */
static void
start_bound(int where, int cost)
{
	rig_wants.cost = cost;
	npreqs = 0;
	npcmds = disk_room = disk_now = 0;
	disk_answers = NULL;
	rig_open(1, where == 0 ? 1 : 8, where == 1 ? 1 : 8, where == 2 ? 1 : 8, 1, 1, keep);
}

static void
by_length_bytes_are_shared(void **state)
{
	static const struct { uint32_t kib, weight; } row[3] = { { 64, 1 }, { 192, 1 }, { 64, 2 } };
	int got[RIG_DISKS];

	for (int where = 0; where < 3; where++) {
		start_bound(where, COST_LENGTH);
		for (int f = 0; f < 3; f++) {
			pflow(f, 0, (const char *[]){ "a", "b", "c" }[f], row[f].weight);
			ask_by(bridge_submit, f, DISK_READ, 0, row[f].kib * KIB, 600, 0);
		}
		/* In units: 2, 4 and 2 each; a turn is 65, 65 and 130. */
		serve(1024, got);
		assert_in_range(got[0], 270, 318);
		assert_in_range(got[1], 135, 163);
		assert_in_range(got[2], 550, 618);
		pcheck();
		pend();
	}
}

static void
by_command_commands_are_shared(void **state)
{
	int got[RIG_DISKS];

	for (int where = 0; where < 3; where++) {
		start_bound(where, COST_COMMAND);
		pflow(0, 0, "a", 1);
		pflow(1, 0, "b", 1);
		ask_by(bridge_submit, 0, DISK_READ, 0, 512 * KIB, 100, 0);
		ask_by(bridge_submit, 1, DISK_READ, 0, 4 * KIB, 100, 0);
		serve(100, got);
		assert_in_range(got[0], 49, 51);
		pend();
	}
}

/*
 * The largest command there is: its initiator still has one in each round, as
 * others have their turns.
 */
static void
the_largest_has_one_a_round(void **state)
{
	int got[RIG_DISKS], gap = 0, longest = 0;

	for (int where = 0; where < 3; where++) {
		start_bound(where, COST_LENGTH);
		pflow(0, 0, "huge", 1);
		pflow(1, 0, "small", 1);
		ask_by(bridge_submit, 0, DISK_READ, 0, 4096 * KIB, 20, 0);
		ask_by(bridge_submit, 1, DISK_READ, 0, 1, 1000, 0);
		serve(660, got);
		assert_in_range(got[0], 9, 11);
		for (int c = 0; c < npcmds; c++) {
			gap = preqs[pcmds[c].leader].flow ? gap + 1 : 0;
			longest = MAX(longest, gap);
		}
		assert_in_range(longest, 64, 66);
		pend();
	}
}

/* What a command cost beyond its turn is owed also by who has nothing waiting for a moment. */
static void
going_away_pays_no_debt(void **state)
{
	int huge = 0, got[RIG_DISKS];

	start_bound(0, COST_LENGTH);
	pflow(0, 0, "huge", 1);
	pflow(1, 0, "small", 1);
	ask_by(bridge_submit, 1, DISK_READ, 0, 1, 700, 0);
	for (int i = 0; i < 600; i++) {
		/* Two at a time, 49 each, of a turn of 65: they are 33 too long. */
		if (i == 0 || (preqs[npreqs - 2].done && preqs[npreqs - 1].done))
			ask_by(bridge_submit, 0, DISK_READ, 0, 3072 * KIB, 2, 0);
		serve(1, got);
		huge += got[0];
	}
	/* 49 of the others for each; 32 if the debt were forgotten. */
	assert_in_range(huge, 11, 13);
	pend();
}

/* Waits of which two are long: quantiles and the longest. */
static void
waits_are_told_by_quantiles(void **state)
{
	const struct timespec t = { .tv_nsec = 20000000 };
	struct bridge_node_stats s;

	pstart(1, 8, 1);
	pflow(0, 0, "a", 1);
	ask(0, DISK_READ, 0, 2);
	nanosleep(&t, NULL);
	give_back(0, 0);
	s = rig_stats(BRIDGE_LUN, "d0");
	assert_true(s.wait_p50_ns >= 20000000 && s.wait_p50_ns == s.wait_max_ns);
	assert_true(rig_stats(BRIDGE_INITIATOR, "a").wait_p99_ns == s.wait_max_ns);
	assert_true(rig_stats(BRIDGE_HOST, "rig").wait_p99_ns == s.wait_max_ns);
	/* One of two hundred is no longer seen at 99 %. */
	for (int i = 0; i < 199; i++) {
		ask(0, DISK_READ, 0, 1);
		assert_true(give_back_oldest(0));
	}
	s = rig_stats(BRIDGE_LUN, "d0");
	assert_int_equal(s.waited, 200);
	assert_true(s.wait_p50_ns <= s.wait_p99_ns && s.wait_p99_ns <= s.wait_max_ns);
	assert_true(s.wait_p50_ns * 200 / 2 <= s.wait_ns * 5 / 4 + 200 * 256);
	pend();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_length_bytes_are_shared),
		cmocka_unit_test(by_command_commands_are_shared),
		cmocka_unit_test(the_largest_has_one_a_round),
		cmocka_unit_test(going_away_pays_no_debt),
		cmocka_unit_test(waits_are_told_by_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
