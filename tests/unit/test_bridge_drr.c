/* Deficit round robin: shares exact over rounds, what a turn leaves over, and flows that are no larger share. */
#include "bridge_steps.h"

enum { ROUNDS = 10 };

/* Lets n requests pass, one slot at a time, and counts whose they were. */
static void
serve(int n, int *got)
{
	int from = started;

	memset(got, 0, sizeof(int) * ARRAY_LEN(flows));
	for (int i = 0; i < n; i++)
		assert_true(finish_oldest());
	assert_int_equal(started - from, n);
	for (int i = from; i < started; i++)
		got[order[i]]++;
}

static unsigned
rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

/* Where a round begins does not matter: it has everybody's whole turn in it, wherever it is cut. */
static void
shares_are_exact(uint32_t host, uint32_t target, uint32_t lun, const unsigned weight[4])
{
	int got[ARRAY_LEN(flows)], round = 0;
	char name[2] = "a";

	start(host, target, lun, 1, 1);
	for (int f = 0; f < 4; f++, name[0]++) {
		flow(f, 0, name, weight[f], 0);
		round += (int)weight[f];
	}
	for (int f = 0; f < 4; f++)
		for (unsigned i = 0; i < weight[f] * (ROUNDS + 2) + 2; i++)
			submit(f);
	/* The very first was let in before anybody stood in line. */
	serve(round, got);
	for (int r = 0; r < ROUNDS; r++) {
		serve(round, got);
		for (int f = 0; f < 4; f++)
			assert_int_equal(got[f], weight[f]);
	}
	check();
	end();
}

static void
equal_and_weighted_at_each_node(void **state)
{
	static const unsigned weights[][4] = {
		{ 1, 1, 1, 1 }, { 1, 2, 3, 4 }, { 5, 1, 1, 5 }, { 1, 1, 1, 8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(weights); i++) {
		shares_are_exact(1, 8, 8, weights[i]);
		shares_are_exact(8, 1, 8, weights[i]);
		shares_are_exact(8, 8, 1, weights[i]);
	}
}

static void
whatever_the_weights(void **state)
{
	unsigned seed = 1;

	for (int i = 0; i < 30; i++) {
		unsigned weight[4], node = rnd(&seed, 3);

		for (int k = 0; k < 4; k++)
			weight[k] = 1 + rnd(&seed, 6);
		shares_are_exact(node == 0 ? 1 : 8, node == 1 ? 1 : 8, node == 2 ? 1 : 8, weight);
	}
}

/* One initiator with 64 flows gets what each of 64 with one gets. */
static void
one_with_64_flows_is_one_of_65(void **state)
{
	int got[ARRAY_LEN(flows)], sum = 0;
	char name[16];

	start(1, 128, 128, 64, 64);
	for (int f = 0; f < 64; f++) {
		snprintf(name, sizeof(name), "s%d", f);
		flow(f, f, "many", 1, 0);
		flow(64 + f, f, name, 1, 0);
	}
	for (int f = 0; f < 128; f++)
		for (int i = 0; i < 3; i++)
			submit(f);
	serve(65, got);
	for (int r = 0; r < 2; r++) {
		serve(65, got);
		sum = 0;
		for (int f = 0; f < 64; f++) {
			sum += got[f];
			assert_int_equal(got[64 + f], 1);
		}
		assert_int_equal(sum, 1);
		if (r == 0)
			for (int i = 0; i < 64; i++)
				submit(64 + i);
	}
	check();
	end();
}

/* The flows of an initiator follow one another within its turns. */
static void
flows_of_one_take_turns(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(1, 8, 8, 5, 5);
	for (int f = 0; f < 5; f++)
		flow(f, f, "a", 2, 0);
	flow(5, 0, "b", 1, 0);
	for (int i = 0; i < 12; i++) {
		for (int f = 0; f < 6; f++)
			submit(f);
		submit(5);
	}
	serve(15, got);
	/* Three to one: two each turn, five flows, fifteen in all. */
	serve(30, got);
	for (int f = 0; f < 5; f++)
		assert_int_equal(got[f], 4);
	assert_int_equal(got[5], 10);
	check();
	end();
}

/* Who leaves in the middle of his turn because he has no more, begins a new one when he comes back. */
static void
what_is_left_of_a_turn_is_lost_by_resting(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(1, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 0, "b", 4, 0);
	for (int i = 0; i < 40; i++)
		submit(0);
	/* One of its four; again and again: never more than one for one. */
	for (int i = 0; i < 8; i++) {
		submit(1);
		serve(2, got);
		assert_int_equal(got[1], 1);
	}
	check();
	end();
}

/* Who is stopped further out in the middle of his turn goes on with it. */
static void
what_is_left_of_a_turn_is_kept_by_moving(void **state)
{
	int got[ARRAY_LEN(flows)];

	/* Bound at the LUN, and now and then at the adapter by another LUN. */
	start(2, 8, 1, 2, 1);
	flow(0, 0, "a", 3, 0);
	flow(1, 0, "b", 1, 0);
	flow(2, 1, "c", 1, 0);
	for (int i = 0; i < 60; i++) {
		submit(0);
		submit(1);
		submit(2);
	}
	serve(8, got);
	serve(80, got);
	/* Each LUN has one place: a and b share theirs three to one. */
	assert_int_equal(got[0] + got[1], 40);
	assert_int_equal(got[2], 40);
	assert_in_range(got[0], 29, 31);
	check();
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_and_weighted_at_each_node),
		cmocka_unit_test(whatever_the_weights),
		cmocka_unit_test(one_with_64_flows_is_one_of_65),
		cmocka_unit_test(flows_of_one_take_turns),
		cmocka_unit_test(what_is_left_of_a_turn_is_lost_by_resting),
		cmocka_unit_test(what_is_left_of_a_turn_is_kept_by_moving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
