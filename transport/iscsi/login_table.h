/* Which login request may follow which: the edges of the login phase. */
#ifndef ISCSI_LOGIN_TABLE_H
#define ISCSI_LOGIN_TABLE_H

#include <stdint.h>

#include "login.h"

#define LOGIN_STATES(X)                                                             \
	X(LOGIN_START, "start")			/* no whole text yet */             \
	X(LOGIN_SECURITY, "security")                                               \
	X(LOGIN_OPERATIONAL, "operational")                                         \
	X(LOGIN_FULL, "full")			/* agreed: nothing more to say */   \
	X(LOGIN_ENDED, "ended")			/* refused */

#define X(name, text) name,
enum login_state { LOGIN_STATES(X) LOGIN_STATE_COUNT };
#undef X

/* What the flags of a request say. _PART: C is set, the text goes on. */
enum login_event {
	EV_BAD,				/* reserved stages, backwards, or C with T */
	EV_SECURITY_PART,
	EV_SECURITY,
	EV_SECURITY_TO_OP,
	EV_SECURITY_TO_FULL,
	EV_OP_PART,
	EV_OP,
	EV_OP_TO_FULL,
};

/*
 * action takes the text (whole, or a part of it): LOGIN_OK, or what to refuse
 * with; the login's why is set then. It never sets the state.
 * stay: the state when the transit is not asked for or not
 * granted; to: when it is.
 */
struct login_edge {
	enum login_state from;
	enum login_event event;
	enum login_status (*action)(struct login *, const char *text, size_t len);
	enum login_state stay, to;
	const char *clause;		/* RFC 7143 */
};

enum login_event login_event(uint8_t flags);
/* NULL: the peer's error. */
const struct login_edge *login_edge(enum login_state, enum login_event);
const char *login_state_name(enum login_state);

#endif
