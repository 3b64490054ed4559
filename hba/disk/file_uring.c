/* An io_uring on each reactor, for everything on files that has to wait. */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "log.h"

enum {
	RING_ENTRIES = 256,
	RING_COMPLETIONS = 4096,
	REAP_MAX = 256,			/* in one go, so that sockets have their turn */
};

/* Owned by its reactor, made with its first file disk. */
struct file_ring {
	struct io_uring u;
	struct poller poller;
	struct watch watch;
	unsigned users;			/* disks */
	unsigned queued;		/* entries the kernel has not seen */
	struct list backlog;		/* file_io: no entry was free */
};

struct file_ring *file_rings[REACTORS_MAX];
bool file_ring_refuse;
/* Once refused, always: all disks of a reactor go the same way. */
static bool refused[REACTORS_MAX];

static void
prep(struct io_uring_sqe *sqe, struct disk_io *io)
{
	const struct file_disk *fd = io->disk->priv;
	struct file_step s;

	file_next(io, &s);
	switch (s.call) {
	case FILE_READ:
		if (s.iov)
			io_uring_prep_readv2(sqe, s.fd, s.iov, (unsigned)s.niov, s.offset, 0);
		else
			io_uring_prep_read(sqe, s.fd, s.buf, s.len, s.offset);
		break;
	case FILE_WRITE:
		if (s.iov)
			io_uring_prep_writev2(sqe, s.fd, s.iov, (unsigned)s.niov, s.offset,
			    s.flags);
		else {
			io_uring_prep_write(sqe, s.fd, s.buf, s.len, s.offset);
			sqe->rw_flags = s.flags;
		}
		break;
	case FILE_SYNC:
		io_uring_prep_fsync(sqe, s.fd, IORING_FSYNC_DATASYNC);
		break;
	case FILE_ALLOCATE:
		io_uring_prep_fallocate(sqe, s.fd, s.flags, (off_t)s.offset, (off_t)s.range);
		break;
	}
	/* The kernel tries what can be polled at once, also where trying is waiting (FUSE). */
	if (unlikely(fd->async))
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	io_uring_sqe_set_data(sqe, io);
}

/* All entries of a turn with one system call. What the kernel does not take now stays queued. */
static void
ring_flush(struct file_ring *ring)
{
	int n = io_uring_submit(&ring->u);

	if (n > 0)
		ring->queued -= MIN((unsigned)n, ring->queued);
}

static bool
ring_add(struct file_ring *ring, struct disk_io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->u);

	if (!sqe) {
		ring_flush(ring);
		sqe = io_uring_get_sqe(&ring->u);
	}
	if (!sqe)
		return false;
	prep(sqe, io);
	ring->queued++;
	return true;
}

void
file_ring_submit(struct file_ring *ring, struct disk_io *io)
{
	/* Behind those that wait already. */
	if (!list_empty(&ring->backlog) || !ring_add(ring, io))
		list_add_tail(&ring->backlog, &file_io_of(io)->link);
}

static bool
ring_reap(struct file_ring *ring)
{
	struct io_uring_cqe *cqe;
	unsigned n = 0;

	while (n < REAP_MAX && io_uring_peek_cqe(&ring->u, &cqe) == 0) {
		struct disk_io *io = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		/* Before anything else: the next submit comes from within disk_io_done. */
		io_uring_cqe_seen(&ring->u, cqe);
		if (file_answer(io, res))
			disk_io_done(io);
		else
			file_ring_submit(ring, io);
		n++;
	}
	return n > 0;
}

static bool
ring_poll(struct poller *p)
{
	struct file_ring *ring = container_of(p, struct file_ring, poller);
	bool busy = ring->queued > 0;

	while (!list_empty(&ring->backlog)) {
		struct file_io *fio = list_first(&ring->backlog, struct file_io, link);

		busy = true;
		if (!ring_add(ring, file_io_back(fio)))
			break;
		list_del(&fio->link);
	}
	if (ring->queued)
		ring_flush(ring);
	return ring_reap(ring) || busy;
}

static bool
ring_idle(struct poller *p)
{
	struct file_ring *ring = container_of(p, struct file_ring, poller);

	return ring->queued == 0 && list_empty(&ring->backlog) && io_uring_cq_ready(&ring->u) == 0;
}

static void
ring_readable(struct watch *w, short what)
{
	ring_reap(container_of(w, struct file_ring, watch));
}

static int
ring_init(struct io_uring *u)
{
	/* Completions run when this thread enters the kernel anyway, not by interrupting it. */
	struct io_uring_params p = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
		    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
		.cq_entries = RING_COMPLETIONS,
	};
	int err = io_uring_queue_init_params(RING_ENTRIES, u, &p);

	if (err != -EINVAL)
		return err;
	/* Kernels before 6.0. */
	p = (struct io_uring_params){
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
		.cq_entries = RING_COMPLETIONS,
	};
	return io_uring_queue_init_params(RING_ENTRIES, u, &p);
}

int
file_ring_get(struct reactor *r)
{
	struct file_ring **slot = &file_rings[reactor_id(r)], *ring = *slot;
	int err;

	if (ring) {
		ring->users++;
		return 0;
	}
	if (file_ring_refuse || refused[reactor_id(r)])
		return -ENOSYS;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	err = ring_init(&ring->u);
	if (err) {
		free(ring);
		refused[reactor_id(r)] = true;
		log_info("reactor %u: no io_uring (%s): files are served by threads", reactor_id(r),
		    strerror(-err));
		return err;
	}
	ring->users = 1;
	list_init(&ring->backlog);
	ring->poller.poll = ring_poll;
	ring->poller.idle = ring_idle;
	poller_add(r, &ring->poller);
	watch_init(&ring->watch, r, ring->u.ring_fd, ring_readable);
	watch_want(&ring->watch, EV_READ);
	*slot = ring;
	return 0;
}

void
file_ring_put(struct reactor *r)
{
	struct file_ring *ring = file_rings[reactor_id(r)];

	if (--ring->users > 0)
		return;
	file_rings[reactor_id(r)] = NULL;
	watch_fini(&ring->watch);
	poller_del(&ring->poller);
	io_uring_queue_exit(&ring->u);
	free(ring);
}
