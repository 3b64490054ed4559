/* The spine: LUN, command, attention, CDB bits, check, data, execution, answer. */
#include "submit.h"

#include <assert.h>

#include "cmd.h"
#include "conflict.h"
#include "core.h"
#include "fence.h"
#include "range_lock.h"
#include "sanitize.h"
#include "tmf.h"
#include "ua.h"
#include "usage.h"

COUNTER(commands, "scsi_commands", "commands answered, other than silently");
COUNTER(aborted, "scsi_aborted_commands", "commands ended without an answer");

void
scsi_complete(struct scsi_cmd *cmd)
{
	struct nexus *nexus = cmd->nexus;

	assert(!(cmd->flags & (CMD_IN_DISK | CMD_PARKED | CMD_CHANGING | CMD_YIELDED)));
	cmd->flags &= (uint16_t)~CMD_WANT_DATA;
	list_del(&cmd->task);
	nexus->ntasks--;
	if (unlikely(cmd->flags & (CMD_WANT_LOCK | CMD_HAS_LOCK)))
		range_unlock(cmd);
	if (unlikely(cmd->ntmp)) {
		buf_put(nexus->reactor, cmd->tmp, cmd->ntmp);
		cmd->ntmp = 0;
	}
	cmd_residual(cmd);
	counter_add(cmd->flags & CMD_SILENT ? &aborted : &commands, 1);

	nexus->refs++;
	nexus->ops->done(cmd);
	if (unlikely(nexus->closed))
		nexus_check_gone(nexus);
	nexus_put(nexus);
}

void
scsi_release(struct scsi_cmd *cmd)
{
	struct nexus *nexus = cmd->nexus;

	if (cmd->flags & CMD_LENT) {
		cmd->flags &= (uint16_t)~CMD_LENT;
		cmd->nlun->lent--;
		fence_left(cmd);
	}
	cmd_mem_put(cmd);
	nexus_put(nexus);
}

/* SAM-5 4.7.7.5: the well-known unit that lists the others. */
static bool
lun_is_report_luns(const uint8_t *lun)
{
	return rd64(lun) == 0xc101000000000000;
}

/* No disk here. What a host needs to find the others is answered all the same. */
static void
submit_no_lun(struct scsi_cmd *cmd, const struct usage *u)
{
	bool well_known = lun_is_report_luns(cmd->lun);
	uint8_t op = cmd->cdb[0];

	if (well_known && op == OP_TEST_UNIT_READY) {
		cmd_good(cmd);
		return;
	}
	if (!u || !(u->row->flags & ROW_ANY_LUN) ||
	    (op == OP_REPORT_LUNS && !well_known && scsi_lun_number(cmd->lun) != 0)) {
		cmd_fail(cmd, COND_NO_LUN);
		return;
	}
	if (u->row->check && !u->row->check(cmd))
		return;
	u->row->exec(cmd);
}

/* Something is special about this unit and nexus. False: answered. */
static bool
submit_special(struct scsi_cmd *cmd, uint32_t hot)
{
	enum cond cond;

	if (hot & UA_MASK && !(cmd->row->flags & ROW_UA_OK) && ua_take(cmd->nlun, &cond)) {
		cmd_fail(cmd, cond);
		return false;
	}
	if (hot & NLUN_CONFLICTS && conflict_stops(hot, cmd->cdb)) {
		cmd_status(cmd, SCSI_RESERVATION_CONFLICT);
		return false;
	}
	if (hot & NLUN_SANITIZE && sanitize_refuses(cmd))
		return false;
	if (hot & NLUN_SWP && cmd->row->flags & ROW_WRITES) {
		cmd_fail(cmd, COND_SOFT_WRITE_PROTECTED);
		return false;
	}
	return true;
}

/* What the row asks of the unit. False: answered. */
static bool
submit_unit_ok(struct scsi_cmd *cmd)
{
	uint16_t flags = cmd->row->flags;

	if (unlikely(flags & ROW_OPTIONS) && !row_is_there(cmd->row, cmd->nlun)) {
		cmd_fail(cmd, COND_INVALID_OPCODE);
		return false;
	}
	if (flags & ROW_MEDIUM && unlikely(!cmd->lu->disk->online)) {
		cmd_fail(cmd, COND_OFFLINE);
		return false;
	}
	if (flags & ROW_WRITES && unlikely(cmd->nlun->read_only)) {
		cmd_fail(cmd, COND_WRITE_PROTECTED);
		return false;
	}
	return true;
}

/* SPC-4 4.2.5.1: an opcode that is known, with a service action that is not, is a wrong field. */
static void
submit_unknown(struct scsi_cmd *cmd)
{
	if (usages[cmd->cdb[0]].more && cmd->cdb[0] == OP_VARIABLE)
		cmd_fail_field(cmd, 8, -1);
	else if (usages[cmd->cdb[0]].more)
		cmd_fail_field(cmd, 1, 4);
	else
		cmd_fail(cmd, COND_INVALID_OPCODE);
}

static void
submit_fault(struct scsi_cmd *cmd, const struct usage *u)
{
	unsigned byte, bit;

	usage_fault(u, cmd->cdb, &byte, &bit);
	cmd_fail_field(cmd, byte, (int)bit);
}

static void
submit_new(struct scsi_cmd *cmd)
{
	struct nexus *nexus = cmd->nexus;

	cmd->asked = 0;
	cmd->step = 0;
	cmd->ntmp = 0;
	cmd->req.io.result = 0;
	list_add_tail(&nexus->tasks, &cmd->task);
	nexus->ntasks++;
	nexus->refs++;
}

void
scsi_submit(struct scsi_cmd *cmd)
{
	struct nexus *nexus = cmd->nexus;
	const struct usage *u = usage_find(cmd->cdb);
	unsigned number = (unsigned)scsi_lun_number(cmd->lun);
	uint32_t hot;

	OWNED_BY(nexus->reactor);
	submit_new(cmd);
	if (likely(u != NULL))
		cmd->row = u->row;
	if (unlikely(number >= nexus->nluns || !nexus->luns[number])) {
		submit_no_lun(cmd, u);
		return;
	}
	cmd->nlun = nexus->luns[number];
	cmd->lu = cmd->nlun->lu;
	if (unlikely(!u)) {
		submit_unknown(cmd);
		return;
	}
	hot = atomic_load_explicit(&cmd->nlun->hot, memory_order_acquire);
	if (unlikely(hot) && !submit_special(cmd, hot))
		return;
	if (unlikely(!usage_ok(u, cmd->cdb))) {
		submit_fault(cmd, u);
		return;
	}
	/* ADDITIONAL CDB LENGTH, and what the transport carried. */
	if (unlikely(cmd->cdb[0] == OP_VARIABLE) &&
	    (cmd->cdb[7] + 8 != u->row->cdb_len || cmd->cdb_len < u->row->cdb_len)) {
		cmd_fail_field(cmd, 7, -1);
		return;
	}
	/* No command here moves data both ways (RFC 7143 11.3.1, SAM-5 5.1). */
	if (unlikely(cmd->dir == CMD_BIDI)) {
		cmd_fail(cmd, COND_INVALID_IU);
		return;
	}
	if (!submit_unit_ok(cmd) || (u->row->check && !u->row->check(cmd)))
		return;
	if (cmd->len && u->row->flags & ROW_OUT) {
		cmd->flags |= CMD_WANT_DATA;
		nexus->ops->want_data(cmd);
		return;
	}
	u->row->exec(cmd);
}

void
scsi_data_ready(struct scsi_cmd *cmd)
{
	OWNED_BY(cmd->nexus->reactor);
	assert(cmd->flags & CMD_WANT_DATA);
	cmd->flags &= (uint16_t)~CMD_WANT_DATA;
	if (cmd->mem == MEM_BORROWED && !(cmd->row->flags & ROW_BORROWS) &&
	    cmd_own_data(cmd) < 0) {
		cmd_full(cmd);
		return;
	}
	cmd->row->exec(cmd);
}

void
scsi_data_failed(struct scsi_cmd *cmd, uint8_t asc, uint8_t ascq)
{
	struct sense s = { .key = KEY_ABORTED_COMMAND, .asc = asc, .ascq = ascq, .bit = -1 };

	OWNED_BY(cmd->nexus->reactor);
	assert(cmd->flags & CMD_WANT_DATA);
	cmd_fail_sense(cmd, &s);
}
