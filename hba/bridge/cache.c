/* What one reactor keeps of one adapter: credits and tags, fetched and given back by the handful. */
#include "cache.h"

#include "host.h"

/* Never 0: without caches each credit is fetched alone. */
static int32_t
fetch_size(const struct bridge_node *n)
{
	return MAX(atomic_load_explicit(&n->bcap, memory_order_relaxed), 1);
}

bool
cache_refill(struct bridge_cpu *cpu, struct credit_cache *c)
{
	int32_t got = node_claim(c->node, fetch_size(c->node));

	if (got == 0)
		return false;
	if (got > 1) {
		cache_cred_set(c, got - 1);
		cache_list(cpu, c);
	}
	return true;
}

struct slot *
cache_refill_tags(struct bridge_cpu *cpu, struct bridge_node *n)
{
	struct slots *slots = &cpu->host->slots;
	struct credit_cache *c = &n->cache[cpu->id];
	int32_t got;

	/* After a change of mode; the stack is one node's at a time. */
	if (unlikely(cpu->tags_of != n)) {
		if (cpu->tags_of)
			cache_flush(cpu, &cpu->tags_of->cache[cpu->id]);
		cpu->tags_of = n;
	}
	got = node_claim(n, fetch_size(n));
	if (got == 0)
		return NULL;
	tags_get(slots, cpu->tags, got, &cpu->hint);
	if (got > 1) {
		cache_cred_set(c, got - 1);
		cache_list(cpu, c);
	}
	return &slots->slot[cpu->tags[got - 1]];
}

void
cache_give_tag(struct bridge_cpu *cpu, struct bridge_node *n, uint32_t tag)
{
	bool empty = !cpu->tags_of || !cache_cred(&cpu->tags_of->cache[cpu->id]);

	/* From the next one on. */
	if (empty)
		cpu->tags_of = n;
	/* The bit first: where there is a credit there is a tag. */
	tags_put(&cpu->host->slots, tag);
	node_give(n, 1);
}

void
cache_trim(struct bridge_cpu *cpu, struct credit_cache *c, int32_t keep)
{
	int32_t have = cache_cred(c);

	cache_cred_set(c, keep);
	if (c->node->level == AT_HOST)
		for (int32_t i = keep; i < have; i++)
			tags_put(&cpu->host->slots, cpu->tags[i]);
	YIELD_POINT();
	node_give(c->node, have - keep);
}

bool
cache_flush(struct bridge_cpu *cpu, struct credit_cache *c)
{
	if (cache_cred(c) == 0)
		return false;
	cache_trim(cpu, c, 0);
	atomic_store_explicit(&c->flushes, c->flushes + 1, memory_order_relaxed);
	return true;
}

bool
cache_flush_held(struct bridge_cpu *cpu, bool all)
{
	struct credit_cache **at = &cpu->held, *c;
	bool any = false;

	while ((c = *at)) {
		if (all || atomic_load(&c->node->gate))
			any |= cache_flush(cpu, c);
		if (cache_cred(c) > 0) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->listed = false;
	}
	return any;
}
