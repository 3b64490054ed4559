/* The simulated disk: an adapter with a finite queue, and disks that take their time. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>

#include "conf.h"
#include "log.h"

#include "geometry.h"

static const char *const distributions[] = {
	[SIM_FIXED] = "fixed", [SIM_UNIFORM] = "uniform", [SIM_EXPONENTIAL] = "exponential", NULL
};
static const char *const stores[] = { [SIM_STORE_NONE] = "none", [SIM_STORE_RAM] = "ram", NULL };

#define AT(f) .offset = offsetof(struct sim_conf, f)
#define MINUTE_NS 60000000000u
static const struct conf_key sim_keys[] = {
	{ .name = "size", .type = CONF_SIZE, AT(size), .min = 4096, .max = 1ull << 60,
	    .fallback = "1T", .help = "bytes it seems to hold" },
	{ .name = "service", .type = CONF_TIME, AT(service_ns), .max = MINUTE_NS,
	    .fallback = "1ms", .help = "time of a command; any number run at once" },
	{ .name = "distribution", .type = CONF_WORD, AT(distribution), .words = distributions,
	    .fallback = "fixed", .help = "of the service time, service being its mean" },
	{ .name = "seed", .type = CONF_UINT, AT(seed), .max = UINT32_MAX, .fallback = "1",
	    .help = "of the draws: the same seed draws the same times" },
	{ .name = "command_cost", .type = CONF_TIME, AT(command_cost_ns), .max = MINUTE_NS,
	    .fallback = "0", .help = "time a command has the disk to itself, before its service" },
	{ .name = "bytes_per_second", .type = CONF_SIZE, AT(bytes_per_second), .max = 1ull << 50,
	    .fallback = "0", .help = "length adds to command_cost at this rate; 0: it does not" },
	{ .name = "queue_cost", .type = CONF_TIME, AT(queue_cost_ns), .max = 10000000,
	    .fallback = "0", .help = "time the submitting reactor is held by its hardware queue" },
	{ .name = "device_queue", .type = CONF_UINT, AT(device_queue), .min = 1, .max = 65535,
	    .help = "commands the adapter bears; one more takes it offline; absent: can_queue" },
	{ .name = "busy_above", .type = CONF_UINT, AT(busy_above), .min = 1, .max = 65535,
	    .help = "commands after which the disk answers TASK SET FULL; absent: never" },
	{ .name = "store", .type = CONF_WORD, AT(store), .words = stores, .fallback = "none",
	    .help = "none: reads are zeros, writes vanish; ram: memory of the process" },
	{ .name = NULL },
};
#undef AT

static void
sim_close(struct disk *d)
{
	struct sim_disk *sd = d->priv;

	sim_store_close(sd);
	sim_adapter_put(sd);
	free(sd);
	d->priv = NULL;
}

static int
sim_open(struct disk *d)
{
	const struct sim_conf *conf = d->conf->opts;
	struct sim_disk *sd;
	int err = disk_size_set(d, conf->size);

	if (err)
		return err;
	sd = aligned_alloc(_Alignof(struct sim_disk), sizeof(*sd));
	if (!sd) {
		log_err("disk %s: out of memory", d->name);
		return -ENOMEM;
	}
	*sd = (struct sim_disk){ .disk = d, .conf = conf };
	d->priv = sd;
	/* Disks of one seed are not to draw in step. */
	sd->salt = (uint64_t)conf->seed << 32 ^ (uint64_t)d->conf->channel << 48 ^
	    (uint64_t)d->conf->id << 16 ^ d->conf->lun;
	err = sim_store_open(sd);
	if (!err && !sim_adapter_get(sd))
		err = -EINVAL;
	if (err) {
		sim_close(d);
		return err;
	}
	d->phys_size = MAX(d->block_size, 4096u);
	d->unmap_granularity = 4096;
	d->caps = DISK_CAP_FUA | DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO;
	return 0;
}

static int
queue_open(struct disk *d, struct reactor *r)
{
	return sim_queue_open(((struct sim_disk *)d->priv)->adapter, r);
}

static void
queue_close(struct disk *d, struct reactor *r)
{
	sim_queue_close(((struct sim_disk *)d->priv)->adapter, r);
}

/* As long as a queue's lock, fought for by others, would hold us up. */
static uint64_t
queue_hold(uint64_t cost_ns)
{
	uint64_t began = now_ns(), now = began;

	while (now - began < cost_ns) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
		now = now_ns();
	}
	return now;
}

static enum disk_result
sim_submit(struct disk_io *io)
{
	struct sim_disk *sd = io->disk->priv;
	struct sim_queue *q = &sd->adapter->queue[reactor_id(reactor_self())];
	uint64_t now = queue_hold(sd->conf->queue_cost_ns);

	io->result = sim_enter(io);
	if (io->result)
		return DISK_DONE;
	sim_io_of(io)->wiped = 0;
	sim_queue_add(q, io, sim_due_at(sd, io, now), now);
	return DISK_PENDING;
}

static const struct disk_driver sim_driver = {
	.name = "sim",
	.help = "a simulated adapter and its disks, for tests and for what-if runs",
	.keys = sim_keys,
	.conf_size = sizeof(struct sim_conf),
	.open = sim_open,
	.close = sim_close,
	.queue_open = queue_open,
	.queue_close = queue_close,
	.submit = sim_submit,
};
REGISTER(disk_drivers, struct disk_driver, &sim_driver);
