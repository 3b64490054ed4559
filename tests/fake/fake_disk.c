/* A disk in memory that a test can make fail, and whose requests it can hold back. */
#include "fake_disk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

/* io->priv: the request in fake_disk.held, and its reactor. */
struct held {
	struct list link;
	struct reactor *reactor;
};
_Static_assert(sizeof(struct held) <= sizeof(((struct disk_io *)0)->priv), "fits the scratch");

struct fake_disk *
fake_disk_of(const struct disk *disk)
{
	return disk->conf->opts;
}

static int
fake_open(struct disk *disk)
{
	struct fake_disk *fd = fake_disk_of(disk);

	if (fd->open_error)
		return fd->open_error;
	fd->mem = calloc(1, fd->size);
	if (!fd->mem)
		return -ENOMEM;
	pthread_mutex_init(&fd->lock, NULL);
	list_init(&fd->held);
	disk->block_size = disk->conf->block_size;
	disk->phys_size = fd->phys_size ? fd->phys_size : disk->block_size;
	disk->size = fd->size;
	disk->caps = fd->caps;
	return 0;
}

static void
fake_close(struct disk *disk)
{
	struct fake_disk *fd = fake_disk_of(disk);

	assert(list_empty(&fd->held));
	pthread_mutex_destroy(&fd->lock);
	free(fd->mem);
	fd->mem = NULL;
}

static void
fake_move(struct disk_io *io, uint8_t *mem)
{
	for (int i = 0; i < io->niov; i++) {
		if (io->op == DISK_READ)
			memcpy(io->iov[i].iov_base, mem, io->iov[i].iov_len);
		else
			memcpy(mem, io->iov[i].iov_base, io->iov[i].iov_len);
		mem += io->iov[i].iov_len;
	}
}

/* A lending disk gives its memory in two parts where it can, as none promises one. */
static void
fake_lend(struct disk_io *io, uint8_t *mem)
{
	uint64_t first = io->len > 512 ? io->len / 1024 * 512 : 0;

	io->niov = 0;
	if (first)
		io->iov[io->niov++] = (struct iovec){ mem, first };
	io->iov[io->niov++] = (struct iovec){ mem + first, io->len - first };
}

static bool
fake_hole(const uint8_t *block, uint32_t size)
{
	return block[0] == 0 && memcmp(block, block + 1, size - 1) == 0;
}

/* A block of zeros is a hole; no answer goes past the next multiple of 64 KiB. */
static void
fake_status(struct disk_io *io, const uint8_t *mem)
{
	uint32_t bs = io->disk->block_size;
	uint64_t most = MIN(io->len, 65536 - io->offset % 65536), n = bs;
	bool hole = fake_hole(mem, bs);

	while (n < most && fake_hole(mem + n, bs) == hole)
		n += bs;
	io->info = hole ? DISK_HOLE : DISK_MAPPED;
	io->len = n;
}

/* Carries a request out. */
static void
fake_do(struct disk_io *io)
{
	struct fake_disk *fd = fake_disk_of(io->disk);
	uint8_t *mem = fd->mem + io->offset;

	io->result = fd->error[io->op];
	if (io->result < 0 || io->op == DISK_FLUSH)
		return;
	assert(io->offset <= fd->size && io->len <= fd->size - io->offset);
	assert(io->len && io->len % io->disk->block_size == 0);
	if (io->op == DISK_STATUS)
		fake_status(io, mem);
	else if (io->op == DISK_UNMAP || io->op == DISK_ZERO)
		memset(mem, 0, io->len);
	else if (io->op == DISK_READ && fd->caps & DISK_CAP_LENDS)
		fake_lend(io, mem);
	else
		fake_move(io, mem);
}

static enum disk_result
fake_submit(struct disk_io *io)
{
	struct fake_disk *fd = fake_disk_of(io->disk);
	struct held *held = (struct held *)(void *)io->priv;

	pthread_mutex_lock(&fd->lock);
	fd->ops[io->op]++;
	fd->fua += io->op == DISK_WRITE && io->flags & DISK_FUA;
	if (!fd->hold[io->op]) {
		pthread_mutex_unlock(&fd->lock);
		fake_do(io);
		return DISK_DONE;
	}
	held->reactor = reactor_self();
	list_add_tail(&fd->held, &held->link);
	pthread_mutex_unlock(&fd->lock);
	return DISK_PENDING;
}

unsigned
fake_disk_held(struct fake_disk *fd)
{
	struct list *l;
	unsigned n = 0;

	pthread_mutex_lock(&fd->lock);
	for (l = fd->held.next; l != &fd->held; l = l->next)
		n++;
	pthread_mutex_unlock(&fd->lock);
	return n;
}

static void
fake_finish(void *arg)
{
	struct disk_io *io = arg;

	fake_do(io);
	disk_io_done(io);
}

void
fake_disk_release(struct fake_disk *fd, unsigned n)
{
	while (n--) {
		struct held *held;

		pthread_mutex_lock(&fd->lock);
		if (list_empty(&fd->held)) {
			pthread_mutex_unlock(&fd->lock);
			return;
		}
		held = list_first(&fd->held, struct held, link);
		list_del(&held->link);
		pthread_mutex_unlock(&fd->lock);
		reactor_call(held->reactor, fake_finish,
		    container_of((uint64_t (*)[6])(void *)held, struct disk_io, priv));
	}
}

static const struct conf_key fake_keys[] = { { .name = NULL } };

const struct disk_driver fake_disk_driver = {
	.name = "fake",
	.help = "for tests",
	.keys = fake_keys,
	.conf_size = sizeof(struct fake_disk),
	.open = fake_open,
	.close = fake_close,
	.submit = fake_submit,
};
