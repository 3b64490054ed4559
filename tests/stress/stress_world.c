/* The adapter, its device, and the dog. */
#include "tests/stress/stress.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hba/bridge/bug.h"
#include "log.h"
#include "stats.h"
#include "util.h"

struct world world;

static struct {
	struct conf conf;
	struct conf_adapter adapter;
	struct conf_disk disk[DISKS_MAX];
	char name[DISKS_MAX][16];
	struct disk_driver driver;
} rig;

/* -- the dog -- */

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

static sem_t silence;		/* nothing is outstanding; perhaps something again */

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
		if (sem_timedwait(&silence, &until) && errno == ETIMEDOUT)
			dog_watch(&dog);
	}
}

/* -- the device -- */

static void
moved(struct hw *h)
{
	atomic_store_explicit(&h->moves,
	    atomic_load_explicit(&h->moves, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void
enter(struct limit *l, unsigned i)
{
	int now = atomic_fetch_add(&l->in, 1) + 1, cap = atomic_load(&l->cap);

	if (now > cap)
		bark("%s %u: %d in flight, %d are allowed", l->what, i, now, cap);
	if (now > atomic_load_explicit(&l->most, memory_order_relaxed))
		atomic_store_explicit(&l->most, now, memory_order_relaxed);
}

static void
leave(struct job *j)
{
	atomic_fetch_sub(&world.queue[j->queue].in, 1);
	atomic_fetch_sub(&world.ini[j->ini].in, 1);
	atomic_fetch_sub(&world.lun[j->disk].in, 1);
	atomic_fetch_sub(&world.target[j->disk / world.shape.per_target].in, 1);
	atomic_fetch_sub(&world.all.in, 1);
}

static enum disk_result
device_submit(struct disk_io *io)
{
	struct job *j = container_of(io, struct job, req.io);
	struct hw *h = hw_self();

	moved(h);
	sure(!atomic_load(&world.only_first) || h->id == 0);
	enter(&world.all, 0);
	enter(&world.target[j->disk / world.shape.per_target], j->disk / world.shape.per_target);
	enter(&world.lun[j->disk], j->disk);
	enter(&world.ini[j->ini], j->ini);
	j->queue = j->home % atomic_load(&world.queues);
	enter(&world.queue[j->queue], j->queue);
	if (world.offline_at && atomic_load(&world.all.in) >= world.offline_at)
		atomic_store(&world.offline, true);
	atomic_store(&j->seen, true);
	io->result = one_in(&h->seed, world.full_of) ? -EAGAIN :
	    one_in(&h->seed, world.error_of) ? -EIO : 0;
	if (!atomic_load(&j->held) &&
	    (io->result == -EAGAIN || one_in(&h->seed, world.inline_of))) {
		leave(j);
		return DISK_DONE;
	}
	list_add_tail(&h->running, &j->link);
	return DISK_PENDING;
}

void
device_finish(struct hw *h, struct job *j)
{
	list_del(&j->link);
	leave(j);
	moved(h);
	disk_io_done(&j->req.io);
}

/* Twice, where nobody can have given the request a new life meanwhile. */
static void
again_by_mistake(struct hw *h, struct job *j)
{
	if (!one_in(&h->seed, world.twice_of) || j->home != h->id || j->pending)
		return;
	atomic_fetch_add(&world.duplicates, 1);
	disk_io_done(&j->req.io);
}

static bool
hw_poll(struct poller *p)
{
	struct hw *h = container_of(p, struct hw, poller);
	struct job *j, *next;
	bool any = false;

	atomic_store_explicit(&h->turns,
	    atomic_load_explicit(&h->turns, memory_order_relaxed) + 1, memory_order_relaxed);
	list_for_each_safe(j, next, &h->running, link) {
		if (atomic_load(&j->held))
			continue;
		any = true;
		if (rnd(&h->seed, 3) == 0)
			break;
		device_finish(h, j);
		again_by_mistake(h, j);
		/* Done may have changed the list in any way. */
		break;
	}
	/* The machine may have fewer processors than there are reactors awake. */
	if (!any && world.shape.awake)
		sched_yield();
	return any;
}

/* A request may have come while the adapter's own poller was about to let the reactor sleep. */
static bool
hw_idle(struct poller *p)
{
	struct hw *h = container_of(p, struct hw, poller);
	struct job *j;

	list_for_each(j, &h->running, link)
		if (!atomic_load(&j->held))
			return false;
	return true;
}

/* -- jobs -- */

void
world_over(void)
{
	if (atomic_fetch_sub(&world.outstanding, 1) == 1)
		sem_post(&silence);
}

struct job *
job_free(struct hw *h)
{
	unsigned first = rnd(&h->seed, world.shape.jobs);

	for (unsigned i = 0; i < world.shape.jobs; i++) {
		struct job *j = &h->job[(first + i) % world.shape.jobs];

		if (!j->pending)
			return j;
	}
	return NULL;
}

static void
job_back(struct hw *h, struct job *j)
{
	j->pending = false;
	moved(h);
	if (world.back)
		world.back(h, j);
	world_over();
}

static void
job_done(struct bridge_req *req)
{
	struct job *j = container_of(req, struct job, req);
	struct hw *h = &world.hw[j->home];

	sure(reactor_self() == reactor_get(j->home));
	sure(j->pending);
	sure(atomic_load(&j->seen));
	h->done++;
	job_back(h, j);
}

void
job_aim(struct hw *h, struct job *j)
{
	j->disk = rnd(&h->seed, world.shape.disks);
	j->ini = rnd(&h->seed, world.shape.inis);
}

enum bridge_verdict
job_submit(struct hw *h, struct job *j, enum bridge_verdict (*fn)(struct bridge_req *))
{
	enum bridge_verdict v;

	sure(!j->pending);
	j->req.flow = h->flow[j->ini][j->disk];
	j->req.done = job_done;
	j->req.io.op = DISK_READ;
	j->pending = true;
	j->unwanted = false;
	atomic_store(&j->seen, false);
	atomic_fetch_add(&world.outstanding, 1);
	moved(h);
	v = fn(&j->req);
	if (v == BRIDGE_PENDING)
		return v;
	sure(v == BRIDGE_DONE || v == BRIDGE_WOULD_WAIT || v == BRIDGE_FULL);
	h->done += v == BRIDGE_DONE;
	job_back(h, j);
	return v;
}

bool
job_cancel(struct hw *h, struct job *j)
{
	sure(j->pending);
	if (bridge_cancel(&j->req) != BRIDGE_CANCELLED)
		return false;
	/* What was refused for want of room waits again: that one has been seen. */
	sure(world.full_of || !atomic_load(&j->seen));
	h->cancelled++;
	job_back(h, j);
	return true;
}

/* -- reactors and flows -- */

void
flow_open(struct hw *h, unsigned ini, unsigned disk)
{
	const struct bridge_limits limits = {
		.weight = 1 + ini, .depth = (uint32_t)world.shape.ini,
	};
	char name[16];

	snprintf(name, sizeof(name), "i%u", ini);
	h->flow[ini][disk] = bridge_flow_get(disk_find(rig.name[disk]), name, &limits,
	    reactor_self());
	sure(h->flow[ini][disk]);
}

void
flow_close(struct hw *h, unsigned ini, unsigned disk)
{
	bridge_flow_put(h->flow[ini][disk]);
	h->flow[ini][disk] = NULL;
}

static void
open_on(void *arg)
{
	struct hw *h = arg;

	list_init(&h->running);
	for (unsigned i = 0; i < world.shape.inis; i++)
		for (unsigned d = 0; d < world.shape.disks; d++)
			flow_open(h, i, d);
	for (unsigned k = 0; k < world.shape.jobs; k++)
		h->job[k].home = h->id;
	h->poller.poll = hw_poll;
	h->poller.idle = hw_idle;
	poller_add(reactor_self(), &h->poller);
}

static void
close_on(void *arg)
{
	struct hw *h = arg;

	sure(list_empty(&h->running));
	for (unsigned i = 0; i < world.shape.inis; i++)
		for (unsigned d = 0; d < world.shape.disks; d++)
			flow_close(h, i, d);
	poller_del(&h->poller);
}

static void
nothing(void *arg)
{
}

void
world_turn(void)
{
	for (unsigned i = 0; i < world.shape.reactors; i++)
		reactor_call(reactor_get(i), nothing, NULL);
}

void
world_let_go(void)
{
	for (unsigned i = 0; i < world.shape.reactors; i++)
		for (unsigned k = 0; k < world.shape.jobs; k++)
			atomic_store(&world.hw[i].job[k].held, false);
	world_turn();
}

void
world_run(unsigned reactor, void (*fn)(struct msg *))
{
	world.hw[reactor].msg.fn = fn;
	reactor_post(reactor_get(reactor), &world.hw[reactor].msg);
}

void
world_run_all(void (*fn)(struct msg *))
{
	atomic_fetch_add(&world.outstanding, (int)world.shape.reactors);
	for (unsigned i = 0; i < world.shape.reactors; i++)
		world_run(i, fn);
}

/* -- the adapter -- */

static int
disk_open(struct disk *d)
{
	d->size = 1 << 30;
	return 0;
}

static void
conf_make(const struct shape *s)
{
	memset(&rig, 0, sizeof(rig));
	list_init(&rig.conf.adapters);
	list_init(&rig.adapter.disks);
	list_add_tail(&rig.conf.adapters, &rig.adapter.link);
	rig.adapter.name = (char *)"stress";
	rig.adapter.can_queue = (uint32_t)s->host;
	rig.adapter.target_depth = (uint32_t)s->target;
	rig.adapter.lun_depth = (uint32_t)s->lun;
	rig.adapter.queue_mode = s->mode;
	rig.adapter.hw_queues = s->queues;
	rig.driver = (struct disk_driver){
		.name = "counts", .open = disk_open, .submit = device_submit,
	};
	for (unsigned i = 0; i < s->disks; i++) {
		struct conf_disk *d = &rig.disk[i];

		snprintf(rig.name[i], sizeof(rig.name[i]), "d%u", i);
		*d = (struct conf_disk){
			.name = rig.name[i], .adapter = &rig.adapter, .driver = &rig.driver,
			.id = (uint16_t)(i / s->per_target), .lun = (uint16_t)(i % s->per_target),
			.block_size = 512,
		};
		list_add_tail(&rig.adapter.disks, &d->link);
	}
}

static void
cap(struct limit *l, unsigned n, int value, const char *what)
{
	for (unsigned i = 0; i < n; i++) {
		l[i].what = what;
		atomic_store(&l[i].most, 0);
		atomic_store(&l[i].cap, value);
	}
}

void
world_caps(void)
{
	const struct shape *s = &world.shape;
	int quota = s->mode == QUEUE_DIVIDED ? s->host / (int)s->queues : INT_MAX;

	cap(&world.all, 1, s->host, "adapter");
	cap(world.target, DISKS_MAX, s->target, "target");
	cap(world.lun, DISKS_MAX, s->lun, "LUN");
	cap(world.ini, INIS_MAX, s->ini ? s->ini : INT_MAX, "initiator");
	cap(world.queue, CPUS_MAX, quota, "queue");
	atomic_store(&world.queues, s->queues);
	atomic_store(&world.only_first,
	    s->mode == QUEUE_SINGLE || s->mode == QUEUE_SHARED_SINGLE);
}

static void
shape_fill(struct shape *s)
{
	bool single = s->mode == QUEUE_SINGLE || s->mode == QUEUE_SHARED_SINGLE;

	s->disks = s->disks ? s->disks : 2;
	s->per_target = s->per_target ? s->per_target : 2;
	s->inis = s->inis ? s->inis : 2;
	s->jobs = s->jobs ? s->jobs : 8;
	s->queues = s->queues ? s->queues : single ? 1 : s->reactors;
	s->target = s->target ? s->target : s->host;
	s->lun = s->lun ? s->lun : s->target;
}

void
world_open(const struct shape *s)
{
	world.shape = *s;
	shape_fill(&world.shape);
	world.hw = aligned_alloc(_Alignof(struct hw), world.shape.reactors * sizeof(struct hw));
	if (!world.hw)
		bark("no memory");
	memset(world.hw, 0, world.shape.reactors * sizeof(struct hw));
	world_caps();
	atomic_store(&world.outstanding, 0);
	sem_init(&silence, 0, 0);
	atomic_store(&world.offline, false);
	atomic_store(&world.stop, false);
	world.back = NULL;
	log_level = LOG_LEVEL_WARN;
	stats_init();
	stats_thread_init(REACTORS_MAX);
	if (reactors_start(world.shape.reactors, world.shape.awake ? UINT64_MAX : 0))
		bark("no reactors");
	conf_make(&world.shape);
	if (adapters_open(&rig.conf))
		bark("no adapter");
	world.host = bridge_host_next(NULL);
	for (unsigned i = 0; i < world.shape.reactors; i++) {
		world.hw[i].id = i;
		world.hw[i].seed = stress_seed * 31 + i * 7919;
		reactor_call(reactor_get(i), open_on, &world.hw[i]);
	}
}

void
world_check(void)
{
	if (bridge_check(world.host, stderr))
		bark("the bridge's own recount");
}

static bool
is_empty(void)
{
	int in = atomic_load(&world.all.in);

	for (unsigned i = 0; i < DISKS_MAX; i++)
		in |= atomic_load(&world.lun[i].in) | atomic_load(&world.target[i].in);
	for (unsigned i = 0; i < INIS_MAX; i++)
		in |= atomic_load(&world.ini[i].in);
	return in == 0;
}

void
world_close(void)
{
	sure(is_empty());
	world_check();
	for (unsigned i = 0; i < world.shape.reactors; i++)
		reactor_call(reactor_get(i), close_on, &world.hw[i]);
	world.host = NULL;
	adapters_close();
	reactors_stop();
	free(world.hw);
	world.hw = NULL;
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
