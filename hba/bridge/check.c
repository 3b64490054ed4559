/* Recounts what the bridge believes (invariants I1 to I8 of docs/BRIDGE.md). */
#include <stdarg.h>
#include <time.h>

#include "flow.h"
#include "host.h"
#include "mode.h"
#include "wait.h"

/*
 * What is under the lock is exact at any time. Sums over reactors are exact only
 * when nothing moves: a difference counts when it stays, with everything else as
 * it is, for so many looks.
 */
enum { LOOKS = 20, LOOK_NS = 20000000 };

struct check {
	struct bridge_host *host;
	FILE *f;			/* NULL: count only */
	int hard, soft, gates;
	uint64_t print;			/* of all that moves: differs if something moved */
};

__attribute__((format(printf, 3, 4)))
static void
breach(struct check *c, int *kind, const char *fmt, ...)
{
	va_list args;

	(*kind)++;
	if (!c->f)
		return;
	fprintf(c->f, "bridge %s: ", c->host->node->name);
	va_start(args, fmt);
	vfprintf(c->f, fmt, args);
	va_end(args);
	fputc('\n', c->f);
}

static void
print_add(struct check *c, uint64_t v)
{
	c->print = (c->print ^ v) * 0x100000001b3u;
}

static void
each_node(struct check *c, void (*fn)(struct check *, struct bridge_node *))
{
	struct bridge_host *h = c->host;
	struct initiator *ini;
	struct bridge_node *n;

	for (int i = 0; i < LEVELS; i++)
		list_for_each(n, &h->nodes[i], link)
			fn(c, n);
	list_for_each(ini, &h->gone, link)
		fn(c, ini->node);
	for (unsigned i = 0; i < REACTORS_MAX; i++)
		if (h->queue_node[i])
			fn(c, h->queue_node[i]);
}

static void
recount_clear(struct check *c, struct bridge_node *n)
{
	n->recount = (struct recount){ 0 };
}

/* I1, I2: slots and what they hold. Those on their way through the inbox hold it still. */
static void
check_slots(struct check *c)
{
	const struct slots *s = &c->host->slots;
	uint32_t out = 0, spare = tags_spare(s), kept = 0;
	uint32_t reserved = (uint32_t)__builtin_popcount(atomic_load(&s->reserved));
	struct bridge_node *n;

	for (uint32_t i = 0; i < s->count + SLOTS_RESERVED; i++) {
		const struct slot *slot = &s->slot[i];

		print_add(c, atomic_load_explicit(&slot->word, memory_order_relaxed));
		if (slot_state(slot) == SLOT_FREE)
			continue;
		if (slot_is_reserved(s, slot)) {
			reserved++;
			continue;
		}
		out++;
		for (int k = 0; k < LEVELS; k++) {
			n = atomic_load_explicit(&slot->node[k], memory_order_relaxed);
			if (n)
				n->recount.out++;
		}
	}
	for (unsigned i = 0; (n = mode_part(c->host, i)); i++)
		for (unsigned k = 0; k < c->host->ncpus; k++)
			kept += (uint32_t)cache_cred(&n->cache[k]);
	if (out + spare + kept != s->count)
		breach(c, &c->soft, "%u slots out, %u spare, %u kept by reactors, of %u", out,
		    spare, kept, s->count);
	if (reserved != SLOTS_RESERVED)
		breach(c, &c->soft, "%u reserved slots out and spare", reserved);
}

/* I5, I6: a flow with waiters is in one ring, one without is in none; waiters hold nothing. */
static void
check_flow(struct check *c, const struct bridge_flow *f)
{
	const char *name = flow_node(f, AT_INITIATOR)->name;
	const struct bridge_req *req;
	uint32_t waiting = 0;

	for (req = order_next(&f->queue, NULL); req; req = order_next(&f->queue, req)) {
		waiting++;
		if (req->state != REQ_WAITING || req->flow != f)
			breach(c, &c->hard, "a waiter of %s is in state %u", name, req->state);
	}
	if ((f->at == NOWHERE) != (waiting == 0))
		breach(c, &c->hard, "flow %s to %s: %u waiting, at %u", name, f->disk->name,
		    waiting, f->at);
	if (f->at != NOWHERE && (list_empty(&f->link) || list_empty(&f->dent[f->at]->link)))
		breach(c, &c->hard, "flow %s to %s is not in its ring", name, f->disk->name);
	for (int i = 0; i < LEVELS; i++) {
		struct recount *r = &flow_node(f, i)->recount;

		r->waiting += waiting;
		if (f->at != NOWHERE && flow_has_passed(f, i, f->at))
			r->outer++;
	}
}

/* Somebody is about to look at all who wait. */
static bool
is_pending(struct bridge_host *h)
{
	return atomic_load(&h->inbox) || atomic_load(&h->recheck) || atomic_load(&h->kicked);
}

/* I1, I3, I8: counters, gates, and that nobody waits at a node that could let it pass. */
static void
check_node(struct check *c, struct bridge_node *n)
{
	int32_t free = atomic_load(&n->free), limit = atomic_load(&n->limit), kept = 0;
	uint32_t gate = atomic_load(&n->gate);
	bool ring = !list_empty(&n->ring);

	for (unsigned i = 0; i < c->host->ncpus; i++) {
		kept += cache_cred(&n->cache[i]);
		print_add(c, atomic_load_explicit(&n->cache[i].admitted, memory_order_relaxed));
	}
	print_add(c, (uint64_t)(uint32_t)free << 32 | (uint32_t)kept);
	print_add(c, n->counts.waits.n);
	if (n->outer != (int32_t)n->recount.outer)
		breach(c, &c->hard, "%s: passed %d, counted %u", n->name, n->outer,
		    n->recount.outer);
	if ((n->level == AT_INITIATOR || n->level == AT_LUN) &&
	    n->waiting != n->recount.waiting)
		breach(c, &c->hard, "%s: waiting %u, counted %u", n->name, n->waiting,
		    n->recount.waiting);
	if (ring && !(gate & GATE_RING))
		breach(c, &c->hard, "%s: somebody waits and the gate is open", n->name);
	if ((gate != 0) == list_empty(&n->gated))
		breach(c, &c->hard, "%s: gate %x is not counted right", n->name, gate);
	if (free > limit)
		breach(c, &c->hard, "%s: %d of %d free", n->name, free, limit);
	if (free < 0 && !(gate & GATE_DEBT))
		breach(c, &c->hard, "%s: %d free, but no debt", n->name, free);
	c->gates += gate != 0;
	if (free + kept + (int32_t)n->recount.out != limit)
		breach(c, &c->soft, "%s: %d free, %d kept by reactors, %u in flight, of %d",
		    n->name, free, kept, n->recount.out, limit);
	if (ring && !node_stopped(n) && free > (n->level == AT_HOST ? 0 : n->outer) &&
	    !is_pending(c->host))
		breach(c, &c->soft, "%s: somebody waits although there is room", n->name);
	if (!ring && gate & GATE_RING)
		breach(c, &c->soft, "%s: the gate is shut for nobody", n->name);
}

/* Under the lock. */
static void
look(struct check *c, FILE *f)
{
	struct bridge_host *h = c->host;
	const struct bridge_flow *flow;

	*c = (struct check){ .host = h, .f = f };
	each_node(c, recount_clear);
	check_slots(c);
	list_for_each(flow, &h->flows, of_host)
		check_flow(c, flow);
	each_node(c, check_node);
	if (c->gates != atomic_load(&h->gates))
		breach(c, &c->hard, "%d gates, counted %d", atomic_load(&h->gates), c->gates);
}

int
bridge_check(struct bridge_host *h, FILE *f)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct check c = { .host = h };
	uint64_t before = 0;

	for (int i = 0; i < LOOKS; i++) {
		host_lock(h);
		look(&c, NULL);
		if (c.hard)
			look(&c, f);
		host_unlock(h, false);
		if (c.hard)
			return c.hard + c.soft;
		if (c.soft == 0 || (i > 0 && c.print != before))
			return 0;
		before = c.print;
		nanosleep(&pause, NULL);
	}
	host_lock(h);
	look(&c, f);
	host_unlock(h, false);
	return c.hard + c.soft;
}
