/* Settings of adapters that a reload has changed, brought to their hosts. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bridge.h"
#include "conf.h"
#include "log.h"
#include "host.h"
#include "lun.h"
#include "policy.h"
#include "settings.h"

/* How long an adapter may take to drain before its mode can change. */
#define DRAIN_NS 3000000000u

/* An adapter that runs: how it is configured, and how it shall be. */
struct change {
	struct bridge_host *host;
	const struct conf_adapter *from, *to;
};

static const struct conf_adapter *
adapter_of(const struct conf *conf, const char *name)
{
	const struct conf_adapter *a;

	list_for_each(a, &conf->adapters, link)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

/* first: where it stands when nobody changed the order. */
static const struct conf_disk *
disk_of(const struct conf_adapter *a, const struct list *first, const char *name)
{
	const struct conf_disk *d = list_entry(first, struct conf_disk, link);

	if (first != &a->disks && strcmp(d->name, name) == 0)
		return d;
	list_for_each(d, &a->disks, link)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

/* The next adapter; false: no more. */
static bool
change_next(struct change *c, const struct conf *running, const struct conf *loaded)
{
	c->host = bridge_host_next(c->host);
	if (!c->host)
		return false;
	c->from = adapter_of(running, bridge_host_name(c->host));
	c->to = adapter_of(loaded, bridge_host_name(c->host));
	assert(c->from && c->to);
	return true;
}

uint32_t
settings_queues(const struct conf_adapter *a)
{
	return MIN(a->hw_queues ? a->hw_queues : REACTORS_MAX, reactor_count());
}

const char *
settings_wrong(const struct conf_adapter *a, uint32_t tags)
{
	if (a->can_queue > tags)
		return "can_queue: more tags than at the start need a restart";
	if (a->queue_mode == QUEUE_DIVIDED && a->can_queue < settings_queues(a))
		return "can_queue: divided by its queues it leaves nothing";
	return NULL;
}

static int
change_check(const struct change *c, char *why, size_t size)
{
	const struct conf_adapter *a = c->to;
	const char *wrong = settings_wrong(a, c->host->slots.count);

	if (!wrong)
		return 0;
	snprintf(why, size, "%s:%d:%d: adapter %s: %s", a->pos.file, a->pos.line, a->pos.column,
	    a->name, wrong);
	return -EINVAL;
}

static bool
mode_differs(const struct change *c)
{
	return c->from->queue_mode != c->to->queue_mode || c->from->hw_queues != c->to->hw_queues;
}

static int
mode_apply(struct bridge_host *h, const struct conf_adapter *a, uint64_t wait_ns)
{
	bool one = a->queue_mode == QUEUE_SINGLE || a->queue_mode == QUEUE_SHARED_SINGLE;

	return bridge_set_mode(h, a->queue_mode, one ? 1 : settings_queues(a), wait_ns);
}

/*
 * Divided, can_queue must be enough for all queues, before and after: the new
 * one holds in time if it is larger.
 */
static int
mode_change(const struct change *c)
{
	uint32_t before = c->from->can_queue, after = c->to->can_queue;
	int err;

	if (!mode_differs(c))
		return 0;
	if (after > before)
		bridge_set_limit(c->host, BRIDGE_HOST, c->to->name, after);
	err = mode_apply(c->host, c->to, DRAIN_NS);
	if (err && after > before)
		bridge_set_limit(c->host, BRIDGE_HOST, c->to->name, before);
	return err;
}

static bool
policy_differs(const struct change *c)
{
	const struct conf_adapter *a = c->from, *b = c->to;

	return a->scheduler != b->scheduler || a->coalesce != b->coalesce ||
	    a->max_xfer != b->max_xfer || a->cost != b->cost;
}

/* What can fail. The order comes first: it fails only for want of memory, and is quickly undone. */
static int
change_try(const struct change *c)
{
	int err = policy_differs(c) ? policy_set(c->host, c->to) : 0;

	if (err)
		return err;
	err = mode_change(c);
	if (err && policy_differs(c))
		policy_set(c->host, c->from);
	return err;
}

static const char *
change_why(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "queue_mode: its disks did not give back all commands in time";
	case -EINVAL:
		return "queue_mode: the limit that was set by hand is too small to be divided";
	default:
		return strerror(-err);
	}
}

/* The adapters before `end` have changed; what was, is restored. */
static void
changes_undo(const struct conf *running, const struct conf *loaded, const struct bridge_host *end)
{
	struct change c = { .host = NULL };

	while (change_next(&c, running, loaded) && c.host != end) {
		if (policy_differs(&c))
			policy_set(c.host, c.from);
		if (!mode_differs(&c))
			continue;
		if (mode_apply(c.host, c.from, DRAIN_NS))
			log_err("adapter %s: stays in its new queue mode: it does not drain",
			    c.from->name);
		bridge_set_limit(c.host, BRIDGE_HOST, c.from->name, c.from->can_queue);
	}
}

/* The adapter's tags bound every limit; one above them means none. */
static void
limit_change(const struct change *c, enum bridge_kind kind, const char *name, uint32_t from,
    uint32_t to)
{
	int err;

	if (from == to)
		return;
	err = bridge_set_limit(c->host, kind, name, MIN(to, c->host->slots.count));
	if (err)
		log_warn("adapter %s: limit of %s: %s", c->to->name, name, strerror(-err));
}

static uint64_t
latency_target(const struct conf_adapter *a, const struct conf_disk *d)
{
	return d->latency_target_ns ? d->latency_target_ns : a->latency_target_ns;
}

static void
disk_change(const struct change *c, const struct conf_disk *from, const struct conf_disk *to)
{
	uint64_t target = latency_target(c->to, to);
	char name[32];

	snprintf(name, sizeof(name), "%u:%u", to->channel, to->id);
	limit_change(c, BRIDGE_TARGET, name, c->from->target_depth, c->to->target_depth);
	limit_change(c, BRIDGE_LUN, to->name, conf_disk_depth(from), conf_disk_depth(to));
	if (target == latency_target(c->from, from))
		return;
	host_lock(c->host);
	lun_set_target(host_find_node(c->host, BRIDGE_LUN, to->name), target);
	host_unlock(c->host, true);
}

/* What cannot fail. */
static void
change_finish(const struct change *c)
{
	const struct list *first = c->from->disks.next;
	const struct conf_disk *from, *to;

	atomic_store_explicit(&c->host->max_waiters, c->to->max_waiters, memory_order_relaxed);
	limit_change(c, BRIDGE_HOST, c->to->name, c->from->can_queue, c->to->can_queue);
	list_for_each(to, &c->to->disks, link) {
		from = disk_of(c->from, first, to->name);
		assert(from);
		first = from->link.next;
		disk_change(c, from, to);
	}
}

int
adapters_reload(const struct conf *running, const struct conf *loaded, char *why, size_t size)
{
	struct change c = { .host = NULL };
	int err;

	while (change_next(&c, running, loaded)) {
		err = change_check(&c, why, size);
		if (err)
			return err;
	}
	while (change_next(&c, running, loaded)) {
		err = change_try(&c);
		if (!err)
			continue;
		changes_undo(running, loaded, c.host);
		snprintf(why, size, "adapter %s: %s", c.to->name, change_why(err));
		return err;
	}
	while (change_next(&c, running, loaded))
		change_finish(&c);
	return 0;
}
