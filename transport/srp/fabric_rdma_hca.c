/* RDMA devices of a reactor: completion queues, when they are polled and when they wake it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "fabric_rdma.h"

COUNTER(wakeups, "rdma_wakeups", "times that a completion woke a reactor");

static struct hca_home homes[REACTORS_MAX];

/* -- completions -- */

static void
cq_failed(struct hca_cq *q, const char *call)
{
	const char *device = ibv_get_device_name(q->hca->verbs->device);
	struct fabric_conn *conn;

	log_peer(LOG_LEVEL_ERR, device, "%s: %s fails: its connections end", device, call);
	list_for_each(conn, &q->hca->conns, link)
		if (conn->cq == q)
			hca_conn_lost(conn, "the completion queue failed");
}

static int
cq_poll(struct hca_cq *q)
{
	struct ibv_wc wc[HCA_POLL];
	int n = ibv_poll_cq(q->cq, HCA_POLL, wc);

	if (unlikely(n < 0)) {
		cq_failed(q, "ibv_poll_cq");
		return 0;
	}
	for (int i = 0; i < n; i++)
		hca_ended(&wc[i]);
	return n;
}

void
hca_cq_drain(struct hca_cq *q)
{
	/* No more than were there when this began: others go on adding. */
	for (int left = (int)q->size; left > 0;) {
		int n = cq_poll(q);

		if (!n)
			break;
		left -= n;
	}
}

static bool
hca_poll(struct poller *p)
{
	struct hca *h = container_of(p, struct hca, poller);
	struct hca_cq *q;
	bool found = false;

	list_for_each(q, &h->cqs, link)
		found |= cq_poll(q) > 0;
	if (found)
		h->found_ns = reactor_now(h->reactor);
	return found;
}

/*
 * Before the reactor sleeps each queue must be armed, and be empty after that:
 * what came before is found by this poll, what comes later wakes. One that is
 * armed since an earlier look has seen nothing, or its event is on its way.
 */
static bool
hca_idle(struct poller *p)
{
	struct hca *h = container_of(p, struct hca, poller);
	struct hca_cq *q;
	bool idle = true;

	if (h->poll_ns && reactor_now(h->reactor) - h->found_ns < h->poll_ns)
		return false;
	list_for_each(q, &h->cqs, link) {
		if (q->armed)
			continue;
		if (ibv_req_notify_cq(q->cq, 0)) {
			cq_failed(q, "ibv_req_notify_cq");
			continue;
		}
		q->armed = true;
		if (cq_poll(q) > 0)
			idle = false;
	}
	return idle;
}

/* The turn goes on with the pollers: they take what is there. */
static void
completions_readable(struct watch *w, short what)
{
	struct hca *h = container_of(w, struct hca, completions);
	struct ibv_cq *cq;
	void *ctx;

	while (!ibv_get_cq_event(h->channel, &cq, &ctx)) {
		struct hca_cq *q = ctx;

		counter_add(&wakeups, 1);
		q->armed = false;
		q->unacked++;
	}
	/* Of a device that was removed it would be readable for ever. */
	if (errno != EAGAIN)
		watch_want(w, 0);
}

int
hca_cq_get(struct hca *h, uint32_t n, struct hca_cq **out)
{
	uint32_t size = MIN(MAX(n, (uint32_t)HCA_CQ_SIZE), (uint32_t)h->attr.max_cqe);
	int vector = (int)reactor_id(h->reactor) % MAX(h->verbs->num_comp_vectors, 1);
	struct hca_cq *q;

	list_for_each(q, &h->cqs, link)
		if (q->size - q->taken >= n)
			goto found;
	if (size < n)
		return -ENOSPC;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->cq = ibv_create_cq(h->verbs, (int)size, q, h->channel, vector);
	if (!q->cq) {
		free(q);
		return -errno;
	}
	q->hca = h;
	q->size = size;
	list_add_tail(&h->cqs, &q->link);
found:
	q->taken += n;
	*out = q;
	return 0;
}

void
hca_cq_put(struct hca_cq *q, uint32_t n)
{
	q->taken -= n;
	if (q->taken)
		return;
	list_del(&q->link);
	ibv_ack_cq_events(q->cq, q->unacked);
	ibv_destroy_cq(q->cq);
	free(q);
}

/* -- what the device says -- */

/*
 * For the log: connections hear through completions and their own events. Each
 * reactor that uses the device listens, and one of them gets it.
 */
static void
event_readable(struct watch *w, short what)
{
	struct hca *h = container_of(w, struct hca, events);
	const char *device = ibv_get_device_name(h->verbs->device);
	struct ibv_async_event e;

	while (!ibv_get_async_event(h->verbs, &e)) {
		switch (e.event_type) {
		case IBV_EVENT_COMM_EST:
		case IBV_EVENT_SQ_DRAINED:
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			break;
		default:
			log_peer(LOG_LEVEL_INFO, device, "%s: %s", device,
			    ibv_event_type_str(e.event_type));
		}
		ibv_ack_async_event(&e);
	}
	if (errno != EAGAIN)
		watch_want(w, 0);
}

/* -- devices -- */

void
hca_limits(const struct rdma_cm_id *id, struct fabric_limits *l)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	*l = (struct fabric_limits){ 0 };
	if (ibv_query_device(id->verbs, &attr) || ibv_query_port(id->verbs, id->port_num, &port))
		return;
	l->send_wr = l->recv_wr = (uint32_t)attr.max_qp_wr;
	l->max_sge = MIN((uint32_t)attr.max_sge, (uint32_t)HCA_SGE_MAX);
	l->max_read_sge = attr.max_sge_rd > 0 ? MIN((uint32_t)attr.max_sge_rd, l->max_sge) :
	    l->max_sge;
	l->inline_max = HCA_INLINE_MAX;
	l->max_msg = port.max_msg_sz;
}

static void
hca_free(struct hca *h)
{
	poller_del(&h->poller);
	list_del(&h->link);
	hca_mem_fini(&h->mem);
	watch_fini(&h->events);
	watch_fini(&h->completions);
	if (h->channel)
		ibv_destroy_comp_channel(h->channel);
	if (h->pd)
		ibv_dealloc_pd(h->pd);
	free(h);
}

void
hca_put(struct hca *h)
{
	struct fabric_conn *conn;

	h->poll_ns = 0;
	list_for_each(conn, &h->conns, link)
		h->poll_ns = MAX(h->poll_ns, conn->poll_ns);
	if (list_empty(&h->conns))
		hca_free(h);
}

static int
nonblock(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 ? -errno : 0;
}

static int
hca_open(struct hca *h)
{
	/* An iWARP peer answers an RDMA READ with writes into our memory. */
	int access = IBV_ACCESS_LOCAL_WRITE |
	    (h->verbs->device->transport_type == IBV_TRANSPORT_IWARP ? IBV_ACCESS_REMOTE_WRITE : 0);

	if (ibv_query_device(h->verbs, &h->attr))
		return -ENODEV;
	h->pd = ibv_alloc_pd(h->verbs);
	if (!h->pd)
		return -errno;
	h->channel = ibv_create_comp_channel(h->verbs);
	if (!h->channel || nonblock(h->channel->fd) < 0 || nonblock(h->verbs->async_fd) < 0)
		return -errno;
	watch_init(&h->completions, h->reactor, h->channel->fd, completions_readable);
	watch_want(&h->completions, EV_READ);
	watch_init(&h->events, h->reactor, h->verbs->async_fd, event_readable);
	watch_want(&h->events, EV_READ);
	hca_mem_init(&h->mem, h->reactor, h->pd, access);
	return 0;
}

int
hca_get(struct hca_home *home, struct ibv_context *verbs, struct hca **out)
{
	struct hca *h;
	int rc;

	list_for_each(h, &home->hcas, link)
		if (h->verbs == verbs) {
			*out = h;
			return 0;
		}
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->reactor = home->reactor;
	h->verbs = verbs;
	list_init(&h->cqs);
	list_init(&h->conns);
	list_add_tail(&home->hcas, &h->link);
	h->poller.poll = hca_poll;
	h->poller.idle = hca_idle;
	poller_add(home->reactor, &h->poller);
	rc = hca_open(h);
	if (rc < 0) {
		hca_free(h);
		return rc;
	}
	*out = h;
	return 0;
}

/* -- what a reactor hears of its connections -- */

enum { EVENT_BATCH = 64 };

static void
home_readable(struct watch *w, short what)
{
	struct hca_home *home = container_of(w, struct hca_home, watch);
	struct rdma_cm_event *e;

	for (int i = 0; i < EVENT_BATCH && !rdma_get_cm_event(home->channel, &e); i++) {
		struct fabric_conn *conn = e->id->context;
		enum rdma_cm_event_type type = e->event;

		/* First: the id cannot be destroyed before. */
		rdma_ack_cm_event(e);
		if (conn)
			hca_conn_event(conn, type);
	}
}

int
hca_home(struct reactor *reactor, struct hca_home **out)
{
	struct hca_home *home = &homes[reactor_id(reactor)];

	OWNED_BY(reactor);
	*out = home;
	if (home->reactor)
		return 0;
	home->channel = rdma_create_event_channel();
	if (!home->channel || nonblock(home->channel->fd) < 0)
		return -errno;
	home->reactor = reactor;
	list_init(&home->hcas);
	watch_init(&home->watch, reactor, home->channel->fd, home_readable);
	watch_want(&home->watch, EV_READ);
	return 0;
}

void
hca_fini(struct reactor *reactor)
{
	struct hca_home *home = &homes[reactor_id(reactor)];

	if (!home->reactor)
		return;
	assert(list_empty(&home->hcas));
	watch_fini(&home->watch);
	rdma_destroy_event_channel(home->channel);
	*home = (struct hca_home){ 0 };
}
