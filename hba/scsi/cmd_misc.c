/* Commands that move no blocks: TEST UNIT READY, REQUEST SENSE, START STOP UNIT, PREVENT ALLOW. */
#include "cmd.h"
#include "sanitize.h"
#include "ua.h"

static void
ready_exec(struct scsi_cmd *cmd)
{
	cmd_good(cmd);
}

enum { SENSE_DESC = 0x01 };		/* byte 1 */

/* SPC-4 6.39: what is pending is told as data, and then no longer pending. */
static void
request_sense_exec(struct scsi_cmd *cmd)
{
	uint8_t *p = param_room(cmd, SCSI_SENSE_MAX);
	enum cond cond = COND_NO_SENSE;
	struct sense s;
	unsigned len;

	if (!p)
		return;
	sense_init(&s, COND_NO_SENSE);
	if (!cmd->lu) {
		if (scsi_lun_number(cmd->lun) >= 0 || cmd->lun[0] != 0xc1)
			sense_init(&s, COND_NO_LUN);
	} else if (ua_take(cmd->nlun, &cond)) {
		sense_init(&s, cond);
	} else if (!sanitize_sense(cmd->lu, &s) && !cmd->lu->disk->online) {
		sense_init(&s, COND_OFFLINE);
	}
	len = cmd->cdb[1] & SENSE_DESC ? sense_descriptor(p, &s) : sense_fixed(p, &s);
	param_done(cmd, len, cmd->cdb[4]);
}

enum { START = 0x01, NO_FLUSH = 0x04 };	/* byte 4; LOEJ and POWER CONDITION are refused */

/*
 * SBC-3 5.23. The unit is shared with others, so it never stops; what a host
 * wants before it lets go is that its data is safe.
 */
static void
start_stop_exec(struct scsi_cmd *cmd)
{
	bool flush = !(cmd->cdb[4] & (START | NO_FLUSH)) && cmd->lu->write_cache;

	if (!cmd->step && flush) {
		cmd->step = 1;
		if (!cmd_flush(cmd))
			return;
	}
	if (cmd->req.io.result < 0)
		cmd_fail_io(cmd);
	else
		cmd_good(cmd);
}

static const struct cmd_row misc[] = {
	{ "TEST UNIT READY", OP_TEST_UNIT_READY, 6, 0, ROW_MEDIUM,
	    { OP_TEST_UNIT_READY }, NULL, ready_exec },
	{ "REQUEST SENSE", OP_REQUEST_SENSE, 6, 0, ROW_UA_OK | ROW_ANY_LUN | ROW_IN,
	    { OP_REQUEST_SENSE, SENSE_DESC, 0, 0, 0xff }, NULL, request_sense_exec },
	/* IMMED is accepted: there is nothing to wait for but a flush. */
	{ "START STOP UNIT", OP_START_STOP_UNIT, 6, 0, ROW_MEDIUM,
	    { OP_START_STOP_UNIT, 0x01, 0, 0, START | NO_FLUSH }, NULL, start_stop_exec },
	/* The medium cannot be removed, so either wish is fulfilled (SPC-4 6.15). */
	{ "PREVENT ALLOW MEDIUM REMOVAL", OP_PREVENT_ALLOW, 6, 0, ROW_MEDIUM,
	    { OP_PREVENT_ALLOW, 0, 0, 0, 0x03 }, NULL, ready_exec },
};
CMD_FAMILY(misc);
