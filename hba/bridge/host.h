/* One adapter: its limits, its tags, and what its reactors leave for each other. */
#ifndef HOST_H
#define HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "cache.h"
#include "list.h"
#include "lock.h"
#include "merge.h"
#include "node.h"
#include "policy.h"
#include "slot.h"

struct bridge_host {
	/* -- constant, or changed only by a change of mode -- */
	struct slots slots;
	struct merge_pool merges;
	struct bridge_cpu **cpu;	/* by reactor */
	unsigned ncpus;
	_Atomic uint32_t max_waiters;	/* per initiator; 0: no bound; relaxed: a reload may change it */

	/* How many nodes have a gate: one load tells a request that no limit is near. Written under the lock. */
	OWN_LINE atomic_int gates;

	/* What was not settled on the spot: operations, newest first; and "look at everybody who waits". */
	OWN_LINE _Atomic(struct bridge_op *) inbox;
	atomic_bool recheck;
	atomic_bool rang;		/* a timer has fired: alarms are due */
	atomic_bool kicked;		/* the message is on its way to a reactor */

	/* Never held over a disk's submit, a callback or a message. */
	OWN_LINE atomic_uint lock;

	/* -- under the lock -- */
	OWN_LINE struct list dirty;	/* nodes whose ring must be looked at */
	struct list serve;		/* the same at the adapter: here flows get their slots */
	struct list tidy;		/* nodes whose gate may open */
	struct bridge_node *back;	/* nodes with something back or in hand */
	struct list gated;
	struct policy policy;
	struct alarm *alarms;		/* the earliest one */
	uint64_t armed_at;		/* some reactor's timer fires then; UINT64_MAX: none */
	struct bridge_node *node;	/* AT_HOST: the one of all queues together */
	struct bridge_node *queue_node[REACTORS_MAX];	/* of each queue, when they are divided; made when first needed */
	int mode;			/* enum queue_mode */
	uint32_t queues;		/* hardware queues in use */
	uint32_t limit;			/* of the adapter */
	unsigned users;			/* reactors that use it */
	int32_t cap;			/* on every cache; BCAP_MAX unless a benchmark says less */
	bool frozen, switching, started;
	struct list nodes[LEVELS];
	struct list initiators, flows;
	struct list gone;		/* initiators without flows, until their node is used again */
	struct bridge_node **luns;	/* by disk->node */
	int nluns;
	struct msg kick;
	struct list link;		/* in the list of hosts */
};

/*
 * host_new: makes a host and adds it to the list; NULL: no memory. host_add_lun:
 * the number for disk->node, or -ENOMEM; target names its bus target, which is
 * made when it is new. host_start: in which mode (enum queue_mode, queues 0: as
 * many as reactors), when all LUNs are there and before the first flow; 0 or
 * -errno. All on the main thread.
 */
struct bridge_host *host_new(const char *name, uint32_t can_queue, uint32_t max_waiters);
int host_add_lun(struct bridge_host *, const char *name, uint32_t depth, const char *target,
    uint32_t target_depth);
int host_start(struct bridge_host *, int mode, uint32_t queues);
void host_free(struct bridge_host *);

/* NULL: none. BRIDGE_HOST: the node of all queues. Under the lock. */
struct bridge_node *host_find_node(struct bridge_host *, enum bridge_kind, const char *name);
/* Slots that disks have: of one LUN, or of all when it is NULL. Any thread; exact when nothing is submitted. */
unsigned host_slots_out(const struct bridge_host *, const struct bridge_node *lun);
/* Caps every cache at so many credits: 0 for none at all, -1 as it was. For benchmarks. */
void host_set_cap(struct bridge_host *, int32_t cap);

/* On a reactor that has joined an adapter: its id + 1; 0 on other threads. */
extern __thread unsigned bridge_reactor;

/* The calling reactor's part; NULL on other threads. */
static inline struct bridge_cpu *
host_cpu(const struct bridge_host *h)
{
	return likely(bridge_reactor) ? h->cpu[bridge_reactor - 1] : NULL;
}

/* For management. Whoever fails to get the lock meanwhile relies on us: host_unlock sees to it. */
static inline void
host_lock(struct bridge_host *h)
{
	lock_take(&h->lock);
}

/* changed: limits, gates or flows, so that a reactor must look who may run now. */
void host_unlock(struct bridge_host *, bool changed);

#endif
