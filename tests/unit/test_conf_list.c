/* Lists of words, texts and numbers. */
#include "tests/unit/conf/check.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

struct all {
	struct conf_words words;
	struct conf_texts texts;
	struct conf_uints uints;
};

#define AT(f) .offset = offsetof(struct all, f)
static const struct conf_key keys[] = {
	{ .name = "w", .type = CONF_WORDS, .words = colours, .later = 1 << 2, AT(words),
	    .fallback = "[green, red]" },
	{ .name = "t", .type = CONF_TEXTS, AT(texts), .fallback = "alone" },
	{ .name = "u", .type = CONF_UINTS, .max = 9, AT(uints), .fallback = "3, 4" },
	{ .name = NULL }
};

static void
lists_keep_their_order(void **state)
{
	struct conf_load l;
	struct all all;
	char *errors;

	check_rows(&l, keys, &all, "w: [green, red]\nt: [a, b c, \"\\\"\"]\nu:\n- 9\n- 0\n- 9\n",
	    &errors);
	assert_string_equal(errors, "");
	assert_int_equal(all.words.n, 2);
	assert_int_equal(all.words.v[0], 1);
	assert_int_equal(all.words.v[1], 0);
	assert_int_equal(all.texts.n, 3);
	assert_string_equal(all.texts.v[1], "b c");
	assert_string_equal(all.texts.v[2], "\"");
	assert_int_equal(all.texts.pos[1].line, 2);
	assert_int_equal(all.texts.pos[1].column, 8);
	assert_int_equal(all.uints.n, 3);
	assert_int_equal(all.uints.v[0], 9);
	assert_int_equal(all.uints.v[1], 0);
	assert_int_equal(all.uints.pos[2].line, 6);
	assert_int_equal(all.uints.pos[2].column, 3);
	check_rows_end(&l, errors);
}

static void
one_needs_no_brackets(void **state)
{
	struct conf_load l;
	struct all all;
	char *errors;

	/* The keys behind it are no items of it. */
	check_rows(&l, keys, &all, "w: red\nu: 5\nt: only\n", &errors);
	assert_string_equal(errors, "");
	assert_int_equal(all.words.n, 1);
	assert_int_equal(all.words.v[0], 0);
	assert_int_equal(all.texts.n, 1);
	assert_string_equal(all.texts.v[0], "only");
	assert_int_equal(all.uints.n, 1);
	assert_int_equal(all.uints.v[0], 5);
	check_rows_end(&l, errors);
}

static void
absent_lists_have_fallbacks(void **state)
{
	struct conf_load l;
	struct all all;
	char *errors;

	check_rows(&l, keys, &all, "", &errors);
	assert_string_equal(errors, "");
	assert_int_equal(all.words.n, 2);
	assert_int_equal(all.words.v[0], 1);
	assert_int_equal(all.texts.n, 1);
	assert_string_equal(all.texts.v[0], "alone");
	assert_int_equal(all.uints.n, 2);
	assert_int_equal(all.uints.v[1], 4);
	check_rows_end(&l, errors);
}

static const struct said wrong[] = {
	{ "w: []", "t:1:4: w: the list is empty\n" },
	{ "t: []", "t:1:4: t: the list is empty\n" },
	{ "u: []", "t:1:4: u: the list is empty\n" },
	{ "w: {red: green}", "t:1:4: w: expected one of red, green, blue, found a map\n" },
	{ "t: {a: b}", "t:1:4: t: expected a text, found a map\n" },
	{ "t:", "t:1:3: t: expected a text, found nothing\n" },
	{ "w: [red, green, red]", "t:1:17: w: red is here twice\n" },
	{ "w: [blue, pink, gren]", "t:1:5: w: blue is not supported yet\n"
	    "t:1:11: w: expected one of red, green, blue, found \"pink\"\n"
	    "t:1:17: w: expected one of red, green, blue, found \"gren\" (did you mean green?)\n" },
	{ "t: [[a], {}, , b]", "t:1:14: did not find expected node content, "
	    "while parsing a flow node that began at line 1\n" },
	{ "t: [[a], {}, null, \"\"]", "t:1:5: t: expected a text, found a list\n"
	    "t:1:10: t: expected a text, found a map\n"
	    "t:1:14: t: expected a text, found null (in quotes it is a text)\n"
	    "t:1:20: t: expected 1 to 4095 bytes of text, found 0\n" },
	{ "u: [10, x, -1, \"1\"]", "t:1:5: u: expected a number from 0 to 9, found \"10\"\n"
	    "t:1:9: u: expected a number from 0 to 9, found \"x\"\n"
	    "t:1:12: u: expected a number from 0 to 9, found \"-1\"\n"
	    "t:1:16: u: expected a number from 0 to 9, found the text \"1\"\n" },
};

static void
every_wrong_item_is_said(void **state)
{
	struct conf_load l;
	struct all all;
	char *errors;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		check_rows(&l, keys, &all, wrong[i].text, &errors);
		assert_string_equal(errors, wrong[i].errors);
		check_rows_end(&l, errors);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(one_needs_no_brackets),
		cmocka_unit_test(absent_lists_have_fallbacks),
		cmocka_unit_test(every_wrong_item_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
