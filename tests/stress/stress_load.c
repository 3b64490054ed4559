/* Random load without end: never over a limit, nobody and nothing lost; limits change under it. */
#include "tests/stress/stress.h"

#include <sched.h>

#include "hba/bridge/host.h"

enum { LOAD = 200000, CHANGES = 400 };

static void
load_step(struct msg *m)
{
	struct hw *h = hw_of(m);
	unsigned done = h->done;
	struct job *j;

	if (atomic_load(&world.stop))
		h->left = 0;
	for (unsigned i = 0; i < 8 && h->left > 0 && (j = job_free(h)); i++) {
		h->left--;
		job_aim(h, j);
		job_submit(h, j, rnd(&h->seed, 8) ? bridge_submit : bridge_try);
	}
	j = &h->job[rnd(&h->seed, world.shape.jobs)];
	if (j->pending && rnd(&h->seed, 4) == 0)
		job_cancel(h, j);
	/* Who finds nothing done lets those run whom it waits for. */
	if (h->done == done)
		sched_yield();
	if (h->left > 0)
		reactor_post(reactor_self(), m);
	else
		world_over();
}

void
load_begin(int each)
{
	for (unsigned i = 0; i < world.shape.reactors; i++)
		world.hw[i].left = each;
	world_run_all(load_step);
}

void
load_end(void)
{
	unsigned done = 0, cancelled = 0;

	world_silence();
	for (unsigned i = 0; i < world.shape.reactors; i++) {
		done += world.hw[i].done;
		cancelled += world.hw[i].cancelled;
	}
	printf("# %u done, %u cancelled\n", done, cancelled);
	sure(done > 0 && cancelled > 0);
	world_close();
}

void
load_stop(void)
{
	atomic_store(&world.stop, true);
	load_end();
}

void
load_run(void)
{
	static const struct shape shapes[] = {
		{ .reactors = 2, .host = 7, .disks = 4, .jobs = 32 },
		{ .reactors = 4, .host = 32, .target = 5, .disks = 4, .jobs = 32 },
		{ .reactors = 2, .host = 32, .lun = 3, .disks = 4, .jobs = 32, .awake = true },
		{ .reactors = 3, .host = 32, .ini = 4, .disks = 4, .jobs = 32 },
		{ .reactors = 4, .host = 9, .target = 6, .lun = 4, .ini = 5, .disks = 4, .jobs = 32 },
		/* Where reactors keep credits. */
		{ .reactors = 2, .host = 48, .target = 40, .lun = 36, .disks = 4, .jobs = 32 },
		{ .reactors = 3, .host = 60, .lun = 48, .disks = 2, .jobs = 64 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(shapes); i++) {
		world.inline_of = i % 2 ? 3 : 0;
		yield_set(i % 3 ? yield_random : NULL);
		world_open(&shapes[i]);
		load_begin(LOAD / (int)shapes[i].reactors / 4 / SLOWER);
		load_end();
	}
	world.inline_of = 0;
	yield_set(NULL);
}

/* -- limits -- */

struct knob {
	enum bridge_kind kind;
	const char *name;
	struct limit *limit;
	int top;
};

static struct knob *turned;

/* After a limit fell: nothing is revoked, but the debt is paid by what comes back. */
static bool
debt_is_paid(void)
{
	struct bridge_node *n;
	bool paid;

	host_lock(world.host);
	n = host_find_node(world.host, turned->kind, turned->name);
	paid = atomic_load(&n->free) >= 0;
	host_unlock(world.host, false);
	return paid;
}

/* The device's own cap rises before, and falls when nothing above it can be under way any more. */
static void
turn(struct knob *k, int to)
{
	if (to > atomic_load(&k->limit->cap))
		atomic_store(&k->limit->cap, to);
	sure(bridge_set_limit(world.host, k->kind, k->name, (uint32_t)to) == 0);
	if (to >= atomic_load(&k->limit->cap))
		return;
	turned = k;
	world_until(debt_is_paid);
	atomic_store(&k->limit->cap, to);
}

void
limits_run(void)
{
	const struct shape s = {
		.reactors = 3, .host = 48, .target = 32, .lun = 24, .ini = 32, .disks = 4, .jobs = 48,
	};
	struct knob knobs[] = {
		{ BRIDGE_HOST, "stress", &world.all, 48 },
		{ BRIDGE_TARGET, "0:0", &world.target[0], 32 },
		{ BRIDGE_LUN, "d1", &world.lun[1], 24 },
		{ BRIDGE_INITIATOR, "i1", &world.ini[1], 32 },
	};
	unsigned seed = stress_seed;

	yield_set(yield_random);
	world_open(&s);
	load_begin(INT_MAX);
	for (int i = 0; i < CHANGES / SLOWER; i++) {
		struct knob *k = &knobs[rnd(&seed, ARRAY_LEN(knobs))];

		turn(k, rnd(&seed, 3) ? 1 + (int)rnd(&seed, (unsigned)k->top) : 1);
		if (rnd(&seed, 4) == 0)
			world_pass(200);
		if (i % 32 == 0)
			world_check();
	}
	/* All at one, and back. */
	for (unsigned i = 0; i < ARRAY_LEN(knobs); i++)
		turn(&knobs[i], 1);
	world_pass(1000);
	for (unsigned i = 0; i < ARRAY_LEN(knobs); i++)
		turn(&knobs[i], knobs[i].top);
	load_stop();
	yield_set(NULL);
}
