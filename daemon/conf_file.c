/* The files of a configuration: the first, what it includes, and the drop-ins, as one tree. */
#include "conf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct conf_file *
conf_file_of(const struct conf_load *l, struct conf_pos pos)
{
	const struct conf_file *f;

	for (f = l->files; f && f->name != pos.file; f = f->next)
		continue;
	return f;
}

static struct conf_file *
file_new(struct conf_load *l, const char *name)
{
	struct conf_file *f = arena_get(l->scratch, sizeof(*f));

	if (f)
		f->name = arena_text(l->keep, name, strlen(name));
	if (!f || !f->name) {
		conf_no_memory(l);
		return NULL;
	}
	f->seq = l->nfiles++;
	if (l->files_last)
		l->files_last->next = f;
	else
		l->files = f;
	l->files_last = f;
	return f;
}

/* Where to complain about the file itself: where it is named, or at its start. */
static struct conf_pos
file_pos(const struct conf_file *f)
{
	return f->by ? f->at : (struct conf_pos){ f->name, 1, 1 };
}

__attribute__((format(printf, 3, 4)))
static void
file_error(struct conf_load *l, const struct conf_file *f, const char *fmt, ...)
{
	char text[512], name[256];
	va_list ap;

	l->partial = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f->by)
		conf_error(l, f->at, "include: %s %s", conf_quote(f->name, name, sizeof(name)), text);
	else
		conf_error(l, file_pos(f), "the file %s", text);
}

char *
conf_path(struct conf_load *l, struct conf_pos pos, const char *path)
{
	const char *slash = strrchr(pos.file, '/');
	size_t dir = slash && path[0] != '/' ? (size_t)(slash - pos.file) + 1 : 0;
	char *p = arena_get(l->scratch, dir + strlen(path) + 1);

	if (!p) {
		conf_no_memory(l);
		return NULL;
	}
	memcpy(p, pos.file, dir);
	strcpy(p + dir, path);
	return p;
}

/* -- into one tree -- */

static void include_read(struct conf_load *, struct conf_file *, const struct conf_node *);

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

static void
tree_merge(struct conf_load *l, struct conf_file *f, struct conf_node *root)
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

/* -- one file -- */

/* Reads up to one byte more than is allowed. *len bytes; NULL: said why. */
static char *
fd_read(struct conf_load *l, struct conf_file *f, int fd, size_t *len)
{
	size_t cap = 0, at = 0;
	char *buf = NULL, *more;
	ssize_t n;

	for (;;) {
		if (at == cap) {
			cap = cap ? cap * 2 : 16 * 1024;
			more = malloc(cap);
			if (!more)
				break;
			if (at)
				memcpy(more, buf, at);
			if (buf)
				explicit_bzero(buf, at);
			free(buf);
			buf = more;
		}
		n = read(fd, buf + at, cap - at);
		if (n == 0) {
			*len = at;
			return buf;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			file_error(l, f, "cannot be read: %s", strerror(errno));
			goto fail;
		}
		at += (size_t)n;
		if (at > CONF_FILE_MAX) {
			file_error(l, f, "is larger than %d MiB", CONF_FILE_MAX >> 20);
			goto fail;
		}
	}
	conf_no_memory(l);
fail:
	if (buf)
		explicit_bzero(buf, at);
	free(buf);
	return NULL;
}

/* Is it being read, or read already? By what it is, not by how it is called. */
static bool
file_is_new(struct conf_load *l, const struct conf_file *f, bool *loop)
{
	const struct conf_file *g;

	*loop = true;
	for (g = f->by; g; g = g->by) {
		if (g->dev == f->dev && g->ino == f->ino)
			return false;
	}
	*loop = false;
	for (g = l->files; g; g = g->next) {
		if (g != f && g->dev == f->dev && g->ino == f->ino)
			return false;
	}
	return true;
}

static int
file_open(struct conf_load *l, struct conf_file *f)
{
	/* Only the first, named on the command line, may be a pipe. */
	int fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | (f->seq ? O_NONBLOCK : 0));
	struct stat st;

	if (fd < 0) {
		file_error(l, f, "cannot be opened: %s", strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->mode = st.st_mode;
	}
	return fd;
}

static void
file_parse(struct conf_load *l, struct conf_file *f, const char *text, size_t len)
{
	struct conf_node *root;

	if (conf_yaml(l, f, text, len, &root))
		l->partial = true;
	else
		tree_merge(l, f, root);
}

enum twice { TWICE_REFUSED, TWICE_SKIPPED };

static void
file_read(struct conf_load *l, const char *path, struct conf_file *by, struct conf_pos at,
    enum twice twice)
{
	struct conf_file *f;
	bool loop;
	char *text;
	size_t len;
	int fd;

	if (l->nfiles == CONF_FILES_MAX) {
		conf_error(l, at, "more than %d files", CONF_FILES_MAX);
		l->partial = true;
		return;
	}
	f = file_new(l, path);
	if (!f)
		return;
	f->by = by;
	f->at = at;
	fd = file_open(l, f);
	if (fd < 0)
		return;
	if (!file_is_new(l, f, &loop)) {
		if (loop)
			file_error(l, f, "includes itself");
		else if (twice == TWICE_REFUSED)
			file_error(l, f, "is included twice");
	} else if (f->seq && !S_ISREG(f->mode)) {
		file_error(l, f, "is no regular file");
	} else {
		text = fd_read(l, f, fd, &len);
		if (text) {
			file_parse(l, f, text, len);
			explicit_bzero(text, len);
			free(text);
		}
	}
	close(fd);
}

int
conf_read(struct conf_load *l, const char *path)
{
	size_t before = l->nerrors;

	file_read(l, path, NULL, (struct conf_pos){ path, 1, 1 }, TWICE_REFUSED);
	return l->nerrors == before ? 0 : -EINVAL;
}

int
conf_read_text(struct conf_load *l, const char *name, const char *text, size_t len)
{
	struct conf_file *f = file_new(l, name);
	size_t before = l->nerrors;

	if (!f)
		return -ENOMEM;
	l->from_memory = true;
	if (len > CONF_FILE_MAX)
		file_error(l, f, "is larger than %d MiB", CONF_FILE_MAX >> 20);
	else
		file_parse(l, f, text, len);
	return l->nerrors == before ? 0 : -EINVAL;
}

int
conf_read_dropins(struct conf_load *l, const char *pattern)
{
	size_t before = l->nerrors, i;
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (i = 0; i < g.gl_pathc; i++)
		file_read(l, g.gl_pathv[i], NULL, (struct conf_pos){ g.gl_pathv[i], 1, 1 },
		    TWICE_SKIPPED);
	globfree(&g);
	return l->nerrors == before ? 0 : -EINVAL;
}

/* -- include: -- */

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

static void
include_one(struct conf_load *l, struct conf_file *f, const char *pattern, struct conf_pos pos)
{
	char *path;
	glob_t g;
	size_t i;

	if (!strpbrk(pattern, "*?[")) {
		path = conf_path(l, pos, pattern);
		if (path)
			file_read(l, path, f, pos, TWICE_REFUSED);
		return;
	}
	path = folder_escaped(l, f, pattern);
	/* A pattern that matches nothing is an empty folder of drop-ins. */
	if (!path || glob(path, 0, NULL, &g))
		return;
	for (i = 0; i < g.gl_pathc; i++)
		file_read(l, g.gl_pathv[i], f, pos, TWICE_REFUSED);
	globfree(&g);
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
