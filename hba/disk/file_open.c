/* Opening a file or block device as a disk: what it is, how large, what it can. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "conf.h"
#include "log.h"

#include "file.h"
#include "geometry.h"

enum { DIRECT_ALIGN_MAX = 4096 };

/* An open in progress. */
struct opening {
	struct disk *disk;
	const struct file_conf *conf;
	struct file_disk *fd;
	struct stat st;
	uint64_t bytes;			/* all of the file or device */
};

/* Says what is wrong with the path; returns err. */
static int
refuse(const struct opening *o, int err, const char *why)
{
	log_err("disk %s: %s: %s", o->disk->name, o->conf->path, why);
	return err;
}

/* The name of a new file is durable only when its folder is. */
static int
sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd, err = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static int
make_file(const struct opening *o)
{
	int fd, err = 0;

	if (o->conf->size == 0)
		return refuse(o, -EINVAL, "create needs size");
	fd = open(o->conf->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		/* Somebody else made it meanwhile: then it is theirs, and used as it is. */
		return errno == EEXIST ? 0 : refuse(o, -errno, strerror(errno));
	if (ftruncate(fd, (off_t)o->conf->size) || fsync(fd))
		err = -errno;
	close(fd);
	if (!err)
		err = sync_folder(o->conf->path);
	if (err) {
		unlink(o->conf->path);
		return refuse(o, err, strerror(-err));
	}
	log_info("disk %s: made %s", o->disk->name, o->conf->path);
	return 0;
}

/* Before opening: opening alone does something to a tape, a terminal or a FIFO. */
static int
check_type(struct opening *o)
{
	int err;

	if (stat(o->conf->path, &o->st)) {
		if (errno != ENOENT || !o->conf->create || o->disk->conf->read_only)
			return refuse(o, -errno, errno != ENOENT ? strerror(errno) :
			    "does not exist (`create: yes` with `size` makes it)");
		err = make_file(o);
		if (err)
			return err;
		if (stat(o->conf->path, &o->st))
			return refuse(o, -errno, strerror(errno));
	}
	if (S_ISDIR(o->st.st_mode))
		return refuse(o, -EISDIR, "is a directory");
	if (!S_ISREG(o->st.st_mode) && !S_ISBLK(o->st.st_mode))
		return refuse(o, -EINVAL, "is neither a regular file nor a block device");
	return 0;
}

static int
open_flags(const struct opening *o)
{
	int flags = O_CLOEXEC | (o->disk->conf->read_only ? O_RDONLY : O_RDWR);

	/* What is reported is what happens: WCE = 0 is this flag (K37). */
	if (!o->conf->write_cache)
		flags |= O_DSYNC;
	return flags;
}

static int
open_fd(const struct opening *o, int flags)
{
	int fd, err;

	do {
		fd = open(o->conf->path, flags);
		err = -errno;
	} while (fd < 0 && err == -EBUSY && file_claim_wait(o->disk, o->conf->path));
	if (fd >= 0)
		return fd;
	switch (-err) {
	case EBUSY:
		return refuse(o, err, "in use: mounted, or part of something else");
	case EACCES:
	case EROFS:
	case EPERM:
		return refuse(o, err, o->disk->conf->read_only ? strerror(-err) :
		    "may not be written (`read_only: yes` exports it as it is)");
	case EINVAL:
		return refuse(o, err, !(flags & O_DIRECT) ? strerror(-err) :
		    "does not take `direct: yes`");
	default:
		return refuse(o, err, strerror(-err));
	}
}

static int
open_file(struct opening *o)
{
	struct stat st;
	int flags = open_flags(o), excl = S_ISBLK(o->st.st_mode) ? O_EXCL : 0;
	int err = file_claim(o->disk, o->conf->path, &o->st);

	if (err)
		return err;
	/* On a block device O_EXCL refuses what is mounted, and a second export of it. */
	o->fd->fd = open_fd(o, flags | excl | (o->conf->direct ? O_DIRECT : 0));
	if (o->fd->fd < 0)
		return o->fd->fd;
	if (fstat(o->fd->fd, &st))
		return refuse(o, -errno, strerror(errno));
	if (st.st_dev != o->st.st_dev || st.st_ino != o->st.st_ino)
		return refuse(o, -EAGAIN, "was replaced while it was opened");
	o->st = st;
	/* Two writers would each cache what the other changes (K39); many readers are fine. */
	if (S_ISREG(st.st_mode)) {
		err = file_claim_lock(o->disk, o->conf->path);
		if (err)
			return err;
	}
	if (o->conf->direct) {
		o->fd->plain_fd = open_fd(o, flags);
		if (o->fd->plain_fd < 0)
			return o->fd->plain_fd;
	}
	return 0;
}

static int
device_size(struct opening *o, uint32_t *logical)
{
	unsigned physical;
	int block;

	if (ioctl(o->fd->fd, BLKGETSIZE64, &o->bytes) || ioctl(o->fd->fd, BLKSSZGET, &block) ||
	    ioctl(o->fd->fd, BLKPBSZGET, &physical))
		return refuse(o, -errno, strerror(errno));
	*logical = (uint32_t)block;
	o->disk->phys_size = physical;
	return 0;
}

/* The smallest unit that O_DIRECT takes here: tried out, because file systems differ. */
static uint32_t
direct_align(const struct opening *o)
{
	uint32_t align = 512;
	char *mem;

	if (posix_memalign((void **)&mem, DIRECT_ALIGN_MAX, 2 * DIRECT_ALIGN_MAX))
		return DIRECT_ALIGN_MAX;
	while (align < DIRECT_ALIGN_MAX && pread(o->fd->fd, mem + align, align, align) < 0)
		align *= 2;
	free(mem);
	return align;
}

static int
set_size(struct opening *o)
{
	struct disk *d = o->disk;
	uint32_t unit = 1;
	int err;

	if (S_ISBLK(o->st.st_mode)) {
		err = device_size(o, &unit);
		if (err)
			return err;
	} else {
		o->bytes = (uint64_t)o->st.st_size;
		d->phys_size = DIRECT_ALIGN_MAX;
	}
	if (o->conf->size > o->bytes) {
		log_err("disk %s: %s: holds %llu bytes, `size` asks for %llu", d->name,
		    o->conf->path, (unsigned long long)o->bytes,
		    (unsigned long long)o->conf->size);
		return -EINVAL;
	}
	if (o->conf->direct) {
		o->fd->align = direct_align(o);
		unit = MAX(unit, o->fd->align);
	}
	/* Without `direct` the page cache reads, changes and writes what is smaller. */
	if (o->conf->direct && d->block_size % unit) {
		log_err("disk %s: %s: `direct` needs `block_size: %u` here", d->name, o->conf->path,
		    unit);
		return -EINVAL;
	}
	return disk_size_set(d, o->conf->size ? o->conf->size : o->bytes);
}

/* A limit of a block device: the number in its queue's folder, 0 when there is none. */
static uint64_t
device_limit(const struct opening *o, const char *name)
{
	unsigned long long n = 0;
	char path[96];
	FILE *f = NULL;

	/* A partition has no queue of its own; its disk, one folder up, has. */
	for (int up = 0; up < 2 && !f; up++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%squeue/%s",
		    major(o->st.st_rdev), minor(o->st.st_rdev), up ? "../" : "", name);
		f = fopen(path, "re");
	}
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static bool
can_punch(const struct opening *o)
{
	uint64_t behind = (o->bytes | (DIRECT_ALIGN_MAX - 1)) + 1;

	if (S_ISBLK(o->st.st_mode))
		return device_limit(o, "write_zeroes_max_bytes") > 0;
	/* A hole behind the end changes nothing. */
	return fallocate(o->fd->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)behind,
	    DIRECT_ALIGN_MAX) == 0;
}

/* The kernel can say "not now" instead of waiting. It looks at the flag before all else. */
static bool
knows_nowait(int fd)
{
	static _Alignas(DIRECT_ALIGN_MAX) char mem[DIRECT_ALIGN_MAX];
	struct iovec iov = { mem, sizeof(mem) };

	return preadv2(fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP;
}

static void
set_caps(struct opening *o)
{
	struct disk *d = o->disk;
	struct statfs fs;

	d->caps = DISK_CAP_FUA;
	if (o->conf->write_cache)
		d->caps |= DISK_CAP_WRITE_CACHE;
	else
		o->fd->write_through = true;
	if (S_ISREG(o->st.st_mode) && fstatfs(o->fd->fd, &fs) == 0 &&
	    ((unsigned)fs.f_type == TMPFS_MAGIC || (unsigned)fs.f_type == RAMFS_MAGIC)) {
		o->fd->memory = true;
		d->caps |= DISK_CAP_INLINE;
	}
	if (S_ISREG(o->st.st_mode))
		d->caps |= DISK_CAP_STATUS;
	o->fd->async = !knows_nowait(o->fd->fd) ||
	    (o->fd->plain_fd >= 0 && !knows_nowait(o->fd->plain_fd));
	o->fd->nowait = !o->conf->direct && !o->fd->async;
	if (d->conf->read_only)
		return;
	if (can_punch(o)) {
		d->caps |= DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO;
		d->unmap_granularity = S_ISBLK(o->st.st_mode) ?
		    (uint32_t)device_limit(o, "discard_granularity") : DIRECT_ALIGN_MAX;
	} else if (S_ISBLK(o->st.st_mode)) {
		/* Without help from the device the kernel writes zeros. */
		d->caps |= DISK_CAP_ZERO;
	}
}

int
file_open(struct disk *d)
{
	struct opening o = { .disk = d, .conf = d->conf->opts };
	int err;

	o.fd = calloc(1, sizeof(*o.fd));
	if (!o.fd)
		return -ENOMEM;
	o.fd->fd = o.fd->plain_fd = -1;
	list_init(&o.fd->claim.link);
	d->priv = o.fd;
	err = check_type(&o);
	if (!err)
		err = open_file(&o);
	if (!err)
		err = set_size(&o);
	if (err) {
		file_close(d);
		return err;
	}
	set_caps(&o);
	return 0;
}

void
file_close(struct disk *d)
{
	struct file_disk *fd = d->priv;

	list_del(&fd->claim.link);
	if (fd->plain_fd >= 0)
		close(fd->plain_fd);
	if (fd->fd >= 0)
		close(fd->fd);
	free(fd);
	d->priv = NULL;
}
