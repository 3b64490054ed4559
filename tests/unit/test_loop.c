/* The turn of a reactor: files, deferred work, pollers. */
#include "reactor_rig.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SLEEPY(watch_is_level_triggered),
		POLLING(watch_is_level_triggered),
		SLEEPY(deferred_work_runs_once),
		SLEEPY(a_poller_may_forbid_sleep),
		POLLING(a_poller_may_forbid_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
