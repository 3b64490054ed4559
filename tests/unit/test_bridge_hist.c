/* Histograms of waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hba/bridge/hist.h"

enum { WAITS = 20000 };

static uint64_t seed = 1;

static uint64_t
rnd(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 20;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
nobody_waited(void **state)
{
	struct hist h = { 0 };

	assert_int_equal(hist_quantile(&h, 500), 0);
	assert_int_equal(hist_quantile(&h, 1000), 0);
}

static void
one_wait_is_all_quantiles(void **state)
{
	static const uint64_t waits[] = { 0, 1, 255, 256, 1000, 123456789, 1ull << 39, 1ull << 40,
		1ull << 50, UINT64_MAX };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct hist h = { 0 };

		hist_add(&h, waits[i]);
		assert_int_equal(h.max_ns, waits[i]);
		assert_true(hist_quantile(&h, 0) == waits[i]);
		assert_true(hist_quantile(&h, 500) == waits[i]);
		assert_true(hist_quantile(&h, 1000) == waits[i]);
	}
}

/* Each bucket begins where the one before ends, and ends a quarter further at most. */
static void
buckets_leave_no_hole(void **state)
{
	for (uint64_t v = 0; v < 1u << 20; v += 1 + v / 1000) {
		struct hist h = { 0 };
		uint64_t q;

		hist_add(&h, v << HIST_SHIFT);
		/* A longer one, so that the quantile is the bucket's own end. */
		hist_add(&h, UINT64_MAX);
		q = hist_quantile(&h, 500);
		assert_true(q > v << HIST_SHIFT);
		assert_true(q - (v << HIST_SHIFT) <= (uint64_t)((v / 4 + 1) << HIST_SHIFT));
	}
}

/* Against the sorted list of all waits, for waits of many sizes. */
static void
quantiles_are_those_of_a_sorted_list(void **state)
{
	static uint64_t waits[WAITS];

	for (int round = 0; round < 20; round++) {
		struct hist h = { 0 };
		size_t n = 1 + rnd() % WAITS;

		for (size_t i = 0; i < n; i++) {
			waits[i] = rnd() & ((1ull << (10 + rnd() % 26)) - 1);
			hist_add(&h, waits[i]);
		}
		qsort(waits, n, sizeof(waits[0]), compare);
		for (unsigned p = 1; p <= 1000; p += 37) {
			uint64_t is = waits[(n * p + 999) / 1000 - 1], q = hist_quantile(&h, p);

			assert_true(q >= is);
			assert_true(q <= is + is / 4 + (1u << HIST_SHIFT));
		}
		assert_true(hist_quantile(&h, 1000) == waits[n - 1]);
		assert_true(h.n == n && h.max_ns == waits[n - 1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waited),
		cmocka_unit_test(one_wait_is_all_quantiles),
		cmocka_unit_test(buckets_leave_no_hole),
		cmocka_unit_test(quantiles_are_those_of_a_sorted_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
