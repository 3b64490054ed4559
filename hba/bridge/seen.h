/* What the nodes of all adapters have counted, for verbs. */
#ifndef SEEN_H
#define SEEN_H

#include "bridge.h"

struct seen_node {
	struct bridge_host *host;
	struct bridge_node_stats stats;
	double share;			/* initiators: percent of what the adapter has admitted */
};

struct seen {
	struct seen_node *node;		/* adapter by adapter, each in bridge_stats' order */
	unsigned n;
};

/* Main thread. 0 or -ENOMEM; seen_fini in any case. */
int seen_init(struct seen *);
void seen_fini(struct seen *);
/*
 * Everything of that kind and name, on whichever adapters it is, as one: sums,
 * and the longest waits. False: there is none.
 */
bool seen_find(const struct seen *, enum bridge_kind, const char *name, struct seen_node *);

#endif
