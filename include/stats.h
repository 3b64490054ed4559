/* Counters that every thread adds to its own copy of, and one reader sums. */
#ifndef STATS_H
#define STATS_H

#include <stdint.h>

#include "registry.h"

/*
 * COUNTER(logins, "iscsi_logins", "sessions that reached full feature phase")
 * at file level; counter_add(&logins, 1) on any thread of the daemon. Ids are
 * given at start. Each thread has its own array, so an add is one plain add.
 */
struct counter {
	const char *name;		/* lower case, words joined by _ */
	const char *help;
	uint32_t *id;
};
REGISTRY(counters, struct counter);

#define COUNTER(var, text, what)                                                    \
	static uint32_t var##_id;                                                   \
	static const struct counter var = { text, what, &var##_id };                \
	REGISTER(counters, struct counter, &var)

enum { COUNTERS_MAX = 256 };
extern __thread uint64_t *stats_self;	/* this thread's array; a shared dummy outside the daemon's threads */

static inline void
counter_add(const struct counter *c, uint64_t n)
{
	uint64_t *at = &stats_self[*c->id];

	/* The owner alone writes; the reader must not see half a number. */
	__atomic_store_n(at, *at + n, __ATOMIC_RELAXED);
}

void stats_init(void);			/* gives ids; before threads */
void stats_thread_init(unsigned slot);	/* on each thread: reactor id, main: REACTORS_MAX */
uint64_t counter_read(const struct counter *);	/* any thread; sum */

#endif
