/* Answers: many PDUs from one receive. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "scsi.h"
#include "transport/iscsi/digest.h"
#include "util.h"

static struct slot *
slot_find(struct conn *conn, be32 tag)
{
	uint32_t itt = get32(tag), i = itt & 0xffff;

	if (i < opt.depth && conn->slots[i].live && conn->slots[i].itt == itt)
		return &conn->slots[i];
	conn->worker->tally.unknown_tag++;
	return NULL;
}

static void
stat_sn_check(struct conn *conn, be32 stat_sn)
{
	uint32_t sn = get32(stat_sn);

	if (sn != conn->exp_stat_sn)
		conn->worker->tally.stat_sn++;
	conn->exp_stat_sn = sn + 1;
}

/* TASK SET FULL, BUSY and unit attentions: the same again. False: it has really ended. */
static bool
status_retry(struct conn *conn, struct slot *slot, uint8_t status)
{
	struct tally *tally = &conn->worker->tally;
	/* Fixed or descriptor format sense, behind its two bytes of length. */
	uint8_t key = conn->misc_len < 6 ? 0 :
	    (conn->misc[2] & 0x7f) >= 0x72 ? conn->misc[3] & 15 : conn->misc[4] & 15;

	switch (status) {
	case SCSI_TASK_SET_FULL:
		tally->task_set_full++;
		break;
	case SCSI_BUSY:
		tally->busy++;
		break;
	case SCSI_CHECK_CONDITION:
		if (key != 6)
			return false;
		tally->unit_attention++;
		ring_put(&conn->ready, (uint16_t)(slot - conn->slots));
		return true;
	default:
		return false;
	}
	ring_put(&conn->again, (uint16_t)(slot - conn->slots));
	return true;
}

static void
slot_end(struct conn *conn, struct slot *slot, uint8_t status, uint8_t flags, uint32_t resid)
{
	struct worker *worker = conn->worker;

	slot->live = false;
	conn->running--;
	if (status && status_retry(conn, slot, status))
		return;
	slot_check(conn, slot, status, flags, resid);
	if (worker->phase == MEASURE) {
		worker->tally.ops++;
		worker->tally.reads += !slot->write;
		conn->ops++;
		latency_add(&worker->tally, worker->now - slot->begun);
	}
	if (slot_plan(conn, slot))
		ring_put(&conn->ready, (uint16_t)(slot - conn->slots));
}

static void
r2t_rx(struct conn *conn, const struct iscsi_r2t *h)
{
	struct slot *slot = slot_find(conn, h->itt);
	uint32_t offset = get32(h->offset), length = get32(h->length);

	if (!slot)
		return;
	if (get32(h->r2t_sn) != slot->r2t_sn++ || offset != slot->solicited)
		conn->worker->tally.data_sn++;
	if (offset > slot->edtl || length > slot->edtl - offset || !slot->write ||
	    conn->burst_tail - conn->burst_head > conn->burst_mask) {
		conn_break(conn, "an R2T beyond what was offered");
		return;
	}
	conn->bursts[conn->burst_tail++ & conn->burst_mask] = (struct burst){
		.slot = (uint16_t)(slot - conn->slots), .ttt = get32(h->ttt),
		.offset = offset, .left = length };
	slot->solicited = offset + length;
}

static void
data_in_rx(struct conn *conn, const struct iscsi_data_in *h)
{
	struct slot *slot = conn->into;

	if (h->flags & DATA_IN_S)
		stat_sn_check(conn, h->stat_sn);
	if (!slot)
		return;
	slot->got += conn->data_len;
	if (h->flags & DATA_IN_S)
		slot_end(conn, slot, h->status, h->flags, get32(h->resid));
}

static void
nop_in_rx(struct conn *conn, const struct iscsi_nop_in *h)
{
	conn->worker->tally.nop++;
	if (get32(h->itt) != ISCSI_NO_TAG)
		stat_sn_check(conn, h->stat_sn);
	if (get32(h->ttt) != ISCSI_NO_TAG)
		conn_nop(conn, h);
}

static void
scsi_rsp_rx(struct conn *conn, const struct iscsi_scsi_rsp *h)
{
	struct slot *slot = slot_find(conn, h->itt);

	stat_sn_check(conn, h->stat_sn);
	if (h->response != SCSI_RSP_COMPLETED)
		conn->worker->tally.check++;
	if (slot)
		slot_end(conn, slot, h->status, h->flags, get32(h->resid));
}

/* A whole PDU has come. */
static void
pdu_rx(struct conn *conn)
{
	uint32_t max_cmd_sn = get32(conn->head.rsp.max_cmd_sn);

	if (sn_before(conn->max_cmd_sn, max_cmd_sn))
		conn->max_cmd_sn = max_cmd_sn;
	switch (conn->head.bhs.opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_DATA_IN:
		data_in_rx(conn, &conn->head.data_in);
		break;
	case ISCSI_SCSI_RSP:
		scsi_rsp_rx(conn, &conn->head.rsp);
		break;
	case ISCSI_R2T:
		r2t_rx(conn, &conn->head.r2t);
		break;
	case ISCSI_NOP_IN:
		nop_in_rx(conn, &conn->head.nop);
		break;
	case ISCSI_ASYNC:
		stat_sn_check(conn, conn->head.rsp.stat_sn);
		conn->worker->tally.async++;
		break;
	case ISCSI_LOGOUT_RSP:
		conn->logged_out = true;
		break;
	case ISCSI_REJECT:
		stat_sn_check(conn, conn->head.reject.stat_sn);
		if (!conn->worker->tally.reject++)
			fprintf(stderr, "load: reject, reason %02x\n", conn->head.reject.reason);
		break;
	default:
		conn_break(conn, "an opcode that no target sends");
	}
}

/* The header is whole: where does its data go, and what follows it? */
static void
header_rx(struct conn *conn)
{
	const struct iscsi_data_in *h = &conn->head.data_in;
	struct tally *tally = &conn->worker->tally;
	struct slot *slot;

	if (conn->header_digest && !digest_matches(digest_add(DIGEST_INIT, conn->head.bytes,
	    ISCSI_BHS), conn->head.bytes + ISCSI_BHS)) {
		tally->digest++;
		conn_break(conn, "bad header digest");
		return;
	}
	if (h->ahs_len) {
		conn_break(conn, "an additional header from a target");
		return;
	}
	conn->data_len = conn->data_left = get24(h->data_len);
	conn->tail_need = pdu_tail(conn->data_len, conn->data_digest);
	conn->tail_len = conn->misc_len = 0;
	conn->crc = DIGEST_INIT;
	conn->into = NULL;
	conn->rx = RX_DATA;
	if ((h->opcode & ISCSI_OPCODE_MASK) != ISCSI_DATA_IN || !(slot = slot_find(conn, h->itt)))
		return;
	if (get32(h->data_sn) != slot->data_sn++)
		tally->data_sn++;
	if (get32(h->offset) != slot->got || conn->data_len > slot->edtl - slot->got)
		tally->data_sn++;
	else
		conn->into = slot;
}

static void
data_rx(struct conn *conn, const uint8_t *p, uint32_t n)
{
	uint32_t done = conn->data_len - conn->data_left;

	if (conn->data_digest)
		conn->crc = digest_add(conn->crc, p, n);
	if (!conn->into) {
		uint32_t keep = MIN(n, MISC_SIZE - conn->misc_len);

		memcpy(conn->misc + conn->misc_len, p, keep);
		conn->misc_len += keep;
	} else if (opt.verify && conn->into->got + done + n <= opt.size) {
		memcpy(conn->into->buf + conn->into->got + done, p, n);
	}
	conn->data_left -= n;
}

static void
tail_rx(struct conn *conn)
{
	uint32_t pad = pdu_pad(conn->data_len);

	if (conn->data_digest && conn->data_len && !digest_matches(digest_add(conn->crc,
	    conn->tail, pad), conn->tail + pad))
		conn->worker->tally.digest++;
}

/* Takes up to need - *have bytes into to. True: it is full. */
static bool
take(uint8_t *to, uint32_t *have, uint32_t need, const uint8_t **p, size_t *n)
{
	uint32_t k = (uint32_t)MIN(need - *have, *n);

	memcpy(to + *have, *p, k);
	*have += k;
	*p += k;
	*n -= k;
	return *have == need;
}

static void
bytes_rx(struct conn *conn, const uint8_t *p, size_t n)
{
	uint32_t head_need = ISCSI_BHS + (conn->header_digest ? ISCSI_DIGEST : 0), k;

	while (!conn->dead) {
		switch (conn->rx) {
		case RX_HEADER:
			if (!take(conn->head.bytes, &conn->head_len, head_need, &p, &n))
				return;
			conn->head_len = 0;
			header_rx(conn);
			break;
		case RX_DATA:
			k = (uint32_t)MIN(conn->data_left, n);
			data_rx(conn, p, k);
			p += k;
			n -= k;
			if (conn->data_left)
				return;
			conn->rx = RX_TAIL;
			break;
		case RX_TAIL:
			if (!take(conn->tail, &conn->tail_len, conn->tail_need, &p, &n))
				return;
			tail_rx(conn);
			conn->rx = RX_HEADER;
			pdu_rx(conn);
			break;
		}
	}
}

bool
conn_receive(struct conn *conn)
{
	struct worker *worker = conn->worker;
	ssize_t n = recv(conn->fd, worker->receive, opt.receive, MSG_DONTWAIT);

	worker->tally.receives++;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		if (!conn->logged_out)
			conn_break(conn, n ? strerror(errno) : "the target closed the connection");
		return false;
	}
	worker->now = now_ns();
	bytes_rx(conn, worker->receive, (size_t)n);
	return true;
}
