/* Disks in files and on block devices: what the parts of the driver share. */
#ifndef FILE_H
#define FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "list.h"
#include "reactor.h"

struct file_conf {
	char *path;
	uint64_t size;
	bool create, direct, write_cache;
};

/* Which file or device a disk has; a device: its number, and no inode. Main thread. */
struct file_claim {
	struct list link;
	struct disk *disk;
	uint64_t dev, ino;
	bool waited;
};

/*
 * disk->priv. Constant after open but for the atomics, which any reactor may
 * turn once (relaxed: each guards only itself).
 */
struct file_disk {
	int fd;
	int plain_fd;			/* -1, or with `direct` one without O_DIRECT, for
					   memory that is not aligned */
	bool memory;			/* tmpfs waits for no device: all is done at once */
	bool write_through;		/* no write_cache: what is answered is durable */
	bool async;			/* being asked, the kernel waits: only its workers may */
	uint32_t align;			/* with `direct`: of memory, offset and length */
	_Atomic bool nowait;		/* cached reads can be asked for without waiting */
	_Atomic bool zero_by_hole;	/* FALLOC_FL_ZERO_RANGE is not supported here */
	_Atomic bool sync_failed;	/* for good: asking again brings nothing back */
	struct file_claim claim;
};

/* In io->priv while the driver holds a request. */
struct file_io {
	uint32_t done;			/* bytes moved */
	uint8_t syncing;		/* UNMAP or ZERO is done, and is now made durable */
	uint8_t hole;			/* it was asked for as a hole */
	uint16_t retries;
	struct reactor *home;
	struct msg msg;			/* from a worker thread to home */
	struct list link;		/* waiting for a ring entry or a worker */
};
_Static_assert(sizeof(struct file_io) <= sizeof(((struct disk_io *)0)->priv), "file_io");

static inline struct file_io *
file_io_of(struct disk_io *io)
{
	return (struct file_io *)io->priv;
}

static inline struct disk_io *
file_io_back(struct file_io *fio)
{
	return container_of((uint64_t *)fio, struct disk_io, priv[0]);
}

/* -- file_open.c -- */

int file_open(struct disk *);
void file_close(struct disk *);

/* -- file_claim.c: that nobody else has the file; main thread -- */

struct stat;
/* Against the other disks here: 0, or -EBUSY with a log line. Ends with list_del(&claim.link). */
int file_claim(struct disk *, const char *path, const struct stat *);
/* flock of the open file against other processes; waits as below. 0, or -errno with a log line. */
int file_claim_lock(struct disk *, const char *path);
/*
 * It is another process'. True, after a pause: try again. A killed process
 * keeps its files until the kernel is through with its last requests, which
 * can be after a new one has started. All disks share one such time, so that
 * many of them do not make the start late.
 */
bool file_claim_wait(struct disk *, const char *path);
/* For tests: the end of that time (now_ns); 0: it begins with the first wait. */
extern uint64_t file_claim_until;

/* -- file_step.c: what a request needs from the kernel, one call at a time -- */

enum file_call { FILE_READ, FILE_WRITE, FILE_SYNC, FILE_ALLOCATE };

struct file_step {
	enum file_call call;
	int fd;
	const struct iovec *iov;	/* all of it; NULL: buf and len, one segment's rest */
	int niov;
	void *buf;
	uint32_t len;
	uint64_t offset;
	uint64_t range;			/* FILE_ALLOCATE: bytes */
	int flags;			/* RWF_ or FALLOC_FL_ */
};

/* False: it cannot begin; io->result says why. */
bool file_begin(struct disk_io *);
void file_next(struct disk_io *, struct file_step *);
/* The kernel answered. True: finished, io->result is set; false: another step. */
bool file_answer(struct disk_io *, int res);
/* Steps until it is finished, waiting as long as it takes. */
void file_run(struct disk_io *);

/* For tests: sees each answer of the kernel and may replace it. NULL in service. */
extern int (*file_seam)(const struct disk_io *, int res);

/* -- file_status.c: what of the file is there -- */

/* DISK_STATUS. May wait for the file system to read its tables. */
void file_status(struct disk_io *);

/* -- file_uring.c: a ring per reactor, for all file disks; own thread -- */

struct file_ring;
extern struct file_ring *file_rings[REACTORS_MAX];
/* For tests: behave as if the kernel had no io_uring. */
extern bool file_ring_refuse;

int file_ring_get(struct reactor *);	/* 0, or -errno: there is none */
void file_ring_put(struct reactor *);
void file_ring_submit(struct file_ring *, struct disk_io *);

/* -- file_pool.c: worker threads, for what io_uring cannot do, or all where the kernel refuses it -- */

enum { FILE_WORKERS = 8 };

int file_pool_get(unsigned threads);	/* 0 or -errno */
void file_pool_put(void);
void file_pool_submit(struct disk_io *);

#endif
