/* What a request to a file needs from the kernel, one call at a time. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "log.h"

/* An interrupted call is asked again; a kernel that never stops saying so is broken. */
enum { RETRIES_MAX = 1000 };

int (*file_seam)(const struct disk_io *, int res);

static struct file_disk *
disk_of(const struct disk_io *io)
{
	return io->disk->priv;
}

/*
 * What io->result may hold (disk.h). What the path to the blocks has done is
 * told apart from what the medium has: the initiator tries it again or takes
 * another path. EILSEQ is none of these here: the block layer means protection
 * information by it, disk.h a miscompare.
 */
static int
result_of(int err)
{
	switch (err) {
	case 0:
	case -ENOSPC:
	case -ENODEV:
	case -EROFS:
	case -ENOMEM:
	case -EAGAIN:
	case -ETIMEDOUT:
	case -EOPNOTSUPP:
		return err;
	case -EDQUOT:
	case -EFBIG:
		return -ENOSPC;
	case -ENXIO:
	case -ENOTCONN:		/* FUSE: its server has ended, */
	case -ECONNABORTED:	/* or was cut off */
	case -ESTALE:		/* NFS: the file is gone */
		return -ENODEV;
	case -EPERM:
		return -EROFS;
	case -ETIME:		/* the block layer: a command duration limit, */
	case -ENOLINK:		/* the transport failed */
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

static const char *const op_words[DISK_OPS] = {
	[DISK_READ] = "read",
	[DISK_WRITE] = "write",
	[DISK_FLUSH] = "flush",
	[DISK_UNMAP] = "unmap",
	[DISK_ZERO] = "write of zeros",
	[DISK_COMPARE_WRITE] = "compare and write",
	[DISK_STATUS] = "search for holes",
};

static bool
finish(struct disk_io *io, int err)
{
	const char *name = io->disk->name, *why = strerror(-err);

	io->result = result_of(err);
	if (!err)
		return true;
	if (io->op == DISK_FLUSH)
		log_peer(LOG_LEVEL_ERR, name, "disk %s: flush: %s", name, why);
	else
		log_peer(LOG_LEVEL_ERR, name, "disk %s: %s of %llu bytes at byte %llu: %s", name,
		    op_words[io->op], (unsigned long long)io->len,
		    (unsigned long long)io->offset, why);
	return true;
}

bool
file_begin(struct disk_io *io)
{
	struct file_disk *fd = disk_of(io);
	struct file_io *fio = file_io_of(io);
	bool durable = io->op == DISK_FLUSH || (io->op != DISK_READ && io->flags & DISK_FUA);

	io->result = 0;
	fio->done = 0;
	fio->retries = 0;
	fio->syncing = 0;
	if (durable && atomic_load_explicit(&fd->sync_failed, memory_order_relaxed)) {
		io->result = -EIO;
		return false;
	}
	if (io->op == DISK_COMPARE_WRITE) {
		io->result = -EOPNOTSUPP;
		return false;
	}
	return true;
}

/* With `direct`: may the kernel move it between this memory and the device itself? */
static bool
step_is_aligned(const struct file_step *s, uint32_t align)
{
	uintptr_t bits = s->offset;

	if (s->iov)
		for (int i = 0; i < s->niov; i++)
			bits |= (uintptr_t)s->iov[i].iov_base | s->iov[i].iov_len;
	else
		bits |= (uintptr_t)s->buf | s->len;
	return (bits & (align - 1)) == 0;
}

static void
next_transfer(struct disk_io *io, struct file_step *s)
{
	struct file_disk *fd = disk_of(io);
	uint64_t skip = file_io_of(io)->done;

	s->call = io->op == DISK_READ ? FILE_READ : FILE_WRITE;
	s->fd = fd->fd;
	s->offset = io->offset + skip;
	s->flags = io->op == DISK_WRITE && io->flags & DISK_FUA ? RWF_DSYNC : 0;
	s->iov = NULL;
	if (skip == 0 && io->niov > 1) {
		s->iov = io->iov;
		s->niov = io->niov;
	} else {
		int i = 0;

		/* After a short answer: the rest of one segment, so that it needs no second iov. */
		while (skip >= io->iov[i].iov_len)
			skip -= io->iov[i++].iov_len;
		s->buf = (char *)io->iov[i].iov_base + skip;
		s->len = (uint32_t)(io->iov[i].iov_len - skip);
	}
	if (fd->plain_fd >= 0 && !step_is_aligned(s, fd->align))
		s->fd = fd->plain_fd;
}

static void
next_allocate(struct disk_io *io, struct file_step *s)
{
	struct file_disk *fd = disk_of(io);
	bool hole = io->op == DISK_UNMAP ||
	    atomic_load_explicit(&fd->zero_by_hole, memory_order_relaxed);

	file_io_of(io)->hole = hole;
	s->call = FILE_ALLOCATE;
	s->fd = fd->fd;
	s->offset = io->offset;
	s->range = io->len;
	s->flags = FALLOC_FL_KEEP_SIZE | (hole ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);
}

static void
next_sync(struct disk_io *io, struct file_step *s)
{
	s->call = FILE_SYNC;
	s->fd = disk_of(io)->fd;
}

void
file_next(struct disk_io *io, struct file_step *s)
{
	switch ((enum disk_op)io->op) {
	case DISK_READ:
	case DISK_WRITE:
		next_transfer(io, s);
		break;
	case DISK_UNMAP:
	case DISK_ZERO:
		if (file_io_of(io)->syncing)
			next_sync(io, s);
		else
			next_allocate(io, s);
		break;
	case DISK_FLUSH:
	case DISK_COMPARE_WRITE:
	case DISK_STATUS:
	case DISK_OPS:
		next_sync(io, s);
	}
}

/* K27: what lies behind the end of the file is zeros, never what the memory held before. */
static void
zero_rest(struct disk_io *io)
{
	uint64_t skip = file_io_of(io)->done;

	for (int i = 0; i < io->niov; i++) {
		uint64_t len = io->iov[i].iov_len, from = MIN(skip, len);

		memset((char *)io->iov[i].iov_base + from, 0, len - from);
		skip -= from;
	}
}

static bool
transfer_answer(struct disk_io *io, int res)
{
	struct file_disk *fd = disk_of(io);
	struct file_io *fio = file_io_of(io);

	if (res < 0) {
		/*
		 * The failed sync may have been of earlier writes, and the
		 * kernel reports it once. ENOSPC is the write's own.
		 */
		if (io->op == DISK_WRITE && io->flags & DISK_FUA && res != -ENOSPC &&
		    res != -EDQUOT)
			atomic_store_explicit(&fd->sync_failed, true, memory_order_relaxed);
		return finish(io, res);
	}
	if (res == 0) {
		if (io->op == DISK_WRITE)
			return finish(io, -EIO);
		zero_rest(io);
		return finish(io, 0);
	}
	fio->done += (uint32_t)res;
	return fio->done >= io->len ? finish(io, 0) : false;
}

/* K38: the kernel forgets a failed sync once it was told; the initiator's data is still lost. */
static bool
sync_answer(struct disk_io *io, int res)
{
	finish(io, MIN(res, 0));
	if (res < 0) {
		atomic_store_explicit(&disk_of(io)->sync_failed, true, memory_order_relaxed);
		io->result = -EIO;
	}
	return true;
}

static bool
allocate_answer(struct disk_io *io, int res)
{
	struct file_disk *fd = disk_of(io);

	if (file_io_of(io)->syncing)
		return sync_answer(io, res);
	if (res == -EOPNOTSUPP && !file_io_of(io)->hole) {
		atomic_store_explicit(&fd->zero_by_hole, true, memory_order_relaxed);
		return false;
	}
	/* O_DSYNC does not reach fallocate. */
	if (res == 0 && (fd->write_through || io->flags & DISK_FUA)) {
		file_io_of(io)->syncing = 1;
		return false;
	}
	return finish(io, res);
}

bool
file_answer(struct disk_io *io, int res)
{
	if (unlikely(file_seam != NULL))
		res = file_seam(io, res);
	if (res == -EINTR || res == -EAGAIN)
		return ++file_io_of(io)->retries < RETRIES_MAX ? false : finish(io, res);
	switch ((enum disk_op)io->op) {
	case DISK_READ:
	case DISK_WRITE:
		return transfer_answer(io, res);
	case DISK_UNMAP:
	case DISK_ZERO:
		return allocate_answer(io, res);
	case DISK_FLUSH:
	case DISK_COMPARE_WRITE:
	case DISK_STATUS:
	case DISK_OPS:
		break;
	}
	return sync_answer(io, res);
}

static int
step_run(const struct file_step *s)
{
	struct iovec one = { s->buf, s->len };
	const struct iovec *iov = s->iov ? s->iov : &one;
	int niov = s->iov ? s->niov : 1;
	ssize_t n = -1;

	switch (s->call) {
	case FILE_READ:
		n = preadv2(s->fd, iov, niov, (off_t)s->offset, 0);
		break;
	case FILE_WRITE:
		n = pwritev2(s->fd, iov, niov, (off_t)s->offset, s->flags);
		break;
	case FILE_SYNC:
		n = fdatasync(s->fd);
		break;
	case FILE_ALLOCATE:
		n = fallocate(s->fd, s->flags, (off_t)s->offset, (off_t)s->range);
		break;
	}
	return n < 0 ? -errno : (int)n;
}

void
file_run(struct disk_io *io)
{
	struct file_step s;

	do
		file_next(io, &s);
	while (!file_answer(io, step_run(&s)));
}
