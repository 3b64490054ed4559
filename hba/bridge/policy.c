/* How an adapter orders, merges and charges what waits for it. */
#include "policy.h"

#include "buf.h"
#include "conf.h"
#include "host.h"

enum { COST_MAX = 1 + BUF_XFER_MAX / COST_UNIT };

int
policy_set(struct bridge_host *h, const struct conf_adapter *conf)
{
	bool sorted = conf->scheduler == SCHEDULER_DEADLINE;
	bool coalesce = conf->coalesce || sorted;
	struct policy policy = {
		.coalesce = coalesce,
		.by_length = conf->cost == COST_LENGTH,
		.max_xfer = MIN(conf->max_xfer, (uint64_t)BUF_XFER_MAX),
		/* Whose turn it is sends a batch, so that the disk gets runs. */
		.turn = conf->cost == COST_LENGTH ? COST_MAX : sorted ? ORDER_BATCH : 1,
	};
	int err = coalesce && !h->merges.all ? merge_pool_init(&h->merges, h->slots.count) : 0;

	if (err)
		return err;
	host_lock(h);
	h->policy = policy;
	for (int i = 0; i < h->nluns; i++)
		h->luns[i]->sweep.on = sorted;
	host_unlock(h, false);
	return 0;
}

int32_t
policy_cost(const struct policy *p, uint64_t bytes)
{
	return p->by_length ? 1 + (int32_t)(MIN(bytes, (uint64_t)BUF_XFER_MAX) / COST_UNIT) : 1;
}
