/* The adapter, its reactors and what they send. */
#include "tests/stress/stress.h"

#include <string.h>

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

/* -- jobs -- */

void
world_over(void)
{
	if (atomic_fetch_sub(&world.outstanding, 1) == 1)
		sem_post(&world.silence);
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
	hw_moved(h);
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
	hw_moved(h);
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
	h->poller.poll = device_poll;
	h->poller.idle = device_idle;
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
	sem_init(&world.silence, 0, 0);
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
