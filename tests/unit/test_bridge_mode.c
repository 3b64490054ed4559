/* How hardware queues share an adapter's slots, and changing that under load. */
#include "bridge_threads.h"

#include <pthread.h>
#include <time.h>

static const struct {
	int mode;
	uint32_t queues;
	unsigned may_submit;		/* of four reactors, a bit for each */
	unsigned parts;			/* the quotas that can_queue is divided into; 0: none */
} modes[] = {
	{ QUEUE_SHARED, 0, 0xf, 0 },
	{ QUEUE_SHARED, 2, 0x3, 0 },
	{ QUEUE_SHARED_SINGLE, 1, 0x1, 0 },
	{ QUEUE_SINGLE, 0, 0x1, 0 },
	{ QUEUE_DIVIDED, 0, 0xf, 4 },
	{ QUEUE_DIVIDED, 2, 0x3, 2 },
	{ QUEUE_DIVIDED_BORROW, 0, 0xf, 0 },
};

static void
mode_is(size_t m)
{
	uint32_t queues;
	int mode;

	bridge_get_mode(rig.host, &mode, &queues);
	assert_int_equal(mode, modes[m].mode);
	if (modes[m].queues)
		assert_int_equal(queues, modes[m].queues);
}

/* In silence, with everything given back. */
static void
enter_mode(size_t m)
{
	assert_int_equal(bridge_set_mode(rig.host, modes[m].mode, modes[m].queues, 5000000000u), 0);
	mode_is(m);
	atomic_store(&submitters, 0);
	quota_queues = modes[m].parts;
	quota = quota_queues ? host_max / (int)quota_queues : 0;
}

static void
only_its_queues_were_used(size_t m)
{
	unsigned used = atomic_load(&submitters);

	assert_int_equal(used & ~modes[m].may_submit, 0);
	assert_true(used);
}

static void
limits_hold_in_each_mode(void **state)
{
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		open_all(4, 11, 7, 5, 8, m % 2);
		enter_mode(m);
		start_stress(STRESS / 8);
		stress_wait();
		only_its_queues_were_used(m);
		quota_queues = 0;
		close_all();
	}
}

/* Caches are in use only where limits are larger. */
static void
limits_hold_where_credits_are_kept(void **state)
{
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		open_all(4, 64, 48, 40, 64, m % 2);
		enter_mode(m);
		start_stress(STRESS / 8);
		stress_wait();
		quota_queues = 0;
		close_all();
	}
}

static void
nobody_is_left_waiting_in_any_mode(void **state)
{
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		open_all(4, 4, 2, 2, 3, true);
		enter_mode(m);
		quiet(ROUNDS / 10);
		only_its_queues_were_used(m);
		quota_queues = 0;
		close_all();
	}
}

/* Every mode after every other one, while requests run, wait and are cancelled. */
static void
modes_change_under_load(void **state)
{
	unsigned seed = 3;

	open_all(4, 9, 6, 4, 5, true);
	start_stress(STRESS / 8);
	for (int i = 0; i < 100; i++) {
		size_t m = rnd(&seed, ARRAY_LEN(modes));

		assert_int_equal(bridge_set_mode(rig.host, modes[m].mode, modes[m].queues,
		    10000000000u), 0);
		mode_is(m);
		assert_int_equal(bridge_check(rig.host, stderr), 0);
	}
	end_stress();
}

/* -- one step at a time -- */

static struct treq some[32];
static int reached;			/* the disk */
static int last;
static bool home_again[32];

static enum disk_result
step_submit(struct disk_io *io)
{
	reached++;
	last = (int)(container_of(io, struct treq, req.io) - some);
	io->result = 0;
	return DISK_PENDING;
}

static void
step_done(struct bridge_req *req)
{
	home_again[container_of(req, struct treq, req) - some] = true;
}

static struct bridge_flow *flow[THREADS_MAX];

static void
on_flow(void *arg)
{
	flow[reactor_id(reactor_self())] = bridge_flow_get(rig_disk(0), arg,
	    &(struct bridge_limits){ .weight = 1 }, reactor_self());
}

static void
on_flow_put(void *arg)
{
	bridge_flow_put(flow[reactor_id(reactor_self())]);
}

static void
on_submit(void *arg)
{
	struct treq *t = arg;

	t->req.flow = flow[reactor_id(reactor_self())];
	t->req.done = step_done;
	sure(bridge_submit(&t->req) == BRIDGE_PENDING);
}

static void
on_finish(void *arg)
{
	disk_io_done(&((struct treq *)arg)->req.io);
}

static void
all_settle(void)
{
	for (int k = 0; k < 4; k++)
		for (unsigned r = 0; r < nthreads; r++)
			rig_run(r, rig_nothing, NULL);
}

static void
steps_open(unsigned threads, uint32_t can_queue)
{
	nthreads = threads;
	reached = 0;
	memset(some, 0, sizeof(some));
	memset(home_again, 0, sizeof(home_again));
	rig_open(threads, can_queue, 64, 64, 1, 1, step_submit);
	for (unsigned r = 0; r < threads; r++)
		rig_run(r, on_flow, (void *)"a");
}

/* All that are at the disk have come back. */
static void
steps_close(void)
{
	for (unsigned r = 0; r < nthreads; r++)
		rig_run(r, on_flow_put, NULL);
	rig_close();
}

static void
submit_on(unsigned reactor, int i)
{
	rig_run(reactor, on_submit, &some[i]);
	all_settle();
}

static void
finish_on(unsigned reactor, int i)
{
	rig_run(reactor, on_finish, &some[i]);
	all_settle();
}

static void
a_quota_is_kept_although_others_idle(void **state)
{
	steps_open(4, 10);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_DIVIDED, 0, 1000000000), 0);
	for (int i = 0; i < 6; i++)
		submit_on(1, i);
	assert_int_equal(reached, 2);
	/* The rest of the adapter is there for others. */
	submit_on(2, 6);
	assert_int_equal(reached, 3);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 3);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").limit, 10);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 4);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 3), -EINVAL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 4), 0);
	finish_on(1, 0);
	assert_int_equal(reached, 3);
	finish_on(1, 1);
	assert_int_equal(reached, 4);
	finish_on(2, 6);
	for (int i = 2; i < 6; i++)
		finish_on(1, i);
	assert_int_equal(reached, 7);
	steps_close();
}

/* Borrowed back: what a quota does not use, another queue has. */
static void
one_queue_may_have_all_of_it(void **state)
{
	static const int row[] = { QUEUE_SHARED, QUEUE_DIVIDED_BORROW };

	for (size_t m = 0; m < ARRAY_LEN(row); m++) {
		steps_open(4, 10);
		assert_int_equal(bridge_set_mode(rig.host, row[m], 0, 1000000000), 0);
		for (int i = 0; i < 12; i++)
			submit_on(1, i);
		assert_int_equal(reached, 10);
		for (int i = 0; i < 12; i++)
			finish_on(1, i);
		assert_int_equal(reached, 12);
		steps_close();
	}
}

/* Its disk keeps a request: nothing has changed, and what waited meanwhile goes on. */
static void
a_change_that_takes_too_long_changes_nothing(void **state)
{
	uint32_t queues;
	int mode;

	steps_open(2, 4);
	submit_on(1, 0);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_DIVIDED, 0, 20000000), -ETIMEDOUT);
	bridge_get_mode(rig.host, &mode, &queues);
	assert_int_equal(mode, QUEUE_SHARED);
	assert_int_equal(queues, 2);
	for (int i = 1; i < 5; i++)
		submit_on(1, i);
	assert_int_equal(reached, 4);
	assert_int_equal(bridge_check(rig.host, stderr), 0);
	for (int i = 0; i < 5; i++)
		finish_on(1, i);
	steps_close();
}

static void
changes_that_make_no_sense_are_refused(void **state)
{
	steps_open(4, 3);
	assert_int_equal(bridge_set_mode(rig.host, 99, 0, 0), -EINVAL);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_SHARED, 5, 0), -EINVAL);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_SINGLE, 2, 0), -EINVAL);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_DIVIDED, 4, 0), -EINVAL);
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_DIVIDED, 3, 1000000000), 0);
	steps_close();
}

static void *
divide(void *err)
{
	*(int *)err = bridge_set_mode(rig.host, QUEUE_DIVIDED, 0, 5000000000u);
	return NULL;
}

/* What was enough for two queues when the change began is not when it would be done. */
static void
a_limit_that_shrinks_meanwhile_refuses_it(void **state)
{
	const struct timespec t = { .tv_nsec = 50000000 };
	uint32_t queues;
	int err, mode;
	pthread_t thread;

	steps_open(2, 4);
	submit_on(1, 0);
	assert_int_equal(pthread_create(&thread, NULL, divide, &err), 0);
	nanosleep(&t, NULL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 1), 0);
	finish_on(1, 0);
	pthread_join(thread, NULL);
	assert_int_equal(err, -EINVAL);
	bridge_get_mode(rig.host, &mode, &queues);
	assert_int_equal(mode, QUEUE_SHARED);
	/* And there is a slot. */
	submit_on(1, 1);
	assert_int_equal(reached, 2);
	finish_on(1, 1);
	steps_close();
}

static void
frozen_stays_frozen(void **state)
{
	steps_open(2, 2);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_HOST, "rig"), 0);
	for (int i = 0; i < 3; i++)
		submit_on(1, i);
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		if (modes[m].queues > 2 || modes[m].parts > 2)
			continue;
		assert_int_equal(bridge_set_mode(rig.host, modes[m].mode, modes[m].queues,
		    1000000000), 0);
		all_settle();
		assert_int_equal(reached, 0);
		assert_int_equal(rig_stats(BRIDGE_LUN, "d0").waiting, 3);
		assert_int_equal(bridge_check(rig.host, stderr), 0);
	}
	assert_int_equal(bridge_set_mode(rig.host, QUEUE_SHARED, 0, 1000000000), 0);
	assert_int_equal(bridge_thaw(rig.host, BRIDGE_HOST, "rig"), 0);
	all_settle();
	assert_int_equal(reached, 2);
	/* In the order in which they came. */
	assert_int_equal(last, 1);
	/* A reactor told to look has started them, on its own queue. */
	for (int i = 0; i < 3; i++)
		finish_on(0, i);
	assert_int_equal(reached, 3);
	steps_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_hold_in_each_mode),
		cmocka_unit_test(limits_hold_where_credits_are_kept),
		cmocka_unit_test(nobody_is_left_waiting_in_any_mode),
		cmocka_unit_test(modes_change_under_load),
		cmocka_unit_test(a_quota_is_kept_although_others_idle),
		cmocka_unit_test(one_queue_may_have_all_of_it),
		cmocka_unit_test(a_change_that_takes_too_long_changes_nothing),
		cmocka_unit_test(changes_that_make_no_sense_are_refused),
		cmocka_unit_test(a_limit_that_shrinks_meanwhile_refuses_it),
		cmocka_unit_test(frozen_stays_frozen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
