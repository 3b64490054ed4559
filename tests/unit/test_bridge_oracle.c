/*
 * Whose turn it is, against an oracle of plain arrays: random steps on one
 * reactor, the order of grants compared one by one, everything recounted after
 * each step.
 */
#include "bridge_rig.h"

#include "hba/bridge/host.h"
#include "hba/bridge/poll.h"

enum { STEPS = 100000, REQS = 200, INIS = 5, DISKS = 4, FLOWS = INIS * DISKS, LIMIT = 6,
	/* No limit, whoever stands further out, and whatever the reactor keeps. */
	WIDE = 400 };

struct oreq {
	struct bridge_req req;
	enum { IDLE, WAITS, RUNS } is;
	int flow;
};

/* -- the oracle: one node that is too small, initiators in a ring, flows in a ring -- */

static struct {
	int ring[INIS], nring;		/* initiators with waiting flows, in turn */
	int flow[INIS][DISKS], nflow[INIS];	/* of these the flows, in turn */
	int left[INIS];			/* of a turn */
	struct oreq *queue[FLOWS][REQS];
	int nqueue[FLOWS];
	int weight[INIS];
	int free;
} o;

static struct oreq *expected[REQS];	/* to reach the disk next, in this order */
static int nexpected, met;

static void
move_to_end(int *v, int n)
{
	int first = v[0];

	memmove(v, v + 1, (size_t)(n - 1) * sizeof(*v));
	v[n - 1] = first;
}

static void
take_out(int *v, int *n, int what)
{
	int i = 0;

	while (v[i] != what)
		i++;
	memmove(v + i, v + i + 1, (size_t)(*n - i - 1) * sizeof(*v));
	(*n)--;
}

static void
take_req_out(int f, const struct oreq *r)
{
	int i = 0;

	while (o.queue[f][i] != r)
		i++;
	memmove(&o.queue[f][i], &o.queue[f][i + 1], (size_t)(o.nqueue[f] - i - 1) * sizeof(r));
	o.nqueue[f]--;
}

/* The flow has nothing more; its initiator may have nothing more, and then keeps nothing of its turn. */
static void
flow_ends(int f)
{
	int i = f / DISKS;

	take_out(o.flow[i], &o.nflow[i], f);
	if (o.nflow[i] > 0)
		return;
	take_out(o.ring, &o.nring, i);
	o.left[i] = 0;
}

static void
oracle_grant(void)
{
	while (o.free > 0 && o.nring > 0) {
		int i = o.ring[0], f = o.flow[i][0];
		struct oreq *r = o.queue[f][0];

		if (o.left[i] == 0)
			o.left[i] = o.weight[i];
		o.left[i]--;
		o.free--;
		expected[nexpected++] = r;
		r->is = RUNS;
		take_req_out(f, r);
		if (o.nqueue[f] == 0)
			flow_ends(f);
		else
			move_to_end(o.flow[i], o.nflow[i]);
		if (o.left[i] == 0 && o.nring > 0 && o.ring[0] == i)
			move_to_end(o.ring, o.nring);
	}
}

static void
oracle_submit(struct oreq *r)
{
	int f = r->flow, i = f / DISKS;

	if (o.free > 0 && o.nring == 0) {
		o.free--;
		r->is = RUNS;
		expected[nexpected++] = r;
		return;
	}
	r->is = WAITS;
	if (o.nqueue[f] == 0) {
		if (o.nflow[i] == 0)
			o.ring[o.nring++] = i;
		o.flow[i][o.nflow[i]++] = f;
	}
	o.queue[f][o.nqueue[f]++] = r;
}

static void
oracle_cancel(struct oreq *r)
{
	int f = r->flow;

	r->is = IDLE;
	take_req_out(f, r);
	if (o.nqueue[f] == 0)
		flow_ends(f);
}

/* -- the bridge -- */

static struct oreq reqs[REQS];
static struct bridge_flow *flows[FLOWS];
static unsigned seed;
static int disks, waited, cancelled;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static enum disk_result
disk_submit(struct disk_io *io)
{
	struct oreq *r = container_of(io, struct oreq, req.io);

	sure(met < nexpected);
	sure(expected[met] == r);
	met++;
	io->result = 0;
	return DISK_PENDING;
}

static void
req_done(struct bridge_req *req)
{
	container_of(req, struct oreq, req)->is = IDLE;
}

static struct oreq *
pick(int state)
{
	unsigned from = rnd(REQS);

	for (unsigned i = 0; i < REQS; i++)
		if ((int)reqs[(from + i) % REQS].is == state)
			return &reqs[(from + i) % REQS];
	return NULL;
}

static void
step_submit(struct oreq *r)
{
	r->flow = (int)(rnd(INIS) * DISKS + rnd((unsigned)disks));
	r->req.flow = flows[r->flow];
	r->req.done = req_done;
	oracle_submit(r);
	waited += r->is == WAITS;
	sure(bridge_submit(&r->req) == BRIDGE_PENDING);
}

static void
step_finish(struct oreq *r)
{
	o.free++;
	oracle_grant();
	disk_io_done(&r->req.io);
}

static void
step_cancel(struct oreq *r)
{
	oracle_cancel(r);
	cancelled++;
	sure(bridge_cancel(&r->req) == BRIDGE_CANCELLED);
}

static void
step(void)
{
	struct oreq *r;
	unsigned what = rnd(16);

	nexpected = met = 0;
	if (what < 8 && (r = pick(IDLE)))
		step_submit(r);
	else if (what < 14 && (r = pick(RUNS)))
		step_finish(r);
	else if ((r = pick(WAITS)))
		step_cancel(r);
	/* What the step has collected leaves at the next poll. */
	cpu_poll(&host_cpu(rig.host)->poller);
	sure(met == nexpected);
	sure(bridge_check(rig.host, stderr) == 0);
}

static void
steps_on(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		step();
}

static void
flows_on(void *arg)
{
	char name[16];

	for (int f = 0; f < FLOWS; f++) {
		const struct bridge_limits limits = {
			.weight = (uint32_t)o.weight[f / DISKS], .depth = WIDE,
		};

		if (f % DISKS >= disks)
			continue;
		snprintf(name, sizeof(name), "i%d", f / DISKS);
		flows[f] = bridge_flow_get(rig_disk(f % DISKS), name, &limits, reactor_self());
		sure(flows[f]);
	}
}

static void
end_on(void *arg)
{
	struct oreq *r;

	while ((r = pick(RUNS))) {
		nexpected = met = 0;
		step_finish(r);
		cpu_poll(&host_cpu(rig.host)->poller);
		sure(met == nexpected);
	}
	sure(!pick(WAITS) && o.nring == 0 && o.free == LIMIT);
	for (int f = 0; f < FLOWS; f++)
		bridge_flow_put(flows[f]);
}

/* The node that is too small: the adapter for flows to several LUNs, or one LUN. */
static void
compare(uint32_t host, uint32_t target, uint32_t lun, int ndisks, unsigned from, int steps)
{
	memset(&o, 0, sizeof(o));
	memset(reqs, 0, sizeof(reqs));
	memset(flows, 0, sizeof(flows));
	o.free = LIMIT;
	disks = ndisks;
	seed = from;
	waited = cancelled = 0;
	for (int i = 0; i < INIS; i++)
		o.weight[i] = 1 + (int)rnd(4);
	rig_open(1, host, target, lun, disks, disks, disk_submit);
	rig_run(0, flows_on, NULL);
	rig_run(0, steps_on, &steps);
	rig_run(0, end_on, NULL);
	rig_close();
	print_message("# %d steps, %d waited, %d cancelled\n", steps, waited, cancelled);
	assert_true(waited > steps / 10 && cancelled > steps / 50);
}

static void
turns_at_the_adapter(void **state)
{
	for (unsigned i = 1; i <= 4; i++)
		compare(LIMIT, WIDE, WIDE, DISKS, i * 7919, STEPS / 8);
}

static void
turns_at_a_lun(void **state)
{
	for (unsigned i = 1; i <= 2; i++)
		compare(WIDE, WIDE, LIMIT, 1, i * 104729, STEPS / 8);
}

static void
turns_at_a_target(void **state)
{
	for (unsigned i = 1; i <= 2; i++)
		compare(WIDE, LIMIT, WIDE, DISKS, i * 15485863, STEPS / 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_at_the_adapter),
		cmocka_unit_test(turns_at_a_lun),
		cmocka_unit_test(turns_at_a_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
