/* The files of a configuration as one tree: what includes what, drop-ins, and whose word counts. */
#include "conf_load.h"

#include <errno.h>
#include <glob.h>
#include <string.h>

/* -- patterns -- */

/* A folder's own name may hold what glob takes for a pattern. */
static char *
folder_escaped(struct conf_load *l, const struct conf_file *f, const char *pattern)
{
	const char *slash = strrchr(f->name, '/'), *s;
	char *p = arena_get(l->scratch, 2 * strlen(f->name) + strlen(pattern) + 1), *to = p;

	if (!p) {
		conf_no_memory(l);
		return NULL;
	}
	for (s = f->name; slash && pattern[0] != '/' && s <= slash; s++) {
		if (strchr("*?[\\", *s))
			*to++ = '\\';
		*to++ = *s;
	}
	strcpy(to, pattern);
	return p;
}

/* A folder that is not there is an empty one; one that cannot be read is not. */
static int
folder_error(const char *path, int e)
{
	return e != ENOENT && e != ENOTDIR;
}

/* Reads every file that the pattern fits, in the order of their names. None is none too few. */
static void
pattern_read(struct conf_load *l, const char *pattern, struct conf_file *by, struct conf_pos at,
    enum conf_twice twice)
{
	char text[256];
	glob_t g = { .gl_pathc = 0 };
	size_t i;
	int e = glob(pattern, 0, folder_error, &g);

	if (e == GLOB_NOSPACE) {
		conf_no_memory(l);
	} else if (e && e != GLOB_NOMATCH) {
		l->partial = true;
		conf_error(l, at, "include: %s: a folder cannot be read",
		    conf_quote(pattern, text, sizeof(text)));
	}
	for (i = 0; !e && i < g.gl_pathc; i++)
		conf_file_read(l, g.gl_pathv[i], by,
		    by ? at : (struct conf_pos){ g.gl_pathv[i], 1, 1 }, twice);
	globfree(&g);
}

void
conf_read_dropins(struct conf_load *l, const char *pattern)
{
	pattern_read(l, pattern, NULL, (struct conf_pos){ pattern, 1, 1 }, CONF_TWICE_SKIPPED);
}

/* -- include: -- */

static void
include_one(struct conf_load *l, struct conf_file *f, const char *pattern, struct conf_pos pos)
{
	char *path;

	if (strpbrk(pattern, "*?[")) {
		path = folder_escaped(l, f, pattern);
		if (path)
			pattern_read(l, path, f, pos, CONF_TWICE_REFUSED);
	} else {
		path = conf_path(l, pos, pattern);
		if (path)
			conf_file_read(l, path, f, pos, CONF_TWICE_REFUSED);
	}
}

static void
include_read(struct conf_load *l, struct conf_file *f, const struct conf_node *n)
{
	static const struct conf_key key = { .name = "include", .type = CONF_TEXTS };
	const struct conf_file *up;
	struct conf_texts list;
	unsigned depth = 0;
	int i;

	if (l->from_memory) {
		conf_error(l, n->key_pos, "include: files are not read here");
		l->partial = true;
		return;
	}
	for (up = f->by; up; up = up->by)
		depth++;
	if (depth >= CONF_INCLUDE_MAX) {
		conf_error(l, n->key_pos, "include: more than %d files inside each other",
		    CONF_INCLUDE_MAX);
		l->partial = true;
		return;
	}
	if (conf_texts(l, &key, n, &list)) {
		l->partial = true;
		return;
	}
	for (i = 0; i < list.n; i++)
		include_one(l, f, list.v[i], list.pos[i]);
}

/* -- into one tree -- */

static bool
is_list_key(const char *key)
{
	return strcmp(key, "adapters") == 0 || strcmp(key, "portals") == 0 ||
	    strcmp(key, "auth") == 0 || strcmp(key, "targets") == 0;
}

static bool
is_top_key(const char *key)
{
	const struct conf_key *k;

	for (k = conf_top_keys; k->name && strcmp(k->name, key) != 0; k++)
		continue;
	return k->name;
}

/* Lists of the same name become one; anything else may be set once, in one place. */
static void
pair_merge(struct conf_load *l, struct conf_node *n)
{
	struct conf_node *have = NULL, *i, *next;
	char pos[512];

	if (is_top_key(n->key))
		have = conf_node_get(l->root, n->key);
	if (!have) {
		conf_node_add(l->root, n);
		return;
	}
	if (have->key_pos.file == n->key_pos.file)
		return;			/* said already: twice in one map */
	if (!is_list_key(n->key)) {
		conf_error(l, n->key_pos, "%s is set already at %s", n->key,
		    conf_pos_text(have->key_pos, pos, sizeof(pos)));
		return;
	}
	if (!conf_want(l, n, NODE_LIST, n->key) || have->kind != NODE_LIST)
		return;			/* what have is instead, its row will say */
	for (i = n->first; i; i = next) {
		next = i->next;
		conf_node_add(have, i);
	}
}

void
conf_tree_add(struct conf_load *l, struct conf_file *f, struct conf_node *root)
{
	struct conf_node *n, *next;

	if (!root || conf_node_is_null(root) || !conf_want(l, root, NODE_MAP, "the file"))
		return;
	for (n = root->first; n; n = next) {
		next = n->next;
		if (strcmp(n->key, "include") == 0)
			include_read(l, f, n);
		else
			pair_merge(l, n);
	}
}
