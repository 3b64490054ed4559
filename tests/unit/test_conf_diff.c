/* What a reload may change, and what it refuses. */
#include "tests/unit/conf/check.h"

#include "disk.h"
#include "transport.h"

static const char base[] =
    "reactors: 2\n"
    "memory: 1G\n"
    "adapters:\n"
    "- name: a\n"
    "  can_queue: 100\n"
    "  disks:\n"
    "  - { name: x, driver: ram, size: 1M, depth: 9, serial: s1 }\n"
    "  - { name: y, driver: ram, size: 1M }\n"
    "- name: b\n"
    "  disks: [{ name: z, driver: sim, service: 1ms }]\n"
    "portals:\n"
    "- { name: lan, transport: iscsi, listen: \"127.0.0.1:1\" }\n"
    "- { name: wan, transport: iscsi, listen: \"127.0.0.1:2\" }\n"
    "auth:\n"
    "- { name: lab, user: u, secret: \"123456789012\" }\n"
    "targets:\n"
    "- name: iqn.2026-11.com.example:x\n"
    "  portals: [lan, wan]\n"
    "  auth: lab\n"
    "  luns: [{ lun: 0, disk: x }, { lun: 1, disk: y }]\n"
    "  initiators:\n"
    "  - { match: \"a*\", luns: [0], depth: 8, iops: 100 }\n"
    "  - { address: 10.0.0.0/8 }\n"
    "- name: iqn.2026-11.com.example:w\n"
    "  portals: lan\n";

/* Of the text above: this becomes that, and what is said about it. */
struct change {
	const char *from, *to;
	const char *said;
};

static char *
changed(const char *from, const char *to)
{
	const char *at = strstr(base, from);
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!at)
		fail_msg("the text has no %s", from);
	fprintf(f, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
	fclose(f);
	return text;
}

static struct conf *
load(const char *text)
{
	char *errors;
	struct conf *conf = check_load(text, strlen(text), &errors);

	if (!conf)
		fail_msg("%sabout\n%s", errors, text);
	free(errors);
	return conf;
}

static const struct change refused[] = {
	{ "reactors: 2", "reactors: 3", "t:1:1: reactors is changed: needs a restart\n" },
	{ "memory: 1G\n", "memory: 1G\npoll: 0\ncontrol: /x\nstate_dir: /y\n",
	    "t:1:1: poll is changed: needs a restart\nt:1:1: control is changed: needs a restart\n"
	    "t:1:1: state_dir is changed: needs a restart\n" },
	{ "name: b\n", "name: c\n", "t:9:3: adapter c is new: needs a restart\n"
	    "t:1:1: adapter b is gone: needs a restart\n" },
	{ "  - { name: y, driver: ram, size: 1M }\n",
	    "  - { name: y, driver: ram, size: 1M }\n  - { name: v, driver: ram, size: 1M }\n",
	    "t:9:5: adapter a: disk v is new: needs a restart\n" },
	{ "size: 1M, depth", "size: 2M, depth",
	    "t:7:5: adapter a: disk x: size is changed: needs a restart\n" },
	{ "serial: s1", "serial: s2", "t:7:5: adapter a: disk x: serial is changed: needs a restart\n" },
	{ "serial: s1", "read_only: yes",
	    "t:7:5: adapter a: disk x: read_only is changed: needs a restart\n"
	    "t:7:5: adapter a: disk x: serial is changed: needs a restart\n" },
	{ "serial: s1", "serial: s1, block_size: 4096",
	    "t:7:5: adapter a: disk x: block_size is changed: needs a restart\n" },
	{ "serial: s1", "serial: s1, address: \"1:2:3\"",
	    "t:7:5: adapter a: disk x: address is changed: needs a restart\n" },
	{ "name: y, driver: ram", "name: y, driver: sim",
	    "t:8:5: adapter a: disk y: driver is changed: needs a restart\n" },
	{ "service: 1ms", "service: 2ms, seed: 5",
	    "t:10:11: adapter b: disk z: service is changed: needs a restart\n"
	    "t:10:11: adapter b: disk z: seed is changed: needs a restart\n" },
	{ "127.0.0.1:1\"", "127.0.0.1:9\"", "t:12:3: portal lan: listen is changed: needs a restart\n" },
	{ "127.0.0.1:1\"", "127.0.0.1:1\", group: 4",
	    "t:12:3: portal lan: group is changed: needs a restart\n" },
	/* Never the secret itself. */
	{ "secret: \"123456789012\"", "secret: \"123456789013\"",
	    "t:15:3: auth lab: secret is changed: needs a restart\n" },
	{ "secret: \"123456789012\"", "secret: \"123456789012\", algorithms: md5",
	    "t:15:3: auth lab: algorithms is changed: needs a restart\n" },
	{ "  auth: lab\n", "", "t:17:3: target iqn.2026-11.com.example:x: auth is changed: needs a restart\n" },
	{ "  auth: lab\n", "  auth: lab\n  alias: q\n  iscsi: { max_burst: 64K }\n",
	    "t:17:3: target iqn.2026-11.com.example:x: alias is changed: needs a restart\n"
	    "t:17:3: target iqn.2026-11.com.example:x: max_burst is changed: needs a restart\n" },
	{ "[lan, wan]", "[wan, lan]",
	    "t:17:3: target iqn.2026-11.com.example:x: portals is changed: needs a restart\n" },
	{ "[lan, wan]", "lan",
	    "t:17:3: target iqn.2026-11.com.example:x: portals is changed: needs a restart\n" },
	{ ", { lun: 1, disk: y }", "",
	    "t:17:3: target iqn.2026-11.com.example:x: luns is changed: needs a restart\n" },
	{ "lun: 1, disk: y", "lun: 2, disk: y",
	    "t:20:31: target iqn.2026-11.com.example:x: luns is changed: needs a restart\n" },
	{ "lun: 1, disk: y", "lun: 1, disk: z, read_only: yes",
	    "t:20:31: target iqn.2026-11.com.example:x: LUN 1: disk is changed: needs a restart\n"
	    "t:20:31: target iqn.2026-11.com.example:x: read_only is changed: needs a restart\n" },
	{ "\"a*\"", "\"b*\"",
	    "t:22:5: target iqn.2026-11.com.example:x: match is changed: needs a restart\n" },
	{ "luns: [0]", "luns: [0, 1]",
	    "t:22:5: target iqn.2026-11.com.example:x: luns is changed: needs a restart\n" },
	{ "10.0.0.0/8", "10.0.0.0/9",
	    "t:23:5: target iqn.2026-11.com.example:x: address is changed: needs a restart\n" },
	{ "10.0.0.0/8", "10.0.0.0/8, srp: \"fe80::1\"",
	    "t:23:5: target iqn.2026-11.com.example:x: srp is changed: needs a restart\n" },
	{ "  - { address: 10.0.0.0/8 }\n", "",
	    "t:17:3: target iqn.2026-11.com.example:x: initiators is changed: needs a restart\n" },
	{ "- name: iqn.2026-11.com.example:w\n  portals: lan\n", "",
	    "t:1:1: target iqn.2026-11.com.example:w is gone: needs a restart\n" },
};

static void
what_needs_a_restart(void **state)
{
	struct conf *running = load(base), *loaded;
	char *text, *said;
	size_t size;
	unsigned n, lines;
	FILE *f;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		text = changed(refused[i].from, refused[i].to);
		loaded = load(text);
		f = open_memstream(&said, &size);
		n = conf_diff(running, loaded, f);
		fclose(f);
		assert_string_equal(said, refused[i].said);
		lines = 0;
		for (const char *p = said; (p = strchr(p, '\n')); p++)
			lines++;
		assert_int_equal(n, lines);
		conf_free(loaded);
		free(said);
		free(text);
	}
	conf_free(running);
}

/* Neither the order of things that have names, nor how a value is written. */
static const struct change nothing[] = {
	{ "memory: 1G", "memory: 1024M", "" },
	{ "- { name: lan, transport: iscsi, listen: \"127.0.0.1:1\" }\n"
	    "- { name: wan, transport: iscsi, listen: \"127.0.0.1:2\" }\n",
	    "- { name: wan, transport: iscsi, listen: \"127.0.0.1:2\" }\n"
	    "- { name: lan, transport: iscsi, listen: \"127.0.0.1:1\" }\n", "" },
	{ "{ lun: 0, disk: x }, { lun: 1, disk: y }", "{ lun: 1, disk: y }, { lun: 0, disk: x }", "" },
	{ "can_queue: 100\n", "can_queue: 100\n  hw_queues: auto\n  queue_mode: shared\n", "" },
	{ "  - { name: x, driver: ram, size: 1M, depth: 9, serial: s1 }\n"
	    "  - { name: y, driver: ram, size: 1M }\n",
	    "  - { name: y, driver: ram, size: 1M, address: \"0:1:0\" }\n"
	    "  - { name: x, driver: ram, size: 1M, depth: 9, serial: s1, address: \"0:0:0\" }\n", "" },
};

static void
what_is_no_change(void **state)
{
	struct conf *running = load(base), *loaded;
	char *text;

	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		text = changed(nothing[i].from, nothing[i].to);
		loaded = load(text);
		assert_int_equal(conf_diff(running, loaded, stderr), 0);
		conf_free(loaded);
		free(text);
	}
	conf_free(running);
}

static const struct conf_adapter *
adapter_a(const struct conf *conf)
{
	return list_first(&conf->adapters, struct conf_adapter, link);
}

static const struct conf_target *
target_x(const struct conf *conf)
{
	return list_first(&conf->targets, struct conf_target, link);
}

static void
hot_values_are_taken(void **state)
{
	static const struct {
		const char *from, *to;
		unsigned n;
	} changes[] = {
		{ "can_queue: 100\n", "can_queue: 50\n  hw_queues: 1\n  queue_mode: single\n"
		    "  target_depth: 3\n  lun_depth: 4\n  scheduler: deadline\n  max_xfer: 8K\n"
		    "  cost: length\n  latency_target: 7ms\n  max_waiters: 6\n", 10 },
		{ "depth: 9, serial: s1", "serial: s1, latency_target: 2ms", 2 },
		{ "lun: 1, disk: y", "lun: 1, disk: y, depth: 77", 1 },
		{ "depth: 8, iops: 100", "share: 9, bandwidth: 1M, burst: 2s", 5 },
	};
	struct conf *running = load(base), *loaded;
	const struct conf_adapter *a = adapter_a(running);
	const struct conf_disk *x = list_first(&a->disks, struct conf_disk, link);
	const struct conf_disk *y = list_first(&x->link, struct conf_disk, link);
	char *text;

	assert_int_equal(conf_disk_depth(x), 9);
	assert_int_equal(conf_disk_depth(y), 64);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		text = changed(changes[i].from, changes[i].to);
		loaded = load(text);
		assert_int_equal(conf_diff(running, loaded, stderr), 0);
		/* Asking changes nothing. */
		assert_int_equal(adapter_a(running)->can_queue, 100);
		assert_int_equal(conf_take(running, loaded), changes[i].n);
		conf_free(loaded);
		free(text);
		if (i == 0) {
			assert_int_equal(a->can_queue, 50);
			assert_int_equal(a->hw_queues, 1);
			assert_int_equal(a->queue_mode, QUEUE_SINGLE);
			assert_int_equal(a->target_depth, 3);
			assert_int_equal(a->lun_depth, 4);
			assert_int_equal(a->scheduler, SCHEDULER_DEADLINE);
			assert_int_equal(a->max_xfer, 8192);
			assert_int_equal(a->cost, COST_LENGTH);
			assert_int_equal(a->latency_target_ns, 7000000);
			assert_int_equal(a->max_waiters, 6);
			assert_int_equal(conf_disk_depth(x), 9);
			assert_int_equal(conf_disk_depth(y), 4);
		} else if (i == 1) {
			assert_int_equal(conf_disk_depth(x), 64);
			assert_int_equal(x->latency_target_ns, 2000000);
		} else if (i == 2) {
			assert_int_equal(conf_disk_depth(y), 77);
			assert_int_equal(target_x(running)->luns[1].depth, 77);
		} else {
			assert_int_equal(target_x(running)->rules[0].depth, 0);
			assert_int_equal(target_x(running)->rules[0].iops, 0);
			assert_int_equal(target_x(running)->rules[0].share, 9);
			assert_int_equal(target_x(running)->rules[0].bandwidth, 1 << 20);
			assert_int_equal(target_x(running)->rules[0].burst_ns, 2000000000);
			/* And what was not said any more is as by default. */
			assert_int_equal(target_x(running)->luns[1].depth, 0);
		}
		conf_free(running);
		running = load(base);
		a = adapter_a(running);
		x = list_first(&a->disks, struct conf_disk, link);
		y = list_first(&x->link, struct conf_disk, link);
	}
	conf_free(running);
}

/* A key that is parsed by a function of its own is compared by one, too: name those here. */
static void
every_custom_key_is_compared(void **state)
{
	static const char *const known[] = {
		"adapters", "portals", "auth", "targets", "disks", "address", "block_size", "name",
		"luns", "initiators", "match", "srp",
	};
	static const struct conf_key *const tables[] = {
		conf_top_keys, conf_adapter_keys, conf_disk_keys, conf_portal_keys, conf_auth_keys,
		conf_target_keys, conf_lun_keys, conf_rule_keys,
	};
	const struct conf_key *all[64];
	const struct disk_driver *d;
	const struct transport *t;
	size_t n = ARRAY_LEN(tables), k;

	memcpy(all, tables, sizeof(tables));
	for_each_registered(disk_drivers, d)
		all[n++] = d->keys;
	for_each_registered(transports, t) {
		all[n++] = t->portal_keys;
		all[n++] = t->target_keys;
	}
	assert_true(n <= ARRAY_LEN(all));
	for (size_t i = 0; i < n; i++) {
		for (const struct conf_key *key = all[i]; key && key->name; key++) {
			if (key->flags & CONF_HOT)
				assert_true(key->type <= CONF_TIME || key->type == CONF_WORD);
			if (key->type != CONF_CUSTOM)
				continue;
			for (k = 0; k < ARRAY_LEN(known) && strcmp(known[k], key->name); k++)
				continue;
			if (k == ARRAY_LEN(known))
				fail_msg("%s: conf_diff.c does not compare it", key->name);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_needs_a_restart),
		cmocka_unit_test(what_is_no_change),
		cmocka_unit_test(hot_values_are_taken),
		cmocka_unit_test(every_custom_key_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
