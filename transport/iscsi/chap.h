/* CHAP, the target's side (RFC 7143 12.1.3, RFC 1994). */
#ifndef ISCSI_CHAP_H
#define ISCSI_CHAP_H

#include <stdint.h>

#include "list.h"

#include "text.h"

struct conf_auth;

enum {
	CHAP_DIGEST_MAX = 32,
	CHAP_CHALLENGE_MAX = 1024,	/* 12.1.3 */
};

enum chap_state {
	CHAP_WANT_ALGORITHM,		/* CHAP_A=<list> */
	CHAP_WANT_RESPONSE,		/* CHAP_N, CHAP_R and perhaps CHAP_I, CHAP_C */
	CHAP_PROVED,			/* the initiator is who it says it is */
	CHAP_OVER,			/* refused: nothing more is answered */
};

/*
 * One conversation. Embedded in the login: chap_init, then chap_step for each
 * request that is whole, then chap_fini, which wipes it. From chap_init to
 * chap_fini it may stand in the list of outstanding challenges, so it must not move.
 */
struct chap {
	enum chap_state state;
	int alg;			/* enum chap_alg */
	uint8_t id;
	uint8_t challenge[CHAP_DIGEST_MAX];
	unsigned challenge_len;
	struct list link;		/* outstanding */
};

/* The CHAP_ keys of one request; NULL: not there. */
struct chap_keys {
	const char *a, *n, *r, *i, *c;
};

/* Puts a pair where it belongs. False: no CHAP key, or there for the second time. */
bool chap_keys_take(struct chap_keys *, const struct text_pair *);

enum chap_verdict {
	CHAP_GOES_ON,			/* the answer, if any, is written; look at state */
	CHAP_MALFORMED,			/* the peer does not keep to the protocol */
	CHAP_FAILED,			/* it does, and is not who it says it is */
	CHAP_UNABLE,			/* our fault: no random numbers, no such digest */
};

void chap_init(struct chap *);
void chap_fini(struct chap *);
/* On anything but CHAP_GOES_ON *why says why, without a secret. Any thread; a short lock. */
enum chap_verdict chap_step(struct chap *, const struct conf_auth *, const struct chap_keys *,
    struct text_out *, const char **why);

/* digest(id, secret, challenge) of an algorithm into out. Returns its length, 0: not available. */
unsigned chap_digest(int alg, uint8_t id, const char *secret, const uint8_t *challenge, size_t len,
    uint8_t out[CHAP_DIGEST_MAX]);

#endif
