/* The bridge on one reactor: limits that change, freeze and thaw. */
#include "bridge_steps.h"

static void
a_shrunk_limit_revokes_nothing_and_is_then_kept(void **state)
{
	start(8, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 20; i++)
		submit(0);
	assert_int_equal(started, 8);
	set_limit(BRIDGE_LUN, "d0", 3);
	check();
	for (int i = 0; i < 5; i++) {
		finish(i);
		assert_int_equal(started, 8);
	}
	finish(5);
	assert_int_equal(started, 9);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 3);
	set_limit(BRIDGE_LUN, "d0", 6);
	assert_int_equal(started, 12);
	check();
	end();
}

static void
every_limit_to_one_and_back(void **state)
{
	static const struct { enum bridge_kind kind; const char *name; } row[] = {
		{ BRIDGE_HOST, "rig" }, { BRIDGE_TARGET, "0:0" }, { BRIDGE_LUN, "d0" },
		{ BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(6, 6, 6, 1, 1);
		flow(0, 0, "a", 1, 6);
		for (int i = 0; i < 30; i++)
			submit(0);
		set_limit(row[r].kind, row[r].name, 1);
		for (int i = 0; i < 10; i++)
			assert_true(finish_oldest());
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 1);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).waiting, 19);
		set_limit(row[r].kind, row[r].name, 6);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 6);
		check();
		end();
	}
}

static void
limits_that_make_no_sense_are_refused(void **state)
{
	start(6, 6, 6, 1, 1);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 0), -EINVAL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 7), -EINVAL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_LUN, "d9", 1), -ENOENT);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_INITIATOR, "a"), -ENOENT);
	end();
}

static void
a_login_with_another_depth_sets_it(void **state)
{
	start(6, 6, 6, 2, 1);
	flow(0, 0, "a", 1, 2);
	for (int i = 0; i < 6; i++)
		submit(0);
	assert_int_equal(started, 2);
	set_limit(BRIDGE_INITIATOR, "a", 3);
	flow(1, 1, "a", 1, 2);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "a").limit, 3);
	flow(2, 1, "a", 1, 5);
	rig_settle();
	assert_int_equal(started, 5);
	check();
	end();
}

static void
frozen_at_any_level_nothing_starts(void **state)
{
	static const struct { enum bridge_kind kind; const char *name; } row[] = {
		{ BRIDGE_HOST, "rig" }, { BRIDGE_TARGET, "0:0" }, { BRIDGE_LUN, "d0" },
		{ BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(4, 4, 4, 2, 1);
		flow(0, 0, "a", 1, 0);
		flow(1, 1, "b", 1, 0);
		submit(0);
		submit(0);
		assert_int_equal(bridge_freeze(rig.host, row[r].kind, row[r].name), 0);
		for (int i = 0; i < 6; i++)
			submit(0);
		assert_int_equal(started, 2);
		finish(0);
		assert_int_equal(started, 2);
		check();
		if (row[r].kind != BRIDGE_HOST) {
			submit(1);
			assert_int_equal(started, 3);
		}
		assert_int_equal(bridge_thaw(rig.host, row[r].kind, row[r].name), 0);
		rig_settle();
		assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 4);
		check();
		end();
	}
}

/* Who had been let pass to the adapter's own ring when its LUN froze goes back, and others pass. */
static void
freeze_behind_a_flow_that_has_passed(void **state)
{
	int b;

	start(1, 4, 4, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "b", 1, 0);
	submit(0);
	submit(0);
	b = submit(1);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_LUN, "d0"), 0);
	finish(0);
	assert_int_equal(reqs[b].order, 2);
	check();
	finish(b);
	assert_int_equal(started, 2);
	check();
	assert_int_equal(bridge_thaw(rig.host, BRIDGE_LUN, "d0"), 0);
	rig_settle();
	assert_int_equal(started, 3);
	end();
}

static void
the_longest_wait_is_known(void **state)
{
	start(1, 4, 4, 1, 1);
	flow(0, 0, "a", 1, 0);
	submit(0);
	submit(0);
	finish(0);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").waited, 1);
	assert_true(rig_stats(BRIDGE_LUN, "d0").wait_max_ns > 0);
	assert_true(rig_stats(BRIDGE_LUN, "d0").wait_ns > 0);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").admitted, 2);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shrunk_limit_revokes_nothing_and_is_then_kept),
		cmocka_unit_test(every_limit_to_one_and_back),
		cmocka_unit_test(limits_that_make_no_sense_are_refused),
		cmocka_unit_test(a_login_with_another_depth_sets_it),
		cmocka_unit_test(frozen_at_any_level_nothing_starts),
		cmocka_unit_test(freeze_behind_a_flow_that_has_passed),
		cmocka_unit_test(the_longest_wait_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
