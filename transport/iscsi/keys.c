/* What each iSCSI key may be, who wins, and where the outcome goes. */
#include "keys.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "log.h"
#include "util.h"

enum key_kind {
	KEY_AND,			/* Yes only if both say so */
	KEY_OR,				/* Yes if one says so */
	KEY_MIN, KEY_MAX,		/* the smaller, the larger number */
	KEY_DIGEST,			/* first of the initiator's list that we allow */
	KEY_REPORTING,			/* a list of which we know one */
	KEY_NUMBER,			/* declared: no answer */
	KEY_TEXT,			/* declared */
	KEY_NAME,			/* declared; an iSCSI name */
	KEY_SESSION,			/* declared: Normal or Discovery */
	KEY_NO, KEY_REJECT,		/* always the same answer */
	KEY_TARGETS,			/* only the target may say it */
};

enum {
	KEY_IDENTITY = 1 << 0,		/* may be repeated with the same value */
	KEY_NORMAL = 1 << 1,		/* irrelevant in a discovery session */
	KEY_CLAMPED = 1 << 2,		/* FirstBurstLength: our limit is also MaxBurstLength's */
};

/* A field of the outcome or of the limits; of size 0, `at` is the limit itself. */
struct key_field {
	uint16_t at, size;
};
#define FIELD(type, f) { offsetof(struct type, f), sizeof(((struct type *)0)->f) }
#define P(f) FIELD(iscsi_params, f)
#define C(f) FIELD(iscsi_target_conf, f)
#define OURS(n) { (n), 0 }
#define NO { 0, 0 }

struct key {
	const char *name;
	uint8_t kind, places, flags;
	uint32_t min, max;		/* of a number */
	struct key_field out, limit;
};

enum {
	S = KEY_SECURITY,
	O = KEY_OPERATIONAL,
	F = KEY_FULL,
	ID = KEY_IDENTITY,
	N = KEY_NORMAL,
	N_CLAMPED = KEY_NORMAL | KEY_CLAMPED,
	MAX24 = (1 << 24) - 1,
};

/* clang-format off */
static const struct key keys[] = {
	/* name	kind  places  flags  min max  outcome  limit */
	/* 13.4 to 13.9, 13.21 */
	{ "InitiatorName", KEY_NAME, S|O, ID, 0, 0, P(initiator), NO },
	{ "TargetName", KEY_NAME, S|O, ID, 0, 0, P(target), NO },
	{ "SessionType", KEY_SESSION, S|O, ID, 0, 0, P(type), NO },
	{ "InitiatorAlias", KEY_TEXT, S|O|F, ID, 0, 0, P(initiator_alias), NO },
	{ "TargetAlias", KEY_TARGETS, S|O|F, 0, 0, 0, NO, NO },
	{ "TargetAddress", KEY_TARGETS, S|O|F, 0, 0, 0, NO, NO },
	{ "TargetPortalGroupTag", KEY_TARGETS, S|O, 0, 0, 0, NO, NO },
	/* 13.1, 13.2, 13.10 to 13.20 */
	{ "HeaderDigest", KEY_DIGEST, O, 0, 0, 0, P(header_digest), C(header_digest) },
	{ "DataDigest", KEY_DIGEST, O, 0, 0, 0, P(data_digest), C(data_digest) },
	{ "MaxConnections", KEY_MIN, O, N, 1, 65535, P(max_connections), C(max_connections) },
	{ "InitialR2T", KEY_OR, O, N, 0, 0, P(initial_r2t), C(initial_r2t) },
	{ "ImmediateData", KEY_AND, O, N, 0, 0, P(immediate_data), C(immediate_data) },
	{ "MaxRecvDataSegmentLength", KEY_NUMBER, O|F, 0, 512, MAX24, P(max_xmit_dsl), NO },
	{ "MaxBurstLength", KEY_MIN, O, N, 512, MAX24, P(max_burst), C(max_burst) },
	{ "FirstBurstLength", KEY_MIN, O, N_CLAMPED, 512, MAX24, P(first_burst), C(first_burst) },
	{ "DefaultTime2Wait", KEY_MAX, O, 0, 0, 3600, P(time2wait), OURS(2) },
	{ "DefaultTime2Retain", KEY_MIN, O, 0, 0, 3600, P(time2retain), OURS(20) },
	{ "MaxOutstandingR2T", KEY_MIN, O, N, 1, 65535,
	    P(max_outstanding_r2t), C(max_outstanding_r2t) },
	{ "DataPDUInOrder", KEY_OR, O, N, 0, 0, P(data_pdu_in_order), OURS(1) },
	{ "DataSequenceInOrder", KEY_OR, O, N, 0, 0, P(data_sequence_in_order), OURS(1) },
	{ "ErrorRecoveryLevel", KEY_MIN, O, 0, 0, 2,
	    P(error_recovery_level), C(error_recovery_level) },
	/* 13.23; RFC 7144 5.1.1: level 1 is RFC 7143 itself */
	{ "TaskReporting", KEY_REPORTING, O, N, 0, 0, NO, NO },
	{ "iSCSIProtocolLevel", KEY_MIN, O, N, 0, 31, NO, OURS(1) },
	/* 13.25: obsolete, but never NotUnderstood */
	{ "IFMarker", KEY_NO, O, 0, 0, 0, NO, NO },
	{ "OFMarker", KEY_NO, O, 0, 0, 0, NO, NO },
	{ "IFMarkInt", KEY_REJECT, O, 0, 0, 0, NO, NO },
	{ "OFMarkInt", KEY_REJECT, O, 0, 0, 0, NO, NO },
	/* 13.3, 13.1: exchange.c and login.c take them where they are allowed */
	{ "SendTargets", KEY_TARGETS, 0, 0, 0, 0, NO, NO },
	{ "AuthMethod", KEY_TARGETS, 0, 0, 0, 0, NO, NO },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(keys) <= 64, "keys.seen has one bit a row");

static const struct key *
key_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

bool
key_is_identity(const char *name)
{
	const struct key *k = key_find(name);

	return k != NULL && k->flags & KEY_IDENTITY;
}

__attribute__((format(printf, 3, 4)))
static int
key_refuse(struct keys *n, const struct text_pair *p, const char *fmt, ...)
{
	char key[TEXT_KEY_MAX + 1], value[64];
	size_t at = 0;
	va_list ap;

	log_text(key, sizeof(key), p->key, (unsigned)strlen(p->key));
	log_text(value, sizeof(value), p->value, (unsigned)MIN(p->len, sizeof(value)));
	text_add(n->why, sizeof(n->why), &at, "%s=%s: ", key, value);
	va_start(ap, fmt);
	vsnprintf(n->why + at, sizeof(n->why) - at, fmt, ap);
	va_end(ap);
	return -EPROTO;
}

static uint64_t
field_read(const void *base, struct key_field f)
{
	const void *at = (const char *)base + f.at;

	return f.size == 8 ? *(const uint64_t *)at : f.size == 4 ? *(const uint32_t *)at :
	    *(const bool *)at;
}

/* Outcomes are bool or 32 bits. */
static void
field_write(void *base, struct key_field f, uint32_t v)
{
	void *at = (char *)base + f.at;

	if (f.size == sizeof(uint32_t))
		*(uint32_t *)at = v;
	else if (f.size == sizeof(bool))
		*(bool *)at = v != 0;
}

static uint32_t
key_limit(const struct keys *n, const struct key *k)
{
	uint64_t v = k->limit.size != 0 ? field_read(n->conf, k->limit) : k->limit.at;

	/* 13.14: offered in any order, the smaller of each pair keeps first <= max. */
	if (k->flags & KEY_CLAMPED)
		v = MIN(v, n->conf->max_burst);
	return (uint32_t)v;
}

static int
take_boolean(struct keys *n, const struct key *k, const struct text_pair *p, struct text_out *out)
{
	bool offer = strcmp(p->value, "Yes") == 0, ours = key_limit(n, k) != 0, v;

	if (!offer && strcmp(p->value, "No") != 0)
		return key_refuse(n, p, "neither Yes nor No");
	v = k->kind == KEY_AND ? offer && ours : offer || ours;
	field_write(n->params, k->out, v);
	text_put(out, k->name, v ? "Yes" : "No");
	return 0;
}

static int
take_number(struct keys *n, const struct key *k, const struct text_pair *p, struct text_out *out)
{
	uint64_t offer;
	uint32_t v;

	if (text_number(p->value, k->max, &offer) != 0 || offer < k->min)
		return key_refuse(n, p, "not a number from %u to %u", k->min, k->max);
	v = (uint32_t)offer;
	if (k->kind == KEY_MIN)
		v = MIN(v, key_limit(n, k));
	else if (k->kind == KEY_MAX)
		v = MAX(v, key_limit(n, k));
	field_write(n->params, k->out, v);
	if (k->kind != KEY_NUMBER)
		text_put_number(out, k->name, v);
	return 0;
}

/* 13.1: the initiator's order decides. */
static int
take_digest(struct keys *n, const struct key *k, const struct text_pair *p, struct text_out *out)
{
	static const char *const names[] = { "None", "CRC32C" };
	const struct conf_words *allowed = (const void *)((const char *)n->conf + k->limit.at);
	const char *list = p->value, *item;
	size_t len;
	int i;

	while (text_item(&list, &item, &len)) {
		for (i = 0; i < allowed->n; i++) {
			if (!text_is(item, len, names[allowed->v[i]]))
				continue;
			field_write(n->params, k->out, allowed->v[i] == ISCSI_DIGEST_CRC32C);
			text_put(out, k->name, names[allowed->v[i]]);
			return 0;
		}
	}
	/* 7.12: when no choice is acceptable the login has failed. */
	return key_refuse(n, p, "no digest of the list is allowed");
}

/* 13.23: without agreement the RFC 3720 rules hold, so a Reject harms nobody. */
static int
take_reporting(const struct key *k, const struct text_pair *p, struct text_out *out)
{
	const char *list = p->value, *item;
	size_t len;

	while (text_item(&list, &item, &len)) {
		if (text_is(item, len, "RFC3720")) {
			text_put(out, k->name, "RFC3720");
			return 0;
		}
	}
	text_put(out, k->name, "Reject");
	return 0;
}

/* Names and aliases; said again they must be the same. */
static int
take_text(struct keys *n, const struct key *k, const struct text_pair *p, bool again)
{
	char *at = (char *)n->params + k->out.at, value[TEXT_VALUE_MAX + 1];

	if (p->len >= k->out.size)
		return key_refuse(n, p, "longer than %u bytes", k->out.size - 1u);
	memcpy(value, p->value, p->len + 1);
	if (k->kind == KEY_NAME && conf_iscsi_name(value) != 0)
		return key_refuse(n, p, "not an iSCSI name");
	if (again && strcmp(at, value) != 0)
		return key_refuse(n, p, "another value than before");
	memcpy(at, value, p->len + 1);
	return 0;
}

static int
take_session(struct keys *n, const struct text_pair *p, bool again)
{
	enum iscsi_session_type type = ISCSI_NORMAL;

	if (strcmp(p->value, "Discovery") == 0)
		type = ISCSI_DISCOVERY;
	else if (strcmp(p->value, "Normal") != 0)
		return key_refuse(n, p, "neither Normal nor Discovery");
	if (again && n->params->type != type)
		return key_refuse(n, p, "another value than before");
	n->params->type = type;
	return 0;
}

/* 6.2: an initiator may say that it does not care for what the target declares. */
static int
take_targets(struct keys *n, const struct text_pair *p)
{
	static const char *const constants[] = { "NotUnderstood", "Irrelevant", "Reject" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(constants); i++)
		if (strcmp(p->value, constants[i]) == 0)
			return 0;
	return key_refuse(n, p, "only a target may say this");
}

static int
take_one(struct keys *n, const struct key *k, const struct text_pair *p, bool again,
    struct text_out *out)
{
	switch ((enum key_kind)k->kind) {
	case KEY_AND:
	case KEY_OR:
		return take_boolean(n, k, p, out);
	case KEY_MIN:
	case KEY_MAX:
	case KEY_NUMBER:
		return take_number(n, k, p, out);
	case KEY_DIGEST:
		return take_digest(n, k, p, out);
	case KEY_REPORTING:
		return take_reporting(k, p, out);
	case KEY_TEXT:
	case KEY_NAME:
		return take_text(n, k, p, again);
	case KEY_SESSION:
		return take_session(n, p, again);
	case KEY_NO:
	case KEY_REJECT:
		text_put(out, k->name, k->kind == KEY_NO ? "No" : "Reject");
		return 0;
	case KEY_TARGETS:
		return take_targets(n, p);
	}
	return -EPROTO;
}

int
keys_take(struct keys *n, enum key_place place, const struct text_pair *p, struct text_out *out)
{
	const struct key *k = key_find(p->key);
	uint64_t bit;
	bool again;
	int rc;

	if (k == NULL) {
		/* 6.2: a key that is not understood is no error. */
		text_put(out, p->key, "NotUnderstood");
		return 0;
	}
	bit = 1ull << (k - keys);
	again = (n->seen & bit) != 0;
	if (!(k->places & place))
		return key_refuse(n, p, "not allowed here");
	/* 6.3: no key is negotiated twice. */
	if (again && !(k->flags & KEY_IDENTITY))
		return key_refuse(n, p, "offered twice");
	if (k->flags & KEY_NORMAL && n->params->type == ISCSI_DISCOVERY) {
		text_put(out, k->name, "Irrelevant");
		rc = 0;
	} else {
		rc = take_one(n, k, p, again, out);
	}
	if (rc == 0)
		n->seen |= bit;
	return rc;
}

int
keys_finish(struct keys *n)
{
	struct iscsi_params *p = n->params;
	const struct key *first = key_find("FirstBurstLength");

	if (p->first_burst <= p->max_burst)
		return 0;
	/* 13.14: only who asked for it is at fault; a default gives way. */
	if (n->seen & 1ull << (first - keys)) {
		snprintf(n->why, sizeof(n->why), "FirstBurstLength %u above MaxBurstLength %u",
		    p->first_burst, p->max_burst);
		return -EPROTO;
	}
	p->first_burst = p->max_burst;
	return 0;
}
