/* Input: one receive for many PDUs, headers parsed in place, payload straight to its place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "stats.h"

#include "digest.h"
#include "iscsi.h"

COUNTER(bytes_in, "iscsi_received_bytes", "bytes received from initiators");
COUNTER(receives, "iscsi_receives", "receive calls");
COUNTER(digest_errors, "iscsi_digest_errors", "PDUs with a wrong header or data digest");

/* -- what was received and cannot be used yet -- */

static void
stash_free(struct rx *rx)
{
	if (rx->stash != rx->small)
		free(rx->stash);
	rx->stash = NULL;
	rx->stash_len = 0;
}

static void
stash_keep(struct iscsi_conn *conn, const uint8_t *p, uint32_t n)
{
	struct rx *rx = &conn->rx;

	if (!n)
		return;
	rx->stash = n <= sizeof(rx->small) ? rx->small : malloc(n);
	if (!rx->stash) {
		conn_drop(conn, "out of memory");
		return;
	}
	memcpy(rx->stash, p, n);
	rx->stash_len = n;
}

void
rx_forget(struct iscsi_conn *conn, struct iscsi_cmd *cmd)
{
	if (conn->rx.cmd != cmd)
		return;
	conn->rx.cmd = NULL;
	conn->rx.keep = false;
}

void
rx_fini(struct iscsi_conn *conn)
{
	stash_free(&conn->rx);
	free(conn->rx.heap);
	conn->rx.heap = NULL;
}

/* -- the payload of a PDU -- */

static void
payload_copy(struct iscsi_conn *conn, const uint8_t *p, uint32_t n)
{
	struct rx *rx = &conn->rx;

	if (rx->heap) {
		memcpy(rx->heap + rx->at, p, n);
		rx->at += n;
		return;
	}
	data_store(conn, p, n);
}

/* A request gathered in rx->heap is whole. */
static void
payload_request(struct iscsi_conn *conn, bool bad)
{
	struct rx *rx = &conn->rx;
	uint8_t *heap = rx->heap;
	struct pdu pdu = {
		.bhs = &rx->bhs,
		.ahs = heap,
		.ahs_len = rx->ahs_len,
		.data_len = get24(rx->bhs.data_len),
	};

	rx->heap = NULL;
	if (bad)
		conn_drop(conn, "data digest error in a request");
	else if ((rx->bhs.opcode & ISCSI_OPCODE_MASK) == ISCSI_SCSI_CMD)
		command_rx(conn, &pdu, heap + rx->ahs_len, false);
	else if ((rx->bhs.opcode & ISCSI_OPCODE_MASK) == ISCSI_DATA_OUT)
		data_out_take(conn, &pdu, heap + rx->ahs_len, false);
	else
		request_rx(conn, &pdu, heap + rx->ahs_len);
	free(heap);
}

static void
payload_end(struct iscsi_conn *conn)
{
	struct rx *rx = &conn->rx;
	struct iscsi_cmd *cmd = rx->cmd;
	uint32_t pad = pdu_pad(get24(rx->bhs.data_len));
	bool bad = false;

	rx->state = RX_HEADER;
	rx->cmd = NULL;
	if (conn->data_digest) {
		bad = !digest_matches(digest_add(rx->crc, rx->tail, pad), rx->tail + pad);
		counter_add(&digest_errors, bad);
	}
	if (rx->heap) {
		payload_request(conn, bad);
		return;
	}
	if (!cmd)
		return;
	if (bad)
		misc_reject(conn, &rx->bhs, ISCSI_REJECT_DATA_DIGEST);
	data_arrived(cmd, get24(rx->bhs.data_len),
	    (rx->bhs.opcode & ISCSI_OPCODE_MASK) == ISCSI_DATA_OUT && rx->bhs.flags & ISCSI_F, bad);
}

static uint32_t
payload_take(struct iscsi_conn *conn, const uint8_t *p, size_t avail)
{
	struct rx *rx = &conn->rx;
	uint32_t n = (uint32_t)MIN(avail, rx->left);

	payload_copy(conn, p, n);
	if (conn->data_digest)
		rx->crc = digest_add(rx->crc, p, n);
	rx->left -= n;
	if (!rx->left)
		rx->state = RX_TAIL;
	return n;
}

static uint32_t
tail_take(struct iscsi_conn *conn, const uint8_t *p, size_t avail)
{
	struct rx *rx = &conn->rx;
	uint32_t n = (uint32_t)MIN(avail, (size_t)(rx->tail_need - rx->tail_have));

	memcpy(rx->tail + rx->tail_have, p, n);
	rx->tail_have += (uint8_t)n;
	if (rx->tail_have == rx->tail_need)
		payload_end(conn);
	return n;
}

/* -- PDUs -- */

bool
rx_must_stop(const struct iscsi_conn *conn)
{
	uint32_t held = conn->sess ? conn->sess->held_bytes : 0;

	/* Room for one more PDU is always left: a gap in CmdSN is only filled by reading on. */
	return conn->tx_queued > conn_tx_cap(conn) || (held > HELD_MAX / 2 && conn_tx_full(conn));
}

/* The header is here, its payload is not: says where it will go. */
static void
pdu_begin(struct iscsi_conn *conn, const struct pdu *pdu)
{
	struct rx *rx = &conn->rx;
	unsigned opcode = pdu->bhs->opcode & ISCSI_OPCODE_MASK;

	rx->state = RX_PAYLOAD;
	rx->bhs = *pdu->bhs;
	rx->left = pdu->data_len;
	rx->crc = DIGEST_INIT;
	rx->tail_need = (uint8_t)pdu_tail(pdu->data_len, conn->data_digest);
	rx->tail_have = 0;
	rx->cmd = NULL;
	rx->keep = false;
	if (conn->state == CONN_FULL && opcode == ISCSI_DATA_OUT &&
	    !held_has(conn->sess, get32(pdu->bhs->itt))) {
		data_out_rx(conn, (const void *)pdu->bhs);
		return;
	}
	if (conn->state == CONN_FULL && opcode == ISCSI_SCSI_CMD &&
	    command_turn(conn, pdu->bhs) != WINDOW_HOLD) {
		command_rx(conn, pdu, NULL, false);
		return;
	}
	rx->heap = malloc(pdu->ahs_len + pdu->data_len);
	if (!rx->heap) {
		conn_drop(conn, "out of memory");
		return;
	}
	memcpy(rx->heap, pdu->ahs, pdu->ahs_len);
	rx->ahs_len = rx->at = pdu->ahs_len;
}

/* Header and payload are here. */
static void
pdu_whole(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data)
{
	unsigned opcode = pdu->bhs->opcode & ISCSI_OPCODE_MASK;
	bool bad = false;

	if (conn->data_digest && pdu->data_len) {
		uint32_t padded = pdu->data_len + pdu_pad(pdu->data_len);

		bad = !digest_matches(digest_add(DIGEST_INIT, data, padded), data + padded);
		counter_add(&digest_errors, bad);
	}
	if (conn->state == CONN_FULL && opcode == ISCSI_SCSI_CMD) {
		command_rx(conn, pdu, pdu->data_len ? data : NULL, bad);
	} else if (conn->state == CONN_FULL && opcode == ISCSI_DATA_OUT) {
		data_out_take(conn, pdu, data, bad);
	} else if (bad) {
		conn_drop(conn, "data digest error in a request");
	} else {
		request_rx(conn, pdu, data);
	}
}

/* One PDU at p. Returns the bytes it used; 0: more must come first, or the connection ends. */
static size_t
pdu_take(struct iscsi_conn *conn, const uint8_t *p, size_t n)
{
	uint32_t max = conn->state == CONN_FULL ? ISCSI_RECV_DSL : ISCSI_LOGIN_DSL_MAX;
	struct pdu pdu;
	size_t body;

	switch (pdu_next(p, n, conn->header_digest, &pdu)) {
	case PDU_MORE:
		return 0;
	case PDU_BAD_DIGEST:
		counter_add(&digest_errors, 1);
		conn_drop(conn, "header digest error");
		return 0;
	case PDU_HEADER:
		break;
	}
	if (pdu.data_len > max) {
		conn_drop(conn, "data segment of %u bytes, above %u", pdu.data_len, max);
		return 0;
	}
	body = pdu.data_len + pdu_tail(pdu.data_len, conn->data_digest);
	if (n - pdu.head_len < body) {
		pdu_begin(conn, &pdu);
		return pdu.head_len;
	}
	pdu_whole(conn, &pdu, p + pdu.head_len);
	return pdu.head_len + body;
}

/* Uses what it can of n bytes; returns how many. */
static size_t
rx_parse(struct iscsi_conn *conn, const uint8_t *p, size_t n)
{
	struct rx *rx = &conn->rx;
	size_t at = 0;

	while (at < n) {
		size_t used = 0;

		if (conn->state >= CONN_LAST)
			return n;
		switch (rx->state) {
		case RX_HEADER:
			if (conn->state == CONN_ENTERING)
				return at;
			rx->stopped = rx_must_stop(conn);
			if (!rx->stopped)
				used = pdu_take(conn, p + at, n - at);
			if (!used)
				return conn->state >= CONN_LAST ? n : at;
			break;
		case RX_PAYLOAD:
			used = payload_take(conn, p + at, n - at);
			break;
		case RX_TAIL:
			used = tail_take(conn, p + at, n - at);
			break;
		}
		at += used;
		if (rx->state == RX_TAIL && rx->tail_have == rx->tail_need)
			payload_end(conn);
		if (rx->state == RX_HEADER && conn->sess && !list_empty(&conn->sess->held))
			held_run(conn);
	}
	return n;
}

/* -- receiving -- */

/* What came straight to its place: count it, and the digest over it. */
static void
direct_done(struct iscsi_conn *conn, const struct iovec *iov, size_t n)
{
	struct rx *rx = &conn->rx;

	rx->at += (uint32_t)n;
	rx->left -= (uint32_t)n;
	for (; conn->data_digest && n; iov++) {
		size_t len = MIN(n, iov->iov_len);

		rx->crc = digest_add(rx->crc, iov->iov_base, len);
		n -= len;
	}
	if (rx->left)
		return;
	rx->state = RX_TAIL;
	if (!rx->tail_need)
		payload_end(conn);
}

/* The place of the payload that is coming; 0: it has none of its own. */
static int
direct_iov(struct iscsi_conn *conn, struct iovec *iov)
{
	struct rx *rx = &conn->rx;

	if (rx->state != RX_PAYLOAD || rx->stash_len)
		return 0;
	if (rx->heap) {
		iov[0] = (struct iovec){ rx->heap + rx->at, rx->left };
		return 1;
	}
	return rx->keep ? data_iov(rx->cmd, rx->at, rx->left, iov, BUF_IOV_MAX) : 0;
}

/*
 * One receive: the payload that is missing to its place, what follows into the
 * shared buffer behind what was stashed. Returns the bytes in the shared buffer;
 * *full: more may be there.
 */
static size_t
rx_receive(struct iscsi_conn *conn, bool *full)
{
	struct iovec iov[BUF_IOV_MAX + 1];
	int n = direct_iov(conn, iov);
	size_t direct = 0, have = conn->rx.stash_len, ahead;
	ssize_t got;

	if (have)
		memcpy(conn->home->rx, conn->rx.stash, have);
	stash_free(&conn->rx);
	for (int i = 0; i < n; i++)
		direct += iov[i].iov_len;
	/* Much solicited data is on its way: leave it in the socket until its place is known. */
	ahead = n || (conn->sess && conn->sess->solicited > 2 * RX_AHEAD) ? RX_AHEAD : RX_BUF;
	iov[n++] = (struct iovec){ conn->home->rx + have, MIN(ahead, RX_BUF - have) };
	do {
		got = recvmsg(conn->fd, &(struct msghdr){ .msg_iov = iov, .msg_iovlen = (size_t)n },
		    MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	counter_add(&receives, 1);
	*full = got > 0 && (size_t)got == direct + iov[n - 1].iov_len;
	if (got <= 0) {
		if (!got)
			conn_drop(conn, "closed by the initiator");
		else if (errno != EAGAIN)
			conn_drop(conn, "receive: %s", strerror(errno));
		return have;
	}
	counter_add(&bytes_in, (uint64_t)got);
	conn->heard_ns = reactor_now(conn->home->reactor);
	conn->pinged_ns = 0;
	if (direct) {
		size_t placed = MIN((size_t)got, direct);

		direct_done(conn, iov, placed);
		return (size_t)got - placed;
	}
	return have + (size_t)got;
}

static void
rx_use(struct iscsi_conn *conn, size_t n)
{
	size_t used;

	/* The payload that went straight to its place may have filled a gap. */
	if (conn->rx.state == RX_HEADER && conn->sess && !list_empty(&conn->sess->held))
		held_run(conn);
	used = rx_parse(conn, conn->home->rx, n);
	if (conn->state < CONN_LAST)
		stash_keep(conn, conn->home->rx + used, (uint32_t)(n - used));
}

void
conn_readable(struct iscsi_conn *conn)
{
	size_t budget = RX_BUF;
	bool full = true;

	conn->in_turn = true;
	/* Others want their turn too; what is left makes the socket readable again. */
	while (full && budget && conn->state != CONN_DEAD && conn->state != CONN_ENTERING &&
	    !conn->rx.stopped) {
		size_t n = rx_receive(conn, &full);

		budget -= MIN(budget, MAX(n, RX_AHEAD));
		rx_use(conn, n);
	}
	conn->in_turn = false;
	conn_flush(conn);
}

static void
conn_parse(struct work *w)
{
	struct iscsi_conn *conn = container_of(w, struct iscsi_conn, parse);
	size_t n = conn->rx.stash_len;

	if (conn->state == CONN_DEAD)
		return;
	conn->in_turn = true;
	if (n)
		memcpy(conn->home->rx, conn->rx.stash, n);
	stash_free(&conn->rx);
	rx_use(conn, n);
	conn->in_turn = false;
	conn_flush(conn);
}

void
conn_parse_later(struct iscsi_conn *conn)
{
	conn->parse.fn = conn_parse;
	reactor_defer(conn->home->reactor, &conn->parse);
}
