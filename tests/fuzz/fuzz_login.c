/*
 * A connection's logins and text requests. The input is a sequence of records:
 * control, flags, length (2 bytes), text. The harness knows the secret and may be
 * asked to add the right response, so that what lies behind it is reached too.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/iscsi_world.h"
#include "transport/iscsi/chap.h"
#include "transport/iscsi/text.h"

#include "conf.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {				/* control */
	ADD_RESPONSE = 1 << 0,	/* CHAP_N and CHAP_R, right ones */
	OTHER_ISID = 1 << 1,
	OTHER_VERSION = 1 << 2,
	TAG_SENT = 1 << 3,	/* text request: with the tag of the last answer */
	TAG_WRONG = 1 << 4,
};

struct client {
	struct login *login;
	struct exchange *exchange;
	struct iscsi_params params;
	uint8_t challenge[CHAP_DIGEST_MAX];
	size_t challenge_len;
	uint64_t id;
	int alg;
	bool proved;		/* the right response was sent */
	uint32_t ttt;
};

/* Remembers what the target asks in its answer. */
static void
challenge_note(struct client *c, const uint8_t *text, uint32_t len)
{
	static const char numbers[] = { [CHAP_MD5] = '5', [CHAP_SHA1] = '6', [CHAP_SHA256] = '7',
		[CHAP_SHA3_256] = '8' };
	struct text_in in = { (const char *)text, len, 0 };
	struct text_pair p;
	size_t i;

	while (text_next(&in, &p) > 0) {
		for (i = 0; strcmp(p.key, "CHAP_A") == 0 && i < ARRAY_LEN(numbers); i++)
			if (p.value[0] == numbers[i])
				c->alg = (int)i;
		if (strcmp(p.key, "CHAP_I") == 0)
			text_number(p.value, 255, &c->id);
		if (strcmp(p.key, "CHAP_C") == 0)
			text_binary(p.value, c->challenge, sizeof(c->challenge), &c->challenge_len);
	}
}

/* The record's text in memory of exactly its size, with the response in front if wanted. */
static uint8_t *
text_make(struct client *c, unsigned control, const uint8_t *data, uint32_t *len)
{
	char buf[256];
	struct text_out out = { buf, sizeof(buf), 0, false };
	uint8_t d[CHAP_DIGEST_MAX], *text;
	unsigned n;

	if (control & ADD_RESPONSE && c->challenge_len > 0) {
		n = chap_digest(
		    c->alg, (uint8_t)c->id, WORLD_SECRET, c->challenge, c->challenge_len, d);
		text_put(&out, "CHAP_N", WORLD_USER);
		text_put_hex(&out, "CHAP_R", d, n);
		c->proved = true;
	}
	if (*len > ISCSI_LOGIN_DSL_MAX - out.len)
		*len = (uint32_t)(ISCSI_LOGIN_DSL_MAX - out.len);
	text = malloc(out.len + *len + (out.len + *len == 0));
	memcpy(text, buf, out.len);
	memcpy(text + out.len, data, *len);
	*len += (uint32_t)out.len;
	return text;
}

/* What must hold of a session that is let in, whatever was said. */
static void
entered(struct client *c)
{
	const struct iscsi_params *p = login_params(c->login);

	assert(p->initiator[0] != '\0');
	assert((p->type == ISCSI_DISCOVERY) == (login_target(c->login) == NULL));
	assert(p->first_burst >= 512 && p->first_burst <= p->max_burst);
	assert(p->max_xmit_dsl >= 512 && p->max_connections == 1 && p->error_recovery_level == 0);
	assert(strcmp(p->target, WORLD_PRIVATE) != 0 && strcmp(p->target, WORLD_ELSEWHERE) != 0);
	assert(strcmp(p->target, WORLD_LOCKED) != 0 ||
	       (c->proved && strcmp(p->user, WORLD_USER) == 0));
	c->params = *p;
	c->exchange = exchange_new_in(&world_env);
}

static bool
login_one(struct client *c, unsigned control, uint8_t flags, const uint8_t *text, uint32_t len)
{
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ,
		.flags = flags,
		.cid = put16(1),
		.version_min = control & OTHER_VERSION ? 1 : 0,
		.isid = { control & OTHER_ISID ? 1 : 0 } };
	struct iscsi_login_rsp rsp;
	uint8_t answer[ISCSI_LOGIN_DSL_MAX];
	uint32_t answer_len;
	const char *why;

	switch (login_step(c->login, &req, text, len, &rsp, answer, &answer_len, &why)) {
	case LOGIN_ENTER:
		entered(c);
		break;
	case LOGIN_ANSWER:
		break;
	case LOGIN_REFUSE:
		assert(rsp.status_class != 0 && why != NULL && answer_len == 0);
		return false;
	case LOGIN_DROP:
		assert(why != NULL && answer_len == 0);
		return false;
	}
	assert(answer_len <= sizeof(answer) && get24(rsp.data_len) == answer_len);
	assert(!(rsp.flags & ISCSI_LOGIN_T) || flags & ISCSI_LOGIN_T);
	assert(!(rsp.flags & ISCSI_LOGIN_C) || !(rsp.flags & ISCSI_LOGIN_T));
	challenge_note(c, answer, answer_len);
	return true;
}

static void
exchange_one(struct client *c, unsigned control, uint8_t flags, const uint8_t *text, uint32_t len)
{
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ,
		.flags = flags,
		.ttt = put32(control & TAG_WRONG  ? 7
			     : control & TAG_SENT ? c->ttt
						  : ISCSI_NO_TAG) };
	struct iscsi_text_rsp rsp;
	uint8_t answer[4096];
	uint32_t answer_len;

	if (exchange_step(c->exchange, &c->params, &world.peer, &req, text, len, &rsp, answer,
	    sizeof(answer), &answer_len) != 0)
		return;
	assert(answer_len <= sizeof(answer) && answer_len <= c->params.max_xmit_dsl);
	c->ttt = get32(rsp.ttt);
	assert((c->ttt == ISCSI_NO_TAG) == ((rsp.flags & ISCSI_TEXT_F) != 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = { .ttt = ISCSI_NO_TAG };
	uint32_t len, whole;
	uint8_t *text;
	bool goes_on = true;

	world_begin();
	world.crowd = 8;
	c.login = login_new_in(&world_env, &world.peer);
	while (goes_on && size >= 4) {
		len = (uint32_t)MIN((size_t)rd16(data + 2), size - 4);
		whole = 4 + len;
		text = text_make(&c, data[0], data + 4, &len);
		if (c.exchange == NULL)
			goes_on = login_one(&c, data[0], data[1], text, len);
		else
			exchange_one(&c, data[0], data[1], text, len);
		free(text);
		data += whole;
		size -= whole;
	}
	exchange_free(c.exchange);
	login_free(c.login);
	return 0;
}
