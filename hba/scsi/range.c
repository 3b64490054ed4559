/* Where a block command works and how much it takes: the one check of LBA, length and EDTL. */
#include <assert.h>

#include "cmd.h"

void
cdb_range(const struct scsi_cmd *cmd, uint64_t *lba, uint32_t *blocks)
{
	const uint8_t *cdb = cmd->cdb;

	switch (cmd->row->cdb_len) {
	case 6:		/* SBC-3 5.7: 0 means 256 */
		*lba = rd24(cdb + 1) & 0x1fffff;
		*blocks = cdb[4] ? cdb[4] : 256;
		return;
	case 10:
		*lba = rd32(cdb + 2);
		*blocks = rd16(cdb + 7);
		return;
	case 12:
		*lba = rd32(cdb + 2);
		*blocks = rd32(cdb + 6);
		return;
	case 16:
		*lba = rd64(cdb + 2);
		*blocks = rd32(cdb + 10);
		return;
	case 32:
		*lba = rd64(cdb + 12);
		*blocks = rd32(cdb + 28);
		return;
	}
	assert(!"a CDB length without blocks");
}

unsigned
cdb_length_at(const struct scsi_cmd *cmd)
{
	switch (cmd->row->cdb_len) {
	case 6:
		return 4;
	case 10:
		return 7;
	case 12:
		return 6;
	case 32:
		return 28;
	default:
		return 10;
	}
}

bool
cmd_range_ok(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;

	cdb_range(cmd, &cmd->lba, &cmd->blocks);
	/* Subtract rather than add: lba + blocks may wrap in the 16-byte form. */
	if (unlikely(cmd->lba > lu->blocks || cmd->blocks > lu->blocks - cmd->lba)) {
		cmd_fail(cmd, COND_LBA_RANGE);
		return false;
	}
	if (unlikely(cmd->blocks > lu->max_blocks)) {
		cmd_fail_field(cmd, cdb_length_at(cmd), -1);
		return false;
	}
	return true;
}

bool
cmd_takes(struct scsi_cmd *cmd)
{
	uint32_t len = (uint32_t)MIN(cmd->asked, cmd->edtl_out);

	if (likely(len == cmd->asked)) {
		cmd->len = len;
		return true;
	}
	if (cmd->dir == CMD_IN || len & (cmd->lu->block_size - 1)) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = len;
	return true;
}
