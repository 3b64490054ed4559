/* An initiator for unit tests of the login: sends text with flags, looks at what comes back. */
#ifndef LOGIN_INITIATOR_H
#define LOGIN_INITIATOR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/iscsi_world.h"
#include "transport/iscsi/text.h"

#include "util.h"

enum {
	T = ISCSI_LOGIN_T, C = ISCSI_LOGIN_C,
	SECURITY = 0 << 2, OP = 1 << 2,			/* CSG */
	TO_OP = T | 1, TO_FULL = T | 3,			/* T and NSG */
};

#define NAMES "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_OPEN "\n"
#define LOCKED "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_LOCKED "\n"
#define DISCOVERY "InitiatorName=" WORLD_INITIATOR "\nSessionType=Discovery\n"

/* An initiator with its connection; what came back last. */
static struct login *login;
static struct iscsi_login_req req;
static struct iscsi_login_rsp rsp;
static uint8_t answer[ISCSI_LOGIN_DSL_MAX];
static uint32_t answer_len;
static const char *why;
static enum login_verdict verdict;

static inline int
begin(void **state)
{
	world_begin();
	login = login_new_in(&world_env, &world.peer);
	assert_non_null(login);
	req = (struct iscsi_login_req){
		.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.isid = { 0x80, 1, 2, 3, 4, 5 }, .itt = put32(0x1234), .cid = put16(9),
	};
	return 0;
}

static inline int
end(void **state)
{
	login_free(login);
	return 0;
}

static inline void
again(void)
{
	end(NULL);
	begin(NULL);
}

/* Sends len bytes, in memory of exactly that size. */
static inline enum login_verdict
send_bytes(unsigned flags, const void *data, size_t len)
{
	uint8_t *copy = malloc(len + (len == 0));

	memcpy(copy, data, len);
	req.flags = (uint8_t)flags;
	why = NULL;
	verdict = login_step(login, &req, copy, (uint32_t)len, &rsp, answer, &answer_len, &why);
	free(copy);
	if (verdict == LOGIN_REFUSE || verdict == LOGIN_DROP) {
		assert_non_null(why);
		assert_true(why[0] != '\0');
		assert_int_equal(answer_len, 0);
	}
	if (verdict == LOGIN_REFUSE)
		assert_int_equal(rsp.flags & (T | C | 3), 0);
	if (verdict != LOGIN_DROP) {
		assert_int_equal(rsp.opcode, ISCSI_LOGIN_RSP);
		assert_int_equal(get24(rsp.data_len), answer_len);
		assert_int_equal(get32(rsp.itt), 0x1234);
		assert_memory_equal(rsp.isid, req.isid, 6);
	}
	return verdict;
}

/* Sends pairs that end with \n each. */
static inline enum login_verdict
send_text(unsigned flags, const char *text)
{
	char copy[16384];
	size_t len = strlen(text), i;

	assert_true(len < sizeof(copy));
	for (i = 0; i <= len; i++)
		copy[i] = text[i] == '\n' ? '\0' : text[i];
	return send_bytes(flags, copy, len);
}

static inline unsigned
status(void)
{
	return (unsigned)rsp.status_class << 8 | rsp.status_detail;
}

static inline void
refused(unsigned flags, const char *text, unsigned want)
{
	if (send_text(flags, text) != LOGIN_REFUSE || status() != want)
		print_error("verdict %d status %04x: %s\n", verdict, status(), why ? why : "-");
	assert_int_equal(verdict, LOGIN_REFUSE);
	assert_int_equal(status(), want);
	/* Nothing more is said on this connection. */
	assert_int_equal(send_text(flags, text), LOGIN_DROP);
}

static inline void
granted(unsigned flags, const char *text)
{
	if (send_text(flags, text) != LOGIN_ANSWER && verdict != LOGIN_ENTER)
		print_error("status %04x: %s\n", status(), why);
	assert_int_equal(status(), 0);
	assert_int_equal(rsp.flags, flags);
	assert_int_equal(verdict, (flags & TO_FULL) == TO_FULL ? LOGIN_ENTER : LOGIN_ANSWER);
}

/* Answered, but T is not granted. */
static inline void
held(unsigned flags, const char *text)
{
	assert_int_equal(send_text(flags, text), LOGIN_ANSWER);
	assert_int_equal(status(), 0);
	assert_int_equal(rsp.flags, flags & ISCSI_LOGIN_CSG);
}

static inline const char *
value(const char *key)
{
	struct text_in in = { (char *)answer, answer_len, 0 };
	struct text_pair p;

	while (text_next(&in, &p) > 0)
		if (strcmp(p.key, key) == 0)
			return p.value;
	return NULL;
}

#endif
