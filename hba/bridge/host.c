/* One adapter: made with its nodes, found, and taken down. */
#include "host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admit.h"

/* Changes only while no other thread uses the bridge: adapters_open and adapters_close. */
static struct list hosts = LIST_INIT(hosts);

static int
lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err;

	err = pthread_mutexattr_init(&attr);
	if (err)
		return -err;
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	err = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

struct bridge_host *
host_new(const char *name, uint32_t can_queue, uint32_t max_waiters)
{
	struct bridge_host *h = aligned_alloc(_Alignof(struct bridge_host), sizeof(*h));
	char *copy = strdup(name);

	if (!h || !copy)
		goto no_memory;
	memset(h, 0, sizeof(*h));
	if (slots_init(&h->slots, can_queue) || lock_init(&h->lock)) {
		slots_fini(&h->slots);
		goto no_memory;
	}
	bridge_node_init(&h->node, AT_HOST, copy, can_queue);
	list_init(&h->dirty);
	list_init(&h->initiators);
	list_init(&h->flows);
	for (int i = 0; i < LEVELS; i++)
		list_init(&h->nodes[i]);
	list_add_tail(&h->nodes[AT_HOST], &h->node.link);
	h->max_waiters = max_waiters;
	h->kick.fn = admit_kicked;
	list_add_tail(&hosts, &h->link);
	return h;
no_memory:
	free(h);
	free(copy);
	return NULL;
}

static struct bridge_node *
add_node(struct bridge_host *h, enum level level, const char *name, uint32_t limit)
{
	struct bridge_node *n = bridge_node_new(level, name, limit);

	if (n)
		list_add_tail(&h->nodes[level], &n->link);
	return n;
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
	return h->nluns++;
}

void
host_free(struct bridge_host *h)
{
	struct bridge_node *n, *next;

	if (!h)
		return;
	assert(list_empty(&h->flows) && list_empty(&h->initiators));
	assert(h->node.in_flight == 0 && !h->kicked);
	slots_fini(&h->slots);
	list_for_each_safe(n, next, &h->nodes[AT_LUN], link)
		bridge_node_free(n);
	list_for_each_safe(n, next, &h->nodes[AT_TARGET], link)
		bridge_node_free(n);
	list_del(&h->link);
	pthread_mutex_destroy(&h->lock);
	free(h->luns);
	free(h->node.name);
	free(h);
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

struct bridge_host *
bridge_host_next(struct bridge_host *h)
{
	struct list *next = h ? h->link.next : hosts.next;

	return next == &hosts ? NULL : list_entry(next, struct bridge_host, link);
}

const char *
bridge_host_name(const struct bridge_host *h)
{
	return h->node.name;
}
