/* Output: PDUs in line, stamped in order, and one send for all of a round. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "stats.h"

#include "digest.h"
#include "iscsi.h"

COUNTER(bytes_out, "iscsi_sent_bytes", "bytes sent to initiators");
COUNTER(sends, "iscsi_sends", "send calls");

enum {
	TX_IOV = 1024,			/* IOV_MAX of Linux */
	TX_PDU_IOV = BUF_IOV_MAX + 2,	/* the most one PDU takes */
};

static __thread struct iovec tx_iov[TX_IOV];

void
out_init(struct pdu_out *out, enum iscsi_opcode opcode)
{
	memset(&out->bhs, 0, sizeof(out->bhs));
	out->bhs.opcode = (uint8_t)opcode;
	out->bhs.flags = ISCSI_F;
	out->cmd = NULL;
	out->iov = NULL;
	out->skip = 0;
	out->data_len = 0;
	out->heap = NULL;
}

struct pdu_out *
out_get(struct iscsi_conn *conn, enum iscsi_opcode opcode)
{
	struct pdu_out *out = obj_get(&conn->home->outs);

	if (!out)
		return NULL;
	out_init(out, opcode);
	return out;
}

void
out_data(struct pdu_out *out, const void *data, uint32_t len, void *heap)
{
	out->own.iov_base = (void *)(uintptr_t)data;
	out->own.iov_len = len;
	out->iov = &out->own;
	out->data_len = len;
	out->heap = heap;
}

static void
out_put(struct iscsi_conn *conn, struct pdu_out *out)
{
	if (out->cmd) {
		command_sent(out->cmd);
		return;
	}
	free(out->heap);
	obj_put(&conn->home->outs, out);
}

/* What it counts for in tx_queued: small PDUs cost more memory than bytes on the wire. */
static uint32_t
out_cost(const struct pdu_out *out)
{
	return out->wire_len + (out->cmd ? 0 : (uint32_t)sizeof(*out));
}

/* The slices of its data; returns how many. */
static int
out_slices(const struct pdu_out *out, struct iovec *iov)
{
	const struct iovec *from = out->iov;
	size_t skip = out->skip;
	uint32_t left = out->data_len;
	int n = 0;

	while (left) {
		size_t len = from->iov_len;

		if (skip >= len) {
			skip -= len;
			from++;
			continue;
		}
		len = MIN(len - skip, left);
		iov[n].iov_base = (char *)from->iov_base + skip;
		iov[n++].iov_len = len;
		left -= (uint32_t)len;
		skip = 0;
		from++;
	}
	return n;
}

static void
out_digest(struct pdu_out *out, uint32_t pad)
{
	struct iovec iov[BUF_IOV_MAX];
	uint32_t crc = DIGEST_INIT;
	int n = out_slices(out, iov);

	for (int i = 0; i < n; i++)
		crc = digest_add(crc, iov[i].iov_base, iov[i].iov_len);
	crc = digest_add(crc, out->tail, pad);
	digest_end(crc, out->tail + pad);
}

static void
out_stamp(struct iscsi_conn *conn, struct pdu_out *out, enum stat_sn how)
{
	const struct iscsi_sess *sess = conn->sess;
	struct iscsi_nop_in *sn = &out->nop_in;	/* the three fields are at the same place in all */

	switch (how) {
	case STAT_SN_NEXT:
		sn->stat_sn = put32(conn->stat_sn++);
		break;
	case STAT_SN_SHOWN:
		sn->stat_sn = put32(conn->stat_sn);
		break;
	case STAT_SN_NONE:
		break;
	}
	sn->exp_cmd_sn = put32(sess ? sess->window.exp_cmd_sn : conn->cmd_sn);
	sn->max_cmd_sn = put32(sess ? sess->window.max_cmd_sn : conn->cmd_sn);
}

void
conn_queue(struct iscsi_conn *conn, struct pdu_out *out, enum stat_sn how)
{
	uint32_t pad = pdu_pad(out->data_len);

	out_stamp(conn, out, how);
	out->bhs.data_len = put24(out->data_len);
	out->head_len = ISCSI_BHS;
	if (conn->header_digest) {
		digest_end(digest_add(DIGEST_INIT, out->head, ISCSI_BHS), out->head + ISCSI_BHS);
		out->head_len += ISCSI_DIGEST;
	}
	out->tail_len = (uint8_t)pdu_tail(out->data_len, conn->data_digest);
	if (out->tail_len) {
		memset(out->tail, 0, sizeof(out->tail));
		if (conn->data_digest)
			out_digest(out, pad);
	}
	out->wire_len = out->head_len + out->data_len + out->tail_len;
	out->next = NULL;
	*conn->out_last = out;
	conn->out_last = &out->next;
	conn->tx_queued += out_cost(out);
	if (!conn->in_turn)
		reactor_defer(conn->home->reactor, &conn->flush);
}

static struct pdu_out *
out_pop(struct iscsi_conn *conn)
{
	struct pdu_out *out = conn->out;

	conn->out = out->next;
	if (!conn->out)
		conn->out_last = &conn->out;
	conn->tx_queued -= out_cost(out);
	return out;
}

/* Fills the vector from the front of the line; *total: bytes in it. */
static int
tx_fill(const struct iscsi_conn *conn, struct iovec *iov, size_t *total)
{
	int n = 0;

	*total = 0;
	for (const struct pdu_out *out = conn->out; out; out = out->next) {
		if (n > TX_IOV - TX_PDU_IOV)
			break;
		iov[n].iov_base = (void *)(uintptr_t)out->head;
		iov[n++].iov_len = out->head_len;
		if (out->data_len)
			n += out_slices(out, &iov[n]);
		if (out->tail_len) {
			iov[n].iov_base = (void *)(uintptr_t)out->tail;
			iov[n++].iov_len = out->tail_len;
		}
		*total += out->wire_len;
	}
	return n;
}

/* Takes bytes that left before off the front. Returns how many entries are used up. */
static int
tx_trim(struct iovec *iov, size_t sent)
{
	int i = 0;

	while (sent && sent >= iov[i].iov_len)
		sent -= iov[i++].iov_len;
	if (sent) {
		iov[i].iov_base = (char *)iov[i].iov_base + sent;
		iov[i].iov_len -= sent;
	}
	return i;
}

static void
tx_sent(struct iscsi_conn *conn, size_t n)
{
	conn->moved_ns = reactor_now(conn->home->reactor);
	counter_add(&bytes_out, n);
	n += conn->out_sent;
	while (conn->out && n >= conn->out->wire_len) {
		n -= conn->out->wire_len;
		out_put(conn, out_pop(conn));
	}
	conn->out_sent = (uint32_t)n;
}

/* One send of all that fits one vector. False: the socket is full, or this is the end. */
static bool
tx_send(struct iscsi_conn *conn)
{
	size_t total;
	int n = tx_fill(conn, tx_iov, &total);
	int at = conn->out_sent ? tx_trim(tx_iov, conn->out_sent) : 0;
	struct msghdr msg = { .msg_iov = tx_iov + at, .msg_iovlen = (size_t)(n - at) };
	ssize_t sent = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

	counter_add(&sends, 1);
	if (sent < 0) {
		if (errno == EINTR)
			return true;
		if (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM)
			conn_drop(conn, "send: %s", strerror(errno));
		return false;
	}
	total -= conn->out_sent;
	tx_sent(conn, (size_t)sent);
	return (size_t)sent == total;
}

void
conn_flush(struct iscsi_conn *conn)
{
	bool open = true;

	if (conn->state == CONN_DEAD)
		return;
	while (conn->out && open)
		open = tx_send(conn);
	if (conn->state == CONN_DEAD)
		return;
	if (!open && !conn->blocked)
		conn->moved_ns = reactor_now(conn->home->reactor);
	conn->blocked = !open;
	if (!conn->out && conn->state == CONN_LAST) {
		conn->state = CONN_LINGER;
		conn->deadline_ns = reactor_now(conn->home->reactor) + LINGER_NS;
		shutdown(conn->fd, SHUT_WR);
	}
	if (conn->rx.stopped ? !rx_must_stop(conn) : held_ready(conn)) {
		conn->rx.stopped = false;
		conn_parse_later(conn);
	}
	conn_want(conn);
}

uint32_t
conn_tx_cap(const struct iscsi_conn *conn)
{
	return MIN(conn->home->tx_cap, (uint32_t)(conn->blocked ? TX_CAP_BLOCKED : TX_CAP));
}

bool
conn_tx_full(const struct iscsi_conn *conn)
{
	uint32_t cap = conn_tx_cap(conn);

	return conn->tx_queued > cap || conn->tx_promised > cap - conn->tx_queued;
}

void
conn_unqueue(struct iscsi_conn *conn)
{
	while (conn->out)
		out_put(conn, out_pop(conn));
	conn->out_sent = 0;
}
