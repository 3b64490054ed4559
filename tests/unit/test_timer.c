/* Timers: in order, in time, taken out and set again. */
#include "reactor_rig.h"

enum { TIMERS = 200 };

struct tick {
	struct timer timer;
	uint64_t due, fired;
	struct reactor *on;
};

static struct tick ticks[TIMERS];
static atomic_int fired;

static void
tick_fires(struct timer *t)
{
	struct tick *k = container_of(t, struct tick, timer);

	k->fired = now_ns();
	k->on = reactor_self();
	assert(!timer_is_set(t));
	atomic_fetch_add(&fired, 1);
}

static void
ticks_set(void *arg)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		/* A shuffled order: 7 and TIMERS have no common divisor. */
		uint64_t ns = (i * 7 % TIMERS) * 250000;
		struct tick *k = &ticks[i];

		timer_init(&k->timer, reactor_self(), tick_fires);
		k->fired = 0;
		timer_set(&k->timer, 3600 * 1000000000ull);
		timer_set(&k->timer, ns);
		k->due = now_ns() + ns;
	}
	/* Half of them is taken out again, from all over the heap. */
	for (unsigned i = 0; i < TIMERS; i += 2)
		timer_stop(&ticks[i].timer);
}

/* One round; returns how many came more than 1 ms late. */
static int
ticks_round(void)
{
	int late = 0;

	atomic_store(&fired, 0);
	reactor_call(r0, ticks_set, NULL);
	assert_true(comes_true(&fired, TIMERS / 2));
	for (unsigned i = 0; i < TIMERS; i++) {
		if (i % 2 == 0) {
			assert_int_equal(ticks[i].fired, 0);
			continue;
		}
		assert_ptr_equal(ticks[i].on, r0);
		/* Not early; due was read a moment after timer_set read the clock. */
		assert_true(ticks[i].fired + 1000000 > ticks[i].due);
		late += ticks[i].fired > ticks[i].due + 1000000;
	}
	return late;
}

/* A busy machine may hold the thread up for some milliseconds, but not each time. */
static void
timers_fire_in_time(void **state)
{
	int rounds = 20;

	while (ticks_round() > TIMERS / 20)
		assert_true(--rounds);
}

struct restart {
	struct timer timer;
	atomic_int left;
	atomic_int other;
	struct msg msg;
};

static void
restart_fires(struct timer *t)
{
	struct restart *z = container_of(t, struct restart, timer);

	if (atomic_fetch_sub(&z->left, 1) > 1)
		timer_set(t, 0);
}

static void
restart_set(void *arg)
{
	struct restart *z = arg;

	timer_init(&z->timer, reactor_self(), restart_fires);
	timer_set(&z->timer, 0);
}

/* A timer of no time must let the loop turn. */
static void
zero_timer_does_not_hold_the_loop(void **state)
{
	struct restart z = { .left = 1000000000 };
	struct reactor *seen = NULL;

	reactor_call(r0, restart_set, &z);
	reactor_call(r0, call_fn, &seen);
	assert_ptr_equal(seen, r0);
	atomic_store(&z.left, 1);
	assert_true(comes_true(&z.left, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SLEEPY(timers_fire_in_time),
		POLLING(timers_fire_in_time),
		SLEEPY(zero_timer_does_not_hold_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
