/* The end of the adapters: what is still out is waited for, counted and named. */
#include "bridge_steps.h"

#include <time.h>
#include <unistd.h>

static char said[4096];
static bool rest;
static uint64_t took_ms;

/* adapters_settle, and what it logs meanwhile. */
static void
settle(unsigned ms)
{
	FILE *f = tmpfile();
	int err = dup(STDERR_FILENO);
	uint64_t began = now_ns();
	ssize_t n;

	assert_true(f && err >= 0);
	fflush(stderr);
	dup2(fileno(f), STDERR_FILENO);
	rest = adapters_settle(ms * 1000000ull);
	dup2(err, STDERR_FILENO);
	close(err);
	took_ms = (now_ns() - began) / 1000000;
	n = pread(fileno(f), said, sizeof(said) - 1, 0);
	assert_true(n >= 0);
	said[n] = 0;
	fclose(f);
}

static void
nothing_out_is_rest_at_once(void **state)
{
	start(4, 4, 4, 2, 1);
	settle(5000);
	assert_true(rest);
	assert_true(took_ms < 1000);
	assert_string_equal(said, "");
	end();
}

static void
each_disk_is_named_with_what_it_keeps(void **state)
{
	start(8, 8, 8, 3, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 2, "a", 1, 0);
	submit(0);
	submit(1);
	submit(1);
	/* Beside the limits, and out all the same. */
	assert_int_equal(reqs[submit_by(bridge_urgent, 1)].verdict, BRIDGE_PENDING);
	settle(100);
	assert_false(rest);
	assert_in_range(took_ms, 100, 1000);
	assert_non_null(strstr(said, "disk d0: never gave back 1 requests"));
	assert_non_null(strstr(said, "disk d2: never gave back 3 requests"));
	assert_null(strstr(said, "disk d1"));
	for (int i = 0; i < nreqs; i++)
		finish(i);
	end();
}

static void
a_flow_that_is_not_put_is_no_rest(void **state)
{
	start(4, 4, 4, 1, 1);
	flow(0, 0, "a", 1, 0);
	settle(20);
	assert_false(rest);
	assert_string_equal(said, "");
	end();
}

static struct timer late;

/* As the last request of a nexus that has ended. */
static void
last_is_home(struct bridge_req *req)
{
	treq_done(req);
	bridge_flow_put(flows[0]);
	flows[0] = NULL;
}

static void
give_back(struct timer *t)
{
	timer_fini(t);
	disk_io_done(&reqs[0].req.io);
}

static void
give_back_late(void *arg)
{
	reqs[0].req.done = last_is_home;
	timer_init(&late, reactor_self(), give_back);
	timer_set(&late, 100000000);
}

static void
what_comes_back_late_is_waited_for(void **state)
{
	start(4, 4, 4, 1, 1);
	flow(0, 0, "a", 1, 0);
	submit(0);
	rig_run(0, give_back_late, NULL);
	settle(5000);
	assert_true(rest);
	assert_in_range(took_ms, 90, 2000);
	assert_int_equal(reqs[0].done, 1);
	assert_string_equal(said, "");
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_out_is_rest_at_once),
		cmocka_unit_test(each_disk_is_named_with_what_it_keeps),
		cmocka_unit_test(a_flow_that_is_not_put_is_no_rest),
		cmocka_unit_test(what_comes_back_late_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
