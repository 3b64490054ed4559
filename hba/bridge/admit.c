/* Requests on their way to the disk and back. */
#include "admit.h"

#include <assert.h>
#include <errno.h>

#include "back.h"
#include "conf.h"
#include "flow.h"
#include "inbox.h"
#include "lun.h"
#include "stats.h"
#include "wait.h"

COUNTER(handoffs, "bridge_handoffs", "commands that waited, submitted when their turn came");
COUNTER(strays, "bridge_stray_completions", "completions that came twice or too late, dropped");

/*
 * Set while a disk's submit is on this thread's stack, so that a completion from
 * within does not call done, and grants made meanwhile are left to the outer loop.
 */
static __thread unsigned inside;

static enum disk_result
req_start(struct bridge_req *req)
{
	const struct bridge_node *lun = flow_node(req->flow, AT_LUN);
	enum disk_result result;

	if (unlikely(req->merge != NULL))
		merge_build(req);
	req->sent_ns = unlikely(atomic_load_explicit(&lun->timed, memory_order_relaxed)) ?
	    now_ns() : 0;
	inside++;
	result = req->io.disk->driver->submit(&req->io);
	inside--;
	return result;
}

/* seq_cst: after credits were given back this must not look earlier than that. */
static inline bool
gate_shut(const struct bridge_host *h, struct bridge_node *const node[LEVELS])
{
	if (likely(!atomic_load(&h->gates)))
		return false;
	for (int i = 0; i < LEVELS; i++)
		if (atomic_load(&node[i]->gate))
			return true;
	return false;
}

/* The credits go back to where they came from. Who waited for them meanwhile is looked at in this turn. */
static void
credits_put(struct bridge_cpu *cpu, struct bridge_node *const node[LEVELS], int n)
{
	for (int i = 0; i < n; i++)
		cache_put(cpu, &node[i]->cache[cpu->id]);
}

/* The slot's word says already that it is nobody's. */
static void
slot_release(struct bridge_cpu *cpu, struct slot *slot, struct bridge_node *const node[LEVELS])
{
	credits_put(cpu, node, AT_HOST);
	YIELD_POINT();
	cache_put_tag(cpu, node[AT_HOST], slot->tag);
	YIELD_POINT();
	if (unlikely(gate_shut(cpu->host, node)) && !BUG(7))
		cpu->kick = true;
}

/*
 * The disk is finished with a request: its slot goes to the next one, or back.
 * False: it had been finished before. Runs no callback. inline_done: its submit
 * has just said so, and nobody else has seen it.
 */
static inline bool
req_release(struct bridge_cpu *cpu, struct bridge_req *req, struct slot *slot, bool inline_done)
{
	struct bridge_node *node[LEVELS];
	enum slot_state to = SLOT_FREE;
	uint64_t sent_ns;

	/* Before its nodes are asked: a slot that was never used has none. */
	if (unlikely(!slot_is_held(slot, req)))
		return false;
	if (unlikely(slot_is_reserved(&cpu->host->slots, slot))) {
		if (!slot_leave(slot, req, SLOT_FREE))
			return false;
		tags_put_reserved(&cpu->host->slots, slot);
		return true;
	}
	for (int i = 0; i < LEVELS; i++)
		node[i] = atomic_load_explicit(&slot->node[i], memory_order_relaxed);
	sent_ns = req->sent_ns;
	if (unlikely(gate_shut(cpu->host, node)))
		to = SLOT_BACK;
	if (inline_done)
		slot_leave_inline(slot, req, to);
	else if (!slot_leave(slot, req, to))
		return false;
	if (unlikely(sent_ns))
		lun_took(cpu, node[AT_LUN], sent_ns);
	if (likely(to == SLOT_FREE))
		slot_release(cpu, slot, node);
	else
		inbox_add(cpu, &slot->op, OP_RELEASE);
	return true;
}

/* -- to the disk -- */

static void
stray(void)
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
		stray();
	else if (!back_is_special(req) || !back_again(cpu->host, cpu, req))
		req_post(req);
}

static void
req_run_here(struct msg *m)
{
	struct bridge_req *req = container_of(m, struct bridge_req, home);

	admit_begin();
	req_run(host_cpu(req->flow->host), req);
	admit_end();
}

static void
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
	bool divided = flow_node(f, AT_HOST) != f->host->node;
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

void
admit_begin(void)
{
	if (!inside)
		bridge_grants.left = HANDOFF_MAX;
}

bool
admit_more(void)
{
	return bridge_grants.left > 0;
}

/* Until nothing is left: a request that is done at once may make room for the next. */
void
admit_end(void)
{
	struct list *run = &bridge_grants.run;

	if (likely(!run->next) || inside)
		return;
	while (!list_empty(run)) {
		struct bridge_req *req = list_first(run, struct bridge_req, link);

		list_del(&req->link);
		req_go(req);
	}
}

void
admit_kicked(struct msg *m)
{
	struct bridge_host *h = container_of(m, struct bridge_host, kick);

	admit_begin();
	atomic_exchange(&h->kicked, false);
	inbox_combine(host_cpu(h));
	admit_end();
}

/* -- from the device server -- */

/* One credit at each node and a tag. NULL: not all; undone: some were held for a moment. */
static inline struct slot *
credits_take(struct bridge_cpu *cpu, struct bridge_node *const node[LEVELS], bool *undone)
{
	struct slot *slot = NULL;
	int n = 0;

	while (n < AT_HOST && cache_take(cpu, &node[n]->cache[cpu->id])) {
		n++;
		YIELD_POINT();
	}
	if (likely(n == AT_HOST))
		slot = cache_take_tag(cpu, node[AT_HOST], &cpu->host->slots);
	if (likely(slot))
		return slot;
	YIELD_POINT();
	credits_put(cpu, node, n);
	*undone = n > 0;
	return NULL;
}

/* Does this reactor submit on a hardware queue of its own? */
static inline bool
cpu_submits(const struct bridge_cpu *cpu)
{
	return atomic_load_explicit(&cpu->to, memory_order_relaxed) == cpu->id;
}

/* Past nobody of its own flow, and past no gate. */
static inline bool
may_take(const struct bridge_flow *f, struct bridge_node *const node[LEVELS], bool may_wait)
{
	const struct bridge_cpu *cpu = f->cpu;

	if (unlikely(atomic_load_explicit(&f->paced, memory_order_relaxed)))
		return false;
	/* Acquire: those before it have their slots. */
	if (unlikely(f->sent != atomic_load_explicit(&f->left, memory_order_acquire)))
		return false;
	if (unlikely(!atomic_load_explicit(&cpu->combines_here, memory_order_relaxed)))
		return false;
	/* What may not wait may not be sent to another reactor either. */
	if (unlikely(!may_wait && !cpu_submits(cpu)))
		return false;
	return !gate_shut(f->host, node);
}

/* It has its slot: to the disk, here or where the hardware queue is. */
static inline enum bridge_verdict
req_admit(struct bridge_cpu *cpu, struct bridge_req *req, struct slot *slot,
    struct bridge_node *const node[LEVELS])
{
	enum bridge_verdict verdict = BRIDGE_PENDING;
	unsigned to;

	slot_hold(slot, req, node);
	req->state = REQ_RUNNING;
	if (likely(node[AT_HOST])) {
		cache_count(&node[AT_INITIATOR]->cache[cpu->id].admitted, 1);
		cache_count(&node[AT_LUN]->cache[cpu->id].admitted, 1);
	}
	/* Read after the tag was taken: it came home before the mode could change. */
	to = atomic_load_explicit(&cpu->to, memory_order_relaxed);
	if (unlikely(to != cpu->id)) {
		req_send(req, to);
		return BRIDGE_PENDING;
	}
	slot_run(slot, req);
	admit_begin();
	if (req_start(req) == DISK_DONE) {
		verdict = BRIDGE_DONE;
		if (unlikely(!req_release(cpu, req, slot, true)))
			stray();
	}
	/* Also when it is pending: the disk may have finished others from within submit. */
	admit_end();
	return verdict;
}

/* Its disk was asked on the spot, and had no room. */
static enum bridge_verdict
req_refused(struct bridge_cpu *cpu, struct bridge_req *req, bool may_wait)
{
	bool again;

	if (!may_wait)
		return BRIDGE_WOULD_WAIT;
	admit_begin();
	again = back_again(cpu->host, cpu, req);
	admit_end();
	return again ? BRIDGE_PENDING : BRIDGE_DONE;
}

/*
 * It has to wait. What this reactor keeps is given back first: others would not
 * let it pass while a credit of its own lies here.
 */
static enum bridge_verdict
req_wait(struct bridge_cpu *cpu, struct bridge_req *req, struct bridge_node *const node[LEVELS],
    bool undone)
{
	struct bridge_flow *f = req->flow;
	uint32_t max = atomic_load_explicit(&cpu->host->max_waiters, memory_order_relaxed);
	uint32_t before = atomic_fetch_add_explicit(&f->initiator->waiters, 1,
	    memory_order_relaxed);

	if (max && before >= max) {
		atomic_fetch_sub_explicit(&f->initiator->waiters, 1, memory_order_relaxed);
		return BRIDGE_FULL;
	}
	for (int i = 0; i < LEVELS && !BUG(2); i++)
		undone |= cache_flush(cpu, &node[i]->cache[cpu->id]);
	req->state = REQ_WAITING;
	req->slot = UINT32_MAX;
	/* One look at the clock for all that wait at the end of this turn. */
	if (!cpu->wait_ns)
		cpu->wait_ns = now_ns();
	req->wait_ns = cpu->wait_ns;
	f->sent++;
	inbox_add(cpu, &req->op, undone && !BUG(10) ? OP_ADMIT_TOUCH : OP_ADMIT);
	return BRIDGE_PENDING;
}

static enum bridge_verdict
submit(struct bridge_req *req, bool may_wait)
{
	struct bridge_flow *f = req->flow;
	struct bridge_cpu *cpu = f->cpu;
	enum bridge_verdict verdict = BRIDGE_WOULD_WAIT;
	struct bridge_node *node[LEVELS];
	struct slot *slot = NULL;
	bool undone = false;

	OWNED_BY(f->home);
	req->io.disk = f->disk;
	req->io.who = f->who;
	req->merge = NULL;
	req->refused_ns = 0;
	req->alone = req->unwanted = false;
	if (unlikely(!f->disk->online)) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	for (int i = 0; i < LEVELS; i++)
		node[i] = flow_node(f, i);
	if (likely(may_take(f, node, may_wait)))
		slot = credits_take(cpu, node, &undone);
	/* Between the two the mode may have changed. */
	if (unlikely(slot && !may_wait && !cpu_submits(cpu))) {
		slot_release(cpu, slot, node);
		return BRIDGE_WOULD_WAIT;
	}
	if (likely(slot)) {
		verdict = req_admit(cpu, req, slot, node);
		if (unlikely(verdict == BRIDGE_DONE && req->io.result == -EAGAIN))
			return req_refused(cpu, req, may_wait);
		return verdict;
	}
	admit_begin();
	if (may_wait)
		verdict = req_wait(cpu, req, node, undone);
	/* Giving back is a release, also here. */
	if (verdict != BRIDGE_PENDING && undone && !BUG(10) && gate_shut(f->host, node))
		cpu->kick = true;
	admit_end();
	return verdict;
}

enum bridge_verdict
bridge_submit(struct bridge_req *req)
{
	return submit(req, true);
}

enum bridge_verdict
bridge_try(struct bridge_req *req)
{
	return submit(req, false);
}

enum bridge_verdict
bridge_urgent(struct bridge_req *req)
{
	struct bridge_flow *f = req->flow;
	struct bridge_node *node[LEVELS] = { [AT_LUN] = flow_node(f, AT_LUN) };
	struct slot *slot;

	OWNED_BY(f->home);
	req->io.disk = f->disk;
	req->io.who = f->who;
	req->merge = NULL;
	/* For so long that it comes back as it is. */
	req->refused_ns = 1;
	req->alone = req->unwanted = false;
	if (!f->disk->online) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	slot = tags_get_reserved(&f->host->slots);
	if (!slot)
		return BRIDGE_WOULD_WAIT;
	return req_admit(f->cpu, req, slot, node);
}

enum bridge_cancel
bridge_cancel(struct bridge_req *req)
{
	struct bridge_cpu *cpu = req->flow->cpu;
	struct bridge_host *h = cpu->host;
	enum bridge_cancel answer = BRIDGE_RUNNING;

	OWNED_BY(req->flow->home);
	admit_begin();
	inbox_push(cpu);
	lock_take(&h->lock);
	/* With the inbox empty it is in its flow's queue, or has its slot. */
	inbox_run(cpu);
	if (req->state == REQ_WAITING) {
		if (req->merge)
			back_unmerge(req);
		wait_del(req);
		req->state = REQ_IDLE;
		answer = BRIDGE_CANCELLED;
		/* Its place in line may have been the one that others stood behind. */
		if (!wait_settle(cpu, &bridge_grants))
			cpu->kick = true;
	} else {
		req->unwanted = true;
		if (req->state == REQ_RUNNING)
			slot_abort(slot_of(&h->slots, req), req);
	}
	lock_drop(&h->lock);
	inbox_combine(cpu);
	admit_end();
	return answer;
}

/* -- from the disk -- */

/* On a thread without caches: all of it goes to the inbox, and a reactor is told. */
static void
done_elsewhere(struct bridge_host *h, struct bridge_req *req, struct slot *slot)
{
	bool reserved = slot_is_reserved(&h->slots, slot);

	if (!slot_leave(slot, req, reserved ? SLOT_FREE : SLOT_BACK)) {
		stray();
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
		stray();
		return;
	}
	if (unlikely(!cpu)) {
		done_elsewhere(h, req, slot);
		return;
	}
	admit_begin();
	mine = req_release(cpu, req, slot, false);
	again = mine && back_is_special(req) && back_again(h, cpu, req);
	admit_end();
	if (unlikely(!mine))
		stray();
	else if (unlikely(again))
		return;
	else if (inside || req->flow->cpu != cpu)
		req_post(req);
	else
		req->done(req);
}
