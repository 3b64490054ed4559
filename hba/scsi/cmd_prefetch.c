/* PRE-FETCH (SBC-3 5.9, 5.10): a hint that this unit, which keeps no cache of its own, does not need. */
#include "cmd.h"

enum {
	IMMED = 0x02,			/* byte 1: there is nothing to wait for */
	GROUP = 0x1f,			/* for statistics that are not kept */
};

/* 0 blocks: up to the end. No limit of length: nothing is moved. */
static void
prefetch_exec(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;

	cdb_range(cmd, &cmd->lba, &cmd->blocks);
	if (cmd->lba > lu->blocks || cmd->blocks > lu->blocks - cmd->lba)
		cmd_fail(cmd, COND_LBA_RANGE);
	else
		/* Not CONDITION MET, which would say that the blocks are in a cache. */
		cmd_good(cmd);
}

static const struct cmd_row prefetch[] = {
	{ "PRE-FETCH(10)", OP_PREFETCH_10, 10, 0, ROW_MEDIUM,
	    { OP_PREFETCH_10, IMMED, 0xff, 0xff, 0xff, 0xff, GROUP, 0xff, 0xff }, NULL, prefetch_exec },
	{ "PRE-FETCH(16)", OP_PREFETCH_16, 16, 0, ROW_MEDIUM,
	    { OP_PREFETCH_16, IMMED, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, GROUP }, NULL, prefetch_exec },
};
CMD_FAMILY(prefetch);
