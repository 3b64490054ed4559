/* What the tests of the configuration share: a load, and all that it said. */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf_load.h"
#include "util.h"

/* A text, and every line that is expected about it; "" when it is right. */
struct said {
	const char *text;
	const char *errors;
};

/* Loads a text under the name t; the caller frees what was said, and the conf. */
__attribute__((unused))
static struct conf *
check_load(const char *text, size_t len, char **errors)
{
	struct conf *conf;
	size_t size;
	FILE *f = open_memstream(errors, &size);
	int e = conf_load_text("t", text, len, &conf, f);

	fclose(f);
	assert_int_equal(e, conf ? 0 : -EINVAL);
	return conf;
}

__attribute__((unused))
static void
check_said(const struct said *v, size_t n)
{
	struct conf *conf;
	char *errors;
	size_t i;

	for (i = 0; i < n; i++) {
		conf = check_load(v[i].text, strlen(v[i].text), &errors);
		if (strcmp(errors, v[i].errors) != 0)
			print_error("about:\n%s\n", v[i].text);
		assert_string_equal(errors, v[i].errors);
		conf_free(conf);
		free(errors);
	}
}

/* Reads a map by the given rows into base. What it points to lives until check_rows_end. */
__attribute__((unused))
static void
check_rows(struct conf_load *l, const struct conf_key *keys, void *base, const char *text,
    char **errors)
{
	struct conf_rows rows = { keys, base };
	size_t size;
	FILE *f = open_memstream(errors, &size);

	assert_int_equal(conf_begin(l), 0);
	conf_read_text(l, "t", text, strlen(text));
	conf_map(l, l->root, "a map", &rows, 1);
	conf_issues_print(l, f);
	fclose(f);
}

__attribute__((unused))
static void
check_rows_end(struct conf_load *l, char *errors)
{
	arena_free(l->scratch);
	arena_free(l->keep);
	free(errors);
}

#endif
