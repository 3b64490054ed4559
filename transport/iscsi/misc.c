/* NOP, Text, Logout and Reject (RFC 7143 11.10, 11.11, 11.14, 11.15, 11.17 to 11.19). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(rejects, "iscsi_rejects", "PDUs refused with a Reject");
COUNTER(pings, "iscsi_pings", "NOP-In pings sent to silent initiators");
COUNTER(logouts, "iscsi_logouts", "logouts");

/* A copy of what was sent by the peer, to go out with a PDU. */
static bool
out_copy(struct pdu_out *out, const void *data, uint32_t len)
{
	void *heap;

	if (!len)
		return true;
	heap = malloc(len);
	if (!heap)
		return false;
	memcpy(heap, data, len);
	out_data(out, heap, len, heap);
	return true;
}

static struct pdu_out *
out_with(struct iscsi_conn *conn, enum iscsi_opcode opcode, const void *data, uint32_t len)
{
	struct pdu_out *out = out_get(conn, opcode);

	if (out && out_copy(out, data, len))
		return out;
	if (out)
		obj_put(&conn->home->outs, out);
	conn_drop(conn, "out of memory");
	return NULL;
}

void
misc_reject(struct iscsi_conn *conn, const struct iscsi_bhs *h, enum iscsi_reject_reason reason)
{
	struct pdu_out *out = out_with(conn, ISCSI_REJECT, h, sizeof(*h));

	if (!out)
		return;
	counter_add(&rejects, 1);
	log_peer(LOG_LEVEL_INFO, conn->host, "%s: %s rejected: %s", conn->peer_text,
	    iscsi_opcode_name(h->opcode & ISCSI_OPCODE_MASK), iscsi_reject_name(reason));
	out->reject.reason = (uint8_t)reason;
	out->reject.itt = put32(ISCSI_NO_TAG);
	conn_queue(conn, out, STAT_SN_NEXT);
}

void
misc_nop_out(struct iscsi_conn *conn, const struct iscsi_nop_out *h, const uint8_t *data,
    uint32_t len)
{
	struct pdu_out *out;

	if (get32(h->itt) == ISCSI_NO_TAG)
		return;
	/* 11.19.2: as much of the ping data as the initiator takes. */
	out = out_with(conn, ISCSI_NOP_IN, data, MIN(len, conn->sess->max_xmit_dsl));
	if (!out)
		return;
	out->nop_in.itt = h->itt;
	out->nop_in.ttt = put32(ISCSI_NO_TAG);
	conn_queue(conn, out, STAT_SN_NEXT);
}

void
misc_ping(struct iscsi_conn *conn)
{
	struct iscsi_sess *sess = conn->sess;
	struct pdu_out *out = out_with(conn, ISCSI_NOP_IN, NULL, 0);

	if (!out)
		return;
	counter_add(&pings, 1);
	if (++sess->ping == ISCSI_NO_TAG)
		sess->ping = 0;
	out->nop_in.itt = put32(ISCSI_NO_TAG);
	out->nop_in.ttt = put32(sess->ping);
	conn_queue(conn, out, STAT_SN_SHOWN);
}

void
misc_text(struct iscsi_conn *conn, const struct iscsi_text_req *h, const uint8_t *data,
    uint32_t len)
{
	struct iscsi_sess *sess = conn->sess;
	uint32_t size = MIN(sess->max_xmit_dsl, (uint32_t)ISCSI_TEXT_MAX), n = 0;
	/* A copy: other reactors compare the session's own with those of new logins. */
	struct iscsi_params params = sess->params;
	struct iscsi_text_rsp answer = { 0 };
	uint8_t *text = malloc(size);
	struct pdu_out *out;
	int rc = -ENOMEM;

	if (!sess->exchange)
		sess->exchange = exchange_new();
	if (text && sess->exchange)
		rc = exchange_step(sess->exchange, &params, &conn->peer, h, data, len, &answer,
		    text, size, &n);
	if (rc < 0) {
		free(text);
		misc_reject(conn, (const void *)h,
		    rc == -ENOMEM ? ISCSI_REJECT_RESOURCES : ISCSI_REJECT_PROTOCOL);
		return;
	}
	sess->max_xmit_dsl = sess->params.max_xmit_dsl = params.max_xmit_dsl;
	out = out_with(conn, ISCSI_TEXT_RSP, NULL, 0);
	if (!out) {
		free(text);
		return;
	}
	out->text_rsp = answer;
	out->text_rsp.opcode = ISCSI_TEXT_RSP;
	out_data(out, text, n, text);
	conn_queue(conn, out, STAT_SN_NEXT);
}

static uint8_t
logout_response(const struct iscsi_conn *conn, const struct iscsi_logout_req *h)
{
	switch (h->flags & ISCSI_LOGOUT_REASON) {
	case ISCSI_LOGOUT_SESSION:
		return ISCSI_LOGOUT_OK;
	case ISCSI_LOGOUT_CONNECTION:
		return get16(h->cid) == conn->cid ? ISCSI_LOGOUT_OK : ISCSI_LOGOUT_NO_CID;
	case ISCSI_LOGOUT_RECOVERY:
		return ISCSI_LOGOUT_NO_RECOVERY;
	}
	return ISCSI_LOGOUT_FAILED;
}

void
misc_logout(struct iscsi_conn *conn, const struct iscsi_logout_req *h)
{
	uint8_t response = logout_response(conn, h);
	struct pdu_out *out = out_with(conn, ISCSI_LOGOUT_RSP, NULL, 0);
	struct iscsi_sess *sess = conn->sess;

	if (!out)
		return;
	out->logout_rsp.response = response;
	out->logout_rsp.itt = h->itt;
	conn_queue(conn, out, STAT_SN_NEXT);
	if (response != ISCSI_LOGOUT_OK)
		return;
	counter_add(&logouts, 1);
	log_peer(LOG_LEVEL_INFO, sess->params.initiator, "%s: %s logged out of %s", conn->peer_text,
	    sess->params.initiator, sess->target ? sess->params.target : "discovery");
	conn->told = true;
	conn_last(conn, "logout");
	/* 11.14: nothing that is still running is answered any more. */
	sess_end(sess);
}
