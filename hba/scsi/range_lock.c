/* Range locks: blocks that one command has to itself while it reads, decides and writes. */
#include "range_lock.h"

#include <assert.h>

#include "cmd.h"
#include "fence.h"
#include "lu.h"
#include "stats.h"

/*
 * A lock passes three gates:
 *
 *	range_lock	it gets a turn, joins lu->locks, and sets NLUN_FENCED for every nexus of
 *			the unit: whoever comes later waits for it (fence_park)
 *	range_look	on each reactor that has such a nexus (todo): nothing that came before
 *			is left in its blocks
 *	range_next	no lock with a smaller turn and no orphan write is in its blocks
 *
 * Why nothing slips through: a command loads `hot` and goes to the disk within
 * one call of cmd_io, on its own reactor. A reactor looks in a message, so never
 * in the midst of that. If the load came before the look, the command either
 * still is in the disk when the reactor looks, and is seen, or has come back. If
 * it comes after the look, it sees the bit: the look took lu->lock after the
 * one who set it. Then it parks, or the blocks are free again. So what a look
 * did not find cannot come any more, and a reactor needs to be clear only once.
 * A nexus that logs in later has the bit before its first command.
 *
 * The same holds for locks_used, and for what a disk lends (nlun->lent).
 *
 * Why all get their turn: who waits, waits for smaller turns and for what the
 * disk has, and the disk waits for nobody. A command of many steps (WRITE SAME,
 * UNMAP, VERIFY) meets the fence at each of them, so it never waits for a lock
 * while the disk has it.
 *
 * `all` holds the units that have locks, for the reactors to go through. Its
 * mutex is taken before a unit's.
 */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = LIST_INIT(all);	/* lu.locked */

COUNTER(locks, "scsi_range_locks", "times a command had blocks to itself (COMPARE AND WRITE and the like)");

static uint64_t
home_bit(const struct scsi_cmd *cmd)
{
	return 1ull << reactor_id(cmd->nexus->reactor);
}

static uint64_t
lock_offset(const struct scsi_cmd *cmd)
{
	return lu_bytes(cmd->lu, cmd->lba);
}

static uint64_t
lock_len(const struct scsi_cmd *cmd)
{
	return lu_bytes(cmd->lu, cmd->blocks == RANGE_ALL ? cmd->lu->blocks : cmd->blocks);
}

bool
range_is_locked(const struct lu *lu, uint64_t offset, uint64_t len, uint64_t turn)
{
	const struct scsi_cmd *lock;

	list_for_each(lock, &lu->locks, fence) {
		if (lock->turn >= turn)
			return false;
		if (fence_overlap(lock_offset(lock), lock_len(lock), offset, len))
			return true;
	}
	return false;
}

void
range_lock(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	const struct nexus_lun *nlun;
	uint64_t ask = 0;

	assert(cmd->blocks);
	cmd->flags |= CMD_WANT_LOCK;
	pthread_mutex_lock(&all_lock);
	pthread_mutex_lock(&lu->lock);
	if (list_empty(&lu->locks))
		list_add_tail(&all, &lu->locked);
	list_add_tail(&lu->locks, &cmd->fence);
	cmd->turn = ++lu->turns;
	fence_raise(lu);
	list_for_each(nlun, &lu->nluns, link)
		ask |= 1ull << reactor_id(nlun->nexus->reactor);
	cmd->todo = ask;
	atomic_store_explicit(&lu->locks_used, true, memory_order_relaxed);
	pthread_mutex_unlock(&lu->lock);
	pthread_mutex_unlock(&all_lock);
	fence_wake(ask);
}

/* Takes it out of the locks and, if it is to be an orphan, puts it there before anybody can come between. */
static void
range_leave(struct scsi_cmd *cmd, bool orphan)
{
	struct lu *lu = cmd->lu;
	uint64_t wake;

	cmd->flags &= (uint16_t)~(CMD_WANT_LOCK | CMD_HAS_LOCK);
	pthread_mutex_lock(&all_lock);
	pthread_mutex_lock(&lu->lock);
	list_del(&cmd->fence);
	if (list_empty(&lu->locks))
		list_del(&lu->locked);
	if (orphan)
		list_add_tail(&lu->orphans, &cmd->fence);
	wake = fence_lower(lu);
	pthread_mutex_unlock(&lu->lock);
	pthread_mutex_unlock(&all_lock);
	fence_wake(wake);
}

void
range_unlock(struct scsi_cmd *cmd)
{
	range_leave(cmd, false);
}

void
range_abandon(struct scsi_cmd *cmd, bool orphan)
{
	range_leave(cmd, orphan);
}

/* Is the command before the lock, in its blocks? On the command's reactor. */
static bool
cmd_is_before(const struct scsi_cmd *cmd, const struct scsi_cmd *lock)
{
	if (cmd->lu != lock->lu || cmd->flags & CMD_HAS_LOCK)
		return false;	/* a lock: range_next sees to it */
	if (!(cmd->flags & CMD_IN_DISK) && !(cmd->flags & CMD_PARKED && cmd->turn < lock->turn))
		return false;
	return cmd->req.io.op != DISK_FLUSH && cmd->req.io.op != DISK_STATUS &&
	    fence_overlap(cmd->at, cmd->span, lock_offset(lock), lock_len(lock));
}

/*
 * Has this reactor a command before the lock? One that was aborted in the disk
 * is not in its nexus' list any more: a write is an orphan then, and what a
 * read finds, nobody gets.
 */
static bool
reactor_is_before(const struct reactor *self, const struct scsi_cmd *lock)
{
	const struct nexus_lun *nlun;
	const struct scsi_cmd *cmd;

	list_for_each(nlun, &lock->lu->nluns, link) {
		if (nlun->nexus->reactor != self)
			continue;
		/* Blocks that are on their way out, perhaps of this lock. Nothing more is lent now. */
		if (nlun->lent)
			return true;
		list_for_each(cmd, &nlun->nexus->tasks, task)
			if (cmd_is_before(cmd, lock))
				return true;
	}
	return false;
}

static void
range_look(const struct reactor *self)
{
	uint64_t bit = 1ull << reactor_id(self), wake = 0;
	struct scsi_cmd *lock;
	struct lu *lu;

	pthread_mutex_lock(&all_lock);
	list_for_each(lu, &all, locked) {
		pthread_mutex_lock(&lu->lock);
		list_for_each(lock, &lu->locks, fence) {
			if (!(lock->todo & bit) || reactor_is_before(self, lock))
				continue;
			lock->todo &= ~bit;
			if (!lock->todo)
				wake |= home_bit(lock);
		}
		pthread_mutex_unlock(&lu->lock);
	}
	pthread_mutex_unlock(&all_lock);
	fence_wake(wake & ~bit);	/* what is at home here starts after this */
}

/* The first lock of this reactor in the unit that can start; those that cannot ask to be woken. Under lu->lock. */
static struct scsi_cmd *
lu_next_lock(struct lu *lu, const struct reactor *self)
{
	struct scsi_cmd *lock;

	list_for_each(lock, &lu->locks, fence) {
		uint64_t at = lock_offset(lock), len = lock_len(lock);

		if (lock->nexus->reactor != self || !(lock->flags & CMD_WANT_LOCK))
			continue;
		if (!lock->todo && !fence_orphan_in(lu, at, len) &&
		    !range_is_locked(lu, at, len, lock->turn))
			return lock;
		lu->parked |= home_bit(lock);
	}
	return NULL;
}

static struct scsi_cmd *
range_next(const struct reactor *self)
{
	struct scsi_cmd *lock = NULL;
	struct lu *lu;

	pthread_mutex_lock(&all_lock);
	list_for_each(lu, &all, locked) {
		pthread_mutex_lock(&lu->lock);
		lock = lu_next_lock(lu, self);
		pthread_mutex_unlock(&lu->lock);
		if (lock)
			break;
	}
	pthread_mutex_unlock(&all_lock);
	return lock;
}

void
range_run(void)
{
	const struct reactor *self = reactor_self();
	struct scsi_cmd *cmd;

	range_look(self);
	while ((cmd = range_next(self))) {
		cmd->flags ^= CMD_WANT_LOCK | CMD_HAS_LOCK;
		counter_add(&locks, 1);
		cmd->row->exec(cmd);
	}
}
