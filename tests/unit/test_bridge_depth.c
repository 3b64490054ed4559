/* The depth of a LUN that is told it is full, or that answers late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hba/bridge/depth.h"
#include "util.h"

enum { MS = 1000000 };

static void
full_leaves_one_less_than_there_were(void **state)
{
	static const struct { uint32_t in_flight, limit; } row[] = {
		{ 64, 63 }, { 20, 19 }, { 50, 19 }, { 2, 1 }, { 1, 1 }, { 0, 1 },
	};
	struct depth d;

	depth_init(&d, 64, 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		bool moves = d.limit != row[i].limit;

		assert_int_equal(depth_full(&d, row[i].in_flight, 5 * MS), moves);
		assert_int_equal(d.limit, row[i].limit);
	}
}

/* A disk that holds 8, given 32 at once: 24 refusals leave 8. */
static void
a_burst_of_refusals_finds_the_disks_depth(void **state)
{
	struct depth d;

	depth_init(&d, 64, 0);
	for (uint32_t in_flight = 32; in_flight > 8; in_flight--)
		depth_full(&d, in_flight, 1 * MS);
	assert_int_equal(d.limit, 8);
}

static void
it_grows_by_one_each_time_without_a_full(void **state)
{
	struct depth d;
	uint64_t now = 1000ull * MS;

	depth_init(&d, 12, 0);
	assert_true(depth_due(&d) == UINT64_MAX);
	assert_false(depth_grow(&d, now));
	depth_full(&d, 9, now);
	assert_int_equal(d.limit, 8);
	for (uint32_t want = 9; want <= 12; want++) {
		assert_true(depth_due(&d) == now + DEPTH_RAMP_NS);
		assert_false(depth_grow(&d, now + DEPTH_RAMP_NS - 1));
		now += DEPTH_RAMP_NS;
		assert_true(depth_grow(&d, now));
		assert_int_equal(d.limit, want);
	}
	assert_true(depth_due(&d) == UINT64_MAX);
	assert_false(depth_grow(&d, now + 100ull * DEPTH_RAMP_NS));
	assert_int_equal(d.limit, 12);
}

static void
a_full_begins_the_time_again(void **state)
{
	struct depth d;
	uint64_t now = 1000ull * MS;

	depth_init(&d, 12, 0);
	depth_full(&d, 9, now);
	now += DEPTH_RAMP_NS - 1;
	assert_false(depth_full(&d, 12, now));
	assert_true(depth_due(&d) == now + DEPTH_RAMP_NS);
	assert_false(depth_grow(&d, now + 1));
}

static void
late_calls_catch_up(void **state)
{
	struct depth d;
	uint64_t now = 1000ull * MS;

	depth_init(&d, 64, 0);
	depth_full(&d, 9, now);
	assert_true(depth_grow(&d, now + 5ull * DEPTH_RAMP_NS + 3));
	assert_int_equal(d.limit, 13);
	assert_true(depth_due(&d) == now + 6ull * DEPTH_RAMP_NS);
	assert_true(depth_grow(&d, UINT64_MAX / 2));
	assert_int_equal(d.limit, 64);
}

static void
the_administrators_word_holds(void **state)
{
	struct depth d;

	depth_init(&d, 64, 0);
	depth_full(&d, 9, 1);
	assert_true(depth_configure(&d, 32, 0));
	assert_int_equal(d.limit, 32);
	assert_false(depth_configure(&d, 32, 5 * MS));
	assert_true(depth_configure(&d, 4, 5 * MS));
	assert_int_equal(d.limit, 4);
}

static void
without_a_target_latency_is_nothing(void **state)
{
	struct depth d;

	depth_init(&d, 64, 0);
	for (int i = 0; i < 100; i++)
		assert_false(depth_sample(&d, 1000ull * MS, 1, (uint64_t)i * 100 * MS));
	assert_int_equal(d.limit, 64);
}

static void
a_window_has_its_length_and_its_samples(void **state)
{
	struct depth d;

	depth_init(&d, 64, 20 * MS);
	/* Enough samples, too short a time (twice the target). */
	for (int i = 0; i < 40; i++)
		assert_false(depth_sample(&d, 50 * MS, 1, (uint64_t)(1000 + i) * MS));
	assert_true(depth_sample(&d, 50 * MS, 1, 1040ull * MS));
	assert_int_equal(d.limit, 48);
	/* Enough time, too few. */
	assert_false(depth_sample(&d, 350 * MS, DEPTH_SAMPLES - 1, 2000ull * MS));
	assert_true(depth_sample(&d, 50 * MS, 1, 2001ull * MS));
	assert_int_equal(d.limit, 36);
}

/*
 * A disk whose latency is what Little's law says: depth / rate. The limit must
 * come to the depth with the wanted latency and stay about there.
 */
static void
it_finds_the_depth_with_the_wanted_latency(void **state)
{
	static const struct { uint64_t rate, target_ms; uint32_t want; } row[] = {
		{ 4000, 5, 20 }, { 1000, 10, 10 }, { 100, 5, 1 }, { 1000000, 5, 128 },
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct depth d;
		uint64_t now = 1;
		uint32_t least = UINT32_MAX, most = 0;

		depth_init(&d, 128, row[i].target_ms * MS);
		for (int k = 0; k < 300000; k++) {
			uint64_t took = (uint64_t)d.limit * 1000 * MS / row[i].rate;

			now += 1000ull * MS / row[i].rate;
			depth_sample(&d, took, 1, now);
			if (k > 20000) {
				least = MIN(least, d.limit);
				most = MAX(most, d.limit);
			}
		}
		assert_in_range(least, MAX(row[i].want * 7 / 10, 1u), row[i].want);
		assert_in_range(most, row[i].want, row[i].want + 1);
	}
}

static void
good_latency_does_not_outvote_a_full(void **state)
{
	struct depth d;
	uint64_t now = 1000ull * MS;

	depth_init(&d, 64, 5 * MS);
	depth_full(&d, 11, now);
	assert_true(depth_due(&d) == UINT64_MAX);
	for (int i = 0; i < DEPTH_RAMP_NS / MS; i++)
		assert_false(depth_sample(&d, MS, 1, now + (uint64_t)i * MS));
	assert_int_equal(d.limit, 10);
	for (int i = 0; i < 20; i++)
		depth_sample(&d, MS, 1, now + DEPTH_RAMP_NS + (uint64_t)i * MS);
	assert_in_range(d.limit, 11, 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_leaves_one_less_than_there_were),
		cmocka_unit_test(a_burst_of_refusals_finds_the_disks_depth),
		cmocka_unit_test(it_grows_by_one_each_time_without_a_full),
		cmocka_unit_test(a_full_begins_the_time_again),
		cmocka_unit_test(late_calls_catch_up),
		cmocka_unit_test(the_administrators_word_holds),
		cmocka_unit_test(without_a_target_latency_is_nothing),
		cmocka_unit_test(a_window_has_its_length_and_its_samples),
		cmocka_unit_test(it_finds_the_depth_with_the_wanted_latency),
		cmocka_unit_test(good_latency_does_not_outvote_a_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
