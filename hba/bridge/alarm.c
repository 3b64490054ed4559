/* What must be looked at again at a certain time: a heap, and a timer for its top. */
#include "alarm.h"

#include "host.h"
#include "inbox.h"
#include "run.h"

/*
 * The right half of the earlier one melds with the other heap and becomes its
 * left: O(log n), amortised.
 */
static struct alarm *
meld(struct alarm *a, struct alarm *b)
{
	struct alarm *top = NULL, **at = &top;

	while (a && b) {
		struct alarm *first = b->at < a->at ? b : a, *right = first->right;

		b = first == a ? b : a;
		*at = first;
		first->right = first->left;
		at = &first->left;
		a = right;
	}
	*at = a ? a : b;
	return top;
}

/* Seldom: a heap without a way up is made anew. */
static void
alarm_del(struct bridge_host *h, const struct alarm *a)
{
	struct alarm *from = h->alarms, *top, *kept = NULL;

	while ((top = from)) {
		from = meld(top->left, top->right);
		top->left = top->right = NULL;
		if (top != a)
			kept = meld(kept, top);
	}
	h->alarms = kept;
}

void
alarm_set(struct bridge_host *h, struct alarm *a, uint64_t at)
{
	if (a->set && a->at <= at)
		return;
	if (a->set)
		alarm_del(h, a);
	a->set = true;
	a->at = at;
	a->left = a->right = NULL;
	h->alarms = meld(h->alarms, a);
}

void
alarms_run(struct bridge_host *h)
{
	uint64_t now;

	if (likely(!atomic_load_explicit(&h->rang, memory_order_relaxed)) ||
	    !atomic_exchange(&h->rang, false))
		return;
	h->armed_at = UINT64_MAX;
	now = now_ns();
	while (h->alarms && h->alarms->at <= now) {
		struct alarm *a = h->alarms;

		h->alarms = meld(a->left, a->right);
		a->set = false;
		a->fn(a, now);
	}
}

/* One timer at the earliest time is enough; later ones that still stand find nothing to do. */
void
alarms_arm(struct bridge_cpu *cpu)
{
	struct bridge_host *h = cpu->host;
	uint64_t now;

	if (likely(!h->alarms) || h->alarms->at >= h->armed_at)
		return;
	h->armed_at = h->alarms->at;
	now = now_ns();
	timer_set(&cpu->timer, h->armed_at > now ? h->armed_at - now : 0);
}

void
alarm_fired(struct timer *t)
{
	struct bridge_cpu *cpu = container_of(t, struct bridge_cpu, timer);

	run_begin();
	/* seq_cst: before the lock is tried. */
	atomic_store(&cpu->host->rang, true);
	inbox_combine(cpu);
	run_end();
}
