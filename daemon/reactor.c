/* The reactors' threads: start, stop, load, heartbeat, and calls from the main thread. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "stats.h"

#include "loop.h"

static struct reactor *reactors[REACTORS_MAX];
static unsigned count;
static atomic_uint rotor;		/* so that equals are chosen in turn */

unsigned
reactor_count(void)
{
	return count;
}

struct reactor *
reactor_get(unsigned id)
{
	return id < count ? reactors[id] : NULL;
}

unsigned
reactor_id(const struct reactor *r)
{
	return r->id;
}

struct reactor *
reactor_self(void)
{
	return loop_self;
}

/* -- calls -- */

struct call {
	struct msg msg;
	void (*fn)(void *);
	void *arg;
	bool done;
};

/* Not in the call: the caller's stack is gone as soon as it has seen done. */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_done = PTHREAD_COND_INITIALIZER;

static void
call_run(struct msg *m)
{
	struct call *c = container_of(m, struct call, msg);

	c->fn(c->arg);
	pthread_mutex_lock(&call_lock);
	c->done = true;
	pthread_cond_broadcast(&call_done);
	pthread_mutex_unlock(&call_lock);
}

void
reactor_call(struct reactor *r, void (*fn)(void *), void *arg)
{
	struct call c = { .msg.fn = call_run, .fn = fn, .arg = arg };

	assert(!loop_self);
	if (!count) {
		fn(arg);
		return;
	}
	reactor_post(r, &c.msg);
	pthread_mutex_lock(&call_lock);
	while (!c.done)
		pthread_cond_wait(&call_done, &call_lock);
	pthread_mutex_unlock(&call_lock);
}

/* -- load and health -- */

void
reactor_load_add(struct reactor *r, int n)
{
	atomic_fetch_add_explicit(&r->load, n, memory_order_relaxed);
}

unsigned
reactor_load(const struct reactor *r)
{
	int n = atomic_load_explicit(&r->load, memory_order_relaxed);

	return n > 0 ? (unsigned)n : 0;
}

struct reactor *
reactor_least_loaded(void)
{
	unsigned first = atomic_fetch_add_explicit(&rotor, 1, memory_order_relaxed);
	struct reactor *best = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct reactor *r = reactors[(first + i) % count];

		if (!best || reactor_load(r) < reactor_load(best))
			best = r;
	}
	return best;
}

uint64_t
reactor_heartbeat_age(const struct reactor *r)
{
	uint64_t beat, now;

	/* Acquire: not asleep means that the beat of the waking is there. */
	if (atomic_load_explicit(&r->asleep, memory_order_acquire))
		return 0;
	beat = atomic_load_explicit(&r->beat, memory_order_relaxed);
	now = now_ns();
	return now > beat ? now - beat : 0;
}

/* -- life -- */

static unsigned
processors(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned)MIN(MAX(CPU_COUNT(&set), 1), (int)REACTORS_MAX);
}

static void *
reactor_main(void *arg)
{
	struct reactor *r = arg;

	loop_self = r;
	stats_thread_init(r->id);
	/* Here, so that memory comes from this thread's node. */
	r->start_err = buf_pool_init(r, r->id, count);
	sem_post(&r->started);
	if (!r->start_err)
		loop_run(r);
	return NULL;
}

/* Signals are the main thread's: a reactor's system calls are not to be interrupted. */
static int
thread_start(struct reactor *r)
{
	sigset_t all, old;
	char name[16];
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&r->thread, NULL, reactor_main, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	snprintf(name, sizeof(name), "sluice/%u", r->id);
	pthread_setname_np(r->thread, name);
	while (sem_wait(&r->started) && errno == EINTR)
		;
	if (r->start_err)
		pthread_join(r->thread, NULL);
	return r->start_err;
}

static void
reactor_free(struct reactor *r)
{
	loop_fini(r);
	sem_destroy(&r->started);
	free(r);
}

static int
reactor_new(unsigned id, uint64_t poll_ns, struct reactor **rp)
{
	struct reactor *r = aligned_alloc(_Alignof(struct reactor), sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = loop_init(r, id, poll_ns);
	sem_init(&r->started, 0, 0);
	if (!err)
		err = thread_start(r);
	if (err) {
		reactor_free(r);
		return err;
	}
	*rp = r;
	return 0;
}

int
reactors_start(unsigned n, uint64_t poll_ns)
{
	unsigned made;
	int err = 0;

	assert(!count);
	if (!n)
		n = processors();
	if (n > REACTORS_MAX)
		return -EINVAL;
	signal(SIGPIPE, SIG_IGN);
	/* All see the same count from their first instruction on. */
	count = n;
	for (made = 0; made < n && !err; made++)
		err = reactor_new(made, poll_ns, &reactors[made]);
	if (err) {
		count = made - 1;
		reactors_stop();
	}
	return err;
}

static void
stop_run(struct msg *m)
{
	container_of(m, struct reactor, stop_msg)->stop = true;
}

/*
 * Messages that are still under way, perhaps to a reactor that has ended, run
 * here, as if on their reactor, until none is left.
 */
static void
drain_all(void)
{
	bool any;

	do {
		any = false;
		for (unsigned i = 0; i < count; i++) {
			loop_self = reactors[i];
			loop_self->now = now_ns();
			any |= inbox_drain(loop_self);
			any |= !list_empty(&loop_self->work);
			loop_work(loop_self);
		}
	} while (any);
	loop_self = NULL;
}

void
reactors_stop(void)
{
	unsigned n = count;

	for (unsigned i = 0; i < n; i++) {
		reactors[i]->stop_msg.fn = stop_run;
		reactor_post(reactors[i], &reactors[i]->stop_msg);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(reactors[i]->thread, NULL);
	drain_all();
	for (unsigned i = 0; i < n; i++)
		buf_pool_fini(i);
	count = 0;
	for (unsigned i = 0; i < n; i++) {
		reactor_free(reactors[i]);
		reactors[i] = NULL;
	}
}
