/* A simulated adapter counts for itself, and goes offline with one command too many. */
#include "sim_rig.h"

#include "control.h"

static int
ended_with(int result)
{
	int n = 0;

	for (int i = 0; i < srig_ncmds; i++)
		n += srig_cmd[i].order && srig_cmd[i].req.io.result == result;
	return n;
}

static int
lines_with(const char *text)
{
	int n = 0;

	for (const char *p = srig_said; (p = strstr(p, text)); p++)
		n++;
	return n;
}

/* One fewer than the adapter bears, then the rest. */
static void
flood(int n)
{
	for (int i = 0; i < n; i++)
		srig_new(0, DISK_FLUSH, 0, NULL, 0);
	srig_listen();
	srig_submit(0, 0, n);
	srig_wait(n);
	srig_listened();
}

static void
one_command_too_many(void **state)
{
	srig_open(1, "can_queue: 9",
	    "{ name: d, driver: sim, service: 50ms, device_queue: 8 }");
	srig_flow_get(0, 0, "d", "i");
	flood(9);
	assert_int_equal(lines_with("adapter a is offline: status code 0x6100c"), 1);
	/* The one, and those that were on their way. */
	assert_int_equal(ended_with(-ENODEV), 9);
	assert_true(srig_row(SIM_ADAPTER, "a").offline);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").max, 9);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").commands, 0);
	/* For good, and it is said once. */
	srig_listen();
	assert_int_equal(srig_io(0, DISK_FLUSH, 0, NULL, 0), -ENODEV);
	srig_listened();
	assert_string_equal(srig_said, "");
	srig_close();
}

static void
as_many_as_it_bears(void **state)
{
	srig_open(1, "can_queue: 64", "{ name: d, driver: sim, service: 20ms, device_queue: 64 }");
	srig_flow_get(0, 0, "d", "i");
	flood(200);
	assert_string_equal(srig_said, "");
	assert_int_equal(ended_with(0), 200);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").max, 64);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").limit, 64);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").commands, 200);
	assert_false(srig_row(SIM_ADAPTER, "a").offline);
	srig_close();
}

static void
can_queue_is_what_it_bears_unless_told(void **state)
{
	srig_open(1, "can_queue: 7", "{ name: d, driver: sim }");
	assert_int_equal(srig_row(SIM_ADAPTER, "a").limit, 7);
	srig_close();
}

static void
disks_of_one_adapter_are_one_device(void **state)
{
	srig_open(1, "can_queue: 16", "{ name: d, driver: sim, service: 50ms, device_queue: 8 }, "
	    "{ name: e, driver: sim, service: 50ms, device_queue: 8 }");
	srig_flow_get(0, 0, "d", "i");
	srig_flow_get(1, 0, "e", "i");
	for (int i = 0; i < 9; i++)
		srig_new(i % 2, DISK_FLUSH, 0, NULL, 0);
	srig_listen();
	srig_submit(0, 0, 9);
	srig_wait(9);
	srig_listened();
	assert_int_equal(lines_with("status code 0x6100c"), 1);
	assert_int_equal(ended_with(-ENODEV), 9);
	assert_int_equal(srig_row(SIM_DISK, "d").max + srig_row(SIM_DISK, "e").max, 9);
	srig_close();

	srig_listen();
	srig_open(1, "can_queue: 16", "{ name: d, driver: sim, device_queue: 8 }, "
	    "{ name: e, driver: sim, device_queue: 9 }, { name: f, driver: sim, device_queue: 8 }");
	srig_listened();
	assert_int_equal(lines_with("disk e: device_queue 9, but the first disk of adapter a says 8"), 1);
	assert_true(disk_find("d")->online);
	assert_false(disk_find("e")->online);
	assert_true(disk_find("f")->online);
	srig_close();
}

/* Four reactors in a closed loop, every limit tight: each count meets its limit and no more. */
static void
limits_as_the_device_sees_them(void **state)
{
	srig_open(4, "can_queue: 24, target_depth: 16, lun_depth: 10",
	    "{ name: a0, driver: sim, service: 300us, distribution: exponential, address: \"0:0:0\" }, "
	    "{ name: a1, driver: sim, service: 300us, distribution: uniform, address: \"0:0:1\" }, "
	    "{ name: b0, driver: sim, service: 300us, address: \"0:1:0\" }");
	for (int f = 0; f < 12; f++)
		srig_flow_get(f, (unsigned)f % 4, f % 3 == 0 ? "a0" : f % 3 == 1 ? "a1" : "b0", "i");
	for (int i = 0; i < 12 * 16; i++)
		srig_new(i / 16, DISK_FLUSH, 0, NULL, 0)->again = 49;
	for (int f = 0; f < 12; f++)
		srig_submit(f, f * 16, f * 16 + 16);
	srig_wait(12 * 16);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").commands, 12 * 16 * 50);
	assert_false(srig_row(SIM_ADAPTER, "a").offline);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").max, 24);
	assert_int_equal(srig_row(SIM_TARGET, "0:0").max, 16);
	assert_int_equal(srig_row(SIM_TARGET, "0:1").max, 10);
	assert_in_range(srig_row(SIM_DISK, "a0").max, 6, 10);
	assert_in_range(srig_row(SIM_DISK, "a1").max, 6, 10);
	assert_int_equal(srig_row(SIM_DISK, "b0").max, 10);
	assert_int_equal(srig_row(SIM_DISK, "b0").commands, 4 * 16 * 50);
	for (int k = SIM_ADAPTER; k <= SIM_DISK; k++)
		assert_int_equal(srig_row((enum sim_kind)k, NULL).in_flight, 0);
	srig_close();
}

/* -- one command after the other, no bridge -- */

static struct disk_io ios[8];

static struct disk *
lone_disk(uint32_t busy_above)
{
	char disk[128];

	snprintf(disk, sizeof(disk), "{ name: d, driver: sim, busy_above: %u }", busy_above);
	srig_open(1, "can_queue: 64", disk);
	memset(ios, 0, sizeof(ios));
	for (size_t i = 0; i < ARRAY_LEN(ios); i++)
		ios[i].disk = disk_find("d");
	return ios[0].disk;
}

static void
above_busy_it_refuses_and_counts_nothing(void **state)
{
	lone_disk(2);
	assert_int_equal(sim_enter(&ios[0]), 0);
	assert_int_equal(sim_enter(&ios[1]), 0);
	assert_int_equal(sim_enter(&ios[2]), -EAGAIN);
	assert_int_equal(sim_enter(&ios[2]), -EAGAIN);
	assert_int_equal(srig_row(SIM_DISK, "d").in_flight, 2);
	assert_int_equal(srig_row(SIM_DISK, "d").max, 2);
	assert_int_equal(srig_row(SIM_DISK, "d").busy, 2);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").in_flight, 2);
	sim_leave(&ios[0]);
	assert_int_equal(sim_enter(&ios[2]), 0);
	sim_leave(&ios[1]);
	sim_leave(&ios[2]);
	assert_int_equal(srig_row(SIM_DISK, "d").commands, 3);
	srig_close();
}

static void
initiators_are_told_apart(void **state)
{
	lone_disk(65535);
	for (int i = 0; i < 6; i++)
		/* The first two would be in one place of the table. */
		ios[i].who = i < 3 ? 5 : i < 5 ? 5 + SIM_INITIATORS : 0;
	for (int i = 0; i < 6; i++)
		assert_int_equal(sim_enter(&ios[i]), 0);
	assert_int_equal(srig_row(SIM_INITIATOR, "0000000000000005").in_flight, 3);
	assert_int_equal(srig_row(SIM_INITIATOR, "0000000000000405").in_flight, 2);
	for (int i = 0; i < 6; i++)
		sim_leave(&ios[i]);
	assert_int_equal(srig_row(SIM_INITIATOR, "0000000000000005").in_flight, 0);
	assert_int_equal(srig_row(SIM_INITIATOR, "0000000000000005").max, 3);
	assert_int_equal(srig_row(SIM_INITIATOR, "0000000000000005").commands, 3);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").max, 6);
	srig_close();
}

/* More than there is room for: those are not counted, and nothing else happens to them. */
static void
too_many_initiators(void **state)
{
	lone_disk(65535);
	for (uint64_t who = 1; who <= SIM_INITIATORS + 5; who++) {
		ios[0].who = who * 0x9e3779b97f4a7c15u;
		assert_int_equal(sim_enter(&ios[0]), 0);
		sim_leave(&ios[0]);
	}
	assert_int_equal(srig_row(SIM_ADAPTER, "a").commands, SIM_INITIATORS + 5);
	assert_int_equal(sim_rows(NULL, 0), 1 + 1 + SIM_INITIATORS + 1);
	srig_close();
}

static void
the_verb_shows_all_of_it(void **state)
{
	const struct control_verb *v;
	json_t *result = NULL, *row;
	char err[128];

	lone_disk(2);
	ios[0].who = 77;
	ios[0].op = DISK_WRITE;
	ios[0].len = 4096;
	assert_int_equal(sim_enter(&ios[0]), 0);
	sim_leave(&ios[0]);
	for_each_registered(control_verbs, v)
		if (strcmp(v->name, "sim") == 0)
			result = v->run(NULL, err, sizeof(err));
	assert_non_null(result);
	assert_int_equal(json_array_size(json_object_get(result, "sim")), 4);
	row = json_array_get(json_object_get(result, "sim"), 3);
	assert_string_equal(json_string_value(json_object_get(row, "kind")), "disk");
	assert_string_equal(json_string_value(json_object_get(row, "name")), "d");
	assert_string_equal(json_string_value(json_object_get(row, "state")), "online");
	assert_int_equal(json_integer_value(json_object_get(row, "limit")), 2);
	assert_int_equal(json_integer_value(json_object_get(row, "bytes")), 4096);
	assert_int_equal(json_integer_value(json_object_get(row, "commands")), 1);
	row = json_array_get(json_object_get(result, "sim"), 2);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "000000000000004d");
	json_decref(result);
	srig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_command_too_many),
		cmocka_unit_test(as_many_as_it_bears),
		cmocka_unit_test(can_queue_is_what_it_bears_unless_told),
		cmocka_unit_test(disks_of_one_adapter_are_one_device),
		cmocka_unit_test(limits_as_the_device_sees_them),
		cmocka_unit_test(above_busy_it_refuses_and_counts_nothing),
		cmocka_unit_test(initiators_are_told_apart),
		cmocka_unit_test(too_many_initiators),
		cmocka_unit_test(the_verb_shows_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
