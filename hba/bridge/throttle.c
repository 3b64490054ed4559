/* Rates of an initiator, as the time up to which it has paid. */
#include "throttle.h"

#include "util.h"

enum { SECOND = 1000000000 };

/* So late that it never comes, and far enough from the end that nothing wraps. */
static const uint64_t never = UINT64_MAX / 2;

/* What is owed, at another rate: as much, and not as long. */
static uint64_t
owed_ns(const struct rate *r, uint64_t per_second, uint64_t now)
{
	unsigned __int128 ns =
	    (unsigned __int128)(r->paid_ns - now) * r->per_second / per_second;

	return ns < never - now ? (uint64_t)ns : never - now;
}

static void
rate_set(struct rate *r, uint64_t per_second, uint64_t now)
{
	per_second = MIN(per_second, never);
	if (r->per_second == per_second)
		return;
	if (r->per_second == 0 || per_second == 0)
		r->paid_ns = 0;
	else if (r->paid_ns > now)
		r->paid_ns = now + owed_ns(r, per_second, now);
	r->per_second = per_second;
	r->rest = 0;
}

void
throttle_set(struct throttle *t, uint64_t requests, uint64_t bytes, uint64_t burst_ns,
    uint64_t now)
{
	rate_set(&t->requests, requests, now);
	rate_set(&t->bytes, bytes, now);
	t->burst_ns = burst_ns;
}

static void
rate_charge(struct rate *r, uint64_t n, uint64_t burst_ns, uint64_t now)
{
	uint64_t saved = now > burst_ns ? now - burst_ns : 0, cost;

	if (r->per_second == 0)
		return;
	if (r->paid_ns < saved) {
		r->paid_ns = saved;
		r->rest = 0;
	}
	/* Neither the product nor the sum wraps: both parts are below 2^63. */
	cost = MIN(n, never / SECOND) * SECOND + r->rest;
	r->rest = cost % r->per_second;
	cost /= r->per_second;
	r->paid_ns = cost < never - MIN(r->paid_ns, never) ? r->paid_ns + cost : never;
}

void
throttle_charge(struct throttle *t, uint64_t requests, uint64_t bytes, uint64_t now)
{
	rate_charge(&t->requests, requests, t->burst_ns, now);
	rate_charge(&t->bytes, bytes, t->burst_ns, now);
}

uint64_t
throttle_due(const struct throttle *t)
{
	return MAX(t->requests.per_second ? t->requests.paid_ns : 0,
	    t->bytes.per_second ? t->bytes.paid_ns : 0);
}
