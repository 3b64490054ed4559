/* The null disk: reads are zeros, writes vanish; for measuring everything else. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "buf.h"
#include "conf.h"
#include "disk.h"
#include "log.h"

#include "geometry.h"

struct null_conf {
	uint64_t size;
};

static const struct conf_key null_keys[] = {
	{ .name = "size", .type = CONF_SIZE, .offset = offsetof(struct null_conf, size),
	    .min = 4096, .max = 1ull << 60, .fallback = "1T", .help = "bytes it seems to hold" },
	{ .name = NULL },
};

static int
null_open(struct disk *d)
{
	const struct null_conf *conf = d->conf->opts;
	int err = disk_size_set(d, conf->size);
	void *zeros;

	if (err)
		return err;
	/* Never written and read-only: all pages are the system's one page of zeros. */
	zeros = mmap(NULL, BUF_XFER_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (zeros == MAP_FAILED) {
		err = errno;
		log_err("disk %s: no memory for zeros: %s", d->name, strerror(err));
		return -err;
	}
	d->priv = zeros;
	d->atomic_max = BUF_XFER_MAX;
	d->phys_size = MAX(d->block_size, 4096u);
	d->caps = DISK_CAP_LENDS | DISK_CAP_INLINE | DISK_CAP_FUA | DISK_CAP_UNMAP |
	    DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO | DISK_CAP_STATUS;
	return 0;
}

static void
null_close(struct disk *d)
{
	munmap(d->priv, BUF_XFER_MAX);
}

static enum disk_result
null_submit(struct disk_io *io)
{
	io->result = 0;
	if (io->op == DISK_READ) {
		assert(io->len <= BUF_XFER_MAX);
		io->iov[0] = (struct iovec){ io->disk->priv, io->len };
		io->niov = 1;
	} else if (io->op == DISK_STATUS) {
		io->info = DISK_HOLE;
	} else if (io->op == DISK_COMPARE_WRITE) {
		io->result = -EOPNOTSUPP;
	}
	return DISK_DONE;
}

static const struct disk_driver null_driver = {
	.name = "null",
	.help = "reads are zeros, writes vanish",
	.keys = null_keys,
	.conf_size = sizeof(struct null_conf),
	.open = null_open,
	.close = null_close,
	.submit = null_submit,
};
REGISTER(disk_drivers, struct disk_driver, &null_driver);
