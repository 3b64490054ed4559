/* Rates, against counts of tokens in wide arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hba/bridge/throttle.h"
#include "util.h"

static const uint64_t second = 1000000000;

static uint64_t seed = 1;

static uint64_t
rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % n;
}

static void
no_rate_never_waits(void **state)
{
	struct throttle t = { 0 };

	assert_false(throttle_is_set(&t));
	throttle_charge(&t, 1000, UINT64_MAX, 5);
	assert_int_equal(throttle_due(&t), 0);
}

static void
without_burst_they_are_evenly_spaced(void **state)
{
	struct throttle t = { 0 };
	uint64_t now = 77 * second;

	throttle_set(&t, 1000, 0, 0, 0);
	assert_true(throttle_is_set(&t));
	for (int i = 0; i < 100; i++) {
		assert_true(throttle_due(&t) <= now);
		throttle_charge(&t, 1, 1 << 20, now);
		assert_true(throttle_due(&t) == now + second / 1000);
		now += second / 1000;
	}
}

static void
what_was_saved_is_no_more_than_the_burst(void **state)
{
	struct throttle t = { 0 };
	uint64_t now = 1000 * second;
	int n = 0;

	throttle_set(&t, 100, 0, second / 2, 0);
	/* Half a second at 100 a second, and the one that is begun. */
	for (; throttle_due(&t) <= now; n++)
		throttle_charge(&t, 1, 0, now);
	assert_int_equal(n, 51);
	assert_true(throttle_due(&t) == now + second / 100);
	/* A long rest saves the same, and no more. */
	now += 3600 * second;
	for (n = 0; throttle_due(&t) <= now; n++)
		throttle_charge(&t, 1, 0, now);
	assert_int_equal(n, 51);
}

static void
the_slower_of_both_rates_counts(void **state)
{
	struct throttle t = { 0 };
	uint64_t now = 10 * second;

	throttle_set(&t, 1000, 1 << 20, 0, 0);
	throttle_charge(&t, 1, 512, now);
	assert_true(throttle_due(&t) == now + second / 1000);
	now += second;
	throttle_charge(&t, 1, 1 << 19, now);
	assert_true(throttle_due(&t) == now + second / 2);
}

static void
a_login_with_the_same_rates_gives_nothing(void **state)
{
	struct throttle t = { 0 };
	uint64_t now = 10 * second, due;

	throttle_set(&t, 10, 0, second, 0);
	for (int i = 0; i < 30; i++)
		throttle_charge(&t, 1, 0, now);
	due = throttle_due(&t);
	throttle_set(&t, 10, 0, second, 0);
	assert_true(throttle_due(&t) == due);
	throttle_set(&t, 0, 0, 0, 0);
	assert_int_equal(throttle_due(&t), 0);
}

static void
another_rate_changes_how_long_is_owed(void **state)
{
	struct throttle t = { 0 };
	uint64_t now = 10 * second;

	throttle_set(&t, 10, 0, 0, now);
	for (int i = 0; i < 30; i++)
		throttle_charge(&t, 1, 0, now);
	assert_true(throttle_due(&t) == now + 3 * second);
	now += second;
	/* 20 requests. */
	throttle_set(&t, 40, 0, 0, now);
	assert_true(throttle_due(&t) == now + second / 2);
	throttle_set(&t, 1, 0, 0, now);
	assert_true(throttle_due(&t) == now + 20 * second);
	throttle_set(&t, UINT64_MAX, 0, 0, now);
	assert_true(throttle_due(&t) == now);
	throttle_charge(&t, UINT64_MAX, 0, now);
	throttle_set(&t, 1, 0, 0, now);
	assert_true(throttle_due(&t) >= now && throttle_due(&t) <= UINT64_MAX / 2);
	/* Without a rate nothing is owed, then or later. */
	throttle_set(&t, 0, 0, 0, now);
	throttle_set(&t, 1, 0, 0, now);
	assert_true(throttle_due(&t) <= now);
}

static void
nothing_wraps(void **state)
{
	static const uint64_t edges[] = { 0, 1, 2, 1000, UINT32_MAX, UINT64_MAX / 3, UINT64_MAX - 1,
		UINT64_MAX };
	const size_t n = ARRAY_LEN(edges);

	for (size_t r = 0; r < n; r++)
		for (size_t b = 0; b < n; b++)
			for (size_t c = 0; c < n; c++) {
				struct throttle t = { 0 };
				uint64_t now = 100 * second, due = 0;

				throttle_set(&t, edges[r], 0, edges[b], 0);
				for (int i = 0; i < 5; i++) {
					throttle_charge(&t, edges[c], 0, now);
					assert_true(throttle_due(&t) >= due);
					due = throttle_due(&t);
					now += second;
				}
				/* Larger charges never come due earlier. */
				if (edges[r] && c > 0) {
					struct throttle less = { 0 }, more = { 0 };

					throttle_set(&less, edges[r], 0, 0, 0);
					throttle_set(&more, edges[r], 0, 0, 0);
					throttle_charge(&less, edges[c - 1], 0, now);
					throttle_charge(&more, edges[c], 0, now);
					assert_true(throttle_due(&more) >= throttle_due(&less));
				}
			}
}

/*
 * The oracle counts tokens (in units of 1e-9 of one) in 128 bits: filled at the
 * rate up to the burst, taken by each charge, and ready while not negative.
 */
static void
it_is_a_bucket_of_tokens(void **state)
{
	for (int round = 0; round < 300; round++) {
		uint64_t rate = 1 + rnd(rnd(2) ? 2000 : 5000000000), burst = rnd(3) * rnd(second);
		uint64_t now = 50 * second, most = 1 + rnd(rate / 10 + 2);
		__int128 tokens = (__int128)rate * burst, full = tokens;
		struct throttle t = { 0 };

		throttle_set(&t, rate, 0, burst, 0);
		for (int i = 0; i < 1000; i++) {
			uint64_t step = rnd(4) ? rnd(1000) : rnd(second / 10), n = rnd(most);
			__int128 due;

			now += step;
			tokens = MIN(tokens + (__int128)rate * step, full);
			/*
			 * Each ns of what is missing is at most one late, never
			 * early by a whole one.
			 */
			due = tokens >= 0 ? 0 : -tokens / rate;
			if (tokens < -(__int128)rate)
				assert_true(throttle_due(&t) > now);
			if (tokens >= (__int128)rate)
				assert_true(throttle_due(&t) <= now);
			if (due)
				assert_in_range(throttle_due(&t), now + (uint64_t)due - 1,
				    now + (uint64_t)due + 1);
			throttle_charge(&t, n, 0, now);
			tokens -= (__int128)n * second;
		}
	}
}

/* Always eager, over a long time: exactly the rate and the burst, no drift. */
static void
the_rate_is_kept_to_one(void **state)
{
	static const uint64_t rates[] = { 1, 3, 7, 999, 1001, 333333, 7654321 };

	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct throttle t = { 0 };
		uint64_t from = 9 * second, now = from, n = 0, want;

		throttle_set(&t, rates[i], 0, second, 0);
		while (n < 200000) {
			now = MAX(now, throttle_due(&t));
			throttle_charge(&t, 1, 0, now);
			n++;
		}
		want = (uint64_t)((__int128)rates[i] * (now - from + second) / second) + 1;
		if (n > rates[i] + 1)
			assert_in_range(n, want - 1, want + 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rate_never_waits),
		cmocka_unit_test(without_burst_they_are_evenly_spaced),
		cmocka_unit_test(what_was_saved_is_no_more_than_the_burst),
		cmocka_unit_test(the_slower_of_both_rates_counts),
		cmocka_unit_test(a_login_with_the_same_rates_gives_nothing),
		cmocka_unit_test(another_rate_changes_how_long_is_owed),
		cmocka_unit_test(nothing_wraps),
		cmocka_unit_test(it_is_a_bucket_of_tokens),
		cmocka_unit_test(the_rate_is_kept_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
