/* READ and WRITE (SBC-3 5.6 to 5.10, 5.31 to 5.35). */
#include "cmd.h"

COUNTER(read_bytes, "scsi_read_bytes", "bytes that READ commands sent");
COUNTER(write_bytes, "scsi_write_bytes", "bytes that WRITE commands wrote");

enum { FUA = 0x08 };			/* of cdb_flags, but in the 6-byte forms */

static bool
rw_check(struct scsi_cmd *cmd)
{
	if (!cmd_range_ok(cmd))
		return false;
	cmd->asked = lu_bytes(cmd->lu, cmd->blocks);
	return true;
}

/* READ: what the EDTL does not cover is not sent (an overflow), nor read but for the last block. */
static bool
read_check(struct scsi_cmd *cmd)
{
	if (!rw_check(cmd))
		return false;
	cmd->len = (uint32_t)MIN(cmd->asked, cmd->edtl_in);
	return true;
}

static bool
write_check(struct scsi_cmd *cmd)
{
	return rw_check(cmd) && cmd_takes(cmd);
}

static bool
rw_fua(const struct scsi_cmd *cmd)
{
	return cmd->row->cdb_len != 6 && cdb_flags(cmd) & FUA;
}

/* On the medium, not in the cache: a disk that cannot do it by itself is flushed. */
static bool
rw_needs_flush(const struct scsi_cmd *cmd)
{
	return unlikely(rw_fua(cmd)) && cmd->lu->write_cache;
}

enum { READ_BEGIN, READ_ROOM, READ_BACK };

static bool
read_start(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;
	uint32_t mask = cmd->lu->block_size - 1;
	uint32_t bytes = (cmd->len + mask) & ~mask;
	bool lent = cmd->lu->disk->caps & DISK_CAP_LENDS;

	if (!lent && !cmd_room(cmd, bytes))
		return false;
	cmd->step = READ_BACK;
	io->op = DISK_READ;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = bytes;
	io->iov = cmd->iov;
	io->niov = cmd->niov;
	return cmd_io(cmd);
}

/*
 * Lent memory is sent as it is, so a write meanwhile may be half in it. Where
 * blocks are locked (COMPARE AND WRITE), that must not be: from the unit's first
 * lock on it is copied, while the command is still before or behind each lock,
 * and the locks wait for what was lent before (range_lock.c).
 */
static bool
read_lent(struct scsi_cmd *cmd)
{
	if (unlikely(atomic_load_explicit(&cmd->lu->locks_used, memory_order_relaxed))) {
		cmd->step = READ_ROOM;
		return cmd_own_lent(cmd);
	}
	cmd->mem = MEM_LENT;
	cmd->niov = (int8_t)cmd->req.io.niov;
	cmd->flags |= CMD_LENT;
	cmd->nlun->lent++;
	return true;
}

static void
read_finish(struct scsi_cmd *cmd)
{
	if (unlikely(cmd->req.io.result < 0)) {
		cmd_fail_io(cmd);
		return;
	}
	if (cmd->mem == MEM_NONE && !read_lent(cmd))
		return;
	if (unlikely(cmd->len != cmd->req.io.len))
		cmd->iov[cmd->niov - 1].iov_len -= cmd->req.io.len - cmd->len;
	cmd->data_in = cmd->len;
	counter_add(&read_bytes, cmd->len);
	cmd_good(cmd);
}

static void
read_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case READ_BEGIN:
		if (unlikely(!cmd->len)) {
			cmd_good(cmd);
			return;
		}
		cmd->step = READ_ROOM;
		if (rw_needs_flush(cmd) && !cmd_flush(cmd))
			return;
		/* fall through */
	case READ_ROOM:
		if (unlikely(cmd->req.io.result < 0)) {
			cmd_fail_io(cmd);
			return;
		}
		if (!read_start(cmd))
			return;
		/* fall through */
	case READ_BACK:
		read_finish(cmd);
	}
}

enum { WRITE_BEGIN, WRITE_BACK, WRITE_FLUSHED };

static bool
write_start(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	cmd->step = WRITE_BACK;
	io->op = DISK_WRITE;
	io->flags = rw_fua(cmd) && cmd->lu->fua ? DISK_FUA : 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = cmd->len;
	io->iov = cmd->iov;
	io->niov = cmd->niov;
	return cmd_io(cmd);
}

static bool
write_flush(struct scsi_cmd *cmd)
{
	/* The data is written: borrowed memory is of no more interest to the flush. */
	if (cmd->mem == MEM_BORROWED)
		cmd->mem = MEM_NONE;
	return cmd_flush(cmd);
}

static void
write_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case WRITE_BEGIN:
		if (unlikely(!cmd->len)) {
			cmd_good(cmd);
			return;
		}
		if (!write_start(cmd))
			return;
		/* fall through */
	case WRITE_BACK:
		if (unlikely(cmd->req.io.result < 0)) {
			cmd_fail_io(cmd);
			return;
		}
		counter_add(&write_bytes, cmd->len);
		cmd->step = WRITE_FLUSHED;
		if (rw_needs_flush(cmd) && !cmd->lu->fua && !write_flush(cmd))
			return;
		/* fall through */
	case WRITE_FLUSHED:
		if (unlikely(cmd->req.io.result < 0))
			cmd_fail_io(cmd);
		else
			cmd_good(cmd);
	}
}

enum { LONG = ROW_SA | ROW_CDB32 };
enum { READS = ROW_MEDIUM | ROW_IN, WRITES = ROW_MEDIUM | ROW_WRITES | ROW_OUT | ROW_BORROWS };

/* Byte 1: DPO, which is a hint, and FUA. RDPROTECT, group number and FUA_NV are not there. */
#define CDB6(op) { op, 0x1f, 0xff, 0xff, 0xff }
#define CDB10(op) { op, 0x18, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff }
#define CDB12(op) { op, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }
#define CDB16(op)                                                                   \
	{ op, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }

#define CDB32(sa)                                                                   \
	{ OP_VARIABLE, 0, 0, 0, 0, 0, 0, 0x18, 0, sa, 0x18, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, \
	0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }

static const struct cmd_row rw[] = {
	{ "READ(6)", OP_READ_6, 6, 0, READS, CDB6(OP_READ_6), read_check, read_exec },
	{ "READ(10)", OP_READ_10, 10, 0, READS, CDB10(OP_READ_10), read_check, read_exec },
	{ "READ(12)", OP_READ_12, 12, 0, READS, CDB12(OP_READ_12), read_check, read_exec },
	{ "READ(16)", OP_READ_16, 16, 0, READS, CDB16(OP_READ_16), read_check, read_exec },
	{ "READ(32)", OP_VARIABLE, 32, SA_READ_32, READS | LONG, CDB32(SA_READ_32), read_check,
	    read_exec },
	{ "WRITE(6)", OP_WRITE_6, 6, 0, WRITES, CDB6(OP_WRITE_6), write_check, write_exec },
	{ "WRITE(10)", OP_WRITE_10, 10, 0, WRITES, CDB10(OP_WRITE_10), write_check, write_exec },
	{ "WRITE(12)", OP_WRITE_12, 12, 0, WRITES, CDB12(OP_WRITE_12), write_check, write_exec },
	{ "WRITE(16)", OP_WRITE_16, 16, 0, WRITES, CDB16(OP_WRITE_16), write_check, write_exec },
	{ "WRITE(32)", OP_VARIABLE, 32, SA_WRITE_32, WRITES | LONG, CDB32(SA_WRITE_32),
	    write_check, write_exec },
};
CMD_FAMILY(rw);
