/* What the security and the operational stage of a login do with a request's text. */
#include "login_stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"
#include "util.h"

enum login_status
login_because(struct login *l, enum login_status status, const char *fmt, ...)
{
	char why[sizeof(l->why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	/* Names may be UTF-8. */
	log_text(l->why, sizeof(l->why), why, (unsigned)strlen(why));
	return status;
}

bool
login_is_proved(const struct login *l)
{
	return l->conf == NULL || l->conf->auth == NULL || l->chap.state == CHAP_PROVED;
}

/* 6.2: the text goes on in the next request; nothing of it means anything yet. */
enum login_status
login_gather(struct login *l, const char *text, size_t len)
{
	char *more;

	if (len > ISCSI_TEXT_MAX - l->in_len)
		return login_because(l, LOGIN_INITIATOR_ERROR, "more than %d bytes of text",
		    ISCSI_TEXT_MAX);
	if (len == 0)
		return LOGIN_OK;
	more = realloc(l->in, l->in_len + len);
	if (more == NULL)
		return login_because(l, LOGIN_OUT_OF_RESOURCES, "no memory for the text");
	memcpy(more + l->in_len, text, len);
	l->in = more;
	l->in_len += len;
	return LOGIN_OK;
}

static enum login_status
key_refused(struct login *l)
{
	return login_because(l, LOGIN_INITIATOR_ERROR, "%s", l->keys.why);
}

/* One pass over the text for the names and the session type, whatever their place in it. */
static enum login_status
identity_take(struct login *l, enum key_place place, const char *text, size_t len)
{
	enum iscsi_session_type type = l->params.type;
	struct text_in in = { text, len, 0 };
	struct text_pair p;
	int rc;

	while ((rc = text_next(&in, &p)) > 0)
		if (key_is_identity(p.key) && keys_take(&l->keys, place, &p, &l->out) != 0)
			return key_refused(l);
	if (rc < 0)
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "text is not key=value pairs, or a key has more than %d bytes", TEXT_KEY_MAX);
	if (l->named && type != l->params.type)
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "SessionType after the first request");
	return LOGIN_OK;
}

static bool
on_portal(const struct conf_target *conf, const struct conf_portal *portal)
{
	int i;

	/* By name: after a reload the objects are others. */
	for (i = 0; i < conf->nportals; i++)
		if (strcmp(conf->portals[i]->name, portal->name) == 0)
			return true;
	return false;
}

/* Finds the target and asks whether this initiator may see it, here and now. */
static enum login_status
target_check(struct login *l)
{
	const struct iscsi_params *p = &l->params;
	const struct nexus_id id = login_identity(p, l->peer);

	l->target = l->env->find(p->target);
	l->conf = l->target != NULL ? l->env->conf(l->target) : NULL;
	if (l->conf == NULL)
		return login_because(l, LOGIN_NOT_FOUND, "no target %s", p->target);
	if (!on_portal(l->conf, l->peer->portal))
		return login_because(l, LOGIN_NOT_FOUND, "target %s is not on portal %s",
		    p->target, l->peer->portal->name);
	if (l->env->may(l->target, &id) != 0)
		return login_because(l, LOGIN_FORBIDDEN, "%s may not use target %s",
		    p->initiator, p->target);
	l->keys.conf = l->env->limits(l->conf);
	return LOGIN_OK;
}

/* 6.3.1: the first request names the initiator and, in a normal session, the target. */
static enum login_status
identity_check(struct login *l)
{
	struct iscsi_params *p = &l->params;
	enum login_status st;

	if (p->initiator[0] == '\0')
		return login_because(l, LOGIN_MISSING_PARAMETER, "no InitiatorName");
	if (p->type == ISCSI_DISCOVERY) {
		l->keys.conf = &discovery_limits;
		l->named = true;
		return LOGIN_OK;
	}
	if (p->target[0] == '\0')
		return login_because(l, LOGIN_MISSING_PARAMETER, "no TargetName");
	st = target_check(l);
	if (st == LOGIN_OK && !l->named) {
		l->named = true;
		/* 13.9: in the first answer after the target is named. */
		p->tpgt = (uint16_t)l->peer->portal->group;
		text_put_number(&l->out, "TargetPortalGroupTag", p->tpgt);
		if (l->conf->alias != NULL)
			text_put(&l->out, "TargetAlias", l->conf->alias);
	}
	return st;
}

/* 13.1: a list of which the target chooses; with a credential it has no choice. */
static enum login_status
method_take(struct login *l, const struct text_pair *p)
{
	const char *list = p->value, *item, *want = "None";
	char value[64];
	size_t len;

	if (l->method != METHOD_OPEN)
		return login_because(l, LOGIN_INITIATOR_ERROR, "AuthMethod offered twice");
	if (l->conf != NULL && l->conf->auth != NULL)
		want = "CHAP";
	while (text_item(&list, &item, &len)) {
		if (!text_is(item, len, want))
			continue;
		l->method = want[0] == 'C' ? METHOD_CHAP : METHOD_NONE;
		text_put(&l->out, "AuthMethod", want);
		return LOGIN_OK;
	}
	return login_because(l, LOGIN_AUTH_FAILED, "AuthMethod=%s, but this target wants %s",
	    log_text(value, sizeof(value), p->value, (unsigned)MIN(p->len, sizeof(value))), want);
}

static enum login_status
chap_take(struct login *l, const struct chap_keys *k)
{
	const char *why = NULL;
	enum chap_verdict v;

	/* A credential that a reload took away asks for nothing any more. */
	if (l->conf == NULL || l->conf->auth == NULL)
		return LOGIN_OK;
	v = chap_step(&l->chap, l->conf->auth, k, &l->out, &why);
	switch (v) {
	case CHAP_GOES_ON:
		if (l->chap.state == CHAP_PROVED)
			snprintf(l->params.user, sizeof(l->params.user), "%s", l->conf->auth->user);
		return LOGIN_OK;
	case CHAP_MALFORMED:
		return login_because(l, LOGIN_INITIATOR_ERROR, "%s", why);
	case CHAP_FAILED:
		return login_because(l, LOGIN_AUTH_FAILED, "%s", why);
	case CHAP_UNABLE:
		break;
	}
	return login_because(l, LOGIN_TARGET_ERROR, "%s", why);
}

static enum login_status
security_take(struct login *l, struct chap_keys *k, const struct text_pair *p)
{
	if (key_is_identity(p->key))
		return LOGIN_OK;
	if (strcmp(p->key, "AuthMethod") == 0)
		return method_take(l, p);
	if (strncmp(p->key, "CHAP_", 5) == 0) {
		if (l->method == METHOD_CHAP && chap_keys_take(k, p))
			return LOGIN_OK;
		return login_because(l, LOGIN_INITIATOR_ERROR,
		    "CHAP key twice, or CHAP not agreed on");
	}
	return keys_take(&l->keys, KEY_SECURITY, p, &l->out) == 0 ? LOGIN_OK : key_refused(l);
}

enum login_status
login_security(struct login *l, const char *text, size_t len)
{
	struct text_in in = { text, len, 0 };
	struct chap_keys k = { 0 };
	struct text_pair p;
	enum login_status st;

	st = identity_take(l, KEY_SECURITY, text, len);
	if (st == LOGIN_OK)
		st = identity_check(l);
	while (st == LOGIN_OK && text_next(&in, &p) > 0)
		st = security_take(l, &k, &p);
	if (st == LOGIN_OK && l->method == METHOD_CHAP)
		st = chap_take(l, &k);
	/* 6.3.2: with a method under way the transit is merely not granted yet. */
	if (st == LOGIN_OK && l->transit && !login_is_proved(l) && l->method != METHOD_CHAP)
		st = login_because(l, LOGIN_AUTH_FAILED,
		    "leaves the security stage without a proof of identity");
	return st;
}

enum login_status
login_operational(struct login *l, const char *text, size_t len)
{
	struct text_in in = { text, len, 0 };
	struct text_pair p;
	enum login_status st;

	st = identity_take(l, KEY_OPERATIONAL, text, len);
	if (st == LOGIN_OK)
		st = identity_check(l);
	if (st != LOGIN_OK)
		return st;
	if (!login_is_proved(l))
		return login_because(l, LOGIN_AUTH_FAILED, "begins without a proof of identity");
	if (!l->declared) {
		/* 13.12: else the initiator keeps to 8192 bytes. */
		text_put_number(&l->out, "MaxRecvDataSegmentLength", ISCSI_RECV_DSL);
		l->declared = true;
	}
	while (text_next(&in, &p) > 0)
		if (!key_is_identity(p.key) &&
		    keys_take(&l->keys, KEY_OPERATIONAL, &p, &l->out) != 0)
			return key_refused(l);
	return LOGIN_OK;
}
