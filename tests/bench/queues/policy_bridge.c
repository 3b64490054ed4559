/* Policies e1 and e2: the product's own bridge, on the product's reactors. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caches.h"
#include "cell.h"
#include "hba/disk/sim.h"
#include "include/conf.h"
#include "include/log.h"

static struct {
	struct conf conf;
	struct conf_adapter adapter;
	struct conf_disk disk[LUNS_MAX];
	char name[LUNS_MAX][16];
	struct disk *lun[LUNS_MAX];
	struct sim_conf sim;
	struct iovec data;
} rig;

static int
bench_open(struct disk *d)
{
	d->size = 1ull << 40;
	return 0;
}

static enum disk_result
bench_submit(struct disk_io *io)
{
	io->result = 0;
	device_start(container_of(io, struct command, req.io));
	return DISK_PENDING;
}

static const struct disk_driver bench_driver = {
	.name = "bench",
	.open = bench_open,
	.submit = bench_submit,
};

static const struct disk_driver *
driver_find(void)
{
	const struct disk_driver *d;

	if (strcmp(setup.device, "bench") == 0)
		return &bench_driver;
	for_each_registered(disk_drivers, d)
		if (strcmp(d->name, setup.device) == 0)
			return d;
	die("there is no driver %s", setup.device);
}

static int
mode_find(void)
{
	static const char *const names[] = {
		[QUEUE_SHARED] = "shared", [QUEUE_SHARED_SINGLE] = "shared_single",
		[QUEUE_SINGLE] = "single", [QUEUE_DIVIDED] = "divided",
		[QUEUE_DIVIDED_BORROW] = "divided_borrow",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], setup.mode) == 0)
			return (int)i;
	die("there is no mode %s", setup.mode);
}

static void
disk_add(uint32_t i, const struct disk_driver *driver)
{
	struct conf_disk *d = &rig.disk[i];

	snprintf(rig.name[i], sizeof(rig.name[i]), "d%u", i);
	d->name = rig.name[i];
	d->adapter = &rig.adapter;
	d->driver = driver;
	d->id = (uint16_t)(i % setup.targets);
	d->lun = (uint16_t)(i / setup.targets);
	d->block_size = 512;
	d->opts = &rig.sim;
	list_add_tail(&rig.adapter.disks, &d->link);
}

static void
open_adapter(void)
{
	const struct disk_driver *driver = driver_find();

	log_level = LOG_LEVEL_WARN;
	list_init(&rig.conf.adapters);
	list_init(&rig.adapter.disks);
	list_add_tail(&rig.conf.adapters, &rig.adapter.link);
	rig.adapter.name = (char *)"bench";
	rig.adapter.can_queue = setup.can_queue;
	rig.adapter.target_depth = setup.target_depth;
	rig.adapter.lun_depth = setup.lun_depth;
	rig.adapter.queue_mode = mode_find();
	rig.adapter.coalesce = setup.coalesce;
	rig.adapter.max_xfer = 1 << 20;
	rig.sim.size = 1ull << 40;
	rig.sim.service_ns = setup.service_ns;
	rig.sim.command_cost_ns = setup.command_ns;
	rig.data.iov_len = setup.sequential;
	rig.data.iov_base = must(calloc(1, setup.sequential + 1));
	for (uint32_t i = 0; i < setup.luns; i++)
		disk_add(i, driver);
	if (adapters_open(&rig.conf))
		die("the adapter does not open");
	for (uint32_t i = 0; i < setup.luns; i++) {
		rig.lun[i] = disk_find(rig.name[i]);
		if (!rig.lun[i] || !rig.lun[i]->online)
			die("disk %s does not open", rig.name[i]);
	}
	if (!setup.caches)
		caches_off();
}

static void
request_done(struct bridge_req *req)
{
	command_back(container_of(req, struct command, req));
}

static void
worker_open(struct worker *w)
{
	for (uint32_t i = 0; i < setup.initiators; i++) {
		struct initiator *it = &initiators[i];
		char name[32];

		if (it->home != w)
			continue;
		snprintf(name, sizeof(name), "i%u", i);
		for (uint32_t k = 0; k < setup.luns; k++) {
			it->flow[k] = bridge_flow_get(rig.lun[k], name,
			    &(struct bridge_limits){ .weight = it->weight }, w->reactor);
			if (!it->flow[k])
				die("no memory for a flow");
		}
		for (uint32_t k = 0; k < it->window; k++)
			it->commands[k].req.done = request_done;
	}
}

static void
write_next(struct command *cmd)
{
	uint64_t *offset = &cmd->initiator->offset[cmd->lun];
	struct disk_io *io = &cmd->req.io;

	io->op = DISK_WRITE;
	io->offset = *offset;
	io->len = setup.sequential;
	io->iov = &rig.data;
	io->niov = 1;
	*offset = (*offset + setup.sequential) % (1ull << 40);
}

static void
submit(struct command *cmd)
{
	struct bridge_req *req = &cmd->req;

	req->flow = cmd->initiator->flow[cmd->lun];
	if (setup.sequential)
		write_next(cmd);
	else
		req->io.len = 512;
	switch (bridge_submit(req)) {
	case BRIDGE_PENDING:
		return;
	case BRIDGE_DONE:
		command_back(cmd);
		return;
	case BRIDGE_FULL:
	case BRIDGE_WOULD_WAIT:
		die("the bridge refuses a command");
	}
}

static void
release(struct command *cmd)
{
	disk_io_done(&cmd->req.io);
}

static void
worker_close(struct worker *w)
{
	for (uint32_t i = 0; i < setup.initiators; i++)
		for (uint32_t k = 0; k < setup.luns && initiators[i].home == w; k++)
			bridge_flow_put(initiators[i].flow[k]);
}

static void
close_adapter(void)
{
	if (!adapters_settle(5000000000))
		die("the bridge keeps requests");
	if (bridge_check(bridge_host_next(NULL), stderr))
		die("the bridge's books are wrong");
	adapters_close();
	free(rig.data.iov_base);
}

const struct policy policy_bridge = {
	.name = "e2",
	.open = open_adapter,
	.worker_open = worker_open,
	.submit = submit,
	.release = release,
	.worker_close = worker_close,
	.close = close_adapter,
};
