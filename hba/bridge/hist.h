/* How long requests waited: counts in buckets that grow with the wait, in fixed memory. */
#ifndef HIST_H
#define HIST_H

#include <stdint.h>

/*
 * Waits count in units of 256 ns; each power of two of them has four buckets;
 * above 18 minutes all are one.
 */
enum { HIST_SHIFT = 8, HIST_BUCKETS = 124 };

/* Zeroed: empty. Under the lock of whoever owns it. */
struct hist {
	uint64_t n, max_ns;
	uint64_t count[HIST_BUCKETS];
};

void hist_add(struct hist *, uint64_t ns);
/* Adds all of another one. */
void hist_merge(struct hist *, const struct hist *);
/*
 * The wait that `permille` of all waits do not exceed, at most a quarter too
 * long, and never above the longest one. 0: nobody waited.
 */
uint64_t hist_quantile(const struct hist *, unsigned permille);

#endif
