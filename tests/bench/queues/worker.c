/* A reactor's part: its initiators ask, its hardware queue answers, and when there is nothing to do it sleeps. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "cell.h"

/* Steps of one call: enough that the turn of the loop around them costs nothing. */
enum { STEPS = 64 };

struct worker *workers;
struct initiator *initiators;
__thread struct worker *worker_self;
atomic_bool recording, stopping;

/* -- initiators -- */

static uint32_t
window_of(uint32_t i)
{
	double ratio = (double)setup.window_max / setup.window_min;

	if (setup.hogs)
		return i < setup.hogs ? setup.window_max : setup.window_min;
	if (setup.initiators == 1)
		return setup.window_max;
	return (uint32_t)lround(setup.window_min * pow(ratio, i / (setup.initiators - 1.0)));
}

static void
initiator_init(struct initiator *it, uint32_t i)
{
	it->id = i;
	it->home = &workers[i % setup.loaded];
	it->window = window_of(i);
	it->class = i < setup.hogs ? HOG : SMALL;
	it->weight = i < setup.heavy ? 4 : 1;
	/* Apart: the hogs have LUN 0, the others the rest. */
	it->next_lun = !setup.apart ? i % setup.luns : i < setup.hogs ? 0 : 1 + i % (setup.luns - 1);
	it->commands = must(aligned_alloc(CACHE_LINE, it->window * sizeof(*it->commands)));
	for (uint32_t k = 0; k < it->window; k++)
		it->commands[k] = (struct command){ .initiator = it };
}

void
crowd_make(void)
{
	size_t room = (setup.threads * sizeof(*workers) + 127) / 128 * 128;

	workers = must(aligned_alloc(128, room));
	initiators = must(aligned_alloc(128, setup.initiators * sizeof(*initiators)));
	for (uint32_t i = 0; i < setup.threads; i++)
		workers[i] = (struct worker){ .id = i, .reactor = reactor_get(i) };
	for (uint32_t i = 0; i < setup.initiators; i++) {
		initiators[i] = (struct initiator){ .id = i };
		initiator_init(&initiators[i], i);
	}
}

void
crowd_free(void)
{
	for (uint32_t i = 0; i < setup.initiators; i++)
		free(initiators[i].commands);
	free(initiators);
	free(workers);
}

static uint32_t
lun_next(struct initiator *it)
{
	uint32_t lun = it->next_lun;

	if (setup.spread)
		it->next_lun = lun + 1 == setup.luns ? 0 : lun + 1;
	return lun;
}

void
command_back(struct command *cmd)
{
	_Atomic uint64_t *done = &cmd->initiator->done;

	/* The owner alone writes; main reads it. */
	atomic_store_explicit(done, atomic_load_explicit(done, memory_order_relaxed) + 1,
	    memory_order_relaxed);
	queue_add(&cmd->initiator->home->ready, cmd);
}

/* -- the worker -- */

static void
ask(struct worker *w, struct command *cmd, bool record)
{
	if (setup.work_ns)
		work_for(setup.work_ns);
	if (setup.service_ns)
		cmd->asked_ns = now_ns();
	cmd->lun = lun_next(cmd->initiator);
	w->asking = cmd;
	policy->submit(cmd);
	if (record) {
		struct waits *waits = &w->waits[cmd->initiator->class];

		waits->asked++;
		waits->slow += w->asking != NULL;
	}
	w->asking = NULL;
}

static unsigned
ask_some(struct worker *w)
{
	bool record = atomic_load_explicit(&recording, memory_order_relaxed);
	struct command *cmd;
	unsigned n = 0;

	if (unlikely(atomic_load_explicit(&stopping, memory_order_relaxed))) {
		while (queue_take(&w->ready))
			n++;
		atomic_fetch_add(&w->at_rest, n);
		return 0;
	}
	while (n < setup.batch && (cmd = queue_take(&w->ready))) {
		ask(w, cmd, record);
		n++;
	}
	return n;
}

static bool
worker_poll(struct poller *p)
{
	struct worker *w = container_of(p, struct worker, poller);
	bool busy = false;

	for (int i = 0; i < STEPS; i++) {
		unsigned n = device_finish(w, setup.service_ns ? now_ns() : 0, setup.batch);

		n += ask_some(w);
		if (policy->turn)
			n += policy->turn(w);
		if (!n)
			break;
		busy = true;
	}
	return busy;
}

/* Sleeps until the device has something, in naps that are worth it. */
static bool
worker_idle(struct poller *p)
{
	struct worker *w = container_of(p, struct worker, poller);
	uint64_t at = w->retry_at, now;

	if (w->busy.first && (!at || w->busy.first->due_ns < at))
		at = w->busy.first->due_ns;
	if (!at)
		return true;
	now = now_ns();
	timer_set(&w->timer, at > now ? MAX(at - now, setup.nap_ns) : setup.nap_ns);
	return true;
}

static void
nap_over(struct timer *t)
{
}

/* Where each can have a processor to itself it gets one: the scheduler needs a while to see that. */
void
pin_to(unsigned left)
{
	cpu_set_t all, own;

	if (sched_getaffinity(0, sizeof(all), &all) ||
	    setup.threads + policy->extra > (unsigned)CPU_COUNT(&all))
		return;
	CPU_ZERO(&own);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && left-- == 0)
			CPU_SET(cpu, &own);
	sched_setaffinity(0, sizeof(own), &own);
}

void
worker_start(void *arg)
{
	struct worker *w = arg;

	worker_self = w;
	pin_to(w->id);
	queue_init(&w->busy);
	queue_init(&w->ready);
	timer_init(&w->timer, w->reactor, nap_over);
	if (policy->worker_open)
		policy->worker_open(w);
	for (uint32_t i = 0; i < setup.initiators; i++)
		for (uint32_t k = 0; k < initiators[i].window && initiators[i].home == w; k++)
			queue_add(&w->ready, &initiators[i].commands[k]);
	w->poller.poll = worker_poll;
	w->poller.idle = worker_idle;
	poller_add(w->reactor, &w->poller);
}

void
worker_stop(void *arg)
{
	struct worker *w = arg;

	poller_del(&w->poller);
	timer_fini(&w->timer);
	if (policy->worker_close)
		policy->worker_close(w);
}
