/* The four limits of a request and its tag: taken all or none, in one place, and given back in one. */
#ifndef CREDIT_H
#define CREDIT_H

#include <stdbool.h>

#include "flow.h"
#include "host.h"
#include "node.h"
#include "slot.h"

enum {				/* bridge_req.state; under the host's lock */
	REQ_IDLE,
	REQ_WAITING,		/* in its flow's queue; holds nothing */
	REQ_RUNNING,		/* has a slot */
	REQ_DONE,		/* gave the slot back */
};

/* A place is free at all four nodes, and nobody stands in line at any. */
static inline bool
credit_open(const struct bridge_flow *f)
{
	for (int i = 0; i < LEVELS; i++)
		if (!node_open(f->node[i]))
			return false;
	return true;
}

static inline void
credit_take(struct bridge_flow *f, struct bridge_req *req)
{
	for (int i = 0; i < LEVELS; i++)
		node_take(f->node[i]);
	slot_get(&f->host->slots, req);
	req->state = REQ_RUNNING;
}

/* False: it holds none; a completion that came twice or too late. */
bool credit_give(struct bridge_host *, struct bridge_req *);

#endif
