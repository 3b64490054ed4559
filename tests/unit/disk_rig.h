/* One disk of a real driver behind an adapter, asked one request at a time. */
#ifndef DISK_RIG_H
#define DISK_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "buf.h"
#include "conf.h"
#include "stats.h"

static struct {
	struct conf conf;
	struct conf_adapter adapter;
	struct conf_disk cd[2];
	struct disk *disk;
	struct bridge_flow *flow;
	struct bridge_req req;
	enum bridge_verdict verdict;
	struct iovec iov[BUF_IOV_MAX];
	sem_t done;
} drig;

static inline const struct disk_driver *
drig_driver(const char *name)
{
	const struct disk_driver *d;

	for_each_registered(disk_drivers, d)
		if (strcmp(d->name, name) == 0)
			return d;
	fail_msg("no driver %s", name);
	return NULL;
}

static inline void
drig_on_flow(void *arg)
{
	drig.flow = bridge_flow_get(drig.disk, "i", &(struct bridge_limits){ .weight = 1 }, reactor_self());
	if (!drig.flow)
		abort();
}

static inline void
drig_on_put(void *arg)
{
	bridge_flow_put(drig.flow);
	drig.flow = NULL;
}

/* Opens disk "d" and, when opts2 is given, "e". True if "d" came online. */
static inline bool
drig_open2(const char *driver, void *opts, void *opts2, uint32_t block_size, bool read_only)
{
	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(1, 0), 0);
	memset(&drig, 0, sizeof(drig));
	sem_init(&drig.done, 0, 0);
	list_init(&drig.conf.adapters);
	list_init(&drig.adapter.disks);
	list_add_tail(&drig.conf.adapters, &drig.adapter.link);
	drig.adapter.name = (char *)"a";
	drig.adapter.can_queue = drig.adapter.target_depth = drig.adapter.lun_depth = 64;
	for (int i = 0; i < (opts2 ? 2 : 1); i++) {
		struct conf_disk *cd = &drig.cd[i];

		cd->name = (char *)(i ? "e" : "d");
		cd->adapter = &drig.adapter;
		cd->driver = drig_driver(driver);
		cd->id = (uint16_t)i;
		cd->block_size = block_size;
		cd->read_only = read_only;
		cd->opts = i ? opts2 : opts;
		list_add_tail(&drig.adapter.disks, &cd->link);
	}
	assert_int_equal(adapters_open(&drig.conf), 0);
	drig.disk = disk_find("d");
	reactor_call(reactor_get(0), drig_on_flow, NULL);
	return drig.disk->online;
}

static inline bool
drig_open(const char *driver, void *opts, uint32_t block_size, bool read_only)
{
	return drig_open2(driver, opts, NULL, block_size, read_only);
}

static inline void
drig_close(void)
{
	reactor_call(reactor_get(0), drig_on_put, NULL);
	assert_int_equal(bridge_check(drig.disk->host, stderr), 0);
	adapters_close();
	reactors_stop();
}

static inline void
drig_done(struct bridge_req *req)
{
	sem_post(&drig.done);
}

static inline void
drig_on_submit(void *arg)
{
	drig.req.flow = drig.flow;
	drig.req.done = drig_done;
	drig.req.io.result = -1000;
	drig.verdict = bridge_submit(&drig.req);
}

/* Runs what drig.req.io says and waits for its end; returns the result. */
static inline int
drig_run(void)
{
	reactor_call(reactor_get(0), drig_on_submit, NULL);
	if (drig.verdict == BRIDGE_PENDING)
		while (sem_wait(&drig.done))
			;
	else
		assert_int_equal(drig.verdict, BRIDGE_DONE);
	return drig.req.io.result;
}

/* buf is cut into nseg segments; READ of a lending disk is copied into it. */
static inline int
drig_io(enum disk_op op, unsigned flags, uint64_t offset, void *buf, uint64_t len, int nseg)
{
	struct disk_io *io = &drig.req.io;
	uint64_t at = 0;
	int res;

	memset(&drig.req, 0, sizeof(drig.req));
	io->op = (uint8_t)op;
	io->flags = (uint8_t)flags;
	io->offset = offset;
	io->len = len;
	io->iov = drig.iov;
	io->niov = buf ? nseg : 0;
	for (int i = 0; i < io->niov; i++) {
		uint64_t n = i == nseg - 1 ? len - at : len / (uint64_t)nseg;

		drig.iov[i] = (struct iovec){ (char *)buf + at, n };
		at += n;
	}
	res = drig_run();
	if (res == 0 && op == DISK_READ && drig.disk->caps & DISK_CAP_LENDS) {
		at = 0;
		for (int i = 0; i < io->niov; i++) {
			memcpy((char *)buf + at, io->iov[i].iov_base, io->iov[i].iov_len);
			at += io->iov[i].iov_len;
		}
		assert_int_equal(at, len);
	}
	return res;
}

static inline int
drig_read(uint64_t offset, void *buf, uint64_t len)
{
	return drig_io(DISK_READ, 0, offset, buf, len, 1);
}

static inline int
drig_write(uint64_t offset, void *buf, uint64_t len)
{
	return drig_io(DISK_WRITE, 0, offset, buf, len, 1);
}

/* Bytes that differ at every offset and for every seed. */
static inline void
drig_fill(void *buf, uint64_t offset, uint64_t len, unsigned seed)
{
	unsigned char *p = buf;

	for (uint64_t i = 0; i < len; i++) {
		uint64_t x = (offset + i) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;

		p[i] = (unsigned char)(x >> 56 | 1);
	}
}

static inline void
drig_expect(uint64_t offset, uint64_t len, unsigned seed)
{
	char *got = malloc(len), *want = malloc(len);

	assert_non_null(got);
	assert_non_null(want);
	memset(got, 0xee, len);
	drig_fill(want, offset, len, seed);
	assert_int_equal(drig_read(offset, got, len), 0);
	assert_memory_equal(got, want, len);
	free(got);
	free(want);
}

static inline void
drig_expect_zeros(uint64_t offset, uint64_t len)
{
	char *got = malloc(len), *want = calloc(1, len);

	assert_non_null(got);
	assert_non_null(want);
	memset(got, 0xee, len);
	assert_int_equal(drig_read(offset, got, len), 0);
	assert_memory_equal(got, want, len);
	free(got);
	free(want);
}

#endif
