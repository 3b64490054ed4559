/* What a target's `iscsi:` map may say, what holds without it, and what is refused with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/iscsi/params.h"

#include "conf.h"
#include "transport.h"

static struct conf *conf;
static char *errors;

/* Loads a target with this map; NULL: errors are said. */
static const struct iscsi_target_conf *
load(const char *map)
{
	size_t size;
	FILE *err = open_memstream(&errors, &size);
	const struct conf_target *t;
	char text[1024];
	int rc;

	snprintf(text, sizeof(text),
	    "adapters: [{ name: a, disks: [{ name: d, driver: \"null\", size: 1M }] }]\n"
	    "portals: [{ name: lan, transport: iscsi, listen: [\"127.0.0.1:3260\"], group: 1 }]\n"
	    "targets:\n"
	    "  - name: iqn.2026-11.com.example:store\n"
	    "    portals: [lan]\n"
	    "    luns: [{ lun: 0, disk: d }]\n"
	    "    iscsi: { %s }\n", map);
	rc = conf_load_text("map", text, strlen(text), &conf, err);
	fclose(err);
	if (rc != 0)
		return NULL;
	t = list_first(&conf->targets, struct conf_target, link);
	return t->opts[transport_index(transport_find("iscsi"))];
}

static int
end(void **state)
{
	if (conf != NULL)
		conf_free(conf);
	conf = NULL;
	free(errors);
	errors = NULL;
	return 0;
}

static void
an_empty_map_has_defaults(void **state)
{
	const struct iscsi_target_conf *c = load("");

	assert_non_null(c);
	assert_int_equal(c->max_connections, 1);
	assert_int_equal(c->error_recovery_level, 0);
	assert_false(c->initial_r2t);
	assert_true(c->immediate_data);
	assert_int_equal(c->header_digest.n, 2);
	assert_int_equal(c->header_digest.v[0], ISCSI_DIGEST_NONE);
	assert_int_equal(c->header_digest.v[1], ISCSI_DIGEST_CRC32C);
	assert_int_equal(c->data_digest.n, 2);
	assert_int_equal(c->first_burst, 256 * 1024);
	assert_int_equal(c->max_burst, 1024 * 1024);
	assert_int_equal(c->max_outstanding_r2t, 4);
	assert_int_equal(c->nop_interval_ns, 15000000000);
	assert_int_equal(c->nop_timeout_ns, 10000000000);
	assert_int_equal(c->queue_depth, 256);
}

static void
every_key_is_taken(void **state)
{
	const struct iscsi_target_conf *c = load("max_connections: 1, error_recovery_level: 0, "
	    "initial_r2t: yes, immediate_data: no, header_digest: [crc32c], data_digest: [none], "
	    "first_burst: 512, max_burst: 64K, max_outstanding_r2t: 64, nop_interval: 0, "
	    "nop_timeout: 1s, queue_depth: 1024");

	assert_non_null(c);
	assert_true(c->initial_r2t);
	assert_false(c->immediate_data);
	assert_int_equal(c->header_digest.n, 1);
	assert_int_equal(c->header_digest.v[0], ISCSI_DIGEST_CRC32C);
	assert_int_equal(c->data_digest.v[0], ISCSI_DIGEST_NONE);
	assert_int_equal(c->first_burst, 512);
	assert_int_equal(c->max_burst, 65536);
	assert_int_equal(c->max_outstanding_r2t, 64);
	assert_int_equal(c->nop_interval_ns, 0);
	assert_int_equal(c->nop_timeout_ns, 1000000000);
	assert_int_equal(c->queue_depth, 1024);
}

static void
what_is_not_built_says_so(void **state)
{
	assert_null(load("max_connections: 4"));
	assert_non_null(strstr(errors, "map:7:"));
	assert_non_null(strstr(errors, "not supported yet"));
	end(NULL);
	assert_null(load("error_recovery_level: 2"));
	assert_non_null(strstr(errors, "not supported yet"));
}

static void
what_the_protocol_cannot_carry_is_refused(void **state)
{
	static const char *const bad[] = { "first_burst: 511", "max_burst: 16M", "max_connections: 0",
		"error_recovery_level: 3", "max_outstanding_r2t: 0", "max_outstanding_r2t: 65",
		"queue_depth: 0", "queue_depth: 1025", "nop_timeout: 0", "header_digest: [md5]",
		"initial_r2t: maybe", "initialr2t: yes" };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(load(bad[i]));
		assert_non_null(strstr(errors, "map:7:"));
		end(NULL);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_map_has_defaults),
		TEST(every_key_is_taken),
		TEST(what_is_not_built_says_so),
		TEST(what_the_protocol_cannot_carry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
