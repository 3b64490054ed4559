/* The control verbs adapters and disks. */
#include "bridge_steps.h"

#include "control.h"

static json_t *
verb(const char *name)
{
	const struct control_verb *v;
	char err[128] = "";

	for_each_registered(control_verbs, v)
		if (strcmp(v->name, name) == 0) {
			json_t *result = v->run(NULL, err, sizeof(err)), *rows;

			assert_non_null(result);
			rows = json_object_get(result, name);
			assert_true(json_is_array(rows));
			json_incref(rows);
			json_decref(result);
			return rows;
		}
	fail_msg("no verb %s", name);
	return NULL;
}

/* The row of that kind and name. */
static json_t *
row(json_t *rows, const char *kind, const char *name)
{
	size_t i;
	json_t *r;

	json_array_foreach(rows, i, r) {
		const char *k = json_string_value(json_object_get(r, "kind"));

		if ((!kind || (k && strcmp(k, kind) == 0)) &&
		    strcmp(json_string_value(json_object_get(r, "name")), name) == 0)
			return r;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static int
number(json_t *r, const char *key)
{
	json_t *n = json_object_get(r, key);

	assert_true(json_is_integer(n));
	return (int)json_integer_value(n);
}

static void
adapters_show_who_holds_and_who_waits(void **state)
{
	json_t *rows, *r;

	start(4, 3, 2, 2, 2);
	flow(0, 0, "iqn.a", 1, 0);
	flow(1, 1, "iqn.b", 1, 4);
	for (int i = 0; i < 3; i++)
		submit(0);
	submit(1);
	submit(1);
	rows = verb("adapters");
	assert_int_equal(json_array_size(rows), 1 + 1 + 2 + 2);
	r = row(rows, "host", "rig");
	assert_int_equal(number(r, "limit"), 4);
	assert_int_equal(number(r, "in_flight"), 3);
	assert_int_equal(number(r, "waiting"), 2);
	r = row(rows, "target", "0:0");
	assert_int_equal(number(r, "limit"), 3);
	assert_int_equal(number(r, "in_flight"), 3);
	assert_int_equal(number(row(rows, "lun", "d0"), "waiting"), 1);
	assert_int_equal(number(row(rows, "initiator", "iqn.b"), "in_flight"), 1);
	assert_int_equal(number(row(rows, "initiator", "iqn.b"), "limit"), 4);
	assert_true(json_is_null(json_object_get(row(rows, "initiator", "iqn.a"), "limit")));
	json_decref(rows);
	finish(0);
	rows = verb("adapters");
	r = row(rows, "host", "rig");
	assert_int_equal(number(r, "waits"), 1);
	assert_int_equal(number(r, "max"), 3);
	json_decref(rows);
	end();
}

static void
disks_show_what_they_are(void **state)
{
	json_t *rows, *r;

	start(4, 3, 2, 2, 2);
	rig_disk(1)->online = false;
	rows = verb("disks");
	assert_int_equal(json_array_size(rows), 2);
	r = row(rows, NULL, "d0");
	assert_string_equal(json_string_value(json_object_get(r, "state")), "online");
	assert_string_equal(json_string_value(json_object_get(r, "driver")), "fake");
	assert_string_equal(json_string_value(json_object_get(r, "address")), "0:0:0");
	assert_int_equal(number(r, "size"), 1 << 30);
	r = row(rows, NULL, "d1");
	assert_string_equal(json_string_value(json_object_get(r, "state")), "offline");
	assert_string_equal(json_string_value(json_object_get(r, "address")), "0:0:1");
	json_decref(rows);
	rig_disk(1)->online = true;
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adapters_show_who_holds_and_who_waits),
		cmocka_unit_test(disks_show_what_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
