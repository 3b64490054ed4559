/*
 * A few requests, then silence: no later traffic rescues who was forgotten.
 * Plain load passes most bugs that lose a wake-up.
 */
#include "tests/stress/stress.h"

enum { ROUNDS = 20000 };

/* Some at once, one that only tries, one that is taken back at once. */
static void
some(struct msg *m)
{
	struct hw *h = hw_of(m);

	for (unsigned n = 1 + rnd(&h->seed, 3); n > 0; n--) {
		struct job *j = job_free(h);
		unsigned what = rnd(&h->seed, 8);

		job_aim(h, j);
		job_submit(h, j, what == 0 ? bridge_try : bridge_submit);
		if (what == 1 && j->pending)
			job_cancel(h, j);
	}
	world_over();
}

static void
rounds(const struct shape *s, int n)
{
	yield_set(yield_random);
	world_open(s);
	for (int i = 0; i < n; i++) {
		world_run_all(some);
		world_silence();
		sure(atomic_load(&world.all.in) == 0);
		if (i % 512 == 0)
			world_check();
	}
	world_close();
	yield_set(NULL);
}

void
rounds_run(void)
{
	/* Tight at the LUN, the initiator, the target, the adapter; everywhere; asleep and awake. */
	static const struct shape shapes[] = {
		{ .reactors = 2, .host = 1 },
		{ .reactors = 2, .host = 2, .lun = 1, .awake = true },
		{ .reactors = 2, .host = 3, .target = 2, .lun = 1, .ini = 1 },
		{ .reactors = 3, .host = 2, .ini = 1 },
		{ .reactors = 3, .host = 1, .disks = 3, .per_target = 1 },
		{ .reactors = 3, .host = 3, .lun = 2, .ini = 1, .inis = 3 },
		{ .reactors = 4, .host = 3, .target = 1, .disks = 4, .ini = 2 },
		{ .reactors = 4, .host = 2, .lun = 1, .disks = 1, .inis = 1 },
	};
	int each = ROUNDS / (int)ARRAY_LEN(shapes) / SLOWER;

	for (unsigned i = 0; i < ARRAY_LEN(shapes); i++) {
		world.inline_of = i % 3 == 2 ? 2 : 0;
		rounds(&shapes[i], each);
	}
	world.inline_of = 0;
}
