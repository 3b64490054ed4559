/*
 * Range locks: a command that writes by what it has read (COMPARE AND WRITE)
 * has its blocks to itself in between. While it waits for them and has them,
 * other reads and writes of these blocks wait at the fence, on every reactor.
 */
#ifndef SCSI_RANGE_LOCK_H
#define SCSI_RANGE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct lu;
struct scsi_cmd;

/* As cmd->blocks: the whole unit, from block 0 on. */
#define RANGE_ALL UINT32_MAX

/*
 * Asks for the blocks of cmd->lba and cmd->blocks. exec is called again, in a
 * later turn of the loop, when they are the command's own. It must have all
 * memory it needs: who waits for memory while others wait for its blocks may
 * wait for them.
 */
void range_lock(struct scsi_cmd *);
/* Gives them back, or stops waiting for them. scsi_complete does it for who has not. */
void range_unlock(struct scsi_cmd *);
/* The command was aborted while the disk has it; orphan: with a write, which takes over from the lock. */
void range_abandon(struct scsi_cmd *, bool orphan);
/* This reactor's part: says for which locks it is clear, and starts those of its own that can. Between turns. */
void range_run(void);

/* Does a command with a smaller turn have or want a lock of these bytes? Under lu->lock. */
bool range_is_locked(const struct lu *, uint64_t offset, uint64_t len, uint64_t turn);

#endif
