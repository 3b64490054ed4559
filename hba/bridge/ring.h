/* The rings of deficit round robin, as the two halves of waiting see them. Under the host's lock. */
#ifndef RING_H
#define RING_H

#include "flow.h"
#include "node.h"

void flow_park(struct bridge_flow *, int at);
void flow_unpark(struct bridge_flow *);
void flow_place(struct bridge_flow *, int passed);
/* An initiator without requests here loses what was left of its turn: nobody saves up by being idle. */
void flow_rest(struct bridge_flow *);
/* One of its requests no longer waits. */
void flow_less(struct bridge_flow *);

/* The flow whose turn it is at n, which has one. */
struct bridge_flow *ring_next(const struct bridge_node *);
/* Lets one flow pass n, if there is a credit for it that no other one has been let pass for. */
bool ring_pull(struct bridge_node *);
/* So much of this turn is used; the turn may end with it. */
void dent_charge(struct dent *, int32_t cost);

#endif
