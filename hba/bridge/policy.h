/* How an adapter orders, merges and charges what waits for it. */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"

struct conf_adapter;

enum { COST_UNIT = 64 * 1024 };		/* `cost: length`: bytes that cost as much as one command */

/* Under the host's lock. */
struct policy {
	bool coalesce;
	bool by_length;
	uint64_t max_xfer;		/* bytes of a merged command */
	/* What a dent gets for each unit of weight: no less than one command costs. */
	int32_t turn;
};

/*
 * scheduler, coalesce, max_xfer and cost as configured, at once, for who waits
 * already too. 0, or -ENOMEM: as it was. Not on a reactor.
 */
int policy_set(struct bridge_host *, const struct conf_adapter *);

/* What a command of so many bytes costs its initiator's turn. */
int32_t policy_cost(const struct policy *, uint64_t bytes);

#endif
