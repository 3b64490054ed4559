/* Work on an RDMA connection: handed to the device in chains, told when it has ended. */
#include <errno.h>
#include <stdlib.h>

#include "stats.h"

#include "fabric_rdma.h"

COUNTER(completions, "rdma_completions", "completions taken from RDMA devices");

/* -- what is out -- */

int
hca_queue_init(struct hca_queue *q, struct fabric_conn *conn, uint32_t n)
{
	q->size = 1;
	while (q->size < n)
		q->size *= 2;
	q->head = q->tail = 0;
	q->wr = calloc(q->size, sizeof(q->wr[0]));
	if (!q->wr)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->size; i++)
		q->wr[i].conn = conn;
	return 0;
}

void
hca_queue_fini(struct hca_queue *q)
{
	free(q->wr);
	q->wr = NULL;
}

static struct hca_wr *
queue_at(const struct hca_queue *q, uint32_t i)
{
	return &q->wr[i & (q->size - 1)];
}

static uint64_t
queue_push(struct hca_queue *q, struct fabric_cqe *cqe)
{
	struct hca_wr *wr = queue_at(q, q->head);

	assert(q->head - q->tail < q->size);
	wr->cqe = cqe;
	q->head++;
	return (uintptr_t)wr;
}

/* This has ended, and with it, in silence, what was posted before it. */
static void
queue_pass(struct hca_queue *q, const struct hca_wr *wr)
{
	while (queue_at(q, q->tail) != wr)
		q->tail++;
	q->tail++;
	assert((int32_t)(q->head - q->tail) >= 0);
}

void
hca_queue_flush(struct hca_queue *q)
{
	while (q->tail != q->head) {
		const struct fabric_wc wc = { queue_at(q, q->tail)->cqe, FABRIC_FLUSHED, 0, NULL };

		q->tail++;
		wc.cqe->done(&wc);
	}
}

void
hca_ended(const struct ibv_wc *wc)
{
	const struct hca_wr *wr = (const struct hca_wr *)(uintptr_t)wc->wr_id;
	struct fabric_conn *conn = wr->conn;
	bool recv = (size_t)(wr - conn->rq.wr) < conn->rq.size;
	struct fabric_wc told = { wr->cqe, FABRIC_OK, wc->byte_len, NULL };

	counter_add(&completions, 1);
	queue_pass(recv ? &conn->rq : &conn->sq, wr);
	if (likely(wc->status == IBV_WC_SUCCESS)) {
		told.cqe->done(&told);
		return;
	}
	told.len = 0;
	told.status = FABRIC_FLUSHED;
	if (wc->status != IBV_WC_WR_FLUSH_ERR) {
		told.status = FABRIC_FAILED;
		told.why = ibv_wc_status_str(wc->status);
	}
	told.cqe->done(&told);
	hca_conn_lost(conn, told.why ? told.why : "the connection ended");
}

/* -- posting -- */

static const enum ibv_wr_opcode opcodes[] = {
	[FABRIC_SEND] = IBV_WR_SEND,
	[FABRIC_RDMA_READ] = IBV_WR_RDMA_READ,
	[FABRIC_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
};

static bool
sge_fill(const struct hca *h, const struct fabric_sge *from, bool copied, struct ibv_sge *to)
{
	to->addr = (uintptr_t)from->addr;
	to->length = from->len;
	to->lkey = 0;
	/* What the processor copies into the request needs no key. */
	return copied || likely(hca_mem_key(&h->mem, from->addr, from->len, &to->lkey));
}

static bool
send_fill(struct fabric_conn *conn, const struct fabric_wr *from, struct ibv_send_wr *to,
    struct ibv_sge *sge)
{
	to->next = NULL;
	to->opcode = opcodes[from->op];
	to->send_flags = (from->flags & FABRIC_SIGNALED ? IBV_SEND_SIGNALED : 0) |
	    (from->flags & FABRIC_SOLICITED ? IBV_SEND_SOLICITED : 0) |
	    (from->flags & FABRIC_INLINE ? IBV_SEND_INLINE : 0);
	to->sg_list = sge;
	to->num_sge = from->nsge;
	to->wr.rdma.remote_addr = from->remote;
	to->wr.rdma.rkey = from->rkey;
	for (unsigned i = 0; i < from->nsge; i++)
		if (!sge_fill(conn->hca, &from->sge[i], from->flags & FABRIC_INLINE, &sge[i]))
			return false;
	to->wr_id = queue_push(&conn->sq, from->cqe);
	return true;
}

/* As much of the chain as one call takes. *next: where it goes on, or what was not posted. */
static int
send_some(struct fabric_conn *conn, struct fabric_wr *wr, struct fabric_wr **next)
{
	struct hca *h = conn->hca;
	struct ibv_send_wr *bad = h->wr;
	struct fabric_wr *first = wr;
	uint32_t n = 0, nsge = 0, posted;
	int rc = 0, fill = 0;

	for (; wr && n < HCA_WR && nsge + wr->nsge <= HCA_SGE; wr = wr->next) {
		if (!send_fill(conn, wr, &h->wr[n], &h->sge[nsge])) {
			fill = -EFAULT;
			break;
		}
		if (n)
			h->wr[n - 1].next = &h->wr[n];
		nsge += wr->nsge;
		n++;
	}
	*next = wr;
	if (n)
		rc = ibv_post_send(conn->id->qp, h->wr, &bad);
	if (!rc)
		return fill;
	posted = (uint32_t)(bad - h->wr);
	conn->sq.head -= n - posted;
	for (*next = first; posted--;)
		*next = (*next)->next;
	return -rc;
}

int
hca_post_send(struct fabric_conn *conn, struct fabric_wr *wr, struct fabric_wr **bad)
{
	int rc = conn->closing ? -ENOTCONN : 0;

	while (!rc && wr)
		rc = send_some(conn, wr, &wr);
	if (rc)
		*bad = wr;
	return rc;
}

int
hca_post_recv(struct fabric_conn *conn, struct fabric_recv *r)
{
	struct hca *h = conn->hca;
	int rc = conn->closing ? -ENOTCONN : 0;

	while (!rc && r) {
		struct ibv_recv_wr *bad = h->recv;
		uint32_t n = 0;

		for (; r && n < HCA_WR; r = r->next) {
			if (!sge_fill(h, &r->sge, false, &h->sge[n])) {
				rc = -EFAULT;
				break;
			}
			h->recv[n] = (struct ibv_recv_wr){
				.wr_id = queue_push(&conn->rq, r->cqe),
				.sg_list = &h->sge[n],
				.num_sge = 1,
			};
			if (n)
				h->recv[n - 1].next = &h->recv[n];
			n++;
		}
		if (n && ibv_post_recv(conn->id->qp, h->recv, &bad)) {
			conn->rq.head -= n - (uint32_t)(bad - h->recv);
			rc = -ENOTCONN;
		}
	}
	return rc;
}
