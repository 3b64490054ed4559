/* COMPARE AND WRITE (SBC-3 5.3): what is there is compared, and replaced if it is the same, with nobody in between. */
#include <assert.h>

#include "cmd.h"
#include "compare.h"
#include "range_lock.h"

COUNTER(miscompares, "scsi_miscompares", "COMPARE AND WRITE commands that found other data");

enum { FUA = 0x08 };			/* byte 1 */

/*
 * scratch[0] is how many bytes each half of the data has, scratch[1] how many
 * are compared. tmp[0] is what is read into, a piece at a time; for a disk that
 * lends, room for its iovecs; at last the iovecs of what is written.
 */
enum { CAW_BEGIN, CAW_NEXT, CAW_BACK, CAW_WRITTEN, CAW_FLUSHED };
enum { PIECE = BUF_SEG_MAX, IOV_ROOM = BUF_IOV_MAX * sizeof(struct iovec) };

static bool
caw_check(struct scsi_cmd *cmd)
{
	if (!cmd_range_ok(cmd))
		return false;
	cmd->scratch[0] = lu_bytes(cmd->lu, cmd->blocks);
	cmd->asked = 2 * cmd->scratch[0];
	assert(cmd->asked <= BUF_XFER_MAX);
	/* 256 blocks do not fit the field: who meant them must not be told that they were written. */
	if (!cmd->asked && cmd->edtl_out) {
		cmd_fail_field(cmd, 13, -1);
		return false;
	}
	/* Where the two halves meet must not be in doubt. */
	if (cmd->asked && cmd->edtl_out != cmd->asked) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = (uint32_t)cmd->asked;
	return true;
}

/* All memory there will be, and then the blocks. False: not yet. */
static bool
caw_begin(struct scsi_cmd *cmd)
{
	bool lent = cmd->lu->disk->caps & DISK_CAP_LENDS;

	if (!cmd_room_tmp(cmd, lent ? IOV_ROOM : (uint32_t)MIN(cmd->scratch[0], PIECE)))
		return false;
	cmd->scratch[1] = 0;
	cmd->step = CAW_NEXT;
	range_lock(cmd);
	return true;
}

static bool
caw_read(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;
	bool lent = cmd->lu->disk->caps & DISK_CAP_LENDS;
	uint64_t left = cmd->scratch[0] - cmd->scratch[1];

	cmd->step = CAW_BACK;
	io->op = DISK_READ;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba) + cmd->scratch[1];
	io->len = lent ? left : MIN(left, PIECE);
	cmd->tmp[0].iov_len = io->len;
	io->iov = lent ? cmd->tmp[0].iov_base : &cmd->tmp[0];
	io->niov = lent ? 0 : 1;
	return cmd_io(cmd);
}

/* True: all is the same. False: a read is under way, or answered. */
static bool
caw_compare(struct scsi_cmd *cmd)
{
	uint64_t where;

	while (cmd->scratch[1] < cmd->scratch[0]) {
		if (cmd->step == CAW_NEXT && !caw_read(cmd))
			return false;
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return false;
		}
		if (!compare_data(cmd, &cmd->req.io, cmd->scratch[1], &where)) {
			counter_add(&miscompares, 1);
			cmd_fail_info(cmd, COND_MISCOMPARE, where);
			return false;
		}
		cmd->scratch[1] += cmd->req.io.len;
		cmd->step = CAW_NEXT;
	}
	return true;
}

/* The second half of the data as iovecs; returns their number. */
static int
caw_second_half(const struct scsi_cmd *cmd, struct iovec *to)
{
	uint64_t skip = cmd->scratch[0];
	int n = 0;

	for (int i = 0; i < cmd->niov; i++) {
		struct iovec v = cmd->iov[i];
		size_t cut = MIN(skip, v.iov_len);

		skip -= cut;
		if (cut < v.iov_len)
			to[n++] = (struct iovec){ (char *)v.iov_base + cut, v.iov_len - cut };
	}
	return n;
}

static bool
caw_write(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	cmd->step = CAW_WRITTEN;
	io->op = DISK_WRITE;
	io->flags = cmd->cdb[1] & FUA && cmd->lu->fua ? DISK_FUA : 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = cmd->scratch[0];
	io->iov = cmd->tmp[0].iov_base;
	io->niov = caw_second_half(cmd, io->iov);
	return cmd_io(cmd);
}

static bool
caw_needs_flush(const struct scsi_cmd *cmd)
{
	return cmd->cdb[1] & FUA && cmd->lu->write_cache && !cmd->lu->fua;
}

static void
caw_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case CAW_BEGIN:
		if (!cmd->len)
			cmd_good(cmd);
		else
			caw_begin(cmd);
		return;
	case CAW_NEXT:
	case CAW_BACK:
		if (!caw_compare(cmd) || !caw_write(cmd))
			return;
		/* fall through */
	case CAW_WRITTEN:
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		/* It is done, even if it is not yet durable: nobody need wait for that. */
		range_unlock(cmd);
		cmd->step = CAW_FLUSHED;
		if (caw_needs_flush(cmd) && !cmd_flush(cmd))
			return;
		/* fall through */
	case CAW_FLUSHED:
		if (cmd->req.io.result < 0)
			cmd_fail_io(cmd);
		else
			cmd_good(cmd);
	}
}

static const struct cmd_row compare[] = {
	{ "COMPARE AND WRITE", OP_COMPARE_WRITE, 16, 0, ROW_MEDIUM | ROW_WRITES | ROW_OUT,
	    { OP_COMPARE_WRITE, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff },
	    caw_check, caw_exec },
};
CMD_FAMILY(compare);
