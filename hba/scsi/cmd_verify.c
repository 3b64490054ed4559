/* VERIFY and WRITE AND VERIFY (SBC-3 5.29, 5.36): the medium is read, compared when asked. */
#include "cmd.h"
#include "compare.h"

enum { BYTCHK_NONE, BYTCHK_ALL, BYTCHK_RESERVED, BYTCHK_ONE };	/* bits 2:1 of cdb_flags */

/*
 * scratch[0] is how many bytes to verify, scratch[1] how many are. tmp[0] is what
 * is read into, a piece at a time; for a disk that lends, room for its iovecs.
 */
enum { VERIFY_BEGIN, VERIFY_WRITTEN, VERIFY_FLUSHED, VERIFY_NEXT, VERIFY_BACK };
enum { PIECE = BUF_SEG_MAX };

static unsigned
bytchk(const struct scsi_cmd *cmd)
{
	return cdb_flags(cmd) >> 1 & 3;
}

static bool
verify_check(struct scsi_cmd *cmd)
{
	if (!cmd_range_ok(cmd))
		return false;
	switch (bytchk(cmd)) {
	case BYTCHK_ALL:
		cmd->asked = lu_bytes(cmd->lu, cmd->blocks);
		break;
	case BYTCHK_ONE:
		cmd->asked = cmd->blocks ? cmd->lu->block_size : 0;
		break;
	case BYTCHK_RESERVED:
		cmd_fail_field(cmd, cdb_flags_at(cmd), 2);
		return false;
	}
	/* Half a comparison would say nothing about the rest. */
	if (cmd->edtl_out < cmd->asked) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = (uint32_t)cmd->asked;
	cmd->scratch[0] = lu_bytes(cmd->lu, cmd->blocks);
	return true;
}

static bool
write_verify_check(struct scsi_cmd *cmd)
{
	if (!cmd_range_ok(cmd))
		return false;
	cmd->asked = lu_bytes(cmd->lu, cmd->blocks);
	if (!cmd_takes(cmd))
		return false;
	cmd->scratch[0] = cmd->len;
	return true;
}

/* Reads the next piece. */
static bool
verify_read(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;
	bool lent = cmd->lu->disk->caps & DISK_CAP_LENDS;
	uint32_t len = (uint32_t)MIN(cmd->scratch[0] - cmd->scratch[1], PIECE);

	if (!cmd->ntmp &&
	    !cmd_room_tmp(cmd, lent ? BUF_IOV_MAX * sizeof(struct iovec) : len))
		return false;
	cmd->step = VERIFY_BACK;
	io->op = DISK_READ;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba) + cmd->scratch[1];
	io->len = len;
	cmd->tmp[0].iov_len = len;
	io->iov = lent ? cmd->tmp[0].iov_base : &cmd->tmp[0];
	io->niov = lent ? 0 : 1;
	return cmd_io(cmd);
}

/* False: answered. */
static bool
verify_compare(struct scsi_cmd *cmd)
{
	const struct disk_io *io = &cmd->req.io;
	uint64_t where;

	if (io->result < 0) {
		cmd_fail_io(cmd);
		return false;
	}
	/* BYTCHK_ONE: the same block again and again. */
	if (bytchk(cmd) != BYTCHK_NONE && !compare_data(cmd, io, cmd->scratch[1], &where)) {
		cmd_fail_info(cmd, COND_MISCOMPARE, where);
		return false;
	}
	return true;
}

static void
verify_loop(struct scsi_cmd *cmd)
{
	while (cmd->scratch[1] < cmd->scratch[0]) {
		if (cmd->step != VERIFY_BACK && !verify_read(cmd))
			return;
		if (!verify_compare(cmd))
			return;
		cmd->scratch[1] += cmd->req.io.len;
		cmd->step = VERIFY_NEXT;
	}
	cmd_good(cmd);
}

static void
verify_exec(struct scsi_cmd *cmd)
{
	if (cmd->step == VERIFY_BEGIN) {
		cmd->scratch[1] = 0;
		cmd->step = VERIFY_NEXT;
	}
	verify_loop(cmd);
}

static bool
verify_write(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	cmd->scratch[1] = 0;
	cmd->step = VERIFY_WRITTEN;
	io->op = DISK_WRITE;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = cmd->len;
	io->iov = cmd->iov;
	io->niov = cmd->niov;
	return cmd_io(cmd);
}

static void
write_verify_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case VERIFY_BEGIN:
		if (!cmd->len) {
			cmd_good(cmd);
			return;
		}
		if (!verify_write(cmd))
			return;
		/* fall through */
	case VERIFY_WRITTEN:
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		/* SBC-3 5.36: it is the medium that is verified. */
		cmd->step = VERIFY_FLUSHED;
		if (cmd->lu->write_cache && !cmd_flush(cmd))
			return;
		/* fall through */
	case VERIFY_FLUSHED:
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		cmd->step = VERIFY_NEXT;
	}
	verify_loop(cmd);
}

enum { LONG = ROW_SA | ROW_CDB32 };
enum { VERIFIES = ROW_MEDIUM | ROW_OUT, WRITES = ROW_MEDIUM | ROW_WRITES | ROW_OUT };

#define CDB10(op, flags) { op, flags, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff }
#define CDB12(op, flags) { op, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }
#define CDB16(op, flags)                                                            \
	{ op, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }

#define CDB32(sa, flags)                                                            \
	{ OP_VARIABLE, 0, 0, 0, 0, 0, 0, 0x18, 0, sa, flags, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, \
	0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }

/* Flags: DPO and BYTCHK, of which WRITE AND VERIFY has one bit. */
static const struct cmd_row verify[] = {
	{ "VERIFY(10)", OP_VERIFY_10, 10, 0, VERIFIES, CDB10(OP_VERIFY_10, 0x16),
	    verify_check, verify_exec },
	{ "VERIFY(12)", OP_VERIFY_12, 12, 0, VERIFIES, CDB12(OP_VERIFY_12, 0x16),
	    verify_check, verify_exec },
	{ "VERIFY(16)", OP_VERIFY_16, 16, 0, VERIFIES, CDB16(OP_VERIFY_16, 0x16),
	    verify_check, verify_exec },
	{ "VERIFY(32)", OP_VARIABLE, 32, SA_VERIFY_32, VERIFIES | LONG, CDB32(SA_VERIFY_32, 0x16),
	    verify_check, verify_exec },
	{ "WRITE AND VERIFY(10)", OP_WRITE_VERIFY_10, 10, 0, WRITES,
	    CDB10(OP_WRITE_VERIFY_10, 0x12), write_verify_check, write_verify_exec },
	{ "WRITE AND VERIFY(12)", OP_WRITE_VERIFY_12, 12, 0, WRITES,
	    CDB12(OP_WRITE_VERIFY_12, 0x12), write_verify_check, write_verify_exec },
	{ "WRITE AND VERIFY(16)", OP_WRITE_VERIFY_16, 16, 0, WRITES,
	    CDB16(OP_WRITE_VERIFY_16, 0x12), write_verify_check, write_verify_exec },
	{ "WRITE AND VERIFY(32)", OP_VARIABLE, 32, SA_WRITE_VERIFY_32, WRITES | LONG,
	    CDB32(SA_WRITE_VERIFY_32, 0x12), write_verify_check, write_verify_exec },
};
CMD_FAMILY(verify);
