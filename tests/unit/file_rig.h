/* A file in a folder of its own, as a disk: for every way in which a file can be one. */
#ifndef FILE_RIG_H
#define FILE_RIG_H

#include "disk_rig.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hba/disk/file.h"

enum { SIZE = 8 * 1024 * 1024 };

/* The ways of a request: page cache and ring, threads for the ring, O_DIRECT, O_DSYNC, tmpfs. */
static const struct way {
	const char *name;
	bool threads, direct, write_through, tmpfs;
} ways[] = {
	{ .name = "cached" },
	{ .name = "cached, threads", .threads = true },
	{ .name = "direct", .direct = true },
	{ .name = "direct, threads", .direct = true, .threads = true },
	{ .name = "written through", .write_through = true },
	{ .name = "tmpfs", .tmpfs = true },
};

static char dir[64], path[96];
static struct file_conf conf;

static inline bool
is_tmpfs(const char *p)
{
	struct statfs fs;

	return statfs(p, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* A folder on a real file system, or on tmpfs. False: there is none here. */
static inline bool
folder(bool tmpfs)
{
	const char *const roots[] = { "/var/tmp", "/tmp", "." };

	if (tmpfs) {
		snprintf(dir, sizeof(dir), "/dev/shm/sluice-test-XXXXXX");
		return is_tmpfs("/dev/shm") && mkdtemp(dir);
	}
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		snprintf(dir, sizeof(dir), "%s/sluice-test-XXXXXX", roots[i]);
		if (!is_tmpfs(roots[i]) && mkdtemp(dir))
			return true;
	}
	return false;
}

static inline bool
prepare(const struct way *w)
{
	if (!folder(w->tmpfs))
		return false;
	snprintf(path, sizeof(path), "%s/disk", dir);
	conf = (struct file_conf){
		.path = path,
		.size = SIZE,
		.create = true,
		.direct = w->direct,
		.write_cache = !w->write_through,
	};
	file_ring_refuse = w->threads;
	return true;
}

static inline void
tidy(void)
{
	file_ring_refuse = false;
	file_seam = NULL;
	unlink(path);
	rmdir(dir);
}

static inline char *
aligned(size_t len)
{
	char *buf = aligned_alloc(4096, len);

	assert_non_null(buf);
	return buf;
}

static inline void
write_pattern(uint64_t offset, uint64_t len, unsigned seed, int nseg, unsigned flags)
{
	char *buf = aligned((len + 4095) & ~4095ull);

	drig_fill(buf, offset, len, seed);
	assert_int_equal(drig_io(DISK_WRITE, flags, offset, buf, len, nseg), 0);
	free(buf);
}

/* Forgets the file's pages, so that reads have to wait. */
static inline void
drop_cache(void)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static inline bool
opens(uint32_t block_size, bool read_only)
{
	bool online = drig_open("file", &conf, block_size, read_only);

	drig_close();
	return online;
}

static inline void
make(off_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

#endif
