/* The adapter's tags: who has which, and which completions are believed. */
#ifndef SLOT_H
#define SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"

/* Tags beside every limit, for bridge_urgent. */
enum { SLOTS_RESERVED = 4 };

/* A slot is out while req is set; its generation moves on when it comes back. */
struct slot {
	struct bridge_req *req;
	uint32_t gen;
};

/* Under the host's lock. The first `count` slots are the adapter's, then come the reserved ones. */
struct slots {
	struct slot *slot;
	uint32_t count;
	uint32_t *spare;		/* stack: the last one back is warm */
	uint32_t nspare;
	uint32_t reserved[SLOTS_RESERVED];
	uint32_t nreserved;
};

int slots_init(struct slots *, uint32_t count);	/* 0 or -ENOMEM */
void slots_fini(struct slots *);		/* asserts that none is out */

/* The next spare slot; the caller has taken the host's credit, so there is one. */
void slot_get(struct slots *, struct bridge_req *);
bool slot_get_reserved(struct slots *, struct bridge_req *);

/*
 * The request came back from its disk. False when it does not hold the slot it
 * names (any more): a completion that came twice or too late.
 */
bool slot_put(struct slots *, struct bridge_req *);

static inline bool
slot_is_reserved(const struct slots *s, uint32_t slot)
{
	return slot >= s->count;
}

#endif
