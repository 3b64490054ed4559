/* Operations of all reactors on one adapter, run by whoever gets the lock; nobody waits for it. */
#include "inbox.h"

#include "back.h"
#include "conf.h"
#include "flow.h"
#include "lun.h"
#include "wait.h"

/* So often a reactor looks again for others before it goes on with its own. */
enum { COMBINE_ROUNDS = 4 };

void
inbox_add(struct bridge_cpu *cpu, struct bridge_op *op, enum bridge_op_kind kind)
{
	op->kind = (uint8_t)kind;
	op->next = cpu->chain;
	if (!cpu->chain)
		cpu->chain_end = op;
	cpu->chain = op;
	if (++cpu->nchain < CHAIN_MAX)
		return;
	inbox_push(cpu);
	inbox_combine(cpu);
}

/* The inbox stands newest first, as the chains do. seq_cst: before the lock is tried. */
static void
push(struct bridge_host *h, struct bridge_op *newest, struct bridge_op *oldest)
{
	struct bridge_op *head = atomic_load_explicit(&h->inbox, memory_order_relaxed);

	do
		oldest->next = head;
	while (!atomic_compare_exchange_weak(&h->inbox, &head, newest));
}

void
inbox_push(struct bridge_cpu *cpu)
{
	if (!cpu->nchain)
		return;
	push(cpu->host, cpu->chain, cpu->chain_end);
	cpu->chain = NULL;
	cpu->nchain = 0;
	cpu->wait_ns = 0;
	YIELD_POINT();
}

void
inbox_push_one(struct bridge_host *h, struct bridge_op *op, enum bridge_op_kind kind)
{
	op->kind = (uint8_t)kind;
	push(h, op, op);
}

void
inbox_recheck(struct bridge_host *h)
{
	atomic_store(&h->recheck, true);
}

static bool
inbox_any(struct bridge_host *h)
{
	return atomic_load(&h->inbox) || atomic_load(&h->recheck) || atomic_load(&h->rang);
}

static struct bridge_op *
oldest_first(struct bridge_op *op)
{
	struct bridge_op *fifo = NULL, *next;

	for (; op; op = next) {
		next = op->next;
		op->next = fifo;
		fifo = op;
	}
	return fifo;
}

/* The disk had no room. Who was cancelled meanwhile takes nobody along any more. */
static void
refused(struct bridge_req *req)
{
	lun_full(flow_node(req->flow, AT_LUN), now_ns());
	back_part(req);
	back_queue(req);
}

static void
op_run(struct bridge_host *h, struct bridge_op *op)
{
	struct bridge_req *req = container_of(op, struct bridge_req, op);

	switch ((enum bridge_op_kind)op->kind) {
	case OP_ADMIT:
	case OP_ADMIT_TOUCH:
		wait_add(req->flow, req);
		/* It held credits for a moment, which others may have missed. */
		if (op->kind == OP_ADMIT_TOUCH)
			wait_touch_flow(req->flow);
		break;
	case OP_RELEASE:
		wait_release(h, container_of(op, struct slot, op));
		break;
	case OP_AGAIN:
		refused(req);
		break;
	case OP_ALONE:
		back_queue(req);
		break;
	case OP_TOOK:
		lun_told(container_of(op, struct credit_cache, op));
		break;
	}
}

void
inbox_run(struct bridge_cpu *cpu)
{
	struct bridge_host *h = cpu->host;
	struct bridge_op *op = oldest_first(atomic_exchange(&h->inbox, NULL)), *next;
	unsigned n = 0;

	if (!bridge_grants.run.next)
		list_init(&bridge_grants.run);
	for (; op; op = next, n++) {
		next = op->next;
		op_run(h, op);
	}
	alarms_run(h);
	if (atomic_load(&h->recheck) && atomic_exchange(&h->recheck, false))
		wait_touch_all(h);
	cache_count(&cpu->combines, 1);
	cache_count(&cpu->ops, n);
	/* More could run, but this reactor has done its share of the turn. */
	if (!wait_settle(cpu, &bridge_grants))
		cpu->kick = true;
}

void
inbox_combine(struct bridge_cpu *cpu)
{
	struct bridge_host *h = cpu->host;

	if (!atomic_load_explicit(&cpu->combines_here, memory_order_relaxed)) {
		if (inbox_any(h))
			inbox_kick(h);
		return;
	}
	/* Look again after unlocking: who pushed meanwhile has failed to get the lock. */
	for (int i = 0; inbox_any(h) && lock_try(&h->lock); i++) {
		inbox_run(cpu);
		YIELD_POINT();
		lock_drop(&h->lock);
		if (BUG(4))
			break;
		/* What it let go waits for this to end: the rest in its next poll, which is soon. */
		if (i == COMBINE_ROUNDS || bridge_grants.left == 0) {
			cpu->kick = true;
			break;
		}
	}
}

void
inbox_kick(struct bridge_host *h)
{
	const struct bridge_cpu *cpu = host_cpu(h);
	bool here = cpu && atomic_load_explicit(&cpu->combines_here, memory_order_relaxed);

	if (!atomic_exchange(&h->kicked, true))
		reactor_post(reactor_get(here ? cpu->id : 0), &h->kick);
}

void
host_unlock(struct bridge_host *h, bool changed)
{
	if (changed)
		inbox_recheck(h);
	lock_drop(&h->lock);
	if (inbox_any(h))
		inbox_kick(h);
}
