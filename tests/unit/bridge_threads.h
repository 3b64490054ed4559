/* Several reactors on one adapter, with disks that count for themselves. */
#ifndef BRIDGE_THREADS_H
#define BRIDGE_THREADS_H

#include "bridge_rig.h"

#include <sched.h>
#include <semaphore.h>

enum {
	THREADS_MAX = 4,
	INIS = 3,
	DISKS = 4,			/* two targets of two */
	REQS = 48,			/* per reactor */
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 3000, STRESS = 40000 };
#else
enum { ROUNDS = 20000, STRESS = 200000 };
#endif

struct treq {
	struct bridge_req req;
	struct list link;		/* in the fake hardware */
	unsigned reactor;
	int disk, ini;
	bool pending;			/* home's view */
};

/* One fake hardware queue on each reactor, with what its thread alone uses. */
static struct hw {
	OWN_LINE struct poller poller;
	struct list running;
	unsigned seed;
	struct treq reqs[REQS];
	struct bridge_flow *flow[INIS][DISKS];
	int left;			/* submissions to go; 0: done does not submit again */
	int cancelled;
	struct msg msg;
	uint64_t done, next_cancel, done_before;
} hw[THREADS_MAX];

/* Counted by the disks, apart from the bridge. */
static OWN_LINE atomic_int host_in;
static atomic_int target_in[DISKS / 2], lun_in[DISKS], ini_in[INIS];
static int host_max, target_max, lun_max, ini_max;
/* In flight from the homes of each queue, when there are quotas; and which reactors have submitted. */
static atomic_int queue_in[THREADS_MAX];
static unsigned quota_queues;
static int quota;
static atomic_uint submitters;
static bool inline_too;
/* One in so many calls gives the processor away: often in silence, rarely where all threads spin. */
static unsigned yields;
static unsigned nthreads;
static OWN_LINE atomic_int outstanding;
static sem_t silence;

static inline unsigned
rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static inline void
enter(atomic_int *n, int max)
{
	int now = atomic_fetch_add(n, 1) + 1;

	if (now > max) {
		fprintf(stderr, "%d in flight, the limit is %d\n", now, max);
		abort();
	}
}

static inline void
leave_all(struct treq *t)
{
	if (quota_queues)
		atomic_fetch_sub(&queue_in[t->reactor % quota_queues], 1);
	atomic_fetch_sub(&ini_in[t->ini], 1);
	atomic_fetch_sub(&lun_in[t->disk], 1);
	atomic_fetch_sub(&target_in[t->disk / 2], 1);
	atomic_fetch_sub(&host_in, 1);
}

static inline enum disk_result
hw_submit(struct disk_io *io)
{
	struct treq *t = container_of(io, struct treq, req.io);
	struct hw *h = &hw[reactor_id(reactor_self())];

	enter(&host_in, host_max);
	enter(&target_in[t->disk / 2], target_max);
	enter(&lun_in[t->disk], lun_max);
	enter(&ini_in[t->ini], ini_max);
	if (quota_queues)
		enter(&queue_in[t->reactor % quota_queues], quota);
	atomic_fetch_or(&submitters, 1u << reactor_id(reactor_self()));
	io->result = 0;
	if (rnd(&h->seed, yields) == 0)
		sched_yield();
	if (inline_too && rnd(&h->seed, 2)) {
		leave_all(t);
		return DISK_DONE;
	}
	list_add_tail(&h->running, &t->link);
	return DISK_PENDING;
}

static inline bool
hw_poll(struct poller *p)
{
	struct hw *h = container_of(p, struct hw, poller);

	if (list_empty(&h->running))
		return false;
	while (!list_empty(&h->running) && rnd(&h->seed, 3)) {
		struct treq *t = list_first(&h->running, struct treq, link);

		list_del(&t->link);
		leave_all(t);
		if (rnd(&h->seed, yields) == 0)
			sched_yield();
		disk_io_done(&t->req.io);
	}
	return true;
}

static inline void
finished(void)
{
	if (atomic_fetch_sub(&outstanding, 1) == 1)
		sem_post(&silence);
}

static void go(struct hw *, struct treq *);

static inline void
treq_done(struct bridge_req *req)
{
	struct treq *t = container_of(req, struct treq, req);
	struct hw *h = &hw[t->reactor];

	sure(reactor_self() == reactor_get(t->reactor));
	sure(t->pending);
	t->pending = false;
	h->done++;
	/* The next one is counted before this one is over. */
	go(h, t);
	finished();
}

static inline void
submit_one(struct hw *h, struct treq *t)
{
	enum bridge_verdict v;

	t->ini = (int)rnd(&h->seed, INIS);
	t->disk = (int)rnd(&h->seed, DISKS);
	t->req.flow = h->flow[t->ini][t->disk];
	t->req.done = treq_done;
	atomic_fetch_add(&outstanding, 1);
	t->pending = true;
	v = bridge_submit(&t->req);
	sure(v == BRIDGE_PENDING || v == BRIDGE_DONE);
	if (v == BRIDGE_DONE) {
		t->pending = false;
		h->done++;
		finished();
	}
}

/* Submits again while there is something left to submit. */
static inline void
go(struct hw *h, struct treq *t)
{
	while (h->left > 0 && !t->pending) {
		h->left--;
		submit_one(h, t);
	}
}

/* Cancels something of this reactor that is pending, perhaps. */
static inline void
maybe_cancel(struct hw *h)
{
	struct treq *t = &h->reqs[rnd(&h->seed, REQS)];

	if (t->pending && bridge_cancel(&t->req) == BRIDGE_CANCELLED) {
		t->pending = false;
		h->cancelled++;
		go(h, t);
		finished();
	}
}

static inline void
open_on(void *arg)
{
	struct hw *h = arg;
	char name[16];

	list_init(&h->running);
	for (int i = 0; i < INIS; i++)
		for (int d = 0; d < DISKS; d++) {
			snprintf(name, sizeof(name), "i%d", i);
			h->flow[i][d] = bridge_flow_get(rig_disk(d), name,
			    &(struct bridge_limits){ .weight = 1 + (unsigned)i,
				.depth = (unsigned)ini_max },
			    reactor_self());
			sure(h->flow[i][d]);
		}
	h->poller.poll = hw_poll;
	poller_add(reactor_self(), &h->poller);
}

static inline void
close_on(void *arg)
{
	struct hw *h = arg;

	sure(list_empty(&h->running));
	for (int i = 0; i < INIS; i++)
		for (int d = 0; d < DISKS; d++)
			bridge_flow_put(h->flow[i][d]);
	poller_del(&h->poller);
}

static inline void
open_all(unsigned threads, int host, int target, int lun, int ini, bool inline_disk)
{
	nthreads = threads;
	host_max = host;
	target_max = target;
	lun_max = lun;
	ini_max = ini;
	inline_too = inline_disk;
	yields = 1000;
	sem_init(&silence, 0, 0);
	rig_open(threads, (uint32_t)host, (uint32_t)target, (uint32_t)lun, DISKS, 2, hw_submit);
	memset(hw, 0, sizeof(hw));
	for (unsigned i = 0; i < threads; i++) {
		hw[i].seed = i * 7919 + (unsigned)host;
		for (int k = 0; k < REQS; k++)
			hw[i].reqs[k].reactor = i;
		rig_run(i, open_on, &hw[i]);
	}
}

static inline void
close_all(void)
{
	for (unsigned i = 0; i < nthreads; i++)
		rig_run(i, close_on, &hw[i]);
	assert_int_equal(atomic_load(&host_in), 0);
	rig_close();
}

static inline void
print_nodes(void)
{
	static struct bridge_node_stats s[64];
	unsigned n = MIN(bridge_stats(rig.host, s, ARRAY_LEN(s)), (unsigned)ARRAY_LEN(s));

	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "%s: %u of %u in flight, %u waiting, %llu admitted\n", s[i].name,
		    s[i].in_flight, s[i].limit, s[i].waiting, (unsigned long long)s[i].admitted);
	for (unsigned i = 0; i < nthreads; i++)
		fprintf(stderr, "reactor %u: %llu done, %d to go\n", i,
		    (unsigned long long)hw[i].done, hw[i].left);
}

/* The dog barks: what the bridge thinks of it helps to find out why. */
static inline void
wait_for_silence(const char *what, int n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	while (sem_timedwait(&silence, &until)) {
		if (errno == EINTR)
			continue;
		fprintf(stderr, "%s %d: %d requests never came back\n", what, n,
		    atomic_load(&outstanding));
		bridge_check(rig.host, stderr);
		print_nodes();
		abort();
	}
}

static inline void
start_some(struct msg *m)
{
	struct hw *h = container_of(m, struct hw, msg);

	for (unsigned k = 0; k <= rnd(&h->seed, 3); k++)
		submit_one(h, &h->reqs[k]);
	finished();
}

/*
 * A few commands, then silence: later traffic does not rescue who was
 * forgotten. Plain stress passes most bugs that lose a wake-up.
 */
static inline void
quiet(int rounds)
{
	yields = 8;
	for (int round = 0; round < rounds; round++) {
		atomic_store(&outstanding, (int)nthreads);
		for (unsigned i = 0; i < nthreads; i++) {
			hw[i].msg.fn = start_some;
			reactor_post(reactor_get(i), &hw[i].msg);
		}
		wait_for_silence("round", round);
		if (round % 256 == 0)
			assert_int_equal(bridge_check(rig.host, stderr), 0);
	}
	yields = 1000;
}

static inline void
stress_on(struct msg *m)
{
	struct hw *h = container_of(m, struct hw, msg);

	for (int k = 0; k < REQS; k++)
		go(h, &h->reqs[k]);
	/* Not more often than something is done, or all would be cancelled. */
	if (h->done >= h->next_cancel) {
		h->next_cancel = h->done + 3;
		maybe_cancel(h);
	}
	/* Who finds nothing done lets those run whom it waits for. */
	if (h->done == h->done_before)
		sched_yield();
	h->done_before = h->done;
	if (h->left > 0)
		reactor_post(reactor_self(), m);
	else
		finished();
}

static int stress_each;

static inline void
start_stress(int requests)
{
	stress_each = requests / (int)nthreads;
	atomic_store(&outstanding, (int)nthreads);
	for (unsigned i = 0; i < nthreads; i++) {
		hw[i].left = stress_each;
		hw[i].msg.fn = stress_on;
		reactor_post(reactor_get(i), &hw[i].msg);
	}
}

static inline void
stress_wait(void)
{
	struct bridge_node_stats s;
	uint64_t done = 0;
	int cancelled = 0;

	wait_for_silence("stress", 0);
	for (unsigned i = 0; i < nthreads; i++) {
		done += hw[i].done;
		cancelled += hw[i].cancelled;
	}
	s = rig_stats(BRIDGE_HOST, "rig");
	assert_int_equal(done + (uint64_t)cancelled, stress_each * (int)nthreads);
	assert_int_equal(s.admitted, done);
	assert_int_equal(s.in_flight, 0);
	assert_int_equal(s.waiting, 0);
	print_message("# %llu done, %d cancelled, %llu waited, at most %u of %d in flight\n",
	    (unsigned long long)done, cancelled, (unsigned long long)s.waited, s.max_in_flight,
	    host_max);
}

static inline void
end_stress(void)
{
	stress_wait();
	close_all();
}

#endif
