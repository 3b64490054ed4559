/* Initiators and their flows: who waits, in what order, with what weight. */
#ifndef FLOW_H
#define FLOW_H

#include <stdatomic.h>
#include <stdint.h>

#include "bridge.h"
#include "host.h"
#include "list.h"
#include "node.h"
#include "order.h"
#include "throttle.h"

/*
 * All nexuses of one initiator name at one adapter. Under the host's lock, but
 * for came and gone. Requests on their way back outlive the last flow, so it stays,
 * in host->gone, until its name comes back or its node serves another one.
 */
struct initiator {
	struct bridge_node *node;	/* AT_INITIATOR; its name is the initiator's */
	struct dent *dents;		/* at every node it has flows through */
	struct list link;
	uint32_t flows;
	uint32_t depth;			/* as configured last; 0: no limit */
	struct throttle rates;
	struct alarm paid;		/* from then on it may send again */
	/*
	 * Requests that began to wait, counted at their homes, and those of them that
	 * wait no longer, counted under the lock. Relaxed: a bound, and no more.
	 */
	_Atomic uint32_t gone;
	OWN_LINE _Atomic uint32_t came;
};

static inline void
initiator_gone(struct initiator *ini, int by)
{
	atomic_store_explicit(&ini->gone,
	    atomic_load_explicit(&ini->gone, memory_order_relaxed) + (uint32_t)by,
	    memory_order_relaxed);
}

/* Made and freed on its home reactor. */
struct bridge_flow {
	/* -- the home's; all that a request far from limits needs is in the first line -- */
	OWN_LINE struct bridge_cpu *cpu;	/* constant, as are disk, who, home, host */
	struct disk *disk;
	uint64_t who;			/* for disk_io.who */
	/* What its home keeps of its four nodes. At the adapter a change of mode replaces it, under the lock. */
	_Atomic(struct credit_cache *) own[LEVELS];
	uint32_t sent;			/* requests that had to wait, ever */
	_Atomic bool paced;		/* its initiator has rates, which are counted under the lock; relaxed */
	struct reactor *home;
	struct bridge_host *host;
	/* -- under the lock -- */
	OWN_LINE _Atomic uint32_t left;	/* of these no longer wait; the home reads it: what is waiting must not be overtaken */
	uint32_t weight;
	uint8_t at;			/* the one ring it is in, or NOWHERE */
	uint8_t charged;		/* nodes where its next command has cost 1 already, a bit for each level */
	struct list link;		/* in dent->flows */
	struct dent *dent[LEVELS];
	struct bridge_node *node[LEVELS];
	struct initiator *initiator;
	struct order queue;		/* requests that wait */
	struct dent *next_dent;		/* at the adapter, while the mode changes */
	struct list of_host;
};

static inline struct credit_cache *
flow_own(const struct bridge_flow *f, int level)
{
	/* Acquire: of a node that a change of mode has just made. */
	return atomic_load_explicit(&f->own[level], memory_order_acquire);
}

/* Under the lock. */
static inline struct bridge_node *
flow_node(const struct bridge_flow *f, int level)
{
	return f->node[level];
}

static inline void
flow_set_node(struct bridge_flow *f, int level, struct bridge_node *n)
{
	f->node[level] = n;
	atomic_store_explicit(&f->own[level], &n->cache[f->cpu->id], memory_order_release);
}

/* How much its initiator may send, from now on. Under the lock. */
void initiator_pace(struct initiator *, struct bridge_host *, const struct bridge_limits *);
/* It sends so much. Under the lock. */
void initiator_charge(struct initiator *, uint64_t requests, uint64_t bytes, uint64_t now);

/* The node at the adapter for flows of that home. Under the lock. */
struct bridge_node *flow_host_node(struct bridge_host *, unsigned home);

/* NULL: no memory. Under the lock. */
struct dent *dent_get(struct initiator *, struct bridge_node *);
void dent_put(struct initiator *, struct dent *);	/* NULL is allowed */

void flow_initiators_free(struct bridge_host *);	/* those that are gone */

#endif
