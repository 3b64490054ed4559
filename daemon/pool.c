/* Objects of one size: pools in slabs, one for each kind and reactor. */
#include <assert.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "buf.h"

enum { SLAB_MIN = 64 * 1024, PAGE = 4096 };

/*
 * Behind a cache line of its own stand cap objects; those from n on were never
 * used: zero, and not touched.
 */
struct slab {
	struct slab *next;
	size_t bytes;
	uint32_t n, cap;
};
_Static_assert(sizeof(struct slab) <= CACHE_LINE, "objects start at a cache line");

/* The link lies behind the object: what a reused object holds stays as it was put. */
static void **
obj_link(const struct obj_pool *p, void *obj)
{
	return (void **)((char *)obj + p->size - sizeof(void *));
}

void
obj_pool_init(struct obj_pool *p, uint32_t size)
{
	*p = (struct obj_pool){ 0 };
	p->size = (uint32_t)(size + sizeof(void *) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static struct slab *
slab_new(struct obj_pool *p)
{
	size_t bytes = MAX((size_t)SLAB_MIN, (CACHE_LINE + 4 * (size_t)p->size + PAGE - 1) &
	    ~(size_t)(PAGE - 1));
	struct slab *s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);

	if (s == MAP_FAILED)
		return NULL;
	s->bytes = bytes;
	s->cap = (uint32_t)((bytes - CACHE_LINE) / p->size);
	s->next = p->slabs;
	p->slabs = s;
	return s;
}

void *
obj_get(struct obj_pool *p)
{
	struct slab *s = p->slabs;
	void *obj = p->free;

	if (likely(obj)) {
		p->free = *obj_link(p, obj);
		p->used++;
		ASAN_UNPOISON_MEMORY_REGION(obj, p->size - sizeof(void *));
		return obj;
	}
	if (!s || s->n == s->cap)
		s = slab_new(p);
	if (!s)
		return NULL;
	p->used++;
	p->made++;
	return (char *)s + CACHE_LINE + (size_t)s->n++ * p->size;
}

void
obj_put(struct obj_pool *p, void *obj)
{
	assert(p->used);
	*obj_link(p, obj) = p->free;
	p->free = obj;
	p->used--;
	ASAN_POISON_MEMORY_REGION(obj, p->size - sizeof(void *));
}

void
obj_pool_fini(struct obj_pool *p)
{
	struct slab *s = p->slabs, *next;

	assert(!p->used);
	for (; s; s = next) {
		next = s->next;
		ASAN_UNPOISON_MEMORY_REGION(s, s->bytes);
		munmap(s, s->bytes);
	}
	p->slabs = p->free = NULL;
}
