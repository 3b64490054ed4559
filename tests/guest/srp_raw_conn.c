/* The raw initiator's connection: queue pair, memory, and what comes. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netdb.h>
#include <time.h>

#include "srp_raw.h"

enum { CM_MS = 10000, IN_SLOT = SRP_TI_IU_MAX };

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint8_t *
out_slot(struct raw *r, unsigned i)
{
	return r->units + (size_t)i * RAW_IU;
}

static uint8_t *
in_slot(struct raw *r, unsigned i)
{
	return r->units + (size_t)RAW_SENDS * RAW_IU + (size_t)i * IN_SLOT;
}

/* -- connection management -- */

static void
cm_take(struct raw *r, const struct rdma_cm_event *e)
{
	if (e->param.conn.private_data && e->param.conn.private_data_len &&
	    (e->event == RDMA_CM_EVENT_REJECTED || e->event == RDMA_CM_EVENT_ESTABLISHED)) {
		r->answer_len = e->param.conn.private_data_len;
		if (r->answer_len > sizeof(r->answer))
			r->answer_len = sizeof(r->answer);
		memcpy(r->answer, e->param.conn.private_data, r->answer_len);
	}
	if (e->event == RDMA_CM_EVENT_ESTABLISHED)
		r->state = RAW_UP;
	else if (e->event == RDMA_CM_EVENT_REJECTED)
		r->state = RAW_REFUSED;
	else if (e->event == RDMA_CM_EVENT_DISCONNECTED ||
	    e->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
	    e->event == RDMA_CM_EVENT_UNREACHABLE || e->event == RDMA_CM_EVENT_CONNECT_ERROR)
		r->state = RAW_DOWN;
}

/* The next event within ms; -1: none. */
static int
cm_event(struct raw *r, int ms)
{
	struct pollfd pfd = { .fd = r->events->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	int type;

	if (poll(&pfd, 1, ms) <= 0 || rdma_get_cm_event(r->events, &e))
		return -1;
	type = (int)e->event;
	cm_take(r, e);
	rdma_ack_cm_event(e);
	return type;
}

static bool
resolve(struct raw *r)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *ai;
	int rc;

	if (getaddrinfo(raw_target.address, raw_target.port, &hints, &ai))
		return false;
	rc = rdma_resolve_addr(r->id, NULL, ai->ai_addr, 5000);
	freeaddrinfo(ai);
	if (rc || cm_event(r, CM_MS) != RDMA_CM_EVENT_ADDR_RESOLVED)
		return false;
	return !rdma_resolve_route(r->id, 5000) &&
	    cm_event(r, CM_MS) == RDMA_CM_EVENT_ROUTE_RESOLVED;
}

/* -- memory and queues -- */

static struct ibv_mr *
expose(struct raw *r, uint8_t **p, size_t len, int access)
{
	*p = aligned_alloc(4096, len);
	if (!*p)
		return NULL;
	memset(*p, 0, len);
	return ibv_reg_mr(r->pd, *p, len, access);
}

static bool
recv_post(struct raw *r, unsigned i)
{
	struct ibv_sge sge = { (uintptr_t)in_slot(r, i), IN_SLOT, r->mr_units->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(r->id->qp, &wr, &bad);
}

static bool
queues_make(struct raw *r)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = RAW_SENDS, .max_recv_wr = RAW_RECVS, .max_send_sge = 1,
		    .max_recv_sge = 1 },
	};

	r->pd = ibv_alloc_pd(r->id->verbs);
	if (!r->pd)
		return false;
	r->cq = ibv_create_cq(r->id->verbs, RAW_SENDS + RAW_RECVS, NULL, NULL, 0);
	r->mr_data = expose(r, &r->data, RAW_DATA, access);
	r->mr_table = expose(r, &r->table, RAW_TABLE, access);
	r->mr_units = expose(r, &r->units, (size_t)RAW_SENDS * RAW_IU + (size_t)RAW_RECVS * IN_SLOT,
	    IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = attr.recv_cq = r->cq;
	if (!r->cq || !r->mr_data || !r->mr_table || !r->mr_units ||
	    rdma_create_qp(r->id, r->pd, &attr))
		return false;
	for (unsigned i = 0; i < RAW_RECVS; i++)
		if (!recv_post(r, i))
			return false;
	return true;
}

bool
raw_connect(struct raw *r, const void *data, size_t len)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = (uint8_t)len,
		.responder_resources = 4, .initiator_depth = 4,
		.retry_count = 7, .rnr_retry_count = 7,
	};

	memset(r, 0, sizeof(*r));
	r->tag = 1;
	r->events = rdma_create_event_channel();
	if (!r->events || rdma_create_id(r->events, &r->id, NULL, RDMA_PS_TCP))
		return false;
	if (!resolve(r) || !queues_make(r) || rdma_connect(r->id, &param))
		return false;
	cm_event(r, 3 * CM_MS);
	return true;
}

void
raw_close(struct raw *r)
{
	if (r->id && r->state == RAW_UP)
		rdma_disconnect(r->id);
	if (r->id && r->id->qp)
		rdma_destroy_qp(r->id);
	for (struct ibv_mr **mr = &r->mr_data; mr <= &r->mr_units; mr++)
		if (*mr)
			ibv_dereg_mr(*mr);
	if (r->cq)
		ibv_destroy_cq(r->cq);
	if (r->pd)
		ibv_dealloc_pd(r->pd);
	if (r->id)
		rdma_destroy_id(r->id);
	if (r->events)
		rdma_destroy_event_channel(r->events);
	free(r->data);
	free(r->table);
	free(r->units);
	memset(r, 0, sizeof(*r));
}

/* -- work -- */

/* Takes what has ended; returns whether anything had. */
static bool
cq_take(struct raw *r)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(r->cq, 1, &wc) <= 0)
		return false;
	if (wc.wr_id >= RAW_RECVS) {
		r->sends_out--;
		return true;
	}
	if (wc.status == IBV_WC_SUCCESS) {
		r->came[r->came_head % RAW_RECVS].slot = (uint32_t)wc.wr_id;
		r->came[r->came_head++ % RAW_RECVS].len = wc.byte_len;
	}
	return true;
}

bool
raw_send(struct raw *r, const void *iu, uint32_t len)
{
	unsigned slot = r->next_send++ % RAW_SENDS;
	struct ibv_sge sge = { (uintptr_t)out_slot(r, slot), len, r->mr_units->lkey };
	struct ibv_send_wr wr = { .wr_id = RAW_RECVS, .sg_list = &sge, .num_sge = len ? 1 : 0,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SOLICITED }, *bad;

	while (r->sends_out == RAW_SENDS && r->state == RAW_UP)
		if (!cq_take(r) && cm_event(r, 1) < 0)
			continue;
	if (r->state != RAW_UP || len > RAW_IU)
		return false;
	if (len)
		memcpy(out_slot(r, slot), iu, len);
	if (ibv_post_send(r->id->qp, &wr, &bad))
		return false;
	r->sends_out++;
	return true;
}

int
raw_recv(struct raw *r, void *iu, size_t size, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	uint32_t slot, len;

	while (r->came_head == r->came_tail) {
		if (cq_take(r))
			continue;
		if (r->state != RAW_UP || now_ms() >= end)
			return -1;
		cm_event(r, 1);
	}
	slot = r->came[r->came_tail % RAW_RECVS].slot;
	len = r->came[r->came_tail++ % RAW_RECVS].len;
	if (len > size)
		len = (uint32_t)size;
	memcpy(iu, in_slot(r, slot), len);
	if (r->state == RAW_UP)
		recv_post(r, slot);
	return (int)len;
}

bool
raw_is_down(struct raw *r, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;

	while (r->state == RAW_UP && now_ms() < end)
		if (cm_event(r, 10) == RDMA_CM_EVENT_DISCONNECTED)
			rdma_disconnect(r->id);
	return r->state != RAW_UP;
}
