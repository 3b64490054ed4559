/* What a disk driver is. */
#ifndef DISK_H
#define DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "reactor.h"
#include "registry.h"

struct conf_key;
struct conf_disk;
struct bridge_host;
struct disk;
struct disk_io;

enum disk_op {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,		/* what was written and answered before is durable; range ignored */
	DISK_UNMAP,		/* the range may read as anything unless DISK_CAP_UNMAP_ZEROES */
	DISK_ZERO,		/* the range reads as zeros */
	DISK_COMPARE_WRITE,	/* DISK_CAP_COMPARE_WRITE: first half of iov compared, second written */
	DISK_STATUS,		/* DISK_CAP_STATUS: is the block at offset there? info: enum disk_status */
	DISK_OPS
};

enum {					/* disk->caps, filled by open */
	DISK_CAP_LENDS = 1 << 0,	/* READ puts its own memory into iov instead of filling it */
	DISK_CAP_INLINE = 1 << 1,	/* submit of READ and WRITE never keeps iov: always DISK_DONE */
	DISK_CAP_WRITE_CACHE = 1 << 2,	/* WRITE is volatile until FLUSH (or FUA): reported as WCE */
	DISK_CAP_FUA = 1 << 3,		/* WRITE with DISK_FUA is durable when done */
	DISK_CAP_UNMAP = 1 << 4,
	DISK_CAP_UNMAP_ZEROES = 1 << 5,	/* unmapped blocks read zero: LBPRZ */
	DISK_CAP_ZERO = 1 << 6,
	DISK_CAP_COMPARE_WRITE = 1 << 7,
	DISK_CAP_READ_ONLY = 1 << 8,
	DISK_CAP_STATUS = 1 << 9,
};

enum { DISK_FUA = 1 << 0 };		/* io->flags */

/* DISK_STATUS; and the driver cuts len to what from offset on is as the first block, perhaps to less. */
enum disk_status { DISK_MAPPED, DISK_HOLE };

enum disk_result { DISK_DONE, DISK_PENDING };

/*
 * One request. The bridge owns it; the driver holds it from submit until
 * DISK_DONE is returned or disk_io_done is called. offset and len are bytes,
 * multiples of the block size, inside the disk (checked by the device server).
 */
struct disk_io {
	struct disk *disk;
	uint8_t op;			/* enum disk_op */
	uint8_t flags;
	uint64_t offset;
	uint64_t len;			/* bytes; READ and WRITE: at most BUF_XFER_MAX */
	struct iovec *iov;		/* READ: to fill (or room for BUF_IOV_MAX when the disk lends) */
	int niov;			/* up to 256, of a command that carries several requests; a lending disk sets it */
	int result;			/* 0 or -errno: EIO medium, ENOSPC, ENODEV, EROFS, ENOMEM, EOPNOTSUPP,
					   ETIMEDOUT not answered, EAGAIN not now,
					   EILSEQ miscompare (info: byte offset) */
	uint64_t info;			/* DISK_STATUS: enum disk_status */
	uint64_t who;			/* whose it is, set by the bridge: a hash of the initiator's name, not 0 */
	uint64_t priv[6];		/* the driver's scratch while it holds the request */
};

/*
 * A driver: one file, registered with REGISTER(disk_drivers, struct disk_driver, &x).
 * open and close run on the main thread and may block; queue_open and
 * queue_close run on each reactor's own thread (may be NULL) and set up its
 * hardware queue; submit runs on any reactor, never blocks, and answers on the
 * reactor it was called on.
 */
struct disk_driver {
	const char *name;
	const char *help;		/* one line, for the manual */
	const struct conf_key *keys;	/* its keys in `disks:` items, ended by a row with name NULL */
	uint32_t conf_size;		/* bytes of the struct that keys fill: conf_disk.opts */
	int (*open)(struct disk *);	/* 0, or -errno with a log line that names what and why */
	void (*close)(struct disk *);
	int (*queue_open)(struct disk *, struct reactor *);
	void (*queue_close)(struct disk *, struct reactor *);
	enum disk_result (*submit)(struct disk_io *);
};
REGISTRY(disk_drivers, struct disk_driver);

/* A disk behind an adapter. Fields are set by open and do not change while commands run. */
struct disk {
	const char *name;
	const struct disk_driver *driver;
	const struct conf_disk *conf;
	uint64_t size;			/* bytes, a multiple of block_size */
	uint32_t block_size;		/* logical, bytes: 512 or 4096 */
	uint32_t phys_size;		/* physical block, bytes, at least block_size */
	uint32_t caps;
	bool online;			/* open succeeded */
	uint32_t unmap_granularity;	/* bytes; 0: block_size */
	uint32_t atomic_max;		/* bytes of a WRITE that is whole or not there after a crash; 0: block_size */
	struct bridge_host *host;
	int node;			/* the bridge's LUN node */
	void *priv;			/* the driver's */
};

/* The driver is finished with io; result is set. On the reactor submit ran on. Implemented by the bridge. */
void disk_io_done(struct disk_io *);

struct disk *disk_find(const char *name);	/* any thread; NULL: none */

#endif
