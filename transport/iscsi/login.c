/* The login phase: takes one request, moves along the table, gives one answer. */
#include "login_stage.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* The longest answer: NotUnderstood to TEXT_PAIRS_MAX keys, and what the target says of itself. */
enum { OUT_SIZE = TEXT_PAIRS_MAX * (TEXT_KEY_MAX + 16) + 8192 };

struct login *
login_new_in(const struct login_env *env, const struct login_peer *peer)
{
	struct login *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->env = env;
	l->peer = peer;
	params_default(&l->params);
	l->keys.params = &l->params;
	chap_init(&l->chap);
	return l;
}

void
login_free(struct login *l)
{
	if (l == NULL)
		return;
	chap_fini(&l->chap);
	free(l->in);
	free(l->out.buf);
	free(l);
}

const struct iscsi_params *
login_params(const struct login *l)
{
	return &l->params;
}

struct target *
login_target(const struct login *l)
{
	return l->target;
}

void
login_refuse(struct iscsi_login_rsp *a, enum login_status status)
{
	a->flags &= ISCSI_LOGIN_CSG;
	a->data_len = put24(0);
	a->status_class = (uint8_t)(status >> 8);
	a->status_detail = (uint8_t)status;
}

static void
answer_begin(struct iscsi_login_rsp *a, const struct iscsi_login_req *req)
{
	memset(a, 0, sizeof(*a));
	a->opcode = ISCSI_LOGIN_RSP;
	a->flags = req->flags & ISCSI_LOGIN_CSG;
	memcpy(a->isid, req->isid, sizeof(a->isid));
	a->tsih = req->tsih;
	a->itt = req->itt;
}

/* 11.12: one version exists, and what names the connection stays the same. */
static enum login_status
header_check(struct login *l, const struct iscsi_login_req *req)
{
	struct iscsi_params *p = &l->params;

	if (req->version_min > 0)
		return login_because(l, LOGIN_VERSION, "version %u at least", req->version_min);
	if (l->rounds++ == 0) {
		memcpy(p->isid, req->isid, sizeof(p->isid));
		p->tsih = get16(req->tsih);
		p->cid = get16(req->cid);
		l->out.buf = malloc(OUT_SIZE);
		l->out.size = OUT_SIZE;
		if (l->out.buf == NULL)
			return login_because(l, LOGIN_OUT_OF_RESOURCES, "no memory for an answer");
		return LOGIN_OK;
	}
	if (l->rounds > LOGIN_ROUNDS_MAX)
		return login_because(l, LOGIN_INITIATOR_ERROR, "more than %d requests",
		    LOGIN_ROUNDS_MAX);
	if (memcmp(p->isid, req->isid, sizeof(p->isid)) != 0 || p->tsih != get16(req->tsih) ||
	    p->cid != get16(req->cid))
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "ISID, TSIH or CID changes during the login");
	return LOGIN_OK;
}

/* A text ends in the stage where it began; the rest of an answer is fetched with nothing. */
static enum login_status
order_check(struct login *l, const struct iscsi_login_req *req, uint32_t len)
{
	uint8_t csg = req->flags & ISCSI_LOGIN_CSG;

	if (l->out.len > 0 && (len > 0 || req->flags & ISCSI_LOGIN_C))
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "text before the end of the answer was fetched");
	if (l->in_len > 0 && csg != l->in_csg)
		return login_because(l, LOGIN_INITIATOR_ERROR, "the stage changes within a text");
	l->in_csg = csg;
	return LOGIN_OK;
}

/* The request's text, with the parts that came before it. */
static enum login_status
text_take(struct login *l, const struct login_edge *e, const uint8_t *data, uint32_t len)
{
	const char *text = (const char *)data;
	enum login_status st;

	if (e->action == login_gather || l->in_len == 0)
		return e->action(l, text, len);
	st = login_gather(l, text, len);
	if (st == LOGIN_OK)
		st = e->action(l, l->in, l->in_len);
	free(l->in);
	l->in = NULL;
	l->in_len = 0;
	return st;
}

static enum login_status
request_take(struct login *l, const struct iscsi_login_req *req, const uint8_t *data, uint32_t len,
    const struct login_edge **edge)
{
	enum login_status st = header_check(l, req);

	if (st == LOGIN_OK)
		st = order_check(l, req, len);
	if (st != LOGIN_OK)
		return st;
	*edge = login_edge(l->state, login_event(req->flags));
	if (*edge == NULL)
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "flags 0x%02x (T %d, C %d, CSG %d, NSG %d) in state %s", req->flags,
		    !!(req->flags & ISCSI_LOGIN_T), !!(req->flags & ISCSI_LOGIN_C),
		    req->flags >> ISCSI_LOGIN_CSG_SHIFT & 3, req->flags & ISCSI_LOGIN_NSG,
		    login_state_name(l->state));
	l->transit = (req->flags & ISCSI_LOGIN_T) != 0;
	st = text_take(l, *edge, data, len);
	if (st == LOGIN_OK && l->out.full)
		st = login_because(l, LOGIN_OUT_OF_RESOURCES, "the answer has no room");
	return st;
}

/* As much of the answer as fits a PDU; C says that more waits (6.2). */
static uint32_t
answer_text(struct login *l, struct iscsi_login_rsp *a, uint8_t *text)
{
	size_t n = MIN(l->out.len - l->out_at, (size_t)ISCSI_LOGIN_DSL_MAX);

	memcpy(text, l->out.buf + l->out_at, n);
	a->data_len = put24((uint32_t)n);
	l->out_at += n;
	if (l->out_at < l->out.len)
		a->flags |= ISCSI_LOGIN_C;
	else
		l->out.len = l->out_at = 0;
	return (uint32_t)n;
}

enum login_verdict
login_step(struct login *l, const struct iscsi_login_req *req, const uint8_t *data, uint32_t len,
    struct iscsi_login_rsp *answer, uint8_t *text, uint32_t *text_len, const char **why)
{
	const struct login_edge *edge = NULL;
	enum login_status st;

	*text_len = 0;
	*why = l->why;
	if (l->state == LOGIN_FULL || l->state == LOGIN_ENDED) {
		login_because(l, LOGIN_INVALID_DURING, "login request after the login");
		return LOGIN_DROP;
	}
	answer_begin(answer, req);
	st = request_take(l, req, data, len, &edge);
	if (st == LOGIN_OK && l->transit && edge->to == LOGIN_FULL && keys_finish(&l->keys) != 0)
		st = login_because(l, LOGIN_INITIATOR_ERROR, "%s", l->keys.why);
	if (st != LOGIN_OK) {
		l->state = LOGIN_ENDED;
		login_refuse(answer, st);
		return LOGIN_REFUSE;
	}
	*why = NULL;
	*text_len = answer_text(l, answer, text);
	l->state = edge->stay;
	/* 11.13: T is granted when asked for, proved, and all is said. */
	if (edge->to == edge->stay || answer->flags & ISCSI_LOGIN_C || !login_is_proved(l))
		return LOGIN_ANSWER;
	l->state = edge->to;
	answer->flags |= ISCSI_LOGIN_T | (req->flags & ISCSI_LOGIN_NSG);
	if (l->state != LOGIN_FULL)
		return LOGIN_ANSWER;
	if (l->params.type == ISCSI_DISCOVERY)
		l->params.target[0] = '\0';	/* 13.4: means nothing there */
	return LOGIN_ENTER;
}
