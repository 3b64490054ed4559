/*
 * One reactor holds one command and has credits in its cache; another must get
 * all the rest of the limit at once: while the first only polls, and while it
 * sleeps.
 */
#include "tests/stress/stress.h"

#include <sched.h>

/* Reactors that never sleep leave little of a small machine to the others. */
enum { LIMIT = 32, WARM = 24, ASLEEP = 300, AWAKE = 50 };

static unsigned wanted;
static unsigned warm_left;

/* Enough of them, one after another, that the cache is full. */
static void
warm(struct hw *h, struct job *j)
{
	if (warm_left == 0)
		return;
	warm_left--;
	job_submit(h, j, bridge_submit);
}

static void
first(struct msg *m)
{
	struct hw *h = hw_of(m);

	world.back = warm;
	warm_left = WARM;
	for (unsigned i = 0; i < 8; i++)
		job_submit(h, &h->job[i], bridge_submit);
	world_over();
}

static void
hold(struct msg *m)
{
	struct hw *h = hw_of(m);
	struct job *j = &h->job[0];

	atomic_store(&j->held, true);
	sure(job_submit(h, j, bridge_submit) == BRIDGE_PENDING);
	world_over();
}

static void
rest(struct msg *m)
{
	struct hw *h = hw_of(m);

	for (unsigned i = 0; i < LIMIT - 1; i++) {
		atomic_store(&h->job[i].held, true);
		sure(job_submit(h, &h->job[i], bridge_submit) == BRIDGE_PENDING);
	}
	world_over();
}

static bool
are_in(void)
{
	return atomic_load(&world.all.in) == (int)wanted;
}

static bool
first_sleeps(void)
{
	return reactor_heartbeat_age(reactor_get(0)) == 0;
}

static void
on(unsigned reactor, void (*fn)(struct msg *))
{
	atomic_fetch_add(&world.outstanding, 1);
	world_run(reactor, fn);
}

static void
once(bool asleep)
{
	on(0, first);
	world_silence();
	world.back = NULL;
	wanted = 1;
	on(0, hold);
	world_until(are_in);
	if (asleep)
		world_until(first_sleeps);
	wanted = LIMIT;
	on(1, rest);
	world_until(are_in);
	world_let_go();
	world_silence();
}

void
borrow_run(void)
{
	/* Bound at the adapter, the target, the LUN, the initiator. */
	static const struct shape shapes[] = {
		{ .host = LIMIT },
		{ .host = 4 * LIMIT, .target = LIMIT },
		{ .host = 4 * LIMIT, .lun = LIMIT },
		{ .host = 4 * LIMIT, .ini = LIMIT },
		{ .host = LIMIT, .mode = QUEUE_DIVIDED_BORROW },
		{ .host = LIMIT, .mode = QUEUE_SHARED_SINGLE },
	};

	yield_set(yield_random);
	for (unsigned i = 0; i < 2 * ARRAY_LEN(shapes); i++) {
		struct shape s = shapes[i / 2];

		s.reactors = 2;
		s.awake = i % 2;
		s.disks = s.inis = 1;
		s.jobs = LIMIT;
		world_open(&s);
		for (int k = 0; k < (s.awake ? AWAKE : ASLEEP) / SLOWER; k++)
			once(!s.awake);
		world_close();
	}
	yield_set(NULL);
}
