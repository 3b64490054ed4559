/*
 * All that orders, merges, cuts back and paces at once, on three reactors, with
 * bad blocks, full disks and cancelled requests: each request has its own
 * result once, and nobody is forgotten.
 */
#include <errno.h>

#include "bridge_rig.h"
#include "hba/bridge/policy.h"

enum {
	REACTORS = 3,
	DISKS = 2,
	INIS = 3,
	FLOWS = DISKS * INIS,
	EACH = 96,			/* requests of a reactor */
	REQS = REACTORS * EACH,
	CAN_QUEUE = 7,
	LUN_DEPTH = 5,
	BLOCK = 512,
	ENOUGH = 1500,			/* requests that came back, on each reactor */
};

struct sreq {
	struct bridge_req req;
	struct iovec iov;
	int flow;
	uint64_t lba, blocks;
	enum { IDLE, PENDING } is;
	bool unwanted;
	_Atomic int at_disk;
};

/* One reactor's part. */
struct part {
	struct msg tick;
	unsigned id, seed;
	int ended, cancelled;
	bool quiet;			/* asks no more, and has nothing pending */
	struct bridge_flow *flows[FLOWS];
	uint64_t stream[FLOWS];		/* where the next sequential one goes */
	struct disk_io *held[REQS];
	int nheld;
};

static struct sreq reqs[REQS];
static struct part parts[REACTORS];
static atomic_int host_now, lun_now[DISKS], ini_now[INIS], running;
static atomic_int merged, refused, failed;
static bool inline_disk;

static unsigned
rnd(struct part *p, unsigned n)
{
	p->seed = p->seed * 1664525u + 1013904223u;
	return (p->seed >> 8) % n;
}

static bool
is_bad(uint64_t lba, uint64_t blocks)
{
	for (uint64_t i = lba; i < lba + blocks; i++)
		if (i % 61 == 7)
			return true;
	return false;
}

static int
disk_of(const struct disk_io *io)
{
	return io->disk->name[1] - '0';
}

/* Whose segments these are: each at its own address, and nobody's twice. */
static void
owners_enter(const struct disk_io *io, int by)
{
	uint64_t at = io->offset;

	for (int i = 0; i < io->niov; i++) {
		struct sreq *r = &reqs[(uintptr_t)io->iov[i].iov_base / 0x10000 - 1];

		sure(r->lba * BLOCK == at && r->blocks * BLOCK == io->iov[i].iov_len);
		sure(r->is == PENDING || by > 0);
		sure(atomic_fetch_add(&r->at_disk, by) + by == (by > 0));
		at += io->iov[i].iov_len;
	}
	sure(at - io->offset == io->len);
}

static void
count(const struct sreq *r, int by)
{
	int ini = r->flow / DISKS;

	sure(atomic_fetch_add(&host_now, by) + by <= CAN_QUEUE);
	sure(atomic_fetch_add(&lun_now[r->flow % DISKS], by) + by <= LUN_DEPTH);
	sure(atomic_fetch_add(&ini_now[ini], by) + by <= (ini == 1 ? 3 : CAN_QUEUE));
}

/* What the disk says to a command: it has no room, or by its addresses. */
static int
answer_of(struct part *p, const struct disk_io *io)
{
	if (rnd(p, 150) == 0) {
		atomic_fetch_add(&refused, 1);
		return -EAGAIN;
	}
	return io->op == DISK_FLUSH || !is_bad(io->offset / BLOCK, io->len / BLOCK) ? 0 : -EIO;
}

static enum disk_result
storm_submit(struct disk_io *io)
{
	struct sreq *r = container_of(io, struct sreq, req.io);
	struct part *p = &parts[reactor_id(reactor_self())];

	sure(disk_of(io) == r->flow % DISKS);
	count(r, 1);
	owners_enter(io, 1);
	if (io->niov > 1)
		atomic_fetch_add(&merged, 1);
	if (inline_disk && rnd(p, 3) == 0) {
		io->result = answer_of(p, io);
		owners_enter(io, -1);
		count(r, -1);
		return DISK_DONE;
	}
	p->held[p->nheld++] = io;
	return DISK_PENDING;
}

static void
finish_one(struct part *p)
{
	int i = (int)rnd(p, (unsigned)p->nheld);
	struct disk_io *io = p->held[i];

	p->held[i] = p->held[--p->nheld];
	io->result = answer_of(p, io);
	owners_enter(io, -1);
	count(container_of(io, struct sreq, req.io), -1);
	disk_io_done(io);
}

static void
ended(struct sreq *r)
{
	struct part *p = &parts[(r - reqs) / EACH];
	int result = r->req.io.result;

	sure(!atomic_load(&r->at_disk));
	r->is = IDLE;
	p->ended++;
	sure(r->req.io.offset == r->lba * BLOCK && r->req.io.len == r->blocks * BLOCK);
	sure(r->req.io.niov == (r->blocks > 0) && r->req.io.iov == (r->blocks ? &r->iov : NULL));
	if (r->unwanted)
		return;
	sure(result == (is_bad(r->lba, r->blocks) ? -EIO : 0));
	atomic_fetch_add(&failed, result != 0);
}

static void
storm_done(struct bridge_req *req)
{
	struct sreq *r = container_of(req, struct sreq, req);

	sure(r->is == PENDING);
	sure(reactor_id(reactor_self()) == (unsigned)(r - reqs) / EACH);
	ended(r);
}

static void
ask(struct part *p, struct sreq *r)
{
	int f = (int)rnd(p, FLOWS);
	enum disk_op op = rnd(p, 40) ? (enum disk_op)(f / 2 % 2) : DISK_FLUSH;

	r->flow = f;
	r->unwanted = false;
	r->blocks = op == DISK_FLUSH ? 0 : 1 + rnd(p, 4);
	r->lba = op == DISK_FLUSH ? 0 : rnd(p, 8) ? p->stream[f] : rnd(p, 2000);
	if (op != DISK_FLUSH)
		p->stream[f] = (r->lba + r->blocks) % 2000;
	r->iov = (struct iovec){ (void *)((uintptr_t)(r - reqs + 1) * 0x10000), r->blocks * BLOCK };
	r->req.flow = p->flows[f];
	r->req.done = storm_done;
	r->req.io = (struct disk_io){ .op = (uint8_t)op, .offset = r->lba * BLOCK,
		.len = r->blocks * BLOCK, .iov = r->blocks ? &r->iov : NULL,
		.niov = r->blocks > 0, .flags = rnd(p, 10) == 0 };
	r->is = PENDING;
	if (bridge_submit(&r->req) == BRIDGE_DONE)
		ended(r);
}

static void
cancel(struct part *p, struct sreq *r)
{
	if (r->unwanted)
		return;
	r->unwanted = true;
	if (bridge_cancel(&r->req) == BRIDGE_RUNNING)
		return;
	sure(!atomic_load(&r->at_disk));
	r->is = IDLE;
	p->cancelled++;
}

static void
tick(struct msg *m)
{
	struct part *p = container_of(m, struct part, tick);
	struct sreq *mine = &reqs[p->id * EACH];
	bool last = p->ended >= ENOUGH;
	int pending = 0;

	for (int i = 0; i < 6 && !last; i++) {
		struct sreq *r = &mine[rnd(p, EACH)];

		if (r->is == IDLE)
			ask(p, r);
		else if (rnd(p, 200) == 0)
			cancel(p, r);
	}
	for (unsigned n = last ? (unsigned)p->nheld : rnd(p, 5); n > 0 && p->nheld > 0; n--)
		finish_one(p);
	for (int i = 0; i < EACH; i++)
		pending += mine[i].is == PENDING;
	/* The others may still need this one: its disk part has what they were given. */
	if (last && pending == 0 && !p->quiet) {
		p->quiet = true;
		atomic_fetch_sub(&running, 1);
	}
	if (atomic_load(&running) > 0)
		reactor_post(reactor_get(p->id), &p->tick);
	else
		atomic_fetch_sub(&running, 1);
}

static void
begin(void *arg)
{
	struct part *p = arg;
	static const char *const names[INIS] = { "fast", "narrow", "paced" };

	for (int f = 0; f < FLOWS; f++) {
		int ini = f / DISKS;
		struct bridge_limits limits = { .weight = 1 + (unsigned)ini,
			.depth = ini == 1 ? 3 : 0, .iops = ini == 2 ? 30000 : 0,
			.burst_ns = 100000 };

		p->flows[f] = bridge_flow_get(rig_disk(f % DISKS), names[ini], &limits,
		    reactor_self());
		sure(p->flows[f]);
	}
	p->tick.fn = tick;
	tick(&p->tick);
}

static void
leave(void *arg)
{
	struct part *p = arg;

	sure(p->nheld == 0);
	for (int f = 0; f < FLOWS; f++)
		bridge_flow_put(p->flows[f]);
}

/* What a reload may change, again and again, and a limit set by hand. Main thread. */
static void
change(unsigned seed)
{
	struct conf_adapter conf = rig.adapter;
	int err;

	conf.scheduler = (int)seed & 1;
	conf.coalesce = seed >> 1 & 1;
	conf.cost = (int)(seed >> 2 & 1);
	assert_int_equal(policy_set(rig.host, &conf), 0);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_LUN, "d0", 1 + seed % LUN_DEPTH), 0);
	err = bridge_set_mode(rig.host, (int)(seed % 5), 0, 1000000000);
	assert_true(err == 0 || err == -ETIMEDOUT);
}

static void
storm(unsigned seed)
{
	int done = 0, cancelled = 0;
	bool changes = seed % 3 == 2;

	memset(parts, 0, sizeof(parts));
	memset(reqs, 0, sizeof(reqs));
	atomic_store(&merged, 0);
	atomic_store(&refused, 0);
	atomic_store(&failed, 0);
	rig_wants.scheduler = seed & 1;
	rig_wants.queue_mode = (int)(seed % 5);
	rig_wants.coalesce = true;
	rig_wants.cost = seed >> 1 & 1;
	rig_wants.max_xfer = 64 * BLOCK;
	rig_wants.latency_target_ns = seed >> 2 & 1 ? 2000000 : 0;
	inline_disk = seed >> 1 & 1;
	rig_open(REACTORS, CAN_QUEUE, CAN_QUEUE, LUN_DEPTH, DISKS, 1, storm_submit);
	atomic_store(&running, REACTORS);
	for (unsigned i = 0; i < REACTORS; i++) {
		parts[i].id = i;
		parts[i].seed = seed * 7919 + i;
		rig_run(i, begin, &parts[i]);
	}
	/* Each takes one more when all have ended, so that no tick is under way. */
	for (int i = 0; atomic_load(&running) > -REACTORS; i++) {
		assert_true(i < 60000);
		if (changes && i % 20 == 0)
			change(seed + (unsigned)i / 20);
		if (i % 50 == 0)
			assert_int_equal(bridge_check(rig.host, stderr), 0);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_int_equal(host_now, 0);
	for (unsigned i = 0; i < REACTORS; i++) {
		done += parts[i].ended;
		cancelled += parts[i].cancelled;
		rig_run(i, leave, &parts[i]);
	}
	print_message("# %d done, %d cancelled, %d merged, %d refused, %d failed\n", done,
	    cancelled, merged, refused, failed);
	assert_true(done >= REACTORS * ENOUGH && cancelled > 10);
	assert_true(merged > 10 && refused > 10 && failed > 10);
	rig_close();
	memset(&rig_wants, 0, sizeof(rig_wants));
}

static void
each_has_its_own_result(void **state)
{
	for (unsigned seed = 0; seed < 10; seed++)
		storm(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_has_its_own_result) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
