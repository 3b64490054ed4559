/* What an administrator sees and changes while the adapter runs. */
#include <errno.h>

#include "host.h"
#include "lun.h"
#include "mode.h"
#include "wait.h"

/* The adapter as one, however many parts it has had. */
static void
host_read(struct bridge_host *h, struct bridge_node_stats *s)
{
	struct hist waits = h->node->waits;

	node_read(h->node, s);
	s->limit = s->configured = h->limit;
	for (unsigned i = 0; i < REACTORS_MAX; i++) {
		struct bridge_node_stats q;

		if (!h->queue_node[i])
			continue;
		node_read(h->queue_node[i], &q);
		s->in_flight += q.in_flight;
		s->waiting += q.waiting;
		s->admitted += q.admitted;
		s->fast += q.fast;
		s->slow += q.slow;
		s->handoffs += q.handoffs;
		s->flushes += q.flushes;
		s->waited += q.waited;
		s->wait_ns += q.wait_ns;
		s->merged += q.merged;
		s->wait_max_ns = MAX(s->wait_max_ns, q.wait_max_ns);
		hist_merge(&waits, &h->queue_node[i]->waits);
	}
	s->wait_p50_ns = hist_quantile(&waits, 500);
	s->wait_p99_ns = hist_quantile(&waits, 990);
	h->node->max_in_flight = s->max_in_flight = MAX(s->max_in_flight, s->in_flight);
}

unsigned
bridge_stats(struct bridge_host *h, struct bridge_node_stats *s, unsigned max)
{
	static const uint8_t order[] = { AT_HOST, AT_TARGET, AT_LUN, AT_INITIATOR };
	struct bridge_node *n;
	unsigned count = 0;

	host_lock(h);
	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		list_for_each(n, &h->nodes[order[i]], link) {
			if (count++ >= max)
				continue;
			if (n == h->node)
				host_read(h, &s[count - 1]);
			else
				node_read(n, &s[count - 1]);
		}
	host_unlock(h, false);
	return count;
}

bool
bridge_reactor_stats(struct bridge_host *h, unsigned reactor, struct bridge_reactor_stats *s)
{
	const struct bridge_cpu *cpu;
	struct bridge_node *n;

	if (reactor >= h->ncpus)
		return false;
	cpu = h->cpu[reactor];
	*s = (struct bridge_reactor_stats){
		.combines = atomic_load_explicit(&cpu->combines, memory_order_relaxed),
		.ops = atomic_load_explicit(&cpu->ops, memory_order_relaxed),
		.grants = atomic_load_explicit(&cpu->grants, memory_order_relaxed),
	};
	host_lock(h);
	for (unsigned i = 0; (n = mode_part(h, i)); i++)
		s->kept += (uint32_t)cache_cred(&n->cache[reactor]);
	host_unlock(h, false);
	return true;
}

int
bridge_set_limit(struct bridge_host *h, enum bridge_kind kind, const char *name, uint32_t limit)
{
	struct bridge_node *n;
	int err = 0;

	if (limit < 1 || limit > h->slots.count)
		return -EINVAL;
	host_lock(h);
	n = host_find_node(h, kind, name);
	if (!n)
		err = -ENOENT;
	else if (n->level == AT_HOST)
		err = mode_set_limit(h, limit);
	else if (n->level == AT_LUN)
		lun_set_depth(n, limit);
	else
		node_set_limit(n, (int32_t)limit);
	host_unlock(h, !err);
	return err;
}

static int
node_freeze(struct bridge_host *h, enum bridge_kind kind, const char *name, bool frozen)
{
	struct bridge_node *n;

	host_lock(h);
	n = host_find_node(h, kind, name);
	if (n && n->level == AT_HOST) {
		h->frozen = frozen;
		mode_gate(h, GATE_FROZEN, frozen);
	} else if (n && frozen) {
		node_gate_set(n, GATE_FROZEN);
	} else if (n) {
		node_gate_clear(n, GATE_FROZEN);
	}
	host_unlock(h, n);
	return n ? 0 : -ENOENT;
}

int
bridge_freeze(struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	return node_freeze(h, kind, name, true);
}

int
bridge_thaw(struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	return node_freeze(h, kind, name, false);
}
