/* The bridge on one reactor: who gets how much. */
#include "bridge_steps.h"

/* Lets `rounds` slots pass one at a time and counts which flow got how many. */
static void
serve(int rounds, int *got)
{
	int from = started;

	memset(got, 0, sizeof(int) * ARRAY_LEN(flows));
	for (int i = 0; i < rounds; i++)
		assert_true(finish_oldest());
	assert_int_equal(started - from, rounds);
	for (int i = from; i < started; i++)
		got[order[i]]++;
}

static void
equal_shares_are_exact(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(1, 8, 8, 4, 1);
	for (int f = 0; f < 4; f++)
		flow(f, f, (const char *[]){ "a", "b", "c", "d" }[f], 1, 0);
	/* Offered load 1 : 2 : 4 : 6. */
	for (int i = 0; i < 30; i++)
		for (int f = 0; f < 4; f++)
			for (int k = 0; k < (int[]){ 1, 2, 4, 6 }[f]; k++)
				submit(f);
	serve(80, got);
	for (int f = 0; f < 4; f++)
		assert_int_equal(got[f], 20);
	check();
	end();
}

static void
weights_are_exact(void **state)
{
	/* Bound at the adapter, at the bus target, at the LUN. */
	static const struct { uint32_t host, target, lun; } row[] = {
		{ 1, 8, 8 }, { 8, 1, 8 }, { 8, 8, 1 },
	};
	int got[ARRAY_LEN(flows)];

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(row[r].host, row[r].target, row[r].lun, 1, 1);
		flow(0, 0, "a", 4, 0);
		flow(1, 0, "b", 1, 0);
		flow(2, 0, "c", 2, 0);
		for (int i = 0; i < 60; i++)
			for (int f = 0; f < 3; f++)
				submit(f);
		serve(70, got);
		/* A turn may be cut at either end of what is looked at. */
		assert_in_range(got[0], 39, 41);
		assert_in_range(got[1], 9, 11);
		assert_in_range(got[2], 19, 21);
		check();
		end();
	}
}

static void
many_flows_are_no_larger_share(void **state)
{
	int got[ARRAY_LEN(flows)], a = 0;

	start(1, 8, 8, 32, 1);
	for (int f = 0; f < 32; f++)
		flow(f, f, "a", 1, 0);
	flow(32, 0, "b", 1, 0);
	for (int i = 0; i < 4; i++)
		for (int f = 0; f < 32; f++)
			submit(f);
	for (int i = 0; i < 100; i++)
		submit(32);
	serve(128, got);
	for (int f = 0; f < 32; f++) {
		assert_int_equal(got[f], 2);
		a += got[f];
	}
	assert_int_equal(a, got[32]);
	check();
	end();
}

static void
a_small_one_does_not_wait_behind_a_large_one(void **state)
{
	int small;

	start(4, 8, 8, 1, 1);
	flow(0, 0, "hog", 1, 0);
	flow(1, 0, "small", 1, 0);
	for (int i = 0; i < 200; i++)
		submit(0);
	small = submit(1);
	finish(0);
	finish(1);
	assert_in_range(reqs[small].order, 5, 6);
	check();
	end();
}

static void
an_initiator_that_was_away_has_saved_nothing(void **state)
{
	int got[ARRAY_LEN(flows)], from;

	start(1, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 0, "b", 3, 0);
	for (int i = 0; i < 60; i++)
		submit(0);
	submit(1);
	serve(20, got);
	assert_int_equal(got[1], 1);
	for (int i = 0; i < 60; i++)
		submit(1);
	from = started;
	serve(20, got);
	assert_int_equal(got[1], 15);
	/* It comes behind who is there, not in front with the rest of its last turn. */
	assert_int_equal(order[from], 0);
	check();
	end();
}

/* A LUN that is full does not hold up another one of the same initiator or target. */
static void
a_full_lun_stops_only_its_own(void **state)
{
	start(8, 8, 2, 2, 2);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	for (int i = 0; i < 10; i++)
		submit(0);
	assert_int_equal(started, 2);
	submit(1);
	assert_int_equal(started, 3);
	check();
	end();
}

/* An initiator at its limit stands in front of a LUN it shares: the LUN goes to the other. */
static void
a_limited_initiator_does_not_idle_the_lun(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(8, 8, 2, 2, 1);
	flow(0, 0, "a", 1, 1);
	flow(1, 1, "a", 1, 1);
	flow(2, 0, "b", 1, 0);
	submit(1);
	for (int i = 0; i < 20; i++) {
		submit(0);
		submit(2);
	}
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 2);
	check();
	finish(0);
	check();
	serve(18, got);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "a").max_in_flight, 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 2);
	assert_in_range(got[0], 6, 12);
	check();
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_shares_are_exact),
		cmocka_unit_test(weights_are_exact),
		cmocka_unit_test(many_flows_are_no_larger_share),
		cmocka_unit_test(a_small_one_does_not_wait_behind_a_large_one),
		cmocka_unit_test(an_initiator_that_was_away_has_saved_nothing),
		cmocka_unit_test(a_full_lun_stops_only_its_own),
		cmocka_unit_test(a_limited_initiator_does_not_idle_the_lun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
