/* Memory that is freed, and wiped, all at once. */
#include "conf_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct chunk *next;
	size_t size, used;		/* of bytes */
	_Alignas(16) unsigned char bytes[];
};

struct arena {
	struct chunk *chunks;		/* the first is the one being filled */
};

/* Under the address sanitizer each object is a chunk of its own: so it sees who writes beyond. */
#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { ALIGN = 16 };
static const size_t chunk_size = SANITIZED ? ALIGN : 64 * 1024;

struct arena *
arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void
arena_free(struct arena *a)
{
	struct chunk *c, *next;

	if (!a)
		return;
	for (c = a->chunks; c; c = next) {
		next = c->next;
		explicit_bzero(c->bytes, c->used);
		free(c);
	}
	free(a);
}

static struct chunk *
chunk_new(struct arena *a, size_t size)
{
	struct chunk *c;

	if (size < chunk_size)
		size = chunk_size;
	c = calloc(1, sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *
arena_get(struct arena *a, size_t size)
{
	struct chunk *c = a->chunks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!c || size > c->size - c->used)
		c = chunk_new(a, size);
	if (!c)
		return NULL;
	p = c->bytes + c->used;
	c->used += size;
	return p;
}

char *
arena_text(struct arena *a, const char *text, size_t len)
{
	char *p = arena_get(a, len + 1);

	if (p)
		memcpy(p, text, len);
	return p;
}

void *
arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t member)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return array;
	if (more > SIZE_MAX / 2 / member)
		return NULL;
	p = arena_get(a, more * member);
	if (!p)
		return NULL;
	if (n)
		memcpy(p, array, n * member);
	*cap = more;
	return p;
}
