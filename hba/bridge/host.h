/* One adapter: its limits, its tags and its one lock. */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "list.h"
#include "node.h"
#include "slot.h"

struct bridge_host {
	/*
	 * Guards everything below and every node, dent and flow of this host.
	 * Spins before it sleeps; never held over a disk's submit or a callback.
	 */
	OWN_LINE pthread_mutex_t lock;
	struct slots slots;
	struct list dirty;		/* nodes whose ring must be looked at */
	bool kicked;			/* the kick is on its way to a reactor */
	OWN_LINE struct bridge_node node;	/* AT_HOST */
	/* rarely */
	struct msg kick;
	struct reactor *kick_to;	/* home of a request that waited */
	uint32_t max_waiters;		/* per initiator; 0: no bound */
	struct list nodes[LEVELS];
	struct list initiators, flows;
	struct bridge_node **luns;	/* by disk->node */
	int nluns;
	struct list link;		/* in the list of hosts */
};

/*
 * host_new: makes a host and adds it to the list; NULL: no memory. Main thread.
 * host_add_lun: the number for disk->node, or -ENOMEM; target names its bus
 * target, which is made when it is new. Before the first flow of that disk.
 */
struct bridge_host *host_new(const char *name, uint32_t can_queue, uint32_t max_waiters);
int host_add_lun(struct bridge_host *, const char *name, uint32_t depth, const char *target,
    uint32_t target_depth);
void host_free(struct bridge_host *);

struct bridge_node *host_find_node(struct bridge_host *, enum bridge_kind, const char *name);

static inline void
host_lock(struct bridge_host *h)
{
	pthread_mutex_lock(&h->lock);
}

static inline void
host_unlock(struct bridge_host *h)
{
	pthread_mutex_unlock(&h->lock);
}

#endif
