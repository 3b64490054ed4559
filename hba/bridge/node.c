/* A thing with a limit: its gate, its limit, and reading it out. */
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/*
 * The gate, then the adapter's count of gates: both before the caller looks at
 * `free` again. Who gives a credit back reads them after it, in the other order.
 */
void
node_gate_set(struct bridge_node *n, uint32_t bits)
{
	uint32_t old = atomic_load_explicit(&n->gate, memory_order_relaxed);

	if ((old & bits) == bits)
		return;
	atomic_store(&n->gate, old | bits);
	if (old == 0) {
		list_add_tail(&n->host->gated, &n->gated);
		atomic_fetch_add(&n->host->gates, 1);
	}
	YIELD_POINT();
}

void
node_gate_clear(struct bridge_node *n, uint32_t bits)
{
	uint32_t old = atomic_load_explicit(&n->gate, memory_order_relaxed);

	if ((old & bits) == 0)
		return;
	atomic_store(&n->gate, old & ~bits);
	if ((old & ~bits) == 0) {
		list_del(&n->gated);
		atomic_fetch_sub(&n->host->gates, 1);
	}
}

void
node_gate_look(struct bridge_node *n)
{
	uint32_t gate = atomic_load_explicit(&n->gate, memory_order_relaxed);

	if (likely(!(gate & (GATE_DEBT | GATE_LEAVING))))
		return;
	if (gate & GATE_DEBT && atomic_load(&n->free) >= 0)
		node_gate_clear(n, GATE_DEBT);
	if (gate & GATE_LEAVING && atomic_load(&n->free) == atomic_load(&n->limit))
		node_gate_clear(n, GATE_LEAVING);
}

/*
 * A cache of fewer than 2 is not worth its line, and where a limit is small, what
 * one reactor keeps others miss: all caches together hold at most half.
 */
int32_t
node_bcap(int32_t limit, unsigned users, int32_t cap)
{
	int32_t bcap = MIN(cap, limit / (4 * (int32_t)users));

	return bcap < 2 ? 0 : bcap;
}

static void
cache_size(struct bridge_node *n)
{
	unsigned users = (unsigned)atomic_load_explicit(&n->divisor, memory_order_relaxed) / 2;
	int32_t limit = atomic_load_explicit(&n->limit, memory_order_relaxed);

	for (unsigned i = 0; i < n->host->ncpus; i++)
		atomic_store_explicit(&n->cache[i].bcap, node_bcap(limit, users, n->cap),
		    memory_order_relaxed);
}

void
node_set_cache(struct bridge_node *n, unsigned users, int32_t cap)
{
	n->cap = cap;
	atomic_store_explicit(&n->divisor, 2 * (int32_t)users, memory_order_relaxed);
	cache_size(n);
}

void
node_set_limit(struct bridge_node *n, int32_t limit)
{
	int32_t old = atomic_load_explicit(&n->limit, memory_order_relaxed);

	/* First the gate: from here on nothing more goes out of the caches. */
	if (limit < old)
		node_gate_set(n, GATE_DEBT);
	atomic_store_explicit(&n->limit, limit, memory_order_relaxed);
	cache_size(n);
	node_give(n, limit - old + n->back);
	n->back = 0;
	node_gate_look(n);
}

uint32_t
node_in_flight(const struct bridge_node *n)
{
	int32_t out = atomic_load(&n->limit) - atomic_load(&n->free) - n->back;

	for (unsigned i = 0; i < n->host->ncpus; i++)
		out -= atomic_load_explicit(&n->cache[i].cred, memory_order_relaxed);
	return (uint32_t)MAX(out, 0);
}

uint64_t
node_admitted(const struct bridge_node *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n->host->ncpus; i++)
		sum += atomic_load_explicit(&n->cache[i].admitted, memory_order_relaxed);
	return sum - n->admitted_before;
}

uint64_t
node_flushes(const struct bridge_node *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n->host->ncpus; i++)
		sum += atomic_load_explicit(&n->cache[i].flushes, memory_order_relaxed);
	return sum;
}

void
node_count_max(struct bridge_node *n)
{
	int32_t out = atomic_load(&n->limit) - n->back -
	    atomic_load_explicit(&n->free, memory_order_relaxed);

	/* Only what might be a new one is counted in full. */
	if (out > (int32_t)n->max_in_flight)
		n->max_in_flight = MAX(n->max_in_flight, node_in_flight(n));
}

enum bridge_kind
node_kind(const struct bridge_node *n)
{
	static const uint8_t kinds[LEVELS] = {
		[AT_INITIATOR] = BRIDGE_INITIATOR,
		[AT_LUN] = BRIDGE_LUN,
		[AT_TARGET] = BRIDGE_TARGET,
		[AT_HOST] = BRIDGE_HOST,
	};

	return kinds[n->level];
}

static struct credit_cache *
caches_new(struct bridge_node *n, unsigned count)
{
	struct credit_cache *c = aligned_alloc(_Alignof(struct credit_cache), count * sizeof(*c));

	if (!c)
		return NULL;
	memset(c, 0, count * sizeof(*c));
	for (unsigned i = 0; i < count; i++)
		c[i].node = n;
	return c;
}

struct bridge_node *
node_new(struct bridge_host *h, enum level level, const char *name, int32_t limit)
{
	struct bridge_node *n = aligned_alloc(_Alignof(struct bridge_node), sizeof(*n));

	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	n->host = h;
	n->level = level;
	list_init(&n->ring);
	list_init(&n->look);
	list_init(&n->tidy);
	list_init(&n->gated);
	list_init(&n->link);
	atomic_init(&n->limit, limit);
	atomic_init(&n->free, limit);
	n->name = strdup(name);
	n->cache = caches_new(n, h->ncpus);
	if (!n->name || !n->cache) {
		node_free(n);
		return NULL;
	}
	node_set_cache(n, h->users, h->cap);
	return n;
}

void
node_free(struct bridge_node *n)
{
	if (!n)
		return;
	/* What nobody waits behind does not have to open before the end. */
	node_gate_clear(n, GATE_FROZEN | GATE_TIMER);
	assert(n->waiting == 0 && list_empty(&n->ring) && list_empty(&n->gated));
	list_del(&n->look);
	list_del(&n->tidy);
	list_del(&n->link);
	free(n->cache);
	free(n->name);
	free(n);
}

int
node_rename(struct bridge_node *n, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(n->name);
	n->name = copy;
	return 0;
}
