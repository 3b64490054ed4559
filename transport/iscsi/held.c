/* Requests that came before their turn: kept by CmdSN until the gap before them is filled (RFC 7143 4.2.2.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iscsi.h"

/* Owned by the session's list. A skipped one has no PDU: its CmdSN counts as received. */
struct held {
	struct list link;
	uint32_t cmd_sn;
	bool skip;
	struct iscsi_bhs bhs;
	uint32_t ahs_len, data_len;
	uint8_t bytes[];		/* AHS, then data */
};

static uint32_t
held_size(const struct held *held)
{
	return (uint32_t)sizeof(*held) + held->ahs_len + held->data_len;
}

static void
held_free(struct iscsi_sess *sess, struct held *held)
{
	list_del(&held->link);
	sess->held_bytes -= held_size(held);
	free(held);
}

/* In the list by CmdSN; one that is there already stays, and the new one is dropped. */
static void
held_insert(struct iscsi_sess *sess, struct held *held)
{
	struct list *at = &sess->held;

	while (at->prev != &sess->held) {
		struct held *before = list_entry(at->prev, struct held, link);

		if (before->cmd_sn == held->cmd_sn) {
			free(held);
			return;
		}
		if (sn_before(before->cmd_sn, held->cmd_sn))
			break;
		at = at->prev;
	}
	list_add_tail(at, &held->link);
	sess->held_bytes += held_size(held);
}

int
held_add(struct iscsi_sess *sess, const struct pdu *pdu, const uint8_t *data)
{
	size_t len = (size_t)pdu->ahs_len + pdu->data_len;
	struct held *held;

	if (sess->held_bytes > HELD_MAX || len > HELD_MAX - sess->held_bytes)
		return -ENOSPC;
	held = malloc(sizeof(*held) + len);
	if (!held)
		return -ENOMEM;
	held->cmd_sn = get32(pdu->bhs->cmd_sn);
	held->skip = false;
	held->bhs = *pdu->bhs;
	held->ahs_len = pdu->ahs_len;
	held->data_len = pdu->data_len;
	memcpy(held->bytes, pdu->ahs, pdu->ahs_len);
	if (pdu->data_len)
		memcpy(held->bytes + pdu->ahs_len, data, pdu->data_len);
	held_insert(sess, held);
	return 0;
}

int
held_skip(struct iscsi_sess *sess, uint32_t cmd_sn)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	held->cmd_sn = cmd_sn;
	held->skip = true;
	held_insert(sess, held);
	return 0;
}

static void
held_serve(struct iscsi_conn *conn, const struct held *held)
{
	const uint8_t *data = held->bytes + held->ahs_len;
	struct pdu pdu = {
		.bhs = &held->bhs,
		.ahs = held->bytes,
		.ahs_len = held->ahs_len,
		.data_len = held->data_len,
	};

	if (held->skip)
		window_take(&conn->sess->window, false);
	else if ((held->bhs.opcode & ISCSI_OPCODE_MASK) == ISCSI_SCSI_CMD)
		command_rx(conn, &pdu, held->data_len ? data : NULL, false);
	else
		request_rx(conn, &pdu, data);
}

void
held_run(struct iscsi_conn *conn)
{
	/* A logout among them ends the session. */
	while (conn->state == CONN_FULL && conn->sess && !list_empty(&conn->sess->held)) {
		struct iscsi_sess *sess = conn->sess;
		struct held *held = list_first(&sess->held, struct held, link);

		if (sn_before(sess->window.exp_cmd_sn, held->cmd_sn))
			return;
		list_del(&held->link);
		sess->held_bytes -= held_size(held);
		if (held->cmd_sn == sess->window.exp_cmd_sn)
			held_serve(conn, held);
		free(held);
	}
}

unsigned
held_abort(struct iscsi_sess *sess, const uint8_t *lun, uint32_t itt, uint32_t before_cmd_sn)
{
	struct held *held, *tmp;
	unsigned n = 0;

	list_for_each_safe(held, tmp, &sess->held, link) {
		if (held->skip || (held->bhs.opcode & ISCSI_OPCODE_MASK) != ISCSI_SCSI_CMD)
			continue;
		if (lun && memcmp(lun, held->bhs.lun, sizeof(held->bhs.lun)))
			continue;
		if (itt != ISCSI_NO_TAG && get32(held->bhs.itt) != itt)
			continue;
		if (!sn_before(held->cmd_sn, before_cmd_sn))
			continue;
		held->skip = true;
		n++;
	}
	return n;
}

void
held_fini(struct iscsi_sess *sess)
{
	while (!list_empty(&sess->held))
		held_free(sess, list_first(&sess->held, struct held, link));
}
