/* Settings of adapters that a reload has changed, brought to their hosts. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bridge.h"
#include "conf.h"
#include "log.h"
#include "host.h"

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

static int
change_check(const struct change *c, char *why, size_t size)
{
	const struct conf_adapter *a = c->from, *b = c->to;
	uint32_t tags = c->host->slots.count;

	if (a->queue_mode != b->queue_mode || a->hw_queues != b->hw_queues ||
	    a->scheduler != b->scheduler || a->coalesce != b->coalesce ||
	    a->max_xfer != b->max_xfer || a->cost != b->cost ||
	    a->latency_target_ns != b->latency_target_ns || a->max_waiters != b->max_waiters) {
		snprintf(why, size, "%s:%d:%d: adapter %s: queues, order and cost need a restart",
		    b->pos.file, b->pos.line, b->pos.column, b->name);
		return -EOPNOTSUPP;
	}
	if (c->to->can_queue <= tags)
		return 0;
	snprintf(why, size, "%s:%d:%d: adapter %s: can_queue: more than the %u tags of the start "
	    "needs a restart", c->to->pos.file, c->to->pos.line, c->to->pos.column, c->to->name,
	    tags);
	return -EINVAL;
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

static void
limits_change(const struct change *c)
{
	const struct list *first = c->from->disks.next;
	const struct conf_disk *from, *to;
	char target[32];

	limit_change(c, BRIDGE_HOST, c->to->name, c->from->can_queue, c->to->can_queue);
	list_for_each(to, &c->to->disks, link) {
		from = disk_of(c->from, first, to->name);
		assert(from);
		first = from->link.next;
		snprintf(target, sizeof(target), "%u:%u", to->channel, to->id);
		limit_change(c, BRIDGE_TARGET, target, c->from->target_depth, c->to->target_depth);
		limit_change(c, BRIDGE_LUN, to->name, conf_disk_depth(from), conf_disk_depth(to));
	}
}

int
adapters_reload(const struct conf *running, const struct conf *loaded, char *why, size_t size)
{
	struct change c = { NULL };
	int err;

	while (change_next(&c, running, loaded)) {
		err = change_check(&c, why, size);
		if (err)
			return err;
	}
	while (change_next(&c, running, loaded))
		limits_change(&c);
	return 0;
}
