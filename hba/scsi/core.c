/* The device server's share of each reactor, and the way others wake it. */
#include "core.h"

#include "fence.h"
#include "range_lock.h"
#include "reserve.h"
#include "tmf.h"
#include "yield.h"

static struct core cores[REACTORS_MAX];

static void
core_woken(struct msg *msg)
{
	struct core *core = container_of(msg, struct core, msg);

	/* Cleared first: who pokes from here on is served by another message. */
	atomic_store(&core->poked, false);
	tmf_run(core);
	fence_run(core);
	range_run();
	reserve_run(core);
	yield_run(core);
}

void
cores_init(void)
{
	for (unsigned i = 0; i < ARRAY_LEN(cores); i++) {
		list_init(&cores[i].nexuses);
		list_init(&cores[i].dying);
		list_init(&cores[i].parked);
		list_init(&cores[i].yielded);
		list_init(&cores[i].changing);
		cores[i].msg.fn = core_woken;
		atomic_store(&cores[i].poked, false);
	}
}

struct core *
core_of(const struct reactor *reactor)
{
	return &cores[reactor_id(reactor)];
}

void
core_poke(struct reactor *reactor)
{
	struct core *core = core_of(reactor);

	if (!atomic_exchange(&core->poked, true))
		reactor_post(reactor, &core->msg);
}
