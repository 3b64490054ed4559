/* One adapter: made with its nodes, found, and taken down. */
#include "host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "lun.h"
#include "mode.h"
#include "poll.h"
#include "run.h"

#ifdef BQ_YIELD
void (*bridge_yield)(void);
#endif

/* Changes only while no other thread uses the bridge: adapters_open and adapters_close. */
static struct list hosts = LIST_INIT(hosts);

static int
cpus_new(struct bridge_host *h)
{
	h->cpu = calloc(h->ncpus, sizeof(*h->cpu));
	if (!h->cpu)
		return -ENOMEM;
	for (unsigned i = 0; i < h->ncpus; i++) {
		h->cpu[i] = cpu_new(h, i);
		if (!h->cpu[i])
			return -ENOMEM;
	}
	return 0;
}

static void
lists_init(struct bridge_host *h)
{
	struct list *const all[] = { &h->dirty, &h->serve, &h->tidy, &h->gated,
		&h->initiators, &h->flows, &h->gone, &h->link };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		list_init(all[i]);
	for (int i = 0; i < LEVELS; i++)
		list_init(&h->nodes[i]);
}

/* Takes a half-built host. */
static void
host_destroy(struct bridge_host *h)
{
	struct bridge_node *n, *next;

	list_del(&h->link);
	flow_initiators_free(h);
	for (int i = 0; i < LEVELS; i++)
		list_for_each_safe(n, next, &h->nodes[i], link)
			node_free(n);
	for (unsigned i = 0; i < REACTORS_MAX; i++)
		node_free(h->queue_node[i]);
	for (unsigned i = 0; i < h->ncpus && h->cpu; i++)
		free(h->cpu[i]);
	merge_pool_fini(&h->merges);
	slots_fini(&h->slots);
	free(h->cpu);
	free(h->luns);
	free(h);
}

static struct bridge_node *
add_node(struct bridge_host *h, enum level level, const char *name, uint32_t limit)
{
	struct bridge_node *n = node_new(h, level, name, (int32_t)limit);

	if (n)
		list_add_tail(&h->nodes[level], &n->link);
	return n;
}

struct bridge_host *
host_new(const char *name, uint32_t can_queue, uint32_t max_waiters)
{
	struct bridge_host *h = aligned_alloc(_Alignof(struct bridge_host), sizeof(*h));

	if (!h)
		return NULL;
	memset(h, 0, sizeof(*h));
	lists_init(h);
	h->ncpus = h->users = h->queues = reactor_count();
	h->cap = BCAP_MAX;
	h->limit = can_queue;
	h->max_waiters = max_waiters;
	h->kick.fn = run_kicked;
	h->policy.turn = 1;
	h->armed_at = UINT64_MAX;
	if (slots_init(&h->slots, can_queue) || cpus_new(h))
		goto no_memory;
	h->node = add_node(h, AT_HOST, name, can_queue);
	if (!h->node)
		goto no_memory;
	list_add_tail(&hosts, &h->link);
	return h;
no_memory:
	host_destroy(h);
	return NULL;
}

int
host_add_lun(struct bridge_host *h, const char *name, uint32_t depth, const char *target,
    uint32_t target_depth)
{
	struct bridge_node *outward = host_find_node(h, BRIDGE_TARGET, target);
	struct bridge_node **luns = realloc(h->luns, (h->nluns + 1) * sizeof(struct bridge_node *));

	if (!luns)
		return -ENOMEM;
	h->luns = luns;
	if (!outward)
		outward = add_node(h, AT_TARGET, target, target_depth);
	if (!outward)
		return -ENOMEM;
	luns[h->nluns] = add_node(h, AT_LUN, name, depth);
	if (!luns[h->nluns])
		return -ENOMEM;
	luns[h->nluns]->outward = outward;
	lun_init(luns[h->nluns], depth);
	return h->nluns++;
}

static void
open_on(void *arg)
{
	struct bridge_host *h = arg;

	cpu_open(h->cpu[reactor_id(reactor_self())]);
}

static void
close_on(void *arg)
{
	struct bridge_host *h = arg;

	cpu_close(h->cpu[reactor_id(reactor_self())]);
}

static void
nothing(void *arg)
{
}

int
host_start(struct bridge_host *h, int mode, uint32_t queues)
{
	int err = mode_set(h, mode, queues);

	if (err)
		return err;
	for (unsigned i = 0; i < h->ncpus; i++)
		reactor_call(reactor_get(i), open_on, h);
	h->started = true;
	return 0;
}

/* What reactors keep or have not sent comes back; nothing runs and nobody waits. */
void
host_free(struct bridge_host *h)
{
	if (!h)
		return;
	assert(list_empty(&h->flows) && list_empty(&h->initiators));
	assert(host_slots_out(h, NULL) == 0);
	for (unsigned i = 0; i < h->ncpus && h->started; i++)
		reactor_call(reactor_get(i), close_on, h);
	/* Twice: a kick may be on its way to a reactor, which may pass it on to the first. */
	for (unsigned i = 0; i < 2 * h->ncpus; i++)
		reactor_call(reactor_get(i / 2 % h->ncpus), nothing, NULL);
	assert(!atomic_load(&h->inbox) && !atomic_load(&h->kicked));
	host_destroy(h);
}

struct bridge_node *
host_find_node(struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	static const uint8_t levels[] = {
		[BRIDGE_HOST] = AT_HOST,
		[BRIDGE_TARGET] = AT_TARGET,
		[BRIDGE_LUN] = AT_LUN,
		[BRIDGE_INITIATOR] = AT_INITIATOR,
	};
	struct bridge_node *n;

	list_for_each(n, &h->nodes[levels[kind]], link)
		if (strcmp(n->name, name) == 0)
			return n;
	return NULL;
}

unsigned
host_slots_out(const struct bridge_host *h, const struct bridge_node *lun)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < h->slots.count + SLOTS_RESERVED; i++) {
		const struct slot *s = &h->slots.slot[i];
		enum slot_state state = slot_state(s);

		if (state == SLOT_HELD || state == SLOT_INFLIGHT || state == SLOT_ABORTING)
			n += !lun || atomic_load_explicit(&s->node[AT_LUN],
			    memory_order_relaxed) == lun;
	}
	return n;
}

struct bridge_host *
bridge_host_next(struct bridge_host *h)
{
	struct list *next = h ? h->link.next : hosts.next;

	return next == &hosts ? NULL : list_entry(next, struct bridge_host, link);
}

const char *
bridge_host_name(const struct bridge_host *h)
{
	return h->node->name;
}
