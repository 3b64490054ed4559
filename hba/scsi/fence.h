/*
 * The fence: a write that was aborted while the disk had it (an orphan) may
 * still land. Whoever was told that it is over may write the same blocks again,
 * and the old data must not come last. So until the disk gives the orphan back,
 * reads and writes of its blocks wait (parked), from any nexus, on their own
 * reactor.
 */
#ifndef SCSI_FENCE_H
#define SCSI_FENCE_H

#include <stdbool.h>

struct core;
struct lu;
struct nexus_lun;
struct scsi_cmd;

/* The command, aborted and in the disk, becomes an orphan if it changes the disk. Its reactor. */
void fence_add(struct scsi_cmd *);
/* The disk gave an aborted command back: those that wait for it go on. Its reactor. */
void fence_del(struct scsi_cmd *);
/*
 * For a command with cmd->req.io filled, of a unit that is NLUN_FENCED. True:
 * an orphan overlaps, and the command is parked; it goes on with cmd_resume.
 */
bool fence_park(struct scsi_cmd *);
/* Takes a parked command out, for an abort. */
void fence_unpark(struct scsi_cmd *);
/* Resumes what need not wait any more on this reactor. */
void fence_run(struct core *);
/* A new nexus meets the orphans that are there. Under lu->lock. */
void fence_inherit(struct lu *, struct nexus_lun *);
unsigned fence_orphans(struct lu *);	/* any thread */

#endif
