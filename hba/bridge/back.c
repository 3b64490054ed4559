/* Requests that their disk gave back without having done them, and those that rode along. */
#include "back.h"

#include <errno.h>

#include "flow.h"
#include "inbox.h"
#include "lun.h"
#include "stats.h"
#include "wait.h"

COUNTER(fulls, "bridge_disk_full", "commands that a disk had no room for, sent again");
COUNTER(splits, "bridge_splits", "merged commands that failed: each request was sent alone");

static void
req_home(struct msg *m)
{
	struct bridge_req *req = container_of(m, struct bridge_req, home);

	req->done(req);
}

void
req_post(struct bridge_req *req)
{
	req->home.fn = req_home;
	reactor_post(req->flow->home, &req->home);
}

static void
again_send(struct bridge_host *h, struct bridge_cpu *cpu, struct bridge_req *req,
    enum bridge_op_kind kind)
{
	if (cpu) {
		inbox_add(cpu, &req->op, kind);
		return;
	}
	inbox_push_one(h, &req->op, kind);
	inbox_kick(h);
}

/* TASK SET FULL, for a while. */
static bool
is_patient(struct bridge_req *req)
{
	uint64_t now = now_ns();

	if (!req->refused_ns)
		req->refused_ns = now;
	return now - req->refused_ns < lun_patience_ns;
}

static void
alone_again(struct bridge_host *h, struct bridge_cpu *cpu, struct bridge_req *req)
{
	req->alone = true;
	again_send(h, cpu, req, OP_ALONE);
}

bool
back_again(struct bridge_host *h, struct bridge_cpu *cpu, struct bridge_req *req)
{
	int result = req->io.result;
	struct bridge_req *rider;
	struct list riders;

	/* Still one command. */
	if (result == -EAGAIN && is_patient(req)) {
		counter_add(&fulls, 1);
		again_send(h, cpu, req, OP_AGAIN);
		return true;
	}
	if (!req->merge)
		return false;
	list_init(&riders);
	merge_end(&h->merges, req, &riders);
	while (!list_empty(&riders)) {
		rider = list_first(&riders, struct bridge_req, link);
		list_del(&rider->link);
		if (result == 0 || result == -EAGAIN)
			req_post(rider);
		else
			alone_again(h, cpu, rider);
	}
	if (result == 0 || result == -EAGAIN)
		return false;
	counter_add(&splits, 1);
	alone_again(h, cpu, req);
	return true;
}

void
back_queue(struct bridge_req *req)
{
	if (!req->unwanted) {
		wait_again(req->flow, req);
		return;
	}
	req->state = REQ_UNWANTED;
	list_add_tail(&bridge_grants.run, &req->link);
}

void
back_part(struct bridge_req *leader)
{
	if (unlikely(leader->merge != NULL) && merge_is_unwanted(leader))
		back_unmerge(leader);
}

void
back_unmerge(struct bridge_req *leader)
{
	struct list riders;

	list_init(&riders);
	merge_end(&leader->flow->host->merges, leader, &riders);
	while (!list_empty(&riders)) {
		struct bridge_req *rider = list_first(&riders, struct bridge_req, link);

		list_del(&rider->link);
		rider->refused_ns = leader->refused_ns;
		back_queue(rider);
	}
}
