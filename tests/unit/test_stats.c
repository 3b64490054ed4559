/* Counters: each thread its own copy, the reader the sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "reactor.h"
#include "stats.h"

COUNTER(apples, "test_apples", "counted by this test");
COUNTER(pears, "test_pears", "counted by this test");

static void *
count_on_a_reactor(void *slot)
{
	stats_thread_init((unsigned)(uintptr_t)slot);
	for (int i = 0; i < 1000; i++)
		counter_add(&apples, 2);
	return NULL;
}

static void
the_sum_of_all_threads(void **state)
{
	pthread_t t[4];

	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_not_equal(*apples.id, 0);
	assert_int_not_equal(*apples.id, *pears.id);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_on_a_reactor,
		    (void *)(uintptr_t)i), 0);
	counter_add(&apples, 5);
	/* Readable at any time. */
	assert_true(counter_read(&apples) >= 5);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(counter_read(&apples), 8005);
	assert_int_equal(counter_read(&pears), 0);
}

static void *
count_as_a_stranger(void *arg)
{
	counter_add(&pears, 1);
	return NULL;
}

static void
a_foreign_thread_harms_nobody(void **state)
{
	uint64_t before = counter_read(&pears);
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, count_as_a_stranger, NULL), 0);
	pthread_join(t, NULL);
	assert_int_equal(counter_read(&pears), before);
}

static void
names_are_unique_words(void **state)
{
	const struct counter *c;
	int n = 0;

	for_each_registered(counters, c) {
		n++;
		assert_true(c->name[0] && c->help[0]);
		for (const char *p = c->name; *p; p++)
			assert_true((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_');
	}
	assert_true(n >= 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_of_all_threads),
		cmocka_unit_test(a_foreign_thread_harms_nobody),
		cmocka_unit_test(names_are_unique_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
