/* The dog, which barks when nothing moves any more; and whoever comes in between. */
#include "tests/stress/stress.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "hba/bridge/bug.h"
#include "util.h"

enum { SHOWN = 12 };

static void
print_nodes(void)
{
	static struct bridge_node_stats s[128];
	unsigned n = MIN(bridge_stats(world.host, s, ARRAY_LEN(s)), (unsigned)ARRAY_LEN(s));

	for (unsigned i = 0; i < MIN(n, (unsigned)SHOWN); i++)
		fprintf(stderr, "# %s: %u of %u in flight, %u waiting\n", s[i].name,
		    s[i].in_flight, s[i].limit, s[i].waiting);
	for (unsigned i = 0; i < MIN(world.shape.reactors, (unsigned)SHOWN); i++)
		fprintf(stderr, "# reactor %u: %lu moves, %lu turns, %s\n", i,
		    atomic_load(&world.hw[i].moves), atomic_load(&world.hw[i].turns),
		    reactor_heartbeat_age(reactor_get(i)) ? "awake" : "asleep");
}

void
bark(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "# %s: %s%sseed %u: ", world.scenario, world.part ? world.part : "",
	    world.part ? ": " : "", stress_seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	/* A reactor may bark inside the bridge, which would wait for itself. */
	if (world.host && !reactor_self()) {
		print_nodes();
		bridge_check(world.host, stderr);
	}
	fflush(NULL);
	abort();
}

static unsigned long
moves(void)
{
	unsigned long n = 0;

	for (unsigned i = 0; i < world.shape.reactors; i++)
		n += atomic_load_explicit(&world.hw[i].moves, memory_order_relaxed);
	return n;
}

/*
 * On a busy machine half a second without a move may only mean that a thread
 * had no processor: each must sleep, or must have gone round often and in vain.
 */
struct dog {
	unsigned long moves, turns[CPUS_MAX];
	uint64_t since;
};
enum { VAIN_TURNS = 200, LOOK_NS = 20000000 };
static const uint64_t BARK_NS = 500000000, GIVE_UP_NS = 20000000000;

static void
dog_look(struct dog *d)
{
	d->moves = moves();
	d->since = now_ns();
	for (unsigned i = 0; i < world.shape.reactors; i++)
		d->turns[i] = atomic_load(&world.hw[i].turns);
}

static bool
in_vain(const struct dog *d)
{
	for (unsigned i = 0; i < world.shape.reactors; i++)
		if (reactor_heartbeat_age(reactor_get(i)) != 0 &&
		    atomic_load(&world.hw[i].turns) - d->turns[i] < VAIN_TURNS)
			return false;
	return true;
}

static void
dog_watch(struct dog *d)
{
	uint64_t idle = now_ns() - d->since;

	if (moves() != d->moves)
		dog_look(d);
	else if ((idle > BARK_NS && in_vain(d)) || idle > GIVE_UP_NS)
		bark("nothing moves, %d outstanding", atomic_load(&world.outstanding));
}

void
world_until(bool (*is_so)(void))
{
	struct timespec pause = { .tv_nsec = 1000 };
	struct dog dog;

	dog_look(&dog);
	for (unsigned i = 0; !is_so(); i++) {
		if (i < 20) {
			sched_yield();
			continue;
		}
		nanosleep(&pause, NULL);
		pause.tv_nsec = MIN(2 * pause.tv_nsec, 1000000);
		dog_watch(&dog);
	}
}

static unsigned long wanted_moves;

static bool
has_passed(void)
{
	return moves() >= wanted_moves;
}

void
world_pass(unsigned n)
{
	wanted_moves = moves() + n;
	world_until(has_passed);
}

void
world_silence(void)
{
	struct timespec until;
	struct dog dog;

	dog_look(&dog);
	while (atomic_load(&world.outstanding) > 0) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (sem_timedwait(&world.silence, &until) && errno == ETIMEDOUT)
			dog_watch(&dog);
	}
}

/* -- another thread comes in between -- */

void
yield_set(void (*fn)(void))
{
#ifdef BQ_YIELD
	bridge_yield = fn;
#endif
}

/* Often gives the processor away, or lets time pass; seldom sleeps. */
void
yield_random(void)
{
	static __thread unsigned seed;
	const struct timespec moment = { .tv_nsec = 1000 };
	unsigned what;

	if (!seed)
		seed = stress_seed + (unsigned)gettid();
	what = rnd(&seed, 512);
	if (what < 40)
		sched_yield();
	else if (what < 80)
		for (volatile unsigned i = rnd(&seed, 500); i > 0; i--)
			;
	else if (what == 80)
		nanosleep(&moment, NULL);
}
