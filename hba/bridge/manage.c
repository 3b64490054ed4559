/* What an administrator sees and changes while the adapter runs. */
#include <errno.h>
#include <string.h>

#include "host.h"
#include "lun.h"
#include "mode.h"
#include "wait.h"

static void
counts_add(struct wait_counts *sum, const struct wait_counts *more)
{
	sum->handed += more->handed;
	sum->merged += more->merged;
	sum->ns += more->ns;
	hist_merge(&sum->waits, &more->waits);
}

/* Its own, or those of the LUNs behind it. Returns how many did not wait. */
static uint64_t
counts_of(const struct bridge_node *n, struct wait_counts *sum)
{
	const struct bridge_node *lun;
	uint64_t fast = 0;

	if (n->level == AT_INITIATOR || n->level == AT_LUN) {
		*sum = n->counts;
		return node_admitted(n);
	}
	memset(sum, 0, sizeof(*sum));
	list_for_each(lun, &n->host->nodes[AT_LUN], link)
		if (n->level == AT_HOST || lun->outward == n) {
			counts_add(sum, &lun->counts);
			fast += node_admitted(lun);
		}
	return fast;
}

static uint32_t
waiting_of(const struct bridge_node *n)
{
	const struct bridge_node *lun;
	uint32_t waiting = 0;

	if (n->level == AT_INITIATOR || n->level == AT_LUN)
		return n->waiting;
	list_for_each(lun, &n->host->nodes[AT_LUN], link)
		if (n->level == AT_HOST || lun->outward == n)
			waiting += lun->waiting;
	return waiting;
}

/* The adapter is one node, or one for each queue, and in time may have been both. */
static void
credits_read(struct bridge_node *n, struct bridge_node_stats *s)
{
	uint32_t now = node_in_flight(n);

	n->max_in_flight = MAX(n->max_in_flight, now);
	s->in_flight += now;
	s->max_in_flight += n->max_in_flight;
	s->flushes += node_flushes(n);
}

static void
queues_read(struct bridge_host *h, struct bridge_node_stats *s)
{
	uint32_t together = s->max_in_flight;

	s->max_in_flight = 0;
	for (unsigned i = 0; i < REACTORS_MAX; i++)
		if (h->queue_node[i])
			credits_read(h->queue_node[i], s);
	s->max_in_flight = MAX(s->max_in_flight, together);
}

static uint32_t
limit_of(const struct bridge_node *n)
{
	int32_t limit = atomic_load(&n->limit);

	if (n->level == AT_HOST)
		return n->host->limit;
	return limit == UNLIMITED ? UINT32_MAX : (uint32_t)limit;
}

static void
node_read(struct bridge_node *n, struct bridge_node_stats *s)
{
	struct wait_counts c;

	memset(s, 0, sizeof(*s));
	s->kind = node_kind(n);
	memcpy(s->name, n->name, strnlen(n->name, sizeof(s->name) - 1));
	s->limit = limit_of(n);
	s->configured = n->level == AT_LUN ? n->depth.configured : s->limit;
	credits_read(n, s);
	if (n->level == AT_HOST)
		queues_read(n->host, s);
	s->fast = counts_of(n, &c);
	s->waiting = waiting_of(n);
	s->waited = s->slow = c.waits.n;
	s->admitted = s->fast + s->slow;
	s->handoffs = c.handed;
	s->merged = c.merged;
	s->wait_ns = c.ns;
	s->wait_max_ns = c.waits.max_ns;
	s->wait_p50_ns = hist_quantile(&c.waits, 500);
	s->wait_p99_ns = hist_quantile(&c.waits, 990);
}

unsigned
bridge_stats(struct bridge_host *h, struct bridge_node_stats *s, unsigned max)
{
	static const uint8_t order[] = { AT_HOST, AT_TARGET, AT_LUN, AT_INITIATOR };
	struct bridge_node *n;
	unsigned count = 0;

	host_lock(h);
	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		list_for_each(n, &h->nodes[order[i]], link)
			if (count++ < max)
				node_read(n, &s[count - 1]);
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
