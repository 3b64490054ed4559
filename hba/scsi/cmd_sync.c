/* SYNCHRONIZE CACHE (SBC-3 5.24, 5.25). */
#include "cmd.h"

enum { IMMED = 0x02 };			/* byte 1 */

static bool
sync_check(struct scsi_cmd *cmd)
{
	const struct lu *lu = cmd->lu;

	/* No data moves, so the unit's size is the only limit; 0 means up to the end. */
	cdb_range(cmd, &cmd->lba, &cmd->blocks);
	if (cmd->lba > lu->blocks || cmd->blocks > lu->blocks - cmd->lba) {
		cmd_fail(cmd, COND_LBA_RANGE);
		return false;
	}
	return true;
}

/* -- IMMED: the answer goes first, the flush belongs to the nexus and unit -- */

static void flush_end(struct nexus_lun *);

static void
flush_back(struct bridge_req *req)
{
	flush_end(container_of(req, struct nexus_lun, flush.req));
}

/* False: there was no room for it. */
static bool
flush_start(struct nexus_lun *nlun)
{
	struct bridge_req *req = &nlun->flush.req;
	enum bridge_verdict v;

	req->flow = nlun_flow(nlun);
	if (!req->flow)
		return false;
	req->io = (struct disk_io){ .disk = nlun->lu->disk, .op = DISK_FLUSH };
	req->done = flush_back;
	nlun->flush.busy = true;
	nlun->nexus->refs++;
	v = bridge_submit(req);
	if (v == BRIDGE_PENDING)
		return true;
	if (v == BRIDGE_DONE) {
		flush_end(nlun);
		return true;
	}
	nlun->flush.busy = false;
	nexus_put(nlun->nexus);
	return false;
}

/*
 * An error has nobody to go to: the disk keeps it for the next flush. One that
 * came meanwhile asks for what was written meanwhile: again.
 */
static void
flush_end(struct nexus_lun *nlun)
{
	struct nexus *nexus = nlun->nexus;
	bool again = nlun->flush.again && !nexus->closed;

	nlun->flush.busy = nlun->flush.again = false;
	if (again)
		flush_start(nlun);
	nexus_put(nexus);
}

static void
sync_immediate(struct scsi_cmd *cmd)
{
	struct nexus_lun *nlun = cmd->nlun;

	if (nlun->flush.busy)
		nlun->flush.again = true;
	else if (!flush_start(nlun)) {
		cmd_full(cmd);
		return;
	}
	cmd_good(cmd);
}

/* A disk without a volatile cache has nothing to do. */
static void
sync_exec(struct scsi_cmd *cmd)
{
	if (!cmd->step && cmd->lu->write_cache) {
		if (cmd->cdb[1] & IMMED) {
			sync_immediate(cmd);
			return;
		}
		cmd->step = 1;
		if (!cmd_flush(cmd))
			return;
	}
	if (cmd->req.io.result < 0)
		cmd_fail_io(cmd);
	else
		cmd_good(cmd);
}

static const struct cmd_row sync_cache[] = {
	{ "SYNCHRONIZE CACHE(10)", OP_SYNC_CACHE_10, 10, 0, ROW_MEDIUM,
	    { OP_SYNC_CACHE_10, IMMED, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff },
	    sync_check, sync_exec },
	{ "SYNCHRONIZE CACHE(16)", OP_SYNC_CACHE_16, 16, 0, ROW_MEDIUM,
	    { OP_SYNC_CACHE_16, IMMED, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff },
	    sync_check, sync_exec },
};
CMD_FAMILY(sync_cache);
