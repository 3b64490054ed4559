/* The four limits of a request and its tag: given back. */
#include "credit.h"

#include "wait.h"

bool
credit_give(struct bridge_host *h, struct bridge_req *req)
{
	struct bridge_flow *f;

	if (req->state != REQ_RUNNING || !slot_put(&h->slots, req))
		return false;
	req->state = REQ_DONE;
	if (slot_is_reserved(&h->slots, req->slot))
		return true;
	f = req->flow;
	for (int i = 0; i < LEVELS; i++) {
		f->node[i]->in_flight--;
		wait_touch(h, f->node[i]);
	}
	return true;
}
