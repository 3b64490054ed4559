/* The bridge on one reactor: limits, disks that finish at once, cancel, bad completions. */
#include "bridge_steps.h"

/* -- limits -- */

static void
each_limit_stops_the_request_above_it(void **state)
{
	static const struct {
		uint32_t host, target, lun, initiator;
		enum bridge_kind kind;
		const char *name;
	} row[] = {
		{ 3, 9, 9, 0, BRIDGE_HOST, "rig" },
		{ 9, 3, 9, 0, BRIDGE_TARGET, "0:0" },
		{ 9, 9, 3, 0, BRIDGE_LUN, "d0" },
		{ 9, 9, 9, 3, BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(row[r].host, row[r].target, row[r].lun, 1, 1);
		flow(0, 0, "a", 1, row[r].initiator);
		for (int i = 0; i < 5; i++)
			assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
		assert_int_equal(started, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).limit, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).waiting, 2);
		check();
		finish(1);
		assert_int_equal(started, 4);
		assert_int_equal(reqs[3].order, 4);
		assert_int_equal(reqs[1].done, 1);
		end();
	}
}

static void
done_at_once_gives_the_slot_back(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 1);
	mode = INLINE;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(reqs[submit(0)].verdict, BRIDGE_DONE);
		assert_int_equal(reqs[i].done, 0);
	}
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 0);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").admitted, 20);
	check();
	end();
}

static void
a_disk_may_finish_inside_submit(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	mode = FINISH_INSIDE;
	for (int i = 0; i < 5; i++)
		assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	rig_settle();
	for (int i = 0; i < 5; i++)
		assert_int_equal(reqs[i].done, 1);
	/* And while others wait: each hand-off finishes inside submit. */
	mode = HOLD;
	for (int i = 5; i < 300; i++)
		submit(0);
	mode = FINISH_INSIDE;
	finish(5);
	for (int i = 0; i < 20; i++)
		rig_settle();
	for (int i = 5; i < 300; i++)
		assert_int_equal(reqs[i].done, 1);
	check();
	end();
}

/* The request that it finishes from inside submit is another one, for whose slot somebody waits. */
static void
a_disk_may_finish_another_inside_submit(void **state)
{
	int waiter, other;

	start(8, 8, 1, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	submit(0);
	waiter = submit(0);
	assert_int_equal(reqs[waiter].order, 0);
	mode = FINISH_FIRST;
	other = submit(1);
	rig_settle();
	assert_int_equal(reqs[0].done, 1);
	assert_int_equal(reqs[other].order, 2);
	assert_int_equal(reqs[waiter].order, 3);
	check();
	end();
}

static void
many_inline_hand_offs_neither_recurse_nor_stop(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 500; i++)
		submit(0);
	mode = INLINE;
	finish(0);
	for (int i = 0; i < 20; i++)
		rig_settle();
	for (int i = 0; i < 500; i++)
		assert_int_equal(reqs[i].done, 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").max_in_flight, 1);
	check();
	end();
}

static void
try_does_nothing_when_it_would_wait(void **state)
{
	int i;

	start(1, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	assert_int_equal(reqs[submit_by(bridge_try, 0)].verdict, BRIDGE_PENDING);
	i = submit_by(bridge_try, 0);
	assert_int_equal(reqs[i].verdict, BRIDGE_WOULD_WAIT);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 0);
	finish(0);
	assert_int_equal(reqs[i].order, 0);
	check();
	end();
}

static void
an_initiator_has_so_many_waiters(void **state)
{
	start(1, 8, 8, 2, 1);
	adapters_close();
	rig.adapter.max_waiters = 3;
	assert_int_equal(adapters_open(&rig.conf), 0);
	rig.host = bridge_host_next(NULL);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	flow(2, 1, "b", 1, 0);
	submit(0);
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(1)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(1)].verdict, BRIDGE_FULL);
	assert_int_equal(reqs[submit(2)].verdict, BRIDGE_PENDING);
	check();
	end();
}

static void
reserved_tags_stand_beside_the_limits(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	submit(0);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_HOST, "rig"), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_WOULD_WAIT);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 1);
	check();
	finish(2);
	assert_int_equal(reqs[2].done, 1);
	assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_PENDING);
	assert_int_equal(bridge_thaw(rig.host, BRIDGE_HOST, "rig"), 0);
	check();
	end();
}

static void
an_offline_disk_is_never_asked(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	rig_disk(0)->online = false;
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_DONE);
	assert_int_equal(reqs[0].req.io.result, -ENODEV);
	assert_int_equal(started, 0);
	rig_disk(0)->online = true;
	end();
}

static void
a_completion_that_comes_twice_is_dropped(void **state)
{
	start(2, 2, 2, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 4; i++)
		submit(0);
	finish(0);
	assert_int_equal(started, 3);
	finish(0);
	assert_int_equal(started, 3);
	assert_int_equal(reqs[0].done, 1);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 2);
	check();
	/* Nor one for a request that never got a slot, or whose slot has another generation. */
	finish(3);
	assert_int_equal(reqs[3].done, 0);
	reqs[1].req.gen++;
	finish(1);
	assert_int_equal(reqs[1].done, 0);
	reqs[1].req.gen--;
	check();
	end();
}

/* -- cancel -- */

static void
cancel_takes_a_waiter_out_and_returns_no_credit(void **state)
{
	start(2, 2, 2, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 5; i++)
		submit(0);
	assert_int_equal(cancel(3), BRIDGE_CANCELLED);
	assert_int_equal(started, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 2);
	check();
	finish(0);
	finish(1);
	assert_int_equal(reqs[2].order, 3);
	assert_int_equal(reqs[4].order, 4);
	assert_int_equal(cancel(2), BRIDGE_RUNNING);
	finish(2);
	assert_int_equal(reqs[2].done, 1);
	assert_int_equal(reqs[3].done, 0);
	check();
	end();
}

/* The flow that stood at the adapter held a place at its LUN; when it leaves, the next of that LUN moves up. */
static void
cancel_of_who_stood_further_out_lets_others_pass(void **state)
{
	int a, b;

	start(2, 8, 1, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 0, "b", 1, 0);
	flow(2, 1, "c", 1, 0);
	set_limit(BRIDGE_HOST, "rig", 1);
	submit(2);
	a = submit(0);
	b = submit(1);
	check();
	assert_int_equal(cancel(a), BRIDGE_CANCELLED);
	check();
	finish(0);
	assert_int_equal(reqs[b].order, 2);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_stops_the_request_above_it),
		cmocka_unit_test(done_at_once_gives_the_slot_back),
		cmocka_unit_test(a_disk_may_finish_inside_submit),
		cmocka_unit_test(a_disk_may_finish_another_inside_submit),
		cmocka_unit_test(many_inline_hand_offs_neither_recurse_nor_stop),
		cmocka_unit_test(try_does_nothing_when_it_would_wait),
		cmocka_unit_test(an_initiator_has_so_many_waiters),
		cmocka_unit_test(reserved_tags_stand_beside_the_limits),
		cmocka_unit_test(an_offline_disk_is_never_asked),
		cmocka_unit_test(a_completion_that_comes_twice_is_dropped),
		cmocka_unit_test(cancel_takes_a_waiter_out_and_returns_no_credit),
		cmocka_unit_test(cancel_of_who_stood_further_out_lets_others_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
