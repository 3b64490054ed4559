/* Memory and I/O of a command: from pool and bridge, and back. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "core.h"
#include "fence.h"
#include "sanitize.h"
#include "submit.h"
#include "tmf.h"

static void
room_came(struct buf_wait *w)
{
	struct scsi_cmd *cmd = container_of(w, struct scsi_cmd, buf_wait);

	cmd->row->exec(cmd);
}

static void
room_wait(struct scsi_cmd *cmd)
{
	cmd->buf_wait.fn = room_came;
	buf_wait(cmd->nexus->reactor, &cmd->buf_wait);
}

bool
cmd_room(struct scsi_cmd *cmd, uint32_t len)
{
	int n = buf_get(cmd->nexus->reactor, cmd->iov, len);

	if (unlikely(n < 0)) {
		room_wait(cmd);
		return false;
	}
	cmd->niov = (int8_t)n;
	cmd->mem = MEM_POOL;
	return true;
}

/* The pool gives a whole segment in one piece. */
static uint32_t
segment_for(uint32_t len)
{
	uint32_t size = 4096;

	assert(len <= BUF_SEG_MAX);
	while (size < len)
		size *= 4;
	return size;
}

bool
cmd_room_tmp(struct scsi_cmd *cmd, uint32_t len)
{
	assert(cmd->ntmp < (int)ARRAY_LEN(cmd->tmp));
	if (buf_get(cmd->nexus->reactor, &cmd->tmp[cmd->ntmp], segment_for(len)) < 0) {
		room_wait(cmd);
		return false;
	}
	cmd->ntmp++;
	return true;
}

void
cmd_mem_put(struct scsi_cmd *cmd)
{
	if (cmd->mem == MEM_POOL)
		buf_put(cmd->nexus->reactor, cmd->iov, cmd->niov);
	cmd->mem = MEM_NONE;
	cmd->niov = 0;
}

static void
iov_copy(const struct iovec *to, const struct iovec *from, uint32_t len)
{
	size_t to_at = 0, from_at = 0;

	while (len) {
		size_t n = MIN(to->iov_len - to_at, from->iov_len - from_at);

		n = MIN(n, len);
		memcpy((char *)to->iov_base + to_at, (char *)from->iov_base + from_at, n);
		len -= (uint32_t)n;
		to_at += n;
		from_at += n;
		if (to_at == to->iov_len) {
			to++;
			to_at = 0;
		}
		if (from_at == from->iov_len) {
			from++;
			from_at = 0;
		}
	}
}

int
cmd_own_data(struct scsi_cmd *cmd)
{
	struct iovec own[BUF_IOV_MAX];
	int n;

	assert(cmd->mem == MEM_BORROWED);
	n = buf_get(cmd->nexus->reactor, own, cmd->len);
	if (n < 0)
		return n;
	iov_copy(own, cmd->iov, cmd->len);
	memcpy(cmd->iov, own, (size_t)n * sizeof(own[0]));
	cmd->niov = (int8_t)n;
	cmd->mem = MEM_POOL;
	if (cmd->req.io.iov == cmd->iov)
		cmd->req.io.niov = n;
	return 0;
}

bool
cmd_own_lent(struct scsi_cmd *cmd)
{
	struct iovec lent[BUF_IOV_MAX];
	const struct disk_io *io = &cmd->req.io;

	memcpy(lent, io->iov, (size_t)io->niov * sizeof(lent[0]));
	if (!cmd_room(cmd, (uint32_t)io->len))
		return false;
	iov_copy(cmd->iov, lent, (uint32_t)io->len);
	return true;
}

/* The disk gave the command back, some time after cmd_io. */
static void
io_back(struct bridge_req *req)
{
	struct scsi_cmd *cmd = container_of(req, struct scsi_cmd, req);

	cmd->flags &= (uint16_t)~CMD_IN_DISK;
	fence_left(cmd);
	if (unlikely(cmd->flags & CMD_ABORTED)) {
		struct core *core = core_of(cmd->nexus->reactor);

		fence_del(cmd);
		scsi_complete(cmd);
		tmf_settle(core);
		return;
	}
	cmd->row->exec(cmd);
}

/*
 * Borrowed data may go to the disk as it is only when the disk is done with it
 * before this returns; else it becomes the command's own first.
 */
static enum bridge_verdict
io_start_borrowed(struct scsi_cmd *cmd)
{
	if (cmd->lu->disk->caps & DISK_CAP_INLINE) {
		enum bridge_verdict v = bridge_try(&cmd->req);

		assert(v != BRIDGE_PENDING);
		if (v != BRIDGE_WOULD_WAIT)
			return v;
	}
	return cmd_own_data(cmd) < 0 ? BRIDGE_FULL : bridge_submit(&cmd->req);
}

/* cmd_io behind the fence. */
static bool
io_start(struct scsi_cmd *cmd)
{
	struct nexus_lun *nlun = cmd->nlun;
	enum bridge_verdict v;

	cmd->req.flow = nlun->flow ? nlun->flow : nlun_flow(nlun);
	if (unlikely(!cmd->req.flow)) {
		cmd_full(cmd);
		return false;
	}
	cmd->req.io.disk = cmd->lu->disk;
	cmd->req.done = io_back;
	cmd->flags |= CMD_IN_DISK;
	v = cmd->mem == MEM_BORROWED ? io_start_borrowed(cmd) : bridge_submit(&cmd->req);
	if (v == BRIDGE_PENDING)
		return false;
	cmd->flags &= (uint16_t)~CMD_IN_DISK;
	if (likely(v == BRIDGE_DONE))
		return true;
	cmd_full(cmd);
	return false;
}

bool
cmd_io(struct scsi_cmd *cmd)
{
	uint32_t hot = atomic_load_explicit(&cmd->nlun->hot, memory_order_acquire);

	cmd->at = cmd->req.io.offset;
	cmd->span = cmd->req.io.len;
	if (unlikely(hot & (NLUN_FENCED | NLUN_SANITIZE))) {
		if (hot & NLUN_SANITIZE && sanitize_refuses(cmd))
			return false;
		if (cmd->mem == MEM_BORROWED && cmd_own_data(cmd) < 0) {
			cmd_full(cmd);
			return false;
		}
		if (fence_park(cmd))
			return false;
	}
	return io_start(cmd);
}

bool
cmd_flush(struct scsi_cmd *cmd)
{
	cmd->req.io.op = DISK_FLUSH;
	cmd->req.io.flags = 0;
	cmd->req.io.offset = cmd->req.io.len = 0;
	cmd->req.io.iov = NULL;
	cmd->req.io.niov = 0;
	return cmd_io(cmd);
}

void
cmd_resume(struct scsi_cmd *cmd)
{
	uint32_t hot = atomic_load_explicit(&cmd->nlun->hot, memory_order_acquire);

	if (unlikely(hot & NLUN_SANITIZE) && sanitize_refuses(cmd))
		return;
	if (io_start(cmd))
		cmd->row->exec(cmd);
}

uint8_t *
param_room(struct scsi_cmd *cmd, uint32_t len)
{
	if (cmd->mem == MEM_NONE && !cmd_room(cmd, segment_for(len)))
		return NULL;
	assert(cmd->niov == 1);
	memset(cmd->iov[0].iov_base, 0, len);
	return cmd->iov[0].iov_base;
}

void
param_done(struct scsi_cmd *cmd, uint32_t len, uint32_t allocation)
{
	cmd->asked = MIN(len, allocation);
	cmd->data_in = (uint32_t)MIN(cmd->asked, cmd->edtl_in);
	cmd->iov[0].iov_len = cmd->data_in;
	cmd_good(cmd);
}
