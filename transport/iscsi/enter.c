/* The login phase of a connection: requests to the login conversation, its answers back. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(logins, "iscsi_logins", "sessions that reached full feature phase");
COUNTER(refusals, "iscsi_logins_refused", "logins refused");

/* The final answer, kept while the session is made. Owned by the connection. */
struct entering {
	struct iscsi_conn *conn;
	struct iscsi_login_rsp answer;
	struct work work;
	struct list link;		/* in the old session's waiters */
	uint32_t len;
	uint8_t text[];
};

struct list *
enter_link(struct iscsi_conn *conn)
{
	return &conn->entering->link;
}

static void
enter_work(struct work *w)
{
	struct iscsi_conn *conn = container_of(w, struct entering, work)->conn;

	if (conn->state == CONN_ENTERING)
		sess_enter(conn);
}

/* At the end of the round: a connection must not move under those who are using it. */
void
enter_later(struct list *link)
{
	struct entering *e = container_of(link, struct entering, link);

	reactor_defer(e->conn->home->reactor, &e->work);
}

void
enter_fini(struct iscsi_conn *conn)
{
	if (conn->entering) {
		list_del(&conn->entering->link);
		work_cancel(&conn->entering->work);
		free(conn->entering);
		conn->entering = NULL;
	}
	login_free(conn->login);
	conn->login = NULL;
}

static void
answer_send(struct iscsi_conn *conn, const struct iscsi_login_rsp *answer, const uint8_t *text,
    uint32_t len)
{
	struct pdu_out *out = out_get(conn, ISCSI_LOGIN_RSP);
	uint8_t *heap = len ? malloc(len) : NULL;

	if (!out || (len && !heap)) {
		if (out)
			obj_put(&conn->home->outs, out);
		free(heap);
		conn_drop(conn, "out of memory");
		return;
	}
	out->login_rsp = *answer;
	out->login_rsp.opcode = ISCSI_LOGIN_RSP;
	if (len) {
		memcpy(heap, text, len);
		out_data(out, heap, len, heap);
	}
	conn_queue(conn, out, STAT_SN_NEXT);
}

static void
refuse(struct iscsi_conn *conn, const struct iscsi_login_rsp *answer, const char *why)
{
	counter_add(&refusals, 1);
	log_peer(LOG_LEVEL_WARN, conn->host, "%s: login refused: %s: %s", conn->peer_text,
	    login_status_name((unsigned)answer->status_class << 8 | answer->status_detail), why);
	conn->told = true;
	answer_send(conn, answer, NULL, 0);
	conn_last(conn, why);
}

/* RFC 7143 6.3: only login requests before full feature phase. */
static void
refuse_other(struct iscsi_conn *conn, const struct iscsi_bhs *h)
{
	struct iscsi_login_rsp answer = { .opcode = ISCSI_LOGIN_RSP, .itt = h->itt };

	login_refuse(&answer, LOGIN_INVALID_DURING);
	refuse(conn, &answer, iscsi_opcode_name(h->opcode & ISCSI_OPCODE_MASK));
}

static void
enter_agreed(struct iscsi_conn *conn, const struct iscsi_login_rsp *answer, const uint8_t *text,
    uint32_t len)
{
	struct entering *e = malloc(sizeof(*e) + len);

	if (!e) {
		conn_drop(conn, "out of memory");
		return;
	}
	e->conn = conn;
	e->answer = *answer;
	list_init(&e->link);
	work_init(&e->work, enter_work);
	e->len = len;
	memcpy(e->text, text, len);
	conn->entering = e;
	conn->state = CONN_ENTERING;
	conn->cid = login_params(conn->login)->cid;
	half_open_del(conn);
	enter_later(&e->link);
}

void
enter_rx(struct iscsi_conn *conn, const struct pdu *pdu, const uint8_t *data)
{
	const struct iscsi_login_req *h = (const void *)pdu->bhs;
	struct iscsi_login_rsp answer = { 0 };
	uint8_t text[ISCSI_LOGIN_DSL_MAX];
	uint32_t len = 0;
	const char *why = "";

	if ((h->opcode & ISCSI_OPCODE_MASK) != ISCSI_LOGIN_REQ || pdu->ahs_len) {
		refuse_other(conn, pdu->bhs);
		return;
	}
	if (!conn->login) {
		conn->login = login_new(&conn->peer);
		/* Any start will do (11.4.4); this one lets the initiator choose it. */
		conn->stat_sn = get32(h->exp_stat_sn);
		if (!conn->login) {
			conn_drop(conn, "out of memory");
			return;
		}
	}
	conn->cmd_sn = get32(h->cmd_sn);
	switch (login_step(conn->login, h, data, pdu->data_len, &answer, text, &len, &why)) {
	case LOGIN_ANSWER:
		answer_send(conn, &answer, text, len);
		break;
	case LOGIN_ENTER:
		enter_agreed(conn, &answer, text, len);
		break;
	case LOGIN_REFUSE:
		refuse(conn, &answer, why);
		break;
	case LOGIN_DROP:
		counter_add(&refusals, 1);
		conn_drop(conn, "login: %s", why);
		break;
	}
}

void
enter_done(struct iscsi_conn *conn, enum login_status status)
{
	struct iscsi_sess *sess = conn->sess;
	struct entering *e = conn->entering;

	if (status != LOGIN_OK) {
		login_refuse(&e->answer, status);
		refuse(conn, &e->answer, login_status_name(status));
		return;
	}
	counter_add(&logins, 1);
	log_peer(LOG_LEVEL_INFO, sess->params.initiator,
	    "%s: %s logged in to %s, session %u on reactor %u", conn->peer_text, sess->params.initiator,
	    sess->target ? sess->params.target : "discovery", sess->tsih,
	    reactor_id(conn->home->reactor));
	conn->deadline_ns = 0;
	conn->state = CONN_FULL;
	e->answer.tsih = put16(sess->tsih);
	answer_send(conn, &e->answer, e->text, e->len);
	/* 6.3: digests begin after the final Login Response. */
	conn->header_digest = sess->params.header_digest;
	conn->data_digest = sess->params.data_digest;
	enter_fini(conn);
	conn_parse_later(conn);
}
