/* Connections of the fabric in memory: what happens next, and telling it. */
#include "mem_conn.h"

#include <stdio.h>
#include <stdlib.h>

enum step {
	STEP_LOST, STEP_WORK, STEP_ENDED, STEP_COME, STEP_CAME, STEP_ESTABLISHED, STEP_DRAINED,
	STEPS
};

static const enum step sends_first[STEPS] = {
	STEP_LOST, STEP_WORK, STEP_ENDED, STEP_COME, STEP_CAME, STEP_ESTABLISHED, STEP_DRAINED
};
static const enum step recvs_first[STEPS] = {
	STEP_ESTABLISHED, STEP_COME, STEP_CAME, STEP_WORK, STEP_ENDED, STEP_LOST, STEP_DRAINED
};

pthread_mutex_t mem_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned mem_moves;

_Noreturn void
mem_broken(const char *rule, const char *file, int line)
{
	fprintf(stderr, "%s:%d: the target broke a rule of the fabric: %s\n", file, line, rule);
	abort();
}

/* xorshift32 */
uint32_t
mem_random(uint32_t below)
{
	mem.seed ^= mem.seed << 13;
	mem.seed ^= mem.seed >> 17;
	mem.seed ^= mem.seed << 5;
	return mem.seed % below;
}

bool
mem_point(struct mem_end *end, enum mem_where where, unsigned mask, enum mem_fault *fault)
{
	if (!end || !end->arm.on || end->points++ != end->arm.at || !(mask & 1u << end->arm.fault))
		return false;
	*fault = end->arm.fault;
	end->hit = where;
	return true;
}

void
conn_wake(struct fabric_conn *c)
{
	if (c->posted || c->running)
		return;
	c->posted = true;
	reactor_post(c->setup.reactor, &c->run);
}

void
conn_break(struct fabric_conn *c, const char *why, bool late)
{
	if (c->end && c->end->state == MEM_UP)
		c->end->state = MEM_DROPPED;
	if (!c->broken && !c->disconnected) {
		c->to_lose = true;
		c->lost_late = late;
		c->why = why;
	}
	c->broken = true;
	conn_wake(c);
}

void
conn_free(struct fabric_conn *c)
{
	mem_rule(list_empty(&c->work) && list_empty(&c->ended));
	mem_rule(list_empty(&c->recvs) && list_empty(&c->came));
	if (c->end)
		c->end->conn = NULL;
	mem.conns--;
	free(c);
}

/* -- what can happen now -- */

static bool
work_ready(const struct fabric_conn *c)
{
	const struct mem_work *w = list_first(&c->work, struct mem_work, link);

	if (list_empty(&c->work))
		return false;
	if (c->broken)
		return !(c->hold & MEM_HOLD_DRAIN);
	if (w->op == FABRIC_SEND && c->end->ngot >= c->end->room)
		return false;
	return !(c->hold & 1u << w->op);
}

static bool
come_ready(const struct fabric_conn *c)
{
	if (list_empty(&c->recvs))
		return false;
	if (c->broken)
		return !(c->hold & MEM_HOLD_DRAIN);
	return c->accepted && !list_empty(&c->end->sent) && !(c->hold & MEM_HOLD_RECV);
}

static bool
all_told(const struct fabric_conn *c)
{
	return list_empty(&c->work) && list_empty(&c->ended) && list_empty(&c->recvs) &&
	    list_empty(&c->came);
}

static bool
step_ready(const struct fabric_conn *c, enum step step)
{
	switch (step) {
	case STEP_LOST:
		return c->to_lose && !c->disconnected && (!c->lost_late || all_told(c));
	case STEP_WORK:
		return work_ready(c);
	case STEP_ENDED:
		return !list_empty(&c->ended) && (c->broken || !(c->hold & MEM_HOLD_DONE));
	case STEP_COME:
		return come_ready(c);
	case STEP_CAME:
		return !list_empty(&c->came);
	case STEP_ESTABLISHED:
		return c->accepted && !c->established && !c->broken &&
		    !(c->hold & MEM_HOLD_ESTABLISHED);
	case STEP_DRAINED:
		return c->disconnected && !c->drained && all_told(c);
	case STEPS:
		break;
	}
	return false;
}

static bool
step_next(const struct fabric_conn *c, enum step *step)
{
	const enum step *order = mem.order == MEM_RECVS_FIRST ? recvs_first : sends_first;
	unsigned first = mem.order == MEM_RANDOM ? mem_random(STEPS) : 0;

	for (unsigned i = 0; i < STEPS; i++) {
		*step = order[(first + i) % STEPS];
		if (step_ready(c, *step))
			return true;
	}
	return false;
}

/* -- telling -- */

static void
tell(struct fabric_cqe *cqe, enum fabric_status status, uint32_t len, const char *why)
{
	struct fabric_wc wc = { .cqe = cqe, .status = status, .len = len,
		.why = status == FABRIC_FAILED ? why : NULL };

	pthread_mutex_unlock(&mem_lock);
	cqe->done(&wc);
	pthread_mutex_lock(&mem_lock);
}

/* Success without a signal is not told: later signalled work tells it too. */
static void
ended_tell(struct fabric_conn *c)
{
	struct mem_work *w = list_first(&c->ended, struct mem_work, link);
	bool silent = w->status == FABRIC_OK && !(w->flags & FABRIC_SIGNALED);
	struct mem_work copy = *w;

	mem_rule(work_sum(w) == w->sum || w->may_change || w->op == FABRIC_RDMA_READ);
	list_del(&w->link);
	free(w->copy);
	free(w);
	c->unmarked++;
	if (silent)
		return;
	/* A failure tells nothing of the work before it. */
	c->nwork -= copy.status == FABRIC_OK ? c->unmarked : 1;
	c->unmarked = copy.status == FABRIC_OK ? 0 : c->unmarked - 1;
	tell(copy.cqe, copy.status, 0, c->why ? c->why : "failed");
}

static void
came_tell(struct fabric_conn *c)
{
	struct mem_recv *r = list_first(&c->came, struct mem_recv, link);
	struct mem_recv copy = *r;

	list_del(&r->link);
	free(r);
	c->nrecv--;
	tell(copy.cqe, copy.status, copy.len, c->why ? c->why : "failed");
}

static void
event_tell(struct fabric_conn *c, enum step step)
{
	const struct fabric_events *events = c->setup.events;
	void *ctx = c->setup.ctx;

	if (step == STEP_LOST)
		c->to_lose = false;
	else if (step == STEP_ESTABLISHED)
		c->established = true;
	else
		c->drained = true;
	pthread_mutex_unlock(&mem_lock);
	if (step == STEP_LOST)
		events->lost(ctx, c->why);
	else if (step == STEP_ESTABLISHED)
		events->established(ctx);
	else
		events->drained(ctx);
	pthread_mutex_lock(&mem_lock);
}

static void
step_do(struct fabric_conn *c, enum step step)
{
	mem_moves++;
	switch (step) {
	case STEP_WORK:
		if (c->broken)
			work_flush(c, list_first(&c->work, struct mem_work, link));
		else
			work_do(c, list_first(&c->work, struct mem_work, link));
		break;
	case STEP_ENDED:
		ended_tell(c);
		break;
	case STEP_COME:
		if (c->broken)
			recv_flush(c, list_first(&c->recvs, struct mem_recv, link));
		else
			recv_do(c, list_first(&c->end->sent, struct mem_iu, link));
		break;
	case STEP_CAME:
		came_tell(c);
		break;
	case STEP_LOST:
	case STEP_ESTABLISHED:
	case STEP_DRAINED:
		event_tell(c, step);
		break;
	case STEPS:
		break;
	}
}

/* A turn: all that can happen, or a few things so that the ends of rounds fall anywhere between. */
static void
conn_run(struct msg *m)
{
	struct fabric_conn *c = container_of(m, struct fabric_conn, run);
	unsigned budget;
	enum step step;

	OWNED_BY(c->setup.reactor);
	pthread_mutex_lock(&mem_lock);
	budget = mem.order == MEM_RANDOM ? 1 + mem_random(3) : 256;
	c->posted = false;
	c->running = true;
	while (!c->closed && budget && step_next(c, &step)) {
		step_do(c, step);
		budget--;
	}
	c->running = false;
	if (c->closed)
		conn_free(c);
	else if (step_next(c, &step))
		conn_wake(c);
	pthread_mutex_unlock(&mem_lock);
}

void
conn_init(struct fabric_conn *c)
{
	c->run.fn = conn_run;
	list_init(&c->work);
	list_init(&c->ended);
	list_init(&c->recvs);
	list_init(&c->came);
	c->hold = mem.hold;
	mem.conns++;
}
