/* How a command ends: status, sense, and the residual, computed here and nowhere else. */
#include <string.h>

#include "cmd.h"
#include "submit.h"

COUNTER(checks, "scsi_check_conditions", "commands that ended in CHECK CONDITION");
COUNTER(fulls, "scsi_full", "commands answered TASK SET FULL or BUSY");

void
cmd_good(struct scsi_cmd *cmd)
{
	cmd->status = SCSI_GOOD;
	scsi_complete(cmd);
}

void
cmd_status(struct scsi_cmd *cmd, enum scsi_status status)
{
	cmd->status = (uint8_t)status;
	cmd->data_in = 0;
	scsi_complete(cmd);
}

void
cmd_full(struct scsi_cmd *cmd)
{
	counter_add(&fulls, 1);
	cmd_status(cmd, cmd->nexus->ntasks > 1 ? SCSI_TASK_SET_FULL : SCSI_BUSY);
}

void
cmd_fail_sense(struct scsi_cmd *cmd, const struct sense *s)
{
	counter_add(&checks, 1);
	if (cmd->lu && atomic_load_explicit(&cmd->lu->d_sense, memory_order_relaxed))
		cmd->sense_len = (uint8_t)sense_descriptor(cmd->sense, s);
	else
		cmd->sense_len = (uint8_t)sense_fixed(cmd->sense, s);
	cmd_status(cmd, SCSI_CHECK_CONDITION);
}

void
cmd_fail(struct scsi_cmd *cmd, enum cond cond)
{
	struct sense s;

	sense_init(&s, cond);
	cmd_fail_sense(cmd, &s);
}

void
cmd_fail_info(struct scsi_cmd *cmd, enum cond cond, uint64_t info)
{
	struct sense s;

	sense_init(&s, cond);
	s.has_info = true;
	s.info = info;
	cmd_fail_sense(cmd, &s);
}

static void
cmd_fail_at(struct scsi_cmd *cmd, enum cond cond, unsigned byte, int bit)
{
	struct sense s;

	sense_init(&s, cond);
	s.has_field = true;
	s.in_cdb = cond == COND_INVALID_FIELD;
	s.field = (uint16_t)byte;
	s.bit = (int8_t)bit;
	cmd_fail_sense(cmd, &s);
}

void
cmd_fail_field(struct scsi_cmd *cmd, unsigned byte, int bit)
{
	cmd_fail_at(cmd, COND_INVALID_FIELD, byte, bit);
}

void
cmd_fail_param(struct scsi_cmd *cmd, unsigned byte, int bit)
{
	cmd_fail_at(cmd, COND_INVALID_PARAM, byte, bit);
}

void
cmd_fail_io(struct scsi_cmd *cmd)
{
	const struct disk_io *io = &cmd->req.io;
	enum cond cond = sense_of_errno(io->result, io->op != DISK_READ && io->op != DISK_STATUS);

	if (cond == CONDS)
		cmd_full(cmd);
	else if (cond == COND_MISCOMPARE)
		cmd_fail_info(cmd, cond, io->info);
	else if (io->op != DISK_FLUSH && (cond == COND_READ_ERROR || cond == COND_WRITE_ERROR))
		/* No block before it is claimed to be good, so the first is the one to name. */
		cmd_fail_info(cmd, cond, io->offset >> cmd->lu->shift);
	else
		cmd_fail(cmd, cond);
}

/*
 * The residual (RFC 7143 11.4.5, SRP 6.9; SAM-5 leaves it to the transport):
 * too short an EDTL is an overflow by what the CDB asks beyond it; else what
 * was expected and did not move is an underflow, also with CHECK CONDITION.
 */
void
cmd_residual(struct scsi_cmd *cmd)
{
	bool out = cmd->row && cmd->row->flags & ROW_OUT;
	uint64_t edtl = out ? cmd->edtl_out : cmd->edtl_in;
	uint64_t moved = out ? cmd->len : cmd->data_in;
	uint64_t left;

	if (cmd->asked > edtl) {
		cmd->resid_kind = RESID_OVER;
		left = cmd->asked - edtl;
	} else {
		/* The EDTL of the direction that the command does not use is left over, too. */
		if (cmd->dir != CMD_BIDI)
			edtl = (uint64_t)cmd->edtl_out + cmd->edtl_in;
		left = edtl - moved;
		cmd->resid_kind = left ? RESID_UNDER : RESID_NONE;
	}
	cmd->resid = (uint32_t)MIN(left, UINT32_MAX);
}
