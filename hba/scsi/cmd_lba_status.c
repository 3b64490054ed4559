/* GET LBA STATUS (SBC-3 5.6): which blocks are mapped, as far as it is known. */
#include "cmd.h"

enum { STATUS_LEN = 24, STATUS_DESCRIPTOR = 8, MAPPED_OR_UNKNOWN = 0x0 };

static bool
lba_status_check(struct scsi_cmd *cmd)
{
	cmd->lba = rd64(cmd->cdb + 2);
	if (cmd->lba < cmd->lu->blocks)
		return true;
	cmd_fail(cmd, COND_LBA_RANGE);
	return false;
}

/*
 * One descriptor from the asked block on. Drivers do not tell what they have
 * freed, so all of it is "mapped or unknown" (SBC-3 table 42), which is allowed
 * and true. A host that asks on gets the rest of a larger unit.
 */
static void
lba_status_exec(struct scsi_cmd *cmd)
{
	uint8_t *p = param_room(cmd, STATUS_LEN);

	if (!p)
		return;
	wr32(p, STATUS_LEN - 4);
	wr64(p + STATUS_DESCRIPTOR, cmd->lba);
	wr32(p + STATUS_DESCRIPTOR + 8, (uint32_t)MIN(cmd->lu->blocks - cmd->lba, UINT32_MAX));
	p[STATUS_DESCRIPTOR + 12] = MAPPED_OR_UNKNOWN;
	param_done(cmd, STATUS_LEN, rd32(cmd->cdb + 10));
}

static const struct cmd_row lba_status[] = {
	{ "GET LBA STATUS", OP_SERVICE_IN_16, 16, SA_GET_LBA_STATUS, ROW_MEDIUM | ROW_IN | ROW_SA,
	    { OP_SERVICE_IN_16, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff }, lba_status_check, lba_status_exec },
};
CMD_FAMILY(lba_status);
