/* Text requests in full feature phase: parts in, SendTargets and declarations, parts out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "util.h"

#include "discovery.h"
#include "keys.h"
#include "login_env.h"
#include "text.h"

enum {
	OUT_FIRST = 32 * 1024,		/* grows while the list of targets does not fit */
	OUT_MAX = 4 * 1024 * 1024,
};

/*
 * Belongs to one session and lives on its thread. Between two requests of an
 * exchange ttt names it; the memory is given back at its end.
 */
struct exchange {
	const struct login_env *env;
	bool open;
	uint32_t ttt, itt;
	char *in;			/* parts of a request that goes on */
	size_t in_len;
	struct text_out out;
	size_t out_at;			/* sent up to here */
	uint64_t seen;			/* keys of this exchange */
};

struct exchange *
exchange_new_in(const struct login_env *env)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (x != NULL)
		x->env = env;
	return x;
}

static void
exchange_reset(struct exchange *x)
{
	free(x->in);
	free(x->out.buf);
	x->in = NULL;
	x->in_len = 0;
	x->out = (struct text_out){ 0 };
	x->out_at = 0;
	x->seen = 0;
	x->open = false;
}

void
exchange_free(struct exchange *x)
{
	if (x == NULL)
		return;
	exchange_reset(x);
	free(x);
}

static int
in_add(struct exchange *x, const uint8_t *data, uint32_t len)
{
	char *more;

	if (len > ISCSI_TEXT_MAX - x->in_len)
		return -ENOMEM;
	if (len == 0)
		return 0;
	more = realloc(x->in, x->in_len + len);
	if (more == NULL)
		return -ENOMEM;
	memcpy(more + x->in_len, data, len);
	x->in = more;
	x->in_len += len;
	return 0;
}

/* Appendix C: All in discovery sessions only; a session to a target may ask for that target. */
static void
send_targets(struct exchange *x, const struct iscsi_params *params, const struct login_peer *peer,
    const struct text_pair *p)
{
	bool normal = params->type == ISCSI_NORMAL;
	char name[ISCSI_NAME_MAX + 1];

	if (strcmp(p->value, "All") == 0 && !normal) {
		discovery_put(x->env, params, peer, NULL, &x->out);
		return;
	}
	if (p->len == 0 && normal) {
		discovery_put(x->env, params, peer, params->target, &x->out);
		return;
	}
	if (p->len == 0 || p->len > ISCSI_NAME_MAX || strcmp(p->value, "All") == 0) {
		text_put(&x->out, p->key, "Reject");
		return;
	}
	memcpy(name, p->value, p->len + 1);
	if (conf_iscsi_name(name) != 0 || (normal && strcmp(name, params->target) != 0))
		text_put(&x->out, p->key, "Reject");
	else
		discovery_put(x->env, params, peer, name, &x->out);
}

/* Writes the whole answer to the text; x->out.full when it had no room. */
static int
text_answer(struct exchange *x, struct iscsi_params *params, const struct login_peer *peer,
    const char *text, size_t len)
{
	struct keys keys = { .params = params, .conf = &discovery_limits, .seen = x->seen };
	struct text_in in = { text, len, 0 };
	struct text_pair p;
	bool targets = false;
	int rc;

	while ((rc = text_next(&in, &p)) > 0) {
		if (strcmp(p.key, "SendTargets") == 0) {
			if (targets)
				return -EPROTO;
			targets = true;
			send_targets(x, params, peer, &p);
		} else if (keys_take(&keys, KEY_FULL, &p, &x->out) != 0) {
			/* 6.4: a failed negotiation changes nothing. */
			text_put(&x->out, p.key, "Reject");
		}
	}
	if (rc == 0 && !x->out.full)
		x->seen = keys.seen;
	return rc;
}

/* The answer in memory that is large enough; declarations take effect when all of it is there. */
static int
request_answer(struct exchange *x, struct iscsi_params *params, const struct login_peer *peer,
    const char *text, size_t len)
{
	struct iscsi_params after;
	int rc;

	for (x->out.size = OUT_FIRST; x->out.size <= OUT_MAX; x->out.size *= 2) {
		after = *params;
		free(x->out.buf);
		x->out.buf = malloc(x->out.size);
		if (x->out.buf == NULL)
			return -ENOMEM;
		x->out.len = x->out_at = 0;
		x->out.full = false;
		rc = text_answer(x, &after, peer, text, len);
		if (rc != 0)
			return rc;
		if (!x->out.full) {
			*params = after;
			return 0;
		}
	}
	return -ENOMEM;
}

/* Checks the request against the exchange under way, or begins one. */
static int
exchange_begin(struct exchange *x, const struct iscsi_text_req *req, uint32_t len)
{
	uint32_t ttt = get32(req->ttt);

	/* 11.10.2: a text that goes on is not the last request. */
	if (req->flags & ISCSI_TEXT_C && req->flags & ISCSI_TEXT_F)
		return -EPROTO;
	if (ttt == ISCSI_NO_TAG) {
		/* 11.10.4: a new exchange, which ends one that was under way. */
		exchange_reset(x);
		if (++x->ttt == ISCSI_NO_TAG)
			x->ttt = 1;
		x->itt = get32(req->itt);
		return 0;
	}
	if (!x->open || ttt != x->ttt || get32(req->itt) != x->itt)
		return -EPROTO;
	/* While an answer is under way, requests only fetch it. */
	if (x->out_at < x->out.len && (len > 0 || req->flags & ISCSI_TEXT_C))
		return -EPROTO;
	return 0;
}

static int
request_take(struct exchange *x, struct iscsi_params *params, const struct login_peer *peer,
    const struct iscsi_text_req *req, const uint8_t *data, uint32_t len)
{
	int rc = exchange_begin(x, req, len);

	if (rc != 0 || x->out_at < x->out.len)
		return rc;
	rc = in_add(x, data, len);
	if (rc != 0 || req->flags & ISCSI_TEXT_C)
		return rc;
	rc = request_answer(x, params, peer, x->in, x->in_len);
	free(x->in);
	x->in = NULL;
	x->in_len = 0;
	return rc;
}

int
exchange_step(struct exchange *x, struct iscsi_params *params, const struct login_peer *peer,
    const struct iscsi_text_req *req, const uint8_t *data, uint32_t len,
    struct iscsi_text_rsp *answer, uint8_t *text, uint32_t size, uint32_t *text_len)
{
	size_t n;
	int rc = request_take(x, params, peer, req, data, len);

	*text_len = 0;
	if (rc != 0) {
		exchange_reset(x);
		return rc;
	}
	n = MIN(x->out.len - x->out_at, (size_t)MIN(size, params->max_xmit_dsl));
	if (n > 0)
		memcpy(text, x->out.buf + x->out_at, n);
	x->out_at += n;
	memset(answer, 0, sizeof(*answer));
	answer->opcode = ISCSI_TEXT_RSP;
	answer->itt = req->itt;
	answer->data_len = put24((uint32_t)n);
	*text_len = (uint32_t)n;
	x->open = x->out_at < x->out.len || !(req->flags & ISCSI_TEXT_F);
	answer->ttt = put32(x->open ? x->ttt : ISCSI_NO_TAG);
	if (x->out_at < x->out.len)
		answer->flags = ISCSI_TEXT_C;
	else if (!x->open)
		answer->flags = ISCSI_TEXT_F;
	if (!x->open)
		exchange_reset(x);
	return 0;
}
