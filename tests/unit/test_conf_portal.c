/* Portals: what is refused. */
#include "tests/unit/conf/check.h"

#define P(keys) "portals:\n- { name: p, transport: iscsi, " keys " }\n"
#define L(found) "t:2:40: listen: expected address:port such as 0.0.0.0:3260, [::1]:3260 or *:3260, " \
	"found \"" found "\"\n"

static const struct said table[] = {
	{ "portals: []", "" },
	{ "portals: 5", "t:1:10: portals: expected a list, found \"5\"\n" },
	{ "portals: [5]", "t:1:11: a portal: expected a map, found \"5\"\n" },
	{ "portals: [{}]", "t:1:11: a portal: transport is missing\nt:1:11: a portal: name is missing\n"
	    "t:1:11: a portal: listen is missing\n" },
	{ P("listen: 127.0.0.1:3260"), "" },
	{ P("listen: [\"*:3260\", \"127.0.0.1:3261\", \"[::1]:3262\"], group: 65535"), "" },
	{ P("listen: '::1'"), L("::1") },
	{ P("listen: ['::1:3260']"), "t:2:41: listen: expected address:port such as 0.0.0.0:3260, "
	    "[::1]:3260 or *:3260, found \"::1:3260\"\n" },
	{ P("listen: 127.0.0.1"), L("127.0.0.1") },
	{ P("listen: 127.0.0.1:0"), L("127.0.0.1:0") },
	{ P("listen: host:3260"), L("host:3260") },
	{ P("listen: 3260"), L("3260") },
	{ P("listen: []"), "t:2:40: listen: the list is empty\n" },
	{ P("listen: {}"), "t:2:40: listen: expected a text, found a map\n" },
	{ P("listen: 127.0.0.1:1, group: 0"),
	    "t:2:60: group: expected a number from 1 to 65535, found \"0\"\n" },
	{ P("listen: 127.0.0.1:1, tls: yes"),
	    "t:2:53: unknown key \"tls\" (a portal takes transport, name, listen, group)\n" },
	{ P("listen: 127.0.0.1:1, redirect: x"),
	    "t:2:53: unknown key \"redirect\" (a portal takes transport, name, listen, group)\n" },
	{ "portals:\n- { name: p, transport: srp, listen: 10.0.0.1:5555, magic: 1 }\n",
	    "t:2:53: unknown key \"magic\" (a portal takes transport, name, listen, group, poll, "
	    "backlog, max_channels)\n" },
	{ "portals:\n- { name: p, transport: null, listen: 10.0.0.1:5555 }\n",
	    "t:2:25: transport: expected a text, found null (in quotes it is a text)\n" },
	{ P("listen: 127.0.0.1:1") "- { name: p, transport: iscsi, listen: 127.0.0.1:2 }\n",
	    "t:3:11: portal \"p\" is used twice, first at t:2:11\n" },
	/* However it is written. */
	{ P("listen: [127.0.0.1:1, \"[::ffff:127.0.0.1]:1\", \"[::1]:1\", \"[0:0::1]:1\"]"),
	    "t:2:54: listen: 127.0.0.1:1 is taken already at t:2:41\n"
	    "t:2:89: listen: [::1]:1 is taken already at t:2:78\n" },
	{ P("listen: 10.0.0.1:1") "- { name: q, transport: iscsi, listen: [0.0.0.0:1, '[::]:1'] }\n",
	    "t:3:41: listen: 0.0.0.0:1 is taken already at t:2:40\n" },
	{ P("listen: ['*:1', '[::]:1']"), "t:2:48: listen: [::]:1 is taken already at t:2:41\n" },
};

static void
what_is_refused(void **state)
{
	check_said(table, ARRAY_LEN(table));
}

static void
unknown_transports_name_the_known(void **state)
{
	static const char text[] = "portals: [{ name: p, transport: nvme, listen: 10.0.0.1:1, x: 1 }]";
	static const char want[] = "t:1:33: unknown transport \"nvme\" (there are ";
	char *errors;

	assert_null(check_load(text, strlen(text), &errors));
	assert_memory_equal(errors, want, strlen(want));
	assert_non_null(strstr(errors, "iscsi"));
	assert_ptr_equal(strchr(errors, '\n') + 1, errors + strlen(errors));
	free(errors);
}

static void
addresses_are_bounded(void **state)
{
	char *text, *errors, *line;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int n = 0;

	fprintf(f, "portals:\n- name: p\n  transport: iscsi\n  listen:\n");
	for (int i = 1; i <= CONF_LISTEN_MAX + 2; i++)
		fprintf(f, "  - 127.0.0.1:%d\n", i);
	fclose(f);
	assert_null(check_load(text, size, &errors));
	for (line = errors; *line; line = strchr(line, '\n') + 1)
		n++;
	assert_int_equal(n, 2);
	assert_non_null(strstr(errors, "t:1029:5: listen: more than 1024 addresses\n"));
	free(errors);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(unknown_transports_name_the_known),
		cmocka_unit_test(addresses_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
