/* Targets: found by name, and who may see what of them. */
#include "scsi_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "hba/scsi/access.h"
#include "hba/scsi/lu.h"

static struct conf_rule rules[4];

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&ss;

	ss.ss_family = AF_INET;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return ss;
	ss.ss_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	return ss;
}

static bool
may(int nrules, const char *name, const char *peer)
{
	struct conf_target ct = { .nrules = nrules, .rules = rules };
	struct target target = { .conf = &ct };
	struct sockaddr_storage ss;
	struct nexus_id id = { .initiator = name };

	if (peer) {
		ss = address(peer);
		id.peer = (struct sockaddr *)&ss;
	}
	return target_may(&target, &id) == 0;
}

static void
rule_name(int i, const char *match)
{
	rules[i] = (struct conf_rule){ .match = (char *)(uintptr_t)match };
}

static void
rule_address(int i, const char *text, uint8_t prefix)
{
	rules[i] = (struct conf_rule){ .has_address = true, .address = address(text),
		.prefix = prefix };
}

static void
no_rules_let_everyone_in(void **state)
{
	assert_true(may(0, "iqn.2026-11.test:any", NULL));
}

static void
names_with_wildcards(void **state)
{
	rule_name(0, "iqn.1994-05.com.redhat:*");
	rule_name(1, "iqn.2026-11.test:host?");
	assert_true(may(2, "iqn.1994-05.com.redhat:abc", NULL));
	assert_true(may(2, "iqn.2026-11.test:host7", NULL));
	assert_false(may(2, "iqn.2026-11.test:host77", NULL));
	assert_false(may(2, "iqn.1994-05.com.redhat", NULL));
	assert_false(may(2, "xiqn.1994-05.com.redhat:abc", NULL));
	rule_name(0, "iqn.2026-11.test:HOST");
	assert_true(may(1, "iqn.2026-11.test:host", NULL));
}

static void
addresses_by_prefix(void **state)
{
	rule_address(0, "10.0.0.0", 8);
	assert_true(may(1, "iqn.x", "10.255.1.2"));
	assert_false(may(1, "iqn.x", "11.0.0.1"));
	assert_false(may(1, "iqn.x", NULL));
	rule_address(0, "192.168.77.128", 25);
	assert_true(may(1, "iqn.x", "192.168.77.200"));
	assert_false(may(1, "iqn.x", "192.168.77.100"));
	rule_address(0, "192.168.77.1", 32);
	assert_true(may(1, "iqn.x", "192.168.77.1"));
	assert_false(may(1, "iqn.x", "192.168.77.2"));
	rule_address(0, "0.0.0.0", 0);
	assert_true(may(1, "iqn.x", "1.2.3.4"));
	assert_false(may(1, "iqn.x", "fd00::1"));
	rule_address(0, "fd00::", 8);
	assert_true(may(1, "iqn.x", "fd12::1"));
	assert_false(may(1, "iqn.x", "fe80::1"));
	rule_address(0, "fd00::1", 128);
	assert_true(may(1, "iqn.x", "fd00:0:0:0:0:0:0:1"));
	assert_false(may(1, "iqn.x", "fd00::2"));
}

static void
ipv4_inside_ipv6_is_ipv4(void **state)
{
	rule_address(0, "10.0.0.0", 8);
	assert_true(may(1, "iqn.x", "::ffff:10.1.2.3"));
	assert_false(may(1, "iqn.x", "::ffff:11.1.2.3"));
	rule_address(0, "::ffff:10.0.0.0", 104);
	assert_true(may(1, "iqn.x", "10.1.2.3"));
	assert_false(may(1, "iqn.x", "11.1.2.3"));
}

static void
a_rule_with_both_needs_both(void **state)
{
	rule_address(0, "10.0.0.0", 8);
	rules[0].match = (char *)(uintptr_t)"iqn.a";
	assert_true(may(1, "iqn.a", "10.0.0.1"));
	assert_false(may(1, "iqn.a", "11.0.0.1"));
	assert_false(may(1, "iqn.b", "10.0.0.1"));
}

static void
the_first_rule_that_fits_decides(void **state)
{
	struct nexus *nexus, *other;
	uint32_t only[] = { 1 };
	struct fake_cmd *fc;
	int error;

	fake_world_init(2);
	rule_name(0, "iqn.2026-11.test:a*");
	rules[0].luns.n = 1;
	rules[0].luns.v = only;
	rules[0].read_only = true;
	rules[0].depth = 7;
	rule_name(1, "iqn.2026-11.test:*");
	fakes.target[0].rules = rules;
	fakes.target[0].nrules = 2;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	assert_int_equal(nexus->depth, 7);
	fc = fake_in(nexus, 0, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64);
	assert_int_equal(rd32(fc->in), 8);
	assert_int_equal(fc->in[9], 1);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY), 0);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x25, 0x00);
	fake_cmd_free(fc);
	fc = fake_write(nexus, 1, 0, 1, 1, DATA_POOL);
	assert_sense(fc, KEY_DATA_PROTECT, 0x27, 0x00);
	fake_cmd_free(fc);
	other = fake_login_quiet(0, "iqn.2026-11.test:b", 0);
	DONE(fake_write(other, 0, 0, 1, 1, DATA_POOL), SCSI_GOOD);
	assert_null(fake_login(0, "iqn.1999-01.test:b", 0, &error));
	assert_int_equal(error, -EACCES);
	fake_logout(other, NULL);
	rig_stop(nexus);
}

static void
targets_are_found_by_name(void **state)
{
	struct target *t;

	fake_world_init(1);
	assert_int_equal(fake_world_start(1), 0);
	t = target_find("iqn.2026-11.test:one");
	assert_ptr_equal(target_conf(t), &fakes.target[1]);
	assert_null(target_find("iqn.2026-11.test"));
	assert_null(target_find("iqn.2026-11.test:one2"));
	t = target_next(NULL);
	assert_ptr_equal(target_conf(t), &fakes.target[0]);
	t = target_next(t);
	assert_ptr_equal(target_conf(t), &fakes.target[1]);
	assert_null(target_next(t));
	fake_world_stop();
}

static void
ports_are_numbered_apart_and_a_disk_is_one_unit(void **state)
{
	struct target *a, *b;

	fake_world_init(2);
	assert_int_equal(fake_world_start(1), 0);
	a = target_next(NULL);
	b = target_next(a);
	assert_int_equal(a->port, 1);
	assert_int_equal(b->port, 2);
	assert_ptr_equal(a->luns[0].lu, b->luns[0].lu);
	assert_ptr_not_equal(a->luns[0].lu, a->luns[1].lu);
	fake_world_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rules_let_everyone_in),
		cmocka_unit_test(names_with_wildcards),
		cmocka_unit_test(addresses_by_prefix),
		cmocka_unit_test(ipv4_inside_ipv6_is_ipv4),
		cmocka_unit_test(a_rule_with_both_needs_both),
		cmocka_unit_test(the_first_rule_that_fits_decides),
		cmocka_unit_test(targets_are_found_by_name),
		cmocka_unit_test(ports_are_numbered_apart_and_a_disk_is_one_unit),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
