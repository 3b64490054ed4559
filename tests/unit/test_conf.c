/* The configuration as a whole: the example of the design, the files that are shipped, many errors, rubbish. */
#include "tests/unit/conf/files.h"

#include "disk.h"
#include "transport.h"
#include "transport/iscsi/params.h"

static char top[4096];			/* the source tree */

/* The tests run anywhere; their program lies somewhere below the source tree. */
static int
top_find(void)
{
	char path[sizeof(top) + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", top, sizeof(top) - 1);

	if (!access("etc/sluice.yaml", R_OK))
		return getcwd(top, sizeof(top)) ? 0 : -1;
	for (top[n < 0 ? 0 : n] = '\0'; (slash = strrchr(top, '/')); ) {
		*slash = '\0';
		snprintf(path, sizeof(path), "%s/etc/sluice.yaml", top);
		if (!access(path, R_OK))
			return 0;
	}
	return -1;
}

static char *
file_text(const char *name)
{
	char path[sizeof(top) + 64], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static int
begin(void **state)
{
	if (top_find() || files_begin(state))
		return -1;
	file_write("lab.secret", "twelve bytes or more\n", 0600);
	file_write("lab-mutual.secret", "twelve other bytes\n", 0600);
	return 0;
}

/* Loads a text as a file, and what is said about it. */
static struct conf *
load(const char *text, char **errors)
{
	file_write("conf.yaml", text, 0600);
	return files_load("conf.yaml", NULL, errors);
}

/* -- the design's example -- */

static void
what_is_not_built_is_said(void **state)
{
	char *text = file_text("tests/unit/conf/design.yaml"), *at, *errors;

	/* The secret, and nothing else, is a matter of this machine. */
	at = strstr(text, "/etc/sluice/lab.secret");
	assert_non_null(at);
	memcpy(at, "            lab.secret", strlen("/etc/sluice/lab.secret"));
	assert_null(load(text, &errors));
	assert_string_equal(errors,
	    "conf.yaml:5:1: metrics is not supported yet\n"
	    "conf.yaml:18:32: driver sg is not supported yet\n"
	    "conf.yaml:19:32: driver iscsi is not supported yet\n"
	    "conf.yaml:29:31: max_connections: 4 is not supported yet\n"
	    "conf.yaml:29:56: error_recovery_level: 2 is not supported yet\n");
	free(errors);
	free(text);
}

static void
check_adapters(const struct conf *conf)
{
	const struct conf_adapter *a = list_first(&conf->adapters, struct conf_adapter, link);
	const struct conf_disk *d = list_first(&a->disks, struct conf_disk, link);

	assert_string_equal(a->name, "p408e");
	assert_int_equal(a->can_queue, 1014);
	assert_int_equal(a->hw_queues, 0);
	assert_int_equal(a->queue_mode, QUEUE_SHARED);
	assert_int_equal(a->scheduler, SCHEDULER_NONE);
	assert_int_equal(a->target_depth, 256);
	assert_int_equal(a->lun_depth, 64);
	assert_int_equal(a->max_waiters, 1024);
	assert_false(a->coalesce);
	assert_int_equal(a->max_xfer, 1 << 20);
	assert_int_equal(a->cost, COST_COMMAND);
	assert_int_equal(a->latency_target_ns, 0);
	assert_int_equal(a->pos.line, 7);
	assert_int_equal(a->pos.column, 5);
	assert_string_equal(a->pos.file, "conf.yaml");

	assert_string_equal(d->name, "sdd");
	assert_string_equal(d->driver->name, "file");
	assert_non_null(d->opts);
	assert_ptr_equal(d->adapter, a);
	assert_int_equal(d->depth, 32);
	assert_int_equal(d->block_size, 512);
	assert_false(d->read_only);
	assert_null(d->serial);
	assert_int_equal(d->channel | d->id | d->lun, 0);
	d = list_first(&d->link, struct conf_disk, link);
	assert_string_equal(d->name, "fast");
	assert_string_equal(d->driver->name, "ram");
	assert_int_equal(d->depth, 0);
	assert_int_equal(d->id, 1);
	d = list_first(&d->link, struct conf_disk, link);
	assert_string_equal(d->driver->name, "null");
	assert_int_equal(d->id, 2);
	assert_ptr_equal(d->link.next, &a->disks);

	a = list_first(&a->link, struct conf_adapter, link);
	assert_int_equal(a->can_queue, 32);
	assert_int_equal(a->max_waiters, 7);
	assert_int_equal(a->hw_queues, 2);
	assert_int_equal(a->queue_mode, QUEUE_DIVIDED);
	assert_int_equal(a->scheduler, SCHEDULER_DEADLINE);
	assert_true(a->coalesce);
	assert_int_equal(a->max_xfer, 65536);
	assert_int_equal(a->cost, COST_LENGTH);
	assert_int_equal(a->latency_target_ns, 5000000);
	d = list_first(&a->disks, struct conf_disk, link);
	assert_int_equal(d->block_size, 4096);
	assert_true(d->read_only);
	assert_string_equal(d->serial, "S-1");
	assert_int_equal(d->latency_target_ns, 3000000);
	assert_int_equal(d->id, 0);
	d = list_first(&d->link, struct conf_disk, link);
	assert_int_equal(d->channel, 1);
	assert_int_equal(d->id, 65535);
	assert_int_equal(d->lun, 16383);
}

static void
check_portals(const struct conf *conf)
{
	const struct conf_portal *p = list_first(&conf->portals, struct conf_portal, link);
	char text[64];

	assert_string_equal(p->name, "lan");
	assert_ptr_equal(p->transport, transport_find("iscsi"));
	assert_int_equal(p->group, 1);
	assert_int_equal(p->listen.n, 2);
	assert_string_equal(p->listen.v[1], "[::]:3260");
	assert_int_equal(p->naddrs, 2);
	assert_string_equal(sockaddr_text((struct sockaddr *)&p->addrs[0], text, sizeof(text)),
	    "0.0.0.0:3260");
	assert_string_equal(sockaddr_text((struct sockaddr *)&p->addrs[1], text, sizeof(text)),
	    "[::]:3260");
	p = list_first(&p->link, struct conf_portal, link);
	assert_int_equal(p->group, 65535);
	assert_int_equal(p->listen.n, 1);
	assert_int_equal(p->naddrs, 2);
	assert_string_equal(sockaddr_text((struct sockaddr *)&p->addrs[0], text, sizeof(text)),
	    "0.0.0.0:3261");
	assert_string_equal(sockaddr_text((struct sockaddr *)&p->addrs[1], text, sizeof(text)),
	    "[::]:3261");
}

static void
check_auths(const struct conf *conf)
{
	const struct conf_auth *a = list_first(&conf->auths, struct conf_auth, link);

	assert_string_equal(a->name, "lab");
	assert_string_equal(a->user, "host1");
	assert_string_equal(a->secret, "twelve bytes or more");
	assert_null(a->mutual_user);
	assert_null(a->mutual_secret);
	assert_int_equal(a->algorithms.n, 4);
	assert_int_equal(a->algorithms.v[0], CHAP_SHA3_256);
	assert_int_equal(a->algorithms.v[3], CHAP_MD5);
	a = list_first(&a->link, struct conf_auth, link);
	assert_string_equal(a->secret, "0123456789ab");
	assert_string_equal(a->mutual_user, "us");
	assert_string_equal(a->mutual_secret, "ba9876543210");
	assert_int_equal(a->algorithms.n, 2);
	assert_int_equal(a->algorithms.v[0], CHAP_MD5);
	assert_int_equal(a->algorithms.v[1], CHAP_SHA1);
}

static void
check_rules_of(const struct conf_target *t)
{
	char text[64];

	assert_int_equal(t->nrules, 3);
	assert_string_equal(t->rules[0].match, "iqn.1994-05.com.redhat:*");
	assert_false(t->rules[0].has_address);
	assert_int_equal(t->rules[0].luns.n, 2);
	assert_int_equal(t->rules[0].luns.v[0], 16383);
	assert_int_equal(t->rules[0].depth, 64);
	assert_int_equal(t->rules[0].share, 2);
	assert_int_equal(t->rules[0].iops, 5000);
	assert_int_equal(t->rules[0].bandwidth, 64 << 20);
	assert_int_equal(t->rules[0].burst_ns, 250000000);
	assert_int_equal(t->rules[1].iops, 0);
	assert_int_equal(t->rules[1].bandwidth, 0);
	assert_false(t->rules[0].read_only);
	assert_null(t->rules[1].match);
	assert_true(t->rules[1].has_address);
	assert_int_equal(t->rules[1].prefix, 8);
	assert_int_equal(t->rules[1].luns.n, 0);
	assert_true(t->rules[1].read_only);
	assert_int_equal(t->rules[1].depth, 0);
	assert_int_equal(t->rules[1].share, 1);
	assert_int_equal(t->rules[2].address.ss_family, AF_INET);
	assert_int_equal(t->rules[2].prefix, 16);
	assert_string_equal(sockaddr_text((struct sockaddr *)&t->rules[2].address, text,
	    sizeof(text)), "192.168.0.0:0");
}

static void
check_targets(const struct conf *conf)
{
	const struct conf_target *t = list_first(&conf->targets, struct conf_target, link);
	unsigned at = transport_index(transport_find("iscsi"));
	const struct iscsi_target_conf *i = t->opts[at];

	assert_string_equal(t->name, "iqn.2026-11.com.example:store");
	assert_string_equal(t->alias, "the store");
	assert_int_equal(t->nportals, 2);
	assert_string_equal(t->portals[0]->name, "both");
	assert_string_equal(t->portals[1]->name, "lan");
	assert_string_equal(t->auth->name, "lab");
	assert_int_equal(i->max_connections, 1);
	assert_false(i->initial_r2t);
	assert_true(i->immediate_data);
	assert_int_equal(i->header_digest.n, 2);
	assert_int_equal(i->data_digest.n, 1);
	assert_int_equal(i->data_digest.v[0], ISCSI_DIGEST_CRC32C);
	assert_int_equal(i->first_burst, 256 * 1024);
	assert_int_equal(i->max_burst, 1024 * 1024);

	/* By number, not as written. */
	assert_int_equal(t->nluns, 3);
	assert_int_equal(t->luns[0].lun, 0);
	assert_string_equal(t->luns[0].disk->name, "sdd");
	assert_int_equal(t->luns[0].depth, 0);
	assert_int_equal(t->luns[1].lun, 1);
	assert_string_equal(t->luns[1].disk->name, "fast");
	assert_int_equal(t->luns[1].depth, 128);
	assert_false(t->luns[1].read_only);
	assert_int_equal(t->luns[2].lun, 16383);
	assert_string_equal(t->luns[2].disk->name, "far");
	assert_true(t->luns[2].read_only);
	check_rules_of(t);

	t = list_first(&t->link, struct conf_target, link);
	i = t->opts[at];
	assert_string_equal(t->name, "eui.0123456789abcdef");
	assert_null(t->alias);
	assert_null(t->auth);
	assert_int_equal(t->nportals, 1);
	assert_int_equal(t->nluns, 0);
	assert_int_equal(t->nrules, 0);
	assert_int_equal(i->data_digest.n, 2);
	assert_true(i->immediate_data);
	assert_ptr_equal(t->link.next, &conf->targets);
}

static void
every_value_is_where_it_belongs(void **state)
{
	char *text = file_text("tests/unit/conf/supported.yaml"), *errors;
	struct conf *conf = load(text, &errors);

	assert_string_equal(errors, "");
	assert_non_null(conf);
	assert_int_equal(conf->reactors, 0);
	assert_int_equal(conf->poll_ns, 50000);
	assert_int_equal(conf->memory, 1 << 30);
	assert_string_equal(conf->control, "/run/sluice/control.sock");
	assert_string_equal(conf->state_dir, "/var/lib/sluice");
	check_adapters(conf);
	check_portals(conf);
	check_auths(conf);
	check_targets(conf);
	conf_free(conf);
	free(errors);
	free(text);
}

/* -- what is shipped -- */

static void
shipped_files_are_right(void **state)
{
	static const char *const files[] = { "etc/sluice.yaml", "etc/demo.yaml" };
	struct conf *conf;
	char *text, *errors;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		text = file_text(files[i]);
		conf = load(text, &errors);
		assert_string_equal(errors, "");
		assert_non_null(conf);
		assert_false(list_empty(&conf->targets));
		conf_free(conf);
		free(errors);
		free(text);
	}
}

/* A # with a key right behind it, or an indented one; a remark has one blank. */
static void
uncomment(char *text)
{
	char *line = strstr(text, "\n\n"), *hash;

	for (; line && line[1]; line = strchr(line + 1, '\n')) {
		hash = line + 1 + strspn(line + 1, " ");
		if (*hash == '#' && !(hash[1] == ' ' && hash[2] != ' ') && hash[1] != '\n') {
			memmove(line + 2, line + 1, hash - line - 1);
			line[1] = '#';
			memmove(line + 1, line + 2, strlen(line + 2) + 1);
		}
	}
}

static void
shipped_remarks_are_right(void **state)
{
	char *text = file_text("etc/sluice.yaml"), *errors;
	const struct conf_target *t;
	struct conf *conf;

	uncomment(text);
	conf = load(text, &errors);
	assert_string_equal(errors, "");
	assert_non_null(conf);
	t = list_first(&conf->targets, struct conf_target, link);
	assert_int_equal(t->nrules, 1);
	assert_non_null(t->alias);
	conf_free(conf);
	free(errors);
	free(text);
}

static void
rows_are_in(const char *text, const struct conf_key *k)
{
	char line[128];

	for (; k && k->name; k++) {
		if (k->flags & CONF_LATER && strcmp(k->name, "include") != 0)
			continue;
		snprintf(line, sizeof(line), "%s:", k->name);
		if (!strstr(text, line))
			fail_msg("%s is not explained", k->name);
	}
}

static void
every_key_is_explained(void **state)
{
	static const struct conf_key *const tables[] = {
		conf_top_keys, conf_adapter_keys, conf_disk_keys, conf_portal_keys, conf_auth_keys,
		conf_target_keys, conf_lun_keys, conf_rule_keys,
	};
	char *text = file_text("etc/sluice.yaml");
	const struct disk_driver *d;
	const struct transport *t;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		rows_are_in(text, tables[i]);
	for_each_registered(disk_drivers, d)
		rows_are_in(text, d->keys);
	for_each_registered(transports, t) {
		rows_are_in(text, t->portal_keys);
		rows_are_in(text, t->target_keys);
	}
	free(text);
}

/* A fallback that does not parse aborts in conf_map.c: every table is filled from nothing. */
static void
every_fallback_parses(void **state)
{
	static const struct conf_key *const tables[] = {
		conf_adapter_keys, conf_disk_keys, conf_portal_keys, conf_auth_keys,
		conf_target_keys, conf_lun_keys, conf_rule_keys,
	};
	static uint64_t room[512];
	const struct disk_driver *d;
	const struct transport *t;
	struct conf_load l;
	char *errors;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		check_rows(&l, tables[i], room, "", &errors);
		check_rows_end(&l, errors);
	}
	for_each_registered(disk_drivers, d) {
		assert_in_range(d->conf_size, 0, sizeof(room));
		check_rows(&l, d->keys, room, "", &errors);
		check_rows_end(&l, errors);
	}
	for_each_registered(transports, t) {
		assert_in_range(t->target_conf_size, 0, sizeof(room));
		check_rows(&l, t->portal_keys, room, "", &errors);
		check_rows_end(&l, errors);
		check_rows(&l, t->target_keys, room, "", &errors);
		check_rows_end(&l, errors);
	}
}

/* -- many errors, and rubbish -- */

static void
three_hundred_errors(void **state)
{
	char *text, *errors, *line, want[64];
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int i, n = 0;

	/* The last lists come first, and what is found late is not printed late. */
	fputs("targets:\n", f);
	for (i = 0; i < 100; i++)
		fprintf(f, "- { name: \"iqn.2026-11.com.example:%d\", portals: nowhere }\n", i);
	fputs("adapters:\n", f);
	for (i = 0; i < 100; i++)
		fprintf(f, "- { name: a%d, can_queue: none }\n", i);
	for (i = 0; i < 100; i++)
		fprintf(f, "key%d: 1\n", i);
	fclose(f);
	assert_null(load(text, &errors));
	for (line = errors; *line; line = strchr(line, '\n') + 1, n++) {
		snprintf(want, sizeof(want), "conf.yaml:%d:", n < 100 ? n + 2 : n + 3);
		assert_memory_equal(line, want, strlen(want));
	}
	assert_int_equal(n, 300);
	free(errors);
	free(text);
}

static void
rubbish_is_refused(void **state)
{
	static const char *const rubbish[] = {
		"", "\n", "#\n", "---\n", "...", "~", "null", "5", "text", "[]", "[[[", "{", "}", "- ",
		"adapters", "adapters:\n  x", "\t", "\xff\xfe", "\xef\xbb\xbf", "\xfe\xff\0a", "%YAML 9.9\n---\na: 1",
		"a: 1\n---\nb: 1\n", "{}", "? [a]\n: b\n", "? {a: b}\n: c\n", "{a: {b: {c: {d: }}}}",
		"*a", "&a b", "!!map {}", "%%%", "'", "\"", "\"\\x", "|\n a\n", "<<: {}", ": b", "\"\": b",
		"adapters: [[], {}, 5, null, [{}]]", "targets: {}", "portals: 5", "auth: x",
		"adapters: [{disks: [[], 5, {disks: []}]}]", "targets: [{luns: {}, initiators: 3}]",
	};
	char *errors, junk[512];
	unsigned seed = 1;

	for (size_t i = 0; i < ARRAY_LEN(rubbish); i++) {
		assert_null(check_load(rubbish[i], strlen(rubbish[i]), &errors));
		assert_memory_equal(errors, "t:", 2);
		free(errors);
	}
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof(junk); k++)
			junk[k] = i % 2 ? "{}[]:-,\n #&*!|>'\"%@`ab0"[rand_r(&seed) % 23] : (char)rand_r(&seed);
		assert_null(check_load(junk, rand_r(&seed) % sizeof(junk), &errors));
		assert_memory_equal(errors, "t:", 2);
		free(errors);
	}
}

static void
without_a_stream_nothing_is_printed(void **state)
{
	struct conf *conf = (void *)1;

	assert_int_equal(conf_load_text("t", "x: 1", 4, &conf, NULL), -EINVAL);
	assert_null(conf);
	conf_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_built_is_said),
		cmocka_unit_test(every_value_is_where_it_belongs),
		cmocka_unit_test(shipped_files_are_right),
		cmocka_unit_test(shipped_remarks_are_right),
		cmocka_unit_test(every_key_is_explained),
		cmocka_unit_test(every_fallback_parses),
		cmocka_unit_test(three_hundred_errors),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(without_a_stream_nothing_is_printed),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
