/* A reactor's turn: what its adapter's part has collected leaves, and nothing is kept asleep. */
#include "poll.h"

#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "inbox.h"
#include "run.h"
#include "wait.h"

/*
 * Credits go back to where others look for them: of nodes with a gate, or all
 * of them. Whatever was given back is a release, so somebody looks who may run.
 */
static bool
work(struct bridge_cpu *cpu, bool all)
{
	struct bridge_host *h = cpu->host;
	bool did = false;

	run_begin();
	do {
		bool look = cpu->kick;

		cpu->kick = false;
		if (all || !BUG(5))
			look |= cache_flush_held(cpu, all);
		if (!look && !cpu->nchain)
			break;
		did = true;
		YIELD_POINT();
		if (look && atomic_load(&h->gates))
			inbox_recheck(h);
		inbox_push(cpu);
		inbox_combine(cpu);
		run_end();
		/* Those who were done at once have made room again. */
	} while (cpu->nchain && run_more());
	return did;
}

bool
cpu_poll(struct poller *p)
{
	struct bridge_cpu *cpu = container_of(p, struct bridge_cpu, poller);

	if (likely(!cpu->nchain && !cpu->kick && !atomic_load(&cpu->host->gates)))
		return false;
	return work(cpu, false);
}

/* Who sleeps keeps nothing: no credit, no operation, no duty to look. */
static bool
cpu_idle(struct poller *p)
{
	struct bridge_cpu *cpu = container_of(p, struct bridge_cpu, poller);

	if (BUG(3))
		return !cpu->nchain && !cpu->kick;
	if (cpu->nchain || cpu->kick || cpu->held)
		work(cpu, true);
	return !cpu->nchain && !cpu->kick && !cpu->held;
}

struct bridge_cpu *
cpu_new(struct bridge_host *h, unsigned id)
{
	struct bridge_cpu *cpu = aligned_alloc(_Alignof(struct bridge_cpu), sizeof(*cpu));

	if (!cpu)
		return NULL;
	memset(cpu, 0, sizeof(*cpu));
	cpu->host = h;
	cpu->id = id;
	/* Apart, so that reactors do not look for tags in the same lines. */
	cpu->hint = id * (h->slots.nlines / h->ncpus);
	cpu->poller.poll = cpu_poll;
	cpu->poller.idle = cpu_idle;
	list_init(&cpu->poller.link);
	atomic_init(&cpu->to, id);
	atomic_init(&cpu->combines_here, true);
	return cpu;
}

__thread unsigned bridge_reactor;

void
cpu_open(struct bridge_cpu *cpu)
{
	bridge_reactor = cpu->id + 1;
	poller_add(reactor_self(), &cpu->poller);
	timer_init(&cpu->timer, reactor_self(), alarm_fired);
}

void
cpu_close(struct bridge_cpu *cpu)
{
	while (!cpu_idle(&cpu->poller))
		;
	poller_del(&cpu->poller);
	timer_fini(&cpu->timer);
}
