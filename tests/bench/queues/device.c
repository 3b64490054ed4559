/* The device that all policies share: fixed service time, finite slots, and it counts by itself. */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>

struct count {
	OWN_LINE atomic_int in;
	int limit;
	const char *kind;
};

static struct count host, target[TARGETS_MAX], lun[LUNS_MAX];
static OWN_LINE atomic_int most;

void
device_init(void)
{
	host = (struct count){
		.limit = (int)(setup.device_slots ? setup.device_slots : setup.can_queue),
		.kind = "adapter",
	};
	for (uint32_t i = 0; i < setup.targets; i++)
		target[i] = (struct count){ .limit = (int)setup.target_depth, .kind = "target" };
	for (uint32_t i = 0; i < setup.luns; i++)
		lun[i] = (struct count){ .limit = (int)setup.lun_depth, .kind = "LUN" };
}

static int
enter(struct count *c)
{
	int now = atomic_fetch_add_explicit(&c->in, 1, memory_order_relaxed) + 1;

	if (now > c->limit)
		die("%s: %d in flight at one %s, the limit is %d", setup.policy, now, c->kind,
		    c->limit);
	return now;
}

static void
count_in(const struct command *cmd)
{
	int now = enter(&host);

	enter(&target[cmd->lun % setup.targets]);
	enter(&lun[cmd->lun]);
	if (now > atomic_load_explicit(&most, memory_order_relaxed))
		atomic_store_explicit(&most, now, memory_order_relaxed);
}

static void
count_out(const struct command *cmd)
{
	atomic_fetch_sub_explicit(&lun[cmd->lun].in, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&target[cmd->lun % setup.targets].in, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&host.in, 1, memory_order_relaxed);
}

void
device_start(struct command *cmd)
{
	struct worker *w = worker_self;
	bool slow = w->asking != cmd;

	if (!slow)
		w->asking = NULL;
	if (setup.count)
		count_in(cmd);
	if (setup.service_ns) {
		uint64_t now = now_ns();

		cmd->due_ns = now + setup.service_ns;
		if (atomic_load_explicit(&recording, memory_order_relaxed))
			waits_note(&w->waits[cmd->initiator->class], now - cmd->asked_ns, slow);
	}
	queue_add(&w->busy, cmd);
}

unsigned
device_finish(struct worker *w, uint64_t now, unsigned max)
{
	unsigned n = 0;

	while (n < max && w->busy.first && w->busy.first->due_ns <= now) {
		struct command *cmd = queue_take(&w->busy);

		if (setup.count)
			count_out(cmd);
		policy->release(cmd);
		n++;
	}
	return n;
}

int
device_max(void)
{
	return atomic_load(&most);
}
