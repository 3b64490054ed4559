/* Settings of adapters that a reload changes, as their hosts have them afterwards; and `set`. */
#include "sim_rig.h"

#include "control.h"
#include "hba/bridge/host.h"

static struct bridge_node_stats
node(enum bridge_kind kind, const char *name)
{
	static struct bridge_node_stats s[64];
	unsigned n = bridge_stats(bridge_host_next(NULL), s, ARRAY_LEN(s));

	assert_true(n <= ARRAY_LEN(s));
	for (unsigned i = 0; i < n; i++)
		if (s[i].kind == kind && strcmp(s[i].name, name) == 0)
			return s[i];
	fail_msg("no node %s", name);
	return s[0];
}

static uint32_t
limit(enum bridge_kind kind, const char *name)
{
	return node(kind, name).limit;
}

static const char disks[] = "{ name: x, driver: sim, service: 300us }, "
    "{ name: y, driver: sim, service: 300us, depth: 9 }, "
    "{ name: z, driver: sim, service: 300us, address: \"0:0:1\" }";

static void
start(void)
{
	srig_open(2, "can_queue: 64, target_depth: 32, lun_depth: 16", disks);
}

/* The same disks under other settings. 0, or -errno with srig_said. */
static int
reload(const char *adapter, const char *which)
{
	struct conf *loaded;
	char text[2048];
	int err;

	snprintf(text, sizeof(text), "adapters: [{ name: a, %s, disks: [ %s ] }]\n", adapter, which);
	assert_int_equal(conf_load_text("t", text, strlen(text), &loaded, stderr), 0);
	assert_int_equal(conf_diff(srig_conf, loaded, stderr), 0);
	srig_said[0] = 0;
	err = adapters_reload(srig_conf, loaded, srig_said, sizeof(srig_said));
	if (!err)
		conf_take(srig_conf, loaded);
	conf_free(loaded);
	assert_int_equal(bridge_check(bridge_host_next(NULL), stderr), 0);
	return err;
}

static void
only_what_differs_is_brought(void **state)
{
	start();
	assert_int_equal(limit(BRIDGE_LUN, "x"), 16);
	assert_int_equal(limit(BRIDGE_LUN, "y"), 9);
	assert_int_equal(bridge_set_limit(bridge_host_next(NULL), BRIDGE_LUN, "x", 3), 0);
	assert_int_equal(reload("can_queue: 40, target_depth: 32, lun_depth: 16", disks), 0);
	assert_int_equal(limit(BRIDGE_HOST, "a"), 40);
	assert_int_equal(limit(BRIDGE_TARGET, "0:0"), 32);
	/* Set by hand, and nobody changed its key. */
	assert_int_equal(limit(BRIDGE_LUN, "x"), 3);
	assert_int_equal(reload("can_queue: 40, target_depth: 20, lun_depth: 7", disks), 0);
	assert_int_equal(limit(BRIDGE_TARGET, "0:0"), 20);
	assert_int_equal(limit(BRIDGE_TARGET, "0:1"), 20);
	assert_int_equal(limit(BRIDGE_LUN, "x"), 7);
	assert_int_equal(limit(BRIDGE_LUN, "y"), 9);
	assert_int_equal(limit(BRIDGE_LUN, "z"), 7);
	srig_close();
}

static void
tags_are_those_of_the_start(void **state)
{
	start();
	assert_int_equal(reload("can_queue: 65, target_depth: 8, lun_depth: 16", disks), -EINVAL);
	assert_string_equal(srig_said,
	    "t:1:12: adapter a: can_queue: more tags than at the start need a restart");
	assert_int_equal(limit(BRIDGE_TARGET, "0:0"), 32);
	/* Less, and back again. */
	assert_int_equal(reload("can_queue: 1, target_depth: 32, lun_depth: 16", disks), 0);
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16", disks), 0);
	assert_int_equal(limit(BRIDGE_HOST, "a"), 64);
	/* A depth above all tags is as good as all of them. */
	assert_int_equal(reload("can_queue: 64, target_depth: 1000, lun_depth: 65535", disks), 0);
	assert_true(limit(BRIDGE_LUN, "x") >= 64);
	srig_close();
}

static void
mode_is(int mode, uint32_t queues)
{
	uint32_t have_queues;
	int have;

	bridge_get_mode(bridge_host_next(NULL), &have, &have_queues);
	assert_int_equal(have, mode);
	assert_int_equal(have_queues, queues);
}

static void
modes_change_with_their_limits(void **state)
{
	start();
	mode_is(QUEUE_SHARED, 2);
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16, queue_mode: single", disks), 0);
	mode_is(QUEUE_SINGLE, 1);
	assert_int_equal(reload("can_queue: 1, target_depth: 32, lun_depth: 16, queue_mode: single", disks), 0);
	/* One for two queues is too few, and the limit comes in time if it grows with the change. */
	assert_int_equal(reload("can_queue: 1, target_depth: 32, lun_depth: 16, queue_mode: divided", disks),
	    -EINVAL);
	assert_string_equal(srig_said, "t:1:12: adapter a: can_queue: divided by its queues it leaves nothing");
	mode_is(QUEUE_SINGLE, 1);
	assert_int_equal(reload("can_queue: 9, target_depth: 32, lun_depth: 16, queue_mode: divided", disks), 0);
	mode_is(QUEUE_DIVIDED, 2);
	assert_int_equal(limit(BRIDGE_HOST, "a"), 9);
	assert_int_equal(reload("can_queue: 1, target_depth: 32, lun_depth: 16, queue_mode: divided_borrow",
	    disks), 0);
	mode_is(QUEUE_DIVIDED_BORROW, 2);
	assert_int_equal(limit(BRIDGE_HOST, "a"), 1);
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16, hw_queues: 1", disks), 0);
	mode_is(QUEUE_SHARED, 1);
	/* More queues than reactors are as many as there are reactors. */
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16, hw_queues: 64", disks), 0);
	mode_is(QUEUE_SHARED, 2);
	srig_close();
}

static uint64_t
latency_target(const char *disk)
{
	return host_find_node(bridge_host_next(NULL), BRIDGE_LUN, disk)->depth.target_ns;
}

static void
order_and_latency_change(void **state)
{
	static const char one[] = "{ name: x, driver: sim, service: 300us, latency_target: 3ms }, "
	    "{ name: y, driver: sim, service: 300us, depth: 9 }, "
	    "{ name: z, driver: sim, service: 300us, address: \"0:0:1\" }";
	struct bridge_host *h;

	start();
	h = bridge_host_next(NULL);
	assert_int_equal(h->max_waiters, 1024);
	assert_int_equal(latency_target("y"), 0);
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16, coalesce: yes, "
	    "max_xfer: 64K, cost: length, max_waiters: 7, latency_target: 2ms", one), 0);
	assert_int_equal(h->max_waiters, 7);
	assert_true(h->policy.coalesce && h->policy.by_length);
	assert_int_equal(h->policy.max_xfer, 65536);
	assert_false(h->luns[0]->sweep.on);
	assert_int_equal(latency_target("x"), 3000000);
	assert_int_equal(latency_target("y"), 2000000);
	assert_int_equal(reload("can_queue: 64, target_depth: 32, lun_depth: 16, scheduler: deadline",
	    disks), 0);
	assert_true(h->policy.coalesce && !h->policy.by_length);
	assert_true(h->luns[0]->sweep.on && h->luns[2]->sweep.on);
	assert_int_equal(latency_target("x"), 0);
	assert_int_equal(h->max_waiters, 1024);
	srig_close();
}

/* A disk that keeps its commands keeps its adapter in its mode, and another one too. */
static void
what_does_not_drain_stays(void **state)
{
	static const char two[] = "adapters: [{ name: a, %s, disks: [{ name: x, driver: sim }] }, "
	    "{ name: b, %s, can_queue: %d, disks: [{ name: y, driver: sim, service: 8s }] }]\n";
	struct conf *loaded;
	char text[1024];
	struct bridge_host *a, *b;
	uint32_t queues;
	int mode;

	snprintf(text, sizeof(text), two, "queue_mode: shared", "queue_mode: shared", 8);
	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(2, 0), 0);
	assert_int_equal(conf_load_text("t", text, strlen(text), &srig_conf, stderr), 0);
	assert_int_equal(adapters_open(srig_conf), 0);
	srig_reset();
	srig_flow_get(0, 0, "y", "i");
	srig_new(0, DISK_FLUSH, 0, NULL, 0);
	srig_submit(0, 0, 1);
	snprintf(text, sizeof(text), two, "queue_mode: single", "queue_mode: divided", 7);
	assert_int_equal(conf_load_text("t", text, strlen(text), &loaded, stderr), 0);
	assert_int_equal(adapters_reload(srig_conf, loaded, srig_said, sizeof(srig_said)), -ETIMEDOUT);
	assert_string_equal(srig_said,
	    "adapter b: queue_mode: its disks did not give back all commands in time");
	a = bridge_host_next(NULL);
	b = bridge_host_next(a);
	bridge_get_mode(a, &mode, &queues);
	assert_int_equal(mode, QUEUE_SHARED);
	bridge_get_mode(b, &mode, &queues);
	assert_int_equal(mode, QUEUE_SHARED);
	/* What waited meanwhile is served. */
	srig_new(0, DISK_FLUSH, 0, NULL, 0);
	srig_submit(0, 1, 2);
	srig_wait(2);
	assert_int_equal(srig_cmd[1].req.io.result, 0);
	conf_free(loaded);
	srig_close();
}

/* Sixty commands at a time on two reactors, and limits that change under them. */
static void
under_load(void **state)
{
	static const char *const settings[] = {
		"can_queue: 5, target_depth: 32, lun_depth: 16",
		"can_queue: 64, target_depth: 3, lun_depth: 16",
		"can_queue: 64, target_depth: 32, lun_depth: 1",
		"can_queue: 1, target_depth: 1, lun_depth: 1",
		"can_queue: 64, target_depth: 32, lun_depth: 16",
		"can_queue: 64, target_depth: 32, lun_depth: 16, queue_mode: divided",
		"can_queue: 9, target_depth: 32, lun_depth: 16, queue_mode: single",
		"can_queue: 64, target_depth: 32, lun_depth: 16, queue_mode: shared_single",
		"can_queue: 64, target_depth: 5, lun_depth: 16, queue_mode: divided_borrow",
		"can_queue: 2, target_depth: 32, lun_depth: 16, queue_mode: divided",
		"can_queue: 64, target_depth: 32, lun_depth: 16, hw_queues: 1, scheduler: deadline",
		"can_queue: 64, target_depth: 32, lun_depth: 16, coalesce: yes, latency_target: 1ms",
		"can_queue: 64, target_depth: 32, lun_depth: 16",
	};

	start();
	for (int f = 0; f < 6; f++)
		srig_flow_get(f, (unsigned)f % 2, f / 2 == 0 ? "x" : f / 2 == 1 ? "y" : "z", f % 2 ? "i" : "k");
	for (int i = 0; i < 60; i++)
		srig_new(i / 10, DISK_FLUSH, 0, NULL, 0)->again = 299;
	for (int f = 0; f < 6; f++)
		srig_submit(f, f * 10, f * 10 + 10);
	for (int round = 0; round < 48; round++) {
		assert_int_equal(reload(settings[(unsigned)round % ARRAY_LEN(settings)], disks), 0);
		usleep(2000);
	}
	srig_wait(60);
	assert_int_equal(srig_row(SIM_ADAPTER, "a").commands, 18000);
	assert_false(srig_row(SIM_ADAPTER, "a").offline);
	srig_close();
}

/* -- set -- */

static char why[256];

static bool
set(const char *kind, const char *name, const char *what, json_t *value)
{
	json_t *params = json_object(), *result = NULL;
	const struct control_verb *v;

	json_object_set_new(params, "kind", json_string(kind));
	if (name)
		json_object_set_new(params, "name", json_string(name));
	if (what)
		json_object_set_new(params, "what", json_string(what));
	if (value)
		json_object_set_new(params, "value", value);
	why[0] = 0;
	for_each_registered(control_verbs, v)
		if (strcmp(v->name, "set") == 0)
			result = v->run(params, why, sizeof(why));
	json_decref(params);
	json_decref(result);
	assert_true((result != NULL) == (why[0] == 0));
	return result;
}

static void
set_changes_one_limit(void **state)
{
	start();
	srig_flow_get(0, 0, "x", "iqn.2026-11.com.example:i/o=1");
	assert_true(set("adapter", "a", "limit", json_integer(20)));
	assert_true(set("target", "0:1", "depth", json_string("7")));
	assert_true(set("target", "a/0:0", "depth", json_string("8")));
	assert_true(set("lun/y/depth=6", NULL, NULL, NULL));
	/* The name may hold what separates the others. */
	assert_true(set("initiator/iqn.2026-11.com.example:i/o=1/limit=5", NULL, NULL, NULL));
	assert_int_equal(limit(BRIDGE_HOST, "a"), 20);
	assert_int_equal(limit(BRIDGE_TARGET, "0:1"), 7);
	assert_int_equal(limit(BRIDGE_TARGET, "0:0"), 8);
	assert_int_equal(limit(BRIDGE_LUN, "y"), 6);
	assert_int_equal(limit(BRIDGE_INITIATOR, "iqn.2026-11.com.example:i/o=1"), 5);
	srig_close();
}

/* Two queues cannot share one command. */
static void
a_limit_set_by_hand_is_too_small_to_divide(void **state)
{
	start();
	assert_true(set("adapter", "a", "limit", json_integer(1)));
	assert_int_equal(reload("can_queue: 64, queue_mode: divided, target_depth: 8, lun_depth: 16",
	    disks), -EINVAL);
	assert_string_equal(srig_said, "adapter a: queue_mode: the limit that was set by hand is "
	    "too small to be divided");
	mode_is(QUEUE_SHARED, 2);
	assert_int_equal(limit(BRIDGE_TARGET, "0:0"), 32);
	assert_true(set("adapter", "a", "limit", json_integer(2)));
	assert_int_equal(reload("can_queue: 64, queue_mode: divided, target_depth: 8, lun_depth: 16",
	    disks), 0);
	assert_false(set("adapter", "a", "limit", json_integer(1)));
	assert_string_equal(why, "a limit is 1 to the can_queue of the start, and divided at least 1 "
	    "for each queue, not 1");
	srig_close();
}

static void
set_says_what_is_wrong(void **state)
{
	start();
	assert_false(set("lun", "x", "depth", json_integer(0)));
	assert_string_equal(why, "a limit is 1 to the can_queue of the start, not 0");
	assert_false(set("lun", "x", "depth", json_integer(65)));
	assert_false(set("lun", "x", "depth", json_integer(-1)));
	assert_false(set("lun", "x", "depth", json_integer(1ll << 32)));
	assert_false(set("lun", "x", "depth", json_string("99999999999999999999999")));
	assert_false(set("lun", "x", "depth", json_string(" 5")));
	assert_false(set("lun", "nobody", "depth", json_integer(5)));
	assert_string_equal(why, "there is no such lun; `adapters` lists them");
	assert_false(set("target", "b/0:0", "depth", json_integer(5)));
	assert_false(set("disk", "x", "depth", json_integer(5)));
	assert_string_equal(why, "what can be set is the limit of an adapter, target, lun or initiator");
	assert_false(set("lun", "x", "share", json_integer(5)));
	assert_false(set("lun", "x", NULL, NULL));
	assert_string_equal(why, "set takes KIND NAME limit N, or KIND/NAME/limit=N");
	assert_false(set("lun", "x", "depth", json_true()));
	assert_false(set("/=", NULL, NULL, NULL));
	assert_false(set("lun/depth=1", NULL, NULL, NULL));
	assert_false(set("=1/lun/depth", NULL, NULL, NULL));
	assert_int_equal(limit(BRIDGE_LUN, "x"), 16);
	srig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_differs_is_brought),
		cmocka_unit_test(tags_are_those_of_the_start),
		cmocka_unit_test(modes_change_with_their_limits),
		cmocka_unit_test(order_and_latency_change),
		cmocka_unit_test(what_does_not_drain_stays),
		cmocka_unit_test(under_load),
		cmocka_unit_test(set_changes_one_limit),
		cmocka_unit_test(a_limit_set_by_hand_is_too_small_to_divide),
		cmocka_unit_test(set_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
