/* The map of spare tags: every one once, however many are asked for, on however many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hba/bridge/slot.h"

enum { COUNT_MAX = 4096, THREADS = 4, TURNS = 30000, BATCH = 16 };

static struct slots slots;
static atomic_uchar owned[COUNT_MAX];

/* Not cmocka's: also on threads. */
#define sure(x)                                                                     \
	do {                                                                        \
		if (!(x)) {                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                    \
		}                                                                   \
	} while (0)

static unsigned
rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static void
take(const uint32_t *tags, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sure(tags[i] < slots.count);
		sure(atomic_exchange(&owned[tags[i]], 1) == 0);
	}
}

static void
give(const uint32_t *tags, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sure(atomic_exchange(&owned[tags[i]], 0) == 1);
		tags_put(&slots, tags[i]);
	}
}

/* All of them, in batches of each size, from each place. */
static void
exhausted_and_filled_again(void **state)
{
	static const uint32_t counts[] = { 1, 2, 31, 32, 33, 63, 64, 65, 1013, 4096 };
	static uint32_t tags[COUNT_MAX];

	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		uint32_t count = counts[c];

		assert_int_equal(slots_init(&slots, count), 0);
		for (uint32_t batch = 1; batch <= 64; batch += 7)
			for (uint32_t hint = 0; hint < slots.nlines; hint += 1 + slots.nlines / 3) {
				uint32_t got = 0, at = hint;

				while (got < count) {
					uint32_t k = MIN(batch, count - got);

					tags_get(&slots, tags + got, (int32_t)k, &at);
					got += k;
					assert_int_equal(tags_spare(&slots), count - got);
					assert_true(at < slots.nlines);
				}
				take(tags, count);
				give(tags, count);
				assert_int_equal(tags_spare(&slots), count);
			}
		slots_fini(&slots);
	}
}

/* One that is far from the hint is found. */
static void
the_last_one_is_found(void **state)
{
	static uint32_t tags[COUNT_MAX];
	uint32_t tag, hint = 0;

	assert_int_equal(slots_init(&slots, 1013), 0);
	tags_get(&slots, tags, 1013, &hint);
	for (uint32_t i = 0; i < 1013; i += 11)
		for (uint32_t from = 0; from < slots.nlines; from += 5) {
			hint = from;
			tags_put(&slots, i);
			tags_get(&slots, &tag, 1, &hint);
			assert_int_equal(tag, i);
			assert_int_equal(hint, i / TAGS_PER_LINE);
		}
	for (uint32_t i = 0; i < 1013; i++)
		tags_put(&slots, i);
	slots_fini(&slots);
}

static void
reserved_ones_are_few_and_apart(void **state)
{
	struct slot *slot[SLOTS_RESERVED];
	uint32_t tag, hint = 0;

	assert_int_equal(slots_init(&slots, 1), 0);
	tags_get(&slots, &tag, 1, &hint);
	for (int i = 0; i < SLOTS_RESERVED; i++) {
		slot[i] = tags_get_reserved(&slots);
		assert_non_null(slot[i]);
		assert_true(slot_is_reserved(&slots, slot[i]));
		for (int k = 0; k < i; k++)
			assert_ptr_not_equal(slot[i], slot[k]);
	}
	assert_null(tags_get_reserved(&slots));
	tags_put_reserved(&slots, slot[2]);
	assert_ptr_equal(tags_get_reserved(&slots), slot[2]);
	for (int i = 0; i < SLOTS_RESERVED; i++)
		tags_put_reserved(&slots, slot[i]);
	tags_put(&slots, tag);
	slots_fini(&slots);
}

/* -- on threads: credits say that there is one, as in the bridge (I2) -- */

static _Atomic int32_t credits;

static int32_t
claim(int32_t most)
{
	int32_t have = atomic_load(&credits), k;

	do {
		k = MIN(most, have);
		if (k == 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&credits, &have, have - k));
	return k;
}

static void *
hammer(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uint32_t tags[BATCH], hint = seed % slots.nlines;

	for (int i = 0; i < TURNS; i++) {
		int32_t k = claim(1 + (int32_t)rnd(&seed, BATCH));

		tags_get(&slots, tags, k, &hint);
		take(tags, (uint32_t)k);
		sure(tags_spare(&slots) <= slots.count);
		give(tags, (uint32_t)k);
		/* The bits first, so that whoever gets the credit finds a tag. */
		atomic_fetch_add(&credits, k);
	}
	return NULL;
}

static void
each_has_one_owner(void **state)
{
	static const uint32_t counts[] = { 5, 33, 100 };

	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		pthread_t thread[THREADS];

		assert_int_equal(slots_init(&slots, counts[c]), 0);
		atomic_store(&credits, (int32_t)counts[c]);
		for (uintptr_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, hammer, (void *)(i + 1)), 0);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(tags_spare(&slots), counts[c]);
		slots_fini(&slots);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exhausted_and_filled_again),
		cmocka_unit_test(the_last_one_is_found),
		cmocka_unit_test(reserved_ones_are_few_and_apart),
		cmocka_unit_test(each_has_one_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
