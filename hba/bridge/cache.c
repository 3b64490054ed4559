/* What one reactor keeps of one adapter: credits and tags, fetched and given back by the handful. */
#include "cache.h"

#include "host.h"

/* One at least: without caches each credit is fetched alone. */
static int32_t
fetch(struct credit_cache *c)
{
	int32_t bcap = atomic_load_explicit(&c->bcap, memory_order_relaxed);

	return bcap ? node_claim(c->node, bcap) : node_claim_one(c->node);
}

bool
cache_refill(struct bridge_cpu *cpu, struct credit_cache *c)
{
	int32_t got = fetch(c);

	if (got > 1) {
		cache_cred_set(c, got - 1);
		cache_list(cpu, c);
	}
	return got > 0;
}

struct slot *
cache_refill_tags(struct bridge_cpu *cpu, struct credit_cache *c)
{
	struct slots *slots = &cpu->host->slots;
	int32_t got;

	/* After a change of mode; the stack is one node's at a time. */
	if (unlikely(cpu->tags_of != c)) {
		if (cpu->tags_of)
			cache_flush(cpu, cpu->tags_of);
		cpu->tags_of = c;
	}
	got = fetch(c);
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
cache_give_tag(struct bridge_cpu *cpu, struct credit_cache *c, uint32_t tag)
{
	/* From the next one on. */
	if (!cpu->tags_of || cache_cred(cpu->tags_of) == 0)
		cpu->tags_of = c;
	/* The bit first: where there is a credit there is a tag. */
	tags_put(&cpu->host->slots, tag);
	node_give(c->node, 1);
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
