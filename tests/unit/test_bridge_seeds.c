/*
 * The reports that this bridge was built for: divided queues that starve a busy
 * one, a blocked adapter met by two processors at once, and waiters whom nobody
 * wakes.
 */
#include "bridge_rig.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

enum { JOBS_MAX = 28 * 256 };

struct sjob {
	struct bridge_req req;
	struct list link;		/* in the device */
	unsigned home;
	bool pending;
};

static struct sjob jobs[JOBS_MAX];
static struct list running[REACTORS_MAX];
static struct bridge_flow *flows[REACTORS_MAX];
static atomic_int in_flight, done;
static atomic_int full;			/* so many times the disk has no room */

static enum disk_result
device_submit(struct disk_io *io)
{
	struct sjob *j = container_of(io, struct sjob, req.io);

	io->result = 0;
	if (atomic_load(&full) > 0 && atomic_fetch_sub(&full, 1) > 0) {
		io->result = -EAGAIN;
		return DISK_DONE;
	}
	atomic_fetch_add(&in_flight, 1);
	list_add_tail(&running[reactor_id(reactor_self())], &j->link);
	return DISK_PENDING;
}

static void
job_done(struct bridge_req *req)
{
	struct sjob *j = container_of(req, struct sjob, req);

	sure(reactor_self() == reactor_get(j->home) && j->pending);
	j->pending = false;
	atomic_fetch_add(&done, 1);
}

/* Each reactor has an initiator of its own at one of the disks. */
static void
open_on(void *arg)
{
	unsigned r = reactor_id(reactor_self());
	char name[16];

	list_init(&running[r]);
	snprintf(name, sizeof(name), "i%u", r);
	flows[r] = bridge_flow_get(rig_disk((int)(r % *(unsigned *)arg)), name,
	    &(struct bridge_limits){ .weight = 1 }, reactor_self());
	sure(flows[r]);
}

static void
open_all(unsigned reactors, uint32_t can_queue, uint32_t target, uint32_t lun, unsigned disks, int mode)
{
	atomic_store(&in_flight, 0);
	atomic_store(&done, 0);
	rig_wants.queue_mode = mode;
	rig_open(reactors, can_queue, target, lun, (int)disks, 1, device_submit);
	rig_wants = (struct conf_adapter){ 0 };
	for (unsigned r = 0; r < reactors; r++)
		rig_run(r, open_on, &disks);
}

static int next_job, want_jobs;

static void
job_make(struct sjob *j, unsigned home)
{
	memset(j, 0, sizeof(*j));
	j->home = home;
	j->pending = true;
	j->req.flow = flows[home];
	j->req.done = job_done;
}

static void
submit_on(void *arg)
{
	for (int i = 0; i < want_jobs; i++) {
		struct sjob *j = &jobs[next_job++];

		job_make(j, reactor_id(reactor_self()));
		sure(bridge_submit(&j->req) == BRIDGE_PENDING);
	}
}

static void
submit(unsigned reactor, int n)
{
	want_jobs = n;
	rig_run(reactor, submit_on, NULL);
}

static void
finish_on(void *arg)
{
	struct list *mine = &running[reactor_id(reactor_self())];
	int n = *(int *)arg;

	while (n-- > 0 && !list_empty(mine)) {
		struct sjob *j = list_first(mine, struct sjob, link);

		list_del(&j->link);
		atomic_fetch_sub(&in_flight, 1);
		disk_io_done(&j->req.io);
	}
}

static void
finish(unsigned reactor, int n)
{
	rig_run(reactor, finish_on, &n);
}

/* Until it is so; a count that stays wrong is a waiter that nobody wakes. */
static void
until(atomic_int *n, int want)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	for (int i = 0; i < 100000 && atomic_load(n) != want; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(n), want);
}

/* A count that must not change any more, after all reactors have had their turns. */
static void
stays(atomic_int *n, int want)
{
	until(n, want);
	for (int i = 0; i < 5; i++)
		for (unsigned r = 0; r < reactor_count(); r++)
			rig_run(r, rig_nothing, NULL);
	assert_int_equal(atomic_load(n), want);
	assert_int_equal(bridge_check(rig.host, stderr), 0);
}

static void
close_on(void *arg)
{
	bridge_flow_put(flows[reactor_id(reactor_self())]);
}

static void
close_all(void)
{
	until(&done, next_job);
	assert_int_equal(atomic_load(&in_flight), 0);
	for (unsigned r = 0; r < reactor_count(); r++)
		rig_run(r, close_on, NULL);
	next_job = 0;
	rig_close();
}

static void
finish_all(void)
{
	for (int i = 0; i < 10000 && atomic_load(&done) < next_job; i++)
		for (unsigned r = 0; r < reactor_count(); r++)
			finish(r, JOBS_MAX);
}

/* -- S1: how many of the adapter's slots jobs on a part of the reactors get -- */

static int
slots_used(unsigned reactors, unsigned busy, uint32_t can_queue, uint32_t lun, int depth, int mode, int want)
{
	int got;

	open_all(reactors, can_queue, can_queue, lun, busy, mode);
	for (unsigned r = 0; r < busy; r++)
		submit(r, depth);
	stays(&in_flight, want);
	got = atomic_load(&in_flight);
	finish_all();
	close_all();
	return got;
}

/* 28 reactors, 15 jobs of depth 256, an adapter of 1013, disks of 64. */
static void
the_smartpqi_table(void **state)
{
	static const struct { int mode, want; } row[] = {
		{ QUEUE_SHARED, 960 }, { QUEUE_SINGLE, 960 }, { QUEUE_SHARED_SINGLE, 960 },
		{ QUEUE_DIVIDED_BORROW, 960 }, { QUEUE_DIVIDED, 15 * (1013 / 28) },
	};
	int got[ARRAY_LEN(row)];

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		got[i] = slots_used(28, 15, 1013, 64, 256, row[i].mode, row[i].want);
		print_message("# mode %d: %d slots, %.2f of shared\n", row[i].mode, got[i],
		    (double)got[i] / got[0]);
	}
	assert_true(got[4] >= 0.50 * got[0] && got[4] <= 0.63 * got[0]);
	for (int i = 1; i < 4; i++)
		assert_true(got[i] >= 0.98 * got[0]);
}

/* Load on K of 8 reactors: divided loses what the others do not use; to borrow loses nothing. */
static void
skew(void **state)
{
	static const unsigned busy[] = { 8, 4, 2, 1 };

	for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
		int each = 256 * 8 / (int)busy[i];

		slots_used(8, busy[i], 1024, 1024, each, QUEUE_SHARED, 1024);
		slots_used(8, busy[i], 1024, 1024, each, QUEUE_DIVIDED_BORROW, 1024);
		slots_used(8, busy[i], 1024, 1024, each, QUEUE_DIVIDED, 128 * (int)busy[i]);
	}
}

/* -- S3: the adapter is blocked with two in flight; two processors come at once -- */

static atomic_uint arrived;

/* The job is made before; at the meeting both only ask. */
static void
meet(struct msg *m)
{
	struct sjob *j = &jobs[2 + reactor_id(reactor_self())];

	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) % 2)
		sched_yield();
	sure(bridge_submit(&j->req) == BRIDGE_PENDING);
}

static struct { OWN_LINE struct msg msg; } meeting[2];

static void
two_arrive_at_a_blocked_adapter(void **state)
{
	for (int i = 0; i < 200; i++) {
		open_all(2, 4, 4, 4, 1, QUEUE_SHARED);
		submit(0, 1);
		submit(1, 1);
		assert_int_equal(atomic_load(&in_flight), 2);
		assert_int_equal(bridge_freeze(rig.host, BRIDGE_HOST, "rig"), 0);
		for (unsigned r = 0; r < 2; r++, next_job++) {
			meeting[r].msg.fn = meet;
			job_make(&jobs[next_job], r);
		}
		for (unsigned r = 0; r < 2; r++)
			reactor_post(reactor_get(r), &meeting[r].msg);
		stays(&in_flight, 2);
		assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 2);
		/* What was at the adapter comes back: still nobody goes. */
		finish(0, 1);
		finish(1, 1);
		stays(&in_flight, 0);
		assert_int_equal(atomic_load(&done), 2);
		assert_int_equal(bridge_thaw(rig.host, BRIDGE_HOST, "rig"), 0);
		/* Neither waits for the other. */
		until(&in_flight, 2);
		finish_all();
		close_all();
	}
}

/* -- S7: waiters whom others forgot -- */

/* Nothing is in flight that could wake it: the disk refuses the last one again and again. */
static void
the_last_one_is_refused_again(void **state)
{
	open_all(1, 4, 4, 4, 1, QUEUE_SHARED);
	atomic_store(&full, 5);
	submit(0, 1);
	until(&in_flight, 1);
	assert_int_equal(atomic_load(&full), 0);
	finish_all();
	close_all();
	/* The last of several, at its end. */
	open_all(1, 4, 4, 4, 1, QUEUE_SHARED);
	submit(0, 2);
	atomic_store(&full, 3);
	submit(0, 1);
	finish(0, 2);
	until(&in_flight, 1);
	finish_all();
	close_all();
}

static void
asleep(unsigned r)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	while (reactor_heartbeat_age(reactor_get(r)) != 0)
		nanosleep(&pause, NULL);
}

/* Who waits sleeps; the slot comes back on another reactor, far from its own queue. */
static void
the_waiter_sleeps_elsewhere(void **state)
{
	static const int modes[] = { QUEUE_SHARED, QUEUE_SHARED_SINGLE, QUEUE_SINGLE, QUEUE_DIVIDED_BORROW };

	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		open_all(2, 1, 1, 1, 1, modes[m]);
		submit(1, 1);
		until(&in_flight, 1);
		submit(0, 1);
		asleep(0);
		asleep(1);
		stays(&in_flight, 1);
		for (unsigned r = 0; r < 2; r++)
			finish(r, 1);
		until(&done, 1);
		until(&in_flight, 1);
		finish_all();
		close_all();
	}
}

static enum bridge_cancel cancelled;

static void
cancel_on(void *arg)
{
	struct sjob *j = arg;

	cancelled = bridge_cancel(&j->req);
	if (cancelled == BRIDGE_CANCELLED) {
		j->pending = false;
		atomic_fetch_add(&done, 1);
	}
}

/* It held nothing: no count may move, and those behind it go on. */
static void
abort_of_a_waiter_moves_no_count(void **state)
{
	open_all(1, 2, 2, 2, 1, QUEUE_SHARED);
	submit(0, 5);
	stays(&in_flight, 2);
	rig_run(0, cancel_on, &jobs[3]);
	assert_int_equal(cancelled, BRIDGE_CANCELLED);
	stays(&in_flight, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 2);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 2);
	finish(0, 2);
	until(&in_flight, 2);
	finish_all();
	close_all();
}

/* Closed and opened again with nothing outstanding: nobody else would look. */
static void
opened_again_with_nothing_outstanding(void **state)
{
	static const enum bridge_kind kinds[] = { BRIDGE_HOST, BRIDGE_TARGET, BRIDGE_LUN, BRIDGE_INITIATOR };
	static const char *const names[] = { "rig", "0:0", "d0", "i0" };

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		open_all(1, 4, 4, 4, 1, QUEUE_SHARED);
		assert_int_equal(bridge_freeze(rig.host, kinds[k], names[k]), 0);
		submit(0, 3);
		asleep(0);
		stays(&in_flight, 0);
		assert_int_equal(bridge_thaw(rig.host, kinds[k], names[k]), 0);
		until(&in_flight, 3);
		/* Far below what is in flight, and up again when all is back. */
		assert_int_equal(bridge_set_limit(rig.host, kinds[k], names[k], 1), 0);
		submit(0, 3);
		stays(&in_flight, 3);
		finish(0, 3);
		until(&in_flight, 1);
		finish(0, 1);
		until(&in_flight, 1);
		assert_int_equal(bridge_set_limit(rig.host, kinds[k], names[k], 4), 0);
		until(&in_flight, 2);
		finish_all();
		close_all();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smartpqi_table),
		cmocka_unit_test(skew),
		cmocka_unit_test(two_arrive_at_a_blocked_adapter),
		cmocka_unit_test(the_last_one_is_refused_again),
		cmocka_unit_test(the_waiter_sleeps_elsewhere),
		cmocka_unit_test(abort_of_a_waiter_moves_no_count),
		cmocka_unit_test(opened_again_with_nothing_outstanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
