/* Control verbs: adapters (limits and who waits) and disks. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"
#include "conf.h"
#include "control.h"
#include "disk.h"
#include "adapter.h"

static json_t *
node_json(const char *adapter, const struct bridge_node_stats *s)
{
	static const char *const kinds[] = {
		[BRIDGE_HOST] = "host",
		[BRIDGE_TARGET] = "target",
		[BRIDGE_LUN] = "lun",
		[BRIDGE_INITIATOR] = "initiator",
	};
	json_t *limit = s->limit == UINT32_MAX ? json_null() : json_integer(s->limit);
	json_int_t average = s->waited ? (json_int_t)(s->wait_ns / s->waited / 1000) : 0;

	return json_pack("{ss ss ss so sI sI sI sI sI sI sI}", "adapter", adapter, "kind",
	    kinds[s->kind], "name", s->name, "limit", limit, "in_flight",
	    (json_int_t)s->in_flight, "max", (json_int_t)s->max_in_flight, "waiting",
	    (json_int_t)s->waiting, "admitted", (json_int_t)s->admitted, "waits",
	    (json_int_t)s->waited, "wait_us", average, "wait_max_us",
	    (json_int_t)(s->wait_max_ns / 1000));
}

/* Appends this host's nodes. False: no memory. */
static bool
host_json(struct bridge_host *h, json_t *rows)
{
	/* Initiators may come between the two calls; those are seen the next time. */
	unsigned max = bridge_stats(h, NULL, 0), n;
	struct bridge_node_stats *s = calloc(max, sizeof(*s));

	if (!s)
		return false;
	n = bridge_stats(h, s, max);
	for (unsigned i = 0; i < MIN(n, max); i++)
		json_array_append_new(rows, node_json(bridge_host_name(h), &s[i]));
	free(s);
	return true;
}

static json_t *
adapters_run(json_t *params, char *err, size_t err_size)
{
	json_t *rows = json_array();

	for (struct bridge_host *h = bridge_host_next(NULL); h; h = bridge_host_next(h))
		if (!host_json(h, rows)) {
			json_decref(rows);
			snprintf(err, err_size, "out of memory; try again");
			return NULL;
		}
	return json_pack("{so}", "adapters", rows);
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
	.help = "adapters, their bus targets, LUNs and initiators: limits, in flight, who waits",
	.params = "",
	.columns = "adapter:ADAPTER kind:KIND name:NAME limit:LIMIT:r "
		   "in_flight:FLIGHT:r max:MAX:r waiting:WAITING:r waits:WAITS:r "
		   "wait_us:AVG-US:r wait_max_us:MAX-US:r",
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
