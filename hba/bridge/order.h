/* The requests of one flow that wait, and which of them is next. */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "list.h"
#include "tree.h"

enum {
	/* Commands of one direction in a row, while there are some ahead of the sweep. */
	ORDER_BATCH = 16,
	/* Batches of reads that may go first while writes wait. */
	ORDER_READS_FIRST = 2,
	/* So many are looked at and sorted, each time that one is taken. */
	ORDER_SORT = 32,
	/* Who waits longer comes first when the next batch begins. */
	ORDER_READ_NS = 50 * 1000 * 1000,
	ORDER_WRITE_NS = 500 * 1000 * 1000,
};

/*
 * Where the disk is in its sweep over the addresses, always upwards. One for
 * each LUN: all its flows follow it, in the turns that deficit round robin
 * gives them. Zeroed: in order of arrival.
 */
struct sweep {
	bool on;			/* scheduler: deadline */
	uint64_t at;			/* bytes; behind the last request sent */
};

/*
 * All under the host's lock. No allocation: the links are in the requests. What
 * may overtake what: READ and WRITE may overtake each other (the device server
 * says "unrestricted reordering" in its control mode page). Any other request is
 * a barrier: it starts after all that came before it and before all that come after it.
 */
struct order {
	uint32_t count;
	uint8_t batch;			/* sent of the present batch, */
	uint8_t op;			/* which is of this direction */
	uint8_t reads_first;		/* batches of reads, while writes waited */
	struct list again;		/* the disk had and did not do them: before all others */
	struct list line;		/* as they came; after all that are sorted */
	struct sorted {			/* by op: READ, WRITE */
		struct tree tree;
		struct list oldest;	/* the same, as they came */
	} sorted[2];
};

void order_init(struct order *);
void order_add(struct order *, struct bridge_req *);
/* The disk had no room for it, or did not do it in company: it is the next. */
void order_add_again(struct order *, struct bridge_req *);
void order_del(struct order *, struct bridge_req *);
/* Takes out the next one; there is one. wait_ns of each must be set. */
struct bridge_req *order_take(struct order *, struct sweep *, uint64_t now);

static inline bool
order_empty(const struct order *o)
{
	return o->count == 0;
}

/* READ and WRITE: what may be sorted and merged. */
static inline bool
order_is_transfer(const struct bridge_req *req)
{
	return req->io.op == DISK_READ || req->io.op == DISK_WRITE;
}

/* Every request of it, for checks: NULL begins and ends. In no order that means anything. */
struct bridge_req *order_next(const struct order *, const struct bridge_req *);

#endif
