/* The device: it counts what it has by itself, and finishes it in its time. */
#include "tests/stress/stress.h"

#include <sched.h>

void
hw_moved(struct hw *h)
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

enum disk_result
device_submit(struct disk_io *io)
{
	struct job *j = container_of(io, struct job, req.io);
	struct hw *h = hw_self();

	hw_moved(h);
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
	hw_moved(h);
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

bool
device_poll(struct poller *p)
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
bool
device_idle(struct poller *p)
{
	struct hw *h = container_of(p, struct hw, poller);
	struct job *j;

	list_for_each(j, &h->running, link)
		if (!atomic_load(&j->held))
			return false;
	return true;
}
