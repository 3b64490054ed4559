/* The request limit of a channel: how many requests its initiator may send (T10 SRP r16a). */
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
 * `limit` is what total should be. It shrinks as requests end, grows at once, and is
 * at least 2: one is for task management.
 */
struct credit {
	uint32_t limit, total;
	uint32_t req_lim, busy, pending;
};

void srp_credit_init(struct credit *, uint32_t limit);	/* req_lim: what the login response grants */
bool srp_credit_take(struct credit *);	/* a request came; false: it was not granted */
void srp_credit_back(struct credit *);	/* it ended: its credit can go out again, or goes away */
uint32_t srp_credit_give(struct credit *);	/* REQUEST LIMIT DELTA of an IU that is sent now */
void srp_credit_resize(struct credit *, uint32_t limit);
bool srp_credit_ok(const struct credit *);
/*
 * Must credits go out by themselves? The initiator keeps one for task
 * management, so with one left it sends nothing; and what is busy may be for long.
 */
bool srp_credit_stuck(const struct credit *);

#endif
