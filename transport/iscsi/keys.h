/* Negotiation of the keys of RFC 7143 13: one row each. */
#ifndef ISCSI_KEYS_H
#define ISCSI_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "params.h"
#include "text.h"

/* Where a key stands; a row has the set of places where it may. */
enum key_place {
	KEY_SECURITY = 1 << 0,
	KEY_OPERATIONAL = 1 << 1,
	KEY_FULL = 1 << 2,		/* a text request in full feature phase */
};

/*
 * A negotiation: params takes the outcome, conf limits it. seen lasts as long
 * as a key may not be offered twice: one login, or one text exchange.
 */
struct keys {
	struct iscsi_params *params;
	const struct iscsi_target_conf *conf;	/* NULL: identity keys only */
	uint64_t seen;			/* by row */
	char why[160];			/* of the last -EPROTO: names the key, safe to print */
};

/* Names, aliases and the session type: what must be read before the target's limits are known. */
bool key_is_identity(const char *key);

/*
 * Takes one offer or declaration and writes the answer if it wants one; a key
 * that nobody knows is answered NotUnderstood. -EPROTO: not allowed here, twice,
 * or a value that cannot be accepted; params and the answer are as before.
 */
int keys_take(struct keys *, enum key_place, const struct text_pair *, struct text_out *);

/* What can only be said when all is agreed (13.14). -EPROTO with why. */
int keys_finish(struct keys *);

/* What a discovery session may negotiate: digests None. */
extern const struct iscsi_target_conf discovery_limits;

#endif
