/* Looking at nodes. */
#include "conf_load.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct conf_node *
conf_node_get(const struct conf_node *map, const char *key)
{
	struct conf_node *n;

	for (n = map->first; n; n = n->next) {
		if (strcmp(n->key, key) == 0)
			return n;
	}
	return NULL;
}

bool
conf_node_is_null(const struct conf_node *n)
{
	return n->kind == NODE_SCALAR && !n->quoted &&
	    (!*n->text || strcmp(n->text, "~") == 0 || strcasecmp(n->text, "null") == 0);
}

const char *
conf_found(const struct conf_node *n, char *buf, size_t size)
{
	char text[256];

	switch ((enum conf_kind)n->kind) {
	case NODE_LIST:
		return "a list";
	case NODE_MAP:
		return "a map";
	case NODE_SCALAR:
	case NODE_BAD:
		break;
	}
	if (conf_node_is_null(n))
		return *n->text ? "null (in quotes it is a text)" : "nothing";
	conf_quote(n->text, text, sizeof(text));
	if (n->quoted)
		snprintf(buf, size, "the text %s", text);
	else
		snprintf(buf, size, "%s", text);
	return buf;
}

bool
conf_want(struct conf_load *l, const struct conf_node *n, enum conf_kind kind, const char *what)
{
	static const char *const words[] = { "one value", "a list", "a map" };
	char found[320];

	if (n->kind == NODE_BAD)
		return false;
	if (n->kind == kind && !conf_node_is_null(n))
		return true;
	conf_error(l, n->pos, "%s: expected %s, found %s", what, words[kind],
	    conf_found(n, found, sizeof(found)));
	return false;
}
