/* A request that has its slot: to the disk and back. */
#include "run.h"

#include <assert.h>

#include "back.h"
#include "flow.h"
#include "inbox.h"
#include "lun.h"
#include "stats.h"
#include "wait.h"

COUNTER(handoffs, "bridge_handoffs", "commands that waited, submitted when their turn came");
COUNTER(strays, "bridge_stray_completions", "completions that came twice or too late, dropped");

enum disk_result
req_start(struct bridge_req *req)
{
	const struct credit_cache *lun = flow_own(req->flow, AT_LUN);
	enum disk_result result;

	if (unlikely(req->merge != NULL))
		merge_build(req);
	req->sent_ns = unlikely(atomic_load_explicit(&lun->timed, memory_order_relaxed)) ?
	    now_ns() : 0;
	bridge_grants.inside++;
	result = req->io.disk->driver->submit(&req->io);
	bridge_grants.inside--;
	return result;
}

/* The credits go back to where they came from. Who waited for them meanwhile is looked at in this turn. */
void
credits_put(struct bridge_cpu *cpu, struct credit_cache *const own[LEVELS], int n)
{
	EACH_LEVEL
	for (int i = 0; i < n; i++)
		cache_put(cpu, own[i]);
}

/* The slot's word says already that it is nobody's. */
void
slot_release(struct bridge_cpu *cpu, struct slot *slot, struct credit_cache *const own[LEVELS])
{
	credits_put(cpu, own, AT_HOST);
	YIELD_POINT();
	cache_put_tag(cpu, own[AT_HOST], slot->tag);
	YIELD_POINT();
	if (unlikely(gate_shut(cpu->host, own)) && !BUG(7))
		cpu->kick = true;
}

static bool
release_reserved(struct bridge_cpu *cpu, struct bridge_req *req, struct slot *slot)
{
	if (!slot_leave(slot, req, SLOT_FREE))
		return false;
	tags_put_reserved(&cpu->host->slots, slot);
	return true;
}

/* What this reactor keeps of the slot's nodes. */
static inline void
own_of(const struct bridge_cpu *cpu, const struct bridge_req *req, const struct slot *slot,
    struct credit_cache *own[LEVELS])
{
	bool at_home = req->flow->cpu == cpu;

	/* They were the flow's when it got the slot, and cannot change while it is out. */
	EACH_LEVEL
	for (int i = 0; i < LEVELS; i++)
		own[i] = likely(at_home) ? flow_own(req->flow, i) :
		    &atomic_load_explicit(&slot->node[i], memory_order_relaxed)->cache[cpu->id];
}

bool
req_release(struct bridge_cpu *cpu, struct bridge_req *req, struct slot *slot, bool inline_done)
{
	struct credit_cache *own[LEVELS];
	enum slot_state to = SLOT_FREE;
	uint64_t sent_ns;

	/* First of all: else its flow may be gone. */
	if (unlikely(!slot_is_held(slot, req)))
		return false;
	if (unlikely(slot_is_reserved(&cpu->host->slots, slot)))
		return release_reserved(cpu, req, slot);
	own_of(cpu, req, slot, own);
	sent_ns = req->sent_ns;
	if (unlikely(gate_shut(cpu->host, own)))
		to = SLOT_BACK;
	if (inline_done)
		slot_leave_inline(slot, req, to);
	else if (unlikely(!slot_leave(slot, req, to)))
		return false;
	if (unlikely(sent_ns))
		lun_took(cpu, own[AT_LUN]->node, sent_ns);
	if (likely(to == SLOT_FREE))
		slot_release(cpu, slot, own);
	else
		inbox_add(cpu, &slot->op, OP_RELEASE);
	return true;
}

/* -- to the disk -- */

void
req_stray(void)
{
	counter_add(&strays, 1);
}

/* A request that has waited, or comes from another reactor: what it ends with is posted home. */
static void
req_run(struct bridge_cpu *cpu, struct bridge_req *req)
{
	struct slot *slot = slot_of(&cpu->host->slots, req);

	slot_run(slot, req);
	if (req_start(req) != DISK_DONE)
		return;
	if (unlikely(!req_release(cpu, req, slot, true)))
		req_stray();
	else if (!back_is_special(req) || !back_again(cpu->host, cpu, req))
		req_post(req);
}

static void
req_run_here(struct msg *m)
{
	struct bridge_req *req = container_of(m, struct bridge_req, home);

	run_begin();
	req_run(host_cpu(req->flow->host), req);
	run_end();
}

void
req_send(struct bridge_req *req, unsigned to)
{
	req->home.fn = req_run_here;
	reactor_post(reactor_get(to), &req->home);
}

/* On whose hardware queue: divided, its home's; else that of the reactor that let it go. */
static void
req_go(struct bridge_req *req)
{
	struct bridge_flow *f = req->flow;
	struct bridge_cpu *cpu = host_cpu(f->host);
	bool divided = flow_own(f, AT_HOST)->node != f->host->node;
	unsigned to = atomic_load_explicit(divided ? &f->cpu->to : &cpu->to,
	    memory_order_relaxed);

	if (unlikely(req->state == REQ_UNWANTED)) {
		req_post(req);
		return;
	}
	counter_add(&handoffs, 1);
	if (to == cpu->id)
		req_run(cpu, req);
	else
		req_send(req, to);
}

/* Until nothing is left: a request that is done at once may make room for the next. */
void
run_all(void)
{
	struct list *run = &bridge_grants.run;

	while (!list_empty(run)) {
		struct bridge_req *req = list_first(run, struct bridge_req, link);

		list_del(&req->link);
		req_go(req);
	}
}

void
run_kicked(struct msg *m)
{
	struct bridge_host *h = container_of(m, struct bridge_host, kick);

	run_begin();
	atomic_exchange(&h->kicked, false);
	inbox_combine(host_cpu(h));
	run_end();
}

/* -- back -- */

/* On a thread without caches: all of it goes to the inbox, and a reactor is told. */
static void
done_elsewhere(struct bridge_host *h, struct bridge_req *req, struct slot *slot)
{
	bool reserved = slot_is_reserved(&h->slots, slot);

	if (!slot_leave(slot, req, reserved ? SLOT_FREE : SLOT_BACK)) {
		req_stray();
		return;
	}
	if (reserved) {
		tags_put_reserved(&h->slots, slot);
	} else {
		inbox_push_one(h, &slot->op, OP_RELEASE);
		inbox_kick(h);
	}
	if (!back_is_special(req) || !back_again(h, NULL, req))
		req_post(req);
}

void
disk_io_done(struct disk_io *io)
{
	struct bridge_req *req = container_of(io, struct bridge_req, io);
	struct bridge_host *h = io->disk->host;
	struct slot *slot = slot_of(&h->slots, req);
	struct bridge_cpu *cpu = host_cpu(h);
	bool mine, again;

	if (unlikely(!slot)) {
		req_stray();
		return;
	}
	if (unlikely(!cpu)) {
		done_elsewhere(h, req, slot);
		return;
	}
	run_begin();
	mine = req_release(cpu, req, slot, false);
	again = mine && back_is_special(req) && back_again(h, cpu, req);
	run_end();
	if (unlikely(!mine))
		req_stray();
	else if (unlikely(again))
		return;
	else if (bridge_grants.inside || req->flow->cpu != cpu)
		req_post(req);
	else
		req->done(req);
}
