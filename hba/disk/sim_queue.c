/* Simulated commands on their way: a heap by time and one timer, for each adapter and reactor. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim.h"

static bool
earlier(const struct sim_due *a, const struct sim_due *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void
heap_push(struct sim_queue *q, struct sim_due due)
{
	uint32_t at = q->n++, up;

	for (; at > 0; at = up) {
		up = (at - 1) / 2;
		if (!earlier(&due, &q->heap[up]))
			break;
		q->heap[at] = q->heap[up];
	}
	q->heap[at] = due;
}

static struct disk_io *
heap_pop(struct sim_queue *q)
{
	struct disk_io *io = q->heap[0].io;
	struct sim_due last = q->heap[--q->n];
	uint32_t at = 0, down;

	while ((down = 2 * at + 1) < q->n) {
		if (down + 1 < q->n && earlier(&q->heap[down + 1], &q->heap[down]))
			down++;
		if (!earlier(&q->heap[down], &last))
			break;
		q->heap[at] = q->heap[down];
		at = down;
	}
	q->heap[at] = last;
	return io;
}

void
sim_queue_add(struct sim_queue *q, struct disk_io *io, uint64_t at, uint64_t now)
{
	heap_push(q, (struct sim_due){ .at = at, .seq = q->seq++, .io = io });
	/* While commands end here the timer is set once, for all of them. */
	if (!q->running && q->heap[0].io == io)
		timer_set(&q->timer, at > now ? at - now : 0);
}

static void
command_end(struct sim_queue *q, struct disk_io *io)
{
	struct sim_disk *sd = io->disk->priv;

	if (atomic_load_explicit(&sd->adapter->offline, memory_order_relaxed)) {
		io->result = -ENODEV;
	} else if (!sim_store_step(io)) {
		uint64_t now = now_ns();

		sim_queue_add(q, io, now, now);
		return;
	}
	sim_leave(io);
	disk_io_done(io);
}

static void
queue_due(struct timer *t)
{
	struct sim_queue *q = container_of(t, struct sim_queue, timer);
	uint64_t now = now_ns();

	q->running = true;
	/* What comes meanwhile is due in a later turn of the loop, whatever its time. */
	for (uint32_t left = q->n; left && q->n && q->heap[0].at <= now; left--)
		command_end(q, heap_pop(q));
	q->running = false;
	if (q->n) {
		now = now_ns();
		timer_set(t, q->heap[0].at > now ? q->heap[0].at - now : 0);
	}
}

int
sim_queue_open(struct sim_adapter *a, struct reactor *r)
{
	struct sim_queue *q = &a->queue[reactor_id(r)];

	if (!q->heap) {
		q->heap = calloc(a->device_queue, sizeof(*q->heap));
		if (!q->heap)
			return -ENOMEM;
		timer_init(&q->timer, r, queue_due);
	}
	q->disks++;
	return 0;
}

void
sim_queue_close(struct sim_adapter *a, struct reactor *r)
{
	struct sim_queue *q = &a->queue[reactor_id(r)];

	if (--q->disks)
		return;
	assert(q->n == 0);
	timer_fini(&q->timer);
	free(q->heap);
	q->heap = NULL;
}
