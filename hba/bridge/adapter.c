/* The configured adapters: their hosts and disks, brought up and down. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "log.h"
#include "flow.h"
#include "host.h"
#include "lun.h"
#include "adapter.h"
#include "settings.h"

/* Changes only in adapters_open and adapters_close. */
static struct list disks = LIST_INIT(disks);

struct disk *
adapter_disk_next(struct disk *d)
{
	struct list *next = d ? container_of(d, struct adapter_disk, disk)->link.next : disks.next;

	return next == &disks ? NULL : &list_entry(next, struct adapter_disk, link)->disk;
}

struct disk *
disk_find(const char *name)
{
	for (struct disk *d = adapter_disk_next(NULL); d; d = adapter_disk_next(d))
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

/* One disk's hardware queue on the reactor this runs on. */
struct queue_call {
	struct disk *disk;
	struct reactor *reactor;
	int err;
};

static void
queue_open(void *arg)
{
	struct queue_call *call = arg;

	call->err = call->disk->driver->queue_open(call->disk, call->reactor);
}

static void
queue_close(void *arg)
{
	struct queue_call *call = arg;

	call->disk->driver->queue_close(call->disk, call->reactor);
}

/* On the first n reactors. */
static void
queues_close(struct disk *d, unsigned n)
{
	struct queue_call call = { .disk = d };

	if (!d->driver->queue_close)
		return;
	while (n-- > 0) {
		call.reactor = reactor_get(n);
		reactor_call(call.reactor, queue_close, &call);
	}
}

static int
queues_open(struct disk *d)
{
	struct queue_call call = { .disk = d };

	if (!d->driver->queue_open)
		return 0;
	for (unsigned i = 0; i < reactor_count(); i++) {
		call.reactor = reactor_get(i);
		reactor_call(call.reactor, queue_open, &call);
		if (call.err) {
			log_err("disk %s: no queue on reactor %u: %s", d->name, i,
			    strerror(-call.err));
			queues_close(d, i);
			return call.err;
		}
	}
	return 0;
}

static void
disk_open(struct disk *d)
{
	d->block_size = d->phys_size = d->conf->block_size;
	if (d->driver->open(d)) {
		log_err("disk %s: stays offline", d->name);
		return;
	}
	assert(d->size > 0 && d->size % d->block_size == 0);
	if (queues_open(d)) {
		if (d->driver->close)
			d->driver->close(d);
		log_err("disk %s: stays offline", d->name);
		return;
	}
	if (d->conf->read_only)
		d->caps |= DISK_CAP_READ_ONLY;
	d->phys_size = MAX(d->phys_size, d->block_size);
	d->online = true;
	log_info("disk %s: %s, %llu MiB in blocks of %u", d->name, d->driver->name,
	    (unsigned long long)(d->size >> 20), d->block_size);
}

static void
disk_close(struct disk *d)
{
	struct adapter_disk *ad = container_of(d, struct adapter_disk, disk);

	if (d->online) {
		queues_close(d, reactor_count());
		if (d->driver->close)
			d->driver->close(d);
	}
	list_del(&ad->link);
	free(ad);
}

static int
disk_add(struct bridge_host *h, const struct conf_adapter *conf, const struct conf_disk *cd)
{
	struct adapter_disk *ad = calloc(1, sizeof(*ad));
	char target[32];

	if (!ad)
		return -ENOMEM;
	snprintf(target, sizeof(target), "%u:%u", cd->channel, cd->id);
	ad->disk.node = host_add_lun(h, cd->name, conf_disk_depth(cd), target,
	    conf->target_depth);
	if (ad->disk.node < 0) {
		free(ad);
		return -ENOMEM;
	}
	ad->disk.name = cd->name;
	ad->disk.driver = cd->driver;
	ad->disk.conf = cd;
	ad->disk.host = h;
	lun_set_target(h->luns[ad->disk.node],
	    cd->latency_target_ns ? cd->latency_target_ns : conf->latency_target_ns);
	list_add_tail(&disks, &ad->link);
	disk_open(&ad->disk);
	return 0;
}

static int
mode_start(struct bridge_host *h, const struct conf_adapter *conf)
{
	const char *wrong = settings_wrong(conf, conf->can_queue);
	uint32_t queues = settings_queues(conf);

	if (wrong) {
		log_err("adapter %s: %s", conf->name, wrong);
		return -EINVAL;
	}
	if (queues < conf->hw_queues)
		log_warn("adapter %s: hw_queues %u, but only %u reactors", conf->name,
		    conf->hw_queues, queues);
	return host_start(h, conf->queue_mode, conf->hw_queues ? queues : 0);
}

static int
adapter_open(const struct conf_adapter *conf)
{
	struct bridge_host *h = host_new(conf->name, conf->can_queue, conf->max_waiters);
	const struct conf_disk *cd;
	int err;

	if (!h)
		return -ENOMEM;
	list_for_each(cd, &conf->disks, link) {
		err = disk_add(h, conf, cd);
		if (err)
			return err;
	}
	err = policy_set(h, conf);
	return err ? err : mode_start(h, conf);
}

int
adapters_open(const struct conf *conf)
{
	const struct conf_adapter *ca;
	int err;

	list_for_each(ca, &conf->adapters, link) {
		err = adapter_open(ca);
		if (err) {
			log_err("adapter %s: %s", ca->name, strerror(-err));
			adapters_close();
			return err;
		}
	}
	return 0;
}

/* Requests that the disk has. */
static unsigned
requests_out(const struct disk *d)
{
	return host_slots_out(d->host, d->host->luns[d->node]);
}

static bool
at_rest(struct bridge_host *h)
{
	bool rest;

	host_lock(h);
	/* A flow is put back when its last request has been at home. */
	rest = list_empty(&h->flows);
	host_unlock(h, false);
	return rest && host_slots_out(h, NULL) == 0;
}

static bool
all_at_rest(void)
{
	for (struct bridge_host *h = bridge_host_next(NULL); h; h = bridge_host_next(h))
		if (!at_rest(h))
			return false;
	return true;
}

static void
nothing(void *arg)
{
}

/* What a reactor was in the middle of is finished, and seen here. */
static void
reactors_pass(void)
{
	for (unsigned i = 0; i < reactor_count(); i++)
		reactor_call(reactor_get(i), nothing, NULL);
}

bool
adapters_settle(uint64_t wait_ns)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t end = now_ns() + wait_ns;
	bool rest;

	while (!(rest = all_at_rest()) && now_ns() < end)
		nanosleep(&pause, NULL);
	/* The last flow went in the middle of something that still looks at its unit. */
	if (rest)
		reactors_pass();
	for (struct disk *d = adapter_disk_next(NULL); d && !rest; d = adapter_disk_next(d)) {
		unsigned n = requests_out(d);

		if (n)
			log_warn("disk %s: never gave back %u requests", d->name, n);
	}
	return rest;
}

void
adapters_close(void)
{
	struct disk *d;
	struct bridge_host *h;

	while ((d = adapter_disk_next(NULL)))
		disk_close(d);
	while ((h = bridge_host_next(NULL)))
		host_free(h);
}
