/* Lists of words, texts and numbers; one alone may stand without its brackets. */
#include "conf_load.h"

#include <errno.h>
#include <string.h>

/*
 * The items, or the value itself when it is no list. An empty list is refused:
 * it would mean "none" to some and "any" to others.
 */
static const struct conf_node *
items(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, size_t *count)
{
	*count = 1;
	if (n->kind != NODE_LIST)
		return n;
	*count = n->n;
	if (!n->n)
		conf_error(l, n->pos, "%s: the list is empty", k->name);
	return n->first;
}

/* An item of a list has a next; a value that stands alone has one too, the next key of its map. */
static const struct conf_node *
next(const struct conf_node *list, const struct conf_node *item)
{
	return list->kind == NODE_LIST ? item->next : NULL;
}

int
conf_words(struct conf_load *l, const struct conf_key *k, const struct conf_node *n,
    struct conf_words *out)
{
	const struct conf_node *i;
	size_t count, before = l->nerrors;
	bool ok = true;
	int word, j;

	out->n = 0;
	for (i = items(l, k, n, &count); i; i = next(n, i)) {
		if (conf_word(l, k, i, &word)) {
			ok = false;
			continue;
		}
		for (j = 0; j < out->n && out->v[j] != word; j++)
			continue;
		if (j < out->n)
			conf_error(l, i->pos, "%s: %s is here twice", k->name, i->text);
		else if (out->n == (int)(sizeof(out->v) / sizeof(out->v[0])))
			conf_error(l, i->pos, "%s: more than %d words", k->name, out->n);
		else
			out->v[out->n++] = word;
	}
	return ok && l->nerrors == before ? 0 : -EINVAL;
}

int
conf_texts(struct conf_load *l, const struct conf_key *k, const struct conf_node *n,
    struct conf_texts *out)
{
	const struct conf_node *i;
	size_t count, before = l->nerrors;
	bool ok = true;

	i = items(l, k, n, &count);
	out->n = 0;
	out->v = arena_get(l->keep, count * sizeof(*out->v));
	out->pos = arena_get(l->keep, count * sizeof(*out->pos));
	if (!out->v || !out->pos) {
		conf_no_memory(l);
		return -ENOMEM;
	}
	for (; i; i = next(n, i)) {
		if (conf_text(l, k, i, &out->v[out->n]) == 0)
			out->pos[out->n++] = i->pos;
		else
			ok = false;
	}
	return ok && l->nerrors == before ? 0 : -EINVAL;
}

int
conf_uints(struct conf_load *l, const struct conf_key *k, const struct conf_node *n,
    struct conf_uints *out)
{
	const struct conf_node *i;
	size_t count, before = l->nerrors;
	bool ok = true;

	i = items(l, k, n, &count);
	out->n = 0;
	out->v = arena_get(l->keep, count * sizeof(*out->v));
	out->pos = arena_get(l->keep, count * sizeof(*out->pos));
	if (!out->v || !out->pos) {
		conf_no_memory(l);
		return -ENOMEM;
	}
	for (; i; i = next(n, i)) {
		if (conf_uint(l, k, i, &out->v[out->n]) == 0)
			out->pos[out->n++] = i->pos;
		else
			ok = false;
	}
	return ok && l->nerrors == before ? 0 : -EINVAL;
}
