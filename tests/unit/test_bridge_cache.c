/* What reactors keep for themselves: how much, and that others get it when they need it. */
#include "bridge_rig.h"

#include <pthread.h>

#include "hba/bridge/flow.h"
#include "hba/bridge/host.h"

static void
small_limits_have_no_caches(void **state)
{
	static const struct { int32_t limit; unsigned users; int32_t cap, bcap; } row[] = {
		{ 1, 1, 32, 0 }, { 7, 1, 32, 0 }, { 8, 1, 32, 2 }, { 12, 1, 32, 3 },
		{ 128, 1, 32, 32 }, { 4096, 1, 32, 32 }, { 15, 2, 32, 0 }, { 16, 2, 32, 2 },
		{ 1014, 28, 32, 9 }, { 64, 28, 32, 0 }, { 8192, 64, 32, 32 }, { 4096, 1, 0, 0 },
		{ 4096, 4, 256, 256 }, { UNLIMITED, 64, 32, 32 },
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(node_bcap(row[i].limit, row[i].users, row[i].cap), row[i].bcap);
	/* All caches together, at twice bcap each, hold at most half. */
	for (int32_t limit = 1; limit <= 8192; limit++)
		for (unsigned users = 1; users <= 64; users *= 2)
			assert_true(2 * node_bcap(limit, users, 32) * (int32_t)users <= limit / 2);
}

/* -- two reactors, one disk that keeps what it gets -- */

enum { REQS = 64 };

static struct bridge_req reqs[2][REQS];
static struct bridge_flow *flow[2];
static atomic_int reached, done;
static bool at_once;

static enum disk_result
keep(struct disk_io *io)
{
	io->result = 0;
	atomic_fetch_add(&reached, 1);
	return at_once ? DISK_DONE : DISK_PENDING;
}

static void
one_done(struct bridge_req *req)
{
	atomic_fetch_add(&done, 1);
}

static void
on_flow(void *arg)
{
	unsigned r = reactor_id(reactor_self());

	flow[r] = bridge_flow_get(rig_disk(0), arg, &(struct bridge_limits){ .weight = 1 },
	    reactor_self());
	sure(flow[r]);
}

static void
on_put(void *arg)
{
	unsigned r = reactor_id(reactor_self());

	bridge_flow_put(flow[r]);
	flow[r] = NULL;
}

static enum bridge_verdict
submit(int i)
{
	unsigned r = reactor_id(reactor_self());

	reqs[r][i].flow = flow[r];
	reqs[r][i].done = one_done;
	return bridge_submit(&reqs[r][i]);
}

static void
on_submit_all(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++)
		submit(i);
}

static void
on_finish_all(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++)
		disk_io_done(&reqs[reactor_id(reactor_self())][i].io);
}

static void
open_two(uint32_t limit)
{
	atomic_store(&reached, 0);
	atomic_store(&done, 0);
	memset(reqs, 0, sizeof(reqs));
	at_once = false;
	rig_open(2, limit, limit, limit, 1, 1, keep);
	rig_run(0, on_flow, (void *)"a");
	rig_run(1, on_flow, (void *)"b");
}

static void
close_two(void)
{
	rig_run(0, on_put, NULL);
	rig_run(1, on_put, NULL);
	rig_close();
}

static bool
comes_to(atomic_int *n, int want)
{
	for (int i = 0; i < 2000 && atomic_load(n) != want; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return atomic_load(n) == want;
}

static uint32_t
kept(unsigned reactor)
{
	struct bridge_reactor_stats s;

	assert_true(bridge_reactor_stats(rig.host, reactor, &s));
	return s.kept;
}

/* Keeps its reactor awake. */
static struct {
	struct poller poller;
	atomic_bool on;
} awake;

static bool
awake_poll(struct poller *p)
{
	return atomic_load(&awake.on);
}

static void
on_awake(void *arg)
{
	awake.poller.poll = awake_poll;
	atomic_store(&awake.on, true);
	poller_add(reactor_self(), &awake.poller);
}

static void
on_asleep(void *arg)
{
	atomic_store(&awake.on, false);
	poller_del(&awake.poller);
}

static void
credits_of_a_reactor_that_is_awake_are_had_by_others(void **state)
{
	int one = 1, rest = 63;

	open_two(64);
	rig_run(0, on_awake, NULL);
	rig_run(0, on_submit_all, &one);
	assert_true(kept(0) > 0);
	rig_run(1, on_submit_all, &rest);
	assert_true(comes_to(&reached, 64));
	assert_int_equal(kept(0), 0);
	assert_int_equal(bridge_check(rig.host, stderr), 0);
	rig_run(0, on_finish_all, &one);
	rig_run(1, on_finish_all, &rest);
	assert_true(comes_to(&done, 64));
	rig_run(0, on_asleep, NULL);
	close_two();
}

static void
a_reactor_that_sleeps_keeps_nothing(void **state)
{
	int one = 1, rest = 63;

	open_two(64);
	rig_run(0, on_submit_all, &one);
	for (int i = 0; i < 2000 && kept(0); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_int_equal(kept(0), 0);
	rig_run(1, on_submit_all, &rest);
	assert_int_equal(atomic_load(&reached), 64);
	rig_run(0, on_finish_all, &one);
	rig_run(1, on_finish_all, &rest);
	assert_true(comes_to(&done, 64));
	close_two();
}

static void
on_submit_inline(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sure(submit(0) == BRIDGE_DONE);
}

/* What comes back stays where it came back, up to twice what is fetched at a time. */
static void
far_from_limits_nothing_is_fetched_twice(void **state)
{
	struct bridge_node_stats s;

	open_two(1024);
	at_once = true;
	rig_run(0, on_awake, NULL);
	rig_run(0, on_submit_inline, NULL);
	assert_in_range(kept(0), 1, 32);
	s = rig_stats(BRIDGE_LUN, "d0");
	assert_int_equal(s.fast, 1000);
	assert_int_equal(s.slow, 0);
	assert_int_equal(s.flushes, 0);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").admitted, 1000);
	host_set_cap(rig.host, 0);
	rig_run(0, on_asleep, NULL);
	rig_run(0, on_submit_inline, NULL);
	assert_int_equal(kept(0), 0);
	assert_int_equal(bridge_check(rig.host, stderr), 0);
	host_set_cap(rig.host, -1);
	close_two();
}

static void *
finish_elsewhere(void *arg)
{
	disk_io_done(&reqs[0][0].io);
	return NULL;
}

/* A thread that is no reactor has no caches: the next waiter is started all the same. */
static void
a_completion_may_come_on_any_thread(void **state)
{
	pthread_t thread;
	int two = 2;

	open_two(1);
	rig_run(0, on_submit_all, &two);
	assert_int_equal(atomic_load(&reached), 1);
	assert_int_equal(pthread_create(&thread, NULL, finish_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	assert_true(comes_to(&reached, 2));
	assert_true(comes_to(&done, 1));
	assert_int_equal(pthread_create(&thread, NULL, finish_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&done), 1);
	disk_io_done(&reqs[0][1].io);
	assert_true(comes_to(&done, 2));
	close_two();
}

/* -- initiators come and go -- */

static unsigned
initiators_known(void)
{
	struct initiator *ini;
	unsigned n = 0;

	host_lock(rig.host);
	list_for_each(ini, &rig.host->gone, link)
		n++;
	list_for_each(ini, &rig.host->initiators, link)
		n++;
	host_unlock(rig.host, false);
	return n;
}

static void
nodes_of_initiators_that_left_are_used_again(void **state)
{
	char name[32];
	int few = 5;

	open_two(64);
	rig_run(1, on_put, NULL);
	at_once = true;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		rig_run(1, on_flow, name);
		rig_run(1, on_submit_all, &few);
		assert_int_equal(rig_stats(BRIDGE_INITIATOR, name).admitted, 5);
		rig_run(1, on_put, NULL);
		/* It has slept, and so given back what it kept. */
		for (int k = 0; k < 2000 && kept(1); k++)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	/* One here, one that is leaving, and one whose reactor was slow to sleep. */
	assert_in_range(initiators_known(), 2, 4);
	assert_int_equal(bridge_check(rig.host, stderr), 0);
	rig_run(1, on_flow, (void *)"z");
	close_two();
}

/* Same name, same node: what it has not got back yet still counts. */
static void
a_name_that_returns_finds_its_node(void **state)
{
	open_two(64);
	rig_run(1, on_put, NULL);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_INITIATOR, "b"), -ENOENT);
	rig_run(1, on_flow, (void *)"b");
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_INITIATOR, "b"), 0);
	rig_run(1, on_put, NULL);
	assert_int_equal(initiators_known(), 2);
	rig_run(1, on_flow, (void *)"b");
	assert_int_equal(initiators_known(), 2);
	/* Nobody is frozen by what was said of who has left. */
	at_once = true;
	rig_run(1, on_submit_all, &(int){ 1 });
	assert_int_equal(atomic_load(&reached), 1);
	close_two();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_limits_have_no_caches),
		cmocka_unit_test(credits_of_a_reactor_that_is_awake_are_had_by_others),
		cmocka_unit_test(a_reactor_that_sleeps_keeps_nothing),
		cmocka_unit_test(far_from_limits_nothing_is_fetched_twice),
		cmocka_unit_test(a_completion_may_come_on_any_thread),
		cmocka_unit_test(nodes_of_initiators_that_left_are_used_again),
		cmocka_unit_test(a_name_that_returns_finds_its_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
