/* An adapter of fake disks, for the bridge's unit tests. */
#ifndef BRIDGE_RIG_H
#define BRIDGE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "conf.h"
#include "stats.h"

/* For reactor threads, where cmocka's own cannot jump back to the test. */
#define sure(x)                                                                     \
	do {                                                                        \
		if (!(x)) {                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                    \
		}                                                                   \
	} while (0)

enum { RIG_DISKS = 64 };

static struct rig {
	struct conf conf;
	struct conf_adapter adapter;
	struct conf_disk disk[RIG_DISKS];
	char name[RIG_DISKS][16];
	struct disk_driver driver;
	struct bridge_host *host;
} rig;

/* How the next adapter is configured, where rig_open's arguments do not say; a test that sets it clears it. */
static struct conf_adapter rig_wants;

static int
rig_disk_open(struct disk *d)
{
	d->size = 1 << 30;
	return 0;
}

/* Disks d0, d1, ...; `per_target` of them behind each bus target. */
static inline void
rig_open(unsigned reactors, uint32_t can_queue, uint32_t target_depth, uint32_t lun_depth,
    int ndisks, int per_target, enum disk_result (*submit)(struct disk_io *))
{
	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(reactors, 0), 0);
	memset(&rig, 0, sizeof(rig));
	rig.adapter = rig_wants;
	list_init(&rig.conf.adapters);
	list_init(&rig.adapter.disks);
	list_add_tail(&rig.conf.adapters, &rig.adapter.link);
	rig.adapter.name = (char *)"rig";
	rig.adapter.can_queue = can_queue;
	rig.adapter.target_depth = target_depth;
	rig.adapter.lun_depth = lun_depth;
	rig.driver.name = "fake";
	rig.driver.open = rig_disk_open;
	rig.driver.submit = submit;
	for (int i = 0; i < ndisks; i++) {
		struct conf_disk *d = &rig.disk[i];

		snprintf(rig.name[i], sizeof(rig.name[i]), "d%d", i);
		d->name = rig.name[i];
		d->adapter = &rig.adapter;
		d->driver = &rig.driver;
		d->id = (uint16_t)(i / per_target);
		d->lun = (uint16_t)(i % per_target);
		d->block_size = 512;
		list_add_tail(&rig.adapter.disks, &d->link);
	}
	assert_int_equal(adapters_open(&rig.conf), 0);
	rig.host = bridge_host_next(NULL);
	assert_non_null(rig.host);
}

static inline void
rig_close(void)
{
	assert_int_equal(bridge_check(rig.host, stderr), 0);
	adapters_close();
	reactors_stop();
}

static inline struct disk *
rig_disk(int i)
{
	struct disk *d = disk_find(rig.name[i]);

	sure(d);
	return d;
}

static inline struct bridge_node_stats
rig_stats(enum bridge_kind kind, const char *name)
{
	static struct bridge_node_stats s[512];
	unsigned n = bridge_stats(rig.host, s, ARRAY_LEN(s));

	assert_true(n <= ARRAY_LEN(s));
	for (unsigned i = 0; i < n; i++)
		if (s[i].kind == kind && strcmp(s[i].name, name) == 0)
			return s[i];
	fail_msg("no node %s", name);
	return s[0];
}

static inline void
rig_run(unsigned reactor, void (*fn)(void *), void *arg)
{
	reactor_call(reactor_get(reactor), fn, arg);
}

static inline void
rig_nothing(void *arg)
{
}

/* Lets messages that are under way on reactor 0 be handled, and those they post. */
static inline void
rig_settle(void)
{
	for (int i = 0; i < 4; i++)
		rig_run(0, rig_nothing, NULL);
}

#endif
