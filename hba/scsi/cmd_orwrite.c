/* ORWRITE(16) (SBC-3 5.8): what is there is OR'ed with what comes, with nobody in between. */
#include "cmd.h"
#include "range_lock.h"

enum { FUA = 0x08 };			/* byte 1 */

/*
 * scratch[0] is how many bytes are OR'ed already: into the command's own data,
 * a piece at a time. tmp[0] is what is read into, or, for a disk that lends,
 * room for its iovecs.
 */
enum { OR_BEGIN, OR_NEXT, OR_BACK, OR_WRITTEN, OR_FLUSHED };
enum { PIECE = BUF_SEG_MAX, IOV_ROOM = BUF_IOV_MAX * sizeof(struct iovec) };

static bool
or_check(struct scsi_cmd *cmd)
{
	if (!cmd_range_ok(cmd))
		return false;
	cmd->asked = lu_bytes(cmd->lu, cmd->blocks);
	return cmd_takes(cmd);
}

static bool
lends(const struct scsi_cmd *cmd)
{
	return cmd->lu->disk->caps & DISK_CAP_LENDS;
}

/* All memory there will be, and then the blocks. */
static void
or_begin(struct scsi_cmd *cmd)
{
	if (!cmd_room_tmp(cmd, lends(cmd) ? IOV_ROOM : MIN(cmd->len, (uint32_t)PIECE)))
		return;
	/* Fewer blocks than the CDB says, when the EDTL does: only those are locked. */
	cmd->blocks = cmd->len >> cmd->lu->shift;
	cmd->scratch[0] = 0;
	cmd->step = OR_NEXT;
	range_lock(cmd);
}

static bool
or_read(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;
	uint64_t left = cmd->len - cmd->scratch[0];

	cmd->step = OR_BACK;
	io->op = DISK_READ;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba) + cmd->scratch[0];
	io->len = lends(cmd) ? left : MIN(left, (uint64_t)PIECE);
	cmd->tmp[0].iov_len = io->len;
	io->iov = lends(cmd) ? cmd->tmp[0].iov_base : &cmd->tmp[0];
	io->niov = lends(cmd) ? 0 : 1;
	return cmd_io(cmd);
}

/* The data from byte `at` on |= what was read. */
static void
or_data(struct scsi_cmd *cmd, uint64_t at, const struct disk_io *io)
{
	const struct iovec *v = cmd->iov;

	while (at >= v->iov_len)
		at -= v++->iov_len;
	for (int i = 0; i < io->niov; i++) {
		const uint8_t *from = io->iov[i].iov_base;

		for (size_t n = io->iov[i].iov_len, part; n; n -= part, from += part) {
			uint8_t *to = (uint8_t *)v->iov_base + at;

			part = MIN(n, v->iov_len - at);
			for (size_t k = 0; k < part; k++)
				to[k] |= from[k];
			at += part;
			if (at == v->iov_len) {
				at = 0;
				v++;
			}
		}
	}
}

/* True: all is OR'ed. False: a read is under way, or answered. */
static bool
or_all(struct scsi_cmd *cmd)
{
	while (cmd->scratch[0] < cmd->len) {
		if (cmd->step == OR_NEXT && !or_read(cmd))
			return false;
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return false;
		}
		or_data(cmd, cmd->scratch[0], &cmd->req.io);
		cmd->scratch[0] += cmd->req.io.len;
		cmd->step = OR_NEXT;
	}
	return true;
}

static bool
or_write(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	cmd->step = OR_WRITTEN;
	io->op = DISK_WRITE;
	io->flags = cmd->cdb[1] & FUA && cmd->lu->fua ? DISK_FUA : 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = cmd->len;
	io->iov = cmd->iov;
	io->niov = cmd->niov;
	return cmd_io(cmd);
}

static void
or_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case OR_BEGIN:
		if (!cmd->len)
			cmd_good(cmd);
		else
			or_begin(cmd);
		return;
	case OR_NEXT:
	case OR_BACK:
		if (!or_all(cmd) || !or_write(cmd))
			return;
		/* fall through */
	case OR_WRITTEN:
		if (cmd->req.io.result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		range_unlock(cmd);
		cmd->step = OR_FLUSHED;
		if (cmd->cdb[1] & FUA && cmd->lu->write_cache && !cmd->lu->fua && !cmd_flush(cmd))
			return;
		/* fall through */
	case OR_FLUSHED:
		if (cmd->req.io.result < 0)
			cmd_fail_io(cmd);
		else
			cmd_good(cmd);
	}
}

/* Not ROW_BORROWS: the data is changed. */
static const struct cmd_row orwrite[] = {
	{ "ORWRITE(16)", OP_ORWRITE_16, 16, 0, ROW_MEDIUM | ROW_WRITES | ROW_OUT,
	    { OP_ORWRITE_16, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff }, or_check, or_exec },
};
CMD_FAMILY(orwrite);
