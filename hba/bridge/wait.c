/* Who waits at which node, and who is next (docs/BRIDGE.md). */
#include "wait.h"

#include <assert.h>

#include "credit.h"

void
wait_touch(struct bridge_host *h, struct bridge_node *n)
{
	if (n->level != AT_HOST && !list_empty(&n->ring) && list_empty(&n->dirty))
		list_add_tail(&h->dirty, &n->dirty);
}

/* Nodes that have let a flow pass which now waits at `at`. An initiator counts only what is sure to run next. */
static bool
has_passed(int level, int at)
{
	return level == AT_INITIATOR ? at == AT_HOST : level < at;
}

/* Puts f into the ring of one node, behind the others of its initiator. */
static void
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
		if (has_passed(i, at))
			f->node[i]->outer++;
	if (node_ready(n))
		wait_touch(f->host, n);
}

static void
flow_unpark(struct bridge_flow *f)
{
	int at = f->at;
	struct dent *d = f->dent[at];

	list_del(&f->link);
	if (list_empty(&d->flows))
		list_del(&d->link);
	f->at = NOWHERE;
	for (int i = 0; i < at; i++)
		if (has_passed(i, at)) {
			f->node[i]->outer--;
			wait_touch(f->host, f->node[i]);
		}
}

/*
 * f waits where it is stopped first; passed says up to which level it has
 * already been let pass. The initiator's limit is asked again each time,
 * because another of its flows may have used it up meanwhile.
 */
static void
flow_place(struct bridge_flow *f, int passed)
{
	int at = AT_HOST;

	if (!node_ready(f->node[AT_INITIATOR]) ||
	    (passed < AT_INITIATOR && !node_open(f->node[AT_INITIATOR])))
		at = AT_INITIATOR;
	else
		for (int i = MAX(passed + 1, AT_LUN); i < AT_HOST; i++)
			if (!node_open(f->node[i])) {
				at = i;
				break;
			}
	flow_park(f, at);
}

/* The flow whose turn it is at n, which has one. */
static struct bridge_flow *
ring_next(const struct bridge_node *n)
{
	struct dent *d = list_first(&n->ring, struct dent, link);
	struct bridge_flow *f = list_first(&d->flows, struct bridge_flow, link);

	if (d->left == 0)
		d->left = f->weight;
	return f;
}

/* One command of this turn is used; the turn may end with it. */
static void
dent_charge(struct dent *d)
{
	if (--d->left > 0 || list_empty(&d->link))
		return;
	list_del(&d->link);
	list_add_tail(&d->node->ring, &d->link);
}

/* Lets flows pass n as long as each finds a place of its own. */
static void
node_pull(struct bridge_node *n)
{
	while (!list_empty(&n->ring) && node_ready(n)) {
		struct bridge_flow *f = ring_next(n);
		struct dent *d = f->dent[n->level];

		flow_unpark(f);
		flow_place(f, n->level);
		/* Stopped by its own initiator's limit, it has used nothing here. */
		if (f->at != AT_INITIATOR)
			dent_charge(d);
	}
}

/* An initiator without requests here loses what was left of its turn: nobody saves up by being idle. */
static void
flow_rest(struct bridge_flow *f)
{
	for (int i = 0; i < LEVELS; i++)
		if (--f->dent[i]->busy == 0)
			f->dent[i]->left = 0;
}

static void
count_waiting(struct bridge_flow *f, int by)
{
	for (int i = 0; i < LEVELS; i++)
		f->node[i]->waiting += (uint32_t)by;
}

static void
count_wait(struct bridge_flow *f, uint64_t ns)
{
	for (int i = 0; i < LEVELS; i++) {
		struct bridge_node *n = f->node[i];

		n->waited++;
		n->wait_ns += ns;
		n->wait_max_ns = MAX(n->wait_max_ns, ns);
	}
}

void
wait_add(struct bridge_flow *f, struct bridge_req *req)
{
	list_add_tail(&f->queue, &req->link);
	count_waiting(f, 1);
	if (f->at != NOWHERE)
		return;
	for (int i = 0; i < LEVELS; i++)
		f->dent[i]->busy++;
	flow_place(f, -1);
}

void
wait_del(struct bridge_req *req)
{
	struct bridge_flow *f = req->flow;

	list_del(&req->link);
	count_waiting(f, -1);
	if (list_empty(&f->queue)) {
		flow_unpark(f);
		flow_rest(f);
	}
}

/* The first flow at the adapter: starts its oldest request, or goes back to where it is stopped. */
static bool
dispatch_one(struct bridge_host *h, struct list *run, uint64_t now)
{
	struct bridge_flow *f = ring_next(&h->node);
	struct bridge_req *req;

	/* Limits that shrank, or a freeze, after it had been let pass. */
	for (int i = 0; i < AT_HOST; i++)
		if (!node_has_room(f->node[i])) {
			flow_unpark(f);
			flow_place(f, -1);
			return false;
		}
	req = list_first(&f->queue, struct bridge_req, link);
	list_del(&req->link);
	count_waiting(f, -1);
	count_wait(f, now - req->wait_ns);
	credit_take(f, req);
	list_add_tail(run, &req->link);
	flow_unpark(f);
	dent_charge(f->dent[AT_HOST]);
	if (list_empty(&f->queue))
		flow_rest(f);
	else
		flow_place(f, -1);
	return true;
}

unsigned
wait_settle(struct bridge_host *h, struct list *run, unsigned max)
{
	unsigned n = 0;
	uint64_t now = 0;

	for (;;) {
		while (!list_empty(&h->dirty)) {
			struct list *first = h->dirty.next;

			list_del(first);
			node_pull(list_entry(first, struct bridge_node, dirty));
		}
		if (n == max || list_empty(&h->node.ring) || !node_has_room(&h->node))
			return n;
		if (!now)
			now = now_ns();
		n += dispatch_one(h, run, now);
	}
}
