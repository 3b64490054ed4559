/* What command files use: answers, memory, I/O, parameter data. All on the nexus' reactor. */
#ifndef SCSI_CMD_OWN_H
#define SCSI_CMD_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "lu.h"
#include "nexus.h"
#include "row.h"
#include "scsi_cmd.h"
#include "sense.h"
#include "stats.h"
#include "wire.h"

/* -- answers: each ends the command, which may be gone when it returns -- */

void cmd_good(struct scsi_cmd *);		/* with cmd->data_in bytes */
void cmd_status(struct scsi_cmd *, enum scsi_status);	/* without sense or data */
void cmd_fail(struct scsi_cmd *, enum cond);
void cmd_fail_info(struct scsi_cmd *, enum cond, uint64_t info);
/* INVALID FIELD IN CDB, IN PARAMETER LIST; bit -1: the whole byte or field that begins there. */
void cmd_fail_field(struct scsi_cmd *, unsigned byte, int bit);
void cmd_fail_param(struct scsi_cmd *, unsigned byte, int bit);
void cmd_fail_sense(struct scsi_cmd *, const struct sense *);
/* By cmd->req.io.result; an error of a read or write names cmd->lba. */
void cmd_fail_io(struct scsi_cmd *);
/* No room: TASK SET FULL, or BUSY when the nexus has nothing else outstanding (SAM-5 5.3.1). */
void cmd_full(struct scsi_cmd *);

/* -- memory -- */

/*
 * cmd->iov becomes pool memory for len bytes. False: memory is short; exec is
 * called again when there is some.
 */
bool cmd_room(struct scsi_cmd *, uint32_t len);
/* The same for one more segment of len bytes, at most BUF_SEG_MAX; at the end of cmd->tmp. */
bool cmd_room_tmp(struct scsi_cmd *, uint32_t len);
/*
 * What a disk has lent to the read that is back becomes the command's own.
 * False: memory is short; exec is called again, and must read again.
 */
bool cmd_own_lent(struct scsi_cmd *);
/* Puts everything back that the command took. */
void cmd_mem_put(struct scsi_cmd *);

/* -- I/O -- */

/*
 * Gives cmd->req.io (op, flags, offset, len, iov, niov filled) to the bridge.
 * True: finished, io.result is set. False: exec is called again when it is, or
 * the command was answered because there is no room.
 */
bool cmd_io(struct scsi_cmd *);
/* The same with a flush of the disk. */
bool cmd_flush(struct scsi_cmd *);
/* The rest of cmd_io, and exec after it: for what was parked. */
void cmd_resume(struct scsi_cmd *);

/* -- parameter data: cut to allocation length and EDTL, not its length fields (SPC-4 4.2.5.6) -- */

/* len zeroed bytes, at most BUF_SEG_MAX. NULL: memory is short, exec is called again. */
uint8_t *param_room(struct scsi_cmd *, uint32_t len);
/* Answers with the first len of them. */
void param_done(struct scsi_cmd *, uint32_t len, uint32_t allocation);

/* -- what several families need -- */

/* The byte of DPO, FUA, BYTCHK, UNMAP and the like. */
static inline unsigned
cdb_flags_at(const struct scsi_cmd *cmd)
{
	return cmd->row->cdb_len == 32 ? 10 : 1;
}

static inline uint8_t
cdb_flags(const struct scsi_cmd *cmd)
{
	return cmd->cdb[cdb_flags_at(cmd)];
}

/* First block and number of blocks, as the 6-, 10-, 12-, 16- and 32-byte forms hold them. */
void cdb_range(const struct scsi_cmd *, uint64_t *lba, uint32_t *blocks);
/* The byte at which the number of blocks begins. */
unsigned cdb_length_at(const struct scsi_cmd *);
/*
 * Sets cmd->lba and blocks from the CDB; false when they are not inside the
 * unit, or more than one command may move: it is answered.
 */
bool cmd_range_ok(struct scsi_cmd *);
/*
 * For a command that takes cmd->asked bytes: sets cmd->len. When less is
 * expected (SAM-5 leaves the answer open): whole blocks are taken as far as the
 * EDTL covers them, GOOD with an overflow residual, for 0 bytes too. An EDTL
 * that ends inside a block, or data only of the other direction, is refused
 * with INVALID FIELD IN COMMAND INFORMATION UNIT before a byte is taken. False:
 * answered.
 */
bool cmd_takes(struct scsi_cmd *);

static inline uint64_t
lu_bytes(const struct lu *lu, uint64_t blocks)
{
	return blocks << lu->shift;
}

#endif
