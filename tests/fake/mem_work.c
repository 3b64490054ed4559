/* What the device of the fabric in memory does: moves bytes, or spoils what it was lent. */
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "mem_conn.h"

enum { SPOILT = 0xee };

struct mem_iu *
iu_new(const void *data, size_t len)
{
	struct mem_iu *iu = calloc(1, sizeof(*iu) + len);

	mem_rule(iu);
	iu->len = len;
	if (data)
		memcpy(iu->data, data, len);
	return iu;
}

uint64_t
work_sum(const struct mem_work *w)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < w->nsge; i++)
		for (uint32_t at = 0; at < w->sge[i].len; at++)
			sum = (sum ^ ((const uint8_t *)w->sge[i].addr)[at]) * 0x100000001b3u;
	return sum;
}

void
work_spoil(const struct mem_work *w)
{
	if (w->op != FABRIC_RDMA_READ)
		return;
	for (unsigned i = 0; i < w->nsge; i++)
		memset(w->sge[i].addr, SPOILT, w->sge[i].len);
}

/* Between the first `len` bytes of the local pieces and memory of the peer. */
static void
work_move(const struct mem_work *w, uint8_t *peer, uint32_t len, bool to_peer)
{
	for (unsigned i = 0; i < w->nsge && len; i++) {
		uint32_t n = MIN(w->sge[i].len, len);

		if (to_peer)
			memcpy(peer, w->sge[i].addr, n);
		else
			memcpy(w->sge[i].addr, peer, n);
		peer += n;
		len -= n;
	}
}

/* Where the peer's bytes are; NULL: it did not expose all of them. */
static uint8_t *
region_at(struct mem_end *end, const struct mem_work *w)
{
	struct mem_region *r;

	list_for_each(r, &end->regions, link)
		if (r->rkey == w->rkey && w->remote >= r->va && w->remote - r->va <= r->len &&
		    w->len <= r->len - (w->remote - r->va))
			return r->mem + (w->remote - r->va);
	return NULL;
}

void
work_inline(struct mem_work *w, uint32_t max)
{
	mem_rule(w->len <= max);
	w->copy = malloc(w->len ? w->len : 1);
	mem_rule(w->copy);
	work_move(w, w->copy, w->len, true);
	w->sge[0] = (struct fabric_sge){ w->copy, w->len };
	w->nsge = 1;
}

static void
work_send(struct mem_end *end, const struct mem_work *w)
{
	struct mem_iu *iu = iu_new(NULL, w->len);

	work_move(w, iu->data, w->len, true);
	iu->solicited = w->flags & FABRIC_SOLICITED;
	list_add_tail(&end->got, &iu->link);
	end->ngot++;
	end->count.sends++;
	end->count.solicited += iu->solicited;
}

/* RDMA of the first `len` bytes; NULL, or why it cannot be. */
static const char *
work_rdma(struct mem_end *end, const struct mem_work *w, uint32_t len)
{
	uint8_t *peer = w->len ? region_at(end, w) : NULL;

	if (w->len && !peer)
		return "remote access error";
	work_move(w, peer, len, w->op == FABRIC_RDMA_WRITE);
	if (w->op == FABRIC_RDMA_WRITE)
		end->count.writes++;
	else
		end->count.reads++;
	return NULL;
}

static void
work_end(struct fabric_conn *c, struct mem_work *w, enum fabric_status status)
{
	list_del(&w->link);
	list_add_tail(&c->ended, &w->link);
	w->status = status;
	mem_moves++;
}

void
work_flush(struct fabric_conn *c, struct mem_work *w)
{
	work_spoil(w);
	work_end(c, w, FABRIC_FLUSHED);
}

static void
work_fail(struct fabric_conn *c, struct mem_work *w, const char *why, bool late)
{
	work_end(c, w, FABRIC_FAILED);
	conn_break(c, why, late);
}

static void
work_as_told(struct fabric_conn *c, struct mem_work *w, uint32_t len)
{
	const char *why = NULL;

	if (w->op != FABRIC_SEND)
		why = work_rdma(c->end, w, len);
	else if (len == w->len)
		work_send(c->end, w);
	if (why) {
		work_spoil(w);
		work_fail(c, w, why, true);
	} else {
		work_end(c, w, FABRIC_OK);
	}
}

void
work_do(struct fabric_conn *c, struct mem_work *w)
{
	unsigned mask = 1u << MEM_FAIL | 1u << MEM_FAIL_HALF | 1u << MEM_FAIL_DONE |
	    1u << MEM_LEAVE | 1u << MEM_LEAVE_LATE;
	enum mem_where where = w->op == FABRIC_SEND ? MEM_AT_SEND :
	    w->op == FABRIC_RDMA_READ ? MEM_AT_READ : MEM_AT_WRITE;
	enum mem_fault fault;

	mem_rule(work_sum(w) == w->sum || w->may_change);
	if (!mem_point(c->end, where, mask, &fault)) {
		work_as_told(c, w, w->len);
		return;
	}
	switch (fault) {
	case MEM_FAIL:
		work_spoil(w);
		work_fail(c, w, "retries exceeded", true);
		break;
	case MEM_FAIL_HALF:
	case MEM_FAIL_DONE:
		work_as_told(c, w, fault == MEM_FAIL_DONE ? w->len : w->len / 2);
		if (w->status == FABRIC_OK) {
			w->status = FABRIC_FAILED;
			conn_break(c, "retries exceeded", false);
		}
		break;
	case MEM_LEAVE:
	case MEM_LEAVE_LATE:
		c->end->state = MEM_LEFT;
		conn_break(c, "the peer left", fault == MEM_LEAVE_LATE);
		break;
	case MEM_AGAIN:
	case MEM_NOMEM:
	case MEM_FAULTS:
		mem_broken("no such fault of work", __FILE__, __LINE__);
	}
}

static void
recv_end(struct fabric_conn *c, struct mem_recv *r, enum fabric_status status)
{
	list_del(&r->link);
	list_add_tail(&c->came, &r->link);
	r->status = status;
	mem_moves++;
}

void
recv_flush(struct fabric_conn *c, struct mem_recv *r)
{
	memset(r->sge.addr, SPOILT, r->sge.len);
	recv_end(c, r, FABRIC_FLUSHED);
}

void
recv_do(struct fabric_conn *c, struct mem_iu *iu)
{
	struct mem_recv *r = list_first(&c->recvs, struct mem_recv, link);
	unsigned mask = 1u << MEM_FAIL | 1u << MEM_LEAVE | 1u << MEM_LEAVE_LATE;
	enum mem_fault fault;

	if (mem_point(c->end, MEM_AT_RECV, mask, &fault)) {
		if (fault != MEM_FAIL) {
			c->end->state = MEM_LEFT;
			conn_break(c, "the peer left", fault == MEM_LEAVE_LATE);
			return;
		}
		iu->len = (size_t)r->sge.len + 1;
	}
	list_del(&iu->link);
	if (iu->len > r->sge.len) {
		recv_end(c, r, FABRIC_FAILED);
		conn_break(c, "local length error", false);
	} else {
		r->len = (uint32_t)iu->len;
		memcpy(r->sge.addr, iu->data, iu->len);
		recv_end(c, r, FABRIC_OK);
	}
	free(iu);
}
