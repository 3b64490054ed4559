/* Reactors: messages, timers, files, deferred work, pollers, calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "reactor.h"

enum { SENDERS = 4, MESSAGES = 5000 };

static struct reactor *r0;

static int
start(void **state)
{
	if (reactors_start(2, (uint64_t)(uintptr_t)*state))
		return -1;
	r0 = reactor_get(0);
	return 0;
}

static int
start_sleepy(void **state)
{
	*state = NULL;
	return start(state);
}

static int
start_polling(void **state)
{
	*state = (void *)(uintptr_t)200000;
	return start(state);
}

static int
stop(void **state)
{
	reactors_stop();
	return 0;
}

/* Waits for what another thread does, at most 10 s. */
static bool
comes_true(atomic_int *at, int want)
{
	for (int i = 0; i < 100000; i++) {
		if (atomic_load(at) == want)
			return true;
		usleep(100);
	}
	return false;
}

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
call_fn(void *arg)
{
	*(struct reactor **)arg = reactor_self();
}

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

/* -- timers -- */

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

static void
timers_fire_in_time(void **state)
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
		/* due was read after timer_set read the clock. */
		assert_true(ticks[i].fired + 1000000 > ticks[i].due);
		late += ticks[i].fired > ticks[i].due + 1000000;
	}
	/* A busy machine may hold a thread up, but not all the time. */
	assert_true(late < TIMERS / 4);
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

/* -- files -- */

struct pipe_end {
	struct watch watch;
	int fds[2];
	atomic_int bytes;
	atomic_int writable;
	uint64_t now_lag;
};

static void
pipe_ready(struct watch *w, short what)
{
	struct pipe_end *p = container_of(w, struct pipe_end, watch);
	char c;

	/* The sleep before this event must not make the clock stale. */
	p->now_lag = now_ns() - reactor_now(reactor_self());
	if (what & EV_READ && read(w->fd, &c, 1) == 1)
		atomic_fetch_add(&p->bytes, 1);
}

static void
pipe_watch(void *arg)
{
	struct pipe_end *p = arg;

	watch_init(&p->watch, reactor_self(), p->fds[0], pipe_ready);
	watch_want(&p->watch, EV_READ);
}

static void
pipe_ignore(void *arg)
{
	watch_want(&((struct pipe_end *)arg)->watch, 0);
}

static void
pipe_want(void *arg)
{
	watch_want(&((struct pipe_end *)arg)->watch, EV_READ);
}

static void
pipe_unwatch(void *arg)
{
	struct watch never = { 0 };

	watch_fini(&((struct pipe_end *)arg)->watch);
	watch_fini(&never);
}

static void
watch_is_level_triggered(void **state)
{
	struct pipe_end p = { 0 };

	assert_int_equal(pipe(p.fds), 0);
	reactor_call(r0, pipe_watch, &p);
	usleep(20000);
	assert_int_equal(write(p.fds[1], "abc", 3), 3);
	assert_true(comes_true(&p.bytes, 3));
	assert_true(p.now_lag < 10000000);
	reactor_call(r0, pipe_ignore, &p);
	assert_int_equal(write(p.fds[1], "d", 1), 1);
	usleep(5000);
	assert_int_equal(atomic_load(&p.bytes), 3);
	reactor_call(r0, pipe_want, &p);
	assert_true(comes_true(&p.bytes, 4));
	reactor_call(r0, pipe_unwatch, &p);
	close(p.fds[0]);
	close(p.fds[1]);
}

/* -- the end of the round -- */

struct job {
	struct work work, again, gone;
	int ran, again_ran, gone_ran;
	bool in_message, ran_inside;
	atomic_int done;
};

static void
again_work(struct work *w)
{
	struct job *j = container_of(w, struct job, again);

	/* For ever: but the loop must go on turning. */
	j->again_ran++;
	if (!atomic_load(&j->done))
		reactor_defer(reactor_self(), w);
}

static void
job_work(struct work *w)
{
	struct job *j = container_of(w, struct job, work);

	j->ran++;
	j->ran_inside |= j->in_message;
	reactor_defer(reactor_self(), &j->again);
}

static void
gone_work(struct work *w)
{
	container_of(w, struct job, gone)->gone_ran++;
}

static void
job_defer(void *arg)
{
	struct job *j = arg;

	work_init(&j->work, job_work);
	work_init(&j->again, again_work);
	work_init(&j->gone, gone_work);
	j->in_message = true;
	for (int i = 0; i < 3; i++)
		reactor_defer(reactor_self(), &j->work);
	reactor_defer(reactor_self(), &j->gone);
	work_cancel(&j->gone);
	j->in_message = false;
}

static void
job_look(void *arg)
{
	struct job *j = arg;

	assert(j->ran == 1 && j->again_ran >= 1 && !j->gone_ran && !j->ran_inside);
	atomic_store(&j->done, 1);
}

static void
deferred_work_runs_once(void **state)
{
	struct job j = { 0 };

	reactor_call(r0, job_defer, &j);
	reactor_call(r0, job_look, &j);
	/* The last round of again_work is over when this call comes back. */
	reactor_call(r0, call_fn, &(struct reactor *){ NULL });
	reactor_call(r0, call_fn, &(struct reactor *){ NULL });
	assert_int_equal(j.ran, 1);
}

/* -- pollers -- */

struct counter_poller {
	struct poller poller, second;
	int polls, second_polls, seen_polls, seen_second;
	atomic_int veto, vetoed;
};

static bool
poll_count(struct poller *p)
{
	struct counter_poller *c = container_of(p, struct counter_poller, poller);

	c->polls++;
	return false;
}

static bool
poll_leave(struct poller *p)
{
	container_of(p, struct counter_poller, second)->second_polls++;
	poller_del(p);
	return true;
}

static bool
idle_veto(struct poller *p)
{
	struct counter_poller *c = container_of(p, struct counter_poller, poller);

	if (atomic_load(&c->veto) == 0)
		return true;
	atomic_fetch_add(&c->vetoed, 1);
	return atomic_fetch_sub(&c->veto, 1) == 0;
}

static void
pollers_add(void *arg)
{
	struct counter_poller *c = arg;

	c->second.poll = poll_leave;
	c->poller.poll = poll_count;
	c->poller.idle = idle_veto;
	poller_add(reactor_self(), &c->second);
	poller_add(reactor_self(), &c->poller);
}

static void
pollers_look(void *arg)
{
	struct counter_poller *c = arg;

	c->seen_polls = c->polls;
	c->seen_second = c->second_polls;
}

static void
pollers_del(void *arg)
{
	poller_del(&((struct counter_poller *)arg)->poller);
}

static void
a_poller_may_forbid_sleep(void **state)
{
	struct counter_poller c = { .veto = 50 };
	int polls;

	reactor_call(r0, pollers_add, &c);
	/* Without a veto the loop would be asleep, and nothing would turn it. */
	assert_true(comes_true(&c.vetoed, 50));
	usleep(20000);
	reactor_call(r0, pollers_look, &c);
	polls = c.seen_polls;
	assert_true(polls >= 100);
	assert_int_equal(c.seen_second, 1);
	usleep(20000);
	reactor_call(r0, pollers_look, &c);
	/* Asleep meanwhile: a few turns for the call and its polling time, not thousands. */
	if (!*state)
		assert_true(c.seen_polls - polls < 20);
	reactor_call(r0, pollers_del, &c);
	/* Nobody polls c any more, so that it may be read here. */
	polls = c.polls;
	reactor_call(r0, call_fn, &(struct reactor *){ NULL });
	assert_int_equal(c.polls, polls);
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

#define SLEEPY(test) cmocka_unit_test_setup_teardown(test, start_sleepy, stop)
#define POLLING(test)                                                               \
	{ #test "_while_polling", test, start_polling, stop, NULL }

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
		SLEEPY(timers_fire_in_time),
		POLLING(timers_fire_in_time),
		SLEEPY(zero_timer_does_not_hold_the_loop),
		SLEEPY(watch_is_level_triggered),
		POLLING(watch_is_level_triggered),
		SLEEPY(deferred_work_runs_once),
		SLEEPY(a_poller_may_forbid_sleep),
		POLLING(a_poller_may_forbid_sleep),
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
