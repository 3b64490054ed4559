/* READ CAPACITY (SBC-3 5.15, 5.16). */
#include "cmd.h"

enum { CAPACITY_10_LEN = 8, CAPACITY_16_LEN = 32, LBPME = 0x80, LBPRZ = 0x40 };

static void
capacity_10_exec(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;
	uint8_t *p = param_room(cmd, CAPACITY_10_LEN);

	if (!p)
		return;
	/* All ones: too large for this form, use the other. */
	wr32(p, (uint32_t)MIN(lu->blocks - 1, UINT32_MAX));
	wr32(p + 4, lu->block_size);
	param_done(cmd, CAPACITY_10_LEN, CAPACITY_10_LEN);
}

static void
capacity_16_exec(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;
	uint8_t *p = param_room(cmd, CAPACITY_16_LEN);

	if (!p)
		return;
	wr64(p, lu->blocks - 1);
	wr32(p + 8, lu->block_size);
	p[13] = lu->phys_exponent;
	p[14] = (lu->thin ? LBPME : 0) | (lu->thin_zeroes ? LBPRZ : 0);
	param_done(cmd, CAPACITY_16_LEN, rd32(cmd->cdb + 10));
}

static const struct cmd_row capacity[] = {
	{ "READ CAPACITY(10)", OP_READ_CAPACITY_10, 10, 0, ROW_MEDIUM | ROW_IN,
	    { OP_READ_CAPACITY_10 }, NULL, capacity_10_exec },
	{ "READ CAPACITY(16)", OP_SERVICE_IN_16, 16, SA_READ_CAPACITY_16,
	    ROW_MEDIUM | ROW_IN | ROW_SA,
	    { OP_SERVICE_IN_16, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
	    NULL, capacity_16_exec },
};
CMD_FAMILY(capacity);
