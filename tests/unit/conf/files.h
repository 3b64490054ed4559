/* A folder of its own for tests that read files; the test runs in it. */
#ifndef CONF_FILES_H
#define CONF_FILES_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/conf/check.h"

static char files_dir[] = "/tmp/sluice-conf-XXXXXX";
static int files_home;			/* where it began */

__attribute__((unused))
static int
files_begin(void **state)
{
	files_home = open(".", O_RDONLY | O_DIRECTORY);
	return files_home < 0 || !mkdtemp(files_dir) || chdir(files_dir) ? -1 : 0;
}

static int
file_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Everything in the folder goes. */
__attribute__((unused))
static int
files_end(void **state)
{
	return fchdir(files_home) || nftw(files_dir, file_remove, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused))
static void
file_write(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(name, mode), 0);
}

/* Loads path (and the pattern of drop-ins), and gives back what was said. */
__attribute__((unused))
static struct conf *
files_load(const char *path, const char *dropins, char **errors)
{
	struct conf *conf;
	size_t size;
	FILE *f = open_memstream(errors, &size);
	int e = dropins ? conf_load_default(path, dropins, &conf, f) : conf_load(path, &conf, f);

	fclose(f);
	assert_int_equal(e, conf ? 0 : -EINVAL);
	return conf;
}

/* Loads it, expects these lines. */
__attribute__((unused))
static void
files_say(const char *path, const char *dropins, const char *expected)
{
	char *errors;
	struct conf *conf = files_load(path, dropins, &errors);

	assert_string_equal(errors, expected);
	free(errors);
	conf_free(conf);
}

#endif
