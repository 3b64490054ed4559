/* What the device server asks for: a slot now, or in its turn. */
#include "run.h"

#include <assert.h>
#include <errno.h>

#include "back.h"
#include "flow.h"
#include "inbox.h"
#include "wait.h"

/* One credit at each node and a tag. NULL: not all; undone: some were held for a moment. */
static inline struct slot *
credits_take(struct bridge_cpu *cpu, struct credit_cache *const own[LEVELS], bool *undone)
{
	struct slot *slot = NULL;
	int n;

	EACH_LEVEL
	for (n = 0; n < AT_HOST; n++) {
		if (unlikely(!cache_take(cpu, own[n])))
			break;
		YIELD_POINT();
	}
	if (likely(n == AT_HOST))
		slot = cache_take_tag(cpu, own[AT_HOST], &cpu->host->slots);
	if (likely(slot))
		return slot;
	YIELD_POINT();
	credits_put(cpu, own, n);
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
may_take(const struct bridge_flow *f, struct credit_cache *const own[LEVELS], bool may_wait)
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
	return !gate_shut(cpu->host, own);
}

/* It has its slot: to the disk, here or where the hardware queue is. */
static inline enum bridge_verdict
req_admit(struct bridge_cpu *cpu, struct bridge_req *req, struct slot *slot)
{
	enum bridge_verdict verdict = BRIDGE_PENDING;
	unsigned to;

	req->state = REQ_RUNNING;
	/* Read after the tag was taken: it came home before the mode could change. */
	to = atomic_load_explicit(&cpu->to, memory_order_relaxed);
	if (unlikely(to != cpu->id)) {
		req_send(req, to);
		return BRIDGE_PENDING;
	}
	slot_run(slot, req);
	run_begin();
	if (req_start(req) == DISK_DONE) {
		verdict = BRIDGE_DONE;
		if (unlikely(!req_release(cpu, req, slot, true)))
			req_stray();
	}
	/* Also when it is pending: the disk may have finished others from within submit. */
	run_end();
	return verdict;
}

static inline void
slot_take(struct slot *slot, struct bridge_req *req, struct credit_cache *const own[LEVELS])
{
	struct bridge_node *node[LEVELS];

	EACH_LEVEL
	for (int i = 0; i < LEVELS; i++)
		node[i] = own[i]->node;
	slot_hold(slot, req, node);
	cache_count(&own[AT_INITIATOR]->admitted, 1);
	cache_count(&own[AT_LUN]->admitted, 1);
}

/* Its disk was asked on the spot, and had no room. */
static enum bridge_verdict
req_refused(struct bridge_cpu *cpu, struct bridge_req *req, bool may_wait)
{
	bool again;

	if (!may_wait)
		return BRIDGE_WOULD_WAIT;
	run_begin();
	again = back_again(cpu->host, cpu, req);
	run_end();
	return again ? BRIDGE_PENDING : BRIDGE_DONE;
}

/*
 * It has to wait. What this reactor keeps is given back first: others would not
 * let it pass while a credit of its own lies here.
 */
static enum bridge_verdict
req_wait(struct bridge_cpu *cpu, struct bridge_req *req, struct credit_cache *const own[LEVELS],
    bool undone)
{
	struct bridge_flow *f = req->flow;
	uint32_t max = atomic_load_explicit(&cpu->host->max_waiters, memory_order_relaxed);
	uint32_t before = atomic_fetch_add_explicit(&f->initiator->came, 1, memory_order_relaxed);

	if (max && before - atomic_load_explicit(&f->initiator->gone, memory_order_relaxed) >= max) {
		atomic_fetch_sub_explicit(&f->initiator->came, 1, memory_order_relaxed);
		return BRIDGE_FULL;
	}
	for (int i = 0; i < LEVELS && !BUG(2); i++)
		undone |= cache_flush(cpu, own[i]);
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
	struct credit_cache *own[LEVELS];
	struct slot *slot = NULL;
	bool undone = false;

	assert(bridge_reactor == cpu->id + 1);
	req->io.disk = f->disk;
	req->io.who = f->who;
	req->merge = NULL;
	req->refused_ns = 0;
	req->alone = req->unwanted = false;
	if (unlikely(!f->disk->online)) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	EACH_LEVEL
	for (int i = 0; i < LEVELS; i++)
		own[i] = flow_own(f, i);
	if (likely(may_take(f, own, may_wait)))
		slot = credits_take(cpu, own, &undone);
	/* Between the two the mode may have changed. */
	if (unlikely(slot && !may_wait && !cpu_submits(cpu))) {
		slot_release(cpu, slot, own);
		return BRIDGE_WOULD_WAIT;
	}
	if (likely(slot)) {
		slot_take(slot, req, own);
		verdict = req_admit(cpu, req, slot);
		if (unlikely(verdict == BRIDGE_DONE && req->io.result == -EAGAIN))
			return req_refused(cpu, req, may_wait);
		return verdict;
	}
	run_begin();
	if (may_wait)
		verdict = req_wait(cpu, req, own, undone);
	/* Giving back is a release, also here. */
	if (verdict != BRIDGE_PENDING && undone && !BUG(10) && gate_shut(cpu->host, own))
		cpu->kick = true;
	run_end();
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
	struct bridge_node *node[LEVELS] = { [AT_LUN] = flow_own(f, AT_LUN)->node };
	struct slot *slot;

	assert(bridge_reactor == f->cpu->id + 1);
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
	slot_hold(slot, req, node);
	return req_admit(f->cpu, req, slot);
}

enum bridge_cancel
bridge_cancel(struct bridge_req *req)
{
	struct bridge_cpu *cpu = req->flow->cpu;
	struct bridge_host *h = cpu->host;
	enum bridge_cancel answer = BRIDGE_RUNNING;

	assert(bridge_reactor == cpu->id + 1);
	run_begin();
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
	run_end();
	return answer;
}
