/* UNMAP and WRITE SAME (SBC-3 5.28, 5.37, 5.38). */
#include "zero.h"

#include <string.h>

#include "cmd.h"
#include "conf.h"
#include "yield.h"

/* -- UNMAP: everything is checked before the first block is unmapped -- */

enum {
	LIST_HEADER = 8, LIST_ITEM = 16,
	LIST_MAX = LIST_HEADER + LIST_ITEM * ZERO_UNMAP_DESCRIPTORS
};

static bool
unmap_check(struct scsi_cmd *cmd)
{
	uint32_t len = rd16(cmd->cdb + 7);

	if (len && len < LIST_HEADER) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return false;
	}
	cmd->asked = len;
	if (cmd->edtl_out < len) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = len;
	return true;
}

/*
 * Copies the parameter list into one piece; scratch[0] becomes the number of
 * whole descriptors it holds, whatever it says of itself.
 */
static bool
unmap_gather(struct scsi_cmd *cmd)
{
	uint32_t len = MIN(cmd->len, LIST_MAX), at = 0, said;

	if (!cmd_room_tmp(cmd, LIST_MAX))
		return false;
	for (const struct iovec *v = cmd->iov; at < len; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, len - at);

		memcpy((uint8_t *)cmd->tmp[0].iov_base + at, v->iov_base, n);
		at += n;
	}
	said = rd16((uint8_t *)cmd->tmp[0].iov_base + 2);
	cmd->scratch[0] = MIN(said, cmd->len - LIST_HEADER) / LIST_ITEM;
	return true;
}

static const uint8_t *
unmap_item(const struct scsi_cmd *cmd, uint64_t n)
{
	return (const uint8_t *)cmd->tmp[0].iov_base + LIST_HEADER + n * LIST_ITEM;
}

/* False: answered. */
static bool
unmap_list_ok(struct scsi_cmd *cmd)
{
	uint64_t size = cmd->lu->blocks, total = 0;

	if (cmd->scratch[0] > ZERO_UNMAP_DESCRIPTORS) {
		cmd_fail_param(cmd, 2, -1);
		return false;
	}
	for (uint64_t i = 0; i < cmd->scratch[0]; i++) {
		uint64_t lba = rd64(unmap_item(cmd, i));
		uint32_t blocks = rd32(unmap_item(cmd, i) + 8);

		if (lba > size || blocks > size - lba) {
			cmd_fail(cmd, COND_LBA_RANGE);
			return false;
		}
		total += blocks;
		if (total > ZERO_UNMAP_BLOCKS) {
			cmd_fail_param(cmd, (unsigned)(LIST_HEADER + i * LIST_ITEM + 8), -1);
			return false;
		}
	}
	return true;
}

/* A slice of the descriptor that is under way, or the next descriptor. False: the disk has it. */
static bool
unmap_next(struct scsi_cmd *cmd)
{
	const uint8_t *item = unmap_item(cmd, cmd->step - 1);
	uint64_t len = lu_bytes(cmd->lu, rd32(item + 8));
	struct disk_io *io = &cmd->req.io;

	if (!len) {
		cmd->step++;
		return true;
	}
	io->op = DISK_UNMAP;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, rd64(item)) + cmd->scratch[1];
	io->len = MIN(len - cmd->scratch[1], (uint64_t)YIELD_SLICE);
	io->iov = NULL;
	io->niov = 0;
	cmd->scratch[1] += io->len;
	if (cmd->scratch[1] == len) {
		cmd->scratch[1] = 0;
		cmd->step++;
	}
	return cmd_io(cmd);
}

/* step: one more than the descriptors done or under way; scratch[1]: bytes of the next that are. */
static void
unmap_exec(struct scsi_cmd *cmd)
{
	uint64_t start = yield_start();

	if (!cmd->len) {
		cmd_good(cmd);
		return;
	}
	if (!cmd->step) {
		if (!unmap_gather(cmd) || !unmap_list_ok(cmd))
			return;
		cmd->scratch[1] = 0;
		cmd->step = 1;
	}
	while (cmd->req.io.result == 0 && cmd->step <= cmd->scratch[0])
		if (yield_due(cmd, start) || !unmap_next(cmd))
			return;
	if (cmd->req.io.result < 0)
		cmd_fail_io(cmd);
	else
		cmd_good(cmd);
}

/* -- WRITE SAME -- */

enum { UNMAP = 0x08, NDOB = 0x01 };	/* of cdb_flags */

uint64_t
zero_same_blocks(const struct lu *lu)
{
	uint64_t bytes = lu->disk->conf->max_write_same;

	return bytes ? MAX(bytes >> lu->shift, 1u) : 0;
}

/* Sets scratch[2], the bytes to write. */
static bool
same_range_ok(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;
	uint64_t limit = zero_same_blocks(lu);

	cdb_range(cmd, &cmd->lba, &cmd->blocks);
	if (cmd->lba >= lu->blocks || cmd->blocks > lu->blocks - cmd->lba) {
		cmd_fail(cmd, COND_LBA_RANGE);
		return false;
	}
	if (limit && (!cmd->blocks || cmd->blocks > limit)) {
		cmd_fail_field(cmd, cdb_length_at(cmd), -1);
		return false;
	}
	/* SBC-3 5.37: 0 means all the rest, which may be more than the field holds. */
	cmd->scratch[2] = lu_bytes(lu, cmd->blocks ? cmd->blocks : lu->blocks - cmd->lba);
	return true;
}

static bool
same_check(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;

	if (cdb_flags(cmd) & UNMAP && !lu->thin_zeroes) {
		cmd_fail_field(cmd, cdb_flags_at(cmd), 3);
		return false;
	}
	if (!same_range_ok(cmd))
		return false;
	cmd->asked = cdb_flags(cmd) & NDOB ? 0 : lu->block_size;
	/* Who sends two blocks means something else than one block many times. */
	if (cmd->asked && cmd->edtl_out != cmd->asked) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = (uint32_t)cmd->asked;
	return true;
}

/* A block is never larger than the smallest piece of memory, but who knows whose it is. */
static void
block_copy(const struct scsi_cmd *cmd, uint8_t *to)
{
	uint32_t at = 0;

	for (const struct iovec *v = cmd->iov; at < cmd->len; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, cmd->len - at);

		memcpy(to + at, v->iov_base, n);
		at += n;
	}
}

/*
 * tmp[0] is filled with the block again and again; scratch[0]: it holds only
 * zeros; scratch[1]: bytes done or under way, of scratch[2].
 */
static bool
same_prepare(struct scsi_cmd *cmd)
{
	uint32_t bs = cmd->lu->block_size;
	uint32_t len = (uint32_t)MIN(cmd->scratch[2], BUF_SEG_MAX);
	uint8_t *p;

	if (!cmd_room_tmp(cmd, len))
		return false;
	p = cmd->tmp[0].iov_base;
	if (cmd->len)
		block_copy(cmd, p);
	else
		memset(p, 0, bs);
	cmd->scratch[0] = p[0] == 0 && memcmp(p, p + 1, bs - 1) == 0;
	for (uint32_t at = bs; at < len; at += bs)
		memcpy(p + at, p, bs);
	cmd->tmp[0].iov_len = len;
	cmd->scratch[1] = 0;
	cmd->step = 1;
	return true;
}

/* How the next piece is written: zeros by the disk itself if it can, many at once. */
static bool
same_next(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;
	uint64_t left = cmd->scratch[2] - cmd->scratch[1];

	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba) + cmd->scratch[1];
	io->len = MIN(left, (uint64_t)YIELD_SLICE);
	io->iov = NULL;
	io->niov = 0;
	if (cmd->scratch[0] && cdb_flags(cmd) & UNMAP) {
		io->op = DISK_UNMAP;
	} else if (cmd->scratch[0] && cmd->lu->disk->caps & DISK_CAP_ZERO) {
		io->op = DISK_ZERO;
	} else {
		io->op = DISK_WRITE;
		io->len = MIN(left, BUF_SEG_MAX);
		cmd->tmp[0].iov_len = io->len;
		io->iov = cmd->tmp;
		io->niov = 1;
	}
	cmd->scratch[1] += io->len;
	return cmd_io(cmd);
}

static void
same_exec(struct scsi_cmd *cmd)
{
	uint64_t start = yield_start();

	if (!cmd->step && !same_prepare(cmd))
		return;
	while (cmd->req.io.result == 0 && cmd->scratch[1] < cmd->scratch[2])
		if (yield_due(cmd, start) || !same_next(cmd))
			return;
	if (cmd->req.io.result < 0)
		cmd_fail_io(cmd);
	else
		cmd_good(cmd);
}

enum { LONG = ROW_SA | ROW_CDB32 };
enum { ZEROES = ROW_MEDIUM | ROW_WRITES | ROW_OUT };

static const struct cmd_row zero[] = {
	{ "UNMAP", OP_UNMAP, 10, 0, ZEROES | ROW_THIN,
	    { OP_UNMAP, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, unmap_check, unmap_exec },
	{ "WRITE SAME(10)", OP_WRITE_SAME_10, 10, 0, ZEROES,
	    { OP_WRITE_SAME_10, UNMAP, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff },
	    same_check, same_exec },
	{ "WRITE SAME(16)", OP_WRITE_SAME_16, 16, 0, ZEROES,
	    { OP_WRITE_SAME_16, UNMAP | NDOB, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff },
	    same_check, same_exec },
	{ "WRITE SAME(32)", OP_VARIABLE, 32, SA_WRITE_SAME_32, ZEROES | LONG,
	    { OP_VARIABLE, 0, 0, 0, 0, 0, 0, 0x18, 0, SA_WRITE_SAME_32, UNMAP | NDOB, 0, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
	    same_check, same_exec },
};
CMD_FAMILY(zero);
