/* A logical unit: a disk as all initiators see it, whatever target they reach it by. */
#ifndef SCSI_LU_H
#define SCSI_LU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "list.h"
#include "pr.h"

struct conf_disk;
struct nexus;
struct nexus_lun;

enum {
	LU_VENDOR_LEN = 8, LU_PRODUCT_LEN = 16, LU_REVISION_LEN = 4,
	LU_NAA_LEN = 8, LU_SERIAL_MAX = 64,
};

extern const char lu_vendor[LU_VENDOR_LEN + 1];

/*
 * Made by targets_open, freed by targets_close, on the main thread. The first
 * group does not change in between. What follows is protected by lock.
 */
struct lu {
	struct list link;		/* in the list of all */
	struct disk *disk;
	uint64_t blocks;		/* 0 while the disk is offline */
	uint32_t block_size;
	uint32_t max_blocks;		/* of one command: BUF_XFER_MAX */
	uint8_t shift;			/* block_size is 1 << shift */
	uint8_t phys_exponent;		/* physical block: block_size << this */
	bool write_cache;		/* WRITE needs a flush to be durable */
	bool fua;			/* the disk does FUA itself */
	bool read_only;
	atomic_bool locks_used;		/* a command had a range lock; never false again: see cmd_rw.c */
	bool thin;			/* UNMAP frees: LBPME */
	bool thin_zeroes;		/* and reads zeros: LBPRZ */
	uint8_t naa[LU_NAA_LEN];
	char product[LU_PRODUCT_LEN + 1], revision[LU_REVISION_LEN + 1];
	char serial[LU_SERIAL_MAX + 1];

	pthread_mutex_t lock;
	struct list nluns;		/* nexus_lun.link: who sees it */
	struct list orphans;		/* scsi_cmd.fence: aborted writes still in the disk */
	struct list locks;		/* scsi_cmd.fence, by turn: range_lock.c */
	struct list locked;		/* in the list of units with locks, under its lock */
	uint64_t turns;			/* given so far */
	uint64_t parked;		/* bit per reactor: has commands that wait for orphans or locks */
	struct pr pr;			/* reserve.c, and: */
	bool pr_busy;			/* a change is on its way to the disk */
	uint64_t pr_wait;		/* bit per reactor: has changes that wait for that */
	uint64_t cuts;			/* PREEMPT AND ABORTs so far */
	_Atomic bool d_sense;		/* sense in descriptor format (control mode page); read anywhere */
	bool swp;			/* write-protected by an initiator; told in nexus_lun.hot */
	_Atomic uint32_t sanitize;	/* state and progress: sanitize.h; read anywhere */
	atomic_bool sanitize_stop;	/* the daemon stops */
	bool sanitize_may_exit;		/* a failure can be left (AUSE) */
	const struct nexus_lun *reserved_by;	/* RESERVE(6), (10) */
};

/* The unit of this disk, made when it is not there yet. 0, or -errno with a log line. */
int lu_get(const struct conf_disk *, struct lu **);
struct lu *lu_next(struct lu *);	/* NULL: the first. Main thread. */
void lus_free(void);

/* A nexus sees it, or no longer does. The nexus' reactor. */
void lu_attach(struct lu *, struct nexus_lun *);
void lu_detach(struct nexus_lun *);
/* Raises a unit attention for every nexus but one. Any thread. */
void lu_attention(struct lu *, unsigned ua, const struct nexus *except);
/* Its tasks end, and what a reset ends beside them. Any thread. */
void lu_was_reset(struct lu *);

#endif
