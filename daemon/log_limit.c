/* How often one place may log about one peer. */
#include <stddef.h>

#include "log_limit.h"

#define SECOND 1000000000u

/* FNV-1a over the peer's name, mixed with the place (the address of its format). */
static uint64_t
key_of(const char *place, const char *peer)
{
	uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)place;

	for (h *= 0x100000001b3u; *peer; peer++)
		h = (h ^ (unsigned char)*peer) * 0x100000001b3u;
	return h ^ h >> 32;
}

/* The bucket of this key, or the one of its set that was quiet for longest, emptied. */
static struct log_bucket *
bucket_find(struct log_limit *l, uint64_t key)
{
	struct log_bucket *set = l->bucket[key % LOG_SETS], *oldest = set;

	for (int i = 0; i < LOG_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].second < oldest->second)
			oldest = &set[i];
	}
	*oldest = (struct log_bucket){ .key = key };
	return oldest;
}

static bool
bucket_pass(struct log_bucket *b, uint64_t now, uint32_t burst)
{
	if (now - b->second >= SECOND) {
		b->second = now;
		b->lines = 0;
	}
	if (b->lines >= burst)
		return false;
	b->lines++;
	return true;
}

bool
log_limit_pass(struct log_limit *l, const char *place, const char *peer, uint64_t now,
    uint32_t *held)
{
	struct log_bucket *b = bucket_find(l, key_of(place, peer));

	/* Its own limit first: who is over it takes nothing from the others. */
	if (!bucket_pass(b, now, LOG_BURST) || !bucket_pass(&l->all, now, LOG_BURST_ALL)) {
		b->held++;
		return false;
	}
	*held = b->held;
	b->held = 0;
	return true;
}
