/* The CmdSN window: who is in turn, who waits, who is ignored; across the wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "transport/iscsi/window.h"
#include "wire.h"

static const uint32_t starts[] = { 0, 1, 1000, 0x7ffffff0, 0x80000000, 0xfffffff0, 0xffffffff };

static void
the_three_zones(void **state)
{
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t s = starts[i];
		struct window w;

		window_init(&w, s, 16);
		assert_int_equal(w.max_cmd_sn, s + 15);
		assert_int_equal(window_check(&w, s, false), WINDOW_NOW);
		assert_int_equal(window_check(&w, s + 1, false), WINDOW_HOLD);
		assert_int_equal(window_check(&w, s + 15, false), WINDOW_HOLD);
		assert_int_equal(window_check(&w, s + 16, false), WINDOW_IGNORE);
		assert_int_equal(window_check(&w, s - 1, false), WINDOW_IGNORE);
		assert_int_equal(window_check(&w, s + 0x7fffffff, false), WINDOW_IGNORE);
		assert_int_equal(window_check(&w, s + 0x80000001, false), WINDOW_IGNORE);
	}
}

static void
immediate_ones_may_stand_behind_a_closed_window(void **state)
{
	struct window w;

	window_init(&w, 100, 4);
	assert_int_equal(window_check(&w, 100, true), WINDOW_NOW);
	assert_int_equal(window_check(&w, 102, true), WINDOW_NOW);
	assert_int_equal(window_check(&w, 104, true), WINDOW_NOW);
	assert_int_equal(window_check(&w, 105, true), WINDOW_IGNORE);
	assert_int_equal(window_check(&w, 99, true), WINDOW_IGNORE);
}

static void
unanswered_commands_close_it(void **state)
{
	struct window w;

	window_init(&w, 0xfffffffe, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(window_check(&w, w.exp_cmd_sn, false), WINDOW_NOW);
		window_take(&w, true);
	}
	assert_int_equal(w.exp_cmd_sn, 2);
	assert_int_equal(w.max_cmd_sn, 1);
	assert_int_equal(window_check(&w, 2, false), WINDOW_IGNORE);
	window_done(&w);
	assert_int_equal(w.max_cmd_sn, 2);
	assert_int_equal(window_check(&w, 2, false), WINDOW_NOW);
	/* What is answered at once moves both ends. */
	window_take(&w, false);
	assert_int_equal(w.exp_cmd_sn, 3);
	assert_int_equal(w.max_cmd_sn, 3);
}

static void
it_never_goes_back(void **state)
{
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t max, rnd = 12345;
		struct window w;

		window_init(&w, starts[i], 32);
		max = w.max_cmd_sn;
		for (unsigned step = 0; step < 20000; step++) {
			rnd = rnd * 1664525 + 1013904223;
			if (rnd >> 30 == 3)
				window_resize(&w, 1 + (rnd >> 8) % 64);
			else if (rnd >> 31 && w.busy)
				window_done(&w);
			else if (window_check(&w, w.exp_cmd_sn, false) == WINDOW_NOW)
				window_take(&w, rnd >> 29 & 1);
			assert_false(sn_before(w.max_cmd_sn, max));
			assert_false(sn_before(w.max_cmd_sn, w.exp_cmd_sn - 1));
			max = w.max_cmd_sn;
		}
		/* And never closes for good. */
		while (w.busy)
			window_done(&w);
		assert_int_equal(window_check(&w, w.exp_cmd_sn, false), WINDOW_NOW);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_zones),
		cmocka_unit_test(immediate_ones_may_stand_behind_a_closed_window),
		cmocka_unit_test(unanswered_commands_close_it),
		cmocka_unit_test(it_never_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
