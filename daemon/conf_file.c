/* One file of the configuration: opened, read whole, parsed; the same file not twice. */
#include "conf_load.h"

#include <errno.h>
#include <fcntl.h>
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
		conf_tree_add(l, f, root);
}

void
conf_file_read(struct conf_load *l, const char *path, struct conf_file *by, struct conf_pos at,
    enum conf_twice twice)
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
		else if (twice == CONF_TWICE_REFUSED)
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

void
conf_read(struct conf_load *l, const char *path)
{
	conf_file_read(l, path, NULL, (struct conf_pos){ path, 1, 1 }, CONF_TWICE_REFUSED);
}

void
conf_read_text(struct conf_load *l, const char *name, const char *text, size_t len)
{
	struct conf_file *f = file_new(l, name);

	if (!f)
		return;
	l->from_memory = true;
	if (len > CONF_FILE_MAX)
		file_error(l, f, "is larger than %d MiB", CONF_FILE_MAX >> 20);
	else
		file_parse(l, f, text, len);
}
