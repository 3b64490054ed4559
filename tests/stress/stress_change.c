/* Under load the queue mode changes, the disk refuses, the adapter is driven to its edge. */
#include "tests/stress/stress.h"

#include "util.h"

enum { SWITCHES = 80, REFUSED = 4000 };
static const uint64_t SWITCH_NS = 20000000000;

static const int modes[] = {
	QUEUE_SHARED, QUEUE_SHARED_SINGLE, QUEUE_SINGLE, QUEUE_DIVIDED, QUEUE_DIVIDED_BORROW,
};

/*
 * Before, nothing is asked of the queues, and what still runs is counted as the
 * new mode will; it has all come back when the mode changes.
 */
static void
switch_to(int mode, unsigned queues)
{
	bool single = mode == QUEUE_SINGLE || mode == QUEUE_SHARED_SINGLE;
	struct shape *s = &world.shape;

	atomic_store(&world.only_first, false);
	for (unsigned i = 0; i < CPUS_MAX; i++)
		atomic_store(&world.queue[i].cap, INT_MAX);
	s->mode = mode;
	s->queues = single ? 1 : queues;
	atomic_store(&world.queues, s->queues);
	sure(bridge_set_mode(world.host, mode, s->queues, SWITCH_NS) == 0);
	world_caps();
}

void
modes_run(void)
{
	static const struct shape shapes[] = {
		{ .reactors = 3, .host = 9, .lun = 6, .disks = 3, .per_target = 1, .jobs = 16 },
		{ .reactors = 4, .host = 40, .lun = 30, .disks = 2, .jobs = 24, .awake = true },
	};
	unsigned seed = stress_seed;

	yield_set(yield_random);
	for (unsigned i = 0; i < ARRAY_LEN(shapes); i++) {
		world_open(&shapes[i]);
		load_begin(INT_MAX);
		for (int k = 0; k < SWITCHES / SLOWER; k++) {
			switch_to(modes[rnd(&seed, ARRAY_LEN(modes))],
			    1 + rnd(&seed, shapes[i].reactors));
			world_pass(300);
			if (k % 8 == 0)
				world_check();
		}
		load_stop();
	}
	yield_set(NULL);
}

/* The disk fails some, has no room for some, and says some things twice. */
void
refusals_run(void)
{
	static const struct shape s = {
		.reactors = 3, .host = 12, .lun = 8, .disks = 3, .jobs = 16,
	};

	world.inline_of = 4;
	world.error_of = 3;
	world.full_of = 50;
	yield_set(yield_random);
	world_open(&s);
	load_begin(REFUSED / SLOWER);
	load_end();
	world.inline_of = world.error_of = world.full_of = 0;
	yield_set(NULL);
}

/*
 * The seed: 40 queues, 32 disks with 64 commands each, and an adapter that holds
 * 1013: one more, and it is offline with status code 0x6100c.
 */
enum { HOLDS = 1013, QUEUES = 40, FLOOD = SLOWER > 1 ? 100 : 1000 };

static void
flood(struct msg *m)
{
	struct hw *h = hw_of(m);
	struct job *j;

	for (unsigned i = 0; i < 16 && h->left > 0 && (j = job_free(h)); i++) {
		h->left--;
		job_aim(h, j);
		job_submit(h, j, bridge_submit);
	}
	if (h->left > 0)
		reactor_post(reactor_self(), m);
	else
		world_over();
}

/* All that it has, to stay: spread over the disks, so that no LUN is the limit. */
static void
fill(struct msg *m)
{
	struct hw *h = hw_of(m);

	for (unsigned i = 0; i < JOBS_MAX; i++) {
		struct job *j = &h->job[i];

		atomic_store(&j->held, true);
		j->disk = (h->id + i) % DISKS_MAX;
		j->ini = i % INIS_MAX;
		job_submit(h, j, bridge_submit);
	}
	world_over();
}

static int wanted;

static bool
is_filled(void)
{
	/* Each reactor has sent all of its. */
	return atomic_load(&world.outstanding) == QUEUES * JOBS_MAX &&
	    atomic_load(&world.all.in) >= wanted;
}

/* The adapter is told to hold so many; the device says itself when it is too much. */
static void
overrun(int mode, int can_queue)
{
	const struct shape s = {
		.reactors = QUEUES, .host = can_queue, .lun = 64, .disks = DISKS_MAX,
		.per_target = 1, .inis = INIS_MAX, .jobs = JOBS_MAX, .mode = mode,
	};

	world_open(&s);
	atomic_store(&world.all.cap, INT_MAX);
	world_run_all(fill);
	wanted = mode == QUEUE_DIVIDED ? can_queue / QUEUES * QUEUES : can_queue;
	world_until(is_filled);
	world_let_go();
	world_silence();
	for (unsigned i = 0; i < s.reactors; i++)
		world.hw[i].left = FLOOD;
	world_run_all(flood);
	world_silence();
	printf("# mode %d, told %d: %d were in flight\n", mode, can_queue,
	    atomic_load(&world.all.most));
	world_close();
}

void
overrun_run(void)
{
	world.offline_at = HOLDS + 1;
	/* Told too much, it goes offline: the judge is awake. */
	overrun(QUEUE_SHARED, HOLDS + 100);
	sure(atomic_load(&world.offline));
	for (unsigned i = 0; i < ARRAY_LEN(modes); i++) {
		overrun(modes[i], HOLDS);
		if (atomic_load(&world.offline))
			bark("controller is offline: status code 0x6100c");
	}
	world.offline_at = 0;
}
