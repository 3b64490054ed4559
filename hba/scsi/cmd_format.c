/* FORMAT UNIT (SBC-3 5.4): everything is checked, and nothing needs to be done. */
#include "cmd.h"

enum { LONGLIST = 0x20, FMTDATA = 0x10, CMPLST = 0x08, LIST_FORMAT = 0x07 };	/* byte 1 */
enum { SHORT_HEADER = 4, LONG_HEADER = 8 };
enum {					/* byte 1 of the header */
	FOV = 0x80, DPRY = 0x40, DCRT = 0x20, STPF = 0x10, IP = 0x08,	/* and IMMED */
};

/*
 * The blocks have the size they have, there are no defects, and no protection
 * information: a format with other wishes is refused, and one without is as good
 * as done. What the blocks hold afterwards is left open by the standard; here
 * they keep it.
 */
static bool
format_check(struct scsi_cmd *cmd)
{
	if (!(cmd->cdb[1] & FMTDATA)) {
		if (cmd->cdb[1] & (LONGLIST | CMPLST | LIST_FORMAT)) {
			cmd_fail_field(cmd, 1, -1);
			return false;
		}
		return true;
	}
	cmd->asked = cmd->cdb[1] & LONGLIST ? LONG_HEADER : SHORT_HEADER;
	if (cmd->edtl_out < cmd->asked) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = (uint32_t)cmd->asked;
	return true;
}

/* The byte of the list at offset, wherever its pieces lie. */
static uint8_t
list_byte(const struct scsi_cmd *cmd, size_t at)
{
	const struct iovec *v = cmd->iov;

	while (at >= v->iov_len)
		at -= v++->iov_len;
	return ((const uint8_t *)v->iov_base)[at];
}

/*
 * DPRY, DCRT, STPF are about defects, and there are none; with an initialization
 * pattern (IP), or a list of defects, there would be something to do.
 */
static void
format_exec(struct scsi_cmd *cmd)
{
	uint8_t flags;

	if (!cmd->len) {
		cmd_good(cmd);
		return;
	}
	if (list_byte(cmd, 0)) {
		cmd_fail_param(cmd, 0, -1);
		return;
	}
	flags = list_byte(cmd, 1);
	if (flags & IP || (!(flags & FOV) && flags & (DPRY | DCRT | STPF))) {
		cmd_fail_param(cmd, 1, flags & IP ? 3 : 7);
		return;
	}
	for (unsigned i = 2; i < cmd->len; i++) {
		if (list_byte(cmd, i)) {
			cmd_fail_param(cmd, i, -1);
			return;
		}
	}
	cmd_good(cmd);
}

/* FMTPINFO must be 0. */
static const struct cmd_row format[] = {
	{ "FORMAT UNIT", OP_FORMAT_UNIT, 6, 0, ROW_MEDIUM | ROW_WRITES | ROW_OUT,
	    { OP_FORMAT_UNIT, LONGLIST | FMTDATA | CMPLST | LIST_FORMAT },
	    format_check, format_exec },
};
CMD_FAMILY(format);
