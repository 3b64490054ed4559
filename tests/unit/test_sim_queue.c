/* Simulated commands end when they are due, in that order, on their own reactor. */
#include "sim_rig.h"

enum { N = 256 };

static struct sim_due due[N];

static int
due_order(const void *pa, const void *pb)
{
	const struct sim_due *a = pa, *b = pb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Submits all, and sees the queue before anything can have ended. */
static void
on_submit_and_look(void *arg)
{
	const struct sim_disk *sd = disk_find("d")->priv;
	const struct sim_queue *q = &sd->adapter->queue[reactor_id(reactor_self())];
	struct srig_call c = { .cmd = 0, .n = N };

	srig_on_submit(&c);
	sure(q->n == N);
	memcpy(due, q->heap, sizeof(due));
	qsort(due, N, sizeof(due[0]), due_order);
}

static void
order_of(const char *disk)
{
	srig_open(1, "can_queue: 256, target_depth: 256, lun_depth: 256", disk);
	srig_flow_get(0, 0, "d", "i");
	for (int i = 0; i < N; i++)
		srig_new(0, DISK_FLUSH, 0, NULL, 0);
	reactor_call(reactor_get(0), on_submit_and_look, NULL);
	srig_wait(N);
	for (int i = 0; i < N; i++) {
		struct sim_cmd *c = container_of(due[i].io, struct sim_cmd, req.io);

		assert_int_equal(c->order, i + 1);
		assert_int_equal(c->req.io.result, 0);
	}
	srig_close();
}

static void
they_end_when_they_are_due(void **state)
{
	order_of("{ name: d, driver: sim, service: 20ms, distribution: exponential }");
	order_of("{ name: d, driver: sim, service: 20ms, distribution: uniform, seed: 9 }");
}

static void
at_one_time_the_first_ends_first(void **state)
{
	order_of("{ name: d, driver: sim, service: 20ms }");
	for (int i = 0; i < N; i++)
		assert_int_equal(srig_cmd[i].order, i + 1);
}

static uint64_t early_by;

static void
seen_done(struct bridge_req *req)
{
	uint64_t now = now_ns(), at = ((struct sim_cmd *)req)->req.io.offset;

	if (now < at)
		early_by = MAX(early_by, at - now);
	srig_ended(req);
}

static void
on_timed(void *arg)
{
	for (int i = 0; i < N; i++) {
		srig_cmd[i].req.io.offset = now_ns() + 3000000;
		srig_start(&srig_cmd[i]);
	}
}

/* Late they may be on a busy machine, early never. */
static void
never_early(void **state)
{
	srig_open(1, "can_queue: 64", "{ name: d, driver: sim, service: 3ms, size: 1048576T }");
	srig_flow_get(0, 0, "d", "i");
	for (int i = 0; i < N; i++)
		srig_new(0, DISK_FLUSH, 0, NULL, 0)->req.done = seen_done;
	reactor_call(reactor_get(0), on_timed, NULL);
	srig_wait(N);
	assert_int_equal(early_by, 0);
	srig_close();
}

/* What starts where another has just ended is not lost, and does not end at once. */
static void
commands_started_by_ends(void **state)
{
	uint64_t began = now_ns();

	srig_open(2, "can_queue: 8", "{ name: d, driver: sim, service: 1ms }");
	srig_flow_get(0, 0, "d", "i");
	srig_flow_get(1, 1, "d", "k");
	for (int i = 0; i < 32; i++)
		srig_new(i / 16, DISK_FLUSH, 0, NULL, 0)->again = 9;
	srig_submit(0, 0, 16);
	srig_submit(1, 16, 32);
	srig_wait(32);
	/* 320 commands, 8 at a time, 1 ms each. */
	assert_true(now_ns() - began >= 40000000);
	assert_int_equal(srig_row(SIM_ADAPTER, NULL).commands, 320);
	assert_int_equal(srig_row(SIM_ADAPTER, NULL).in_flight, 0);
	srig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_end_when_they_are_due),
		cmocka_unit_test(at_one_time_the_first_ends_first),
		cmocka_unit_test(never_early),
		cmocka_unit_test(commands_started_by_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
