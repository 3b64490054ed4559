/* Requests on their way to the disk and back; a freed slot goes straight to the next waiter. */
#include "admit.h"

#include <assert.h>
#include <errno.h>

#include "credit.h"
#include "stats.h"
#include "wait.h"

COUNTER(handoffs, "bridge_handoffs", "commands submitted by the reactor that freed their slot");
COUNTER(strays, "bridge_stray_completions", "completions that came twice or too late, dropped");

/* Slots given to waiters in one go; the rest is left to a later turn of the loop. */
enum { HANDOFF_MAX = 64 };

/*
 * Of this thread. Requests with a slot wait in `run` for the loop below; `inside`
 * says that a disk's submit is on the stack, so that a completion from within
 * does not call done, and grants made meanwhile are left to the outer loop.
 */
static __thread struct {
	struct list run;
	unsigned inside;
	unsigned share;			/* hand-offs left in this go */
} self;

static void
req_home(struct msg *m)
{
	struct bridge_req *req = container_of(m, struct bridge_req, home);

	req->done(req);
}

static void
req_post(struct bridge_req *req)
{
	req->home.fn = req_home;
	reactor_post(req->flow->home, &req->home);
}

static enum disk_result
req_start(struct bridge_req *req)
{
	enum disk_result result;

	self.inside++;
	result = req->io.disk->driver->submit(&req->io);
	self.inside--;
	return result;
}

void
admit_kick(struct bridge_host *h)
{
	struct reactor *to = reactor_self();

	if (h->kicked || h->node.waiting == 0)
		return;
	h->kicked = true;
	reactor_post(to ? to : h->kick_to, &h->kick);
}

/* Under the lock: after room appeared, the waiters whose turn it is get it. */
static void
settle(struct bridge_host *h)
{
	unsigned n;

	if (h->node.waiting == 0)
		return;
	if (!self.run.next)
		list_init(&self.run);
	n = wait_settle(h, &self.run, self.share);
	self.share -= n;
	if (self.share == 0)
		admit_kick(h);
}

/* The disk is finished with a request. False: it was already. Runs no callback. */
static bool
req_release(struct bridge_host *h, struct bridge_req *req)
{
	bool mine;

	host_lock(h);
	mine = credit_give(h, req);
	if (mine)
		settle(h);
	host_unlock(h);
	return mine;
}

/* Submits what settle has granted, until nothing is left; a request that is done at once makes room for the next. */
static void
hand_off(void)
{
	struct bridge_req *req;

	if (self.inside || !self.run.next)
		return;
	while (!list_empty(&self.run)) {
		req = list_first(&self.run, struct bridge_req, link);
		list_del(&req->link);
		counter_add(&handoffs, 1);
		if (req_start(req) == DISK_DONE) {
			req_release(req->flow->host, req);
			req_post(req);
		}
	}
}

static void
begin(void)
{
	if (!self.inside)
		self.share = HANDOFF_MAX;
}

/* Runs a request that has its slot, on its home reactor. */
static enum bridge_verdict
run_here(struct bridge_req *req)
{
	enum bridge_verdict verdict = BRIDGE_PENDING;

	begin();
	if (req_start(req) == DISK_DONE) {
		req_release(req->flow->host, req);
		verdict = BRIDGE_DONE;
	}
	/* Also when it is pending: the disk may have finished others from within submit. */
	hand_off();
	return verdict;
}

static enum bridge_verdict
submit(struct bridge_req *req, bool may_wait)
{
	struct bridge_flow *f = req->flow;
	struct bridge_host *h = f->host;
	enum bridge_verdict verdict;

	OWNED_BY(f->home);
	req->io.disk = f->disk;
	if (unlikely(!f->disk->online)) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	host_lock(h);
	if (likely(credit_open(f))) {
		credit_take(f, req);
		host_unlock(h);
		return run_here(req);
	}
	if (!may_wait)
		verdict = BRIDGE_WOULD_WAIT;
	else if (h->max_waiters && f->node[AT_INITIATOR]->waiting >= h->max_waiters)
		verdict = BRIDGE_FULL;
	else {
		req->state = REQ_WAITING;
		req->wait_ns = now_ns();
		h->kick_to = f->home;
		wait_add(f, req);
		verdict = BRIDGE_PENDING;
	}
	host_unlock(h);
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
	bool got;

	OWNED_BY(f->home);
	req->io.disk = f->disk;
	if (!f->disk->online) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	host_lock(f->host);
	got = slot_get_reserved(&f->host->slots, req);
	if (got)
		req->state = REQ_RUNNING;
	host_unlock(f->host);
	return got ? run_here(req) : BRIDGE_WOULD_WAIT;
}

enum bridge_cancel
bridge_cancel(struct bridge_req *req)
{
	struct bridge_host *h = req->flow->host;
	enum bridge_cancel answer = BRIDGE_RUNNING;

	OWNED_BY(req->flow->home);
	begin();
	host_lock(h);
	if (req->state == REQ_WAITING) {
		wait_del(req);
		req->state = REQ_IDLE;
		/* Its place in line may have been the one that others stood behind. */
		settle(h);
		answer = BRIDGE_CANCELLED;
	}
	host_unlock(h);
	hand_off();
	return answer;
}

void
disk_io_done(struct disk_io *io)
{
	struct bridge_req *req = container_of(io, struct bridge_req, io);

	begin();
	if (!req_release(io->disk->host, req)) {
		counter_add(&strays, 1);
		return;
	}
	hand_off();
	if (self.inside || req->flow->home != reactor_self())
		req_post(req);
	else
		req->done(req);
}

void
admit_kicked(struct msg *m)
{
	struct bridge_host *h = container_of(m, struct bridge_host, kick);

	begin();
	host_lock(h);
	h->kicked = false;
	settle(h);
	host_unlock(h);
	hand_off();
}
