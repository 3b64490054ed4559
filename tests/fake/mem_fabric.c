/* The fabric in memory as the target calls it. */
#include "mem_fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "util.h"

#include "mem_conn.h"

enum { REJECT_MAX = 148, ACCEPT_MAX = 196 };

REGISTER(fabrics, struct fabric, &mem_fabric);

struct mem_world mem;

const char *const mem_fault_names[MEM_FAULTS] = {
	[MEM_FAIL] = "fails", [MEM_FAIL_HALF] = "fails half way",
	[MEM_FAIL_DONE] = "fails after all",
	[MEM_AGAIN] = "EAGAIN", [MEM_NOMEM] = "ENOMEM", [MEM_LEAVE] = "the peer leaves",
	[MEM_LEAVE_LATE] = "the peer left",
};

void
mem_reset(void)
{
	unsigned listeners = mem.listeners;

	mem_rule(!mem.conns && !mem.requests);
	mem = (struct mem_world){
		.limits = { .send_wr = 4096, .recv_wr = 4096, .max_sge = 16, .max_read_sge = 16,
		    .inline_max = 256, .max_msg = 1u << 30 },
		.seed = 1,
		.listeners = listeners,
	};
	conf_sockaddr("192.0.2.9:40000", &mem.peer);
}

/* -- requests -- */

static int
mem_listen(const struct conf_portal *portal, void (*request)(struct fabric_request *),
    struct fabric_listener **out)
{
	struct fabric_listener *l;

	if (mem.absent)
		return -ENODEV;
	l = calloc(1, sizeof(*l));
	mem_rule(l);
	l->portal = portal;
	l->arrive = request;
	pthread_mutex_lock(&mem_lock);
	list_add_tail(&mem_listeners, &l->link);
	mem.listeners++;
	pthread_mutex_unlock(&mem_lock);
	*out = l;
	return 0;
}

static void
nothing(void *arg)
{
}

static void
mem_unlisten(struct fabric_listener *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&mem_lock);
	list_del(&l->link);
	mem.listeners--;
	pthread_mutex_unlock(&mem_lock);
	/* A request that is on its way finds no listener now; one that is being told ends. */
	for (unsigned i = 0; i < reactor_count(); i++)
		reactor_call(reactor_get(i), nothing, NULL);
	free(l);
}

static void
answer(struct mem_request *r, enum mem_state state, const void *data, size_t len)
{
	struct mem_end *end = r->end;

	if (end) {
		end->request = NULL;
		if (end->state == MEM_ASKING)
			end->state = state;
		end->answer = malloc(len + 1);
		mem_rule(end->answer);
		if (len)
			memcpy(end->answer, data, len);
		end->answer_len = len;
	}
	mem.requests--;
	mem_moves++;
	free(r->data);
	free(r);
}

static void
mem_reject(struct fabric_request *req, const void *data, size_t len)
{
	struct mem_request *r = container_of(req, struct mem_request, req);

	mem_rule(len <= REJECT_MAX);
	pthread_mutex_lock(&mem_lock);
	mem_rule(!r->conn);
	answer(r, MEM_REFUSED, data, len);
	pthread_mutex_unlock(&mem_lock);
}

static int
mem_accept(struct fabric_conn *c, struct fabric_request *req, const void *data, size_t len)
{
	struct mem_request *r = container_of(req, struct mem_request, req);
	enum mem_fault fault;
	bool gone;

	OWNED_BY(c->setup.reactor);
	mem_rule(len <= ACCEPT_MAX && r->conn == c && !c->accepted && !c->disconnected);
	pthread_mutex_lock(&mem_lock);
	if (mem_point(r->end, MEM_AT_ACCEPT, 1u << MEM_FAIL, &fault)) {
		pthread_mutex_unlock(&mem_lock);
		return -EIO;
	}
	gone = !r->end || r->end->state != MEM_ASKING;
	c->accepted = true;
	answer(r, MEM_UP, data, len);
	if (gone)
		conn_break(c, "the peer left", false);
	conn_wake(c);
	pthread_mutex_unlock(&mem_lock);
	return 0;
}

/* -- connections -- */

static int
mem_open(struct fabric_request *req, struct fabric_setup *setup, struct fabric_conn **out)
{
	struct mem_request *r = container_of(req, struct mem_request, req);
	struct fabric_limits *l = &setup->limits;
	struct fabric_conn *c;
	enum mem_fault fault;
	bool fails;

	OWNED_BY(setup->reactor);
	mem_rule(!r->conn && setup->events && l->send_wr && l->recv_wr);
	pthread_mutex_lock(&mem_lock);
	fails = mem_point(r->end, MEM_AT_OPEN, 1u << MEM_FAIL, &fault);
	pthread_mutex_unlock(&mem_lock);
	if (fails)
		return -EIO;
	c = calloc(1, sizeof(*c));
	mem_rule(c);
	l->send_wr = MIN(l->send_wr, mem.limits.send_wr);
	l->recv_wr = MIN(l->recv_wr, mem.limits.recv_wr);
	l->inline_max = MIN(l->inline_max, mem.limits.inline_max);
	l->max_sge = mem.limits.max_sge;
	l->max_read_sge = mem.limits.max_read_sge;
	l->max_msg = mem.limits.max_msg;
	c->setup = *setup;
	pthread_mutex_lock(&mem_lock);
	conn_init(c);
	r->conn = c;
	c->request = r;
	c->end = r->end;
	if (c->end)
		c->end->conn = c;
	pthread_mutex_unlock(&mem_lock);
	*out = c;
	return 0;
}

static void
mem_disconnect(struct fabric_conn *c)
{
	OWNED_BY(c->setup.reactor);
	mem_rule(!c->closed);
	pthread_mutex_lock(&mem_lock);
	if (c->end && c->end->state == MEM_UP)
		c->end->state = MEM_DROPPED;
	c->disconnected = true;
	c->broken = true;
	mem_moves++;
	conn_wake(c);
	pthread_mutex_unlock(&mem_lock);
}

static void
mem_close(struct fabric_conn *c)
{
	if (!c)
		return;
	OWNED_BY(c->setup.reactor);
	pthread_mutex_lock(&mem_lock);
	mem_rule(c->drained && !c->closed);
	c->closed = true;
	if (!c->accepted)
		c->request->conn = NULL;
	if (c->end)
		c->end->conn = NULL;
	c->end = NULL;
	if (!c->posted && !c->running)
		conn_free(c);
	pthread_mutex_unlock(&mem_lock);
}

static bool
mem_reaches(struct fabric_conn *c, const void *addr, size_t len)
{
	uintptr_t at = (uintptr_t)addr, foreign = (uintptr_t)mem.foreign;

	return at + len <= foreign || at >= foreign + mem.foreign_len;
}

/* -- work -- */

static int
mem_post_recv(struct fabric_conn *c, struct fabric_recv *recv)
{
	enum mem_fault fault;
	int r = 0;

	OWNED_BY(c->setup.reactor);
	mem_rule(!c->closed && !c->drained);
	pthread_mutex_lock(&mem_lock);
	if (mem_point(c->end, MEM_AT_POST_RECV, 1u << MEM_FAIL, &fault)) {
		c->broken = true;
		r = -EIO;
	}
	for (; r == 0 && recv; recv = recv->next) {
		struct mem_recv *m = calloc(1, sizeof(*m));

		mem_rule(m && recv->cqe && recv->sge.len && ++c->nrecv <= c->setup.limits.recv_wr);
		m->cqe = recv->cqe;
		m->sge = recv->sge;
		memset(m->sge.addr, 0xee, m->sge.len);
		list_add_tail(&c->recvs, &m->link);
	}
	mem_moves++;
	conn_wake(c);
	pthread_mutex_unlock(&mem_lock);
	return r;
}

static void
work_check(const struct fabric_conn *c, const struct fabric_wr *wr)
{
	const struct fabric_limits *l = &c->setup.limits;

	mem_rule(wr->cqe && wr->op <= FABRIC_RDMA_WRITE);
	mem_rule(wr->nsge || wr->op == FABRIC_RDMA_WRITE);
	mem_rule(wr->nsge <= (wr->op == FABRIC_RDMA_READ ? l->max_read_sge : l->max_sge));
	mem_rule(wr->nsge <= MEM_SGES);
	mem_rule(!(wr->flags & FABRIC_SOLICITED) || wr->op == FABRIC_SEND);
	mem_rule(!(wr->flags & FABRIC_INLINE) || wr->op != FABRIC_RDMA_READ);
}

/* What the caller gave may be used again when post_send returns; inline memory too. */
static struct mem_work *
work_new(const struct fabric_conn *c, const struct fabric_wr *wr)
{
	struct mem_work *w = calloc(1, sizeof(*w));

	mem_rule(w);
	work_check(c, wr);
	w->cqe = wr->cqe;
	w->op = wr->op;
	w->flags = wr->flags;
	w->nsge = wr->nsge;
	w->rkey = wr->rkey;
	w->remote = wr->remote;
	for (unsigned i = 0; i < wr->nsge; i++) {
		w->sge[i] = wr->sge[i];
		w->len += wr->sge[i].len;
		mem_rule(mem_reaches(NULL, wr->sge[i].addr, wr->sge[i].len));
	}
	mem_rule(w->len <= c->setup.limits.max_msg);
	if (w->flags & FABRIC_INLINE)
		work_inline(w, c->setup.limits.inline_max);
	work_spoil(w);
	w->may_change = mem.lent && w->op == FABRIC_RDMA_WRITE;
	w->sum = work_sum(w);
	return w;
}

static int
work_post(struct fabric_conn *c, const struct fabric_wr *wr)
{
	unsigned mask = 1u << MEM_FAIL | 1u << MEM_AGAIN | 1u << MEM_NOMEM;
	enum mem_fault fault;
	struct mem_work *w;

	if (mem_point(c->end, MEM_AT_POST_SEND, mask, &fault)) {
		c->broken |= fault == MEM_FAIL;
		return fault == MEM_FAIL ? -EIO : fault == MEM_AGAIN ? -EAGAIN : -ENOMEM;
	}
	w = work_new(c, wr);
	mem_rule(++c->nwork <= c->setup.limits.send_wr);
	list_add_tail(&c->work, &w->link);
	if (c->end) {
		c->end->count.signalled += w->flags & FABRIC_SIGNALED ? 1 : 0;
		c->end->count.inlined += w->flags & FABRIC_INLINE ? 1 : 0;
		c->end->count.longest = MAX(c->end->count.longest, c->nwork);
	}
	return 0;
}

static int
mem_post_send(struct fabric_conn *c, struct fabric_wr *wr, struct fabric_wr **bad)
{
	int r = 0;

	OWNED_BY(c->setup.reactor);
	mem_rule(wr && bad && !c->closed && !c->drained);
	pthread_mutex_lock(&mem_lock);
	if (c->end)
		c->end->count.posts++;
	for (; wr; wr = wr->next) {
		r = work_post(c, wr);
		if (r < 0) {
			*bad = wr;
			break;
		}
	}
	mem_moves++;
	conn_wake(c);
	pthread_mutex_unlock(&mem_lock);
	return r;
}

static void
mem_fini(struct reactor *r)
{
	pthread_mutex_lock(&mem_lock);
	mem.finis++;
	pthread_mutex_unlock(&mem_lock);
}

const struct fabric mem_fabric = {
	.name = "memory",
	.listen = mem_listen,
	.unlisten = mem_unlisten,
	.reject = mem_reject,
	.open = mem_open,
	.accept = mem_accept,
	.post_recv = mem_post_recv,
	.post_send = mem_post_send,
	.disconnect = mem_disconnect,
	.close = mem_close,
	.reaches = mem_reaches,
	.fini = mem_fini,
};
