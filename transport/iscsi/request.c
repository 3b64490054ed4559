/* Requests other than commands and their data: in turn by CmdSN, to where they are served. */
#include "stats.h"

#include "iscsi.h"

COUNTER(unknown, "iscsi_unknown_opcodes", "PDUs with an opcode no initiator sends");
COUNTER(ignored, "iscsi_requests_ignored",
    "requests other than commands outside the CmdSN window, ignored");

static void
request_serve(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data)
{
	const void *h = pdu->bhs;

	switch (pdu->bhs->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_NOP_OUT:
		misc_nop_out(conn, h, data, pdu->data_len);
		break;
	case ISCSI_TMF_REQ:
		tmf_rx(conn, h);
		break;
	case ISCSI_TEXT_REQ:
		misc_text(conn, h, data, pdu->data_len);
		break;
	case ISCSI_LOGOUT_REQ:
		misc_logout(conn, h);
		break;
	}
}

/* The ones that carry a CmdSN. */
static void
request_turn(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data)
{
	struct iscsi_sess *sess = conn->sess;
	bool immediate = pdu->bhs->opcode & ISCSI_IMMEDIATE;

	switch (window_check(&sess->window, get32(pdu->bhs->cmd_sn), immediate)) {
	case WINDOW_IGNORE:
		counter_add(&ignored, 1);
		return;
	case WINDOW_HOLD:
		if (held_add(sess, pdu, data) < 0)
			conn_drop(conn, "too many requests ahead of CmdSN %u",
			    sess->window.exp_cmd_sn);
		return;
	case WINDOW_NOW:
		if (!immediate)
			window_take(&sess->window, false);
		request_serve(conn, pdu, data);
		return;
	}
}

void
request_rx(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data)
{
	unsigned opcode = pdu->bhs->opcode & ISCSI_OPCODE_MASK;

	if (conn->state == CONN_LOGIN) {
		enter_rx(conn, pdu, data);
		return;
	}
	switch (opcode) {
	case ISCSI_NOP_OUT:
		/* 11.18.1: an answer to our ping; that something came is all we wanted to know. */
		if (get32(pdu->bhs->itt) == ISCSI_NO_TAG && pdu->bhs->opcode & ISCSI_IMMEDIATE)
			break;
		request_turn(conn, pdu, data);
		break;
	case ISCSI_TMF_REQ:
	case ISCSI_TEXT_REQ:
	case ISCSI_LOGOUT_REQ:
		request_turn(conn, pdu, data);
		break;
	case ISCSI_LOGIN_REQ:
		misc_reject(conn, pdu->bhs, ISCSI_REJECT_PROTOCOL);
		break;
	case ISCSI_SNACK:
		/* 11.16: nothing can be asked for again at ErrorRecoveryLevel 0. */
		misc_reject(conn, pdu->bhs, ISCSI_REJECT_SNACK);
		break;
	default:
		counter_add(&unknown, 1);
		misc_reject(conn, pdu->bhs, ISCSI_REJECT_UNSUPPORTED);
		break;
	}
}
