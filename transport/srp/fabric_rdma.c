/* RDMA connections: opened on their reactor, accepted, and ended so that nothing is written any more. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_rdma.h"

enum { RNR_FOR_EVER = 7 };

/* -- what it hears -- */

void
hca_conn_lost(struct fabric_conn *conn, const char *why)
{
	if (conn->lost || conn->closing)
		return;
	conn->lost = true;
	conn->events->lost(conn->ctx, why);
}

void
hca_conn_event(struct fabric_conn *conn, enum rdma_cm_event_type type)
{
	if (conn->closing)
		return;
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		conn->events->established(conn->ctx);
		return;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
		hca_conn_lost(conn, "the peer disconnected");
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		hca_conn_lost(conn, "the device was removed");
		return;
	default:
		hca_conn_lost(conn, rdma_event_str(type));
	}
}

/* -- the end -- */

static void
conn_free(struct fabric_conn *conn)
{
	list_del(&conn->link);
	if (conn->cq)
		hca_cq_put(conn->cq, conn->ncqe);
	hca_queue_fini(&conn->sq);
	hca_queue_fini(&conn->rq);
	if (conn->hca)
		hca_put(conn->hca);
	/* With the last id librdmacm may close the device. */
	if (conn->accepted)
		rdma_destroy_id(conn->id);
	else
		conn->id->context = NULL;
	free(conn);
}

/*
 * A queue pair that is destroyed is the strongest of drains: the device answers
 * nobody for it, so the peer reaches nothing here, whether or not it, or the
 * device, still says a word. What had ended before is in the completion queue.
 */
static void
conn_drain(struct work *w)
{
	struct fabric_conn *conn = container_of(w, struct fabric_conn, drain);

	hca_cq_drain(conn->cq);
	rdma_destroy_qp(conn->id);
	/* Not every device takes away what came last of a queue pair that is gone. */
	hca_cq_drain(conn->cq);
	hca_queue_flush(&conn->rq);
	hca_queue_flush(&conn->sq);
	conn->events->drained(conn->ctx);
}

static void
rdma_conn_disconnect(struct fabric_conn *conn)
{
	if (conn->closing)
		return;
	conn->closing = true;
	/* Fails when the peer was first, which is as well. */
	if (conn->accepted)
		rdma_disconnect(conn->id);
	reactor_defer(conn->hca->reactor, &conn->drain);
}

static bool
rdma_conn_reaches(struct fabric_conn *conn, const void *addr, size_t len)
{
	uint32_t lkey;

	return hca_mem_key(&conn->hca->mem, addr, len, &lkey);
}

/* -- the beginning -- */

/* Devices say how many elements fit only by refusing. */
static int
conn_qp(struct fabric_conn *conn, struct fabric_limits *l)
{
	uint32_t sge = l->max_sge, in_line = l->inline_max;

	for (;;) {
		struct ibv_qp_init_attr attr = {
			.send_cq = conn->cq->cq,
			.recv_cq = conn->cq->cq,
			.cap = { l->send_wr, l->recv_wr, sge, 1, in_line },
			.qp_type = IBV_QPT_RC,
		};

		if (!rdma_create_qp(conn->id, conn->hca->pd, &attr))
			break;
		if (errno == ENOMEM)
			return -errno;
		if (in_line) {
			in_line = 0;
		} else if (sge > 1) {
			sge /= 2;
			in_line = l->inline_max;
		} else {
			return -errno;
		}
	}
	l->max_sge = sge;
	l->max_read_sge = MIN(l->max_read_sge, sge);
	l->inline_max = in_line;
	return 0;
}

static int
conn_queues(struct fabric_conn *conn, struct fabric_limits *l)
{
	struct fabric_limits device;
	int rc;

	hca_limits(conn->id, &device);
	if (!device.send_wr)
		return -ENODEV;
	l->send_wr = MIN(l->send_wr, device.send_wr);
	l->recv_wr = MIN(l->recv_wr, device.recv_wr);
	l->inline_max = MIN(l->inline_max, device.inline_max);
	l->max_sge = device.max_sge;
	l->max_read_sge = device.max_read_sge;
	l->max_msg = device.max_msg;
	rc = hca_queue_init(&conn->sq, conn, l->send_wr);
	if (!rc)
		rc = hca_queue_init(&conn->rq, conn, l->recv_wr);
	/* What fails tells, also of work that would have ended in silence. */
	if (!rc)
		rc = hca_cq_get(conn->hca, l->send_wr + l->recv_wr, &conn->cq);
	if (rc)
		return rc;
	conn->ncqe = l->send_wr + l->recv_wr;
	return conn_qp(conn, l);
}

static int
rdma_conn_open(struct fabric_request *fr, struct fabric_setup *setup, struct fabric_conn **out)
{
	struct hca_request *req = container_of(fr, struct hca_request, req);
	struct fabric_conn *conn = calloc(1, sizeof(*conn));
	struct hca_home *home;
	int rc;

	if (!conn)
		return -ENOMEM;
	conn->id = req->id;
	conn->events = setup->events;
	conn->ctx = setup->ctx;
	conn->poll_ns = req->poll_ns;
	list_init(&conn->link);
	work_init(&conn->drain, conn_drain);
	rc = hca_home(setup->reactor, &home);
	if (!rc)
		rc = hca_get(home, conn->id->verbs, &conn->hca);
	if (rc)
		goto free;
	list_add_tail(&conn->hca->conns, &conn->link);
	conn->hca->poll_ns = MAX(conn->hca->poll_ns, conn->poll_ns);
	rc = conn_queues(conn, &setup->limits);
	if (rc)
		goto free;
	conn->id->context = conn;
	rc = hca_request_move(req, home->channel);
	if (rc)
		goto destroy;
	*out = conn;
	return 0;
destroy:
	rdma_destroy_qp(conn->id);
free:
	conn_free(conn);
	return rc;
}

static int
rdma_conn_accept(struct fabric_conn *conn, struct fabric_request *fr, const void *data, size_t len)
{
	struct hca_request *req = container_of(fr, struct hca_request, req);
	const struct ibv_device_attr *attr = &conn->hca->attr;
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = (uint8_t)len,
		.responder_resources = (uint8_t)MIN(req->responder_resources, attr->max_qp_rd_atom),
		.initiator_depth = (uint8_t)MIN(req->initiator_depth, attr->max_qp_init_rd_atom),
		.flow_control = 1,
		.rnr_retry_count = RNR_FOR_EVER,
	};

	if (rdma_accept(conn->id, &param))
		return -errno;
	conn->accepted = true;
	hca_request_free(req);
	return 0;
}

const struct fabric rdma_fabric = {
	.name = "rdma",
	.listen = hca_listen,
	.unlisten = hca_unlisten,
	.reject = hca_reject,
	.open = rdma_conn_open,
	.accept = rdma_conn_accept,
	.post_recv = hca_post_recv,
	.post_send = hca_post_send,
	.disconnect = rdma_conn_disconnect,
	.close = conn_free,
	.reaches = rdma_conn_reaches,
	.fini = hca_fini,
};
REGISTER(fabrics, struct fabric, &rdma_fabric);
