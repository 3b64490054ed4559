/* The turn of a reactor: pollers, events, pollers, deferred work; and when it may sleep. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "log.h"

#include "loop.h"

/*
 * Work may defer more work, which leaves in the same round: an answer that a
 * flush made possible. Work that defers itself each time must not keep the
 * sockets waiting: after so many passes the rest has its turn in the next round.
 */
enum { WORK_PASSES = 8 };

__thread struct reactor *loop_self;

static void
wake_readable(struct watch *w, short what)
{
	uint64_t n;

	/* Only the wake-up matters: the next turn looks into the inbox. */
	(void)!read(w->fd, &n, sizeof(n));
}

static void
tick_readable(struct watch *w, short what)
{
	uint64_t n;

	(void)!read(w->fd, &n, sizeof(n));
	loop_self->timer_armed = 0;
}

int
loop_init(struct reactor *r, unsigned id, uint64_t poll_ns)
{
	struct event_config *cfg;

	memset(r, 0, sizeof(*r));
	r->id = id;
	r->poll_ns = poll_ns;
	r->beat = now_ns();
	r->timer_fd = -1;
	list_init(&r->pollers);
	list_init(&r->work);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake_fd < 0)
		return -errno;
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->timer_fd < 0)
		return -errno;
	cfg = event_config_new();
	if (!cfg)
		return -ENOMEM;
	/*
	 * No precise timers: they cost a timerfd_settime in every turn, three
	 * times the rest of it. Ours are in timer.c.
	 */
	event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
	r->base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (!r->base)
		return -ENOMEM;
	watch_init(&r->wake, r, r->wake_fd, wake_readable);
	watch_init(&r->tick, r, r->timer_fd, tick_readable);
	watch_want(&r->wake, EV_READ);
	watch_want(&r->tick, EV_READ);
	return 0;
}

void
loop_fini(struct reactor *r)
{
	watch_fini(&r->wake);
	watch_fini(&r->tick);
	if (r->base)
		event_base_free(r->base);
	if (r->wake_fd >= 0)
		close(r->wake_fd);
	if (r->timer_fd >= 0)
		close(r->timer_fd);
}

/* -- pollers -- */

void
poller_add(struct reactor *r, struct poller *p)
{
	list_add_tail(&r->pollers, &p->link);
}

void
poller_del(struct poller *p)
{
	struct reactor *r = loop_self;

	if (r && r->cursor == &p->link)
		r->cursor = p->link.next;
	list_del(&p->link);
}

static bool
pollers_run(struct reactor *r)
{
	bool busy = false;

	for (struct list *at = r->pollers.next; at != &r->pollers; at = r->cursor) {
		struct poller *p = list_entry(at, struct poller, link);

		r->cursor = at->next;
		busy |= p->poll(p);
	}
	r->cursor = NULL;
	return busy;
}

/* All of them run, also after a veto: each must have given back what it hoards. */
static bool
pollers_idle(struct reactor *r)
{
	bool idle = true;

	for (struct list *at = r->pollers.next; at != &r->pollers; at = r->cursor) {
		struct poller *p = list_entry(at, struct poller, link);

		r->cursor = at->next;
		if (p->idle && !p->idle(p))
			idle = false;
	}
	r->cursor = NULL;
	return idle;
}

/* -- the end of the round -- */

void
work_init(struct work *w, void (*fn)(struct work *))
{
	list_init(&w->link);
	w->fn = fn;
}

void
reactor_defer(struct reactor *r, struct work *w)
{
	if (list_empty(&w->link))
		list_add_tail(&r->work, &w->link);
}

void
work_cancel(struct work *w)
{
	list_del(&w->link);
}

void
loop_work(struct reactor *r)
{
	for (int pass = 0; pass < WORK_PASSES && !list_empty(&r->work); pass++) {
		struct list batch = LIST_INIT(batch);

		r->busy = true;
		list_splice_tail(&batch, &r->work);
		while (!list_empty(&batch)) {
			struct work *w = list_first(&batch, struct work, link);

			list_del(&w->link);
			w->fn(w);
		}
	}
}

/* -- the turn -- */

static void
woke(struct reactor *r)
{
	r->slept = false;
	r->now = now_ns();
	/* Beat before asleep: who sees us awake sees a fresh beat. */
	atomic_store_explicit(&r->beat, r->now, memory_order_relaxed);
	atomic_store_explicit(&r->asleep, false, memory_order_release);
	/* From here the inbox is polled; a late sender that saw true wakes us once for nothing. */
	atomic_store_explicit(&r->armed, false, memory_order_relaxed);
}

void
loop_event(struct reactor *r)
{
	r->busy = true;
	if (unlikely(r->slept))
		woke(r);
}

static bool
may_sleep(struct reactor *r)
{
	if (r->stop || r->now - r->last < r->poll_ns || !list_empty(&r->work))
		return false;
	if (!pollers_idle(r) || !list_empty(&r->work))
		return false;
	timers_arm(r);
	return inbox_arm(r);
}

static void
turn(struct reactor *r)
{
	bool busy;

	r->now = now_ns();
	if (r->busy)
		r->last = r->now;
	r->busy = false;
	atomic_store_explicit(&r->beat, r->now, memory_order_relaxed);
	busy = inbox_drain(r);
	busy |= pollers_run(r);
	if (!busy && may_sleep(r)) {
		r->slept = true;
		atomic_store_explicit(&r->asleep, true, memory_order_release);
		event_base_loop(r->base, EVLOOP_ONCE);
		if (r->slept)
			woke(r);
	} else {
		event_base_loop(r->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	timers_run(r);
	busy |= pollers_run(r);
	loop_work(r);
	r->busy |= busy;
}

void
loop_run(struct reactor *r)
{
	r->last = now_ns();
	while (!r->stop)
		turn(r);
}

uint64_t
reactor_now(const struct reactor *r)
{
	return r->now;
}
