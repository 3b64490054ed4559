/* How long requests waited: counts in buckets that grow with the wait. */
#include "hist.h"

#include <assert.h>

#include "util.h"

static unsigned
bucket_of(uint64_t ns)
{
	uint32_t v = (uint32_t)MIN(ns >> HIST_SHIFT, (uint64_t)UINT32_MAX);
	unsigned power;

	if (v < 4)
		return v;
	power = 31 - (unsigned)__builtin_clz(v);
	return 4 * (power - 1) + (v >> (power - 2) & 3);
}

/* The first wait that is too long for the bucket. */
static uint64_t
bucket_end(unsigned i)
{
	uint64_t end = i < 4 ? i + 1 : (uint64_t)(i % 4 + 5) << (i / 4 - 1);

	return end << HIST_SHIFT;
}

void
hist_add(struct hist *h, uint64_t ns)
{
	h->n++;
	h->max_ns = MAX(h->max_ns, ns);
	h->count[bucket_of(ns)]++;
}

void
hist_merge(struct hist *h, const struct hist *more)
{
	h->n += more->n;
	h->max_ns = MAX(h->max_ns, more->max_ns);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		h->count[i] += more->count[i];
}

uint64_t
hist_quantile(const struct hist *h, unsigned permille)
{
	uint64_t want, seen = 0;

	assert(permille <= 1000);
	if (h->n == 0)
		return 0;
	/* Rounded up, and in parts: n * permille could wrap. */
	want = h->n / 1000 * permille + (h->n % 1000 * permille + 999) / 1000;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->count[i];
		if (seen >= MAX(want, 1u) && i < HIST_BUCKETS - 1)
			return MIN(bucket_end(i), h->max_ns);
	}
	return h->max_ns;
}
