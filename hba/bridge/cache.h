/* What one reactor keeps of one adapter: credits and tags of its own, and what it has not sent yet. */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"
#include "slot.h"

enum {
	BCAP_MAX = 32,			/* credits of one node fetched at a time */
	BCAP_BORROW_MAX = 256,		/* the same for the adapter in mode divided_borrow */
	CHAIN_MAX = 16,			/* operations that may wait for the end of the turn */
};

/*
 * The owner is the reactor; `tag` says which others may look. Made with the
 * host, so that nothing is allocated later.
 */
struct bridge_cpu {
	/* -- the owner's -- */
	OWN_LINE struct bridge_host *host;
	unsigned id;			/* the reactor's */
	bool kick;			/* at the next poll look at everybody who waits */
	unsigned nchain;
	struct bridge_op *chain;	/* newest first: what goes to the inbox in one push */
	struct bridge_op *chain_end;
	uint64_t wait_ns;		/* when the first request of it began to wait; 0: none of it does */
	struct credit_cache *held;	/* caches that may not be empty, by next */
	struct credit_cache *tags_of;	/* of the adapter's node whose credits are in tags */
	uint32_t hint;			/* where spare tags may be */
	uint32_t tags[2 * BCAP_BORROW_MAX + 1];	/* a stack: as many as its cache has credits */
	struct poller poller;
	struct timer timer;		/* host->alarms */
	/* -- the owner writes, statistics read; relaxed -- */
	_Atomic uint64_t combines, ops;	/* times that it ran the inbox, and how many operations that were */
	_Atomic uint64_t grants;	/* requests of others or its own that it let go on under the lock */
	/* -- written by a change of mode, under the lock; relaxed -- */
	OWN_LINE _Atomic unsigned to;	/* the reactor on whose queue it submits */
	_Atomic bool combines_here;	/* false: only reactor 0 admits and combines */
};

/* The owner's counters: no other thread writes, so no locked instruction. */
static inline void
cache_count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + by,
	    memory_order_relaxed);
}

static inline int32_t
cache_cred(const struct credit_cache *c)
{
	return atomic_load_explicit(&c->cred, memory_order_relaxed);
}

static inline void
cache_cred_set(struct credit_cache *c, int32_t cred)
{
	atomic_store_explicit(&c->cred, cred, memory_order_relaxed);
}

static inline void
cache_list(struct bridge_cpu *cpu, struct credit_cache *c)
{
	if (c->listed)
		return;
	c->listed = true;
	c->next = cpu->held;
	cpu->held = c;
}

/* The slow halves of the four below: to the node's free credits and back. */
bool cache_refill(struct bridge_cpu *, struct credit_cache *);
void cache_trim(struct bridge_cpu *, struct credit_cache *, int32_t keep);
struct slot *cache_refill_tags(struct bridge_cpu *, struct credit_cache *);
void cache_give_tag(struct bridge_cpu *, struct credit_cache *, uint32_t tag);

/* One credit of an initiator, LUN or bus target. On the owner's thread, as all of these. */
static inline bool
cache_take(struct bridge_cpu *cpu, struct credit_cache *c)
{
	int32_t have = cache_cred(c);

	if (likely(have > 0)) {
		cache_cred_set(c, have - 1);
		return true;
	}
	return cache_refill(cpu, c);
}

static inline void
cache_put(struct bridge_cpu *cpu, struct credit_cache *c)
{
	int32_t bcap = atomic_load_explicit(&c->bcap, memory_order_relaxed);
	int32_t have = cache_cred(c);

	if (unlikely(bcap == 0)) {
		node_give(c->node, 1);
		return;
	}
	cache_cred_set(c, have + 1);
	cache_list(cpu, c);
	if (unlikely(have + 1 > 2 * bcap))
		cache_trim(cpu, c, bcap);
}

/* A credit of the adapter is a tag. NULL: there is none. */
static inline struct slot *
cache_take_tag(struct bridge_cpu *cpu, struct credit_cache *c, const struct slots *slots)
{
	int32_t have = cache_cred(c);

	if (likely(have > 0)) {
		cache_cred_set(c, have - 1);
		return &slots->slot[cpu->tags[have - 1]];
	}
	return cache_refill_tags(cpu, c);
}

static inline void
cache_put_tag(struct bridge_cpu *cpu, struct credit_cache *c, uint32_t tag)
{
	int32_t bcap = atomic_load_explicit(&c->bcap, memory_order_relaxed);
	int32_t have = cache_cred(c);

	if (unlikely(bcap == 0 || cpu->tags_of != c)) {
		cache_give_tag(cpu, c, tag);
		return;
	}
	cpu->tags[have] = tag;
	cache_cred_set(c, have + 1);
	cache_list(cpu, c);
	if (unlikely(have + 1 > 2 * bcap))
		cache_trim(cpu, c, bcap);
}

/* Gives all credits of one node back. True: there were some, so who waits for them must be looked at. */
bool cache_flush(struct bridge_cpu *, struct credit_cache *);
/* The same for all nodes that have a gate, or for all that there are. */
bool cache_flush_held(struct bridge_cpu *, bool all);

#endif
