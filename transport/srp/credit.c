/* The request limit of a channel: where each credit is. */
#include "credit.h"

#include <assert.h>

void
srp_credit_init(struct credit *c, uint32_t limit)
{
	*c = (struct credit){ .limit = limit, .total = limit, .req_lim = limit };
}

bool
srp_credit_ok(const struct credit *c)
{
	return c->total == c->req_lim + c->busy + c->pending;
}

bool
srp_credit_take(struct credit *c)
{
	if (!c->req_lim)
		return false;
	c->req_lim--;
	c->busy++;
	return true;
}

void
srp_credit_back(struct credit *c)
{
	assert(c->busy);
	c->busy--;
	if (c->total > c->limit)
		c->total--;
	else
		c->pending++;
}

uint32_t
srp_credit_give(struct credit *c)
{
	uint32_t delta = c->pending;

	c->req_lim += delta;
	c->pending = 0;
	return delta;
}

void
srp_credit_resize(struct credit *c, uint32_t limit)
{
	uint32_t spare;

	c->limit = limit;
	if (limit > c->total) {
		c->pending += limit - c->total;
		c->total = limit;
		return;
	}
	spare = c->total - limit;
	if (spare > c->pending)
		spare = c->pending;
	c->pending -= spare;
	c->total -= spare;
}

bool
srp_credit_stuck(const struct credit *c)
{
	return c->pending && c->req_lim <= 1 && (!c->busy || c->pending >= c->limit / 2);
}
