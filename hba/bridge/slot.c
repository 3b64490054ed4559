/* The adapter's tags: taken, given back, and completions told apart. */
#include "slot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *
lines_new(size_t size)
{
	void *p = aligned_alloc(CACHE_LINE, size);

	if (p)
		memset(p, 0, size);
	return p;
}

int
slots_init(struct slots *s, uint32_t count)
{
	uint32_t all = count + SLOTS_RESERVED;

	s->count = count;
	s->nlines = (count + TAGS_PER_LINE - 1) / TAGS_PER_LINE;
	s->slot = lines_new(all * sizeof(*s->slot));
	s->line = lines_new(s->nlines * sizeof(*s->line));
	if (!s->slot || !s->line)
		return -ENOMEM;
	for (uint32_t i = 0; i < all; i++)
		s->slot[i].tag = i;
	for (uint32_t i = 0; i < count; i++)
		tags_put(s, i);
	atomic_init(&s->reserved, (1u << SLOTS_RESERVED) - 1);
	return 0;
}

void
slots_fini(struct slots *s)
{
	if (s->slot && s->line)
		assert(tags_spare(s) == s->count &&
		    atomic_load(&s->reserved) == (1u << SLOTS_RESERVED) - 1);
	free(s->slot);
	free(s->line);
	s->slot = NULL;
	s->line = NULL;
}

/* Up to k of one line; returns how many. */
static int32_t
line_take(struct tag_line *line, uint32_t first, uint32_t *tags, int32_t k)
{
	uint32_t have = atomic_load_explicit(&line->spare, memory_order_relaxed), take, left;
	int32_t n;

	do {
		take = 0;
		left = have;
		for (n = 0; n < k && left; n++) {
			take |= left & -left;
			left &= left - 1;
		}
		if (n == 0)
			return 0;
		/* Acquire: what its last user wrote into the slot is done. */
	} while (!atomic_compare_exchange_weak_explicit(&line->spare, &have, have & ~take,
	    memory_order_acquire, memory_order_relaxed));
	for (int32_t i = 0; i < n; i++, take &= take - 1)
		tags[i] = first + (uint32_t)__builtin_ctz(take);
	return n;
}

void
tags_get(struct slots *s, uint32_t *tags, int32_t k, uint32_t *hint)
{
	uint32_t at = *hint % s->nlines;

	for (;;) {
		int32_t n = line_take(&s->line[at], at * TAGS_PER_LINE, tags, k);

		k -= n;
		tags += n;
		if (k == 0)
			break;
		/* One that was put behind us is found in the next round. */
		at = at + 1 == s->nlines ? 0 : at + 1;
	}
	*hint = at;
}

void
tags_put(struct slots *s, uint32_t tag)
{
	atomic_fetch_or_explicit(&s->line[tag / TAGS_PER_LINE].spare, 1u << tag % TAGS_PER_LINE,
	    memory_order_release);
}

uint32_t
tags_spare(const struct slots *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nlines; i++)
		n += (uint32_t)__builtin_popcount(atomic_load(&s->line[i].spare));
	return n;
}

struct slot *
tags_get_reserved(struct slots *s)
{
	uint32_t have = atomic_load_explicit(&s->reserved, memory_order_relaxed);

	do {
		if (!have)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&s->reserved, &have, have & (have - 1),
	    memory_order_acquire, memory_order_relaxed));
	return &s->slot[s->count + (uint32_t)__builtin_ctz(have)];
}

void
tags_put_reserved(struct slots *s, struct slot *slot)
{
	atomic_fetch_or_explicit(&s->reserved, 1u << (slot->tag - s->count), memory_order_release);
}

struct slot *
slot_of(const struct slots *s, const struct bridge_req *req)
{
	return req->slot < s->count + SLOTS_RESERVED ? &s->slot[req->slot] : NULL;
}

bool
slot_leave(struct slot *slot, const struct bridge_req *req, enum slot_state to)
{
	uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);

	/* The compare-and-swap decides: of two completions one wins. */
	do
		if (!slot_is_held(slot, req))
			return false;
	while (!atomic_compare_exchange_weak_explicit(&slot->word, &word,
	    (req->gen + 0x100) | (uint32_t)to, memory_order_acq_rel, memory_order_relaxed));
	return true;
}

void
slot_abort(struct slot *slot, const struct bridge_req *req)
{
	uint32_t word = req->gen | SLOT_INFLIGHT;

	atomic_compare_exchange_strong_explicit(&slot->word, &word, req->gen | SLOT_ABORTING,
	    memory_order_acq_rel, memory_order_relaxed);
}
