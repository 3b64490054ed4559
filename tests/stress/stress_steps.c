/*
 * Two reactors meet in every way that two stops allow: one is stopped at its
 * i-th marked place, the other goes to its j-th, the first goes to its end, then
 * the second. After each of these, silence: what waits then has been forgotten.
 *
 * The plays are the six of tests/model/history.pml, and what came after them.
 */
#include "tests/stress/stress.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "util.h"

enum { A, B, ACTORS, PLACES_MAX = 40, STUCK_NS = 2000000, LOOKS = 2000 };

/* One reactor's part in a play. */
static struct actor {
	OWN_LINE atomic_uint stop_at;	/* 0: nowhere */
	atomic_uint place;		/* marked places passed */
	atomic_bool on, stopped, ended;
	sem_t go;
	void (*play)(struct hw *);
	struct msg begin, end;
} actors[ACTORS];

static sem_t news;			/* somebody stopped or ended */

static void
at_place(void)
{
	struct reactor *self = reactor_self();
	struct actor *a = self && reactor_id(self) < ACTORS ? &actors[reactor_id(self)] : NULL;

	if (!a || !atomic_load(&a->on) || atomic_fetch_add(&a->place, 1) + 1 != atomic_load(&a->stop_at))
		return;
	atomic_store(&a->stopped, true);
	sem_post(&news);
	while (sem_wait(&a->go))
		;
}

/* A turn later: what was collected has left by then. */
static void
ended(struct msg *m)
{
	struct actor *a = container_of(m, struct actor, end);

	atomic_store(&a->on, false);
	atomic_store(&a->ended, true);
	sem_post(&news);
}

static void
begin(struct msg *m)
{
	struct actor *a = container_of(m, struct actor, begin);

	atomic_store(&a->on, true);
	a->play(hw_self());
	a->end.fn = ended;
	reactor_post(reactor_self(), &a->end);
}

static bool
has_news(const struct actor *a)
{
	return atomic_load(&a->stopped) || atomic_load(&a->ended);
}

/* Until it stopped or ended; or it waits for the lock of who is stopped. */
static void
await(const struct actor *a)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STUCK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!has_news(a))
		if (sem_timedwait(&news, &until) && errno == ETIMEDOUT)
			return;
}

static void
start(unsigned who, unsigned stop_at, void (*play)(struct hw *))
{
	struct actor *a = &actors[who];

	atomic_store(&a->stop_at, stop_at);
	atomic_store(&a->place, 0);
	atomic_store(&a->stopped, false);
	atomic_store(&a->ended, false);
	a->play = play;
	a->begin.fn = begin;
	reactor_post(reactor_get(who), &a->begin);
}

static void
go_on(struct actor *a)
{
	if (atomic_load(&a->stopped))
		sem_post(&a->go);
	atomic_store(&a->stopped, false);
}

static bool
both_ended(void)
{
	return atomic_load(&actors[A].ended) && atomic_load(&actors[B].ended);
}

/* -- what actors do: each reactor's jobs are numbered as the plays want them -- */

enum { HELD, FIRST, SECOND };		/* at the device before it begins; what it sends then */

static void
issue(struct hw *h, unsigned n, unsigned ini, unsigned disk, enum bridge_verdict (*fn)(struct bridge_req *))
{
	struct job *j = &h->job[n];

	j->ini = ini;
	j->disk = disk;
	job_submit(h, j, fn);
}

static void
nothing(struct hw *h)
{
}

static void
submit(struct hw *h)
{
	issue(h, FIRST, h->id, 0, bridge_submit);
}

static void
submit_and_stay(struct hw *h)
{
	atomic_store(&h->job[FIRST].held, true);
	submit(h);
}

static void
submit_two(struct hw *h)
{
	issue(h, FIRST, h->id, 0, bridge_submit);
	issue(h, SECOND, h->id, 1, bridge_submit);
}

static void
submit_elsewhere(struct hw *h)
{
	issue(h, FIRST, 0, 1, bridge_submit);
}

/* Takes the LUN, finds no room at the adapter, and goes without a word. */
static void
try(struct hw *h)
{
	issue(h, FIRST, 0, 0, bridge_try);
}

/* What the device has is finished, here and now. */
static void
finish(struct hw *h)
{
	struct job *j = &h->job[HELD];

	atomic_store(&j->held, false);
	device_finish(h, j);
}

static void
cancel(struct hw *h)
{
	struct job *j = &h->job[FIRST];

	if (j->pending)
		job_cancel(h, j);
}

/* -- before the play -- */

static void
hold(struct hw *h, unsigned ini, unsigned disk)
{
	atomic_store(&h->job[HELD].held, true);
	issue(h, HELD, ini, disk, bridge_submit);
}

static void
hold_this(struct hw *h)
{
	hold(h, h->id, 0);
}

static void
hold_other(struct hw *h)
{
	hold(h, h->id, 1);
}

static void
hold_this_and_wait(struct hw *h)
{
	hold_this(h);
	submit(h);
}

static void
hold_other_and_wait(struct hw *h)
{
	hold_other(h);
	submit(h);
}

/* Fifteen of sixteen, so that the last one is what both want. */
static void
hold_many(struct hw *h)
{
	for (unsigned i = SECOND + 1; i < SECOND + 15; i++) {
		atomic_store(&h->job[i].held, true);
		issue(h, i, h->id, 0, bridge_submit);
	}
	hold(h, h->id, 0);
}

static const struct play {
	const char *name;
	struct shape shape;
	void (*before[ACTORS])(struct hw *);
	void (*act[ACTORS])(struct hw *);
	bool inline_disk;
} plays[] = {
	{ "1: both see the same room", { .host = 1, .target = 2 },
	  { nothing, nothing }, { submit_and_stay, submit_and_stay }, false },
	{ "1: the same, done at once", { .host = 1 },
	  { nothing, nothing }, { submit, submit }, true },
	{ "2: one undoes, the other parks", { .host = 1, .lun = 1 },
	  { hold_other, nothing }, { submit, submit }, false },
	{ "3: nothing is in flight when it has parked", { .host = 1, .lun = 1 },
	  { hold_this, nothing }, { finish, submit }, false },
	{ "4: one finds no work and gives back, the other parks", { .host = 1, .lun = 1 },
	  { hold_other, nothing }, { try, submit }, false },
	{ "5: a failed try looks busy at the initiator", { .host = 2, .lun = 1, .ini = 1, .inis = 2 },
	  { nothing, hold_this }, { try, submit_elsewhere }, false },
	{ "6: every undo tells", { .host = 1, .lun = 1 },
	  { hold_other, nothing }, { submit_two, submit_two }, false },
	{ "one slot comes back, two want it", { .host = 2, .lun = 1 },
	  { hold_this, hold_other }, { finish, submit }, true },
	{ "both give back, both want", { .host = 2, .lun = 1 },
	  { hold_this_and_wait, hold_other_and_wait }, { finish, finish }, false },
	{ "a slot comes back to who takes his back", { .host = 1 },
	  { hold_this, submit }, { finish, cancel }, false },
	{ "who takes his back stood before others", { .host = 1, .lun = 1 },
	  { hold_other, submit_two }, { submit, cancel }, false },
	{ "into the cache, while another parks", { .host = 16, .lun = 16, .ini = 16 },
	  { hold_many, hold_this }, { finish, submit }, false },
};

static void
on_before(void *arg)
{
	const struct play *p = arg;
	struct hw *h = hw_self();

	p->before[h->id](h);
}

static bool
curtain(void)
{
	world_let_go();
	world_silence();
	return atomic_load(&world.all.in) == 0;
}

/* Raises the numbers of places that the actors have been seen to pass. */
static void
perform(const struct play *p, unsigned i, unsigned j, unsigned places[ACTORS])
{
	for (unsigned n = 0; n < ACTORS; n++)
		reactor_call(reactor_get(n), on_before, (void *)p);
	while (sem_trywait(&news) == 0)
		;
	start(A, i, p->act[A]);
	await(&actors[A]);
	start(B, j, p->act[B]);
	await(&actors[B]);
	go_on(&actors[A]);
	await(&actors[A]);
	/* It may have met the other's lock, or stop only now. */
	go_on(&actors[B]);
	for (unsigned k = 0; !both_ended(); k++) {
		if (k == LOOKS)
			bark("stopped at %u and %u, somebody never ends", i, j);
		await(&actors[A]);
		await(&actors[B]);
		go_on(&actors[A]);
		go_on(&actors[B]);
	}
	sure(curtain());
	for (unsigned n = 0; n < ACTORS; n++)
		places[n] = MIN(MAX(places[n], atomic_load(&actors[n].place)), (unsigned)PLACES_MAX);
}

static unsigned
play_run(const struct play *p)
{
	struct shape s = p->shape;
	unsigned n = 0, places[ACTORS] = { 0 };

	s.reactors = ACTORS;
	s.jobs = SECOND + 16;
	/* Few enough that no reactor keeps any: to flush those, it would look at everybody. */
	s.ini = s.ini ? s.ini : 2;
	world.inline_of = p->inline_disk;
	world_open(&s);
	for (unsigned i = 0; i <= places[A]; i++) {
		for (unsigned j = 0; j <= places[B]; j++, n++)
			perform(p, i, j, places);
		world_check();
	}
	world_close();
	return n;
}

void
steps_run(void)
{
	sem_init(&news, 0, 0);
	for (unsigned i = 0; i < ACTORS; i++)
		sem_init(&actors[i].go, 0, 0);
	yield_set(at_place);
	for (unsigned i = 0; i < ARRAY_LEN(plays); i++) {
		unsigned n;

		world.part = plays[i].name;
		n = play_run(&plays[i]);
		printf("# %s: %u meetings\n", plays[i].name, n);
		sure(n > 4);
	}
	world.part = NULL;
	world.inline_of = 0;
	yield_set(NULL);
}
