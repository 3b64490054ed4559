/* EXTENDED COPY(LID1) (SPC-4 6.4): blocks go from unit to unit without passing the initiator. */
#include <assert.h>
#include <string.h>

#include "cmd.h"
#include "copy.h"
#include "yield.h"

COUNTER(copied, "scsi_copied_bytes", "bytes that EXTENDED COPY and tokens copied");

enum { LIST_LENGTH = 10 };		/* in the CDB */
enum { COPY_BEGIN, COPY_NEXT, COPY_READ, COPY_WRITE };
enum { PIECE = BUF_SEG_MAX };

/* In tmp[0]. tmp[1] holds what is read until it is written. */
struct copy_work {
	struct copy_list list;
	struct copy_segment s;		/* the one it is at, */
	unsigned n;			/* and its number: so many are done */
	uint64_t done;			/* bytes of it */
	uint64_t total;			/* bytes of all */
	bool backward;			/* its parts overlap: the last piece goes first */
	struct iovec iov[BUF_IOV_MAX];	/* what a disk lends */
	uint8_t bytes[COPY_LIST_MAX];
};
enum { WORK_MAX = 4096 };
_Static_assert(sizeof(struct copy_work) <= WORK_MAX, "copy_work");

static struct copy_work *
work_of(const struct scsi_cmd *cmd)
{
	return cmd->tmp[0].iov_base;
}

static bool
copy_check(struct scsi_cmd *cmd)
{
	uint32_t len = rd32(cmd->cdb + LIST_LENGTH);

	if (len && (len < COPY_HEADER || len > COPY_LIST_MAX)) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
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

/* -- who copies -- */

static void copy_exec(struct scsi_cmd *);

static bool
is_copying(const struct scsi_cmd *cmd)
{
	return cmd->row && cmd->row->exec == copy_exec && cmd->step != COPY_BEGIN;
}

const struct scsi_cmd *
copy_running(const struct nexus_lun *nlun, uint8_t id, const struct scsi_cmd *but)
{
	const struct scsi_cmd *cmd;

	list_for_each(cmd, &nlun->nexus->tasks, task)
		if (cmd != but && is_copying(cmd) && cmd->home == nlun &&
		    work_of(cmd)->list.list[0] == id)
			return cmd;
	return NULL;
}

uint32_t
copy_segments_done(const struct scsi_cmd *cmd)
{
	return work_of(cmd)->n;
}

uint64_t
copy_bytes_done(const struct scsi_cmd *cmd)
{
	return work_of(cmd)->total;
}

/* From here on it works on this unit: I/O, fence and resets are about that. */
static void
copy_go_to(struct scsi_cmd *cmd, struct nexus_lun *nlun)
{
	cmd->nlun = nlun;
	cmd->lu = nlun->lu;
}

/* -- the end -- */

static void
copy_keep(struct scsi_cmd *cmd, enum scsi_status status, const struct sense *s)
{
	const struct copy_work *w = work_of(cmd);
	struct copy_result *r;

	copy_go_to(cmd, cmd->home);
	if ((w->list.list[1] & COPY_USAGE) != COPY_HELD)
		return;
	r = copies_put(cmd->home, w->list.list[0]);
	r->status = (uint8_t)status;
	r->segments = w->n;
	r->bytes = w->total;
	if (s)
		r->sense_len = (uint8_t)sense_fixed(r->sense, s);
}

static void
copy_good(struct scsi_cmd *cmd)
{
	copy_keep(cmd, SCSI_GOOD, NULL);
	cmd_good(cmd);
}

/* SPC-4 5.16.6.4: INFORMATION is the segment at which it ended. */
static void
copy_fail(struct scsi_cmd *cmd, enum cond cond)
{
	struct sense s;

	sense_init(&s, cond);
	s.has_info = true;
	s.info = work_of(cmd)->n;
	copy_keep(cmd, SCSI_CHECK_CONDITION, &s);
	cmd_fail_sense(cmd, &s);
}

/* A unit's own error is no error of this command's unit. No memory is none of the copy. */
static void
copy_fail_io(struct scsi_cmd *cmd)
{
	const struct disk_io *io = &cmd->req.io;

	if (sense_of_errno(io->result, io->op == DISK_WRITE) == CONDS) {
		copy_keep(cmd, SCSI_BUSY, NULL);
		cmd_full(cmd);
	} else {
		copy_fail(cmd, COND_COPY_UNIT_FAILED);
	}
}

/* -- piece by piece -- */

/* The bytes of the next piece, and where in the segment they are. */
static uint64_t
piece(const struct copy_work *w, uint64_t *at)
{
	uint64_t left = w->s.len - w->done, len = MIN(left, (uint64_t)PIECE);

	*at = w->backward ? left - len : w->done;
	return len;
}

static bool
copy_read(struct scsi_cmd *cmd)
{
	struct copy_work *w = work_of(cmd);
	struct disk_io *io = &cmd->req.io;
	bool lends;
	uint64_t at;

	copy_go_to(cmd, w->s.from);
	lends = cmd->lu->disk->caps & DISK_CAP_LENDS;
	cmd->step = COPY_READ;
	io->op = DISK_READ;
	io->flags = 0;
	io->len = piece(w, &at);
	io->offset = w->s.from_at + at;
	cmd->tmp[1].iov_len = io->len;
	io->iov = lends ? w->iov : &cmd->tmp[1];
	io->niov = lends ? 0 : 1;
	return cmd_io(cmd);
}

/* What a disk has lent, others may write meanwhile, this copy among them. */
static void
copy_take_lent(struct scsi_cmd *cmd)
{
	const struct disk_io *io = &cmd->req.io;
	uint8_t *to = cmd->tmp[1].iov_base;

	if (!(cmd->lu->disk->caps & DISK_CAP_LENDS))
		return;
	for (int i = 0; i < io->niov; i++) {
		memcpy(to, io->iov[i].iov_base, io->iov[i].iov_len);
		to += io->iov[i].iov_len;
	}
}

static bool
copy_write(struct scsi_cmd *cmd)
{
	struct copy_work *w = work_of(cmd);
	struct disk_io *io = &cmd->req.io;
	uint64_t at;

	copy_go_to(cmd, w->s.to);
	cmd->step = COPY_WRITE;
	io->op = DISK_WRITE;
	io->flags = 0;
	io->len = piece(w, &at);
	io->offset = w->s.to_at + at;
	io->iov = &cmd->tmp[1];
	io->niov = 1;
	return cmd_io(cmd);
}

/* The next segment that has something to copy. False: there is none. */
static bool
copy_segment_next(struct copy_work *w)
{
	while (w->done == w->s.len) {
		if (++w->n == w->list.nsegments)
			return false;
		copy_segment_get(&w->list, w->n, &w->s);
		w->done = 0;
		w->backward = w->s.from->lu == w->s.to->lu && w->s.to_at > w->s.from_at;
	}
	return true;
}

/* One I/O more, if it is allowed at this moment. False: it is under way, or answered. */
static bool
copy_io(struct scsi_cmd *cmd, bool write)
{
	const struct copy_work *w = work_of(cmd);

	if (!copy_may(write ? w->s.to : w->s.from, write)) {
		copy_fail(cmd, COND_COPY_UNREACHABLE);
		return false;
	}
	return write ? copy_write(cmd) : copy_read(cmd);
}

static void
copy_run(struct scsi_cmd *cmd)
{
	struct copy_work *w = work_of(cmd);
	uint64_t start = yield_start();

	while (cmd->req.io.result == 0) {
		switch (cmd->step) {
		case COPY_NEXT:
			if (yield_due(cmd, start))
				return;
			if (!copy_segment_next(w)) {
				copy_good(cmd);
				return;
			}
			if (!copy_io(cmd, false))
				return;
			break;
		case COPY_READ:
			copy_take_lent(cmd);
			if (!copy_io(cmd, true))
				return;
			break;
		case COPY_WRITE:
			w->done += cmd->req.io.len;
			w->total += cmd->req.io.len;
			counter_add(&copied, cmd->req.io.len);
			cmd->step = COPY_NEXT;
			break;
		}
	}
	copy_fail_io(cmd);
}

/* -- the beginning -- */

static void
copy_fault_answer(struct scsi_cmd *cmd, const struct copy_fault *f)
{
	if (f->cond == COND_INVALID_PARAM)
		cmd_fail_param(cmd, f->field, f->bit);
	else
		cmd_fail(cmd, f->cond);
}

static bool
copy_room(struct scsi_cmd *cmd)
{
	return (cmd->ntmp >= 1 || cmd_room_tmp(cmd, WORK_MAX)) &&
	    (cmd->ntmp >= 2 || cmd_room_tmp(cmd, PIECE));
}

static void
copy_gather(const struct scsi_cmd *cmd, uint8_t *to)
{
	uint32_t left = cmd->len;

	for (const struct iovec *v = cmd->iov; left; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, left);

		memcpy(to, v->iov_base, n);
		to += n;
		left -= n;
	}
}

/* False: answered, or memory is short. */
static bool
copy_begin(struct scsi_cmd *cmd)
{
	struct copy_fault f;
	struct copy_work *w;

	if (!copy_room(cmd))
		return false;
	w = work_of(cmd);
	copy_gather(cmd, w->bytes);
	if (!copy_list_ok(&w->list, cmd->nexus, w->bytes, cmd->len, &f)) {
		copy_fault_answer(cmd, &f);
		return false;
	}
	if (copy_running(cmd->nlun, w->bytes[0], cmd)) {
		cmd_fail(cmd, COND_COPY_IN_PROGRESS);
		return false;
	}
	if (!copies_make(cmd->nlun)) {
		cmd_full(cmd);
		return false;
	}
	/* As behind a segment before the first. */
	w->s.len = w->done = w->total = 0;
	w->n = UINT32_MAX;
	cmd->home = cmd->nlun;
	cmd->step = COPY_NEXT;
	return true;
}

static void
copy_exec(struct scsi_cmd *cmd)
{
	if (!cmd->len) {
		cmd_good(cmd);
		return;
	}
	if (cmd->step == COPY_BEGIN && !copy_begin(cmd))
		return;
	if (work_of(cmd)->list.nsegments == 0) {
		work_of(cmd)->n = 0;
		copy_good(cmd);
		return;
	}
	copy_run(cmd);
}

static const struct cmd_row copy[] = {
	{ "EXTENDED COPY(LID1)", OP_COPY_OUT, 16, SA_COPY_LID1,
	    ROW_MEDIUM | ROW_OUT | ROW_SA | ROW_COPY,
	    { OP_COPY_OUT, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
	    copy_check, copy_exec },
};
CMD_FAMILY(copy);
