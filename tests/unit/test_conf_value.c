/* One value: what each kind of row takes, and what it says about everything else. */
#include "tests/unit/conf/check.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

struct all {
	bool b;
	uint32_t u, a, w, later, high;
	uint64_t s, t;
	char *text, *shorty;
	int word;
};

#define AT(f) .offset = offsetof(struct all, f)
static const struct conf_key keys[] = {
	{ .name = "b", .type = CONF_BOOL, AT(b) },
	{ .name = "u", .type = CONF_UINT, .min = 1, .max = 100, AT(u) },
	{ .name = "high", .type = CONF_UINT, AT(high) },
	{ .name = "later", .type = CONF_UINT, .flags = CONF_MORE_LATER, .later = 2, .max = 9,
	    AT(later) },
	{ .name = "a", .type = CONF_UINT_AUTO, .min = 1, .max = 64, AT(a) },
	{ .name = "s", .type = CONF_SIZE, AT(s) },
	{ .name = "s2", .type = CONF_SIZE, .min = 1 << 20, .max = 1ull << 40, AT(s) },
	{ .name = "t", .type = CONF_TIME, AT(t) },
	{ .name = "t2", .type = CONF_TIME, .min = 1000, .max = 60000000000, AT(t) },
	{ .name = "text", .type = CONF_TEXT, AT(text) },
	{ .name = "shorty", .type = CONF_TEXT, .min = 2, .max = 4, AT(shorty) },
	{ .name = "word", .type = CONF_WORD, .words = colours, .later = 1 << 2, AT(word) },
	{ .name = "soon", .type = CONF_TEXT, .flags = CONF_LATER },
	{ .name = NULL }
};

static const struct {
	const char *text;
	uint64_t value;
} numbers[] = {
	{ "s: 0", 0 }, { "s: 1", 1 }, { "s: 512", 512 }, { "s: 64K", 65536 }, { "s: 3M", 3 << 20 },
	{ "s: 4G", 4ull << 30 }, { "s: 1T", 1ull << 40 }, { "s: \"1G\"", 1 << 30 },
	{ "s: 16777215T", 16777215ull << 40 }, { "s: 18446744073709551615", UINT64_MAX },
	{ "s2: 1M", 1 << 20 }, { "s2: 1T", 1ull << 40 }, { "s: 0K", 0 },
	{ "t: 0", 0 }, { "t: 50us", 50000 }, { "t: 10ms", 10000000 }, { "t: 5s", 5000000000 },
	{ "t: 2m", 120000000000 }, { "t: 0s", 0 }, { "t2: 1us", 1000 }, { "t2: 1m", 60000000000 },
};

static void
sizes_and_times_have_units(void **state)
{
	struct conf_load l;
	struct all all;
	char *errors;

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		memset(&all, 0, sizeof(all));
		check_rows(&l, keys, &all, numbers[i].text, &errors);
		assert_string_equal(errors, "");
		assert_int_equal(numbers[i].text[0] == 's' ? all.s : all.t, numbers[i].value);
		check_rows_end(&l, errors);
	}
}

static void
everything_else_is_read(void **state)
{
	static const char *const yes[] = { "yes", "true", "on", "Yes", "TRUE", "On" };
	static const char *const no[] = { "no", "false", "off", "No", "FALSE", "Off" };
	struct conf_load l;
	struct all all;
	char *errors, text[64];

	for (size_t i = 0; i < 2 * ARRAY_LEN(yes); i++) {
		bool want = i < ARRAY_LEN(yes);

		memset(&all, 0, sizeof(all));
		all.b = !want;
		snprintf(text, sizeof(text), "b: %s", want ? yes[i] : no[i - ARRAY_LEN(yes)]);
		check_rows(&l, keys, &all, text, &errors);
		assert_string_equal(errors, "");
		assert_int_equal(all.b, want);
		check_rows_end(&l, errors);
	}
	memset(&all, 0xff, sizeof(all));
	check_rows(&l, keys, &all, "u: 100\na: auto\nhigh: 4294967295\nlater: 2\n"
	    "text: 'it''s: a # text'\nshorty: \"\\u00e9\\u00e9\"\nword: green\n", &errors);
	assert_string_equal(errors, "");
	assert_int_equal(all.u, 100);
	assert_int_equal(all.a, 0);
	assert_int_equal(all.high, UINT32_MAX);
	assert_int_equal(all.later, 2);
	assert_string_equal(all.text, "it's: a # text");
	assert_string_equal(all.shorty, "\xc3\xa9\xc3\xa9");
	assert_int_equal(all.word, 1);
	check_rows_end(&l, errors);

	/* Plain text is taken as it is written, whatever other readers see in it. */
	check_rows(&l, keys, &all, "a: 64\ntext: 0123\nshorty: yes\n", &errors);
	assert_string_equal(errors, "");
	assert_int_equal(all.a, 64);
	assert_string_equal(all.text, "0123");
	assert_string_equal(all.shorty, "yes");
	check_rows_end(&l, errors);
}

#define YES(found) "t:1:4: b: expected yes or no, found " found "\n"
#define U(found) "t:1:4: u: expected a number from 1 to 100, found " found "\n"
#define A(found) "t:1:4: a: expected auto or a number from 1 to 64, found " found "\n"
#define S(found) "t:1:4: s: expected a size such as 512, 64K, 10M, 4G or 1T, found " found "\n"
#define T(found) "t:1:4: t: expected a time such as 50us, 10ms, 5s, 2m or 0, found " found "\n"
#define BIG(key, found) "t:1:4: " key ": " found " is more than 64 bits hold\n"

static const struct said wrong[] = {
	{ "b: maybe", YES("\"maybe\"") },
	{ "b: 1", YES("\"1\"") },
	{ "b: \"yes\"", YES("the text \"yes\"") },
	{ "b: [yes]", YES("a list") },
	{ "b: {}", YES("a map") },
	{ "b:", "t:1:3: b: expected yes or no, found nothing\n" },
	{ "b: ~", YES("null (in quotes it is a text)") },
	{ "b: \"\"", YES("the text \"\"") },

	{ "u: 0", U("\"0\"") },
	{ "u: 101", U("\"101\"") },
	{ "u: -1", U("\"-1\"") },
	{ "u: +1", U("\"+1\"") },
	{ "u: 0x10", U("\"0x10\"") },
	{ "u: 010", U("\"010\"") },
	{ "u: 1.0", U("\"1.0\"") },
	{ "u: 1e1", U("\"1e1\"") },
	{ "u: 1_0", U("\"1_0\"") },
	{ "u: 10K", U("\"10K\"") },
	{ "u: ten", U("\"ten\"") },
	{ "u: \"10\"", U("the text \"10\"") },
	{ "u: auto", U("\"auto\"") },
	{ "u: [1]", U("a list") },
	{ "u: {a: 1}", U("a map") },
	{ "u: null", U("null (in quotes it is a text)") },
	{ "u: 18446744073709551617", U("\"18446744073709551617\"") },
	{ "u: 99999999999999999999999999999999999999999999999999",
	    U("\"999999999999999999999999999999999999999999999999\"...") },
	{ "high: 4294967296",
	    "t:1:7: high: expected a number from 0 to 4294967295, found \"4294967296\"\n" },
	{ "later: 3", "t:1:8: later: 3 is not supported yet\n" },
	{ "later: 10", "t:1:8: later: expected a number from 0 to 9, found \"10\"\n" },
	{ "a: Auto", A("\"Auto\"") },
	{ "a: 0", A("\"0\"") },
	{ "a: 65", A("\"65\"") },

	{ "s: 1.5G", S("\"1.5G\"") },
	{ "s: 0x10", S("\"0x10\"") },
	{ "s: -1", S("\"-1\"") },
	{ "s: 1KB", S("\"1KB\"") },
	{ "s: 1k", S("\"1k\"") },
	{ "s: 1 K", S("\"1 K\"") },
	{ "s: K", S("\"K\"") },
	{ "s: 08K", S("\"08K\"") },
	{ "s: big", S("\"big\"") },
	{ "s: 10s", S("\"10s\"") },
	{ "s: [1G]", S("a list") },
	{ "s:", "t:1:3: s: expected a size such as 512, 64K, 10M, 4G or 1T, found nothing\n" },
	{ "s: 16777216T", BIG("s", "16777216T") },
	{ "s: 18446744073709551616", BIG("s", "18446744073709551616") },
	{ "s2: 1023K", "t:1:5: s2: expected at least 1M, found 1023K\n" },
	{ "s2: 2T", "t:1:5: s2: expected at most 1T, found 2T\n" },
	{ "s2: 0", "t:1:5: s2: expected at least 1M, found 0\n" },

	{ "t: 5", T("\"5\"") },
	{ "t: 5h", T("\"5h\"") },
	{ "t: 5ns", T("\"5ns\"") },
	{ "t: -5s", T("\"-5s\"") },
	{ "t: 1.5s", T("\"1.5s\"") },
	{ "t: s", T("\"s\"") },
	{ "t: 00", T("\"00\"") },
	{ "t: {s: 5}", T("a map") },
	{ "t: 307445735m", BIG("t", "307445735m") },
	{ "t: 18446744073709551616us", BIG("t", "18446744073709551616us") },
	{ "t2: 0", "t:1:5: t2: expected at least 1us, found 0\n" },
	{ "t2: 61s", "t:1:5: t2: expected at most 1m, found 61s\n" },

	{ "text: [a]", "t:1:7: text: expected a text, found a list\n" },
	{ "text: {a: b}", "t:1:7: text: expected a text, found a map\n" },
	{ "text:", "t:1:6: text: expected a text, found nothing\n" },
	{ "text: null", "t:1:7: text: expected a text, found null (in quotes it is a text)\n" },
	{ "text: \"\"", "t:1:7: text: expected 1 to 4095 bytes of text, found 0\n" },
	{ "text: \"a\\nb\"", "t:1:7: text: a control character (0x0a) in the text\n" },
	{ "text: \"a\\x7f\"", "t:1:7: text: a control character (0x7f) in the text\n" },
	{ "text: \"a\\0b\"", "t:1:7: a NUL byte in a text\n" },
	{ "shorty: a", "t:1:9: shorty: expected 2 to 4 bytes of text, found 1\n" },
	{ "shorty: abcde", "t:1:9: shorty: expected 2 to 4 bytes of text, found 5\n" },

	{ "word: gren", "t:1:7: word: expected one of red, green, blue, found \"gren\""
	    " (did you mean green?)\n" },
	{ "word: purple", "t:1:7: word: expected one of red, green, blue, found \"purple\"\n" },
	{ "word: blue", "t:1:7: word: blue is not supported yet\n" },
	{ "word: [red]", "t:1:7: word: expected one of red, green, blue, found a list\n" },
	{ "word: 1", "t:1:7: word: expected one of red, green, blue, found \"1\"\n" },
	{ "word:", "t:1:6: word: expected one of red, green, blue, found nothing\n" },
	{ "soon: whatever", "t:1:1: soon is not supported yet\n" },
	{ "soon: {a: [b]}", "t:1:1: soon is not supported yet\n" },
};

static void
what_is_wrong_is_said(void **state)
{
	struct conf_load l;
	struct all all = { 0 };
	char *errors;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		check_rows(&l, keys, &all, wrong[i].text, &errors);
		if (strcmp(errors, wrong[i].errors) != 0)
			print_error("about: %s\n", wrong[i].text);
		assert_string_equal(errors, wrong[i].errors);
		assert_int_equal(l.nerrors, 1);
		check_rows_end(&l, errors);
	}
}

/* O11: a message ends in logs and terminals. */
static void
a_text_is_never_quoted(void **state)
{
	static const char *const texts[] = {
		"shorty: hunter2hunter2", "text: \"hunter2\\n\"", "text: [hunter2]",
		"text: \"hunter2\\0\"",
	};
	struct conf_load l;
	struct all all = { 0 };
	char *errors;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		check_rows(&l, keys, &all, texts[i], &errors);
		assert_int_equal(l.nerrors, 1);
		assert_null(strstr(errors, "hunter2"));
		check_rows_end(&l, errors);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_times_have_units),
		cmocka_unit_test(everything_else_is_read),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(a_text_is_never_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
