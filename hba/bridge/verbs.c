/* Control verbs: adapters (limits, who waits and how long, which way they went) and disks. */
#include <jansson.h>
#include <stdio.h>

#include "bridge.h"
#include "conf.h"
#include "control.h"
#include "disk.h"
#include "adapter.h"
#include "seen.h"

static json_int_t
us(uint64_t ns)
{
	return (json_int_t)(ns / 1000);
}

static json_t *
limit_json(uint32_t limit)
{
	return limit == UINT32_MAX ? json_null() : json_integer(limit);
}

/* What each reactor does for the adapter. */
static json_t *
reactors_json(struct bridge_host *h)
{
	struct bridge_reactor_stats s;
	json_t *rows = json_array();

	for (unsigned i = 0; bridge_reactor_stats(h, i, &s); i++)
		json_array_append_new(rows, json_pack("{si sI sI sI sI}", "id", (int)i,
		    "combines", (json_int_t)s.combines, "ops", (json_int_t)s.ops, "grants",
		    (json_int_t)s.grants, "kept", (json_int_t)s.kept));
	return rows;
}

/* What only the row of the adapter itself has. */
static void
mode_add(json_t *row, struct bridge_host *h)
{
	static const char *const modes[] = {
		[QUEUE_SHARED] = "shared", [QUEUE_SHARED_SINGLE] = "shared_single",
		[QUEUE_SINGLE] = "single", [QUEUE_DIVIDED] = "divided",
		[QUEUE_DIVIDED_BORROW] = "divided_borrow",
	};
	uint32_t queues;
	int mode;

	bridge_get_mode(h, &mode, &queues);
	json_object_set_new(row, "queue_mode", json_string(modes[mode]));
	json_object_set_new(row, "hw_queues", json_integer(queues));
	json_object_set_new(row, "reactors", reactors_json(h));
}

static json_t *
node_json(const struct seen_node *node)
{
	static const char *const kinds[] = {
		[BRIDGE_HOST] = "host",
		[BRIDGE_TARGET] = "target",
		[BRIDGE_LUN] = "lun",
		[BRIDGE_INITIATOR] = "initiator",
	};
	const struct bridge_node_stats *s = &node->stats;
	json_t *share = s->kind == BRIDGE_INITIATOR ? json_real(node->share) : json_null();
	json_t *row = json_pack("{ss ss ss so so sI sI sI sI sI sI sI sI sI sI sI sI sI sI so}",
	    "adapter", bridge_host_name(node->host), "kind", kinds[s->kind], "name", s->name,
	    "limit", limit_json(s->limit), "configured", limit_json(s->configured),
	    "in_flight", (json_int_t)s->in_flight, "max", (json_int_t)s->max_in_flight,
	    "waiting", (json_int_t)s->waiting, "admitted", (json_int_t)s->admitted,
	    "fast", (json_int_t)s->fast, "slow", (json_int_t)s->slow,
	    "merged", (json_int_t)s->merged, "handoffs", (json_int_t)s->handoffs,
	    "flushes", (json_int_t)s->flushes, "waits", (json_int_t)s->waited,
	    "wait_us", s->waited ? us(s->wait_ns / s->waited) : 0,
	    "wait_p50_us", us(s->wait_p50_ns), "wait_p99_us", us(s->wait_p99_ns),
	    "wait_max_us", us(s->wait_max_ns), "share", share);

	if (row && s->kind == BRIDGE_HOST)
		mode_add(row, node->host);
	return row;
}

static json_t *
adapters_run(json_t *params, char *err, size_t err_size)
{
	json_t *rows = json_array();
	struct seen seen;
	int e = seen_init(&seen);

	for (unsigned i = 0; !e && i < seen.n; i++)
		json_array_append_new(rows, node_json(&seen.node[i]));
	seen_fini(&seen);
	if (!e)
		return json_pack("{so}", "adapters", rows);
	json_decref(rows);
	snprintf(err, err_size, "out of memory; try again");
	return NULL;
}

static json_t *
disk_json(const struct disk *d)
{
	const struct conf_disk *c = d->conf;
	char address[24];

	snprintf(address, sizeof(address), "%u:%u:%u", c->channel, c->id, c->lun);
	return json_pack("{ss ss ss ss ss sI sI sb sb}", "name", d->name, "adapter",
	    bridge_host_name(d->host), "address", address, "driver", d->driver->name, "state",
	    d->online ? "online" : "offline", "size", (json_int_t)d->size, "block_size",
	    (json_int_t)d->block_size, "read_only", !!(d->caps & DISK_CAP_READ_ONLY),
	    "write_cache", !!(d->caps & DISK_CAP_WRITE_CACHE));
}

static json_t *
disks_run(json_t *params, char *err, size_t err_size)
{
	json_t *rows = json_array();

	for (struct disk *d = adapter_disk_next(NULL); d; d = adapter_disk_next(d))
		json_array_append_new(rows, disk_json(d));
	return json_pack("{so}", "disks", rows);
}

static const struct control_verb adapters_verb = {
	.name = "adapters",
	.help = "adapters, their bus targets, LUNs and initiators: limits, in flight, who waits; times in us",
	.params = "",
	.columns = "adapter:ADAPTER kind:KIND name:NAME limit:LIMIT:r configured:OF:r "
		   "in_flight:FLIGHT:r max:MAX:r waiting:WAIT:r wait_p50_us:P50:r wait_p99_us:P99:r "
		   "wait_max_us:LONGEST:r fast:FAST:r slow:SLOW:r merged:MERGED:r "
		   "handoffs:HANDED:r flushes:FLUSHED:r share:SHARE%:r queue_mode:MODE",
	.run = adapters_run,
};
REGISTER(control_verbs, struct control_verb, &adapters_verb);

static const struct control_verb disks_verb = {
	.name = "disks",
	.help = "disks behind the adapters",
	.params = "",
	.columns = "name:NAME adapter:ADAPTER address:ADDRESS driver:DRIVER "
		   "state:STATE size:SIZE:r block_size:BLOCK:r "
		   "read_only:READ-ONLY write_cache:CACHE",
	.run = disks_run,
};
REGISTER(control_verbs, struct control_verb, &disks_verb);
