/* Two reactors for a test, asleep when idle or polling. */
#ifndef REACTOR_RIG_H
#define REACTOR_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>

#include <unistd.h>

#include "reactor.h"

static struct reactor *r0;

static inline int
start(void **state)
{
	if (reactors_start(2, (uint64_t)(uintptr_t)*state))
		return -1;
	r0 = reactor_get(0);
	return 0;
}

static inline int
start_sleepy(void **state)
{
	*state = NULL;
	return start(state);
}

static inline int
start_polling(void **state)
{
	*state = (void *)(uintptr_t)200000;
	return start(state);
}

static inline int
stop(void **state)
{
	reactors_stop();
	return 0;
}

/* Waits for what another thread does, at most 10 s. */
static inline bool
comes_true(atomic_int *at, int want)
{
	for (int i = 0; i < 100000; i++) {
		if (atomic_load(at) == want)
			return true;
		usleep(100);
	}
	return false;
}

/* For reactor_call: which reactor is this? */
static inline void
call_fn(void *arg)
{
	*(struct reactor **)arg = reactor_self();
}

#define SLEEPY(test) cmocka_unit_test_setup_teardown(test, start_sleepy, stop)
#define POLLING(test)                                                               \
	{ #test "_while_polling", test, start_polling, stop, NULL }

#endif
