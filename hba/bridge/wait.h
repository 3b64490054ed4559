/* Who waits at which node, and who is next. All under the host's lock. */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>

#include "cache.h"
#include "flow.h"
#include "host.h"

enum {				/* bridge_req.state; once it waits under the host's lock */
	REQ_IDLE,
	REQ_WAITING,		/* sent to the inbox or in its flow's queue; holds nothing */
	REQ_RUNNING,		/* has or had a slot */
	REQ_RIDING,		/* in the command of another */
	REQ_UNWANTED,		/* cancelled at the disk, which did not do it: in grants.run only to be posted home */
};

/* Of this thread. run: requests that got a slot while it had the lock; it submits them when it has dropped it. */
struct grants {
	struct list run;		/* by req->link */
	unsigned left;			/* so many more in this go */
	unsigned inside;		/* disks' submits on the stack: a completion from within does not call done */
};
extern __thread struct grants bridge_grants;

/* Puts a request at the end of its flow's queue; the flow begins to wait if it did not. */
void wait_add(struct bridge_flow *, struct bridge_req *);
/* One that its disk has seen and not done goes to the front. */
void wait_again(struct bridge_flow *, struct bridge_req *);
/* Takes a waiting request out: it held nothing. */
void wait_del(struct bridge_req *);
/* A slot came back with its credits. */
void wait_release(struct bridge_host *, struct slot *);

/*
 * Does the node at this level count a flow that waits at `at` as one that it has
 * let pass, and that will take a credit of it? An initiator counts only what is
 * sure to run next; nobody does who waits for a queue of his own (divided).
 */
bool flow_has_passed(const struct bridge_flow *, int level, int at);

/* Something may have changed at this node (a credit, limit, thaw): it will be looked at. */
void wait_touch(struct bridge_node *);
void wait_touch_flow(const struct bridge_flow *);	/* all four of its nodes */
void wait_touch_all(struct bridge_host *);		/* all that have a gate */

/*
 * Lets waiting flows pass while there are credits, and gives slots to the
 * requests whose turn it is. False: more could run than this go allows; what
 * waits behind that is looked at the next time.
 */
bool wait_settle(struct bridge_cpu *, struct grants *);

/* For a change of mode: a flow changes from one of the adapter's nodes to another, with a dent there. */
void wait_move(struct bridge_flow *, struct bridge_node *to, struct dent *);

#endif
