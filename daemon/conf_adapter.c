/* `adapters:` and their `disks:`. */
#include "conf_load.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "buf.h"
#include "disk.h"
#include "reactor.h"
#include "util.h"

static const char *const queue_modes[] = {
	[QUEUE_SHARED] = "shared", [QUEUE_SHARED_SINGLE] = "shared_single",
	[QUEUE_SINGLE] = "single", [QUEUE_DIVIDED] = "divided",
	[QUEUE_DIVIDED_BORROW] = "divided_borrow", NULL
};
static const char *const schedulers[] = {
	[SCHEDULER_NONE] = "none", [SCHEDULER_DEADLINE] = "deadline", NULL
};
static const char *const costs[] = { [COST_COMMAND] = "command", [COST_LENGTH] = "length", NULL };

#define TARGET_NS_MAX 60000000000u	/* a minute */
enum {
	LUN_LAST = 16383,
	LUN_UNKNOWN = UINT16_MAX,	/* the address could not be read: it meets no other */
};

/* Drivers of the design that may not be built in. */
static const char *const planned[] = { "sg", "iscsi", "rbd", "fault" };

static int disks_parse(struct conf_load *, const struct conf_node *, void *);
static int address_parse(struct conf_load *, const struct conf_node *, void *);
static int block_size_parse(struct conf_load *, const struct conf_node *, void *);

#define AT(f) .offset = offsetof(struct conf_adapter, f)
const struct conf_key conf_adapter_keys[] = {
	{ "name", CONF_TEXT, CONF_REQUIRED, AT(name), .min = 1, .max = 63 },
	{ "can_queue", CONF_UINT, CONF_HOT, AT(can_queue), .min = 1, .max = 65535, .fallback = "1014",
	    .help = "commands the adapter holds, all queues together" },
	{ "hw_queues", CONF_UINT_AUTO, CONF_HOT, AT(hw_queues), .min = 1, .max = REACTORS_MAX,
	    .fallback = "auto", .help = "queues of the adapter; auto: one per reactor" },
	{ "queue_mode", CONF_WORD, CONF_HOT, AT(queue_mode), .words = queue_modes,
	    .fallback = "shared", .help = "how the queues share can_queue" },
	{ "target_depth", CONF_UINT, CONF_HOT, AT(target_depth), .min = 1, .max = 65535,
	    .fallback = "256", .help = "commands of one bus target" },
	{ "lun_depth", CONF_UINT, CONF_HOT, AT(lun_depth), .min = 1, .max = 65535, .fallback = "64",
	    .help = "commands of one disk that has no depth of its own" },
	{ "scheduler", CONF_WORD, CONF_HOT, AT(scheduler), .words = schedulers, .fallback = "none",
	    .help = "deadline sorts waiting requests and merges neighbours" },
	{ "coalesce", CONF_BOOL, CONF_HOT, AT(coalesce), .fallback = "no",
	    .help = "waiting requests that are neighbours ride in one command" },
	{ "max_xfer", CONF_SIZE, CONF_HOT, AT(max_xfer), .min = 4096, .max = BUF_XFER_MAX,
	    .fallback = "1M", .help = "most bytes of a command that carries several requests" },
	{ "cost", CONF_WORD, CONF_HOT, AT(cost), .words = costs, .fallback = "command",
	    .help = "what a turn is counted in: commands, or their length" },
	{ "latency_target", CONF_TIME, CONF_HOT, AT(latency_target_ns), .max = TARGET_NS_MAX,
	    .fallback = "0", .help = "depths shrink while disks take longer than this; 0: never" },
	{ "max_waiters", CONF_UINT, CONF_HOT, AT(max_waiters), .min = 1, .max = 65535,
	    .fallback = "1024", .help = "commands of one initiator that may wait for the adapter" },
	{ "disks", CONF_CUSTOM, .parse = disks_parse },
	{ .name = NULL }
};
#undef AT

#define AT(f) .offset = offsetof(struct conf_disk, f)
const struct conf_key conf_disk_keys[] = {
	{ "name", CONF_TEXT, CONF_REQUIRED, AT(name), .min = 1, .max = 63 },
	{ "depth", CONF_UINT, CONF_HOT, AT(depth), .min = 1, .max = 65535,
	    .help = "commands this disk takes; absent: the adapter's lun_depth" },
	{ "latency_target", CONF_TIME, CONF_HOT, AT(latency_target_ns), .max = TARGET_NS_MAX,
	    .help = "as the adapter's, for this disk; 0 or absent: the adapter's" },
	{ "address", CONF_CUSTOM, .parse = address_parse,
	    .help = "channel:target:lun; absent: 0:n:0" },
	{ "block_size", CONF_CUSTOM, AT(block_size), .parse = block_size_parse, .fallback = "512",
	    .help = "bytes of a logical block: 512 or 4096" },
	{ "read_only", CONF_BOOL, AT(read_only), .fallback = "no" },
	{ "serial", CONF_TEXT, AT(serial), .min = 1, .max = 64,
	    .help = "unit serial number; absent: made of the name" },
	{ "max_write_same", CONF_SIZE, AT(max_write_same), .max = 1ull << 60, .fallback = "16M",
	    .help = "bytes of one WRITE SAME; 0: no limit" },
	{ "sanitize", CONF_BOOL, AT(sanitize), .fallback = "no",
	    .help = "initiators may erase all of it with SANITIZE" },
	{ "cdb32", CONF_BOOL, AT(cdb32), .fallback = "no",
	    .help = "READ, WRITE, VERIFY, WRITE SAME with CDBs of 32 bytes" },
	{ .name = NULL }
};
#undef AT

struct driver_text {
	char *driver;
};
static const struct conf_key driver_keys[] = {
	{ "driver", CONF_TEXT, CONF_REQUIRED, .offset = offsetof(struct driver_text, driver) },
	{ .name = NULL }
};

/* 512 or 4096 (the device server knows no other). */
static int
block_size_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const char *const words[] = { "512", "4096", NULL };
	static const struct conf_key key = { .name = "block_size", .words = words };
	int word;

	if (conf_word(l, &key, n, &word))
		return -EINVAL;
	*(uint32_t *)out = word ? 4096 : 512;
	return 0;
}

/* out is the disk. */
static int
address_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const struct conf_key key = { .name = "address" };
	struct conf_disk *d = out;
	unsigned channel, id, lun;
	char *text, back[24], quoted[256];

	d->lun = LUN_UNKNOWN;
	if (conf_text(l, &key, n, &text))
		return -EINVAL;
	/* Printed again it must be the same: no signs, blanks, leading zeros. */
	if (sscanf(text, "%5u:%5u:%5u", &channel, &id, &lun) == 3) {
		snprintf(back, sizeof(back), "%u:%u:%u", channel, id, lun);
		if (strcmp(back, text) == 0 && channel <= UINT16_MAX && id <= UINT16_MAX &&
		    lun <= LUN_LAST) {
			d->channel = channel;
			d->id = id;
			d->lun = lun;
			return 0;
		}
	}
	conf_error(l, n->pos, "address: expected \"channel:target:lun\" (to 65535:65535:16383), found %s",
	    conf_quote(text, quoted, sizeof(quoted)));
	return -EINVAL;
}

static const struct disk_driver *
driver_find(const char *name)
{
	const struct disk_driver *d;

	for_each_registered(disk_drivers, d) {
		if (strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

static void
driver_unknown(struct conf_load *l, const char *name, struct conf_pos pos)
{
	const struct disk_driver *d;
	char list[256] = "", text[256];
	size_t i, at = 0;

	for (i = 0; i < ARRAY_LEN(planned); i++) {
		if (strcmp(name, planned[i]) == 0) {
			conf_error(l, pos, "driver %s is not supported yet", name);
			return;
		}
	}
	for_each_registered(disk_drivers, d)
		text_add(list, sizeof(list), &at, "%s%s", at ? ", " : "", d->name);
	conf_error(l, pos, "unknown driver %s (there are %s)", conf_quote(name, text, sizeof(text)),
	    list);
}

/* nr: which of the adapter's disks it is, its target where no address is given. */
static void
address_take(struct conf_load *l, const struct conf_node *map, struct conf_disk *d, unsigned nr)
{
	const struct conf_node *n = conf_node_get(map, "address");
	char *address = arena_get(l->scratch, sizeof("65535:65535:65535"));

	if (!address) {
		conf_no_memory(l);
		return;
	}
	if (!n && nr > UINT16_MAX) {
		conf_error(l, d->pos, "a disk: address is missing (only 65536 can be counted)");
		return;
	}
	if (!n)
		d->id = (uint16_t)nr;
	sprintf(address, "%hu:%hu:%hu", d->channel, d->id, d->lun);
	if (d->lun != LUN_UNKNOWN)
		conf_name_add(l, NAME_ADDRESS, d->adapter, address, n ? n->pos : d->pos, d);
}

/* Two disks of one serial number are one disk to multipath: the data of both would be lost. */
static void
serial_take(struct conf_load *l, const struct conf_node *map, struct conf_disk *d)
{
	const struct conf_node *n = conf_node_get(map, "serial");
	const char *p;

	for (p = d->serial; *p; p++) {
		if ((unsigned char)*p >= 0x7f) {
			conf_error(l, n->pos, "serial: only ASCII can be told to initiators");
			return;
		}
	}
	conf_name_add(l, NAME_SERIAL, NULL, d->serial, n->pos, d);
}

/* The driver says which keys there are beside the common ones; without it they are not looked at. */
static void
disk_fill(struct conf_load *l, const struct conf_node *map, struct conf_disk *d)
{
	struct driver_text t = { NULL };
	struct conf_rows rows[] = { { driver_keys, &t }, { conf_disk_keys, d }, { NULL, NULL } };
	const struct conf_node *n = conf_node_get(map, "driver");

	if (n && n->kind == NODE_SCALAR && !conf_node_is_null(n))
		d->driver = driver_find(n->text);
	if (!d->driver) {
		conf_map_known(l, map, "a disk", rows, 2);
		if (t.driver)
			driver_unknown(l, t.driver, n->pos);
		return;
	}
	d->opts = conf_opts(l, d->driver->conf_size);
	if (!d->opts)
		return;
	rows[2] = (struct conf_rows){ d->driver->keys, d->opts };
	conf_map(l, map, "a disk", rows, ARRAY_LEN(rows));
}

/* out is the adapter. */
static int
disks_parse(struct conf_load *l, const struct conf_node *list, void *out)
{
	struct conf_adapter *a = out;
	const struct conf_node *n;
	struct conf_disk *d;
	unsigned nr = 0;

	if (!conf_want(l, list, NODE_LIST, "disks"))
		return -EINVAL;
	for (n = list->first; n; n = n->next, nr++) {
		if (!conf_want(l, n, NODE_MAP, "a disk"))
			continue;
		d = conf_opts(l, sizeof(*d));
		if (!d)
			return -ENOMEM;
		d->pos = n->pos;
		d->adapter = a;
		list_add_tail(&a->disks, &d->link);
		disk_fill(l, n, d);
		address_take(l, n, d, nr);
		if (d->serial)
			serial_take(l, n, d);
		if (d->name)
			conf_name_own(l, NAME_DISK, d->name, conf_node_get(n, "name")->pos, d);
	}
	return 0;
}

/* Keys that are right each, and mean nothing together. */
static void
settings_check(struct conf_load *l, const struct conf_node *map, const struct conf_adapter *a)
{
	const struct conf_node *queues = conf_node_get(map, "hw_queues");
	const struct conf_node *coalesce = conf_node_get(map, "coalesce");

	if (a->hw_queues > 1 &&
	    (a->queue_mode == QUEUE_SINGLE || a->queue_mode == QUEUE_SHARED_SINGLE))
		conf_error(l, queues->pos, "hw_queues: %u, but queue_mode %s has one queue",
		    a->hw_queues, queue_modes[a->queue_mode]);
	if (a->queue_mode == QUEUE_DIVIDED && a->can_queue && a->hw_queues > a->can_queue)
		conf_error(l, queues->pos, "hw_queues: can_queue %u divided by %u leaves nothing",
		    a->can_queue, a->hw_queues);
	if (a->scheduler == SCHEDULER_DEADLINE && coalesce && !a->coalesce)
		conf_error(l, coalesce->pos, "coalesce: scheduler deadline always merges");
}

/* At the end of the load: `reactors` may stand behind. */
void
conf_adapters_check(struct conf_load *l)
{
	const struct conf_node *list = conf_node_get(l->root, "adapters"), *n;
	uint32_t reactors = l->conf->reactors;
	const struct conf_adapter *a;

	n = list ? list->first : NULL;
	list_for_each(a, &l->conf->adapters, link) {
		while (n->kind != NODE_MAP)
			n = n->next;
		if (reactors && a->hw_queues > reactors)
			conf_error(l, conf_node_get(n, "hw_queues")->pos,
			    "hw_queues: %u, but there are %u reactors to serve them",
			    a->hw_queues, reactors);
		n = n->next;
	}
}

int
conf_adapters(struct conf_load *l, const struct conf_node *list, void *out)
{
	struct conf_rows rows = { conf_adapter_keys, NULL };
	const struct conf_node *n;
	struct conf_adapter *a;

	if (!conf_want(l, list, NODE_LIST, "adapters"))
		return -EINVAL;
	for (n = list->first; n; n = n->next) {
		if (!conf_want(l, n, NODE_MAP, "an adapter"))
			continue;
		rows.base = a = conf_opts(l, sizeof(*a));
		if (!a)
			return -ENOMEM;
		a->pos = n->pos;
		list_init(&a->disks);
		list_add_tail(&l->conf->adapters, &a->link);
		conf_map(l, n, "an adapter", &rows, 1);
		settings_check(l, n, a);
		if (a->name)
			conf_name_own(l, NAME_ADAPTER, a->name, conf_node_get(n, "name")->pos, a);
	}
	return 0;
}
