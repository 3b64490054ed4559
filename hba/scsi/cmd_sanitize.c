/* SANITIZE (SBC-3 5.22): where the configuration allows it, a unit destroys all that it holds. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "range_lock.h"
#include "sanitize.h"

enum { IMMED = 0x80, AUSE = 0x20, LIST_LENGTH = 7 };	/* in the CDB */
enum { LIST_HEADER = 4, INVERT = 0x80, COUNT = 0x1f };
enum { SANITIZE_BEGIN, SANITIZE_LOCKED, SANITIZE_STARTED };

/* -- OVERWRITE: scratch[0], [1] are COUNT with INVERT and the pattern's length; tmp[0] is the list -- */

static bool
overwrite_check(struct scsi_cmd *cmd)
{
	uint32_t len = rd16(cmd->cdb + LIST_LENGTH);

	if (len <= LIST_HEADER || len > LIST_HEADER + cmd->lu->block_size) {
		cmd_fail_field(cmd, LIST_LENGTH, -1);
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

static void
list_gather(const struct scsi_cmd *cmd, uint8_t *to)
{
	uint32_t at = 0;

	for (const struct iovec *v = cmd->iov; at < cmd->len; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, cmd->len - at);

		memcpy(to + at, v->iov_base, n);
		at += n;
	}
}

/* False: answered, or memory is short. */
static bool
overwrite_list_ok(struct scsi_cmd *cmd)
{
	const uint8_t *list;
	uint32_t pattern;

	if (!cmd_room_tmp(cmd, LIST_HEADER + cmd->lu->block_size))
		return false;
	list_gather(cmd, cmd->tmp[0].iov_base);
	list = cmd->tmp[0].iov_base;
	pattern = rd16(list + 2);
	if (!(list[0] & COUNT)) {
		cmd_fail_param(cmd, 0, 4);
		return false;
	}
	if (!pattern || pattern > cmd->len - LIST_HEADER) {
		cmd_fail_param(cmd, 2, -1);
		return false;
	}
	return true;
}

static void
how_overwrite(const struct scsi_cmd *cmd, struct sanitize_how *how)
{
	const uint8_t *list = cmd->tmp[0].iov_base;

	how->passes = list[0] & COUNT;
	how->invert = list[0] & INVERT;
	how->pattern_len = rd16(list + 2);
	memcpy(how->pattern, list + LIST_HEADER, how->pattern_len);
}

/* -- what both do -- */

/* Nobody else is in the unit now. */
static void
sanitize_locked(struct scsi_cmd *cmd)
{
	struct sanitize_how how = { .erase = cmd->row->sa == SA_SANITIZE_ERASE,
		.may_exit = cmd->cdb[1] & AUSE };
	bool wait = !(cmd->cdb[1] & IMMED);
	int r;

	if (!how.erase)
		how_overwrite(cmd, &how);
	cmd->step = SANITIZE_STARTED;
	r = sanitize_start(cmd, &how, wait);
	if (r == -ENOMEM) {
		cmd_full(cmd);
		return;
	}
	if (r == -EBUSY) {
		if (!sanitize_refuses(cmd))
			cmd_full(cmd);	/* it has just ended: the initiator tries again */
		return;
	}
	if (!wait)
		cmd_good(cmd);
}

static void
sanitize_exec(struct scsi_cmd *cmd)
{
	switch (cmd->step) {
	case SANITIZE_BEGIN:
		if (cmd->row->sa == SA_SANITIZE_OVERWRITE && !overwrite_list_ok(cmd))
			return;
		cmd->lba = 0;
		cmd->blocks = RANGE_ALL;
		cmd->step = SANITIZE_LOCKED;
		range_lock(cmd);
		return;
	case SANITIZE_LOCKED:
		sanitize_locked(cmd);
		return;
	case SANITIZE_STARTED:
		if (cmd->req.io.result < 0)
			cmd_fail(cmd, COND_SANITIZE_FAILED);
		else
			cmd_good(cmd);
	}
}

/* -- EXIT FAILURE MODE -- */

static void
exit_exec(struct scsi_cmd *cmd)
{
	if (sanitize_exit(cmd->lu))
		cmd_good(cmd);
	else
		cmd_fail_field(cmd, 1, 4);
}

enum { SANITIZES = ROW_MEDIUM | ROW_WRITES | ROW_SA | ROW_SANITIZE };

static const struct cmd_row sanitize[] = {
	{ "SANITIZE, OVERWRITE", OP_SANITIZE, 10, SA_SANITIZE_OVERWRITE, SANITIZES | ROW_OUT,
	    { OP_SANITIZE, IMMED | AUSE | 0x1f, 0, 0, 0, 0, 0, 0xff, 0xff },
	    overwrite_check, sanitize_exec },
	{ "SANITIZE, BLOCK ERASE", OP_SANITIZE, 10, SA_SANITIZE_ERASE, SANITIZES | ROW_THIN,
	    { OP_SANITIZE, IMMED | AUSE | 0x1f }, NULL, sanitize_exec },
	{ "SANITIZE, EXIT FAILURE MODE", OP_SANITIZE, 10, SA_SANITIZE_EXIT_FAILURE, SANITIZES,
	    { OP_SANITIZE, IMMED | AUSE | 0x1f }, NULL, exit_exec },
};
CMD_FAMILY(sanitize);
