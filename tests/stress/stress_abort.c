/* Aborts in every state, lost sessions, resets, and completions that come twice. */
#include "tests/stress/stress.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "hba/bridge/host.h"
#include "stats.h"

enum { ABORTS = 60000, RESETS = 60 };

static uint64_t
strays(void)
{
	const struct counter *c;

	for_each_registered(counters, c)
		if (strcmp(c->name, "bridge_stray_completions") == 0)
			return counter_read(c);
	bark("no such counter");
}

/* All that it has here is taken back; what its disks have comes when it comes. */
static void
lose_session(struct hw *h, unsigned ini)
{
	bool all = true;

	for (unsigned i = 0; i < world.shape.jobs; i++) {
		struct job *j = &h->job[i];

		if (j->pending && j->ini == ini)
			all &= job_cancel(h, j);
	}
	if (!all)
		return;
	for (unsigned d = 0; d < world.shape.disks; d++)
		flow_close(h, ini, d);
	for (unsigned d = 0; d < world.shape.disks; d++)
		flow_open(h, ini, d);
}

/* At once, while it is in no more than this reactor's own chain; some time later; and again. */
static void
abort_step(struct msg *m)
{
	struct hw *h = hw_of(m);
	unsigned done = h->done + h->cancelled;
	struct job *j;

	for (unsigned i = 0; i < 4 && h->left > 0 && (j = job_free(h)); i++) {
		h->left--;
		job_aim(h, j);
		job_submit(h, j, bridge_submit);
		if (j->pending && rnd(&h->seed, 8) == 0)
			job_cancel(h, j);
	}
	for (unsigned i = 0; i < 2; i++) {
		j = &h->job[rnd(&h->seed, world.shape.jobs)];
		if (j->pending && rnd(&h->seed, 2) == 0)
			job_cancel(h, j);
	}
	if (rnd(&h->seed, 100) == 0)
		lose_session(h, rnd(&h->seed, world.shape.inis));
	if (h->done + h->cancelled == done)
		sched_yield();
	if (h->left > 0)
		reactor_post(reactor_self(), m);
	else
		world_over();
}

void
aborts_run(void)
{
	static const struct shape shapes[] = {
		{ .reactors = 2, .host = 3, .lun = 2, .disks = 3, .jobs = 24 },
		{ .reactors = 3, .host = 6, .ini = 2, .inis = 3, .disks = 2, .jobs = 24 },
		{ .reactors = 2, .host = 40, .lun = 32, .disks = 2, .jobs = 48, .awake = true },
	};
	uint64_t before;

	world.twice_of = 4;
	yield_set(yield_random);
	for (unsigned k = 0; k < ARRAY_LEN(shapes); k++) {
		world_open(&shapes[k]);
		before = strays();
		atomic_store(&world.duplicates, 0);
		for (unsigned i = 0; i < world.shape.reactors; i++)
			world.hw[i].left = ABORTS / (int)(ARRAY_LEN(shapes) * shapes[k].reactors) / SLOWER;
		world_run_all(abort_step);
		world_silence();
		sure(atomic_load(&world.duplicates) > 0);
		sure(strays() - before == atomic_load(&world.duplicates));
		load_end();
	}
	world.twice_of = 0;
	yield_set(NULL);
}

/* -- resets -- */

static struct {
	enum bridge_kind kind;
	const char *name;
} frozen;

/* Everything that was at the disk is back, also what was on its way there. */
static bool
all_is_home(void)
{
	struct bridge_node *n;
	bool home;

	host_lock(world.host);
	n = host_find_node(world.host, frozen.kind, frozen.name);
	home = atomic_load(&n->free) == atomic_load(&n->limit);
	host_unlock(world.host, false);
	return home;
}

static void
reset(enum bridge_kind kind, const char *name, struct limit *l)
{
	const struct timespec moment = { .tv_nsec = 2000000 };
	int cap = atomic_load(&l->cap);

	frozen.kind = kind;
	frozen.name = name;
	sure(bridge_freeze(world.host, kind, name) == 0);
	/* Who has looked at the gate before that has taken its credits now. */
	world_turn();
	world_until(all_is_home);
	sure(atomic_load(&l->in) == 0);
	/* From here to the thaw nothing may come, however many wait. */
	atomic_store(&l->cap, 0);
	nanosleep(&moment, NULL);
	world_check();
	atomic_store(&l->cap, cap);
	sure(bridge_thaw(world.host, kind, name) == 0);
	world_pass(200);
}

void
resets_run(void)
{
	static const struct shape s = {
		.reactors = 3, .host = 40, .target = 32, .lun = 24, .disks = 4, .jobs = 48,
	};
	unsigned seed = stress_seed;

	world.twice_of = 8;
	yield_set(yield_random);
	world_open(&s);
	load_begin(INT_MAX);
	for (int i = 0; i < RESETS / SLOWER; i++)
		switch (rnd(&seed, 4)) {
		case 0:
			reset(BRIDGE_HOST, "stress", &world.all);
			break;
		case 1:
			reset(BRIDGE_TARGET, "0:1", &world.target[1]);
			break;
		case 2:
			reset(BRIDGE_LUN, "d0", &world.lun[0]);
			break;
		default:
			reset(BRIDGE_INITIATOR, "i1", &world.ini[1]);
		}
	load_stop();
	world.twice_of = 0;
	yield_set(NULL);
}
