/* The bridge on several reactors: never above a limit, nothing lost, nobody left waiting. */
#include "bridge_threads.h"

static void
quiet_rounds(unsigned threads, int limit, bool inline_disk)
{
	open_all(threads, limit, limit, limit, limit, inline_disk);
	quiet(ROUNDS / 4);
	close_all();
}

static void
nobody_is_left_waiting_in_silence(void **state)
{
	quiet_rounds(2, 1, false);
	quiet_rounds(2, 2, true);
	quiet_rounds(3, 1, true);
	quiet_rounds(4, 3, false);
}

static void
limits_hold_under_stress(void **state)
{
	/* Bound at the host, the target, the LUN, the initiator; and everywhere. */
	static const struct { int host, target, lun, ini; } row[] = {
		{ 7, 32, 32, 32 }, { 32, 5, 32, 32 }, { 32, 32, 3, 32 }, { 32, 32, 32, 4 },
		{ 9, 6, 4, 5 },
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		open_all(i % 2 ? 4 : 2, row[i].host, row[i].target, row[i].lun, row[i].ini, i > 2);
		start_stress(STRESS);
		end_stress();
	}
}

/* Limits to one and back, freeze and thaw, and recounts, while everything runs. */
static void
management_under_stress(void **state)
{
	static const struct { enum bridge_kind kind; const char *name; } node[] = {
		{ BRIDGE_HOST, "rig" }, { BRIDGE_TARGET, "0:0" }, { BRIDGE_LUN, "d1" },
		{ BRIDGE_INITIATOR, "i2" },
	};
	unsigned seed = 5;

	open_all(3, 9, 6, 4, 5, true);
	start_stress(STRESS);
	for (int i = 0; i < 400; i++) {
		unsigned k = rnd(&seed, 4);
		static const uint32_t top[] = { 9, 6, 4, 5 };

		if (rnd(&seed, 2)) {
			bridge_set_limit(rig.host, node[k].kind, node[k].name,
			    1 + rnd(&seed, top[k]));
		} else {
			bridge_freeze(rig.host, node[k].kind, node[k].name);
			sched_yield();
			bridge_thaw(rig.host, node[k].kind, node[k].name);
		}
		assert_int_equal(bridge_check(rig.host, stderr), 0);
	}
	for (unsigned k = 0; k < 4; k++)
		bridge_set_limit(rig.host, node[k].kind, node[k].name, 1);
	end_stress();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_left_waiting_in_silence),
		cmocka_unit_test(limits_hold_under_stress),
		cmocka_unit_test(management_under_stress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
