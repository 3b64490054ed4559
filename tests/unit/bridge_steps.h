/* One step at a time on one reactor: what the bridge's tests of order and limits are written with. */
#ifndef BRIDGE_STEPS_H
#define BRIDGE_STEPS_H

#include "bridge_rig.h"

enum { REQS = 512 };

/* What the fake disk does with the next requests. */
static enum { HOLD, INLINE, FINISH_INSIDE, FINISH_FIRST } mode;

struct treq {
	struct bridge_req req;
	int flow;			/* which of flows[] */
	int done;			/* times done was called */
	int order;			/* when it reached the disk, from 1; 0: has not */
	enum bridge_verdict verdict;
	enum bridge_cancel cancelled;
};

static struct treq reqs[REQS];
static int nreqs, started;
static int order[REQS];			/* the flow of the n-th request that reached the disk */
static struct bridge_flow *flows[RIG_DISKS * 2];
static bool inside_submit;

static inline enum disk_result
fake_submit(struct disk_io *io)
{
	struct treq *t = container_of(io, struct treq, req.io);

	order[started++] = t->flow;
	t->order = started;
	io->result = 0;
	if (mode == FINISH_INSIDE) {
		disk_io_done(io);
		return DISK_PENDING;
	}
	if (mode == FINISH_FIRST) {
		mode = HOLD;
		disk_io_done(&reqs[0].req.io);
	}
	return mode == INLINE ? DISK_DONE : DISK_PENDING;
}

static inline void
treq_done(struct bridge_req *req)
{
	struct treq *t = container_of(req, struct treq, req);

	sure(!inside_submit);
	sure(reactor_self() == reactor_get(0));
	t->done++;
}

/* -- steps, each run on the reactor -- */

struct step {
	int i, j;
	const char *name;
	unsigned weight, depth;
	enum bridge_verdict (*submit)(struct bridge_req *);
};

static inline void
on_flow(void *arg)
{
	struct step *s = arg;

	const struct bridge_limits limits = { .weight = s->weight, .depth = s->depth };

	flows[s->i] = bridge_flow_get(rig_disk(s->j), s->name, &limits, reactor_get(0));
	sure(flows[s->i]);
}

static inline void
flow(int i, int disk, const char *name, unsigned weight, unsigned depth)
{
	struct step s = { .i = i, .j = disk, .name = name, .weight = weight, .depth = depth };

	rig_run(0, on_flow, &s);
}

static inline void
on_submit(void *arg)
{
	struct step *s = arg;
	struct treq *t = &reqs[s->j];

	memset(t, 0, sizeof(*t));
	t->flow = s->i;
	t->req.flow = flows[s->i];
	t->req.done = treq_done;
	inside_submit = true;
	t->verdict = s->submit(&t->req);
	inside_submit = false;
}

/* Submits one more request of a flow; returns its number. Who must wait is in line at the end of the turn. */
static inline int
submit_by(enum bridge_verdict (*fn)(struct bridge_req *), int f)
{
	struct step s = { .i = f, .j = nreqs++, .submit = fn };

	assert_true(nreqs <= REQS);
	rig_run(0, on_submit, &s);
	rig_settle();
	return s.j;
}

static inline int
submit(int f)
{
	return submit_by(bridge_submit, f);
}

static inline void
on_finish(void *arg)
{
	disk_io_done(&reqs[*(int *)arg].req.io);
}

static inline void
finish(int i)
{
	rig_run(0, on_finish, &i);
	rig_settle();
}

static inline void
on_cancel(void *arg)
{
	int i = *(int *)arg;

	reqs[i].cancelled = bridge_cancel(&reqs[i].req);
}

static inline enum bridge_cancel
cancel(int i)
{
	rig_run(0, on_cancel, &i);
	rig_settle();
	return reqs[i].cancelled;
}

static inline void
on_put(void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
		bridge_flow_put(flows[i]);
		flows[i] = NULL;
	}
}

static inline bool
running(int i)
{
	return reqs[i].order && !reqs[i].done && reqs[i].verdict == BRIDGE_PENDING;
}

/* Finishes the oldest running request. False: none runs. */
static inline bool
finish_oldest(void)
{
	int best = -1;

	for (int i = 0; i < nreqs; i++)
		if (running(i) && (best < 0 || reqs[i].order < reqs[best].order))
			best = i;
	if (best >= 0)
		finish(best);
	return best >= 0;
}

static inline void
check(void)
{
	assert_int_equal(bridge_check(rig.host, stderr), 0);
}

static inline void
set_limit(enum bridge_kind kind, const char *name, uint32_t limit)
{
	assert_int_equal(bridge_set_limit(rig.host, kind, name, limit), 0);
	rig_settle();
}

static inline void
start(uint32_t can_queue, uint32_t target_depth, uint32_t lun_depth, int ndisks, int per_target)
{
	mode = HOLD;
	nreqs = started = 0;
	rig_open(1, can_queue, target_depth, lun_depth, ndisks, per_target, fake_submit);
}

static inline void
end(void)
{
	while (finish_oldest())
		;
	for (int i = 0; i < nreqs; i++)
		if (reqs[i].verdict == BRIDGE_PENDING && reqs[i].cancelled != BRIDGE_CANCELLED)
			assert_int_equal(reqs[i].done + (reqs[i].order == 0), 1);
	rig_run(0, on_put, NULL);
	rig_close();
}

#endif
