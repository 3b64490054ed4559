/* A pretended RDMA device: librdmacm and libibverbs as far as the fabric calls them. */
#ifndef RDMA_RIG_H
#define RDMA_RIG_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "transport/srp/fabric_rdma.h"

#include "reactor_rig.h"

enum { RIG_POSTS = 512, RIG_EVENTS = 64, RIG_CQES = 1024 };

/* Work as it was handed over. */
struct rig_post {
	uint64_t wr_id, remote;
	uint32_t rkey, lkey, len;
	int opcode, flags, nsge;
};

struct rig_channel {
	struct rdma_event_channel channel;	/* first: what the library returns */
	struct rdma_cm_event *events[RIG_EVENTS];
	int n;
};

static struct {
	pthread_mutex_t lock;
	struct ibv_device device;
	struct ibv_context verbs;
	int sge_max;			/* of a queue pair; more is refused */
	int room;			/* work that is still taken */
	int mr_room;			/* arenas that are */
	struct rdma_cm_id *listening;	/* the last that did */
	int calls, fail_at;		/* the call that is to fail; 0: none */
	/* alive */
	int pds, mrs, cqs, qps, comp_channels, event_channels, ids;
	int disconnects, rejects, accepts, unacked;
	struct rig_post sent[RIG_POSTS], received[RIG_POSTS];
	int nsent, nreceived;
	/* the completion queue: one is enough here */
	struct ibv_cq cq;
	struct ibv_comp_channel comp;
	struct ibv_wc wc[RIG_CQES];
	int nwc, arms;
	bool armed;
	uint64_t before_arm, after_arm;	/* to end at that moment */
} dev;

/* True when it is this call's turn to fail. */
static inline bool
rig_fails(void)
{
	errno = ENOMEM;
	return ++dev.calls == dev.fail_at;
}

/* -- libibverbs: the data path, through the context -- */

static struct rig_post
rig_post(uint64_t wr_id, const struct ibv_sge *sge, int n)
{
	struct rig_post p = { .wr_id = wr_id, .nsge = n };

	for (int i = 0; i < n; i++) {
		p.len += sge[i].length;
		p.lkey = sge[i].lkey;
	}
	return p;
}

static int
rig_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	for (; wr; wr = wr->next) {
		struct rig_post p = rig_post(wr->wr_id, wr->sg_list, wr->num_sge);

		if (!dev.room || dev.nsent == RIG_POSTS) {
			*bad = wr;
			return ENOMEM;
		}
		dev.room--;
		p.opcode = wr->opcode;
		p.flags = (int)wr->send_flags;
		p.rkey = wr->wr.rdma.rkey;
		p.remote = wr->wr.rdma.remote_addr;
		dev.sent[dev.nsent++] = p;
	}
	return 0;
}

static int
rig_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (; wr; wr = wr->next)
		dev.received[dev.nreceived++] = rig_post(wr->wr_id, wr->sg_list, wr->num_sge);
	return 0;
}

static int
rig_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n;

	pthread_mutex_lock(&dev.lock);
	n = MIN(max, dev.nwc);
	memcpy(wc, dev.wc, sizeof(*wc) * (size_t)n);
	dev.nwc -= n;
	memmove(dev.wc, dev.wc + n, sizeof(*wc) * (size_t)dev.nwc);
	pthread_mutex_unlock(&dev.lock);
	return n;
}

static bool rig_complete(uint64_t wr_id, enum ibv_wc_status status, uint32_t len);

static int
rig_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	uint64_t before = dev.before_arm, after = dev.after_arm;

	dev.before_arm = dev.after_arm = 0;
	if (before)
		rig_complete(before, IBV_WC_SUCCESS, 1);
	pthread_mutex_lock(&dev.lock);
	dev.armed = true;
	dev.arms++;
	pthread_mutex_unlock(&dev.lock);
	if (after)
		rig_complete(after, IBV_WC_SUCCESS, 1);
	return 0;
}

/* As a device does: any thread. False: the queue is full. */
static bool
rig_complete(uint64_t wr_id, enum ibv_wc_status status, uint32_t len)
{
	uint64_t one = 1;
	bool room;

	pthread_mutex_lock(&dev.lock);
	room = dev.nwc < RIG_CQES;
	if (room)
		dev.wc[dev.nwc++] = (struct ibv_wc){ .wr_id = wr_id, .status = status, .byte_len = len };
	if (room && dev.armed) {
		dev.armed = false;
		assert_int_equal(write(dev.comp.fd, &one, sizeof(one)), sizeof(one));
	}
	pthread_mutex_unlock(&dev.lock);
	return room;
}

/* -- libibverbs: the rest. The names are the library's; ours come first in the program. -- */

#undef ibv_reg_mr
#undef ibv_query_port

int
ibv_fork_init(void)
{
	return 0;
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return "rig";
}

int
ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	if (rig_fails())
		return ENOMEM;
	*attr = (struct ibv_device_attr){ .max_qp_wr = 1024, .max_sge = 32, .max_sge_rd = 16,
		.max_cqe = 65536, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16 };
	return 0;
}

int
ibv_query_port(struct ibv_context *verbs, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	((struct ibv_port_attr *)attr)->max_msg_sz = 1u << 23;
	return rig_fails() ? ENOMEM : 0;
}

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *verbs)
{
	struct ibv_pd *pd = rig_fails() ? NULL : calloc(1, sizeof(*pd));

	if (pd) {
		pd->context = verbs;
		dev.pds++;
	}
	return pd;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	/* A device refuses to give up what is in use. */
	assert_int_equal(dev.mrs + dev.qps, 0);
	dev.pds--;
	free(pd);
	return 0;
}

/* The key tells the arena. */
static inline uint32_t
rig_key(const void *addr)
{
	return (uint32_t)((uintptr_t)addr / BUF_ARENA);
}

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned access)
{
	struct ibv_mr *mr = dev.mr_room > 0 ? calloc(1, sizeof(*mr)) : NULL;

	errno = ENOMEM;
	if (mr) {
		mr->addr = addr;
		mr->lkey = rig_key(addr);
		dev.mr_room--;
		dev.mrs++;
	}
	return mr;
}

struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return ibv_reg_mr_iova2(pd, addr, len, 0, (unsigned)access);
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	dev.mrs--;
	free(mr);
	return 0;
}

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *verbs)
{
	if (rig_fails())
		return NULL;
	dev.comp.fd = eventfd(0, EFD_NONBLOCK);
	dev.comp_channels++;
	return &dev.comp;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	assert_int_equal(dev.cqs, 0);
	dev.comp_channels--;
	close(channel->fd);
	return 0;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *verbs, int n, void *ctx, struct ibv_comp_channel *ch, int vector)
{
	if (rig_fails())
		return NULL;
	dev.cq = (struct ibv_cq){ .context = verbs, .channel = ch, .cq_context = ctx, .cqe = n };
	dev.nwc = 0;
	dev.armed = false;
	dev.cqs++;
	return &dev.cq;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
	/* The library would wait for ever. */
	assert_int_equal(dev.unacked, 0);
	assert_int_equal(dev.qps, 0);
	dev.cqs--;
	return 0;
}

int
ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **ctx)
{
	uint64_t n;

	if (read(ch->fd, &n, sizeof(n)) < 0)
		return -1;
	dev.unacked++;
	*cq = &dev.cq;
	*ctx = dev.cq.cq_context;
	return 0;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	dev.unacked -= (int)n;
}

int
ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *e)
{
	errno = EAGAIN;
	return -1;
}

/* -- librdmacm -- */

struct rdma_event_channel *
rdma_create_event_channel(void)
{
	struct rig_channel *c = rig_fails() ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	dev.event_channels++;
	return &c->channel;
}

void
rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	dev.event_channels--;
	close(channel->fd);
	free(container_of(channel, struct rig_channel, channel));
}

static void
rig_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, struct rdma_cm_id *listener)
{
	struct rdma_event_channel *channel = listener ? listener->channel : id->channel;
	struct rig_channel *c = container_of(channel, struct rig_channel, channel);
	struct rdma_cm_event *e = calloc(1, sizeof(*e));
	uint64_t one = 1;

	e->id = id;
	e->listen_id = listener;
	e->event = type;
	e->param.conn.initiator_depth = 4;
	e->param.conn.responder_resources = 1;
	if (listener) {
		e->param.conn.private_data = "a login";
		e->param.conn.private_data_len = 8;
	}
	pthread_mutex_lock(&dev.lock);
	c->events[c->n++] = e;
	pthread_mutex_unlock(&dev.lock);
	assert_int_equal(write(channel->fd, &one, sizeof(one)), sizeof(one));
}

int
rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **e)
{
	struct rig_channel *c = container_of(channel, struct rig_channel, channel);
	uint64_t n;

	if (read(channel->fd, &n, sizeof(n)) < 0)
		return -1;
	pthread_mutex_lock(&dev.lock);
	*e = c->events[0];
	memmove(c->events, c->events + 1, sizeof(*e) * (size_t)--c->n);
	pthread_mutex_unlock(&dev.lock);
	return 0;
}

int
rdma_ack_cm_event(struct rdma_cm_event *e)
{
	free(e);
	return 0;
}

int
rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *ctx,
    enum rdma_port_space ps)
{
	if (rig_fails())
		return -1;
	*id = calloc(1, sizeof(**id));
	(*id)->channel = channel;
	(*id)->context = ctx;
	(*id)->verbs = &dev.verbs;
	(*id)->port_num = 1;
	dev.ids++;
	return 0;
}

int
rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_null(id->qp);
	dev.ids--;
	free(id);
	return 0;
}

int
rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return rig_fails() ? -1 : 0;
}

int
rdma_listen(struct rdma_cm_id *id, int backlog)
{
	dev.listening = id;
	return rig_fails() ? -1 : 0;
}

int
rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	return 0;
}

int
rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (rig_fails())
		return -1;
	id->channel = channel;
	return 0;
}

int
rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (rig_fails())
		return -1;
	errno = EINVAL;
	if ((int)attr->cap.max_send_sge > dev.sge_max)
		return -1;
	id->qp = calloc(1, sizeof(*id->qp));
	id->qp->context = &dev.verbs;
	dev.qps++;
	return 0;
}

void
rdma_destroy_qp(struct rdma_cm_id *id)
{
	dev.qps--;
	free(id->qp);
	id->qp = NULL;
}

int
rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (rig_fails())
		return -1;
	dev.accepts++;
	return 0;
}

int
rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	dev.rejects++;
	return 0;
}

int
rdma_disconnect(struct rdma_cm_id *id)
{
	dev.disconnects++;
	return 0;
}

/* -- for each test -- */

static int
rig_start(void **state)
{
	memset(&dev, 0, sizeof(dev));
	pthread_mutex_init(&dev.lock, NULL);
	dev.sge_max = 32;
	dev.room = dev.mr_room = 1 << 30;
	dev.verbs.device = &dev.device;
	dev.device.transport_type = IBV_TRANSPORT_IB;
	dev.verbs.num_comp_vectors = 2;
	dev.verbs.async_fd = eventfd(0, EFD_NONBLOCK);
	dev.verbs.ops.post_send = rig_post_send;
	dev.verbs.ops.post_recv = rig_post_recv;
	dev.verbs.ops.poll_cq = rig_poll_cq;
	dev.verbs.ops.req_notify_cq = rig_req_notify_cq;
	*state = NULL;
	return start(state);
}

static void
rig_fini(void *reactor)
{
	rdma_fabric.fini(reactor);
}

/* Nothing of what was made is left. */
static int
rig_stop(void **state)
{
	for (unsigned i = 0; i < reactor_count(); i++)
		reactor_call(reactor_get(i), rig_fini, reactor_get(i));
	assert_int_equal(dev.pds + dev.mrs + dev.cqs + dev.qps + dev.comp_channels, 0);
	assert_int_equal(dev.event_channels + dev.ids, 0);
	close(dev.verbs.async_fd);
	return stop(state);
}

#endif
