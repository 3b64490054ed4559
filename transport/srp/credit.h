/* The request limit of a channel (T10 SRP r16a 4.6): how many requests its initiator may send. */
#ifndef SRP_CREDIT_H
#define SRP_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Every credit is in one of three places:
 *
 *	total = req_lim (the initiator may still send)
 *	      + busy    (a request of it is here)
 *	      + pending (goes out with the next IU)
 *
 * `limit` is what total should be. It shrinks as requests end, and grows at once.
 */
struct credit {
	uint32_t limit, total;
	uint32_t req_lim, busy, pending;
};

void credit_init(struct credit *, uint32_t limit);	/* req_lim: what the login response grants */
bool credit_take(struct credit *);	/* a request came; false: it was not granted */
void credit_back(struct credit *);	/* it ended: its credit can go out again, or goes away */
uint32_t credit_give(struct credit *);	/* REQUEST LIMIT DELTA of an IU that is sent now */
void credit_resize(struct credit *, uint32_t limit);
bool credit_ok(const struct credit *);
/*
 * Must credits go out although no response will carry them? The initiator
 * keeps one for task management, so with one left it sends nothing.
 */
bool credit_stuck(const struct credit *);

#endif
