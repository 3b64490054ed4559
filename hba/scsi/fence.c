/* The fence that keeps aborted writes from landing on newer data. */
#include "fence.h"

#include <assert.h>

#include "cmd.h"
#include "core.h"
#include "lu.h"
#include "nexus.h"
#include "stats.h"

COUNTER(orphans, "scsi_orphan_writes",
    "writes aborted while the disk had them, fenced until they came back");
COUNTER(parked, "scsi_parked_commands", "commands that waited for an orphan write");

static bool
op_changes(const struct disk_io *io)
{
	return io->op != DISK_READ && io->op != DISK_FLUSH;
}

static bool
io_overlaps(const struct disk_io *a, const struct disk_io *b)
{
	return a->offset < b->offset + b->len && b->offset < a->offset + a->len;
}

static bool
orphan_in_the_way(struct lu *lu, const struct disk_io *io)
{
	struct scsi_cmd *orphan;

	if (io->op == DISK_FLUSH)
		return false;
	list_for_each(orphan, &lu->orphans, fence)
		if (io_overlaps(&orphan->req.io, io))
			return true;
	return false;
}

void
fence_add(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	struct nexus_lun *nlun;

	if (!op_changes(&cmd->req.io))
		return;
	counter_add(&orphans, 1);
	pthread_mutex_lock(&lu->lock);
	list_add_tail(&lu->orphans, &cmd->fence);
	list_for_each(nlun, &lu->nluns, link)
		atomic_fetch_or(&nlun->hot, NLUN_FENCED);
	pthread_mutex_unlock(&lu->lock);
}

/* Under lu->lock, with no orphan left. */
static void
fence_lift(struct lu *lu)
{
	struct nexus_lun *nlun;

	list_for_each(nlun, &lu->nluns, link)
		atomic_fetch_and(&nlun->hot, ~(unsigned)NLUN_FENCED);
	lu->parked = 0;
}

void
fence_del(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	uint64_t wake;

	if (!op_changes(&cmd->req.io))
		return;
	pthread_mutex_lock(&lu->lock);
	list_del(&cmd->fence);
	wake = lu->parked;
	if (list_empty(&lu->orphans))
		fence_lift(lu);
	pthread_mutex_unlock(&lu->lock);

	for (; wake; wake &= wake - 1)
		core_poke(reactor_get((unsigned)__builtin_ctzll(wake)));
}

bool
fence_park(struct scsi_cmd *cmd)
{
	struct reactor *home = cmd->nexus->reactor;
	struct lu *lu = cmd->lu;
	bool park;

	pthread_mutex_lock(&lu->lock);
	park = orphan_in_the_way(lu, &cmd->req.io);
	if (park)
		lu->parked |= 1ull << reactor_id(home);
	pthread_mutex_unlock(&lu->lock);
	if (!park)
		return false;

	counter_add(&parked, 1);
	cmd->flags |= CMD_PARKED;
	list_add_tail(&core_of(home)->parked, &cmd->fence);
	return true;
}

void
fence_unpark(struct scsi_cmd *cmd)
{
	assert(cmd->flags & CMD_PARKED);
	cmd->flags &= (uint8_t)~CMD_PARKED;
	list_del(&cmd->fence);
}

void
fence_run(struct core *core)
{
	struct list ready = LIST_INIT(ready);
	struct scsi_cmd *cmd, *tmp;

	list_for_each_safe(cmd, tmp, &core->parked, fence) {
		bool wait;

		pthread_mutex_lock(&cmd->lu->lock);
		wait = orphan_in_the_way(cmd->lu, &cmd->req.io);
		if (wait)	/* fence_lift may have forgotten this reactor */
			cmd->lu->parked |= 1ull << reactor_id(cmd->nexus->reactor);
		pthread_mutex_unlock(&cmd->lu->lock);
		if (wait)
			continue;
		list_del(&cmd->fence);
		list_add_tail(&ready, &cmd->fence);
	}
	/* Still CMD_PARKED and on a list, so that what one of them causes may abort the next. */
	while (!list_empty(&ready)) {
		cmd = list_first(&ready, struct scsi_cmd, fence);
		fence_unpark(cmd);
		cmd_resume(cmd);
	}
}

void
fence_inherit(struct lu *lu, struct nexus_lun *nlun)
{
	if (!list_empty(&lu->orphans))
		atomic_fetch_or(&nlun->hot, NLUN_FENCED);
}

unsigned
fence_orphans(struct lu *lu)
{
	struct list *l;
	unsigned n = 0;

	pthread_mutex_lock(&lu->lock);
	for (l = lu->orphans.next; l != &lu->orphans; l = l->next)
		n++;
	pthread_mutex_unlock(&lu->lock);
	return n;
}
