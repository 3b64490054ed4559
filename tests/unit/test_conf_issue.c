/* Messages: order, limits, and guesses at what was meant. */
#include "tests/unit/conf/check.h"

static char *
printed(struct conf_load *l)
{
	char *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	conf_issues_print(l, f);
	fclose(f);
	return out;
}

static void
in_file_order(void **state)
{
	struct conf_file b = { .name = "b", .seq = 1 }, a = { .name = "a", .seq = 0, .next = &b };
	struct conf_load l;
	char *out;

	assert_int_equal(conf_begin(&l), 0);
	l.files = &a;
	conf_error(&l, (struct conf_pos){ b.name, 1, 1 }, "six");
	conf_error(&l, (struct conf_pos){ a.name, 10, 1 }, "four");
	conf_error(&l, (struct conf_pos){ a.name, 2, 10 }, "three");
	conf_warning(&l, (struct conf_pos){ a.name, 2, 9 }, "one");
	conf_error(&l, (struct conf_pos){ a.name, 2, 9 }, "two");
	conf_error(&l, (struct conf_pos){ a.name, 10, 1 }, "five");
	out = printed(&l);
	assert_string_equal(out, "a:2:9: warning: one\na:2:9: two\na:2:10: three\na:10:1: four\n"
	    "a:10:1: five\nb:1:1: six\n");
	assert_int_equal(l.nerrors, 5);
	check_rows_end(&l, out);
}

static void
rubbish_does_not_fill_the_memory(void **state)
{
	struct conf_load l;
	char *out, *line;
	int n = 0;

	assert_int_equal(conf_begin(&l), 0);
	for (int i = 0; i < CONF_ISSUES_MAX + 5; i++)
		conf_error(&l, (struct conf_pos){ "f", i, 1 }, "wrong");
	out = printed(&l);
	for (line = out; *line; line = strchr(line, '\n') + 1)
		n++;
	assert_int_equal(n, CONF_ISSUES_MAX + 1);
	assert_non_null(strstr(out, "\n10005 errors in all; only the first 10000 found are shown\n"));
	check_rows_end(&l, out);
}

/* Keys come from a file, messages go to a terminal. */
static void
what_is_quoted_is_printable(void **state)
{
	static const struct said v[] = {
		{ "\"\\e[31mred\": 1", "t:1:1: unknown key \"\\x1b[31mred\" (the top level takes reactors, "
		    "poll, memory, control, state_dir, metrics, include, adapters, portals, auth, "
		    "targets)\n" },
	};
	char quoted[256], many[1000];

	check_said(v, ARRAY_LEN(v));
	memset(many, '\n', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	conf_quote(many, quoted, sizeof(quoted));
	assert_true(strlen(quoted) < 200);
	assert_null(strchr(quoted, '\n'));
	assert_non_null(strstr(quoted, "\"..."));
}

static const struct {
	const char *text, *near;
} guesses[] = {
	{ "can_queue", "can_queue" }, { "canqueue", "can_queue" }, { "cna_queue", "can_queue" },
	{ "can_que", "can_queue" }, { "lun_dept", "lun_depth" }, { "nmae", "name" }, { "names", "name" },
	{ "Name", "name" }, { "nam", "name" }, { "xyzzy", NULL }, { "nuns", NULL }, { "sha512", NULL }, { "", NULL }, { "n", NULL },
	{ "can_queue_that_is_longer_than_any_key_has_ever_been", NULL },
};

static void
what_may_have_been_meant(void **state)
{
	static const char *const words[] = { "name", "can_queue", "lun_depth", "sha1",
		"a_word_of_more_than_forty_letters_is_skipped_here" };

	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		const char *near = conf_nearest(guesses[i].text, words, ARRAY_LEN(words));

		if (guesses[i].near)
			assert_string_equal(near, guesses[i].near);
		else
			assert_null(near);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_file_order),
		cmocka_unit_test(rubbish_does_not_fill_the_memory),
		cmocka_unit_test(what_is_quoted_is_printable),
		cmocka_unit_test(what_may_have_been_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
