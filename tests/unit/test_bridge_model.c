/* The bridge against a model: random steps on one reactor, everything recounted after each. */
#include "bridge_rig.h"

#include "hba/bridge/host.h"
#include "hba/bridge/poll.h"

enum {
	INIS = 4,
	DISKS = 6,			/* three targets of two */
	TARGETS = 3,
	FLOWS = INIS * DISKS,
	REQS = 400,
	CAN_QUEUE = 12,
};

/* What the model knows: plain counts and plain lists. */
struct mreq {
	struct bridge_req req;
	enum { IDLE, WAITS, RUNS, BACK } is;	/* BACK: finished, done has not been called */
	int flow;
	uint64_t turn;			/* when it was submitted */
};

struct mlimit {
	uint32_t limit, busy;
	bool frozen;
};

static struct mreq reqs[REQS];
static struct bridge_flow *flows[FLOWS];
static struct mlimit host, target[TARGETS], lun[DISKS], ini[INIS];
static unsigned seed;
static uint64_t turn;
static bool inline_disk;
static int submitted, cancelled, finished;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void
limits_of(int flow, struct mlimit *l[4])
{
	int disk = flow % DISKS;

	l[0] = &ini[flow / DISKS];
	l[1] = &lun[disk];
	l[2] = &target[disk / 2];
	l[3] = &host;
}

static bool
may_start(int flow)
{
	struct mlimit *l[4];

	limits_of(flow, l);
	for (int i = 0; i < 4; i++)
		if (l[i]->frozen || l[i]->busy >= l[i]->limit)
			return false;
	return true;
}

static void
count(int flow, int by)
{
	struct mlimit *l[4];

	limits_of(flow, l);
	for (int i = 0; i < 4; i++)
		l[i]->busy += (uint32_t)by;
}

/* The fake disk: nothing may reach it that the limits forbid, and each flow in order. */
static enum disk_result
model_submit(struct disk_io *io)
{
	struct mreq *m = container_of(io, struct mreq, req.io);
	bool waited = m->is == WAITS;

	sure(waited || m->is == IDLE);
	sure(may_start(m->flow));
	for (int i = 0; i < REQS; i++)
		if (reqs[i].is == WAITS && reqs[i].flow == m->flow)
			sure(&reqs[i] == m || reqs[i].turn > m->turn);
	io->result = 0;
	if (inline_disk && rnd(2)) {
		if (waited)
			m->is = BACK;
		return DISK_DONE;
	}
	m->is = RUNS;
	count(m->flow, 1);
	return DISK_PENDING;
}

static void
model_done(struct bridge_req *req)
{
	struct mreq *m = container_of(req, struct mreq, req);

	sure(m->is == BACK);
	m->is = IDLE;
	finished++;
}

static struct mreq *
pick(int state)
{
	unsigned from = rnd(REQS);

	for (unsigned i = 0; i < REQS; i++)
		if ((int)reqs[(from + i) % REQS].is == state)
			return &reqs[(from + i) % REQS];
	return NULL;
}

static void
step_submit(struct mreq *m)
{
	enum bridge_verdict v;
	bool try = rnd(8) == 0;

	m->flow = (int)rnd(FLOWS);
	m->turn = turn++;
	m->req.flow = flows[m->flow];
	m->req.done = model_done;
	v = try ? bridge_try(&m->req) : bridge_submit(&m->req);
	submitted++;
	if (v == BRIDGE_PENDING && m->is == IDLE) {
		sure(!try);
		m->is = WAITS;
	} else {
		sure(m->is == (v == BRIDGE_PENDING ? RUNS : IDLE));
	}
}

/* Its place is free from here, also for whom the bridge starts before done. */
static void
step_finish(struct mreq *m)
{
	m->is = BACK;
	count(m->flow, -1);
	disk_io_done(&m->req.io);
}

static void
step_cancel(struct mreq *m)
{
	enum bridge_cancel c = BRIDGE_RUNNING;

	/*
	 * Marked before: cancelling may start others, and the model's order
	 * check must not see this one any more.
	 */
	if (m->is == WAITS) {
		m->is = IDLE;
		c = BRIDGE_CANCELLED;
		cancelled++;
	}
	sure(bridge_cancel(&m->req) == c);
}

/* Everything the bridge says is what the model says, and nobody waits who could run. */
static void
compare(void)
{
	static struct bridge_node_stats s[1 + TARGETS + DISKS + INIS];
	unsigned n = bridge_stats(rig.host, s, ARRAY_LEN(s));

	sure(n == ARRAY_LEN(s));
	for (unsigned i = 0; i < n; i++) {
		struct mlimit *l = s[i].kind == BRIDGE_HOST ? &host :
		    s[i].kind == BRIDGE_TARGET ? &target[atoi(s[i].name + 2)] :
		    s[i].kind == BRIDGE_LUN ? &lun[atoi(s[i].name + 1)] : &ini[atoi(s[i].name + 1)];

		sure(s[i].in_flight == l->busy);
		sure(s[i].limit == l->limit);
	}
	for (int i = 0; i < REQS; i++)
		if (reqs[i].is == WAITS)
			sure(!may_start(reqs[i].flow));
	sure(bridge_check(rig.host, stderr) == 0);
}

/* As the ends of turns, until there is nothing left to do. */
static void
turns(void)
{
	while (cpu_poll(&host_cpu(rig.host)->poller))
		;
}

static void
burst(void *arg)
{
	for (int i = 0; i < 20; i++) {
		struct mreq *m;

		switch (rnd(10)) {
		case 0 ... 4:
			m = pick(IDLE);
			if (m)
				step_submit(m);
			break;
		case 5 ... 8:
			m = pick(RUNS);
			if (m)
				step_finish(m);
			break;
		default:
			m = pick(rnd(3) ? WAITS : RUNS);
			if (m)
				step_cancel(m);
		}
		turns();
		compare();
	}
}

static void
compare_on(void *arg)
{
	compare();
}

/* A limit, a freeze or a thaw. On the reactor, as the model is; test_bridge_threads does it from outside. */
static void
change(void *arg)
{
	static const enum bridge_kind kinds[] = { BRIDGE_HOST, BRIDGE_TARGET, BRIDGE_LUN,
		BRIDGE_INITIATOR };
	unsigned k = rnd(4), which;
	struct mlimit *l;
	char name[16];

	which = rnd(k == 1 ? TARGETS : k == 2 ? DISKS : k == 3 ? INIS : 1);
	l = k == 0 ? &host : k == 1 ? &target[which] : k == 2 ? &lun[which] : &ini[which];
	snprintf(name, sizeof(name), k == 0 ? "rig" : k == 1 ? "0:%u" : k == 2 ? "d%u" : "i%u",
	    which);
	if (rnd(3)) {
		uint32_t to = 1 + rnd(rnd(4) ? CAN_QUEUE : 2);

		l->limit = to;
		sure(bridge_set_limit(rig.host, kinds[k], name, to) == 0);
	} else if (l->frozen || rnd(2)) {
		l->frozen = false;
		sure(bridge_thaw(rig.host, kinds[k], name) == 0);
	} else {
		l->frozen = true;
		sure(bridge_freeze(rig.host, kinds[k], name) == 0);
	}
}

static void
make_flows(void *arg)
{
	char name[16];

	for (int i = 0; i < FLOWS; i++) {
		snprintf(name, sizeof(name), "i%d", i / DISKS);
		flows[i] = bridge_flow_get(rig_disk(i % DISKS), name,
		    &(struct bridge_limits){ .weight = 1 + (unsigned)(i / DISKS), .depth = 5 },
		    reactor_self());
		sure(flows[i]);
	}
}

static void
put_flows(void *arg)
{
	for (int i = 0; i < FLOWS; i++)
		bridge_flow_put(flows[i]);
}

static void
thaw_all(void *arg)
{
	char name[16];

	host.frozen = false;
	bridge_thaw(rig.host, BRIDGE_HOST, "rig");
	for (int i = 0; i < TARGETS; i++) {
		target[i].frozen = false;
		snprintf(name, sizeof(name), "0:%d", i);
		bridge_thaw(rig.host, BRIDGE_TARGET, name);
	}
	for (int i = 0; i < DISKS; i++) {
		lun[i].frozen = false;
		snprintf(name, sizeof(name), "d%d", i);
		bridge_thaw(rig.host, BRIDGE_LUN, name);
	}
	for (int i = 0; i < INIS; i++) {
		ini[i].frozen = false;
		snprintf(name, sizeof(name), "i%d", i);
		bridge_thaw(rig.host, BRIDGE_INITIATOR, name);
	}
}

static void
drain(void *arg)
{
	struct mreq *m;

	while ((m = pick(RUNS))) {
		step_finish(m);
		turns();
	}
}

static void
run_model(unsigned from, int bursts, bool inline_too)
{
	seed = from;
	inline_disk = inline_too;
	submitted = cancelled = finished = 0;
	memset(reqs, 0, sizeof(reqs));
	rig_open(1, CAN_QUEUE, 6, 4, DISKS, 2, model_submit);
	rig_run(0, make_flows, NULL);
	host = (struct mlimit){ .limit = CAN_QUEUE };
	for (int i = 0; i < TARGETS; i++)
		target[i] = (struct mlimit){ .limit = 6 };
	for (int i = 0; i < DISKS; i++)
		lun[i] = (struct mlimit){ .limit = 4 };
	for (int i = 0; i < INIS; i++)
		ini[i] = (struct mlimit){ .limit = 5 };
	for (int i = 0; i < bursts; i++) {
		rig_run(0, burst, NULL);
		rig_settle();
		if (rnd(4) == 0)
			rig_run(0, change, NULL);
		rig_settle();
		rig_run(0, compare_on, NULL);
		if (rnd(100) == 0)
			rig_run(0, thaw_all, NULL);
		rig_settle();
	}
	rig_run(0, thaw_all, NULL);
	rig_settle();
	for (int i = 0; i < 50 && (pick(WAITS) || pick(RUNS) || pick(BACK)); i++) {
		rig_run(0, drain, NULL);
		rig_settle();
	}
	assert_null(pick(WAITS));
	assert_null(pick(RUNS));
	assert_null(pick(BACK));
	assert_int_equal(host.busy, 0);
	print_message("# %d submitted, %d done later, %d cancelled\n", submitted, finished, cancelled);
	assert_true(submitted > bursts && finished > bursts && cancelled > bursts / 10);
	rig_run(0, put_flows, NULL);
	rig_close();
}

static void
random_steps_agree_with_the_model(void **state)
{
	for (unsigned i = 1; i <= 3; i++)
		run_model(i * 7919, 800, false);
}

static void
also_when_the_disk_is_done_at_once(void **state)
{
	for (unsigned i = 1; i <= 3; i++)
		run_model(i * 104729, 800, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_steps_agree_with_the_model),
		cmocka_unit_test(also_when_the_disk_is_done_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
