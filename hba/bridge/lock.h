/* The host's lock: one word, so that who looks after dropping it misses nothing. */
#ifndef LOCK_H
#define LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * All accesses seq_cst: "drop the lock, then look into the inbox" stands against
 * "push to the inbox, then try the lock" (docs/THREADS.md). Nothing on the path
 * of a request waits for it but bridge_cancel.
 */
static inline bool
lock_try(atomic_uint *lock)
{
	return !atomic_load(lock) && !atomic_exchange(lock, 1);
}

static inline void
lock_take(atomic_uint *lock)
{
	for (unsigned i = 1; !lock_try(lock); i++)
		/* The holder may be waiting for this very processor. */
		if (i % 64 == 0)
			sched_yield();
}

static inline void
lock_drop(atomic_uint *lock)
{
	atomic_store(lock, 0);
}

#endif
