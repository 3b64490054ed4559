/* YAML to nodes: places, and what is refused before anybody looks at it. */
#include "tests/unit/conf/check.h"

/* The tree as text, with places: key@line:column=value@line:column. */
static void
tree_text(const struct conf_node *n, FILE *f)
{
	const struct conf_node *i;

	if (n->key)
		fprintf(f, "%s@%d:%d=", n->key, n->key_pos.line, n->key_pos.column);
	switch ((enum conf_kind)n->kind) {
	case NODE_SCALAR:
		fprintf(f, n->quoted ? "'%s'" : "%s", n->text);
		break;
	case NODE_LIST:
	case NODE_MAP:
		putc(n->kind == NODE_LIST ? '[' : '{', f);
		for (i = n->first; i; i = i->next) {
			tree_text(i, f);
			if (i->next)
				putc(' ', f);
		}
		putc(n->kind == NODE_LIST ? ']' : '}', f);
		break;
	case NODE_BAD:
		fputs("bad", f);
		break;
	}
	fprintf(f, "@%d:%d", n->pos.line, n->pos.column);
}

/* What became of a text: the tree, then the errors. */
static char *
parse(const char *text, size_t len)
{
	struct conf_file file = { .name = "t" };
	struct conf_node *root;
	struct conf_load l;
	char *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	assert_int_equal(conf_begin(&l), 0);
	l.files = &file;
	if (conf_yaml(&l, &file, text, len, &root))
		fputs("stopped", f);
	else if (root)
		tree_text(root, f);
	fputs("\n", f);
	conf_issues_print(&l, f);
	fclose(f);
	arena_free(l.scratch);
	arena_free(l.keep);
	return out;
}

static void
check(const struct said *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *out = parse(v[i].text, strlen(v[i].text));

		if (strcmp(out, v[i].errors) != 0)
			print_error("about:\n%s\n", v[i].text);
		assert_string_equal(out, v[i].errors);
		free(out);
	}
}

static const struct said trees[] = {
	{ "", "\n" },
	{ "# only a remark\n", "\n" },
	{ "---\n...\n", "@2:1\n" },
	{ "a", "a@1:1\n" },
	{ "a: b", "{a@1:1=b@1:4}@1:1\n" },
	{ "a:\n  - b\n  - c: d\n    e: f\n",
	    "{a@1:1=[b@2:5 {c@3:5=d@3:8 e@4:5=f@4:8}@3:5]@2:3}@1:1\n" },
	{ "a: {b: c, d: [e, \"f\"]}", "{a@1:1={b@1:5=c@1:8 d@1:11=[e@1:15 'f'@1:18]@1:14}@1:4}@1:1\n" },
	{ "a:\nb: ''\n", "{a@1:1=@1:3 b@2:1=''@2:4}@1:1\n" },
	{ "\xc3\xa9: \xc3\xa9", "{\xc3\xa9@1:1=\xc3\xa9@1:4}@1:1\n" },	/* columns are letters */
	{ "\xef\xbb\xbf" "a: b", "{a@1:1=b@1:4}@1:1\n" },
	{ "a: |\n  b\n  c\n", "{a@1:1='b\nc\n'@1:4}@1:1\n" },
	{ "a: b\r\nc: d\r\n", "{a@1:1=b@1:4 c@2:1=d@2:4}@1:1\n" },
};

static void
nodes_know_where_they_stand(void **state)
{
	check(trees, ARRAY_LEN(trees));
}

static const struct said refused[] = {
	{ "a: 1\nb: 2\na: 3\n", "{a@1:1=1@1:4 b@2:1=2@2:4 a@3:1=bad@3:4}@1:1\n"
	    "t:3:1: key \"a\" is here twice, also at t:1:1\n" },
	{ "{a: 1, a: 2, a: 3}", "{a@1:2=1@1:5 a@1:8=bad@1:11 a@1:14=bad@1:17}@1:1\n"
	    "t:1:8: key \"a\" is here twice, also at t:1:2\n"
	    "t:1:14: key \"a\" is here twice, also at t:1:8\n" },
	{ "a: &x 1", "{a@1:1=1@1:4}@1:1\n"
	    "t:1:4: anchors are not supported (a text that begins with & needs quotes)\n" },
	{ "a: *x\nb: [*y]\n*z : 1\n", "{a@1:1=bad@1:4 b@2:1=[bad@2:5]@2:4 @3:1=1@3:6}@1:1\n"
	    "t:1:4: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:2:5: aliases are not supported (a text that begins with * needs quotes)\n"
	    "t:3:1: aliases are not supported (a text that begins with * needs quotes)\n" },
	{ "a: !!str 1", "{a@1:1=1@1:4}@1:1\n"
	    "t:1:4: tags are not supported (a text that begins with ! needs quotes)\n" },
	{ "a: !x [1]\nb: ! {}\n", "{a@1:1=[1@1:8]@1:4 b@2:1={}@2:4}@1:1\n"
	    "t:1:4: tags are not supported (a text that begins with ! needs quotes)\n"
	    "t:2:4: tags are not supported (a text that begins with ! needs quotes)\n" },
	{ "? [a, [b], {c: d, c: e}]\n: f\ng: h\n", "{@1:3=f@2:3 g@3:1=h@3:4}@1:1\n"
	    "t:1:3: a key must be a word, found a list\n" },
	{ "{a: {[b]: c}, {d: e}: f}", "{a@1:2={@1:6=c@1:11}@1:5 @1:15=f@1:23}@1:1\n"
	    "t:1:6: a key must be a word, found a list\n"
	    "t:1:15: a key must be a word, found a map\n" },
	{ "? ? [a]\n  : b\n: c\n", "{@1:3=c@3:3}@1:1\nt:1:3: a key must be a word, found a map\n" },
	{ "{\"\": a, ? : b}", "{@1:2=a@1:6 @1:11=b@1:13}@1:1\n"
	    "t:1:2: a key must be a word, found nothing\n"
	    "t:1:11: a key must be a word, found nothing\n" },
	{ "a: \"b\\0c\"\n\"d\\0e\": f\n", "{a@1:1=bad@1:4 @2:1=f@2:9}@1:1\n"
	    "t:1:4: a NUL byte in a text\n"
	    "t:2:1: a NUL byte in a text\n" },
	{ "a: 1\n---\nb: 2\n", "stopped\nt:2:1: a second document; a file holds one\n" },
	{ "a: 1\n\tb: 2\n", "stopped\nt:2:1: found a tab character that violates indentation, "
	    "while scanning a plain scalar that began at line 1 (a tab; indent with spaces)\n" },
	{ "a:\n\t- b\n", "stopped\nt:2:1: found character that cannot start any token, "
	    "while scanning for the next token that began at line 2 (a tab; indent with spaces)\n" },
	{ "a: b: c\n", "stopped\nt:1:5: mapping values are not allowed in this context\n" },
	{ "a: [b\nc: d\n", "stopped\nt:2:2: did not find expected ',' or ']', "
	    "while parsing a flow sequence that began at line 1\n" },
	{ "a: \"b\n", "stopped\nt:2:1: found unexpected end of stream, "
	    "while scanning a quoted scalar that began at line 1\n" },
	{ "l: *:3260\n", "stopped\nt:1:5: did not find expected alphabetic or numeric character, "
	    "while scanning an alias that began at line 1 (a text that begins with * or & needs quotes)\n" },
	{ "\xc3\xa9\xc3\xa9: 1\n\xc3\xa9: *:1\n", "stopped\nt:2:5: did not find expected alphabetic or "
	    "numeric character, while scanning an alias that began at line 2"
	    " (a text that begins with * or & needs quotes)\n" },
	{ "a: b\nc: \xff\n", "stopped\nt:2:4: invalid leading UTF-8 octet (0xff)\n" },
	{ "a: \xc3\xa9\xc3(\n", "stopped\nt:1:6: invalid trailing UTF-8 octet (0x28)\n" },
	{ "a: \x01\n", "stopped\nt:1:4: control characters are not allowed (0x01)\n" },
	{ "%YAML 3.0\n---\na: b\n", "stopped\nt:1:1: found incompatible YAML document\n" },
};

static void
what_is_refused(void **state)
{
	check(refused, ARRAY_LEN(refused));
}

static void
a_nul_byte_is_refused(void **state)
{
	char *out = parse("a: b\nc: d\0e\n", 12);

	assert_string_equal(out, "stopped\nt:2:5: control characters are not allowed (0x00)\n");
	free(out);
}

/* n times open, then the text, then n times close. */
static char *
nested(int n, const char *open, const char *close)
{
	char *text, *out;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; i < n; i++)
		fputs(open, f);
	for (int i = 0; i < n; i++)
		fputs(close, f);
	fclose(f);
	out = parse(text, size);
	free(text);
	return out;
}

static void
depth_is_bounded(void **state)
{
	char *out = nested(CONF_DEPTH_MAX, "[", "]");

	assert_null(strstr(out, "t:"));
	free(out);
	out = nested(CONF_DEPTH_MAX + 1, "[", "]");
	assert_string_equal(out, "stopped\nt:1:33: more than 32 lists and maps inside each other\n");
	free(out);
	out = nested(100000, "{a: ", "}");
	assert_string_equal(out, "stopped\nt:1:129: more than 32 lists and maps inside each other\n");
	free(out);
	out = nested(100000, "- ", "");
	assert_string_equal(out, "stopped\nt:1:65: more than 32 lists and maps inside each other\n");
	free(out);
	out = nested(100000, "[", "");
	assert_string_equal(out, "stopped\nt:1:33: more than 32 lists and maps inside each other\n");
	free(out);
}

static void
size_is_bounded(void **state)
{
	char *text, *out;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; i < CONF_KEYS_MAX + 3; i++)
		fprintf(f, "k%d: 1\n", i);
	fclose(f);
	out = parse(text, size);
	assert_non_null(strstr(out, "\nt:4097:1: more than 4096 keys in a map\n"));
	assert_non_null(strstr(out, "k4095@4096:1="));
	assert_null(strstr(out, "k4096@"));
	free(out);
	free(text);

	f = open_memstream(&text, &size);
	fputc('[', f);
	for (int i = 0; i < CONF_NODES_MAX; i++)
		fputs("1,", f);
	fputc(']', f);
	fclose(f);
	out = parse(text, size);
	assert_string_equal(out, "stopped\nt:1:2000000: more than 1000000 values\n");
	free(out);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_where_they_stand),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(size_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
