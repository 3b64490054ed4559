/* Many requests at once to a file: more than the ring has entries, on two reactors, every way. */
#include "disk_rig.h"

#include <stdatomic.h>
#include <unistd.h>

#include "hba/disk/file.h"

enum {
	REACTORS = 2,
	BLOCK = 4096,
	REQS = 400,			/* per reactor, all outstanding together */
	ROUNDS = 4,
};

struct treq {
	struct bridge_req req;
	struct iovec iov;
	char *buf;
	unsigned block;
};

static struct treq reqs[REACTORS][REQS];
static struct bridge_flow *flows[REACTORS];
static enum disk_op op;
static unsigned seed;
static atomic_int left, failed;
static sem_t all;
static char path[] = "/var/tmp/sluice-test-XXXXXX";

static void
one_less(void)
{
	if (atomic_fetch_sub(&left, 1) == 1)
		sem_post(&all);
}

static void
finish(struct treq *t)
{
	if (t->req.io.result)
		atomic_fetch_add(&failed, 1);
	else if (op == DISK_READ) {
		char want[BLOCK];

		drig_fill(want, (uint64_t)t->block * BLOCK, BLOCK, seed);
		if (memcmp(want, t->buf, BLOCK))
			atomic_fetch_add(&failed, 1);
	}
	one_less();
}

static void
treq_done(struct bridge_req *req)
{
	finish(container_of(req, struct treq, req));
}

static void
submit_all(void *arg)
{
	unsigned r = reactor_id(reactor_self());

	for (unsigned i = 0; i < REQS; i++) {
		struct treq *t = &reqs[r][i];

		/* Neighbours belong to different reactors. */
		t->block = i * REACTORS + r;
		if (op == DISK_WRITE)
			drig_fill(t->buf, (uint64_t)t->block * BLOCK, BLOCK, seed);
		else
			memset(t->buf, 0xee, BLOCK);
		t->iov = (struct iovec){ t->buf, BLOCK };
		t->req.flow = flows[r];
		t->req.done = treq_done;
		t->req.io = (struct disk_io){ .op = (uint8_t)op, .len = BLOCK, .iov = &t->iov,
			.niov = 1, .offset = (uint64_t)t->block * BLOCK };
		if (bridge_submit(&t->req) == BRIDGE_DONE)
			finish(t);
	}
}

static void
run_all(enum disk_op what)
{
	op = what;
	atomic_store(&left, REACTORS * REQS + 1);
	for (unsigned r = 0; r < REACTORS; r++)
		reactor_call(reactor_get(r), submit_all, NULL);
	one_less();
	while (sem_wait(&all))
		;
	assert_int_equal(atomic_load(&failed), 0);
}

static void
flow_on(void *arg)
{
	flows[reactor_id(reactor_self())] = bridge_flow_get(drig.disk, "i",
	    &(struct bridge_limits){ .weight = 1 }, reactor_self());
}

static void
flow_off(void *arg)
{
	bridge_flow_put(flows[reactor_id(reactor_self())]);
}

/* False: this file system does not take O_DIRECT. */
static bool
open_disk(bool direct, uint32_t depth)
{
	static struct file_conf conf;

	conf = (struct file_conf){ .path = path, .direct = direct, .write_cache = true };
	memset(&drig, 0, sizeof(drig));
	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(REACTORS, 0), 0);
	list_init(&drig.conf.adapters);
	list_init(&drig.adapter.disks);
	list_add_tail(&drig.conf.adapters, &drig.adapter.link);
	drig.adapter.name = (char *)"a";
	drig.adapter.can_queue = drig.adapter.target_depth = drig.adapter.lun_depth = depth;
	drig.cd[0].name = (char *)"d";
	drig.cd[0].driver = drig_driver("file");
	drig.cd[0].adapter = &drig.adapter;
	drig.cd[0].block_size = BLOCK;
	drig.cd[0].opts = &conf;
	list_add_tail(&drig.adapter.disks, &drig.cd[0].link);
	assert_int_equal(adapters_open(&drig.conf), 0);
	drig.disk = disk_find("d");
	assert_true(drig.disk->online || direct);
	for (unsigned r = 0; r < REACTORS; r++)
		reactor_call(reactor_get(r), flow_on, NULL);
	return drig.disk->online;
}

static void
close_disk(void)
{
	for (unsigned r = 0; r < REACTORS; r++)
		reactor_call(reactor_get(r), flow_off, NULL);
	assert_int_equal(bridge_check(drig.disk->host, stderr), 0);
	adapters_close();
	reactors_stop();
}

static void
every_block_comes_back(void **state)
{
	/*
	 * Depth below and above what the ring takes at once; O_DIRECT and page
	 * cache; ring, threads, and the ring with the kernel's workers alone.
	 */
	for (int way = 0; way < 12; way++) {
		bool online;

		file_ring_refuse = way & 4;
		online = open_disk(way & 1, way & 2 ? 1000 : 20);
		if (online && way & 8) {
			struct file_disk *fd = drig.disk->priv;

			fd->async = true;
			fd->nowait = false;
		}
		for (int i = 0; i < ROUNDS && online; i++) {
			seed = (unsigned)(way * ROUNDS + i);
			run_all(DISK_WRITE);
			run_all(DISK_READ);
		}
		close_disk();
	}
	file_ring_refuse = false;
}

static int
setup(void **state)
{
	int fd = mkstemp(path);

	sem_init(&all, 0, 0);
	if (fd < 0 || ftruncate(fd, (off_t)REACTORS * REQS * BLOCK))
		return -1;
	close(fd);
	for (int r = 0; r < REACTORS; r++)
		for (int i = 0; i < REQS; i++) {
			reqs[r][i].buf = aligned_alloc(BLOCK, BLOCK);
			if (!reqs[r][i].buf)
				return -1;
		}
	return 0;
}

static int
teardown(void **state)
{
	for (int r = 0; r < REACTORS; r++)
		for (int i = 0; i < REQS; i++)
			free(reqs[r][i].buf);
	return unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_block_comes_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
