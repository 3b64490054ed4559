/* Reactors: messages, calls, load, health. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "reactor_rig.h"

enum { SENDERS = 4, MESSAGES = 5000 };

/* -- messages -- */

struct letter {
	struct msg msg;
	int sender, number;
};

static int next_of[SENDERS];	/* reactor 0's */
static int out_of_order;
static atomic_int arrived;

static void
letter_arrives(struct msg *m)
{
	struct letter *l = container_of(m, struct letter, msg);

	OWNED_BY(r0);
	if (l->number != next_of[l->sender]++)
		out_of_order++;
	free(l);
	atomic_fetch_add(&arrived, 1);
}

static void *
sender_run(void *arg)
{
	int id = (int)(intptr_t)arg;

	for (int i = 0; i < MESSAGES; i++) {
		struct letter *l = malloc(sizeof(*l));

		l->msg.fn = letter_arrives;
		l->sender = id;
		l->number = i;
		reactor_post(r0, &l->msg);
		/* Pauses, so that the reactor falls asleep in between. */
		if (i % 500 == 0)
			usleep(300);
	}
	return NULL;
}

static void
many_senders_lose_nothing(void **state)
{
	pthread_t t[SENDERS];

	memset(next_of, 0, sizeof(next_of));
	atomic_store(&arrived, 0);
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, sender_run, (void *)(intptr_t)i), 0);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(t[i], NULL);
	assert_true(comes_true(&arrived, SENDERS * MESSAGES));
	assert_int_equal(out_of_order, 0);
}

struct ball {
	struct msg msg;
	int left;
	atomic_int done;
};

static void
ball_back(struct msg *m)
{
	struct ball *b = container_of(m, struct ball, msg);
	unsigned other = 1 - reactor_id(reactor_self());

	if (b->left-- == 0)
		atomic_store(&b->done, 1);
	else
		reactor_post(reactor_get(other), m);
}

/* Each hop wakes a sleeper: a single lost wake-up stops it. */
static void
a_message_wakes_a_sleeper(void **state)
{
	struct ball b = { .msg.fn = ball_back, .left = 20000 };

	reactor_post(r0, &b.msg);
	assert_true(comes_true(&b.done, 1));
}

struct echo {
	struct msg msg;
	bool inside, ran_inside;
	atomic_int ran;
};

static void
echo_again(struct msg *m)
{
	struct echo *e = container_of(m, struct echo, msg);

	e->ran_inside |= e->inside;
	atomic_store(&e->ran, 1);
}

static void
echo_first(struct msg *m)
{
	struct echo *e = container_of(m, struct echo, msg);

	m->fn = echo_again;
	e->inside = true;
	reactor_post(reactor_self(), m);
	e->inside = false;
}

static void
posting_to_oneself_runs_later(void **state)
{
	struct echo e = { .msg.fn = echo_first };

	reactor_post(r0, &e.msg);
	assert_true(comes_true(&e.ran, 1));
	assert_false(e.ran_inside);
}

static void
count_message(struct msg *m)
{
	atomic_fetch_add(&arrived, 1);
}

static void
chain_message(struct msg *m)
{
	/* To the other one, which may have ended by now. */
	m->fn = count_message;
	reactor_post(reactor_get(1), m);
}

static void
stop_loses_no_message(void **state)
{
	struct msg m[100];

	atomic_store(&arrived, 0);
	for (unsigned i = 0; i < 100; i++) {
		m[i].fn = chain_message;
		reactor_post(r0, &m[i]);
	}
	reactors_stop();
	assert_int_equal(atomic_load(&arrived), 100);
	assert_int_equal(reactor_count(), 0);
}

/* -- calls -- */

static void
call_runs_there_and_waits(void **state)
{
	struct reactor *seen = NULL;

	assert_null(reactor_self());
	for (unsigned i = 0; i < reactor_count(); i++) {
		reactor_call(reactor_get(i), call_fn, &seen);
		assert_ptr_equal(seen, reactor_get(i));
		assert_int_equal(reactor_id(seen), i);
	}
}

/* -- load and health -- */

static void
load_spreads(void **state)
{
	assert_int_equal(reactor_load(r0), 0);
	reactor_load_add(r0, 2);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(reactor_least_loaded(), reactor_get(1));
	reactor_load_add(reactor_get(1), 3);
	assert_ptr_equal(reactor_least_loaded(), r0);
	assert_int_equal(reactor_load(reactor_get(1)), 3);
}

static atomic_int stuck;

static void
get_stuck(struct msg *m)
{
	while (atomic_load(&stuck))
		sched_yield();
}

static void
heartbeat_tells_stuck_from_asleep(void **state)
{
	struct msg m = { .fn = get_stuck };
	uint64_t age = 0;

	usleep(50000);
	assert_true(reactor_heartbeat_age(r0) < 40000000);
	atomic_store(&stuck, 1);
	reactor_post(r0, &m);
	for (int i = 0; i < 10000 && age < 40000000; i++) {
		usleep(1000);
		age = reactor_heartbeat_age(r0);
	}
	atomic_store(&stuck, 0);
	assert_true(age >= 40000000);
	reactor_call(r0, call_fn, &(struct reactor *){ NULL });
	assert_true(reactor_heartbeat_age(r0) < 40000000);
}

static void
an_idle_reactor_uses_no_processor(void **state)
{
	struct rusage before, after;
	long us;

	usleep(10000);
	getrusage(RUSAGE_SELF, &before);
	usleep(200000);
	getrusage(RUSAGE_SELF, &after);
	us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
	    after.ru_utime.tv_usec - before.ru_utime.tv_usec;
	assert_true(us < 20000);
}

static void
signal_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void
reactors_block_signals(void **state)
{
	sigset_t set;

	sigemptyset(&set);
	reactor_call(r0, signal_mask, &set);
	assert_true(sigismember(&set, SIGTERM));
	assert_true(sigismember(&set, SIGINT));
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	assert_false(sigismember(&set, SIGTERM));
}

static void
auto_counts_processors(void **state)
{
	assert_int_equal(reactors_start(REACTORS_MAX + 1, 0), -EINVAL);
	assert_int_equal(reactors_start(0, 0), 0);
	assert_true(reactor_count() >= 1);
	assert_null(reactor_get(reactor_count()));
	reactors_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SLEEPY(many_senders_lose_nothing),
		POLLING(many_senders_lose_nothing),
		SLEEPY(a_message_wakes_a_sleeper),
		POLLING(a_message_wakes_a_sleeper),
		SLEEPY(posting_to_oneself_runs_later),
		cmocka_unit_test_setup(stop_loses_no_message, start_sleepy),
		SLEEPY(call_runs_there_and_waits),
		SLEEPY(load_spreads),
		SLEEPY(heartbeat_tells_stuck_from_asleep),
		POLLING(heartbeat_tells_stuck_from_asleep),
		SLEEPY(an_idle_reactor_uses_no_processor),
		POLLING(an_idle_reactor_uses_no_processor),
		SLEEPY(reactors_block_signals),
		cmocka_unit_test(auto_counts_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
