/* Targets, LUNs and initiators: what is refused. */
#include "tests/unit/conf/check.h"

/* Two disks, two portals and an auth in 5 lines, then the target in line 7. */
#define BASE "adapters: [{ name: a, disks: [{ name: fast, driver: ram, size: 1M },\n" \
	"  { name: slow, driver: ram, size: 1M }] }]\n" \
	"portals: [{ name: lan, transport: iscsi, listen: 127.0.0.1:1 },\n" \
	"  { name: wan, transport: iscsi, listen: 127.0.0.1:2 }]\n" \
	"auth: [{ name: lab, user: u, secret: 123456789012 }]\n"
#define T(keys) BASE "targets:\n- name: iqn.2026-11.com.example:x\n" keys
#define TP(keys) T("  portals: lan\n" keys)
#define LUNS(list) TP("  luns:\n" list)
#define RULES(list) TP("  luns: [{ lun: 1, disk: fast }, { lun: 5, disk: slow }]\n  initiators:\n" list)

static const struct said targets[] = {
	{ "targets: []", "" },
	{ "targets: x", "t:1:10: targets: expected a list, found \"x\"\n" },
	{ "targets: [x]", "t:1:11: a target: expected a map, found \"x\"\n" },
	{ "targets: [{}]", "t:1:11: a target: name is missing\nt:1:11: a target: portals is missing\n" },
	{ TP(""), "" },
	{ T(""), "t:7:3: a target: portals is missing\n" },
	{ TP("  auth: none\n"), "" },
	{ TP("  auth: lab\n"), "" },
	{ TP("  auth: lb\n"), "t:9:9: there is no auth \"lb\" (did you mean \"lab\"?)\n" },
	{ TP("  auth: [lab, none]\n"), "t:9:9: auth: expected a text, found a list\n" },
	{ TP("  auth:\n"), "t:9:8: auth: expected a text, found nothing\n" },
	{ T("  portals: [wan, lan]\n"), "" },
	{ T("  portals: [wan, lam, wan]\n"), "t:8:18: there is no portal \"lam\" (did you mean \"lan\"?)\n"
	    "t:8:23: portals: \"wan\" is here twice\n" },
	{ T("  portals: []\n"), "t:8:12: portals: the list is empty\n" },
	{ T("  portals: {}\n"), "t:8:12: portals: expected a text, found a map\n" },
	{ TP("  iscsi: {}\n"), "" },
	{ TP("  iscsi: []\n"), "t:9:10: iscsi: expected a map, found a list\n" },
	{ TP("  iscsi:\n"), "t:9:9: iscsi: expected a map, found nothing\n" },
	{ TP("  iscsi: { max_connections: 2, first_burst: 1 }\n"),
	    "t:9:29: max_connections: 2 is not supported yet\n"
	    "t:9:45: first_burst: expected at least 512, found 1\n" },
	{ TP("  iscsi: { initial_r2: no }\n"),
	    "t:9:12: unknown key \"initial_r2\" (did you mean initial_r2t?)\n" },
	{ TP("  srp: {}\n"), "" },
	{ TP("  srp: { id_ext: 0002C903004ed0b3, ioc_guid: \"0002c90300a1b2c3\" }\n"), "" },
	{ TP("  srp: { id_ext: 0, ioc_guid: 0000000000000000 }\n"),
	    "t:9:18: id_ext: expected 16 hexadecimal digits, not all of them 0, found \"0\"\n"
	    "t:9:31: ioc_guid: expected 16 hexadecimal digits, not all of them 0, found "
	    "\"0000000000000000\"\n" },
	{ TP("  srp: { id_ext: \"\", ioc_guid: 00000000000000011 }\n"),
	    "t:9:18: id_ext: expected 16 hexadecimal digits, not all of them 0, found the text \"\"\n"
	    "t:9:32: ioc_guid: expected 16 hexadecimal digits, not all of them 0, found "
	    "\"00000000000000011\"\n" },
	{ TP("  srp: { id_ext: 0x02c903004ed0b3, queue_depth: 1, max_channels: 0 }\n"),
	    "t:9:18: id_ext: expected 16 hexadecimal digits, not all of them 0, found "
	    "\"0x02c903004ed0b3\"\n"
	    "t:9:49: queue_depth: expected a number from 2 to 256, found \"1\"\n"
	    "t:9:66: max_channels: expected a number from 1 to 256, found \"0\"\n" },
	{ TP("  isns: x\n"), "t:9:3: unknown key \"isns\" (a target takes name, alias, "
	    "luns, initiators, portals, auth, iscsi, srp)\n" },
	{ TP("  alias: \"\"\n"), "t:9:10: alias: expected 1 to 255 bytes of text, found 0\n" },
	{ TP("- { name: IQN.2026-11.com.EXAMPLE:X, portals: wan }\n"),
	    "t:9:11: target \"iqn.2026-11.com.example:x\" is used twice, first at t:7:9\n" },
	{ LUNS("  - { lun: 0, disk: *fast }\n  - { lun: *x, disk: fast }\n  - *y\n"),
	    "t:10:21: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:11:12: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:12:5: aliases are not supported (a text that begins with * needs quotes)\n" },
	{ BASE "targets:\n- { name: *x, portals: [*y, lan], auth: *z, luns: *a, initiators: [*b, { match: *c }] }\n",
	    "t:7:11: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:7:25: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:7:41: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:7:51: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:7:68: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:7:81: aliases are not supported (a text that begins with * needs quotes)\n" },
	/* Once filled, a list is not filled again. */
	{ RULES("  - { match: \"*\" }\n  initiators: [{ match: \"*\" }, { match: \"*\" }, { x: 1 }]\n"),
	    "t:12:3: key \"initiators\" is here twice, also at t:10:3\n" },
	{ LUNS("  - { lun: 0, disk: fast }\n  luns: [{ lun: 0, disk: none }, { lun: 1, disk: fast }]\n"),
	    "t:11:3: key \"luns\" is here twice, also at t:9:3\n" },
	{ BASE "targets:\n- { name: store, portals: lan }\n", "t:7:11: name: \"store\" is no iSCSI name "
	    "(RFC 7143 4.2.7) such as iqn.2026-11.com.example:store\n" },
	{ BASE "targets:\n- { name: [x], portals: lan }\n",
	    "t:7:11: name: expected a text, found a list\n" },
};

static const struct said luns[] = {
	{ LUNS("  - { lun: 0, disk: fast }\n  - { lun: 16383, disk: fast, depth: 65535, read_only: yes }\n"),
	    "" },
	{ TP("  luns: []\n"), "" },
	{ TP("  luns: {}\n"), "t:9:9: luns: expected a list, found a map\n" },
	{ LUNS("  - 0\n"), "t:10:5: a LUN: expected a map, found \"0\"\n" },
	{ LUNS("  - {}\n"), "t:10:5: a LUN: lun is missing\nt:10:5: a LUN: disk is missing\n" },
	{ LUNS("  - { lun: 16384, disk: fast }\n"),
	    "t:10:12: lun: expected a number from 0 to 16383, found \"16384\"\n" },
	{ LUNS("  - { lun: 0, disk: fsat }\n"), "t:10:21: there is no disk \"fsat\" (did you mean \"fast\"?)\n" },
	{ LUNS("  - { lun: 0, disk: quick }\n"), "t:10:21: there is no disk \"quick\"\n" },
	{ LUNS("  - { lun: 0, disk: fast, depth: 0 }\n"),
	    "t:10:34: depth: expected a number from 1 to 65535, found \"0\"\n" },
	{ LUNS("  - { lun: 3, disk: fast }\n  - { lun: 1, disk: fast }\n  - { lun: 3, disk: slow }\n"
	    "  - { lun: 3, disk: slow }\n"), "t:12:5: LUN 3 is here twice, also at t:10:5\n"
	    "t:13:5: LUN 3 is here twice, also at t:12:5\n" },
};

static const struct said rules[] = {
	{ RULES("  - { match: \"*\", luns: [1, 5], read_only: yes, depth: 65535, share: 255 }\n"), "" },
	{ RULES("  - { match: \"*\", iops: 4294967295, bandwidth: 1T, burst: 1m }\n"), "" },
	{ RULES("  - { match: \"*\", iops: 0, bandwidth: 4095, burst: 999us }\n"),
	    "t:11:25: iops: expected a number from 1 to 4294967295, found \"0\"\n"
	    "t:11:39: bandwidth: expected at least 4K, found 4095\n"
	    "t:11:52: burst: expected at least 1ms, found 999us\n" },
	{ RULES("  - { match: \"*\", burst: 2s, depth: 1 }\n"),
	    "t:11:26: burst: without iops or bandwidth there is nothing to save up\n" },
	{ RULES("  - { address: fd00::/8, luns: 1 }\n"), "" },
	{ RULES("  - { address: \"[fd00::1]\" }\n"), "" },
	{ TP("  initiators: []\n"), "t:9:15: initiators: an empty list lets nobody in; without the key "
	    "everyone who authenticates may come\n" },
	{ TP("  initiators: x\n"), "t:9:15: initiators: expected a list, found \"x\"\n" },
	{ RULES("  - x\n"), "t:11:5: an initiator: expected a map, found \"x\"\n" },
	{ RULES("  - { luns: [1] }\n"),
	    "t:11:5: an initiator: match, address or srp is missing\n" },
	{ RULES("  - { srp: \"fe80::c071:9aff:fe61:a2d4\" }\n"), "" },
	{ RULES("  - { srp: c0719afffe61a2d4 }\n"), "" },
	{ RULES("  - { srp: fe80000000000000c0719afffe61a2d4 }\n"), "" },
	{ RULES("  - { srp: fe80000000000000c0719afffe61a2 }\n"),
	    "t:11:12: srp: expected a GID such as fe80::2c9:3ff:fe4e:d0b3, or 16 or 32 hexadecimal "
	    "digits, found \"fe80000000000000c0719afffe61a2\"\n" },
	{ RULES("  - { srp: 10.0.0.1 }\n"),
	    "t:11:12: srp: expected a GID such as fe80::2c9:3ff:fe4e:d0b3, or 16 or 32 hexadecimal "
	    "digits, found \"10.0.0.1\"\n" },
	{ RULES("  - { match: \"*\", luns: [0, 1, 6] }\n"), "t:11:26: luns: the target has no LUN 0\n"
	    "t:11:32: luns: the target has no LUN 6\n" },
	{ RULES("  - { match: \"*\", luns: [] }\n"), "t:11:25: luns: the list is empty\n" },
	{ RULES("  - { match: \"*\", share: 0 }\n"),
	    "t:11:26: share: expected a number from 1 to 255, found \"0\"\n" },
	{ RULES("  - { match: \"iqn.2026-11.com.example:a/*\" }\n"), "t:11:14: match: "
	    "\"iqn.2026-11.com.example:a/*\" has a letter that no initiator name has\n" },
	{ RULES("  - { match: \"\" }\n"), "t:11:14: match: expected 1 to 223 bytes of text, found 0\n" },
	{ RULES("  - { address: 10.1.2.3/8 }\n"),
	    "t:11:16: address: \"10.1.2.3/8\" has address bits behind the prefix\n" },
	{ RULES("  - { address: 10.0.0.0/33 }\n"),
	    "t:11:16: address: \"10.0.0.0/33\" has no such prefix length\n" },
	{ RULES("  - { address: host }\n"), "t:11:16: address: \"host\" is no address; expected one "
	    "such as 10.0.0.7, 10.0.0.0/8 or fd00::/8\n" },
	{ RULES("  - { address: 10.0.0.7, mask: 8 }\n"), "t:11:26: unknown key \"mask\" (an initiator "
	    "takes match, address, srp, luns, read_only, depth, share, iops, "
	    "bandwidth, burst)\n" },
	{ TP("  initiators: [{ match: \"*\", luns: [0] }]\n"), "t:9:37: luns: the target has no LUN 0\n" },
	/* The LUN that could not be read may be the one that is meant. */
	{ TP("  luns: [{ lun: zero, disk: fast }]\n  initiators: [{ match: \"*\", luns: [0] }]\n"),
	    "t:9:17: lun: expected a number from 0 to 16383, found \"zero\"\n" },
};

static void
what_is_refused_of_targets(void **state)
{
	check_said(targets, ARRAY_LEN(targets));
}

static void
what_is_refused_of_luns(void **state)
{
	check_said(luns, ARRAY_LEN(luns));
}

static void
what_is_refused_of_initiators(void **state)
{
	check_said(rules, ARRAY_LEN(rules));
}

/* Targets may stand before what they mention, and as many as people have. */
static void
many_luns_and_targets(void **state)
{
	const struct conf_target *t;
	struct conf *conf;
	char *text, *errors;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	unsigned n = 0;

	fputs("targets:\n", f);
	for (int i = 0; i < 100; i++) {
		fprintf(f, "- name: iqn.2026-11.com.example:%d\n  portals: lan\n  luns:\n", i);
		for (int k = 99; k >= 0; k--)
			fprintf(f, "  - { lun: %d, disk: d%d }\n", k, i * 100 + k);
	}
	fputs("portals: [{ name: lan, transport: iscsi, listen: 127.0.0.1:1 }]\n"
	    "adapters:\n- name: a\n  disks:\n", f);
	for (int i = 0; i < 10000; i++)
		fprintf(f, "  - { name: d%d, driver: ram, size: 1M }\n", i);
	fclose(f);
	conf = check_load(text, size, &errors);
	assert_string_equal(errors, "");
	assert_non_null(conf);
	list_for_each(t, &conf->targets, link) {
		for (int k = 0; k < t->nluns; k++, n++) {
			assert_int_equal(t->luns[k].lun, k);
			assert_int_equal(atoi(t->luns[k].disk->name + 1), n);
			assert_int_equal(t->luns[k].disk->id, n);
		}
	}
	assert_int_equal(n, 10000);
	conf_free(conf);
	free(errors);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_of_targets),
		cmocka_unit_test(what_is_refused_of_luns),
		cmocka_unit_test(what_is_refused_of_initiators),
		cmocka_unit_test(many_luns_and_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
