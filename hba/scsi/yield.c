/* Long commands, in slices: what keeps its reactor for a millisecond goes on in the next turn. */
#include "yield.h"

#include <assert.h>

#include "cmd.h"
#include "core.h"

enum { TURN_NS = 1000 * 1000 };

uint64_t
yield_start(void)
{
	return now_ns();
}

bool
yield_due(struct scsi_cmd *cmd, uint64_t start)
{
	struct core *core;

	if (now_ns() - start < TURN_NS)
		return false;
	assert(!(cmd->flags & (CMD_IN_DISK | CMD_WANT_LOCK | CMD_HAS_LOCK)));
	core = core_of(cmd->nexus->reactor);
	cmd->flags |= CMD_YIELDED;
	list_add_tail(&core->yielded, &cmd->fence);
	core_poke(cmd->nexus->reactor);
	return true;
}

void
yield_cancel(struct scsi_cmd *cmd)
{
	cmd->flags &= (uint16_t)~CMD_YIELDED;
	list_del(&cmd->fence);
}

void
yield_run(struct core *core)
{
	struct list now = LIST_INIT(now);
	struct scsi_cmd *cmd;

	list_splice_tail(&now, &core->yielded);
	/* Still CMD_YIELDED and on a list, so that what one of them causes may abort the next. */
	while (!list_empty(&now)) {
		cmd = list_first(&now, struct scsi_cmd, fence);
		yield_cancel(cmd);
		cmd->row->exec(cmd);
	}
}
