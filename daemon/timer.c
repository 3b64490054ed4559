/* Timers: one pairing heap and one timerfd for each reactor. */
#include <sys/timerfd.h>

#include "loop.h"

/*
 * Setting a timer costs no system call: an awake loop compares the earliest
 * deadline with its clock, and the timerfd is set only before a sleep, and only
 * to an earlier time than it has. A tick that comes for a timer that was moved
 * since wakes the loop once and is not set again.
 *
 * The heap: a node is no later than its children; child points to the first of
 * them, next to the following sibling, prev back to the sibling or the parent.
 */
static struct timer *
heap_merge(struct timer *a, struct timer *b)
{
	struct timer *t;

	if (!a || !b)
		return a ? a : b;
	if (b->at < a->at) {
		t = a;
		a = b;
		b = t;
	}
	b->prev = a;
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	a->prev = a->next = NULL;
	return a;
}

/* Makes one heap of siblings: pairs from the left, then all pairs from the right. */
static struct timer *
heap_gather(struct timer *t)
{
	struct timer *pairs = NULL, *root = NULL, *a, *b;

	while (t) {
		a = t;
		b = a->next;
		t = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = heap_merge(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		a = pairs;
		pairs = a->next;
		a->next = NULL;
		root = heap_merge(root, a);
	}
	return root;
}

static void
heap_remove(struct timer **root, struct timer *t)
{
	struct timer *children = heap_gather(t->child);

	if (*root == t) {
		*root = children;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		*root = heap_merge(*root, children);
	}
	t->child = t->next = t->prev = NULL;
}

void
timer_init(struct timer *t, struct reactor *r, void (*fn)(struct timer *))
{
	*t = (struct timer){ .fn = fn, .reactor = r };
}

void
timer_set(struct timer *t, uint64_t ns)
{
	uint64_t now = now_ns();

	timer_stop(t);
	/* "Never" may be written as a huge time. */
	t->at = ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
	t->reactor->timers = heap_merge(t->reactor->timers, t);
}

void
timer_stop(struct timer *t)
{
	if (!t->at)
		return;
	heap_remove(&t->reactor->timers, t);
	t->at = 0;
}

bool
timer_is_set(const struct timer *t)
{
	return t->at != 0;
}

void
timer_fini(struct timer *t)
{
	timer_stop(t);
}

/* One set by a callback is never due here: it lies behind r->now. */
void
timers_run(struct reactor *r)
{
	struct timer *t;

	while ((t = r->timers) && t->at <= r->now) {
		timer_stop(t);
		r->busy = true;
		t->fn(t);
	}
}

void
timers_arm(struct reactor *r)
{
	struct itimerspec at = { 0 };

	if (!r->timers || (r->timer_armed && r->timer_armed <= r->timers->at))
		return;
	r->timer_armed = r->timers->at;
	at.it_value.tv_sec = (time_t)(r->timer_armed / 1000000000u);
	at.it_value.tv_nsec = (long)(r->timer_armed % 1000000000u);
	timerfd_settime(r->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}
