/* A map and the rows that say what it may hold: fills structs, refuses keys it does not know. */
#include "conf_load.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "util.h"

enum { ROWS_MAX = 64 };			/* of one map, for messages */

static const struct conf_key *
row_find(const struct conf_rows *rows, size_t nrows, const char *name, void **base)
{
	const struct conf_key *k;
	size_t i;

	for (i = 0; i < nrows; i++) {
		for (k = rows[i].keys; k && k->name; k++) {
			if (strcmp(k->name, name) == 0) {
				*base = rows[i].base;
				return k;
			}
		}
	}
	return NULL;
}

static void
unknown_key(struct conf_load *l, const struct conf_node *n, const char *what,
    const struct conf_rows *rows, size_t nrows)
{
	const char *names[ROWS_MAX] = { NULL }, *near;
	char key[256], list[640];
	size_t count = 0, at = 0, i;
	const struct conf_key *k;

	if (!*n->key)
		return;
	if (strcmp(n->key, "<<") == 0) {
		conf_error(l, n->key_pos, "merge keys (<<) are not supported");
		return;
	}
	for (i = 0; i < nrows; i++) {
		for (k = rows[i].keys; k && k->name && count < ROWS_MAX; k++)
			names[count++] = k->name;
	}
	near = conf_nearest(n->key, names, count);
	if (near)
		text_add(list, sizeof(list), &at, "did you mean %s?", near);
	else
		text_add(list, sizeof(list), &at, "%s takes", what);
	for (i = 0; !near && i < count; i++)
		text_add(list, sizeof(list), &at, "%s %s", i ? "," : "", names[i]);
	conf_error(l, n->key_pos, "unknown key %s (%s)", conf_quote(n->key, key, sizeof(key)), list);
}

static int
pair_read(struct conf_load *l, const struct conf_node *n, const char *what,
    const struct conf_rows *rows, size_t nrows, bool strict)
{
	void *base = NULL;
	const struct conf_key *k = row_find(rows, nrows, n->key, &base);

	if (k && !(k->flags & CONF_LATER))
		return conf_value(l, k, n, (char *)base + k->offset);
	if (k)
		conf_error(l, n->key_pos, "%s is not supported yet", k->name);
	else if (strict)
		unknown_key(l, n, what, rows, nrows);
	return -EINVAL;
}

/*
 * A fallback is written as in the file. The rows are ours, so one that does not
 * parse is our bug; the unit tests walk all of them.
 */
static void
fallback_read(struct conf_load *l, const struct conf_key *k, void *out)
{
	struct conf_node item[16], list = { .kind = NODE_LIST, .pos = { "fallback", 1, 1 } };
	char text[256], *word, *save = NULL;
	size_t n = 0;

	if (k->type != CONF_WORDS && k->type != CONF_TEXTS && k->type != CONF_UINTS) {
		list.kind = NODE_SCALAR;
		list.text = k->fallback;
		if (conf_value(l, k, &list, out))
			assert(l->no_memory);
		return;
	}
	snprintf(text, sizeof(text), "%s", k->fallback);
	for (word = strtok_r(text, "[], ", &save); word; word = strtok_r(NULL, "[], ", &save)) {
		assert(n < ARRAY_LEN(item));
		item[n] = (struct conf_node){ .kind = NODE_SCALAR, .pos = list.pos, .text = word };
		conf_node_add(&list, &item[n++]);
	}
	if (conf_value(l, k, &list, out))
		assert(l->no_memory);
}

static void
absent(struct conf_load *l, const struct conf_node *map, const char *what, const struct conf_key *k,
    void *out)
{
	struct conf_node empty = { .kind = NODE_MAP, .pos = map->pos };

	if (k->flags & CONF_LATER)
		return;			/* it has no place in the struct yet */
	if (k->flags & CONF_REQUIRED)
		conf_error(l, map->pos, "%s: %s is missing", what, k->name);
	else if (k->fallback)
		fallback_read(l, k, out);
	else if (k->type == CONF_MAP)
		conf_value(l, k, &empty, out);
}

static int
map_read(struct conf_load *l, const struct conf_node *map, const char *what,
    const struct conf_rows *rows, size_t nrows, bool strict)
{
	size_t before = l->nerrors, i;
	const struct conf_node *n;
	const struct conf_key *k;
	bool ok = true;

	if (!conf_want(l, map, NODE_MAP, what))
		return -EINVAL;
	/* A value that is bad for the parser is not said to be so again, but it is missing. */
	for (n = map->first; n; n = n->next)
		ok &= pair_read(l, n, what, rows, nrows, strict) == 0;
	for (i = 0; i < nrows; i++) {
		for (k = rows[i].keys; k && k->name; k++) {
			if (!conf_node_get(map, k->name))
				absent(l, map, what, k, (char *)rows[i].base + k->offset);
		}
	}
	return ok && l->nerrors == before ? 0 : -EINVAL;
}

int
conf_map(struct conf_load *l, const struct conf_node *map, const char *what,
    const struct conf_rows *rows, size_t nrows)
{
	return map_read(l, map, what, rows, nrows, true);
}

int
conf_map_known(struct conf_load *l, const struct conf_node *map, const char *what,
    const struct conf_rows *rows, size_t nrows)
{
	return map_read(l, map, what, rows, nrows, false);
}

void *
conf_opts(struct conf_load *l, size_t size)
{
	void *p = arena_get(l->keep, size);

	if (!p)
		conf_no_memory(l);
	return p;
}
