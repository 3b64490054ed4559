/* Files: includes, drop-ins, and what goes wrong with them. */
#include "tests/unit/conf/files.h"

#define ADAPTER(name) "adapters: [{ name: " name ", disks: [{ name: d-" name ", driver: \"null\" }] }]\n"

static void
lists_of_all_files_are_joined(void **state)
{
	const struct conf_adapter *a;
	struct conf *conf;
	char *errors;

	mkdir("sub", 0700);
	mkdir("sub/more", 0700);
	file_write("joined.yaml", "include: [sub/one.yaml, 'sub/more/*.yaml']\nmemory: 64M\n"
	    ADAPTER("a"), 0600);
	/* Relative to the including file, not to the first. */
	file_write("sub/one.yaml", ADAPTER("b") "include: two.yaml\n", 0600);
	file_write("sub/two.yaml", "reactors: 2\n" ADAPTER("c"), 0600);
	file_write("sub/more/2.yaml", ADAPTER("e"), 0600);
	file_write("sub/more/1.yaml", ADAPTER("d"), 0600);
	file_write("sub/more/0.yml", "not read\n", 0600);
	conf = files_load("joined.yaml", NULL, &errors);
	assert_string_equal(errors, "");
	assert_non_null(conf);
	assert_int_equal(conf->reactors, 2);
	assert_int_equal(conf->memory, 64 << 20);
	a = list_first(&conf->adapters, struct conf_adapter, link);
	/* In the order of reading: b and c stand before a's list. */
	for (const char *name = "bcdea"; *name; name++) {
		assert_int_equal(a->name[0], *name);
		a = list_first(&a->link, struct conf_adapter, link);
	}
	assert_ptr_equal(&a->link, &conf->adapters);
	free(errors);
	conf_free(conf);
}

static void
a_scalar_is_set_in_one_place(void **state)
{
	file_write("set.yaml", "memory: 64M\ninclude: set2.yaml\npoll: 0\n", 0600);
	file_write("set2.yaml", "memory: 64M\nreactors: 3\npoll: 1s\nadapters: []\n", 0600);
	files_say("set.yaml", NULL,
	    "set.yaml:3:1: poll is set already at set2.yaml:3:1\n"
	    "set2.yaml:1:1: memory is set already at set.yaml:1:1\n");
}

static void
errors_name_their_file_in_order(void **state)
{
	file_write("e1.yaml", "include: e2.yaml\nadapters: [{ name: a }]\ntargets: 5\npolll: 1\n", 0600);
	file_write("e2.yaml", "adapters: [{ name: a }]\npolll: 2\ntargets:\n"
	    "  - { name: iqn.2026-11.com.example:x, portals: [nowhere] }\n", 0600);
	files_say("e1.yaml", NULL,
	    "e1.yaml:2:20: adapter \"a\" is used twice, first at e2.yaml:1:20\n"
	    "e1.yaml:3:10: targets: expected a list, found \"5\"\n"
	    "e1.yaml:4:1: unknown key \"polll\" (did you mean poll?)\n"
	    "e2.yaml:2:1: unknown key \"polll\" (did you mean poll?)\n"
	    "e2.yaml:4:50: there is no portal \"nowhere\"\n");
}

static void
cycles_are_refused(void **state)
{
	file_write("self.yaml", "include: [self.yaml]\nmemory: 1G\n", 0600);
	files_say("self.yaml", NULL, "self.yaml:1:11: include: \"self.yaml\" includes itself\n");
	file_write("c1.yaml", "include: ./c2.yaml\nmemory: 1G\n", 0600);
	file_write("c2.yaml", "include: c3.yaml\n", 0600);
	file_write("c3.yaml", "include: [c1*.yaml]\n", 0600);
	files_say("c1.yaml", NULL, "./c3.yaml:1:11: include: \"./c1.yaml\" includes itself\n");
	/* Under another name it is the same file. */
	assert_int_equal(symlink("link.yaml", "again.yaml"), 0);
	file_write("link.yaml", "include: again.yaml\nmemory: 1G\n", 0600);
	files_say("link.yaml", NULL, "link.yaml:1:10: include: \"again.yaml\" includes itself\n");
	file_write("twice.yaml", "include: [part.yaml, part.yaml]\nmemory: 1G\n", 0600);
	file_write("part.yaml", "poll: 0\n", 0600);
	files_say("twice.yaml", NULL, "twice.yaml:1:22: include: \"part.yaml\" is included twice\n");
}

static void
includes_are_bounded(void **state)
{
	char name[32], text[64];

	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "deep%d.yaml", i);
		snprintf(text, sizeof(text), "include: deep%d.yaml\n", i + 1);
		file_write(name, text, 0600);
	}
	file_write("deep10.yaml", "memory: 1G\n", 0600);
	files_say("deep0.yaml", NULL,
	    "deep8.yaml:1:1: include: more than 8 files inside each other\n");
	files_say("deep2.yaml", NULL, "");
}

static void
what_is_wrong_with_includes(void **state)
{
	/* A name that is not found may be in the file that is missing: not said. */
	file_write("w.yaml", "include: [none.yaml, sub-w, [x], empty*.yaml, fifo, tab.yaml]\n"
	    "targets: [{ name: iqn.2026-11.com.example:x, portals: lan, auth: z }]\nx: 1\n", 0600);
	mkdir("sub-w", 0700);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	file_write("tab.yaml", "a:\n\tb\n", 0600);
	files_say("w.yaml", NULL, "w.yaml:1:29: include: expected a text, found a list\n"
	    "w.yaml:3:1: unknown key \"x\" (the top level takes reactors, poll, memory, control, "
	    "state_dir, metrics, include, adapters, portals, auth, targets)\n");
	file_write("w.yaml", "include: [none.yaml, sub-w, empty*.yaml, fifo, tab.yaml]\n"
	    "targets: [{ name: iqn.2026-11.com.example:x, portals: lan, auth: z }]\n", 0600);
	files_say("w.yaml", NULL,
	    "w.yaml:1:11: include: \"none.yaml\" cannot be opened: No such file or directory\n"
	    "w.yaml:1:22: include: \"sub-w\" is no regular file\n"
	    "w.yaml:1:42: include: \"fifo\" is no regular file\n"
	    "tab.yaml:2:1: found character that cannot start any token, while scanning for the "
	    "next token that began at line 2 (a tab; indent with spaces)\n");
	assert_int_equal(symlink("loop", "loop"), 0);
	file_write("w.yaml", "include: [\"loop/*.yaml\", \"no-folder/*.yaml\"]\nmemory: 1G\n", 0600);
	files_say("w.yaml", NULL,
	    "w.yaml:1:11: include: \"loop/*.yaml\": a folder cannot be read\n");
	file_write("w.yaml", "include:\nmemory: 1G\n", 0600);
	files_say("w.yaml", NULL, "w.yaml:1:9: include: expected a text, found nothing\n");
}

static void
what_is_wrong_with_the_file(void **state)
{
	files_say("none.yaml", NULL,
	    "none.yaml:1:1: the file cannot be opened: No such file or directory\n");
	mkdir("folder", 0700);
	files_say("folder", NULL, "folder:1:1: the file cannot be read: Is a directory\n");
	file_write("null.yaml", "# nothing\n", 0600);
	files_say("null.yaml", NULL,
	    "null.yaml:1:1: nothing is configured: there is no key in the file\n");
	file_write("list.yaml", "- a\n", 0600);
	files_say("list.yaml", NULL, "list.yaml:1:1: the file: expected a map, found a list\n"
	    "list.yaml:1:1: nothing is configured: there is no key in the file\n");
}

static void
sixteen_mebibytes_and_no_more(void **state)
{
	FILE *f = fopen("big.yaml", "w");
	char line[1024];

	assert_non_null(f);
	memset(line, '#', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	fputs("memory: 1G\n#", f);
	for (int i = 12; i < CONF_FILE_MAX; i += sizeof(line))
		fwrite(line, 1, MIN((int)sizeof(line), CONF_FILE_MAX - i), f);
	fclose(f);
	files_say("big.yaml", NULL, "");
	f = fopen("big.yaml", "a");
	fputc('#', f);
	fclose(f);
	files_say("big.yaml", NULL, "big.yaml:1:1: the file is larger than 16 MiB\n");
	unlink("big.yaml");
}

static void
dropins_follow_in_order(void **state)
{
	const struct conf_adapter *a;
	struct conf *conf;
	char *errors;

	mkdir("conf.d", 0700);
	file_write("main.yaml", "memory: 64M\ninclude: conf.d/20-x.yaml\n", 0600);
	file_write("conf.d/20-x.yaml", ADAPTER("x"), 0600);
	file_write("conf.d/10-y.yaml", ADAPTER("y"), 0600);
	file_write("conf.d/30-empty.yaml", "# nothing yet\n", 0600);
	/* What is included already is not read again. */
	conf = files_load("main.yaml", "conf.d/*.yaml", &errors);
	assert_string_equal(errors, "");
	assert_non_null(conf);
	a = list_first(&conf->adapters, struct conf_adapter, link);
	assert_string_equal(a->name, "x");
	a = list_first(&a->link, struct conf_adapter, link);
	assert_string_equal(a->name, "y");
	free(errors);
	conf_free(conf);
	file_write("conf.d/40-bad.yaml", "memory: 1G\nx: [\n", 0600);
	files_say("main.yaml", "conf.d/*.yaml", "conf.d/40-bad.yaml:3:1: did not find expected node "
	    "content, while parsing a flow node that began at line 3\n");
	/* Without the first file the drop-ins are looked at, too. */
	file_write("conf.d/40-bad.yaml", "x: 1\n", 0600);
	files_say("none.yaml", "conf.d/*.yaml",
	    "none.yaml:1:1: the file cannot be opened: No such file or directory\n"
	    "conf.d/40-bad.yaml:1:1: unknown key \"x\" (the top level takes reactors, poll, memory, "
	    "control, state_dir, metrics, include, adapters, portals, auth, targets)\n");
}

static void
a_pattern_in_a_folders_name(void **state)
{
	mkdir("odd[x]*", 0700);
	file_write("odd[x]*/a.yaml", "include: 'b*.yaml'\nmemory: 1G\n", 0600);
	file_write("odd[x]*/b1.yaml", "memory: 2G\n", 0600);
	files_say("odd[x]*/a.yaml", NULL,
	    "odd[x]*/a.yaml:2:1: memory is set already at odd[x]*/b1.yaml:1:1\n");
}

static void
memory_reads_no_files(void **state)
{
	static const struct said v[] = {
		{ "include: conf.yaml\nmemory: 1G\n", "t:1:1: include: files are not read here\n" },
		{ "auth: [{ name: a, user: b, secret_file: c }]\n",
		    "t:1:41: secret_file: files are not read here\n" },
	};

	check_said(v, ARRAY_LEN(v));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_all_files_are_joined),
		cmocka_unit_test(a_scalar_is_set_in_one_place),
		cmocka_unit_test(errors_name_their_file_in_order),
		cmocka_unit_test(cycles_are_refused),
		cmocka_unit_test(includes_are_bounded),
		cmocka_unit_test(what_is_wrong_with_includes),
		cmocka_unit_test(what_is_wrong_with_the_file),
		cmocka_unit_test(sixteen_mebibytes_and_no_more),
		cmocka_unit_test(dropins_follow_in_order),
		cmocka_unit_test(a_pattern_in_a_folders_name),
		cmocka_unit_test(memory_reads_no_files),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
