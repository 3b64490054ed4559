/* The adapter's tags: who has which, and which completions are believed. */
#include "slot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int
slots_init(struct slots *s, uint32_t count)
{
	s->count = count;
	s->nspare = s->nreserved = 0;
	s->slot = calloc((size_t)count + SLOTS_RESERVED, sizeof(*s->slot));
	s->spare = calloc(count, sizeof(*s->spare));
	if (!s->slot || !s->spare)
		return -ENOMEM;
	while (s->nspare < count) {
		s->spare[s->nspare] = count - 1 - s->nspare;
		s->nspare++;
	}
	while (s->nreserved < SLOTS_RESERVED) {
		s->reserved[s->nreserved] = count + s->nreserved;
		s->nreserved++;
	}
	return 0;
}

void
slots_fini(struct slots *s)
{
	if (s->slot && s->spare)
		assert(s->nspare == s->count && s->nreserved == SLOTS_RESERVED);
	free(s->slot);
	free(s->spare);
	s->slot = NULL;
	s->spare = NULL;
}

static void
slot_give(struct slots *s, uint32_t i, struct bridge_req *req)
{
	struct slot *slot = &s->slot[i];

	assert(!slot->req);
	slot->req = req;
	req->slot = i;
	req->gen = slot->gen;
}

void
slot_get(struct slots *s, struct bridge_req *req)
{
	assert(s->nspare > 0);
	slot_give(s, s->spare[--s->nspare], req);
}

bool
slot_get_reserved(struct slots *s, struct bridge_req *req)
{
	if (s->nreserved == 0)
		return false;
	slot_give(s, s->reserved[--s->nreserved], req);
	return true;
}

bool
slot_put(struct slots *s, struct bridge_req *req)
{
	struct slot *slot;

	if (req->slot >= s->count + SLOTS_RESERVED)
		return false;
	slot = &s->slot[req->slot];
	if (slot->req != req || slot->gen != req->gen)
		return false;
	slot->req = NULL;
	slot->gen++;
	if (slot_is_reserved(s, req->slot))
		s->reserved[s->nreserved++] = req->slot;
	else
		s->spare[s->nspare++] = req->slot;
	return true;
}
