/* How often one place may log about one peer. */
#ifndef LOG_LIMIT_H
#define LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOG_BURST = 5,			/* lines a second of one place about one peer */
	LOG_BURST_ALL = 100,		/* and of all: a peer may change its name */
	LOG_SETS = 64,
	LOG_WAYS = 4,
};

struct log_bucket {
	uint64_t key;
	uint64_t second;		/* start of the running second, ns */
	uint32_t lines;			/* in it */
	uint32_t held;			/* since the last line let through */
};

struct log_limit {
	struct log_bucket bucket[LOG_SETS][LOG_WAYS];
	struct log_bucket all;
};

/* May this line go out at this time? held: how many like it did not. Not thread-safe. */
bool log_limit_pass(struct log_limit *, const char *place, const char *peer, uint64_t now_ns,
    uint32_t *held);

#endif
