/* READ DEFECT DATA, SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SBC-3 5.11, 5.12, SPC-4 6.32, 6.42). */
#include "cmd.h"

/* -- defects: a virtual disk has none to list -- */

enum {
	PLIST_GLIST = 0x18, FORMAT = 0x07,
	FORMAT_SHORT = 0, FORMAT_INDEX = 4, FORMAT_SECTOR = 5, FORMAT_LONG = 3,
};

static bool
format_known(uint8_t format)
{
	return format == FORMAT_SHORT || (format >= FORMAT_LONG && format <= FORMAT_SECTOR);
}

static bool
defect_10_check(struct scsi_cmd *cmd)
{
	if (format_known(cmd->cdb[2] & FORMAT))
		return true;
	cmd_fail_field(cmd, 2, 2);
	return false;
}

static bool
defect_12_check(struct scsi_cmd *cmd)
{
	if (format_known(cmd->cdb[1] & FORMAT))
		return true;
	cmd_fail_field(cmd, 1, 2);
	return false;
}

/* An empty list in the form that was asked for. */
static void
defect_10_exec(struct scsi_cmd *cmd)
{
	enum { LEN = 4 };
	uint8_t *p = param_room(cmd, LEN);

	if (!p)
		return;
	p[1] = cmd->cdb[2] & (PLIST_GLIST | FORMAT);
	param_done(cmd, LEN, rd16(cmd->cdb + 7));
}

static void
defect_12_exec(struct scsi_cmd *cmd)
{
	enum { LEN = 8 };
	uint8_t *p = param_room(cmd, LEN);

	if (!p)
		return;
	p[1] = cmd->cdb[1] & (PLIST_GLIST | FORMAT);
	param_done(cmd, LEN, rd32(cmd->cdb + 6));
}

/* -- diagnostics -- */

enum {
	SELF_TEST_CODE = 0xe0, PF = 0x10, SELF_TEST = 0x04, OFFLINE = 0x03,	/* byte 1 */
	PCV = 0x01,			/* byte 1 of RECEIVE DIAGNOSTIC RESULTS */
};

/* SPC-4 6.42: the default self-test, which finds the disk there; no page can be sent. */
static bool
send_check(struct scsi_cmd *cmd)
{
	if (cmd->cdb[1] & SELF_TEST_CODE) {
		cmd_fail_field(cmd, 1, 7);
		return false;
	}
	if (rd16(cmd->cdb + 3)) {
		cmd_fail_field(cmd, 3, -1);
		return false;
	}
	return true;
}

static void
send_exec(struct scsi_cmd *cmd)
{
	cmd_good(cmd);
}

/* SPC-4 7.2.4: page 00h, which lists itself. */
static bool
receive_check(struct scsi_cmd *cmd)
{
	if (!(cmd->cdb[1] & PCV) || cmd->cdb[2] == 0)
		return true;
	cmd_fail_field(cmd, 2, -1);
	return false;
}

static void
receive_exec(struct scsi_cmd *cmd)
{
	enum { LEN = 5 };
	uint8_t *p = param_room(cmd, LEN);

	if (!p)
		return;
	wr16(p + 2, LEN - 4);
	param_done(cmd, LEN, rd16(cmd->cdb + 3));
}

static const struct cmd_row diagnose[] = {
	{ "READ DEFECT DATA(10)", OP_READ_DEFECT_10, 10, 0, ROW_MEDIUM | ROW_IN,
	    { OP_READ_DEFECT_10, 0, PLIST_GLIST | FORMAT, 0, 0, 0, 0, 0xff, 0xff },
	    defect_10_check, defect_10_exec },
	{ "READ DEFECT DATA(12)", OP_READ_DEFECT_12, 12, 0, ROW_MEDIUM | ROW_IN,
	    { OP_READ_DEFECT_12, PLIST_GLIST | FORMAT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff }, defect_12_check, defect_12_exec },
	{ "SEND DIAGNOSTIC", OP_SEND_DIAGNOSTIC, 6, 0, ROW_MEDIUM,
	    { OP_SEND_DIAGNOSTIC, SELF_TEST_CODE | PF | SELF_TEST | OFFLINE, 0, 0xff, 0xff },
	    send_check, send_exec },
	{ "RECEIVE DIAGNOSTIC RESULTS", OP_RECEIVE_DIAGNOSTIC, 6, 0, ROW_IN,
	    { OP_RECEIVE_DIAGNOSTIC, PCV, 0xff, 0xff, 0xff }, receive_check, receive_exec },
};
CMD_FAMILY(diagnose);
