/* Initiators and their flows: who waits, in what order, with what weight. */
#ifndef FLOW_H
#define FLOW_H

#include <stdint.h>

#include "bridge.h"
#include "host.h"
#include "list.h"
#include "node.h"

/* All nexuses of one initiator name at one adapter. Under the host's lock; freed with its last flow. */
struct initiator {
	struct bridge_node *node;	/* AT_INITIATOR; its name is the initiator's */
	struct list dents;		/* at every node it has flows through */
	struct list link;
	uint32_t flows;
	uint32_t depth;			/* as configured last; 0: no limit */
};

/*
 * Made and freed on its home reactor; everything but the constant fields is
 * under the host's lock.
 */
struct bridge_flow {
	struct bridge_node *node[LEVELS];
	struct list queue;		/* requests that wait, oldest first */
	struct bridge_host *host;	/* constant, as are disk and home */
	struct disk *disk;
	struct reactor *home;
	uint32_t weight;
	uint8_t at;			/* the one ring it is in, or NOWHERE */
	struct list link;		/* in dent->flows */
	struct dent *dent[LEVELS];
	struct initiator *initiator;
	struct list of_host;
};

#endif
