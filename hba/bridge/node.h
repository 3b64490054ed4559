/* A thing with a limit (initiator, LUN, bus target or adapter) and the flows that wait at it. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "list.h"
#include "util.h"

/*
 * In the order in which a flow passes them; docs/BRIDGE.md says why the
 * initiator stands first although it does not contain the LUN.
 */
enum level { AT_INITIATOR, AT_LUN, AT_TARGET, AT_HOST, LEVELS, NOWHERE = LEVELS };

/*
 * All fields are under the host's lock; where it begins, a cache line does. `outer` counts the flows that this node
 * has let pass and that wait further out: each of them will take one of the
 * free places here, so no one else may have it.
 */
struct bridge_node {
	uint32_t limit;
	uint32_t in_flight, outer;
	uint32_t waiting;		/* requests of its flows that wait, anywhere */
	uint32_t max_in_flight;
	bool frozen;
	uint8_t level;
	struct list ring;		/* dents with waiting flows, in turn */
	struct list dirty;		/* in host->dirty: look at the ring again */
	uint64_t admitted;
	/* rarely */
	uint64_t waited, wait_ns, wait_max_ns;
	struct list link;		/* in host->nodes[level] */
	struct bridge_node *outward;	/* of a LUN: its bus target */
	char *name;
};

/* One initiator's place at one node: deficit round robin runs over these. */
struct dent {
	struct list link;		/* in node->ring while a flow is here */
	struct list flows;		/* flows that wait here, in turn */
	uint32_t left;			/* commands it may still send in this turn */
	uint32_t busy;			/* of its flows, those that have requests waiting, here or elsewhere */
	uint32_t users;			/* flows that know it */
	struct bridge_node *node;
	struct list of_initiator;
};

/* May one more command pass: a place is free that nobody further out will take. */
static inline bool
node_ready(const struct bridge_node *n)
{
	return !n->frozen && (uint64_t)n->in_flight + n->outer < n->limit;
}

/* The same, and nobody stands in line. */
static inline bool
node_open(const struct bridge_node *n)
{
	return node_ready(n) && list_empty(&n->ring);
}

/* For a flow that this node has already let pass. */
static inline bool
node_has_room(const struct bridge_node *n)
{
	return !n->frozen && n->in_flight < n->limit;
}

static inline void
node_take(struct bridge_node *n)
{
	n->admitted++;
	if (++n->in_flight > n->max_in_flight)
		n->max_in_flight = n->in_flight;
}

void bridge_node_init(struct bridge_node *, enum level, char *name, uint32_t limit);
/* NULL: no memory. The name is copied. */
struct bridge_node *bridge_node_new(enum level, const char *name, uint32_t limit);
void bridge_node_free(struct bridge_node *);
enum bridge_kind bridge_node_kind(const struct bridge_node *);
void bridge_node_read(const struct bridge_node *, struct bridge_node_stats *);

#endif
