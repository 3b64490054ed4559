/* Requests whose turn has not come, kept in order of CmdSN (RFC 7143 4.2.2.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iscsi.h"

/*
 * Owned by the session's list, or, a Data-Out, by its command. A skipped one
 * has no PDU any more: its CmdSN counts as received.
 */
struct held {
	struct list link;
	struct list data_outs;
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

/* Out of the session's list and count. */
static void
held_take(struct iscsi_sess *sess, struct held *held)
{
	const struct held *more;

	list_del(&held->link);
	sess->held_bytes -= held_size(held);
	list_for_each(more, &held->data_outs, link)
		sess->held_bytes -= held_size(more);
}

static void
held_free(struct held *held)
{
	while (!list_empty(&held->data_outs)) {
		struct held *more = list_first(&held->data_outs, struct held, link);

		list_del(&more->link);
		free(more);
	}
	free(held);
}

/* NULL: no memory, or too much of it is in use. */
static struct held *
held_new(struct iscsi_sess *sess, uint32_t ahs_len, uint32_t data_len)
{
	size_t len = (size_t)ahs_len + data_len;
	struct held *held;

	if (sess->held_bytes > HELD_MAX || len > HELD_MAX - sess->held_bytes)
		return NULL;
	held = malloc(sizeof(*held) + len);
	if (!held)
		return NULL;
	memset(held, 0, sizeof(*held));
	held->ahs_len = ahs_len;
	held->data_len = data_len;
	list_init(&held->link);
	list_init(&held->data_outs);
	sess->held_bytes += held_size(held);
	return held;
}

static struct held *
held_copy(struct iscsi_sess *sess, const struct pdu *pdu, const uint8_t *data)
{
	struct held *held = held_new(sess, pdu->ahs_len, pdu->data_len);

	if (!held)
		return NULL;
	held->cmd_sn = get32(pdu->bhs->cmd_sn);
	held->bhs = *pdu->bhs;
	memcpy(held->bytes, pdu->ahs, pdu->ahs_len);
	if (pdu->data_len)
		memcpy(held->bytes + pdu->ahs_len, data, pdu->data_len);
	return held;
}

/* In the list by CmdSN; one that is there already stays, and the new one is dropped. */
static int
held_insert(struct iscsi_sess *sess, struct held *held)
{
	struct list *at = &sess->held;

	if (!held)
		return -ENOMEM;
	while (at->prev != &sess->held) {
		struct held *before = list_entry(at->prev, struct held, link);

		if (before->cmd_sn == held->cmd_sn) {
			held_take(sess, held);
			held_free(held);
			return 0;
		}
		if (sn_before(before->cmd_sn, held->cmd_sn))
			break;
		at = at->prev;
	}
	list_add_tail(at, &held->link);
	return 0;
}

int
held_add(struct iscsi_sess *sess, const struct pdu *pdu, const uint8_t *data)
{
	return held_insert(sess, held_copy(sess, pdu, data));
}

int
held_skip(struct iscsi_sess *sess, uint32_t cmd_sn)
{
	struct held *held = held_new(sess, 0, 0);

	if (held) {
		held->cmd_sn = cmd_sn;
		held->skip = true;
	}
	return held_insert(sess, held);
}

/* -- unsolicited data of a command that is held -- */

static bool
is_command(const struct held *held)
{
	return !held->skip && (held->bhs.opcode & ISCSI_OPCODE_MASK) == ISCSI_SCSI_CMD;
}

static struct held *
held_find(struct iscsi_sess *sess, uint32_t itt)
{
	struct held *held;

	list_for_each(held, &sess->held, link) {
		if (is_command(held) && get32(held->bhs.itt) == itt)
			return held;
	}
	return NULL;
}

bool
held_has(struct iscsi_sess *sess, uint32_t itt)
{
	return !list_empty(&sess->held) && held_find(sess, itt);
}

int
held_data_out(struct iscsi_sess *sess, const struct pdu *pdu, const uint8_t *data)
{
	struct held *held = held_copy(sess, pdu, data);

	if (!held)
		return -ENOMEM;
	list_add_tail(&held_find(sess, get32(pdu->bhs->itt))->data_outs, &held->link);
	return 0;
}

/* -- when their turn has come -- */

static void
held_pdu(const struct held *held, struct pdu *pdu)
{
	*pdu = (struct pdu){
		.bhs = &held->bhs,
		.ahs = held->bytes,
		.ahs_len = held->ahs_len,
		.data_len = held->data_len,
	};
}

static void
held_serve(struct iscsi_conn *conn, const struct held *held)
{
	const uint8_t *data = held->bytes + held->ahs_len;
	const struct held *more;
	struct pdu pdu;

	held_pdu(held, &pdu);
	if (held->skip) {
		window_take(&conn->sess->window, false);
		return;
	}
	if (!is_command(held)) {
		request_rx(conn, &pdu, data);
		return;
	}
	command_rx(conn, &pdu, held->data_len ? data : NULL, false);
	list_for_each(more, &held->data_outs, link) {
		held_pdu(more, &pdu);
		data_out_take(conn, &pdu, more->bytes + more->ahs_len, false);
	}
}

bool
held_ready(struct iscsi_conn *conn)
{
	struct iscsi_sess *sess = conn->sess;
	const struct held *held;

	if (conn->state != CONN_FULL || !sess || list_empty(&sess->held))
		return false;
	held = list_first(&sess->held, struct held, link);
	if (sn_before(sess->window.exp_cmd_sn, held->cmd_sn))
		return false;
	return !is_command(held) || command_turn(conn, &held->bhs) != WINDOW_HOLD;
}

void
held_run(struct iscsi_conn *conn)
{
	/* A logout among them ends the session. */
	while (held_ready(conn)) {
		struct iscsi_sess *sess = conn->sess;
		struct held *held = list_first(&sess->held, struct held, link);

		held_take(sess, held);
		if (held->cmd_sn == sess->window.exp_cmd_sn)
			held_serve(conn, held);
		held_free(held);
	}
}

unsigned
held_abort(struct iscsi_sess *sess, const uint8_t *lun, uint32_t itt, uint32_t before_cmd_sn)
{
	struct held *held, *tmp;
	unsigned n = 0;

	list_for_each_safe(held, tmp, &sess->held, link) {
		if (!is_command(held))
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
	while (!list_empty(&sess->held)) {
		struct held *held = list_first(&sess->held, struct held, link);

		held_take(sess, held);
		held_free(held);
	}
}
