/* The RAM disk: memory of the process, empty at each start; pages are taken when first written. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "buf.h"
#include "conf.h"
#include "disk.h"
#include "log.h"

#include "geometry.h"

enum {
	RAM_PAGE = 4096,
	/* Bytes given back in one turn of the loop: well under a millisecond of page freeing. */
	RAM_WIPE_STEP = 16 * 1024 * 1024,
};

struct ram_conf {
	uint64_t size;
};

static const struct conf_key ram_keys[] = {
	{ .name = "size", .type = CONF_SIZE, .flags = CONF_REQUIRED,
	    .offset = offsetof(struct ram_conf, size), .min = 4096, .max = 1ull << 46,
	    .help = "bytes; memory is taken only for what is written" },
	{ .name = NULL },
};

/*
 * Behind the blocks: a bit for each page that was written since it was last
 * given back. A write sets it after the data, giving back clears it before, so
 * however they meet, a page with data in it has its bit.
 */
static _Atomic uint64_t *
ram_map(const struct disk *d)
{
	return (_Atomic uint64_t *)(void *)((char *)d->priv + d->size);
}

static uint64_t
ram_mapping(const struct disk *d)
{
	return d->size + (d->size / RAM_PAGE / 64 + 1) * sizeof(uint64_t);
}

/* Sets or clears the bits of pages first to last - 1. */
static void
map_set(struct disk *d, uint64_t first, uint64_t last, bool on)
{
	while (first < last) {
		_Atomic uint64_t *word = ram_map(d) + first / 64;
		uint64_t n = MIN(last - first, 64 - first % 64);
		uint64_t bits = (n == 64 ? ~0ull : (1ull << n) - 1) << first % 64;
		uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

		/* Most are as they should be: then nobody's line of the cache is taken. */
		if (on && (old & bits) != bits)
			atomic_fetch_or_explicit(word, bits, memory_order_release);
		else if (!on && old & bits)
			atomic_fetch_and_explicit(word, ~bits, memory_order_release);
		first += n;
	}
}

static bool
map_has(const struct disk *d, uint64_t page)
{
	return atomic_load_explicit(ram_map(d) + page / 64, memory_order_relaxed) >> page % 64 & 1;
}

/* The first page from `page` on, below end, whose bit is not as it is there; or end. */
static uint64_t
map_next(const struct disk *d, uint64_t page, uint64_t end)
{
	uint64_t flip = map_has(d, page) ? ~0ull : 0;

	while (page < end) {
		uint64_t word = atomic_load_explicit(ram_map(d) + page / 64, memory_order_relaxed);
		uint64_t differs = (word ^ flip) >> page % 64;

		if (differs)
			return MIN(page + (uint64_t)__builtin_ctzll(differs), end);
		page = (page | 63) + 1;
	}
	return end;
}

static int
ram_open(struct disk *d)
{
	const struct ram_conf *conf = d->conf->opts;
	int err = disk_size_set(d, conf->size);
	void *mem;

	if (err)
		return err;
	mem = mmap(NULL, ram_mapping(d), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED) {
		err = errno;
		log_err("disk %s: cannot map %llu bytes: %s", d->name, (unsigned long long)d->size,
		    strerror(err));
		return -err;
	}
	/* A core file of the daemon is not to hold what initiators stored. */
	madvise(mem, ram_mapping(d), MADV_DONTDUMP);
	d->priv = mem;
	d->phys_size = d->block_size;	/* a part of a page costs no more than that part */
	d->unmap_granularity = RAM_PAGE;
	d->atomic_max = BUF_XFER_MAX;	/* a crash leaves nothing of it */
	d->caps = DISK_CAP_LENDS | DISK_CAP_INLINE | DISK_CAP_FUA | DISK_CAP_UNMAP |
	    DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO | DISK_CAP_STATUS;
	return 0;
}

static void
ram_close(struct disk *d)
{
	munmap(d->priv, ram_mapping(d));
}

static void
ram_write(struct disk_io *io)
{
	char *to = (char *)io->disk->priv + io->offset;

	for (int i = 0; i < io->niov; i++) {
		memcpy(to, io->iov[i].iov_base, io->iov[i].iov_len);
		to += io->iov[i].iov_len;
	}
	map_set(io->disk, io->offset / RAM_PAGE, (io->offset + io->len - 1) / RAM_PAGE + 1, true);
}

static void
ram_status(struct disk_io *io)
{
	uint64_t first = io->offset / RAM_PAGE, end = (io->offset + io->len - 1) / RAM_PAGE + 1;

	io->info = map_has(io->disk, first) ? DISK_MAPPED : DISK_HOLE;
	end = map_next(io->disk, first, end) * RAM_PAGE;
	io->len = MIN(io->len, end - io->offset);
}

/* Zeros a range: whole pages go back to the system, edges are overwritten. */
static int
ram_zero(struct disk *d, uint64_t offset, uint64_t len)
{
	char *start = (char *)d->priv + offset, *end = start + len;
	char *first = (char *)(((uintptr_t)start + RAM_PAGE - 1) & ~(uintptr_t)(RAM_PAGE - 1));
	char *last = (char *)((uintptr_t)end & ~(uintptr_t)(RAM_PAGE - 1));

	if (first >= last) {
		memset(start, 0, len);
		return 0;
	}
	memset(start, 0, (size_t)(first - start));
	memset(last, 0, (size_t)(end - last));
	map_set(d, (uint64_t)(first - (char *)d->priv) / RAM_PAGE,
	    (uint64_t)(last - (char *)d->priv) / RAM_PAGE, false);
	return madvise(first, (size_t)(last - first), MADV_DONTNEED) ? -errno : 0;
}

/* A long range goes step by step, so that the reactor serves others between. In io->priv. */
struct ram_wipe {
	struct msg msg;
	uint64_t offset, left;
};
_Static_assert(sizeof(struct ram_wipe) <= sizeof(((struct disk_io *)0)->priv), "ram_wipe");

static struct ram_wipe *
wipe_of(struct disk_io *io)
{
	return (struct ram_wipe *)io->priv;
}

static bool
wipe_step(struct disk_io *io)
{
	struct ram_wipe *w = wipe_of(io);
	uint64_t n = MIN(w->left, (uint64_t)RAM_WIPE_STEP);

	io->result = ram_zero(io->disk, w->offset, n);
	w->offset += n;
	w->left -= n;
	return w->left == 0 || io->result;
}

static void
wipe_again(struct msg *m)
{
	struct disk_io *io = container_of((uint64_t *)m, struct disk_io, priv[0]);

	if (wipe_step(io))
		disk_io_done(io);
	else
		reactor_post(reactor_self(), m);
}

static enum disk_result
ram_wipe(struct disk_io *io)
{
	struct ram_wipe *w = wipe_of(io);

	w->offset = io->offset;
	w->left = io->len;
	if (wipe_step(io))
		return DISK_DONE;
	w->msg.fn = wipe_again;
	reactor_post(reactor_self(), &w->msg);
	return DISK_PENDING;
}

static enum disk_result
ram_submit(struct disk_io *io)
{
	io->result = 0;
	switch ((enum disk_op)io->op) {
	case DISK_READ:
		io->iov[0] = (struct iovec){ (char *)io->disk->priv + io->offset, io->len };
		io->niov = 1;
		break;
	case DISK_WRITE:
		ram_write(io);
		break;
	case DISK_FLUSH:
		break;
	case DISK_UNMAP:
	case DISK_ZERO:
		return ram_wipe(io);
	case DISK_STATUS:
		ram_status(io);
		break;
	case DISK_COMPARE_WRITE:
	case DISK_OPS:
		io->result = -EOPNOTSUPP;
	}
	return DISK_DONE;
}

static const struct disk_driver ram_driver = {
	.name = "ram",
	.help = "memory of the process, empty at each start",
	.keys = ram_keys,
	.conf_size = sizeof(struct ram_conf),
	.open = ram_open,
	.close = ram_close,
	.submit = ram_submit,
};
REGISTER(disk_drivers, struct disk_driver, &ram_driver);
