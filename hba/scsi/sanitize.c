/* Sanitize operations: a unit overwrites or erases itself, in slices, on the reactor of who asked for it. */
#include "sanitize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "range_lock.h"
#include "yield.h"

enum { PIECE = BUF_SEG_MAX, TURN_NS = 1000 * 1000, RETRY_NS = 10 * 1000 * 1000, ALIGN = 4096 };

/* One that runs. Belongs to its reactor, which frees it at the end. */
struct sanitizing {
	struct lu *lu;
	struct bridge_req req;
	struct msg msg;			/* the next turn */
	struct timer timer;		/* the next try, when there was no room */
	struct list waiters;		/* scsi_cmd.fence */
	uint8_t *buf;			/* what is written, whole blocks; NULL: erased */
	struct iovec iov;
	uint64_t size, done;		/* bytes of the unit, and of them in this pass */
	uint8_t pass, passes;
	bool invert, flushed;
};

/* -- what the unit says of it -- */

static void
state_set(struct lu *lu, enum sanitize_state state, unsigned progress)
{
	atomic_store_explicit(&lu->sanitize, (uint32_t)state << SANITIZE_STATE_SHIFT | progress,
	    memory_order_release);
}

void
sanitize_inherit(struct lu *lu, struct nexus_lun *nlun)
{
	if (sanitize_state(atomic_load(&lu->sanitize)) == SANITIZE_NONE)
		atomic_fetch_and(&nlun->hot, ~(uint32_t)NLUN_SANITIZE);
	else
		atomic_fetch_or(&nlun->hot, NLUN_SANITIZE);
}

/* From here on, or no longer, the unit's medium is closed. */
static void
state_change(struct lu *lu, enum sanitize_state state)
{
	struct nexus_lun *nlun;

	pthread_mutex_lock(&lu->lock);
	state_set(lu, state, 0);
	list_for_each(nlun, &lu->nluns, link)
		sanitize_inherit(lu, nlun);
	pthread_mutex_unlock(&lu->lock);
}

bool
sanitize_sense(struct lu *lu, struct sense *s)
{
	uint32_t word = atomic_load_explicit(&lu->sanitize, memory_order_acquire);

	switch (sanitize_state(word)) {
	case SANITIZE_RUNS:
		sense_init(s, COND_SANITIZE_IN_PROGRESS);
		s->has_progress = true;
		s->progress = (uint16_t)word;
		return true;
	case SANITIZE_FAILS:
		sense_init(s, COND_SANITIZE_FAILED);
		return true;
	case SANITIZE_NONE:
		break;
	}
	return false;
}

bool
sanitize_refuses(struct scsi_cmd *cmd)
{
	struct sense s;

	if (!(cmd->row->flags & ROW_MEDIUM) || !sanitize_sense(cmd->lu, &s))
		return false;
	/* SBC-3 4.11.3: after a failure, it can be tried again. */
	if (cmd->cdb[0] == OP_SANITIZE && s.key == KEY_MEDIUM_ERROR)
		return false;
	cmd_fail_sense(cmd, &s);
	return true;
}

bool
sanitize_exit(struct lu *lu)
{
	bool fails;

	pthread_mutex_lock(&lu->lock);
	fails = sanitize_state(atomic_load(&lu->sanitize)) == SANITIZE_FAILS;
	pthread_mutex_unlock(&lu->lock);
	if (fails && !lu->sanitize_may_exit)
		return false;
	if (fails)
		state_change(lu, SANITIZE_NONE);
	return true;
}

void
sanitize_stop(struct lu *lu)
{
	atomic_store(&lu->sanitize_stop, true);
}

/* -- the work -- */

static void
sanitizing_free(struct sanitizing *z)
{
	if (!z)
		return;
	if (z->req.flow)
		bridge_flow_put(z->req.flow);
	timer_fini(&z->timer);
	free(z->buf);
	free(z);
}

/* The unit is open again, or not; who waits is told. */
static void
sanitizing_end(struct sanitizing *z, int result)
{
	struct lu *lu = z->lu;
	struct list waiters = LIST_INIT(waiters);

	if (result < 0)
		log_err("disk %s: sanitize failed: %s", lu->disk->name, strerror(-result));
	else
		log_info("disk %s: is sanitized", lu->disk->name);
	state_change(lu, result < 0 ? SANITIZE_FAILS : SANITIZE_NONE);
	list_splice_tail(&waiters, &z->waiters);
	sanitizing_free(z);
	while (!list_empty(&waiters)) {
		struct scsi_cmd *cmd = list_first(&waiters, struct scsi_cmd, fence);

		yield_cancel(cmd);
		cmd->req.io.result = result;
		cmd->row->exec(cmd);
	}
}

static void
progress(struct sanitizing *z)
{
	/* A unit may have 2^63 bytes. */
	unsigned of_pass = (unsigned)(((unsigned __int128)z->done << 16) / z->size);

	state_set(z->lu, SANITIZE_RUNS, MIN((z->pass * 65536u + of_pass) / z->passes, 65535u));
}

static void
pass_next(struct sanitizing *z)
{
	z->done = 0;
	z->pass++;
	if (z->invert)
		for (size_t i = 0; i < PIECE; i++)
			z->buf[i] = (uint8_t)~z->buf[i];
}

/* Fills the next request. False: there is none left. */
static bool
request_next(struct sanitizing *z)
{
	struct disk_io *io = &z->req.io;

	if (z->done == z->size && z->pass + 1 < z->passes)
		pass_next(z);
	*io = (struct disk_io){ .disk = z->lu->disk, .offset = z->done };
	if (z->done < z->size) {
		io->op = z->buf ? DISK_WRITE : DISK_UNMAP;
		io->len = MIN(z->size - z->done, (uint64_t)(z->buf ? PIECE : YIELD_SLICE));
		z->iov = (struct iovec){ z->buf, io->len };
		io->iov = z->buf ? &z->iov : NULL;
		io->niov = z->buf ? 1 : 0;
		return true;
	}
	if (z->flushed || !z->lu->write_cache)
		return false;
	z->flushed = true;
	io->op = DISK_FLUSH;
	io->offset = 0;
	return true;
}

/* A request is back. False: that was the end. */
static bool
request_back(struct sanitizing *z)
{
	int result = z->req.io.result;

	if (result == -ENOMEM || result == -EAGAIN) {
		z->flushed = false;
		timer_set(&z->timer, RETRY_NS);
		return false;
	}
	if (result < 0) {
		sanitizing_end(z, result);
		return false;
	}
	if (z->req.io.op != DISK_FLUSH)
		z->done += z->req.io.len;
	progress(z);
	return true;
}

static void
sanitizing_run(struct sanitizing *z)
{
	uint64_t start = now_ns();

	while (now_ns() - start < TURN_NS) {
		/* What is left of it nobody will do; after a restart the unit is as the medium is. */
		if (atomic_load(&z->lu->sanitize_stop)) {
			sanitizing_end(z, -ECANCELED);
			return;
		}
		if (!request_next(z)) {
			sanitizing_end(z, 0);
			return;
		}
		switch (bridge_submit(&z->req)) {
		case BRIDGE_DONE:
			if (!request_back(z))
				return;
			break;
		case BRIDGE_PENDING:
			return;
		case BRIDGE_FULL:
		case BRIDGE_WOULD_WAIT:
			z->flushed = false;
			timer_set(&z->timer, RETRY_NS);
			return;
		}
	}
	reactor_post(reactor_self(), &z->msg);
}

static void
sanitizing_turn(struct msg *msg)
{
	sanitizing_run(container_of(msg, struct sanitizing, msg));
}

static void
sanitizing_again(struct timer *timer)
{
	sanitizing_run(container_of(timer, struct sanitizing, timer));
}

static void
sanitizing_back(struct bridge_req *req)
{
	struct sanitizing *z = container_of(req, struct sanitizing, req);

	if (request_back(z))
		sanitizing_run(z);
}

/* -- the beginning -- */

/* Each block begins with the pattern anew (SBC-3 5.22.2). */
static uint8_t *
pattern_new(const struct lu *lu, const struct sanitize_how *how)
{
	uint32_t bs = lu->block_size;
	uint8_t *buf;

	if (posix_memalign((void **)&buf, ALIGN, PIECE))
		return NULL;
	for (uint32_t at = 0; at < bs; at += how->pattern_len)
		memcpy(buf + at, how->pattern, MIN(bs - at, (uint32_t)how->pattern_len));
	for (uint32_t at = bs; at < PIECE; at += bs)
		memcpy(buf + at, buf, bs);
	return buf;
}

static struct sanitizing *
sanitizing_new(struct scsi_cmd *cmd, const struct sanitize_how *how)
{
	struct nexus *nexus = cmd->nexus;
	struct sanitizing *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->lu = cmd->lu;
	list_init(&z->waiters);
	z->msg.fn = sanitizing_turn;
	timer_init(&z->timer, nexus->reactor, sanitizing_again);
	z->size = lu_bytes(cmd->lu, cmd->lu->blocks);
	z->passes = how->erase ? 1 : how->passes;
	z->invert = how->invert;
	z->req.done = sanitizing_back;
	z->req.flow = bridge_flow_get(cmd->lu->disk, nexus->initiator, &nexus_own(nexus)->limits,
	    nexus->reactor);
	if (!how->erase)
		z->buf = pattern_new(cmd->lu, how);
	if (z->req.flow && (how->erase || z->buf))
		return z;
	sanitizing_free(z);
	return NULL;
}

int
sanitize_start(struct scsi_cmd *cmd, const struct sanitize_how *how, bool wait)
{
	struct lu *lu = cmd->lu;
	struct sanitizing *z;

	if (sanitize_state(atomic_load(&lu->sanitize)) == SANITIZE_RUNS)
		return -EBUSY;
	z = sanitizing_new(cmd, how);
	if (!z)
		return -ENOMEM;
	log_info("disk %s: sanitize by %s", lu->disk->name, cmd->nexus->initiator);
	lu->sanitize_may_exit = how->may_exit;
	state_change(lu, SANITIZE_RUNS);
	range_unlock(cmd);
	if (wait) {
		cmd->flags |= CMD_YIELDED;
		list_add_tail(&z->waiters, &cmd->fence);
	}
	reactor_post(cmd->nexus->reactor, &z->msg);
	return 0;
}
