/* How deep a LUN may be used now: cut back when its disk is full or slow, and grown again. */
#include "depth.h"

#include "util.h"

void
depth_init(struct depth *d, uint32_t configured, uint64_t target_ns)
{
	*d = (struct depth){
		.configured = configured, .limit = configured, .target_ns = target_ns,
	};
}

bool
depth_configure(struct depth *d, uint32_t configured, uint64_t target_ns)
{
	bool changed = d->limit != configured;

	depth_init(d, configured, target_ns);
	return changed;
}

static bool
limit_to(struct depth *d, uint32_t limit)
{
	uint32_t old = d->limit;

	d->limit = MAX(MIN(limit, d->configured), 1u);
	return d->limit != old;
}

bool
depth_full(struct depth *d, uint32_t in_flight, uint64_t now)
{
	d->full_ns = MAX(d->full_ns, now);
	/* Never up: of several that come back at once the last says the least. */
	return limit_to(d, MIN(d->limit, in_flight > 1 ? in_flight - 1 : 1));
}

uint64_t
depth_due(const struct depth *d)
{
	return d->target_ns || d->limit == d->configured ? UINT64_MAX : d->full_ns + DEPTH_RAMP_NS;
}

bool
depth_grow(struct depth *d, uint64_t now)
{
	uint64_t steps;

	if (now < depth_due(d))
		return false;
	steps = (now - d->full_ns) / DEPTH_RAMP_NS;
	d->full_ns += steps * DEPTH_RAMP_NS;
	return limit_to(d, d->limit + (uint32_t)MIN(steps, d->configured - d->limit));
}

bool
depth_sample(struct depth *d, uint64_t sum_ns, uint64_t n, uint64_t now)
{
	uint64_t mean;

	if (!d->target_ns || n == 0)
		return false;
	if (!d->window_ns)
		d->window_ns = now;
	d->sum_ns += sum_ns;
	d->samples += n;
	if (d->samples < DEPTH_SAMPLES || now < d->window_ns ||
	    now - d->window_ns < MAX((uint64_t)DEPTH_WINDOW_NS, 2 * d->target_ns))
		return false;
	mean = d->sum_ns / d->samples;
	d->window_ns = now;
	d->sum_ns = d->samples = 0;
	if (mean > d->target_ns)
		return limit_to(d, d->limit - (d->limit + 3) / 4);
	if (d->full_ns && now < d->full_ns + DEPTH_RAMP_NS)
		return false;
	return limit_to(d, d->limit + 1);
}
