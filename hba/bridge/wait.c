/* Who waits at which node, in what order, and who may pass (docs/BRIDGE.md). */
#include "wait.h"

#include <assert.h>

#include "ring.h"

void
wait_touch(struct bridge_node *n)
{
	if (!list_empty(&n->look) ||
	    (list_empty(&n->ring) && !atomic_load_explicit(&n->gate, memory_order_relaxed)))
		return;
	list_add_tail(n->level == AT_HOST ? &n->host->serve : &n->host->dirty, &n->look);
}

void
wait_touch_flow(const struct bridge_flow *f)
{
	for (int i = 0; i < LEVELS; i++)
		wait_touch(flow_node(f, i));
}

void
wait_touch_all(struct bridge_host *h)
{
	struct bridge_node *n;

	list_for_each(n, &h->gated, gated)
		wait_touch(n);
}

bool
flow_has_passed(const struct bridge_flow *f, int level, int at)
{
	/* Who waits for his own queue would keep places that others could use at once. */
	if (at == AT_HOST && flow_node(f, AT_HOST) != f->host->node)
		return false;
	return level == AT_INITIATOR ? at == AT_HOST : level < at;
}

/*
 * Puts f into the ring of one node, behind the others of its initiator. Then
 * the gate, then another look: a credit that came back in between saw no gate.
 * The adapter's gate waits until its credits have run out (host_credit).
 */
void
flow_park(struct bridge_flow *f, int at)
{
	struct dent *d = f->dent[at];
	struct bridge_node *n = d->node;

	assert(f->at == NOWHERE);
	list_add_tail(&d->flows, &f->link);
	if (list_empty(&d->link)) {
		/* Who has not used up its turn continues it. */
		if (d->left > 0)
			list_add_head(&n->ring, &d->link);
		else
			list_add_tail(&n->ring, &d->link);
	}
	f->at = (uint8_t)at;
	for (int i = 0; i < at; i++)
		if (flow_has_passed(f, i, at))
			flow_node(f, i)->outer++;
	YIELD_POINT();
	if (at != AT_HOST)
		node_gate_set(n, GATE_RING);
	if (at == AT_HOST || (!BUG(1) && node_ready(n)))
		wait_touch(n);
}

void
flow_unpark(struct bridge_flow *f)
{
	int at = f->at;
	struct dent *d = f->dent[at];

	list_del(&f->link);
	if (list_empty(&d->flows))
		list_del(&d->link);
	/* The gate opens when all is settled: often somebody else stands here by then. */
	if (list_empty(&d->node->ring) && list_empty(&d->node->tidy))
		list_add_tail(&d->node->host->tidy, &d->node->tidy);
	f->at = NOWHERE;
	for (int i = 0; i < at; i++)
		if (flow_has_passed(f, i, at)) {
			struct bridge_node *n = flow_node(f, i);

			n->outer--;
			wait_touch(n);
		}
}

/*
 * f waits where it is stopped first; passed says up to which level it has
 * already been let pass. The initiator's limit is asked again each time,
 * because another of its flows may have used it up meanwhile.
 */
void
flow_place(struct bridge_flow *f, int passed)
{
	const struct bridge_node *ini = flow_node(f, AT_INITIATOR);
	int at = AT_HOST;

	if (!node_ready(ini) || (passed < AT_INITIATOR && !node_open(ini)))
		at = AT_INITIATOR;
	else
		for (int i = MAX(passed + 1, AT_LUN); i < AT_HOST; i++)
			if (!node_open(flow_node(f, i))) {
				at = i;
				break;
			}
	flow_park(f, at);
}

struct bridge_flow *
ring_next(const struct bridge_node *n)
{
	struct dent *d = list_first(&n->ring, struct dent, link);
	struct bridge_flow *f = list_first(&d->flows, struct bridge_flow, link);

	if (d->left <= 0)
		d->left += (int32_t)f->weight * n->host->policy.turn;
	return f;
}

void
dent_charge(struct dent *d, int32_t cost)
{
	d->left -= cost;
	if (d->left > 0 || list_empty(&d->link))
		return;
	list_del(&d->link);
	list_add_tail(&d->node->ring, &d->link);
}

bool
ring_pull(struct bridge_node *n)
{
	struct bridge_flow *f;
	struct dent *d;

	if (list_empty(&n->ring) || !node_ready(n))
		return false;
	f = ring_next(n);
	d = f->dent[n->level];
	flow_unpark(f);
	flow_place(f, n->level);
	/* Stopped by its own initiator's limit, it has used nothing here. */
	if (f->at != AT_INITIATOR) {
		dent_charge(d, 1);
		f->charged |= (uint8_t)(1 << n->level);
	}
	return true;
}

void
flow_rest(struct bridge_flow *f)
{
	for (int i = 0; i < LEVELS; i++)
		if (--f->dent[i]->busy == 0)
			f->dent[i]->left = MIN(f->dent[i]->left, 0);
}

static void
count_waiting(struct bridge_flow *f, int by)
{
	flow_node(f, AT_INITIATOR)->waiting += (uint32_t)by;
	flow_node(f, AT_LUN)->waiting += (uint32_t)by;
}

/* One more of its requests waits. */
static void
flow_more(struct bridge_flow *f)
{
	count_waiting(f, 1);
	if (f->at != NOWHERE)
		return;
	for (int i = 0; i < LEVELS; i++)
		f->dent[i]->busy++;
	flow_place(f, -1);
}

void
wait_add(struct bridge_flow *f, struct bridge_req *req)
{
	order_add(&f->queue, req);
	flow_more(f);
}

void
wait_again(struct bridge_flow *f, struct bridge_req *req)
{
	req->state = REQ_WAITING;
	req->wait_ns = now_ns();
	order_add_again(&f->queue, req);
	initiator_gone(f->initiator, -1);
	/* It had left; its home may be counting `sent` at this moment, which does not matter. */
	atomic_store_explicit(&f->left,
	    atomic_load_explicit(&f->left, memory_order_relaxed) - 1, memory_order_release);
	flow_more(f);
}

void
flow_less(struct bridge_flow *f)
{
	count_waiting(f, -1);
	initiator_gone(f->initiator, 1);
	/* Release: who sees that it no longer waits sees what has become of it. */
	atomic_store_explicit(&f->left,
	    atomic_load_explicit(&f->left, memory_order_relaxed) + 1, memory_order_release);
}

void
wait_del(struct bridge_req *req)
{
	struct bridge_flow *f = req->flow;

	order_del(&f->queue, req);
	flow_less(f);
	if (BUG(8))
		node_give(flow_node(f, AT_LUN), 1);
	if (order_empty(&f->queue)) {
		flow_unpark(f);
		flow_rest(f);
	}
}

void
wait_move(struct bridge_flow *f, struct bridge_node *to, struct dent *d)
{
	struct dent *old = f->dent[AT_HOST];
	bool was_here = f->at == AT_HOST;

	if (was_here)
		flow_unpark(f);
	if (!order_empty(&f->queue)) {
		if (--old->busy == 0)
			old->left = 0;
		d->busy++;
	}
	f->dent[AT_HOST] = d;
	flow_set_node(f, AT_HOST, to);
	dent_put(f->initiator, old);
	if (!was_here)
		return;
	flow_place(f, -1);
	/* Nobody settles before the adapter is open again, and then nobody is to pass it. */
	if (f->at == AT_HOST)
		node_gate_set(to, GATE_RING);
}
