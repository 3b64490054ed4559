/* A thing with a limit (initiator, LUN, bus target or adapter): its credits, its gate, and who waits at it. */
#ifndef NODE_H
#define NODE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "alarm.h"
#include "bridge.h"
#include "bug.h"
#include "depth.h"
#include "hist.h"
#include "list.h"
#include "order.h"
#include "util.h"

/*
 * In the order in which a flow passes them; docs/BRIDGE.md says why the
 * initiator stands first although it does not contain the LUN.
 */
enum level { AT_INITIATOR, AT_LUN, AT_TARGET, AT_HOST, LEVELS, NOWHERE = LEVELS };

/* Before loops over the levels that every request runs through. */
#define EACH_LEVEL _Pragma("GCC unroll 4")

/* The limit of what has none: counted all the same, so that one can be set at any time. */
enum { UNLIMITED = 1 << 30 };

/* Why nobody may take a credit past the waiting line. */
enum gate {
	GATE_RING = 1 << 0,		/* somebody waits here */
	GATE_DEBT = 1 << 1,		/* the limit shrank: caches must come back first */
	GATE_FROZEN = 1 << 2,		/* by an administrator */
	GATE_SWITCH = 1 << 3,		/* the adapter's queue mode is changing */
	GATE_LEAVING = 1 << 4,		/* an initiator without flows: its credits are coming home */
	GATE_TIMER = 1 << 5,		/* until an alarm: its rate is used up, or its disk has no room */
};

struct bridge_node;
struct slot;

/*
 * What one reactor keeps of one node: all that a request far from limits needs
 * of it, in one line. The owner alone writes, but for bcap and timed; others may
 * read the counts, for statistics. At the adapter each credit is a tag of cpu->tags.
 */
struct credit_cache {
	OWN_LINE _Atomic int32_t cred;
	_Atomic int32_t bcap;		/* fetches at most so many, and keeps at most twice as many; under the lock */
	_Atomic bool timed;		/* of a LUN: how long its disk takes is of interest; under the lock */
	bool listed;
	_Atomic uint32_t flushes;	/* times that it gave all back */
	_Atomic uint64_t admitted;	/* requests that started without waiting; of initiators and LUNs */
	struct credit_cache *next;	/* in cpu->held */
	struct bridge_node *node;
	/* Of a LUN with a latency target (lun.c): requests that came back here, and the time they took. */
	uint64_t took_ns, took_since;
	uint32_t took;
	/* The same, on its way to the LUN; nobody's but the op's while that is under way. */
	_Atomic bool told;
	uint32_t told_took;
	uint64_t told_ns;
	struct bridge_op op;
};
_Static_assert(sizeof(struct credit_cache) == 128, "struct credit_cache");

/*
 * Of an initiator or a LUN, under the lock. A bus target's and the adapter's are
 * the sums over their LUNs, so that a request that waited touches two of these.
 */
struct wait_counts {
	uint64_t handed;		/* requests that got a slot which had just come back */
	uint64_t merged;		/* that rode along with another one */
	uint64_t ns;			/* all waits together */
	struct hist waits;		/* of all that got their slots in their turn */
};

/* What bridge_check counts. */
struct recount {
	uint32_t out, outer, waiting;
};

struct bridge_node {
	/* Read by every request near a limit, seldom written, and that under the lock. */
	OWN_LINE _Atomic uint32_t gate;
	_Atomic int32_t limit;
	_Atomic int32_t divisor;	/* a reactor fetches at most this part of what is free */
	uint8_t level;
	struct credit_cache *cache;	/* one for each reactor */
	struct bridge_host *host;
	struct bridge_node *outward;	/* of a LUN: its bus target */
	/*
	 * Credits that nobody holds and no reactor keeps; below 0: debt after the
	 * limit shrank. Far from limits it is seldom touched, and near one mostly by
	 * who has the lock: so it shares the lines with what that one needs.
	 */
	OWN_LINE _Atomic int32_t free;
	/*
	 * From here on under the host's lock. outer counts the flows that this
	 * node has let pass and that wait further out: each of them will take one
	 * of the credits here, so no one else may have it.
	 */
	int32_t outer;
	struct list ring;		/* dents with waiting flows, in turn */
	struct list look;		/* in host->dirty, or the adapter in host->serve: look at it again */
	struct list tidy;		/* in host->tidy: its ring was empty a moment ago */
	/* Came back and not free yet: most of it goes to the next ones before the lock is dropped. */
	int32_t back;
	uint32_t max_in_flight;		/* the most seen when somebody waited, or was looked for */
	uint32_t waiting;		/* of an initiator or a LUN: requests that wait, anywhere */
	int32_t cap;			/* on bcap */
	struct slot *hand;		/* AT_HOST: slots that came back, with their credits */
	struct bridge_node *next_back;	/* in host->back, while back or hand may not be empty */
	struct wait_counts counts;	/* of an initiator or a LUN */
	/* rarely */
	bool in_back;
	struct list gated;		/* in host->gated: gate is not 0 */
	uint64_t admitted_before;	/* sum of the caches when the present initiator got the node */
	struct recount recount;
	struct list link;		/* in host->nodes[level] */
	char *name;
	/* of a LUN */
	struct sweep sweep;
	struct depth depth;
	struct alarm ramp, retry;	/* its depth may grow; its disk may have room again */
};

/* One initiator's place at one node: deficit round robin runs over these. */
struct dent {
	struct list link;		/* in node->ring while a flow is here */
	struct list flows;		/* flows that wait here, in turn */
	int32_t left;			/* what it may still send in this turn; below 0: borrowed from the next */
	uint32_t busy;			/* of its flows, those that have requests waiting, here or elsewhere */
	uint32_t users;			/* flows that know it */
	struct bridge_node *node;
	struct dent *next;		/* of the initiator's dents */
};
_Static_assert(sizeof(struct dent) == CACHE_LINE, "struct dent");

/*
 * Takes up to `most` credits from what is free, at least one; returns how many.
 * Never more than there are: a compare-and-swap, nothing to take back. The first
 * load is seq_cst, because who parks has set the gate before (THREADS.md).
 */
static inline int32_t
node_claim(struct bridge_node *n, int32_t most)
{
	int32_t have = atomic_load(&n->free), take;

	do {
		if (have <= 0)
			return 0;
		take = MIN(most, have / atomic_load_explicit(&n->divisor, memory_order_relaxed));
		take = MAX(take, 1);
		YIELD_POINT();
		if (BUG(6)) {
			atomic_fetch_sub(&n->free, take);
			return take;
		}
	} while (!atomic_compare_exchange_weak(&n->free, &have, have - take));
	return take;
}

/* Just one, for who has the lock. */
static inline bool
node_claim_one(struct bridge_node *n)
{
	int32_t have = atomic_load(&n->free);

	do {
		if (have <= 0)
			return false;
		YIELD_POINT();
		if (BUG(6)) {
			atomic_fetch_sub(&n->free, 1);
			return true;
		}
	} while (!atomic_compare_exchange_weak(&n->free, &have, have - 1));
	return true;
}

/* seq_cst: stands before a look at the gate. */
static inline void
node_give(struct bridge_node *n, int32_t credits)
{
	atomic_fetch_add(&n->free, credits);
}

/* -- under the lock -- */

static inline bool
node_stopped(const struct bridge_node *n)
{
	return atomic_load_explicit(&n->gate, memory_order_relaxed) &
	    (GATE_FROZEN | GATE_SWITCH | GATE_TIMER);
}

/* May one more flow pass: a credit is free that nobody further out will take. */
static inline bool
node_ready(const struct bridge_node *n)
{
	return !node_stopped(n) && atomic_load(&n->free) + n->back > n->outer;
}

/* The same, and nobody stands in line. */
static inline bool
node_open(const struct bridge_node *n)
{
	return node_ready(n) && list_empty(&n->ring);
}

void node_gate_set(struct bridge_node *, uint32_t bits);
void node_gate_clear(struct bridge_node *, uint32_t bits);
/* What needs no waiter to change: debt that is paid, an initiator whose credits are all home. */
void node_gate_look(struct bridge_node *);
/* Nothing is revoked: free may become negative. touch it, and let a reactor look, afterwards. */
void node_set_limit(struct bridge_node *, int32_t limit);
/* How many reactors share it, and at most how many credits each fetches at a time. */
void node_set_cache(struct bridge_node *, unsigned users, int32_t cap);
/* A sum of what several threads change: exact at rest. */
uint32_t node_in_flight(const struct bridge_node *);
uint64_t node_admitted(const struct bridge_node *);	/* without waiting; an initiator or a LUN */
uint64_t node_flushes(const struct bridge_node *);
void node_count_max(struct bridge_node *);

int32_t node_bcap(int32_t limit, unsigned users, int32_t cap);

/* NULL: no memory. The name is copied. All credits are free. */
struct bridge_node *node_new(struct bridge_host *, enum level, const char *name, int32_t limit);
void node_free(struct bridge_node *);
int node_rename(struct bridge_node *, const char *name);	/* 0 or -ENOMEM */
enum bridge_kind node_kind(const struct bridge_node *);

#endif
