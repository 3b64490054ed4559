/* Neighbours that ride in one adapter command. */
#ifndef MERGE_H
#define MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "bridge.h"
#include "list.h"
#include "order.h"
#include "util.h"

enum {
	MERGE_IOV = 256,		/* segments of one command */
	/* In order of arrival: so many in a row that are no neighbours end the look. */
	MERGE_LOOK = 8,
};

/*
 * One command with passengers. The leader is the request whose turn it was: it
 * has the slot, pays for the command, and lends it its io. The riders are of the
 * same flow; below and above hold them by address. Owned by the leader from
 * merge_gather to merge_end.
 */
struct merge {
	struct merge *next;		/* in the pool */
	struct list below, above;	/* riders, by link */
	uint64_t offset, len;		/* of all */
	int niov;
	uint32_t riders;
	struct {			/* the leader's own, while the command is built */
		uint64_t offset, len;
		struct iovec *iov;
		int niov;
	} own;
	struct iovec iov[MERGE_IOV];
};

/* Made when coalescing is switched on: nothing is allocated while requests run. */
struct merge_pool {
	struct merge *all;
	uint32_t n, fresh;		/* never used yet: from all[fresh] on; under the lock */
	struct merge *free;		/* under the host's lock */
	/* Given back by any reactor; taken over whole, under the lock. */
	OWN_LINE _Atomic(struct merge *) back;
};

int merge_pool_init(struct merge_pool *, uint32_t n);	/* 0 or -ENOMEM; zeroed: merges nothing */
void merge_pool_fini(struct merge_pool *);		/* asserts that none is out */

/*
 * Under the lock, for a request that order_take just gave: takes its neighbours
 * of the same direction and durability out of the queue, on both sides, as long
 * as all are at most max_xfer bytes. Sets leader->merge if there are any; also
 * returns how many.
 */
uint32_t merge_gather(struct merge_pool *, struct order *, struct bridge_req *leader,
    uint64_t max_xfer);

/* Bytes the request's command moves, and where it ends: with its riders, if it has any. */
static inline uint64_t
merge_len(const struct bridge_req *req)
{
	return req->merge ? req->merge->len : req->io.len;
}

static inline uint64_t
merge_end_of(const struct bridge_req *req)
{
	return req->merge ? req->merge->offset + req->merge->len : req->io.offset + req->io.len;
}

/* Was one of them cancelled at the disk? Under the lock, while the bridge has the leader. */
bool merge_is_unwanted(const struct bridge_req *leader);

/*
 * Before each submit of a leader: its io becomes that of the whole command. Any
 * thread that owns it.
 */
void merge_build(struct bridge_req *leader);

/*
 * After the command: the leader's io is its own again, riders are in `to`, an
 * empty list (by link, merge NULL), they have its result, and the merge is back in its pool.
 * Any thread that owns the leader.
 */
void merge_end(struct merge_pool *, struct bridge_req *leader, struct list *to);

#endif
