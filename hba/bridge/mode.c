/* How an adapter's hardware queues share its slots, and changing that while it runs. */
#include "mode.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "conf.h"
#include "flow.h"
#include "wait.h"

static bool
is_single(int mode)
{
	return mode == QUEUE_SINGLE || mode == QUEUE_SHARED_SINGLE;
}

struct bridge_node *
mode_part(struct bridge_host *h, unsigned i)
{
	if (h->mode == QUEUE_DIVIDED)
		return i < h->queues ? h->queue_node[i] : NULL;
	return i == 0 ? h->node : NULL;
}

void
mode_gate(struct bridge_host *h, uint32_t bits, bool on)
{
	struct bridge_node *n;

	for (unsigned i = 0; (n = mode_part(h, i)); i++)
		if (on)
			node_gate_set(n, bits);
		else
			node_gate_clear(n, bits);
}

int
mode_set_limit(struct bridge_host *h, uint32_t limit)
{
	struct bridge_node *n;
	uint32_t parts = h->mode == QUEUE_DIVIDED ? h->queues : 1;

	if (limit < parts)
		return -EINVAL;
	h->limit = limit;
	for (unsigned i = 0; (n = mode_part(h, i)); i++) {
		node_set_limit(n, (int32_t)(limit / parts));
		wait_touch(n);
	}
	return 0;
}

void
mode_set_caches(struct bridge_host *h)
{
	unsigned queue_users = (h->ncpus + h->queues - 1) / h->queues;
	struct initiator *ini;
	struct bridge_node *n;

	h->users = h->mode == QUEUE_SINGLE ? 1 : h->ncpus;
	for (int i = 0; i < LEVELS; i++)
		list_for_each(n, &h->nodes[i], link)
			node_set_cache(n, h->users, h->cap);
	list_for_each(ini, &h->gone, link)
		node_set_cache(ini->node, h->users, h->cap);
	/* A quota that others may have back: as shared, but a queue keeps more. */
	if (h->mode == QUEUE_DIVIDED_BORROW && h->cap == BCAP_MAX)
		node_set_cache(h->node, h->queues, BCAP_BORROW_MAX);
	for (unsigned i = 0; h->mode == QUEUE_DIVIDED && (n = mode_part(h, i)); i++)
		node_set_cache(n, queue_users, h->cap);
}

void
host_set_cap(struct bridge_host *h, int32_t cap)
{
	host_lock(h);
	h->cap = cap < 0 ? BCAP_MAX : MIN(cap, (int32_t)BCAP_MAX);
	mode_set_caches(h);
	host_unlock(h, true);
}

/* Which reactor submits what it lets go, and whether it does. */
static void
set_submitters(struct bridge_host *h)
{
	for (unsigned i = 0; i < h->ncpus; i++) {
		struct bridge_cpu *cpu = h->cpu[i];

		atomic_store_explicit(&cpu->to, is_single(h->mode) ? 0 : i % h->queues,
		    memory_order_relaxed);
		atomic_store_explicit(&cpu->combines_here, h->mode != QUEUE_SINGLE || i == 0,
		    memory_order_relaxed);
	}
}

/*
 * The last part: no credit of the adapter is anywhere. They appear again at the
 * nodes of the new mode; those that are out of use keep a limit of 0, so that
 * who still has the old pointer merely gets nothing.
 */
static void
mode_enter(struct bridge_host *h, int mode, uint32_t queues)
{
	struct bridge_node *n;

	for (unsigned i = 0; (n = mode_part(h, i)); i++) {
		atomic_store(&n->limit, 0);
		node_gate_clear(n, GATE_FROZEN | GATE_SWITCH);
	}
	h->mode = mode;
	h->queues = queues;
	mode_set_caches(h);
	set_submitters(h);
	if (h->frozen)
		mode_gate(h, GATE_FROZEN, true);
	mode_set_limit(h, h->limit);
}

static int
check(const struct bridge_host *h, int mode, uint32_t *queues)
{
	if (mode < QUEUE_SHARED || mode > QUEUE_DIVIDED_BORROW || *queues > h->ncpus)
		return -EINVAL;
	if (*queues == 0)
		*queues = is_single(mode) ? 1 : h->ncpus;
	if (is_single(mode) && *queues != 1)
		return -EINVAL;
	return mode == QUEUE_DIVIDED && h->limit < *queues ? -EINVAL : 0;
}

/* Made once and kept: others may still look at the gate of one that is out of use. */
static int
queue_nodes_make(struct bridge_host *h, int mode, uint32_t queues)
{
	char name[24];

	if (mode != QUEUE_DIVIDED)
		return 0;
	for (uint32_t i = 0; i < queues; i++) {
		if (h->queue_node[i])
			continue;
		snprintf(name, sizeof(name), "queue %u", i);
		h->queue_node[i] = node_new(h, AT_HOST, name, 0);
		if (!h->queue_node[i])
			return -ENOMEM;
	}
	return 0;
}

/* Takes every credit of the adapter, if all have come home. */
static bool
claim_all(struct bridge_host *h)
{
	struct bridge_node *n;

	for (unsigned i = 0; (n = mode_part(h, i)); i++) {
		int32_t all = atomic_load(&n->limit);

		if (atomic_compare_exchange_strong(&n->free, &all, 0))
			continue;
		while (i-- > 0) {
			n = mode_part(h, i);
			node_give(n, atomic_load(&n->limit));
		}
		return false;
	}
	return true;
}

static void
unclaim_all(struct bridge_host *h)
{
	struct bridge_node *n;

	for (unsigned i = 0; (n = mode_part(h, i)); i++)
		node_give(n, atomic_load(&n->limit));
}

static struct bridge_node *
node_in_mode(struct bridge_host *h, int mode, uint32_t queues, const struct bridge_flow *f)
{
	return mode == QUEUE_DIVIDED ? h->queue_node[f->cpu->id % queues] : h->node;
}

/* Its initiator's place at the new node for every flow, or for none. */
static int
dents_make(struct bridge_host *h, int mode, uint32_t queues)
{
	struct bridge_flow *f;
	int err = 0;

	list_for_each(f, &h->flows, of_host) {
		f->next_dent = dent_get(f->initiator, node_in_mode(h, mode, queues, f));
		if (!f->next_dent)
			err = -ENOMEM;
	}
	if (err)
		list_for_each(f, &h->flows, of_host) {
			dent_put(f->initiator, f->next_dent);
			f->next_dent = NULL;
		}
	return err;
}

/* Under the lock, with all credits claimed. */
static int
mode_change(struct bridge_host *h, int mode, uint32_t queues)
{
	struct bridge_flow *f;
	/* Again: its limit may have been set while it drained. */
	int err = check(h, mode, &queues);

	if (!err)
		err = dents_make(h, mode, queues);
	if (err) {
		unclaim_all(h);
		return err;
	}
	mode_enter(h, mode, queues);
	list_for_each(f, &h->flows, of_host) {
		wait_move(f, node_in_mode(h, mode, queues, f), f->next_dent);
		f->next_dent = NULL;
	}
	return 0;
}

int
mode_set(struct bridge_host *h, int mode, uint32_t queues)
{
	int err = check(h, mode, &queues);

	if (!err)
		err = queue_nodes_make(h, mode, queues);
	if (err)
		return err;
	host_lock(h);
	if (!claim_all(h))
		err = -EBUSY;
	else
		mode_enter(h, mode, queues);
	host_unlock(h, false);
	return err;
}

/* Nothing new starts, and reactors give back the tags they keep. */
static int
change_begin(struct bridge_host *h, int mode, uint32_t *queues)
{
	int err;

	host_lock(h);
	err = h->switching ? -EBUSY : check(h, mode, queues);
	if (!err)
		err = queue_nodes_make(h, mode, *queues);
	if (!err) {
		h->switching = true;
		mode_gate(h, GATE_SWITCH, true);
	}
	host_unlock(h, !err);
	return err;
}

int
bridge_set_mode(struct bridge_host *h, int mode, uint32_t queues, uint64_t wait_ns)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t end = now_ns() + wait_ns;
	int err;

	assert(!reactor_self());
	err = change_begin(h, mode, &queues);
	if (err)
		return err;
	for (;;) {
		host_lock(h);
		if (claim_all(h)) {
			err = mode_change(h, mode, queues);
			break;
		}
		if (now_ns() >= end) {
			err = -ETIMEDOUT;
			break;
		}
		host_unlock(h, false);
		nanosleep(&pause, NULL);
	}
	mode_gate(h, GATE_SWITCH, false);
	h->switching = false;
	host_unlock(h, true);
	return err;
}

void
bridge_get_mode(struct bridge_host *h, int *mode, uint32_t *queues)
{
	host_lock(h);
	*mode = h->mode;
	*queues = h->queues;
	host_unlock(h, false);
}
