/* Results of verbs for people: tables and `key: value` lines. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "table.h"

enum { COLUMNS = 32, NARROW = 8, GAP = 2 };

struct column {
	char *key, *heading;
	bool right;
	int width;
};

struct table {
	struct column column[COLUMNS];
	int n;
	char *names;			/* what keys and headings point into */
};

static void
column_add(struct table *t, char *text)
{
	struct column *c = &t->column[t->n++];
	char *heading = strchr(text, ':'), *align = NULL;

	if (heading) {
		*heading++ = 0;
		align = strchr(heading, ':');
	}
	if (align)
		*align++ = 0;
	c->key = text;
	c->heading = heading ? heading : text;
	c->right = align && align[0] == 'r';
}

/* Columns out of their description; or out of the first row, numbers to the right. */
static int
columns_read(struct table *t, const json_t *rows, const char *columns)
{
	json_t *first = json_array_get(rows, 0);
	char *word, *rest = NULL;
	const char *key;
	json_t *value;

	t->names = strdup(columns);
	if (!t->names)
		return -1;
	for (word = strtok_r(t->names, " ", &rest); word && t->n < COLUMNS;
	     word = strtok_r(NULL, " ", &rest))
		column_add(t, word);
	if (t->n)
		return 0;
	json_object_foreach(first, key, value) {
		if (t->n == COLUMNS)
			break;
		t->column[t->n++] = (struct column){ .key = (char *)key, .heading = (char *)key,
			.right = json_is_number(value) };
	}
	return 0;
}

static void
widths_measure(struct table *t, const json_t *rows)
{
	char text[CELL];
	size_t i;
	json_t *row;

	for (int c = 0; c < t->n; c++) {
		t->column[c].width = cell_width(t->column[c].heading);
		json_array_foreach(rows, i, row) {
			int w = cell_width(cell_text(text, json_object_get(row, t->column[c].key)));

			if (w > t->column[c].width)
				t->column[c].width = w;
		}
	}
}

/* Takes from the widest column, one by one, until all fit or none can give. */
static void
widths_fit(struct table *t, int width)
{
	int total = (t->n - 1) * GAP;

	for (int c = 0; c < t->n; c++)
		total += t->column[c].width;
	for (; width && total > width; total--) {
		struct column *widest = NULL;

		for (int c = 0; c < t->n; c++)
			if (!t->column[c].right &&
			    (!widest || t->column[c].width > widest->width))
				widest = &t->column[c];
		if (!widest || widest->width <= NARROW)
			return;
		widest->width--;
	}
}

static void
row_print(FILE *f, const struct table *t, const json_t *row)
{
	char text[CELL];

	for (int i = 0; i < t->n; i++) {
		const struct column *c = &t->column[i];
		const char *s = row ? cell_text(text, json_object_get(row, c->key)) : c->heading;
		int pad = c->width - cell_width(s);

		if (i)
			fprintf(f, "%*s", GAP, "");
		if (pad > 0 && c->right)
			fprintf(f, "%*s", pad, "");
		cell_print(f, s, c->width);
		if (pad > 0 && !c->right && i + 1 < t->n)
			fprintf(f, "%*s", pad, "");
	}
	putc('\n', f);
}

void
table_print(FILE *f, const json_t *rows, const char *columns, int width)
{
	struct table t = { 0 };
	json_t *row;
	size_t i;

	if (columns_read(&t, rows, columns))
		return;
	widths_measure(&t, rows);
	widths_fit(&t, width);
	if (t.n)
		row_print(f, &t, NULL);
	json_array_foreach(rows, i, row)
		row_print(f, &t, row);
	free(t.names);
}

static bool
is_rows(const json_t *value)
{
	return json_is_object(json_array_get(value, 0));
}

static void
members_print(FILE *f, const json_t *object, int indent)
{
	char text[CELL];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		if (json_is_object(value)) {
			fprintf(f, "%*s%s:\n", indent, "", key);
			members_print(f, value, indent + 2);
		} else if (!is_rows(value)) {
			fprintf(f, "%*s%s: %s\n", indent, "", key, cell_text(text, value));
		}
	}
}

void
object_print(FILE *f, const json_t *object, int width)
{
	const char *key;
	json_t *value;

	members_print(f, object, 0);
	json_object_foreach((json_t *)object, key, value) {
		if (!is_rows(value))
			continue;
		fprintf(f, "\n%s:\n", key);
		table_print(f, value, "", width);
	}
}
