/* SCSI commands: from their PDU to the device server, and its answer back. */
#include <string.h>

#include "stats.h"

#include "iscsi.h"

COUNTER(commands, "iscsi_commands", "SCSI commands taken");
COUNTER(ignored, "iscsi_commands_ignored", "requests outside the CmdSN window, ignored");
COUNTER(no_memory, "iscsi_commands_busy", "commands answered BUSY for want of memory");

/* -- the commands of a session, by initiator task tag -- */

static struct iscsi_cmd **
task_slot(const struct iscsi_sess *sess, uint32_t itt)
{
	return &sess->tasks[itt * 0x9e3779b1u >> sess->task_shift];
}

struct iscsi_cmd *
command_find(struct iscsi_sess *sess, uint32_t itt)
{
	struct iscsi_cmd *cmd = *task_slot(sess, itt);

	/* An aborted one that a disk still has is no task any more: its tag is free. */
	while (cmd && (cmd->itt != itt || cmd->scsi.flags & CMD_ABORTED))
		cmd = cmd->hash_next;
	return cmd;
}

static void
task_add(struct iscsi_sess *sess, struct iscsi_cmd *cmd)
{
	struct iscsi_cmd **slot = task_slot(sess, cmd->itt);

	cmd->hash_next = *slot;
	*slot = cmd;
}

static void
task_del(struct iscsi_sess *sess, struct iscsi_cmd *cmd)
{
	struct iscsi_cmd **at = task_slot(sess, cmd->itt);

	while (*at != cmd)
		at = &(*at)->hash_next;
	*at = cmd->hash_next;
}

void
command_orphan_all(struct iscsi_sess *sess)
{
	for (uint32_t i = 0; i < 1u << (32 - sess->task_shift); i++) {
		for (struct iscsi_cmd *cmd = sess->tasks[i]; cmd; cmd = cmd->hash_next) {
			data_forget(cmd);
			cmd->conn = NULL;
		}
	}
}

/* -- a command comes -- */

static const uint8_t attrs[] = {
	[ISCSI_ATTR_UNTAGGED] = SCSI_SIMPLE,
	[ISCSI_ATTR_SIMPLE] = SCSI_SIMPLE,
	[ISCSI_ATTR_ORDERED] = SCSI_ORDERED,
	[ISCSI_ATTR_HEAD_OF_QUEUE] = SCSI_HEAD_OF_QUEUE,
	[ISCSI_ATTR_ACA] = SCSI_ACA,
};

/* What keeps it from being a task: a reject reason, or 0. */
static unsigned
command_fault(struct iscsi_sess *sess, const struct pdu *pdu, struct pdu_ext *ext)
{
	const struct iscsi_scsi_cmd *h = (const void *)pdu->bhs;

	/* 4.3: a discovery session carries no SCSI. */
	if (!sess->nexus || get32(h->itt) == ISCSI_NO_TAG)
		return ISCSI_REJECT_PROTOCOL;
	if (pdu->data_len && !(h->flags & SCSI_CMD_W))
		return ISCSI_REJECT_PROTOCOL;
	if ((h->flags & SCSI_CMD_ATTR) >= ARRAY_LEN(attrs))
		return ISCSI_REJECT_FIELD;
	if (pdu->ahs_len && pdu_ext(pdu, ext) < 0)
		return ISCSI_REJECT_FIELD;
	if (command_find(sess, get32(h->itt)))
		return ISCSI_REJECT_IN_PROGRESS;
	if (h->opcode & ISCSI_IMMEDIATE && sess->immediates >= IMMEDIATE_MAX)
		return ISCSI_REJECT_TOO_MANY;
	return 0;
}

static void
command_fill(struct iscsi_conn *conn, struct iscsi_cmd *cmd, const struct pdu *pdu,
    const struct pdu_ext *ext)
{
	const struct iscsi_scsi_cmd *h = (const void *)pdu->bhs;
	struct scsi_cmd *scsi = &cmd->scsi;
	uint32_t edtl = get32(h->edtl);

	cmd_init(scsi);
	scsi->nexus = conn->sess->nexus;
	scsi->tag = cmd->itt = get32(h->itt);
	memcpy(scsi->lun, h->lun, sizeof(scsi->lun));
	memcpy(scsi->cdb, h->cdb, sizeof(h->cdb));
	memcpy(scsi->cdb + sizeof(h->cdb), ext->cdb, sizeof(ext->cdb));
	scsi->cdb_len = ext->cdb_len;
	scsi->attr = attrs[h->flags & SCSI_CMD_ATTR];
	scsi->prio = 0;
	scsi->dir = h->flags & SCSI_CMD_W ? CMD_OUT : CMD_NONE;
	scsi->dir |= h->flags & SCSI_CMD_R ? CMD_IN : CMD_NONE;
	scsi->edtl_out = scsi->dir & CMD_OUT ? edtl : 0;
	scsi->edtl_in = scsi->dir == CMD_IN ? edtl : scsi->dir == CMD_BIDI ? ext->edtl_in : 0;

	cmd->conn = conn;
	cmd->home = conn->home;
	cmd->promised = MIN(scsi->edtl_in, (uint32_t)BUF_XFER_MAX);
	cmd->immediate = h->opcode & ISCSI_IMMEDIATE;
	cmd->busy = false;
	cmd->data_sn = 0;
	list_init(&cmd->waiting);
	list_init(&cmd->memory.link);
	if (scsi->dir & CMD_OUT)
		gather_init(&cmd->gather, &conn->sess->limits, edtl, pdu->data_len,
		    !(h->flags & SCSI_CMD_F));
	else
		memset(&cmd->gather, 0, sizeof(cmd->gather));
}

/*
 * The command goes to the device server as soon as its header is known; its
 * immediate data follows to where want_data decides, is borrowed from the
 * receive buffer when all of it is there, or goes nowhere when the command has
 * ended meanwhile (then rx.cmd is NULL).
 */
static void
command_start(struct iscsi_conn *conn, struct iscsi_cmd *cmd, uint32_t len, const uint8_t *whole,
    bool bad)
{
	struct rx *rx = &conn->rx;

	rx->cmd = cmd;
	rx->at = 0;
	rx->keep = len && !cmd->gather.sense;
	rx->whole = rx->keep && !bad ? whole : NULL;
	rx->whole_len = len;
	if (cmd->gather.unsolicited)
		data_wait(cmd);
	scsi_submit(&cmd->scsi);
	rx->whole = NULL;
	if (rx->state == RX_PAYLOAD)
		return;
	if (rx->cmd && len) {
		if (!bad)
			data_store(conn, whole, len);
		data_arrived(cmd, len, false, bad);
	}
	rx->cmd = NULL;
}

enum window_verdict
command_turn(const struct iscsi_conn *conn, const struct iscsi_bhs *bhs)
{
	const struct iscsi_scsi_cmd *h = (const void *)bhs;
	bool immediate = h->opcode & ISCSI_IMMEDIATE;
	enum window_verdict v = window_check(&conn->sess->window, get32(h->cmd_sn), immediate);

	if (v == WINDOW_NOW && !immediate && h->flags & SCSI_CMD_R && conn_tx_full(conn))
		return WINDOW_HOLD;
	return v;
}

void
command_rx(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *whole, bool bad)
{
	const struct iscsi_bhs *h = pdu->bhs;
	struct iscsi_sess *sess = conn->sess;
	struct pdu_ext ext = { .cdb_len = 16 };
	struct iscsi_cmd *cmd = NULL;
	bool immediate = h->opcode & ISCSI_IMMEDIATE;
	unsigned fault;

	switch (command_turn(conn, h)) {
	case WINDOW_IGNORE:
		counter_add(&ignored, 1);
		return;
	case WINDOW_HOLD:
		if (bad)
			conn_drop(conn, "data digest error ahead of CmdSN %u",
			    sess->window.exp_cmd_sn);
		else if (held_add(sess, pdu, whole) < 0)
			conn_drop(conn, "too many requests ahead of CmdSN %u",
			    sess->window.exp_cmd_sn);
		return;
	case WINDOW_NOW:
		break;
	}
	fault = command_fault(sess, pdu, &ext);
	if (!fault) {
		cmd = obj_get(&conn->home->cmds);
		fault = cmd ? 0 : ISCSI_REJECT_RESOURCES;
	}
	if (!immediate)
		window_take(&sess->window, !fault);
	if (fault) {
		misc_reject(conn, h, fault);
		return;
	}
	sess->immediates += immediate;
	counter_add(&commands, 1);
	command_fill(conn, cmd, pdu, &ext);
	conn->tx_promised += cmd->promised;
	task_add(sess, cmd);
	if (bad)
		misc_reject(conn, h, ISCSI_REJECT_DATA_DIGEST);
	command_start(conn, cmd, pdu->data_len, whole, bad);
}

/* -- and is answered -- */

static void
command_put(struct iscsi_cmd *cmd)
{
	scsi_release(&cmd->scsi);
	obj_put(&cmd->home->cmds, cmd);
}

void
command_sent(struct iscsi_cmd *cmd)
{
	command_put(cmd);
}

/* It no longer counts: in the window, in the promised output, as a task. */
static void
command_leave(struct iscsi_conn *conn, struct iscsi_cmd *cmd)
{
	struct iscsi_sess *sess = conn->sess;

	task_del(sess, cmd);
	data_forget(cmd);
	rx_forget(conn, cmd);
	conn->tx_promised -= cmd->promised;
	if (cmd->immediate)
		sess->immediates--;
	else
		window_done(&sess->window);
}

void
command_done(struct scsi_cmd *scsi)
{
	struct iscsi_cmd *cmd = container_of(scsi, struct iscsi_cmd, scsi);
	struct iscsi_conn *conn = cmd->conn;

	if (!conn) {
		command_put(cmd);
		return;
	}
	command_leave(conn, cmd);
	if (scsi->flags & CMD_SILENT) {
		command_put(cmd);
		/* It may have been what kept others from being read or begun. */
		if (conn->rx.stopped || !list_empty(&conn->sess->held))
			reactor_defer(conn->home->reactor, &conn->flush);
		return;
	}
	if (cmd->busy) {
		/* Better than the error that ended it: initiators wait and try again. */
		scsi->status = SCSI_BUSY;
		scsi->sense_len = 0;
		counter_add(&no_memory, 1);
	}
	data_in_send(cmd);
}
