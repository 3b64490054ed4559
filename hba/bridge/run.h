/* A request that has its slot: to the disk and back. */
#ifndef RUN_H
#define RUN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cache.h"
#include "host.h"
#include "node.h"
#include "wait.h"

/* Requests let go in their turn, in one go; the rest is left to a later turn of the loop. */
enum { HANDOFF_MAX = 64 };

/*
 * Around every combining: how many may be let go; then they are submitted. While
 * a disk's submit is on the stack that is left to the outer loop.
 */
static inline void
run_begin(void)
{
	if (!bridge_grants.inside)
		bridge_grants.left = HANDOFF_MAX;
}

void run_all(void);

static inline void
run_end(void)
{
	const struct list *run = &bridge_grants.run;

	/* Not yet a list on a thread that never had the lock. */
	if (unlikely(run->next != run && run->next) && !bridge_grants.inside)
		run_all();
}

/* May this thread still let somebody go? */
static inline bool
run_more(void)
{
	return bridge_grants.left > 0;
}

void run_kicked(struct msg *);

/* seq_cst: after credits were given back this must not look earlier than that. */
static inline bool
gate_shut(const struct bridge_host *h, struct credit_cache *const own[LEVELS])
{
	if (likely(!atomic_load(&h->gates)))
		return false;
	for (int i = 0; i < LEVELS; i++)
		if (atomic_load(&own[i]->node->gate))
			return true;
	return false;
}

/* The credits of the first n nodes go back to where they came from; the slot's go too, and its tag. */
void credits_put(struct bridge_cpu *, struct credit_cache *const own[LEVELS], int n);
void slot_release(struct bridge_cpu *, struct slot *, struct credit_cache *const own[LEVELS]);

/* To its disk, here. The slot's word says already that it is in flight. */
enum disk_result req_start(struct bridge_req *);
/*
 * The disk is finished with a request: its slot goes to the next one, or back.
 * False: it had been finished before. Runs no callback. inline_done: its submit
 * has just said so, and nobody else has seen it.
 */
bool req_release(struct bridge_cpu *, struct bridge_req *, struct slot *, bool inline_done);
/* To its disk on another reactor. */
void req_send(struct bridge_req *, unsigned to);
/* A completion that came twice or too late. */
void req_stray(void);

#endif
