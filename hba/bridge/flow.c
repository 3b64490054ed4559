/* Initiators and their flows: made at login, gone at logout. */
#include "flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "wait.h"

static struct initiator *
initiator_find(struct list *in, const char *name)
{
	struct initiator *ini;

	list_for_each(ini, in, link)
		if (strcmp(ini->node->name, name) == 0)
			return ini;
	return NULL;
}

/* Its rate allows the next one, or was raised meanwhile. */
static void
rate_due(struct alarm *a, uint64_t now)
{
	struct initiator *ini = container_of(a, struct initiator, paid);
	uint64_t due = throttle_due(&ini->rates);

	if (due > now) {
		alarm_set(ini->node->host, a, due);
		return;
	}
	node_gate_clear(ini->node, GATE_TIMER);
	wait_touch(ini->node);
}

/* So late, at most, may the alarm of a rate be. */
enum { SLACK_NS = 200 * 1000 };

void
initiator_charge(struct initiator *ini, uint64_t requests, uint64_t bytes, uint64_t now)
{
	uint64_t due;

	if (likely(!throttle_is_set(&ini->rates)))
		return;
	throttle_charge(&ini->rates, requests, bytes, now);
	due = throttle_due(&ini->rates);
	if (due <= now)
		return;
	node_gate_set(ini->node, GATE_TIMER);
	/* What it saves up meanwhile it may use; a timer for each request would cost more. */
	alarm_set(ini->node->host, &ini->paid,
	    due + MIN(ini->rates.burst_ns / 4, (uint64_t)SLACK_NS));
}

void
initiator_pace(struct initiator *ini, struct bridge_host *h, const struct bridge_limits *limits)
{
	struct bridge_flow *f;

	throttle_set(&ini->rates, limits->iops, limits->bandwidth, limits->burst_ns, now_ns());
	list_for_each(f, &h->flows, of_host)
		if (f->initiator == ini)
			atomic_store_explicit(&f->paced, throttle_is_set(&ini->rates),
			    memory_order_relaxed);
	if (!throttle_is_set(&ini->rates))
		node_gate_clear(ini->node, GATE_TIMER);
	else if (atomic_load_explicit(&ini->node->gate, memory_order_relaxed) & GATE_TIMER)
		alarm_set(h, &ini->paid, throttle_due(&ini->rates));
}

static struct initiator *
initiator_new(struct bridge_host *h, const char *name)
{
	struct initiator *ini = aligned_alloc(_Alignof(struct initiator), sizeof(*ini));

	if (!ini)
		return NULL;
	memset(ini, 0, sizeof(*ini));
	ini->node = node_new(h, AT_INITIATOR, name, UNLIMITED);
	if (!ini->node) {
		free(ini);
		return NULL;
	}
	list_init(&ini->link);
	alarm_init(&ini->paid, rate_due);
	return ini;
}

/* One whose credits have all come home serves another name, so that their number is bounded. */
static struct initiator *
initiator_recycle(struct bridge_host *h, const char *name)
{
	struct initiator *ini;

	list_for_each(ini, &h->gone, link) {
		struct bridge_node *n = ini->node;

		if (atomic_load(&n->gate) & GATE_LEAVING)
			continue;
		if (node_rename(n, name))
			return NULL;
		n->admitted_before += node_admitted(n);
		n->max_in_flight = 0;
		n->counts = (struct wait_counts){ 0 };
		node_set_limit(n, UNLIMITED);
		node_gate_clear(n, GATE_TIMER);
		ini->depth = 0;
		ini->rates = (struct throttle){ 0 };
		return ini;
	}
	return NULL;
}

/* Another login with the same depth keeps what an administrator has set meanwhile. */
static void
initiator_limit(struct initiator *ini, uint32_t depth)
{
	if (depth == ini->depth)
		return;
	ini->depth = depth;
	node_set_limit(ini->node,
	    depth ? (int32_t)MIN(depth, (uint32_t)UNLIMITED) : UNLIMITED);
}

/* A name that has left and comes back finds what it still has in flight. */
static struct initiator *
initiator_get(struct bridge_host *h, const char *name, uint32_t depth)
{
	struct initiator *ini = initiator_find(&h->initiators, name);

	if (!ini) {
		ini = initiator_find(&h->gone, name);
		if (!ini)
			ini = initiator_recycle(h, name);
		if (!ini)
			ini = initiator_new(h, name);
		if (!ini)
			return NULL;
		node_gate_clear(ini->node, GATE_LEAVING);
		list_del(&ini->link);
		list_add_tail(&h->initiators, &ini->link);
		list_add_tail(&h->nodes[AT_INITIATOR], &ini->node->link);
	}
	initiator_limit(ini, depth);
	ini->flows++;
	return ini;
}

/* Its node stays: slots on their way back and reactors' caches name it. */
static void
initiator_put(struct bridge_host *h, struct initiator *ini)
{
	if (--ini->flows > 0)
		return;
	assert(!ini->dents && ini->node->waiting == 0);
	list_del(&ini->node->link);
	list_del(&ini->link);
	list_add_tail(&h->gone, &ini->link);
	node_gate_clear(ini->node, GATE_FROZEN);
	node_gate_set(ini->node, GATE_LEAVING);
	node_gate_look(ini->node);
}

void
flow_initiators_free(struct bridge_host *h)
{
	struct initiator *ini, *next;

	list_for_each_safe(ini, next, &h->gone, link) {
		list_del(&ini->link);
		node_free(ini->node);
		free(ini);
	}
}

struct dent *
dent_get(struct initiator *ini, struct bridge_node *n)
{
	struct dent *d;

	for (d = ini->dents; d; d = d->next)
		if (d->node == n) {
			d->users++;
			return d;
		}
	d = aligned_alloc(CACHE_LINE, sizeof(*d));
	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	list_init(&d->link);
	list_init(&d->flows);
	d->node = n;
	d->users = 1;
	d->next = ini->dents;
	ini->dents = d;
	return d;
}

void
dent_put(struct initiator *ini, struct dent *d)
{
	struct dent **at = &ini->dents;

	if (!d || --d->users > 0)
		return;
	assert(list_empty(&d->flows) && list_empty(&d->link));
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	free(d);
}

/* Takes a half-built flow. Under the lock. */
static void
flow_free(struct bridge_flow *f)
{
	if (f->initiator) {
		for (int i = 0; i < LEVELS; i++)
			dent_put(f->initiator, f->dent[i]);
		initiator_put(f->host, f->initiator);
	}
	list_del(&f->of_host);
	free(f);
}

/* FNV-1a. Never 0, which stands for nobody. */
static uint64_t
name_hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return h ? h : 1;
}

static struct bridge_flow *
flow_new(struct disk *disk, const char *initiator, uint32_t weight, struct reactor *home)
{
	struct bridge_flow *f = aligned_alloc(_Alignof(struct bridge_flow), sizeof(*f));

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->host = disk->host;
	f->cpu = f->host->cpu[reactor_id(home)];
	f->disk = disk;
	f->home = home;
	f->who = name_hash(initiator);
	f->weight = MAX(weight, 1u);
	f->at = NOWHERE;
	order_init(&f->queue);
	list_init(&f->link);
	list_init(&f->of_host);
	return f;
}

struct bridge_node *
flow_host_node(struct bridge_host *h, unsigned home)
{
	return h->mode == QUEUE_DIVIDED ? h->queue_node[home % h->queues] : h->node;
}

/* Finds its nodes, and its initiator's place at each. */
static bool
flow_join(struct bridge_flow *f, const char *initiator, const struct bridge_limits *limits)
{
	struct bridge_host *h = f->host;
	struct bridge_node *lun = h->luns[f->disk->node], *node[LEVELS];

	f->initiator = initiator_get(h, initiator, limits->depth);
	if (!f->initiator)
		return false;
	node[AT_INITIATOR] = f->initiator->node;
	node[AT_LUN] = lun;
	node[AT_TARGET] = lun->outward;
	node[AT_HOST] = flow_host_node(h, f->cpu->id);
	for (int i = 0; i < LEVELS; i++) {
		flow_set_node(f, i, node[i]);
		f->dent[i] = dent_get(f->initiator, node[i]);
		if (!f->dent[i])
			return false;
	}
	list_add_tail(&h->flows, &f->of_host);
	initiator_pace(f->initiator, h, limits);
	return true;
}

struct bridge_flow *
bridge_flow_get(struct disk *disk, const char *initiator, const struct bridge_limits *limits,
    struct reactor *home)
{
	struct bridge_flow *f = flow_new(disk, initiator, limits->weight, home);
	struct bridge_host *h = disk->host;

	if (!f)
		return NULL;
	host_lock(h);
	if (!flow_join(f, initiator, limits)) {
		flow_free(f);
		f = NULL;
	}
	/* A depth may have grown. */
	host_unlock(h, true);
	return f;
}

void
bridge_flow_limit(struct bridge_flow *f, const struct bridge_limits *limits)
{
	struct bridge_host *h = f->host;

	OWNED_BY(f->home);
	host_lock(h);
	f->weight = MAX(limits->weight, 1u);
	initiator_limit(f->initiator, limits->depth);
	initiator_pace(f->initiator, h, limits);
	host_unlock(h, true);
}

void
bridge_flow_put(struct bridge_flow *f)
{
	struct bridge_host *h;

	if (!f)
		return;
	h = f->host;
	host_lock(h);
	assert(order_empty(&f->queue) && f->at == NOWHERE);
	assert(f->sent == atomic_load_explicit(&f->left, memory_order_relaxed));
	flow_free(f);
	host_unlock(h, false);
}
