/* Slots for those whose turn it is: a freed one goes straight to the next (docs/BRIDGE.md). */
#include "back.h"
#include "ring.h"
#include "wait.h"

__thread struct grants bridge_grants;

/* Something of this node is on its way to the next; clean_up frees the rest. */
static void
note_back(struct bridge_node *n)
{
	if (n->in_back)
		return;
	n->in_back = true;
	n->next_back = n->host->back;
	n->host->back = n;
}

static void
credit_back(struct bridge_node *n)
{
	/* Debt is paid first, and who leaves is counted. */
	if (unlikely(atomic_load_explicit(&n->gate, memory_order_relaxed) &
	    (GATE_DEBT | GATE_LEAVING))) {
		node_give(n, 1);
	} else {
		n->back++;
		note_back(n);
	}
	wait_touch(n);
}

static void
hand_back(struct bridge_node *n, struct slot *slot)
{
	slot->op.next = n->hand ? &n->hand->op : NULL;
	n->hand = slot;
	note_back(n);
}

static struct slot *
hand_take(struct bridge_node *n)
{
	struct slot *slot = n->hand;

	if (slot)
		n->hand = slot->op.next ? container_of(slot->op.next, struct slot, op) : NULL;
	return slot;
}

void
wait_release(struct bridge_host *h, struct slot *slot)
{
	struct bridge_node *n = atomic_load_explicit(&slot->node[AT_HOST], memory_order_relaxed);

	for (int i = 0; i < AT_HOST; i++)
		credit_back(atomic_load_explicit(&slot->node[i], memory_order_relaxed));
	slot_free(slot);
	if (unlikely(atomic_load_explicit(&n->gate, memory_order_relaxed) & GATE_DEBT)) {
		tags_put(&h->slots, slot->tag);
		node_give(n, 1);
	} else {
		hand_back(n, slot);
	}
	wait_touch(n);
}

/* What nobody could use becomes free: bits before credits. */
static void
back_free(struct bridge_node *n)
{
	int32_t k = n->back;
	struct slot *slot;

	for (; (slot = hand_take(n)); k++)
		tags_put(&n->host->slots, slot->tag);
	n->back = 0;
	if (k)
		node_give(n, k);
}

/*
 * A slot for somebody who waits at the adapter. NULL: there is none; then the
 * gate stands, and was there before the last look.
 */
static struct slot *
host_credit(struct bridge_cpu *cpu, struct bridge_node *n, bool *handed)
{
	struct slot *slot = hand_take(n);
	uint32_t tag;

	*handed = slot;
	if (slot)
		return slot;
	if (!node_claim_one(n)) {
		if (atomic_load_explicit(&n->gate, memory_order_relaxed) & GATE_RING)
			return NULL;
		node_gate_set(n, GATE_RING);
		if (BUG(1) || !node_claim_one(n))
			return NULL;
	}
	tags_get(&n->host->slots, &tag, 1, &cpu->hint);
	return &n->host->slots.slot[tag];
}

/* One that has just come back costs no locked instruction, which would wait for all that is on its way from memory. */
static bool
inner_claim(struct bridge_node *n)
{
	if (n->back == 0)
		return node_claim_one(n);
	n->back--;
	return true;
}

/* The credits further in: they may be gone, where nobody stands in line for them or a limit shrank. */
static bool
inner_take(struct bridge_node *const node[LEVELS])
{
	for (int i = 0; i < AT_HOST; i++) {
		if (!node_stopped(node[i]) && inner_claim(node[i]))
			continue;
		while (i-- > 0)
			credit_back(node[i]);
		return false;
	}
	return true;
}

/* A request does not wait any longer. */
static void
count_waited(struct bridge_node *const node[LEVELS], const struct bridge_req *req, uint64_t now)
{
	uint64_t ns = now > req->wait_ns ? now - req->wait_ns : 0;

	for (int i = AT_INITIATOR; i <= AT_LUN; i++) {
		node[i]->counts.ns += ns;
		hist_add(&node[i]->counts.waits, ns);
	}
}

static void
count_grant(struct bridge_node *const node[LEVELS], bool handed)
{
	node[AT_INITIATOR]->counts.handed += handed;
	node[AT_LUN]->counts.handed += handed;
	for (int i = 0; i < LEVELS; i++)
		if (atomic_load_explicit(&node[i]->gate, memory_order_relaxed))
			node_count_max(node[i]);
}

static void
count_riders(struct bridge_flow *f, struct list *riders, struct bridge_node *const node[LEVELS],
    uint64_t now)
{
	struct bridge_req *req;

	list_for_each(req, riders, link) {
		req->state = REQ_RIDING;
		flow_less(f);
		count_waited(node, req, now);
		node[AT_INITIATOR]->counts.merged++;
		node[AT_LUN]->counts.merged++;
	}
}

/* The next command of a flow: a request, and its neighbours if they may come along. */
static struct bridge_req *
flow_take(struct bridge_flow *f, struct bridge_node *const node[LEVELS], uint64_t now)
{
	const struct policy *policy = &f->host->policy;
	struct sweep *sweep = &node[AT_LUN]->sweep;
	struct bridge_req *req = order_take(&f->queue, sweep, now);
	uint32_t riders = 0;

	flow_less(f);
	count_waited(node, req, now);
	back_part(req);
	/* One that its disk had no room for still has those that ride with it. */
	if (policy->coalesce && !req->merge)
		riders = merge_gather(&f->host->merges, &f->queue, req, policy->max_xfer);
	if (riders) {
		count_riders(f, &req->merge->below, node, now);
		count_riders(f, &req->merge->above, node, now);
		sweep->at = merge_end_of(req);
	}
	/* What is sent again has been paid for. Without rates the rest of the request, far from the cache, need not come. */
	if (throttle_is_set(&f->initiator->rates) && !req->refused_ns && !req->alone)
		initiator_charge(f->initiator, 1 + riders,
		    order_is_transfer(req) ? merge_len(req) : 0, now);
	return req;
}

static int32_t
command_cost(const struct policy *policy, const struct bridge_req *req)
{
	if (!policy->by_length)
		return 1;
	return policy_cost(policy, order_is_transfer(req) ? merge_len(req) : 0);
}

/* Where the flow's turn came it has cost 1, before anybody knew which command it would be. */
static void
flow_charge(struct bridge_flow *f, int32_t cost)
{
	for (int i = 0; i < AT_HOST && cost > 1; i++)
		if (f->charged & 1 << i)
			dent_charge(f->dent[i], cost - 1);
	f->charged = 0;
	dent_charge(f->dent[AT_HOST], cost);
}

/* The first flow at the adapter: starts its oldest request, or goes back to where it is stopped. False: no slot. */
static bool
grant_one(struct bridge_cpu *cpu, struct bridge_node *host, struct grants *g, uint64_t now)
{
	struct bridge_node *node[LEVELS];
	struct bridge_flow *f;
	struct bridge_req *req;
	struct slot *slot;
	bool handed;

	slot = host_credit(cpu, host, &handed);
	if (!slot)
		return false;
	f = ring_next(host);
	for (int i = 0; i < LEVELS; i++)
		node[i] = flow_node(f, i);
	if (!inner_take(node)) {
		hand_back(host, slot);
		flow_unpark(f);
		flow_place(f, -1);
		return true;
	}
	req = flow_take(f, node, now);
	req->state = REQ_RUNNING;
	slot_hold(slot, req, node);
	list_add_tail(&g->run, &req->link);
	/* The disk will look at it soon. */
	__builtin_prefetch(&req->io);
	g->left--;
	cache_count(&cpu->grants, 1);
	count_grant(node, handed);
	flow_unpark(f);
	flow_charge(f, command_cost(&f->host->policy, req));
	if (order_empty(&f->queue))
		flow_rest(f);
	else
		flow_place(f, -1);
	return true;
}

/*
 * One more flow passes the first node that was touched. One at a time: it gets
 * its slot at once if there is one, and stands in line again before the next
 * flow passes, so that turns stay exact when many credits come back together.
 */
static void
pull_one(struct bridge_host *h)
{
	struct bridge_node *n = list_first(&h->dirty, struct bridge_node, look);

	node_gate_look(n);
	if (!ring_pull(n))
		list_del(&n->look);
}

/* False: nobody at this node of the adapter can be served now. */
static bool
serve(struct bridge_cpu *cpu, struct bridge_node *n, struct grants *g, uint64_t *now)
{
	node_gate_look(n);
	if (list_empty(&n->ring))
		return false;
	if (node_stopped(n)) {
		node_gate_set(n, GATE_RING);
		return false;
	}
	if (!*now)
		*now = now_ns();
	return grant_one(cpu, n, g, *now);
}

/* The end: what is left in hand is free for all, and gates open where nobody stands. */
static void
clean_up(struct bridge_host *h)
{
	struct bridge_node *n;

	/* First the gate of who still waits here, although there may be room. */
	list_for_each(n, &h->serve, look)
		if (!list_empty(&n->ring))
			node_gate_set(n, GATE_RING);
	while ((n = h->back)) {
		h->back = n->next_back;
		n->in_back = false;
		back_free(n);
	}
	while (!list_empty(&h->tidy)) {
		n = list_first(&h->tidy, struct bridge_node, tidy);
		list_del(&n->tidy);
		if (list_empty(&n->ring))
			node_gate_clear(n, GATE_RING);
	}
}

bool
wait_settle(struct bridge_cpu *cpu, struct grants *g)
{
	struct bridge_host *h = cpu->host;
	struct bridge_node *n;
	uint64_t now = 0;

	while (g->left > 0) {
		if (list_empty(&h->serve)) {
			if (list_empty(&h->dirty))
				break;
			pull_one(h);
			continue;
		}
		/* Queue by queue in turn, where they are divided. */
		n = list_first(&h->serve, struct bridge_node, look);
		list_del(&n->look);
		if (serve(cpu, n, g, &now) && list_empty(&n->look))
			list_add_tail(&h->serve, &n->look);
	}
	clean_up(h);
	alarms_arm(cpu);
	return list_empty(&h->serve) && list_empty(&h->dirty);
}
