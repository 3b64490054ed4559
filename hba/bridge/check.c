/* Recounts what the bridge believes (invariants I1 to I6 of docs/BRIDGE.md). */
#include <stdarg.h>
#include <stdlib.h>

#include "credit.h"
#include "flow.h"
#include "host.h"

/* What a node should say. */
struct recount {
	const struct bridge_node *node;
	uint32_t in_flight, outer, waiting;
};

struct check {
	struct bridge_host *host;
	FILE *f;
	int breaches;
	unsigned n;
	struct recount *counts;
};

__attribute__((format(printf, 2, 3)))
static void
breach(struct check *c, const char *fmt, ...)
{
	va_list args;

	fprintf(c->f, "bridge %s: ", c->host->node.name);
	va_start(args, fmt);
	vfprintf(c->f, fmt, args);
	va_end(args);
	fputc('\n', c->f);
	c->breaches++;
}

static int
counts_make(struct check *c)
{
	struct bridge_node *n;
	unsigned count = 0;

	for (int i = 0; i < LEVELS; i++)
		list_for_each(n, &c->host->nodes[i], link)
			count++;
	c->counts = calloc(count, sizeof(*c->counts));
	if (!c->counts)
		return -1;
	for (int i = 0; i < LEVELS; i++)
		list_for_each(n, &c->host->nodes[i], link)
			c->counts[c->n++].node = n;
	return 0;
}

static struct recount *
count_of(struct check *c, const struct bridge_node *n)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->counts[i].node == n)
			return &c->counts[i];
	abort();
}

/* I1, I7: slots and what they hold. */
static void
check_slots(struct check *c)
{
	const struct slots *s = &c->host->slots;
	uint32_t out = 0, out_reserved = 0;

	for (uint32_t i = 0; i < s->count + SLOTS_RESERVED; i++) {
		const struct bridge_req *req = s->slot[i].req;

		if (!req)
			continue;
		if (req->slot != i || req->gen != s->slot[i].gen || req->state != REQ_RUNNING)
			breach(c, "slot %u and its request disagree", i);
		if (slot_is_reserved(s, i)) {
			out_reserved++;
			continue;
		}
		out++;
		for (int k = 0; k < LEVELS; k++)
			count_of(c, req->flow->node[k])->in_flight++;
	}
	if (out + s->nspare != s->count)
		breach(c, "%u slots out, %u spare, of %u", out, s->nspare, s->count);
	if (out_reserved + s->nreserved != SLOTS_RESERVED)
		breach(c, "%u reserved slots out, %u spare", out_reserved, s->nreserved);
}

/* I5, I6: a flow with waiters is in one ring, one without is in none; waiters hold nothing. */
static void
check_flow(struct check *c, const struct bridge_flow *f)
{
	const struct bridge_req *req;
	uint32_t waiting = 0;

	list_for_each(req, &f->queue, link) {
		waiting++;
		if (req->state != REQ_WAITING || req->flow != f)
			breach(c, "a waiter of %s is in state %u", f->node[0]->name, req->state);
	}
	if ((f->at == NOWHERE) != (waiting == 0))
		breach(c, "flow %s to %s: %u waiting, at %u", f->node[0]->name, f->disk->name,
		    waiting, f->at);
	if (f->at != NOWHERE && (list_empty(&f->link) || list_empty(&f->dent[f->at]->link)))
		breach(c, "flow %s to %s is not in its ring", f->node[0]->name, f->disk->name);
	for (int i = 0; i < LEVELS; i++) {
		struct recount *count = count_of(c, f->node[i]);

		count->waiting += waiting;
		if (f->at != NOWHERE &&
		    (i == AT_INITIATOR ? f->at == AT_HOST : i < f->at))
			count->outer++;
	}
}

/* I1, I3: counters, and that nobody waits at a node that could let it pass. */
static void
check_node(struct check *c, const struct recount *r)
{
	const struct bridge_node *n = r->node;
	bool ready = n->level == AT_HOST ? node_has_room(n) : node_ready(n);

	if (n->in_flight != r->in_flight)
		breach(c, "%s: in flight %u, counted %u", n->name, n->in_flight, r->in_flight);
	if (n->outer != r->outer)
		breach(c, "%s: passed %u, counted %u", n->name, n->outer, r->outer);
	if (n->waiting != r->waiting)
		breach(c, "%s: waiting %u, counted %u", n->name, n->waiting, r->waiting);
	if (n->level == AT_HOST && n->in_flight > c->host->slots.count)
		breach(c, "%s: more in flight than there are slots", n->name);
	if (!list_empty(&n->ring) && ready && !c->host->kicked)
		breach(c, "%s: somebody waits although there is room", n->name);
}

int
bridge_check(struct bridge_host *h, FILE *f)
{
	struct check c = { .host = h, .f = f };
	const struct bridge_flow *flow;

	host_lock(h);
	if (counts_make(&c))
		breach(&c, "no memory to check");
	else {
		check_slots(&c);
		list_for_each(flow, &h->flows, of_host)
			check_flow(&c, flow);
		for (unsigned i = 0; i < c.n; i++)
			check_node(&c, &c.counts[i]);
		if (!list_empty(&h->dirty) && !h->kicked)
			breach(&c, "a changed node was not looked at");
	}
	host_unlock(h);
	free(c.counts);
	return c.breaches;
}
