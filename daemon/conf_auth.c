/* `auth:`: CHAP names and secrets, from the configuration or from files of their own. */
#include "conf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

enum {
	SECRET_MAX = 255,
	SECRET_GOOD = 12,		/* RFC 7143 9.2.1: less than 96 bits is too few */
};

static const char *const algorithms[] = {
	[CHAP_SHA3_256] = "sha3-256", [CHAP_SHA256] = "sha256", [CHAP_SHA1] = "sha1",
	[CHAP_MD5] = "md5", NULL
};

#define AT(f) .offset = offsetof(struct conf_auth, f)
const struct conf_key conf_auth_keys[] = {
	{ "name", CONF_TEXT, CONF_REQUIRED, AT(name), .min = 1, .max = 63 },
	{ "user", CONF_TEXT, CONF_REQUIRED, AT(user), .min = 1, .max = 255,
	    .help = "CHAP name of the initiator" },
	{ "secret", CONF_TEXT, AT(secret), .min = 1, .max = SECRET_MAX },
	{ "mutual_user", CONF_TEXT, AT(mutual_user), .min = 1, .max = 255,
	    .help = "CHAP name of the target" },
	{ "mutual_secret", CONF_TEXT, AT(mutual_secret), .min = 1, .max = SECRET_MAX },
	{ "algorithms", CONF_WORDS, AT(algorithms), .words = algorithms,
	    .fallback = "[sha3-256, sha256, sha1, md5]", .help = "the first that both sides know" },
	{ .name = NULL }
};
#undef AT

struct secret_files {
	char *secret, *mutual;
};
static const struct conf_key file_keys[] = {
	{ "secret_file", CONF_TEXT, .offset = offsetof(struct secret_files, secret) },
	{ "mutual_secret_file", CONF_TEXT, .offset = offsetof(struct secret_files, mutual) },
	{ .name = NULL }
};

/* What is wrong with a secret file; NULL: nothing. */
static const char *
secret_file_check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return "is open to group or others; chmod 600 it";
	if (st.st_size > SECRET_MAX + 2)
		return "is longer than a secret and a newline";
	return NULL;
}

/* The line in the file, without its end. NULL: *wrong says what. */
static char *
secret_file_line(struct conf_load *l, int fd, const char **wrong)
{
	char buf[SECRET_MAX + 3], *text = NULL;
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0 && buf[n - 1] == '\n')
		n--;
	if (n > 0 && buf[n - 1] == '\r')
		n--;
	if (n < 0)
		*wrong = strerror(errno);
	else if (n == 0)
		*wrong = "holds no secret";
	else if (n > SECRET_MAX)
		*wrong = "is longer than a secret and a newline";
	else if (memchr(buf, '\n', n) || memchr(buf, '\0', n))
		*wrong = "holds more than one line, or a NUL byte";
	else if (!(text = arena_text(l->keep, buf, n)))
		conf_no_memory(l);
	explicit_bzero(buf, sizeof(buf));
	return text;
}

static char *
secret_file_read(struct conf_load *l, const struct conf_node *n, const char *name)
{
	const char *wrong = NULL;
	char *path, *text = NULL, quoted[256];
	int fd;

	if (l->from_memory) {
		conf_error(l, n->pos, "%s: files are not read here", n->key);
		return NULL;
	}
	path = conf_path(l, n->pos, name);
	if (!path)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		wrong = strerror(errno);
	} else {
		wrong = secret_file_check(fd);
		if (!wrong)
			text = secret_file_line(l, fd, &wrong);
		close(fd);
	}
	if (wrong)
		conf_error(l, n->pos, "%s: %s: %s", n->key, conf_quote(path, quoted, sizeof(quoted)),
		    wrong);
	return text;
}

/* One of the pair: the secret itself, or its file. key and file: their names. */
static void
secret_choose(struct conf_load *l, const struct conf_node *map, const char *key, const char *file,
    const char *path, char **secret)
{
	const struct conf_node *n = conf_node_get(map, key), *f = conf_node_get(map, file);
	const struct conf_file *holder = conf_file_of(l, map->pos);

	if (n && f)
		conf_error(l, f->key_pos, "%s and %s exclude each other", file, key);
	else if (n && holder && holder->mode & (S_IROTH | S_IRGRP))
		conf_warning(l, n->key_pos, "%s: others than the owner may read this file", key);
	else if (path)
		*secret = secret_file_read(l, f, path);
	if (*secret && strlen(*secret) < SECRET_GOOD)
		conf_warning(l, n ? n->pos : f->pos,
		    "%s: fewer than %d bytes can be guessed (RFC 7143 9.2.1)", key, SECRET_GOOD);
}

static bool
has(const struct conf_node *map, const char *key)
{
	return conf_node_get(map, key) != NULL;
}

static void
auth_check(struct conf_load *l, const struct conf_node *map, const struct conf_auth *a)
{
	bool mutual_secret = has(map, "mutual_secret") || has(map, "mutual_secret_file");

	if (!has(map, "secret") && !has(map, "secret_file"))
		conf_error(l, map->pos, "an auth: secret or secret_file is missing");
	if (has(map, "mutual_user") != mutual_secret)
		conf_error(l, map->pos, "an auth: %s is missing", mutual_secret ? "mutual_user" :
		    "mutual_secret or mutual_secret_file");
	/* RFC 7143 9.2.1: else the answer to one side's challenge serves the other. */
	if (a->secret && a->mutual_secret && strcmp(a->secret, a->mutual_secret) == 0)
		conf_error(l, map->pos, "secret and mutual_secret must differ (RFC 7143 9.2.1)");
	if (a->name && strcmp(a->name, "none") == 0)
		conf_error(l, conf_node_get(map, "name")->pos, "name: none is reserved");
}

int
conf_auths(struct conf_load *l, const struct conf_node *list, void *out)
{
	const struct conf_node *n;
	struct conf_auth *a;

	if (!conf_want(l, list, NODE_LIST, "auth"))
		return -EINVAL;
	for (n = list->first; n; n = n->next) {
		struct secret_files f = { NULL, NULL };
		struct conf_rows rows[] = { { conf_auth_keys, NULL }, { file_keys, &f } };

		if (!conf_want(l, n, NODE_MAP, "an auth"))
			continue;
		rows[0].base = a = conf_opts(l, sizeof(*a));
		if (!a)
			return -ENOMEM;
		a->pos = n->pos;
		list_add_tail(&l->conf->auths, &a->link);
		conf_map(l, n, "an auth", rows, ARRAY_LEN(rows));
		secret_choose(l, n, "secret", "secret_file", f.secret, &a->secret);
		secret_choose(l, n, "mutual_secret", "mutual_secret_file", f.mutual,
		    &a->mutual_secret);
		auth_check(l, n, a);
		if (a->name)
			conf_name_own(l, NAME_AUTH, a->name, conf_node_get(n, "name")->pos, a);
	}
	return 0;
}
