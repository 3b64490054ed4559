/* A LUN whose disk has less room than configured, or answers late: its depth follows. */
#include "lun.h"

#include "host.h"
#include "inbox.h"
#include "wait.h"

uint64_t lun_patience_ns = 5000000000;

/* Who has the lock looks at the ring before dropping it. */
static void
limit_follow(struct bridge_node *n)
{
	node_set_limit(n, (int32_t)n->depth.limit);
	wait_touch(n);
}

static void
ramp_arm(struct bridge_node *n)
{
	uint64_t due = depth_due(&n->depth);

	if (due != UINT64_MAX)
		alarm_set(n->host, &n->ramp, due);
}

static void
ramp_due(struct alarm *a, uint64_t now)
{
	struct bridge_node *n = container_of(a, struct bridge_node, ramp);

	if (depth_grow(&n->depth, now))
		limit_follow(n);
	ramp_arm(n);
}

static void
retry_due(struct alarm *a, uint64_t now)
{
	struct bridge_node *n = container_of(a, struct bridge_node, retry);

	node_gate_clear(n, GATE_TIMER);
	wait_touch(n);
}

void
lun_init(struct bridge_node *n, uint32_t depth)
{
	depth_init(&n->depth, depth, 0);
	alarm_init(&n->ramp, ramp_due);
	alarm_init(&n->retry, retry_due);
}

void
lun_set_depth(struct bridge_node *n, uint32_t depth)
{
	depth_configure(&n->depth, depth, n->depth.target_ns);
	limit_follow(n);
}

void
lun_set_target(struct bridge_node *n, uint64_t target_ns)
{
	if (n->depth.target_ns == target_ns)
		return;
	depth_configure(&n->depth, n->depth.configured, target_ns);
	for (unsigned i = 0; i < n->host->ncpus; i++)
		atomic_store_explicit(&n->cache[i].timed, target_ns > 0, memory_order_relaxed);
	limit_follow(n);
}

/*
 * in_flight may be wrong by what reactors take and give back at this moment.
 * Too high: then one of those will be a release, and the ring is looked at. Too
 * low: the timer stands for nothing.
 */
void
lun_full(struct bridge_node *n, uint64_t now)
{
	uint32_t others = node_in_flight(n);

	if (depth_full(&n->depth, others + 1, now))
		limit_follow(n);
	ramp_arm(n);
	if (others > 0)
		return;
	node_gate_set(n, GATE_TIMER);
	alarm_set(n->host, &n->retry, now + LUN_RETRY_NS);
}

void
lun_told(struct credit_cache *c)
{
	struct bridge_node *n = c->node;

	if (depth_sample(&n->depth, c->told_ns, c->told_took, now_ns()))
		limit_follow(n);
	/* Release: the owner may write the next ones. */
	atomic_store_explicit(&c->told, false, memory_order_release);
}

void
lun_took(struct bridge_cpu *cpu, struct bridge_node *n, uint64_t sent_ns)
{
	struct credit_cache *c = &n->cache[cpu->id];
	uint64_t now = now_ns();

	if (c->took == 0)
		c->took_since = now;
	c->took++;
	c->took_ns += now > sent_ns ? now - sent_ns : 0;
	if (now - c->took_since < LUN_TELL_NS ||
	    atomic_load_explicit(&c->told, memory_order_acquire))
		return;
	c->told_took = c->took;
	c->told_ns = c->took_ns;
	c->took = 0;
	c->took_ns = 0;
	atomic_store_explicit(&c->told, true, memory_order_relaxed);
	inbox_add(cpu, &c->op, OP_TOOK);
}
