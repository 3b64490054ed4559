/* What adapters, luns, sessions and stats show of the bridge. */
#include "sim_rig.h"

#include "control.h"
#include "hba/bridge/seen.h"

static json_t *
verb(const char *name)
{
	const struct control_verb *v;
	char err[128] = "";

	for_each_registered(control_verbs, v)
		if (strcmp(v->name, name) == 0)
			return v->run(NULL, err, sizeof(err));
	fail_msg("no verb %s", name);
	return NULL;
}

/* Adds to a result what the bridge adds to that verb's. */
static void
extra(const char *name, json_t *result)
{
	const struct control_extra *e;
	int n = 0;

	for_each_registered(control_extras, e)
		if (strcmp(e->verb, name) == 0 && strstr(e->columns, "waiting:")) {
			e->add(result);
			n++;
		}
	assert_int_equal(n, 1);
}

static json_int_t
number(const json_t *row, const char *key)
{
	json_t *n = json_object_get(row, key);

	if (!json_is_integer(n))
		fail_msg("%s is no number", key);
	return json_integer_value(n);
}

static json_t *
row_of(json_t *result, const char *kind, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "adapters"), i, row)
		if (strcmp(json_string_value(json_object_get(row, "kind")), kind) == 0 &&
		    strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
			return row;
	fail_msg("no row %s %s", kind, name);
	return NULL;
}

/* Two initiators, one with a long name, keep 32 commands each at a disk of depth 8. */
static char long_name[224];

static void
busy(int again)
{
	memset(long_name, 'x', sizeof(long_name) - 1);
	memcpy(long_name, "iqn.", 4);
	srig_open(2, "can_queue: 64, queue_mode: divided_borrow, coalesce: yes",
	    "{ name: d, driver: sim, service: 2ms, depth: 8 }, { name: e, driver: sim }");
	srig_flow_get(0, 0, "d", "iqn.a");
	srig_flow_get(1, 1, "d", long_name);
	for (int i = 0; i < 64; i++)
		srig_new(i / 32, DISK_FLUSH, 0, NULL, 0)->again = again;
	srig_submit(0, 0, 32);
	srig_submit(1, 32, 64);
}

static void
adapters_show_waits_and_ways(void **state)
{
	json_t *result, *row;
	double share;

	busy(9);
	srig_wait(64);
	result = verb("adapters");
	assert_non_null(result);
	row = row_of(result, "host", "a");
	assert_string_equal(json_string_value(json_object_get(row, "queue_mode")), "divided_borrow");
	assert_int_equal(number(row, "hw_queues"), 2);
	assert_int_equal(json_array_size(json_object_get(row, "reactors")), 2);
	assert_int_equal(number(row, "admitted"), 640);
	assert_int_equal(number(row, "fast") + number(row, "slow"), 640);
	assert_int_equal(number(row, "in_flight"), 0);
	row = row_of(result, "lun", "d");
	assert_int_equal(number(row, "limit"), 8);
	assert_int_equal(number(row, "configured"), 8);
	assert_int_equal(number(row, "max"), 8);
	/* All but the first eight had to wait, and with 64 of them each waits for others. */
	assert_in_range(number(row, "slow"), 600, 632);
	assert_int_equal(number(row, "waits"), number(row, "slow"));
	assert_true(number(row, "wait_p50_us") >= 2000);
	assert_true(number(row, "wait_p99_us") >= number(row, "wait_p50_us"));
	assert_true(number(row, "wait_max_us") >= number(row, "wait_p99_us"));
	assert_true(json_is_null(json_object_get(row, "share")));
	share = json_real_value(json_object_get(row_of(result, "initiator", "iqn.a"), "share")) +
	    json_real_value(json_object_get(row_of(result, "initiator", long_name), "share"));
	assert_true(share > 99.7 && share < 100.1);
	assert_int_equal(number(row_of(result, "initiator", long_name), "admitted"), 320);
	json_decref(result);
	srig_close();
}

static void
who_waits_now_is_seen(void **state)
{
	json_t *luns = json_pack("{s:[{s:s}, {s:s}, {s:s}, {}]}", "luns", "disk", "d", "disk", "e",
	    "disk", "nobody");
	json_t *sessions, *row;

	busy(200);
	sessions = json_pack("{s:[{s:s}, {s:s}]}", "sessions", "initiator", long_name, "initiator",
	    "iqn.gone");
	/* Until all of them are where they wait. */
	for (int i = 0; i < 1000; i++) {
		extra("luns", luns);
		if (number(json_array_get(json_object_get(luns, "luns"), 0), "waiting") == 56)
			break;
		usleep(1000);
	}
	row = json_array_get(json_object_get(luns, "luns"), 0);
	assert_in_range(number(row, "waiting"), 50, 64);
	assert_in_range(number(row, "in_flight"), 0, 8);
	assert_int_equal(number(row, "depth"), 8);
	row = json_array_get(json_object_get(luns, "luns"), 1);
	assert_int_equal(number(row, "waiting"), 0);
	assert_int_equal(number(row, "depth"), 64);
	/* Others' rows stay as they were. */
	assert_int_equal(json_object_size(json_array_get(json_object_get(luns, "luns"), 2)), 1);
	assert_int_equal(json_object_size(json_array_get(json_object_get(luns, "luns"), 3)), 0);
	extra("sessions", sessions);
	row = json_array_get(json_object_get(sessions, "sessions"), 0);
	assert_true(json_is_null(json_object_get(row, "depth")));
	assert_in_range(number(row, "waiting") + number(row, "in_flight"), 20, 40);
	assert_true(json_is_real(json_object_get(row, "share")));
	assert_int_equal(json_object_size(json_array_get(json_object_get(sessions, "sessions"), 1)), 1);
	json_decref(luns);
	json_decref(sessions);
	srig_wait(64);
	srig_close();
}

static void
stats_count_a_request_once(void **state)
{
	const struct control_extra *e;
	json_t *result = json_object();

	busy(1);
	srig_wait(64);
	for_each_registered(control_extras, e)
		if (strcmp(e->verb, "stats") == 0)
			e->add(result);
	assert_int_equal(number(result, "bridge_fast") + number(result, "bridge_slow"), 128);
	assert_int_equal(number(result, "bridge_waiting"), 0);
	assert_true(number(result, "bridge_slow") >= 100);
	json_decref(result);
	srig_close();
}

/* One initiator on two adapters is one to its session. */
static void
an_initiator_of_two_adapters(void **state)
{
	static const char text[] = "adapters: [{ name: a, disks: [{ name: d, driver: sim, service: 0 }] }, "
	    "{ name: b, disks: [{ name: e, driver: sim, service: 0 }] }]\n";
	struct seen_node node;
	struct seen seen;

	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(1, 0), 0);
	assert_int_equal(conf_load_text("t", text, strlen(text), &srig_conf, stderr), 0);
	assert_int_equal(adapters_open(srig_conf), 0);
	srig_reset();
	srig_flow_get(0, 0, "d", "i");
	srig_flow_get(1, 0, "e", "i");
	for (int i = 0; i < 10; i++)
		srig_io(i % 5 == 0, DISK_FLUSH, 0, NULL, 0);
	assert_int_equal(seen_init(&seen), 0);
	assert_true(seen_find(&seen, BRIDGE_INITIATOR, "i", &node));
	assert_int_equal(node.stats.admitted, 10);
	assert_int_equal(node.stats.limit, UINT32_MAX);
	assert_true(node.share == 100);
	assert_false(seen_find(&seen, BRIDGE_INITIATOR, "k", &node));
	assert_false(seen_find(&seen, BRIDGE_LUN, "i", &node));
	seen_fini(&seen);
	srig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adapters_show_waits_and_ways),
		cmocka_unit_test(who_waits_now_is_seen),
		cmocka_unit_test(stats_count_a_request_once),
		cmocka_unit_test(an_initiator_of_two_adapters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
