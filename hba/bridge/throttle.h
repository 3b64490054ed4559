/* Rates of an initiator: how many requests and bytes a second, and what may be saved up of them. */
#ifndef THROTTLE_H
#define THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One rate, kept as a time: up to paid_ns everything sent so far is paid for.
 * Later than now: it must wait until then. Earlier: the difference is saved up.
 */
struct rate {
	uint64_t per_second;		/* 0: no limit */
	uint64_t paid_ns;
	uint64_t rest;			/* what the division left, in units * 1e9 */
};

/* All sessions of an initiator share one. Zeroed: no limits. Under the lock of whoever owns it. */
struct throttle {
	struct rate requests, bytes;
	uint64_t burst_ns;
};

/*
 * The same rates again change nothing, so that a login gives nobody a new burst;
 * at other rates as many requests and bytes are owed as before.
 */
void throttle_set(struct throttle *, uint64_t requests, uint64_t bytes, uint64_t burst_ns,
    uint64_t now);

static inline bool
throttle_is_set(const struct throttle *t)
{
	return t->requests.per_second || t->bytes.per_second;
}

/*
 * Pays for something that is sent now. A command is never cut: it may be sent
 * as soon as throttle_due has passed, and what it costs beyond what was there
 * the next one waits for.
 */
void throttle_charge(struct throttle *, uint64_t requests, uint64_t bytes, uint64_t now);

/* The time from which the next one may be sent; 0: always. */
uint64_t throttle_due(const struct throttle *);

#endif
