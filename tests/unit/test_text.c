/* Key=value text: what is taken and refused, and that nothing is read or written past an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/iscsi/text.h"

#include "util.h"

/* The text in memory of exactly its size, so that ASan sees a byte too many. */
static int
first_pair(const char *text, size_t len, struct text_pair *p)
{
	char *copy = malloc(len + (len == 0));
	struct text_in in = { copy, len, 0 };
	static char value[9000];
	int rc;

	memcpy(copy, text, len);
	rc = text_next(&in, p);
	if (rc > 0) {
		assert_true(p->len < sizeof(value));
		memcpy(value, p->value, p->len + 1);
		p->value = value;
	}
	free(copy);
	return rc;
}

static void
pairs_are_read_in_order(void **state)
{
	static const char text[] = "A=1\0Bee=\0C=x=y";
	struct text_in in = { text, sizeof(text), 0 };
	struct text_pair p;

	assert_int_equal(text_next(&in, &p), 1);
	assert_string_equal(p.key, "A");
	assert_string_equal(p.value, "1");
	assert_int_equal(text_next(&in, &p), 1);
	assert_string_equal(p.key, "Bee");
	assert_int_equal(p.len, 0);
	assert_int_equal(text_next(&in, &p), 1);
	assert_string_equal(p.value, "x=y");
	assert_int_equal(p.len, 3);
	assert_int_equal(text_next(&in, &p), 0);
	assert_int_equal(text_next(&in, &p), 0);
}

static void
nothing_is_a_text(void **state)
{
	struct text_pair p;

	assert_int_equal(first_pair("", 0, &p), 0);
	assert_int_equal(first_pair("\0\0\0\0", 4, &p), 0);
}

static void
a_pair_without_its_nul_is_refused(void **state)
{
	struct text_pair p;

	assert_int_equal(first_pair("A=1", 3, &p), -EPROTO);
	assert_int_equal(first_pair("A=1", 4, &p), 1);
}

static void
no_equals_sign_or_an_empty_key_is_refused(void **state)
{
	struct text_pair p;

	assert_int_equal(first_pair("A", 2, &p), -EPROTO);
	assert_int_equal(first_pair("=1", 3, &p), -EPROTO);
	assert_int_equal(first_pair("A B=1", 6, &p), -EPROTO);
	assert_int_equal(first_pair("A\n=1", 5, &p), -EPROTO);
	assert_int_equal(first_pair("\xff=1", 4, &p), -EPROTO);
}

/* L02: 63 bytes of name and no more. */
static void
a_key_has_63_bytes_at_most(void **state)
{
	static const size_t sizes[] = { 62, 63, 64, 65, 255, 1024, 8000 };
	char text[8100];
	struct text_pair p;
	size_t i;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		memset(text, 'A', sizes[i]);
		memcpy(text + sizes[i], "=1", 3);
		assert_int_equal(first_pair(text, sizes[i] + 3, &p), sizes[i] <= 63 ? 1 : -EPROTO);
		if (sizes[i] <= 63)
			assert_int_equal(strlen(p.key), sizes[i]);
	}
}

static void
the_number_of_pairs_is_bounded(void **state)
{
	char text[4 * (TEXT_PAIRS_MAX + 1)];
	struct text_in in = { text, sizeof(text), 0 };
	struct text_pair p;
	int i;

	for (i = 0; i <= TEXT_PAIRS_MAX; i++)
		memcpy(text + 4 * i, "A=1", 4);
	for (i = 0; i < TEXT_PAIRS_MAX; i++)
		assert_int_equal(text_next(&in, &p), 1);
	assert_int_equal(text_next(&in, &p), -EPROTO);
}

static void
numbers_are_decimal_or_hexadecimal(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "65536", 0, 65536 },
		{ "16777215", 0, 16777215 },
		{ "0x10", 0, 16 },
		{ "0XfF", 0, 255 },
		{ "0x0010", 0, 16 },
		{ "0xFFFFFF", 0, 0xffffff },
		{ "16777216", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "05", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1a", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "\xff", -EINVAL, 0 },
	};
	uint64_t v;
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		v = 0;
		assert_int_equal(text_number(cases[i].text, 0xffffff, &v), cases[i].rc);
		assert_int_equal(v, cases[i].value);
	}
	assert_int_equal(text_number("18446744073709551615", UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
}

/* C03: exact, bounded decoding. */
static void
binary_values_are_hex_or_base64(void **state)
{
	static const struct {
		const char *text;
		int rc;
		size_t len;
		const char *bytes;
	} cases[] = {
		{ "0x00ff", 0, 2, "\x00\xff" },
		{ "0XAbCd", 0, 2, "\xab\xcd" },
		{ "0x", -EINVAL, 0, "" },
		{ "0x1", -EINVAL, 0, "" },
		{ "0x123", -EINVAL, 0, "" },
		{ "0x0g", -EINVAL, 0, "" },
		{ "0x-1", -EINVAL, 0, "" },
		{ "1234", -EINVAL, 0, "" },
		{ "", -EINVAL, 0, "" },
		{ "0", -EINVAL, 0, "" },
		{ "0y00", -EINVAL, 0, "" },
		{ "0x11223344", 0, 4, "\x11\x22\x33\x44" },
		{ "0x1122334455", -E2BIG, 0, "" },
		{ "0bAP8=", 0, 2, "\x00\xff" },
		{ "0BAP8=", 0, 2, "\x00\xff" },
		{ "0bAA==", 0, 1, "\0" },
		{ "0b////", 0, 3, "\xff\xff\xff" },
		{ "0bESIzRA==", 0, 4, "\x11\x22\x33\x44" },
		{ "0bESIzRFU=", -E2BIG, 0, "" },
		{ "0b", -EINVAL, 0, "" },
		{ "0bA", -EINVAL, 0, "" },
		{ "0bAP8", -EINVAL, 0, "" },
		{ "0bA===", -EINVAL, 0, "" },
		{ "0b====", -EINVAL, 0, "" },
		{ "0bA=P8", -EINVAL, 0, "" },
		{ "0bAP8=AP8=", -EINVAL, 0, "" },
		{ "0bAP 8", -EINVAL, 0, "" },
		{ "0bAP-_", -EINVAL, 0, "" },
	};
	uint8_t *out;
	size_t i, len;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		out = malloc(4);
		len = 0;
		assert_int_equal(text_binary(cases[i].text, out, 4, &len), cases[i].rc);
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(out, cases[i].bytes, len);
		free(out);
	}
}

static void
the_longest_binary_value_decodes_both_ways(void **state)
{
	char hex[2 + 2048 + 2 + 1] = "0x", base64[2 + 1368 + 1] = "0b";
	uint8_t out[1024];
	size_t len;

	memset(hex + 2, 'a', 2048);
	assert_int_equal(text_binary(hex, out, sizeof(out), &len), 0);
	assert_int_equal(len, 1024);
	strcat(hex, "aa");
	assert_int_equal(text_binary(hex, out, sizeof(out), &len), -E2BIG);
	memset(base64 + 2, 'A', 1366);
	memcpy(base64 + 2 + 1366, "==", 3);
	assert_int_equal(text_binary(base64, out, sizeof(out), &len), 0);
	assert_int_equal(len, 1024);
}

/* C05: exact items, also empty ones. */
static void
lists_are_cut_at_commas(void **state)
{
	static const char *const want[] = { "", "7", "65", "" };
	const char *list = ",7,65,", *item;
	size_t len, i;

	for (i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(text_item(&list, &item, &len));
		assert_true(text_is(item, len, want[i]));
	}
	assert_false(text_item(&list, &item, &len));
	assert_false(text_is("65", 2, "6"));
	assert_false(text_is("6", 1, "65"));
}

static void
a_pair_that_does_not_fit_is_left_out_whole(void **state)
{
	size_t size;

	for (size = 0; size < 16; size++) {
		char *buf = malloc(size + (size == 0));
		struct text_out o = { buf, size, 0, false };

		text_put(&o, "Key", "1");
		assert_int_equal(o.len, size >= 6 ? 6 : 0);
		text_put_hex(&o, "H", (const uint8_t *)"\x0a\xff", 2);
		assert_int_equal(o.full, size < 6 + 9);
		if (!o.full)
			assert_memory_equal(buf, "Key=1\0H=0x0aff", 15);
		text_put_number(&o, "N", 5);
		assert_int_equal(o.len, size >= 15 ? 15 : size >= 6 ? 6 : 0);
		free(buf);
	}
}

static void
numbers_are_written_in_decimal(void **state)
{
	char buf[64];
	struct text_out o = { buf, sizeof(buf), 0, false };

	text_put_number(&o, "N", UINT64_MAX);
	assert_string_equal(buf, "N=18446744073709551615");
	assert_int_equal(o.len, strlen(buf) + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_read_in_order),
		cmocka_unit_test(nothing_is_a_text),
		cmocka_unit_test(a_pair_without_its_nul_is_refused),
		cmocka_unit_test(no_equals_sign_or_an_empty_key_is_refused),
		cmocka_unit_test(a_key_has_63_bytes_at_most),
		cmocka_unit_test(the_number_of_pairs_is_bounded),
		cmocka_unit_test(numbers_are_decimal_or_hexadecimal),
		cmocka_unit_test(binary_values_are_hex_or_base64),
		cmocka_unit_test(the_longest_binary_value_decodes_both_ways),
		cmocka_unit_test(lists_are_cut_at_commas),
		cmocka_unit_test(a_pair_that_does_not_fit_is_left_out_whole),
		cmocka_unit_test(numbers_are_written_in_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
