/* Disks in files and on block devices: keys, queues, and a short way for what needs no waiting. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "conf.h"
#include "log.h"

static const struct conf_key file_keys[] = {
	{ .name = "path", .type = CONF_TEXT, .flags = CONF_REQUIRED,
	    .offset = offsetof(struct file_conf, path),
	    .help = "a regular file or a block device" },
	{ .name = "size", .type = CONF_SIZE, .offset = offsetof(struct file_conf, size),
	    .help = "bytes to export; absent: all of it; needed with create" },
	{ .name = "create", .type = CONF_BOOL, .offset = offsetof(struct file_conf, create),
	    .fallback = "no", .help = "make a sparse file of `size` when there is none" },
	{ .name = "direct", .type = CONF_BOOL, .offset = offsetof(struct file_conf, direct),
	    .fallback = "no", .help = "O_DIRECT: past the page cache" },
	{ .name = "write_cache", .type = CONF_BOOL,
	    .offset = offsetof(struct file_conf, write_cache), .fallback = "yes",
	    .help = "writes are durable after a flush; no: when they are answered (O_DSYNC)" },
	{ .name = NULL },
};

static int
file_queue_open(struct disk *d, struct reactor *r)
{
	int err = file_pool_get(file_ring_get(r) ? FILE_WORKERS : 1);

	if (err && file_rings[reactor_id(r)])
		file_ring_put(r);
	return err;
}

static void
file_queue_close(struct disk *d, struct reactor *r)
{
	if (file_rings[reactor_id(r)])
		file_ring_put(r);
	file_pool_put();
}

/* Not at once: through this reactor's ring, or a worker. */
static enum disk_result
submit_later(struct disk_io *io)
{
	struct reactor *r = reactor_self();
	struct file_ring *ring = file_rings[reactor_id(r)];

	file_io_of(io)->home = r;
	if (likely(ring != NULL && io->op != DISK_STATUS))
		file_ring_submit(ring, io);
	else
		file_pool_submit(io);
	return DISK_PENDING;
}

/* The page cache has all of it in most cases: one system call. The rest is read later. */
static enum disk_result
read_cached(struct disk_io *io, struct file_disk *fd)
{
	ssize_t n = preadv2(fd->fd, io->iov, io->niov, (off_t)io->offset, RWF_NOWAIT);

	if (likely(n == (ssize_t)io->len))
		return DISK_DONE;
	if (n > 0)
		file_io_of(io)->done = (uint32_t)n;
	else if (n < 0 && errno == EOPNOTSUPP)
		atomic_store_explicit(&fd->nowait, false, memory_order_relaxed);
	return submit_later(io);
}

/* tmpfs: a copy. What is short or interrupted takes the general way, still here. */
static enum disk_result
transfer_memory(struct disk_io *io, struct file_disk *fd)
{
	ssize_t n;

	if (io->op == DISK_READ)
		n = preadv(fd->fd, io->iov, io->niov, (off_t)io->offset);
	else
		n = pwritev(fd->fd, io->iov, io->niov, (off_t)io->offset);
	if (unlikely(n != (ssize_t)io->len) && !file_answer(io, n < 0 ? -errno : (int)n))
		file_run(io);
	return DISK_DONE;
}

static enum disk_result
file_submit(struct disk_io *io)
{
	struct file_disk *fd = io->disk->priv;

	if (unlikely(!file_begin(io)))
		return DISK_DONE;
	if (io->op == DISK_READ || io->op == DISK_WRITE) {
		if (fd->memory)
			return transfer_memory(io, fd);
		if (io->op == DISK_READ && atomic_load_explicit(&fd->nowait, memory_order_relaxed))
			return read_cached(io, fd);
	}
	if (io->op == DISK_STATUS && fd->memory) {
		file_status(io);
		return DISK_DONE;
	}
	return submit_later(io);
}

static const struct disk_driver file_driver = {
	.name = "file",
	.help = "a regular file or a block device",
	.keys = file_keys,
	.conf_size = sizeof(struct file_conf),
	.open = file_open,
	.close = file_close,
	.queue_open = file_queue_open,
	.queue_close = file_queue_close,
	.submit = file_submit,
};
REGISTER(disk_drivers, struct disk_driver, &file_driver);
