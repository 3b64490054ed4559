/* Data of writes: borrowed, gathered or refused; R2Ts (RFC 7143 11.7, 11.8). */
#include <string.h>

#include "stats.h"

#include "iscsi.h"

COUNTER(strays, "iscsi_data_out_strays", "Data-Out PDUs for commands that have ended, thrown away");

enum { SENSE_NO_MEMORY = 0x5503 };	/* insufficient resources; command_done makes it BUSY */

static void
no_memory(struct iscsi_cmd *cmd)
{
	cmd->busy = true;
	gather_fail(&cmd->gather, SENSE_NO_MEMORY);
}

/* -- places -- */

/* The piece of a vector of `cap` bytes that byte `at` is in. */
static uint8_t *
iov_place(const struct iovec *iov, uint32_t cap, uint32_t at, uint32_t *room)
{
	size_t skip = at;

	if (at >= cap)
		return NULL;
	for (; skip >= iov->iov_len; iov++)
		skip -= iov->iov_len;
	*room = (uint32_t)MIN(iov->iov_len - skip, (size_t)(cap - at));
	return (uint8_t *)iov->iov_base + skip;
}

uint8_t *
data_place(struct iscsi_cmd *cmd, uint32_t at, uint32_t *room)
{
	if (cmd->gather.sense || !cmd->gather.wanted || !cmd->scsi.niov)
		return NULL;
	return iov_place(cmd->scsi.iov, cmd->gather.len, at, room);
}

int
data_iov(struct iscsi_cmd *cmd, uint32_t at, uint32_t len, struct iovec *iov, int max)
{
	int n = 0;

	while (len && n < max) {
		uint32_t room;
		uint8_t *to = data_place(cmd, at, &room);

		if (!to)
			break;
		room = MIN(room, len);
		iov[n++] = (struct iovec){ to, room };
		at += room;
		len -= room;
	}
	return n;
}

void
data_store(struct iscsi_conn *conn, const uint8_t *p, uint32_t len)
{
	struct rx *rx = &conn->rx;

	while (len && rx->keep) {
		uint32_t room;
		uint8_t *to = data_place(rx->cmd, rx->at, &room);

		if (!to)
			return;
		room = MIN(room, len);
		memcpy(to, p, room);
		rx->at += room;
		p += room;
		len -= room;
	}
}

/* -- what to do next -- */

static uint32_t
tags_get(struct iscsi_sess *sess, uint32_t n)
{
	uint32_t first = sess->next_ttt;

	/* None of them may be the reserved one. */
	if (ISCSI_NO_TAG - first < n)
		first = 0;
	sess->next_ttt = first + n;
	return first;
}

static bool
r2t_send(struct iscsi_cmd *cmd)
{
	struct iscsi_conn *conn = cmd->conn;
	struct iscsi_sess *sess = conn->sess;
	struct pdu_out *out = out_get(conn, ISCSI_R2T);
	struct gather_r2t r2t;

	if (!out)
		return false;
	if (!cmd->gather.r2t_sn)
		cmd->first_ttt = tags_get(sess, gather_bursts(&cmd->gather, &sess->limits));
	gather_ask(&cmd->gather, &sess->limits, cmd->first_ttt, &r2t);
	memcpy(out->r2t.lun, cmd->scsi.lun, sizeof(out->r2t.lun));
	out->r2t.itt = put32(cmd->itt);
	out->r2t.ttt = put32(r2t.ttt);
	out->r2t.r2t_sn = put32(r2t.r2t_sn);
	out->r2t.offset = put32(r2t.offset);
	out->r2t.length = put32(r2t.len);
	sess->solicited += r2t.len;
	conn_queue(conn, out, STAT_SN_SHOWN);
	return true;
}

void
data_forget(struct iscsi_cmd *cmd)
{
	struct gather *g = &cmd->gather;

	list_del(&cmd->waiting);
	buf_wait_cancel(&cmd->memory);
	if (g->r2t_sn && g->next < g->asked) {
		cmd->conn->sess->solicited -= g->asked - g->next;
		g->asked = g->next;
	}
}

static void
data_step(struct iscsi_cmd *cmd)
{
	struct gather *g = &cmd->gather;
	const struct gather_limits *lim = &cmd->conn->sess->limits;
	enum gather_next next;

	while ((next = gather_next(g, lim)) == GATHER_ASK && cmd->scsi.niov) {
		if (!r2t_send(cmd)) {
			no_memory(cmd);
			gather_abandon(g, SENSE_NO_MEMORY);
		}
		data_wait(cmd);
	}
	if (next == GATHER_FAILED) {
		uint16_t sense = g->sense;

		data_forget(cmd);
		scsi_data_failed(&cmd->scsi, (uint8_t)(sense >> 8), (uint8_t)sense);
	} else if (next == GATHER_READY && cmd->scsi.niov) {
		data_forget(cmd);
		scsi_data_ready(&cmd->scsi);
	}
}

void
data_wait(struct iscsi_cmd *cmd)
{
	cmd->moved_ns = reactor_now(cmd->home->reactor);
	if (list_empty(&cmd->waiting))
		list_add_tail(&cmd->conn->sess->gathering, &cmd->waiting);
}

void
data_overdue(struct iscsi_cmd *cmd)
{
	gather_abandon(&cmd->gather, GATHER_AMOUNT);
	list_del(&cmd->waiting);
	rx_forget(cmd->conn, cmd);
	data_step(cmd);
}

/* -- the device server wants the data -- */

static void data_memory_again(struct buf_wait *);

/* Gets memory for all of it. Data that is coming unasked cannot wait for that; R2Ts can. */
static void
data_memory(struct iscsi_cmd *cmd)
{
	struct scsi_cmd *scsi = &cmd->scsi;
	struct gather *g = &cmd->gather;
	int n = buf_get(cmd->home->reactor, scsi->iov, scsi->len);

	if (n < 0) {
		if (!g->immediate && !g->unsolicited && !g->next) {
			cmd->memory.fn = data_memory_again;
			buf_wait(cmd->home->reactor, &cmd->memory);
			return;
		}
		no_memory(cmd);
		data_step(cmd);
		return;
	}
	scsi->niov = (int8_t)n;
	scsi->mem = MEM_POOL;
	data_step(cmd);
}

static void
data_memory_again(struct buf_wait *w)
{
	data_memory(container_of(w, struct iscsi_cmd, memory));
}

void
data_want(struct scsi_cmd *scsi)
{
	struct iscsi_cmd *cmd = container_of(scsi, struct iscsi_cmd, scsi);
	struct gather *g = &cmd->gather;
	struct rx *rx = &cmd->conn->rx;

	gather_want(g, scsi->len);
	/* The usual write: all of its data came with it. */
	if (rx->cmd == cmd && rx->whole && !g->unsolicited && rx->whole_len >= scsi->len) {
		g->immediate = false;
		g->next = scsi->len;
		rx->cmd = NULL;
		scsi->iov[0] = (struct iovec){ (void *)(uintptr_t)rx->whole, scsi->len };
		scsi->niov = 1;
		scsi->mem = MEM_BORROWED;
		scsi_data_ready(scsi);
		return;
	}
	/* Wanted only after scsi_submit returned: what came unasked has been thrown away since. */
	if (rx->cmd != cmd && (g->next || g->unsolicited))
		no_memory(cmd);
	if (g->sense)
		data_step(cmd);
	else
		data_memory(cmd);
}

/* -- Data-Out -- */

void
data_out_rx(struct iscsi_conn *conn, const struct iscsi_data_out *h)
{
	struct rx *rx = &conn->rx;
	struct iscsi_cmd *cmd = command_find(conn->sess, get32(h->itt));
	uint32_t ttt = get32(h->ttt);
	struct gather *g;
	enum gather_verdict verdict;

	rx->cmd = NULL;
	rx->keep = false;
	if (!cmd) {
		/* Its command was refused, aborted or finished while this was on its way. */
		counter_add(&strays, 1);
		return;
	}
	g = &cmd->gather;
	verdict = gather_data_out(g, ttt, get32(h->data_sn), get32(h->offset), get24(h->data_len),
	    h->flags & ISCSI_F);
	if (verdict == GATHER_STRAY) {
		misc_reject(conn, (const void *)h, ISCSI_REJECT_PROTOCOL);
		/* It waits for data that will not come: the initiator sent it under a wrong tag. */
		if (!list_empty(&cmd->waiting))
			data_overdue(cmd);
		return;
	}
	/* 11.7.4: without a target transfer tag the LUN field is reserved. */
	if (ttt != ISCSI_NO_TAG && memcmp(h->lun, cmd->scsi.lun, sizeof(h->lun))) {
		misc_reject(conn, (const void *)h, ISCSI_REJECT_FIELD);
		gather_fail(g, GATHER_AMOUNT);
		verdict = GATHER_SWALLOW;
	}
	rx->cmd = cmd;
	rx->at = get32(h->offset);
	rx->keep = verdict == GATHER_TAKE;
}

void
data_arrived(struct iscsi_cmd *cmd, uint32_t len, bool final, bool bad)
{
	struct gather *g = &cmd->gather;
	struct iscsi_sess *sess = cmd->conn->sess;
	uint32_t before = g->next;

	if (bad)
		gather_fail(g, GATHER_CRC);
	gather_arrived(g, &sess->limits, len, final);
	if (g->r2t_sn)
		sess->solicited -= g->next - before;
	cmd->moved_ns = reactor_now(cmd->home->reactor);
	data_step(cmd);
}

void
data_out_take(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data, bool bad)
{
	struct iscsi_cmd *cmd;

	if (held_has(conn->sess, get32(pdu->bhs->itt))) {
		if (bad || held_data_out(conn->sess, pdu, data) < 0)
			conn_drop(conn, "cannot keep the data of a command ahead of its CmdSN");
		return;
	}
	data_out_rx(conn, (const void *)pdu->bhs);
	if (bad)
		misc_reject(conn, pdu->bhs, ISCSI_REJECT_DATA_DIGEST);
	else
		data_store(conn, data, pdu->data_len);
	cmd = conn->rx.cmd;
	conn->rx.cmd = NULL;
	if (cmd)
		data_arrived(cmd, pdu->data_len, pdu->bhs->flags & ISCSI_F, bad);
}
