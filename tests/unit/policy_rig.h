/* Requests with addresses, and a disk that keeps its commands until a test says how they end. */
#ifndef POLICY_RIG_H
#define POLICY_RIG_H

#include <errno.h>

#include "bridge_rig.h"

enum { PREQS = 2048, BLOCK = 512 };

struct preq {
	struct bridge_req req;
	struct iovec iov;
	int flow;
	enum bridge_verdict verdict;
	bool gone;			/* cancelled while it waited */
	_Atomic int done;		/* times done was called; looked at from outside */
	int result;
};

/* What the disk got, as it got it. */
struct pcmd {
	struct disk_io *io;		/* NULL: given back */
	enum disk_op op;
	uint64_t lba, blocks;
	int niov;
	int leader;			/* its number */
};

static struct preq preqs[PREQS];
static struct pcmd pcmds[PREQS * 4];
static int npreqs;
static _Atomic int npcmds;
static struct bridge_flow *pflows[RIG_DISKS];
static _Atomic int disk_room;		/* commands at once, more get -EAGAIN; 0: any number */
static _Atomic int disk_now;		/* commands it has */
static enum disk_result (*_Atomic disk_answers)(struct disk_io *);	/* NULL: keeps them */

static inline enum disk_result
keep(struct disk_io *io)
{
	struct preq *p = container_of(io, struct preq, req.io);
	enum disk_result (*answers)(struct disk_io *) = disk_answers;
	bool full = disk_room && disk_now >= disk_room, keeps = !full && !answers;
	uint64_t len = 0;

	for (int i = 0; i < io->niov; i++)
		len += io->iov[i].iov_len;
	sure(len == io->len || io->op == DISK_FLUSH);
	sure(npcmds < (int)ARRAY_LEN(pcmds));
	pcmds[npcmds] = (struct pcmd){ keeps ? io : NULL, (enum disk_op)io->op,
		io->offset / BLOCK, io->len / BLOCK, io->niov, (int)(p - preqs) };
	npcmds++;
	if (full) {
		io->result = -EAGAIN;
		return DISK_DONE;
	}
	if (!keeps)
		return answers(io);
	disk_now++;
	return DISK_PENDING;
}

static inline void
preq_done(struct bridge_req *req)
{
	struct preq *p = container_of(req, struct preq, req);

	sure(reactor_self() == reactor_get(0));
	p->result = req->io.result;
	p->done++;
}

struct pstep {
	int i, j, n;
	enum disk_op op;
	uint64_t lba, blocks;
	uint8_t flags;
	const char *name;
	struct bridge_limits limits;
	int result;
	enum bridge_verdict (*submit)(struct bridge_req *);
};

static inline void
on_pflow(void *arg)
{
	struct pstep *s = arg;

	pflows[s->i] = bridge_flow_get(rig_disk(s->j), s->name, &s->limits, reactor_self());
	sure(pflows[s->i]);
}

static inline void
pflow_with(int i, int disk, const char *name, struct bridge_limits limits)
{
	struct pstep s = { .i = i, .j = disk, .name = name, .limits = limits };

	rig_run(0, on_pflow, &s);
}

static inline void
pflow(int i, int disk, const char *name, unsigned weight)
{
	pflow_with(i, disk, name, (struct bridge_limits){ .weight = weight });
}

/* Fills in and submits `n` requests, one behind the other, in one turn of the reactor. */
static inline void
on_ask(void *arg)
{
	struct pstep *s = arg;

	for (int k = 0; k < s->n; k++) {
		struct preq *p = &preqs[s->j + k];

		memset(p, 0, sizeof(*p));
		p->flow = s->i;
		p->iov = (struct iovec){ (void *)(uintptr_t)(0x100000 + (s->j + k) * 0x1000),
			s->blocks * BLOCK };
		p->req.flow = pflows[s->i];
		p->req.done = preq_done;
		p->req.io.op = (uint8_t)s->op;
		p->req.io.flags = s->flags;
		if (s->op != DISK_FLUSH) {
			p->req.io.offset = (s->lba + (uint64_t)k * s->blocks) * BLOCK;
			p->req.io.len = s->blocks * BLOCK;
			p->req.io.iov = &p->iov;
			p->req.io.niov = 1;
		}
		p->verdict = s->submit(&p->req);
		if (p->verdict == BRIDGE_DONE)
			p->result = p->req.io.result;
	}
}

static inline int
ask_by(enum bridge_verdict (*submit)(struct bridge_req *), int f, enum disk_op op, uint64_t lba,
    uint64_t blocks, int n, uint8_t flags)
{
	struct pstep s = { .i = f, .j = npreqs, .n = n, .op = op, .lba = lba, .blocks = blocks,
		.flags = flags, .submit = submit };

	npreqs += n;
	assert_true(npreqs <= PREQS);
	rig_run(0, on_ask, &s);
	rig_settle();
	return s.j;
}

/* The number of the first. */
static inline int
ask(int f, enum disk_op op, uint64_t lba, int n)
{
	return ask_by(bridge_submit, f, op, lba, 1, n, 0);
}

static inline void
on_give_back(void *arg)
{
	struct pstep *s = arg;
	struct disk_io *io = pcmds[s->i].io;

	pcmds[s->i].io = NULL;
	disk_now--;
	io->result = s->result;
	disk_io_done(io);
}

/* The c-th command the disk got ends with this. */
static inline void
give_back(int c, int result)
{
	struct pstep s = { .i = c, .result = result };

	assert_non_null(pcmds[c].io);
	rig_run(0, on_give_back, &s);
	rig_settle();
}

/* The oldest the disk has. False: it has none. */
static inline bool
give_back_oldest(int result)
{
	for (int c = 0; c < npcmds; c++)
		if (pcmds[c].io) {
			give_back(c, result);
			return true;
		}
	return false;
}

static inline void
on_pcancel(void *arg)
{
	int i = *(int *)arg;

	preqs[i].gone = bridge_cancel(&preqs[i].req) == BRIDGE_CANCELLED;
}

static inline enum bridge_cancel
pcancel(int i)
{
	rig_run(0, on_pcancel, &i);
	rig_settle();
	return preqs[i].gone ? BRIDGE_CANCELLED : BRIDGE_RUNNING;
}

static inline void
assert_command(int c, enum disk_op op, uint64_t lba, uint64_t blocks)
{
	assert_in_range(c, 0, npcmds - 1);
	assert_int_equal(pcmds[c].op, op);
	assert_int_equal(pcmds[c].lba, lba);
	assert_int_equal(pcmds[c].blocks, blocks);
}

static inline void
pcheck(void)
{
	assert_int_equal(bridge_check(rig.host, stderr), 0);
}

static inline void
pstart(uint32_t can_queue, uint32_t lun_depth, int ndisks)
{
	npreqs = 0;
	npcmds = disk_room = disk_now = 0;
	disk_answers = NULL;
	rig_open(1, can_queue, 1000, lun_depth, ndisks, 1, keep);
}

static inline void
on_pput(void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(pflows); i++) {
		bridge_flow_put(pflows[i]);
		pflows[i] = NULL;
	}
}

/* Gives all back; each request must have come home once. */
static inline void
pend(void)
{
	while (give_back_oldest(0))
		;
	for (int i = 0; i < npreqs; i++)
		assert_int_equal(preqs[i].done,
		    preqs[i].verdict == BRIDGE_PENDING && !preqs[i].gone);
	rig_run(0, on_pput, NULL);
	rig_close();
	memset(&rig_wants, 0, sizeof(rig_wants));
}

#endif
