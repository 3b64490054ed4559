/* WRITE ATOMIC(16) (SBC-4 5.48): all of it is written, or nothing, whatever happens and whoever looks. */
#include "atomic.h"

#include "cmd.h"
#include "range_lock.h"

enum { FUA = 0x08 };			/* byte 1 */
enum { ATOMIC_BEGIN, ATOMIC_LOCKED, ATOMIC_WRITTEN, ATOMIC_FLUSHED };

uint32_t
atomic_blocks(const struct lu *lu)
{
	/* MAXIMUM ATOMIC TRANSFER LENGTH is what the 16 bits of the CDB can say. */
	uint32_t most = MIN(lu->max_blocks, (uint32_t)UINT16_MAX);

	return MIN(MAX(lu->disk->atomic_max >> lu->shift, 1u), most);
}

/* False: answered. */
static bool
atomic_range_ok(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;

	cmd->lba = rd64(cmd->cdb + 2);
	cmd->blocks = rd16(cmd->cdb + 12);
	if (cmd->lba > lu->blocks || cmd->blocks > lu->blocks - cmd->lba) {
		cmd_fail(cmd, COND_LBA_RANGE);
		return false;
	}
	if (cmd->blocks > atomic_blocks(lu)) {
		cmd_fail_field(cmd, 12, -1);
		return false;
	}
	return true;
}

static bool
atomic_check(struct scsi_cmd *cmd)
{
	if (!atomic_range_ok(cmd))
		return false;
	cmd->asked = lu_bytes(cmd->lu, cmd->blocks);
	/* A part of it is not what was asked for. */
	if (cmd->asked && cmd->edtl_out != cmd->asked) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = (uint32_t)cmd->asked;
	return true;
}

static bool
atomic_write(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	cmd->step = ATOMIC_WRITTEN;
	io->op = DISK_WRITE;
	io->flags = cmd->cdb[1] & FUA && cmd->lu->fua ? DISK_FUA : 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = cmd->len;
	io->iov = cmd->iov;
	io->niov = cmd->niov;
	return cmd_io(cmd);
}

/* What the disk promises is about crashes; who reads meanwhile is kept away by the lock. */
static void
atomic_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case ATOMIC_BEGIN:
		if (!cmd->len) {
			cmd_good(cmd);
			return;
		}
		cmd->step = ATOMIC_LOCKED;
		range_lock(cmd);
		return;
	case ATOMIC_LOCKED:
		if (!atomic_write(cmd))
			return;
		/* fall through */
	case ATOMIC_WRITTEN:
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		range_unlock(cmd);
		cmd->step = ATOMIC_FLUSHED;
		if (cmd->cdb[1] & FUA && cmd->lu->write_cache && !cmd->lu->fua && !cmd_flush(cmd))
			return;
		/* fall through */
	case ATOMIC_FLUSHED:
		if (cmd->req.io.result < 0)
			cmd_fail_io(cmd);
		else
			cmd_good(cmd);
	}
}

/* Bytes 10 and 11, ATOMIC BOUNDARY, must be 0. Not ROW_BORROWS: the data waits for the lock. */
static const struct cmd_row atomic_rows[] = {
	{ "WRITE ATOMIC(16)", OP_WRITE_ATOMIC_16, 16, 0, ROW_MEDIUM | ROW_WRITES | ROW_OUT,
	    { OP_WRITE_ATOMIC_16, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0,
	    0xff, 0xff }, atomic_check, atomic_exec },
};
CMD_FAMILY(atomic_rows);
