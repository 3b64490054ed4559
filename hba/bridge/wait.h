/* Who waits at which node, and who is next. All under the host's lock. */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>

#include "flow.h"
#include "host.h"

/* Puts a request at the end of its flow's queue; the flow begins to wait if it did not. */
void wait_add(struct bridge_flow *, struct bridge_req *);
/* Takes a waiting request out: it held nothing. */
void wait_del(struct bridge_req *);

/* Something changed at this node (room, limit, thaw): its ring, if any, will be looked at. */
void wait_touch(struct bridge_host *, struct bridge_node *);

/*
 * Lets waiting flows pass while there is room, and gives slots to the requests
 * whose turn it is: at most `max`, appended to run, to be submitted by the
 * caller after unlocking. Returns how many. When it returns less than max,
 * nothing that waits could run.
 */
unsigned wait_settle(struct bridge_host *, struct list *run, unsigned max);

#endif
