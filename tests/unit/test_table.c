/* sluicectl's tables: aligned, as wide as the terminal, and nothing in them controls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

/* sluicectl is a program of its own: its parts are in no library. */
#include "daemon/ctl/cell.c"
#include "daemon/ctl/table.c"

static char *out;
static size_t out_len;

static FILE *
out_open(void)
{
	FILE *f = open_memstream(&out, &out_len);

	assert_non_null(f);
	return f;
}

static void
expect_table(const char *rows_text, const char *columns, int width, const char *want)
{
	json_t *rows = json_loads(rows_text, 0, NULL);
	FILE *f = out_open();

	assert_non_null(rows);
	table_print(f, rows, columns, width);
	fclose(f);
	assert_string_equal(out, want);
	free(out);
	json_decref(rows);
}

static void
columns_are_aligned(void **state)
{
	expect_table("[{\"n\":\"a\",\"v\":5},{\"n\":\"bcde\",\"v\":1234567}]", "n:NAME:l v:VALUE:r", 0,
	    "NAME    VALUE\n"
	    "a           5\n"
	    "bcde  1234567\n");
	/* The words others use for it, and what is not there. */
	expect_table("[{\"n\":\"a\"}]", "n:N:left v:VALUE:right x", 0,
	    "N  VALUE  x\n"
	    "a      -  -\n");
}

static void
no_rows_still_have_a_heading(void **state)
{
	expect_table("[]", "n:NAME v:VALUE:r", 0, "NAME  VALUE\n");
	expect_table("[]", "", 0, "");
}

static void
keys_serve_without_columns(void **state)
{
	expect_table("[{\"id\":1,\"name\":\"x\"},{\"id\":20,\"name\":\"y\"}]", "", 0,
	    "id  name\n"
	    " 1  x\n"
	    "20  y\n");
}

static void
the_widest_text_gives_way(void **state)
{
	expect_table("[{\"a\":\"abcdefghijklmnopqrstuvwxyz\",\"b\":123456,\"c\":\"short\"}]",
	    "a:A b:B:r c:C", 30,
	    "A                     B  C\n"
	    "abcdefghijklmn~  123456  short\n");
}

static void
nothing_is_cut_below_reason(void **state)
{
	/* Numbers whole, texts to 8 columns: wider than the terminal, but right. */
	expect_table("[{\"a\":\"abcdefghijkl\",\"b\":123456789012}]", "a:A b:B:r", 10,
	    "A                    B\n"
	    "abcdefg~  123456789012\n");
}

static void
a_peers_text_cannot_control_the_terminal(void **state)
{
	expect_table("[{\"a\":\"x\\u001b[2Jy\\nz\\u007f\"}]", "a:A", 0,
	    "A\n"
	    "x?[2Jy?z?\n");
}

static void
characters_count_not_bytes(void **state)
{
	expect_table("[{\"a\":\"m\xc3\xbcller\",\"b\":1},{\"a\":\"miller\",\"b\":2}]", "a:A b:B", 0,
	    "A       B\n"
	    "m\xc3\xbcller  1\n"
	    "miller  2\n");
	expect_table("[{\"a\":\"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\"}]",
	    "a:A", 8, "A\n\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc~\n");
}

static void
objects_are_lines(void **state)
{
	json_t *o = json_loads("{\"a\":1,\"b\":{\"c\":true},\"list\":[1,\"x\",null],"
	    "\"rows\":[{\"id\":7}],\"none\":[]}", 0, NULL);
	FILE *f = out_open();

	object_print(f, o, 0);
	fclose(f);
	assert_string_equal(out,
	    "a: 1\n"
	    "b:\n"
	    "  c: yes\n"
	    "list: 1,x,-\n"
	    "none: \n"
	    "\n"
	    "rows:\n"
	    "id\n"
	    " 7\n");
	free(out);
	json_decref(o);
}

static void
a_huge_text_is_cut(void **state)
{
	char *text = malloc(5000), cell[CELL];
	json_t *value;

	memset(text, 'x', 4999);
	text[4999] = 0;
	value = json_string(text);
	assert_int_equal(strlen(cell_text(cell, value)), CELL - 1);
	json_decref(value);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned),
		cmocka_unit_test(no_rows_still_have_a_heading),
		cmocka_unit_test(keys_serve_without_columns),
		cmocka_unit_test(the_widest_text_gives_way),
		cmocka_unit_test(nothing_is_cut_below_reason),
		cmocka_unit_test(a_peers_text_cannot_control_the_terminal),
		cmocka_unit_test(characters_count_not_bytes),
		cmocka_unit_test(objects_are_lines),
		cmocka_unit_test(a_huge_text_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
