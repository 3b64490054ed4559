/* A login under way, and what each stage does with a request's text. */
#ifndef ISCSI_LOGIN_STAGE_H
#define ISCSI_LOGIN_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chap.h"
#include "keys.h"
#include "login.h"
#include "login_env.h"
#include "login_table.h"
#include "text.h"

enum { LOGIN_ROUNDS_MAX = 64 };		/* requests of one login */

enum login_method { METHOD_OPEN, METHOD_NONE, METHOD_CHAP };	/* OPEN: not yet negotiated */

/*
 * Belongs to one connection. target and conf are looked up again at each
 * request, so that nothing of a configuration is held between two of them.
 */
struct login {
	const struct login_env *env;
	const struct login_peer *peer;
	enum login_state state;
	unsigned rounds;
	bool transit;			/* this request has T */
	bool named;			/* the first text was whole: names and type are settled */
	bool declared;			/* our MaxRecvDataSegmentLength is said */
	enum login_method method;
	struct target *target;		/* NULL: discovery */
	const struct conf_target *conf;
	struct iscsi_params params;
	struct keys keys;
	struct chap chap;
	char *in;			/* parts of a text that goes on */
	size_t in_len;
	uint8_t in_csg;
	struct text_out out;		/* answers; buf is made with the first request */
	size_t out_at;			/* sent up to here */
	char why[320];
};

/* Actions of login_table.c. */
enum login_status login_gather(struct login *, const char *text, size_t len);
enum login_status login_security(struct login *, const char *text, size_t len);
enum login_status login_operational(struct login *, const char *text, size_t len);

/* Whether the initiator has proved what this target asks for. */
bool login_is_proved(const struct login *);

/* Sets why and returns status. */
__attribute__((format(printf, 3, 4)))
enum login_status login_because(struct login *, enum login_status, const char *fmt, ...);

#endif
