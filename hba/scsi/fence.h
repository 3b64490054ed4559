/*
 * The fence: a write that was aborted while the disk had it (an orphan) may
 * still land. Whoever was told that it is over may write the same blocks again,
 * and the old data must not come last. So until the disk gives the orphan back,
 * reads and writes of its blocks wait (parked), from any nexus, on their own
 * reactor. So do those of blocks that a command has locked (range_lock.h).
 */
#ifndef SCSI_FENCE_H
#define SCSI_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "nexus.h"
#include "scsi_cmd.h"

struct lu;

/* The command, aborted and in the disk, becomes an orphan if it changes the disk. Its reactor. */
void fence_add(struct scsi_cmd *);
/* The disk gave an aborted command back: those that wait for it go on. Its reactor. */
void fence_del(struct scsi_cmd *);
/*
 * For a command of cmd_io, of a unit that is NLUN_FENCED. True:
 * an orphan or a lock overlaps, and the command is parked; it goes on with
 * cmd_resume.
 */
bool fence_park(struct scsi_cmd *);
/* Takes a parked command out, for an abort. */
void fence_unpark(struct scsi_cmd *);
/* Resumes what need not wait any more on this reactor. */
void fence_run(struct core *);
/* A new nexus meets the orphans and locks that are there. Under lu->lock. */
void fence_inherit(struct lu *, struct nexus_lun *);
unsigned fence_orphans(struct lu *);	/* any thread */

/* The command is out of the disk or of its memory, or ends: a lock may have waited for it. Its reactor. */
static inline void
fence_left(const struct scsi_cmd *cmd)
{
	const struct nexus_lun *nlun = cmd->nlun;

	/* Relaxed: the look that found it in the way was on this thread, after the bit was set. */
	if (nlun &&
	    unlikely(atomic_load_explicit(&nlun->hot, memory_order_relaxed) & NLUN_FENCED))
		core_poke(cmd->nexus->reactor);
}

/* -- for range_lock.c, under lu->lock -- */

static inline bool
fence_overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

/* Is an orphan in these bytes? */
bool fence_orphan_in(const struct lu *, uint64_t offset, uint64_t len);
/* The unit's commands meet the fence from here on. */
void fence_raise(struct lu *);
/*
 * An orphan or a lock went away: the unit's commands meet the fence no longer
 * when it was the last. Returns the reactors to fence_wake: bit per reactor
 * that has commands waiting. They say so again when they still have to.
 */
uint64_t fence_lower(struct lu *);
void fence_wake(uint64_t reactors);	/* without the lock */

#endif
