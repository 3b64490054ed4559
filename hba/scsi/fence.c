/* The fence that keeps commands away from aborted writes that may still land, and from locked blocks. */
#include "fence.h"

#include <assert.h>

#include "cmd.h"
#include "lu.h"
#include "range_lock.h"
#include "stats.h"

COUNTER(orphans, "scsi_orphan_writes",
    "writes aborted while the disk had them, fenced until they came back");
COUNTER(parked, "scsi_parked_commands", "commands that waited for an orphan write or a lock");

static bool
op_changes(const struct disk_io *io)
{
	return io->op != DISK_READ && io->op != DISK_FLUSH && io->op != DISK_STATUS;
}

bool
fence_orphan_in(const struct lu *lu, uint64_t offset, uint64_t len)
{
	const struct scsi_cmd *orphan;

	list_for_each(orphan, &lu->orphans, fence)
		if (fence_overlap(orphan->at, orphan->span, offset, len))
			return true;
	return false;
}

/* Must it wait, when all with a smaller turn go first? Under lu->lock. */
static bool
fence_stops(const struct lu *lu, const struct disk_io *io, uint64_t turn)
{
	if (io->op == DISK_FLUSH || io->op == DISK_STATUS)
		return false;
	return fence_orphan_in(lu, io->offset, io->len) ||
	    range_is_locked(lu, io->offset, io->len, turn);
}

void
fence_raise(struct lu *lu)
{
	struct nexus_lun *nlun;

	list_for_each(nlun, &lu->nluns, link)
		atomic_fetch_or(&nlun->hot, NLUN_FENCED);
}

uint64_t
fence_lower(struct lu *lu)
{
	struct nexus_lun *nlun;
	uint64_t wake = lu->parked;

	lu->parked = 0;
	if (list_empty(&lu->orphans) && list_empty(&lu->locks))
		list_for_each(nlun, &lu->nluns, link)
			atomic_fetch_and(&nlun->hot, ~(unsigned)NLUN_FENCED);
	return wake;
}

void
fence_wake(uint64_t reactors)
{
	for (; reactors; reactors &= reactors - 1)
		core_poke(reactor_get((unsigned)__builtin_ctzll(reactors)));
}

void
fence_add(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	bool changes = op_changes(&cmd->req.io);

	if (changes)
		counter_add(&orphans, 1);
	if (cmd->flags & CMD_HAS_LOCK) {
		range_abandon(cmd, changes);
		return;
	}
	if (!changes)
		return;
	pthread_mutex_lock(&lu->lock);
	list_add_tail(&lu->orphans, &cmd->fence);
	fence_raise(lu);
	pthread_mutex_unlock(&lu->lock);
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
	wake = fence_lower(lu);
	pthread_mutex_unlock(&lu->lock);
	fence_wake(wake);
}

bool
fence_park(struct scsi_cmd *cmd)
{
	struct reactor *home = cmd->nexus->reactor;
	struct lu *lu = cmd->lu;
	bool park;

	/* Its own lock is no obstacle, and nothing else is left in its blocks. */
	if (cmd->flags & CMD_HAS_LOCK)
		return false;
	pthread_mutex_lock(&lu->lock);
	park = fence_stops(lu, &cmd->req.io, UINT64_MAX);
	if (park) {
		cmd->turn = ++lu->turns;
		lu->parked |= 1ull << reactor_id(home);
	}
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
	cmd->flags &= (uint16_t)~CMD_PARKED;
	list_del(&cmd->fence);
}

/*
 * What is found free to go needs no second look at the fence: locks that came
 * later wait until it has passed (range_lock.c), and with a new turn for every
 * try it might never get through.
 */
void
fence_run(struct core *core)
{
	struct list ready = LIST_INIT(ready);
	struct scsi_cmd *cmd, *tmp;

	list_for_each_safe(cmd, tmp, &core->parked, fence) {
		bool wait;

		pthread_mutex_lock(&cmd->lu->lock);
		wait = fence_stops(cmd->lu, &cmd->req.io, cmd->turn);
		if (wait)	/* fence_lower has forgotten this reactor */
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
	if (!list_empty(&lu->orphans) || !list_empty(&lu->locks))
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
