/* How deep a LUN may be used now: less than configured while its disk is full or slow. */
#ifndef DEPTH_H
#define DEPTH_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* A LUN that was cut back gets one more command each such time without TASK SET FULL. */
	DEPTH_RAMP_NS = 100 * 1000 * 1000,
	/* Latency is judged over so long at least, twice the target if that is longer, */
	DEPTH_WINDOW_NS = 10 * 1000 * 1000,
	/* and over so many commands. */
	DEPTH_SAMPLES = 8,
};

/*
 * Under the lock of whoever owns it. limit is what counts; each call below that
 * may change it returns true if it did.
 */
struct depth {
	uint32_t configured;
	uint32_t limit;			/* 1 to configured */
	uint64_t full_ns;		/* the last TASK SET FULL, or growth after one */
	uint64_t target_ns;		/* mean latency wanted; 0: any */
	uint64_t window_ns;		/* when the present window began; 0: with the next sample */
	uint64_t sum_ns, samples;	/* of this window */
};

void depth_init(struct depth *, uint32_t configured, uint64_t target_ns);
/*
 * The administrator's word: it holds from now on, and what was learned under
 * the old one is forgotten.
 */
bool depth_configure(struct depth *, uint32_t configured, uint64_t target_ns);

/* The disk answered TASK SET FULL or BUSY while it had so many commands, this one included. */
bool depth_full(struct depth *, uint32_t in_flight, uint64_t now);

/* When depth_grow should be called; UINT64_MAX: not needed. */
uint64_t depth_due(const struct depth *);
/*
 * After a time without TASK SET FULL; late calls catch up. With a target only
 * depth_sample grows.
 */
bool depth_grow(struct depth *, uint64_t now);

/*
 * Commands came back: n of them, which took sum_ns at the disk. Over the
 * target: a quarter less; at or below it: one more, but for
 * DEPTH_RAMP_NS after a TASK SET FULL.
 */
bool depth_sample(struct depth *, uint64_t sum_ns, uint64_t n, uint64_t now);

#endif
