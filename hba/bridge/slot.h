/* The adapter's tags: which are spare, who has the others, and which completions are believed. */
#ifndef SLOT_H
#define SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "node.h"

enum {
	SLOTS_RESERVED = 4,		/* tags beside every limit, for bridge_urgent */
	TAGS_PER_LINE = 32,
};

/*
 *	FREE -> HELD -> INFLIGHT [-> ABORTING] -> FREE
 *	                                       -> BACK -> FREE
 *
 * HELD: has its credits, its disk has not seen it. BACK: the disk is finished,
 * and the credits are in the inbox on their way to the next. Only who takes the
 * word out of INFLIGHT or ABORTING gives them back.
 */
enum slot_state { SLOT_FREE, SLOT_HELD, SLOT_INFLIGHT, SLOT_ABORTING, SLOT_BACK };

/* One line of the cache, so that neighbours do not disturb each other. What a check reads while it changes is atomic. */
struct slot {
	_Alignas(CACHE_LINE) _Atomic uint32_t word;	/* generation << 8 | enum slot_state */
	uint32_t tag;
	_Atomic(struct bridge_req *) req;
	_Atomic(struct bridge_node *) node[LEVELS];	/* whose credits it has; a reserved one has none, and knows its LUN */
	struct bridge_op op;				/* RELEASE: the request may be gone by then */
};
_Static_assert(sizeof(struct slot) == CACHE_LINE, "struct slot");

/* Spare tags, a bit for each. Credits say that there is one, the bits only say which. */
struct tag_line {
	_Alignas(CACHE_LINE) _Atomic uint32_t spare;
};

/* The first `count` slots are the adapter's, then come the reserved ones. */
struct slots {
	struct slot *slot;
	uint32_t count, nlines;
	struct tag_line *line;
	_Atomic uint32_t reserved;	/* a bit for each spare one */
};

int slots_init(struct slots *, uint32_t count);	/* 0 or -ENOMEM */
void slots_fini(struct slots *);

/*
 * Finds k spare tags, for whoever has taken k credits of the adapter: there are
 * so many. Looks from *hint on, which is left where the next ones may be.
 */
void tags_get(struct slots *, uint32_t *tags, int32_t k, uint32_t *hint);
/* Before their credits are given back. */
void tags_put(struct slots *, uint32_t tag);
uint32_t tags_spare(const struct slots *);
/* NULL: none is spare. */
struct slot *tags_get_reserved(struct slots *);
void tags_put_reserved(struct slots *, struct slot *);

static inline bool
slot_is_reserved(const struct slots *s, const struct slot *slot)
{
	return slot->tag >= s->count;
}

static inline enum slot_state
slot_state(const struct slot *slot)
{
	return (enum slot_state)(atomic_load_explicit(&slot->word, memory_order_relaxed) & 0xff);
}

/* The request gets the slot, whose tag and credits the caller has taken. */
static inline void
slot_hold(struct slot *slot, struct bridge_req *req, struct bridge_node *const node[LEVELS])
{
	uint32_t gen = atomic_load_explicit(&slot->word, memory_order_relaxed) & ~0xffu;

	req->slot = slot->tag;
	req->gen = gen;
	atomic_store_explicit(&slot->req, req, memory_order_relaxed);
	EACH_LEVEL
	for (int i = 0; i < LEVELS; i++)
		atomic_store_explicit(&slot->node[i], node[i], memory_order_relaxed);
	atomic_store_explicit(&slot->word, gen | SLOT_HELD, memory_order_relaxed);
}

/* Before the disk's submit, so that it may finish from within. */
static inline void
slot_run(struct slot *slot, const struct bridge_req *req)
{
	atomic_store_explicit(&slot->word, req->gen | SLOT_INFLIGHT, memory_order_release);
}

/* Is the request in flight in this slot? */
static inline bool
slot_is_held(const struct slot *slot, const struct bridge_req *req)
{
	uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);

	return (word == (req->gen | SLOT_INFLIGHT) || word == (req->gen | SLOT_ABORTING)) &&
	    atomic_load_explicit(&slot->req, memory_order_relaxed) == req;
}

/* After its submit said "done": nobody else has seen the request, so a plain store is enough. */
static inline void
slot_leave_inline(struct slot *slot, const struct bridge_req *req, enum slot_state to)
{
	atomic_store_explicit(&slot->word, (req->gen + 0x100) | (uint32_t)to,
	    memory_order_relaxed);
}

/* From SLOT_BACK: its credits have arrived. Nobody else changes the word of one that is back. */
static inline void
slot_free(struct slot *slot)
{
	uint32_t gen = atomic_load_explicit(&slot->word, memory_order_relaxed) & ~0xffu;

	atomic_store_explicit(&slot->word, gen | SLOT_FREE, memory_order_relaxed);
}

/* The disk gave the request back. False: a completion that came twice or too late. */
bool slot_leave(struct slot *, const struct bridge_req *, enum slot_state to);
/* The slot that the request says it has; NULL: there is no such slot. */
struct slot *slot_of(const struct slots *, const struct bridge_req *);
/* The initiator has lost interest; only the disk can give the slot back. */
void slot_abort(struct slot *, const struct bridge_req *);

#endif
