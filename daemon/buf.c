/* Data memory: segments of four sizes, cut from 2 MiB arenas of each reactor. */
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "buf.h"
#include "log.h"

#include "loop.h"

enum {
	ARENA = BUF_ARENA,
	PAGE = 4096,
	CLASSES = 4,
	SEGS_MAX = (ARENA - PAGE) / PAGE,
	/* One transfer of BUF_XFER_MAX must always fit, or it would wait for ever. */
	BUDGET_MIN = 4 * ARENA,
};

#define TRIM_NS 1000000000u

static const uint8_t class_shift[CLASSES] = { 12, 14, 16, 18 };
_Static_assert(1 << 18 == BUF_SEG_MAX, "the largest class is the largest segment");

/*
 * The first page of an arena. Free segments are a stack of numbers here, not a
 * chain through the segments: memory nobody used is not touched, and segments
 * never handed out are counted by fresh.
 *
 *	| arena | (rest of the page) | segment 0 | segment 1 | ...
 */
struct arena {
	struct list link;		/* in avail, when a segment is left */
	struct list all;		/* in the pool's arenas */
	uint8_t class;
	uint16_t used;			/* segments handed out */
	uint16_t fresh;			/* segments ever handed out: 0 to fresh - 1 */
	uint16_t nfree;
	uint16_t free[SEGS_MAX];
};
_Static_assert(sizeof(struct arena) <= PAGE, "the header is one page");

/* Owned by one reactor; made before its loop runs, freed when it has ended. */
struct buf_pool {
	struct list avail[CLASSES];	/* arenas with a segment left; takers go to the first */
	unsigned spare[CLASSES];	/* wholly free ones among them */
	unsigned low[CLASSES];		/* least spare since the last trim */
	struct timer trim;		/* set while more than one of a size is spare */
	uint64_t budget, mapped, used, refused;
	struct list arenas, watches;
	struct list waiters;
	struct work serve;
	bool serving;
};

static uint64_t total = 256u << 20;
static struct buf_pool *pools[REACTORS_MAX];

void
buf_budget(uint64_t bytes)
{
	total = bytes;
}

/* -- arenas -- */

static uint32_t
class_size(unsigned class)
{
	return 1u << class_shift[class];
}

static unsigned
arena_segs(unsigned class)
{
	return (ARENA - PAGE) >> class_shift[class];
}

static struct arena *
arena_of(void *seg)
{
	return (struct arena *)((uintptr_t)seg & ~(uintptr_t)(ARENA - 1));
}

static char *
arena_seg(struct arena *a, unsigned i)
{
	return (char *)a + PAGE + ((size_t)i << class_shift[a->class]);
}

/* Maps twice as much and gives back what is outside the aligned half. */
static struct arena *
arena_map(void)
{
	char *p = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)p & (ARENA - 1);
	if (before)
		munmap(p, before);
	munmap(p + before + ARENA, ARENA - before);
	return (struct arena *)(p + before);
}

static void
arena_unmap(struct buf_pool *p, struct arena *a)
{
	struct buf_watch *w;

	list_for_each(w, &p->watches, link)
		w->unmapping(w, a, ARENA);
	list_del(&a->link);
	list_del(&a->all);
	p->spare[a->class]--;
	p->mapped -= ARENA;
	ASAN_UNPOISON_MEMORY_REGION(a, ARENA);
	munmap(a, ARENA);
}

/* Unmaps up to n wholly free arenas of a class, but keeps some. */
static void
spares_unmap(struct buf_pool *p, unsigned class, unsigned n, unsigned keep)
{
	struct arena *a, *next;

	list_for_each_safe(a, next, &p->avail[class], link)
		if (!a->used && n && p->spare[class] > keep) {
			arena_unmap(p, a);
			n--;
		}
	p->low[class] = MIN(p->low[class], p->spare[class]);
}

/*
 * Loads come in waves: an arena that a wave needs again would be mapped, and
 * all its pages be cleared, each time. So only those go back that nobody needed
 * since the last look.
 */
static void
trim(struct timer *t)
{
	struct buf_pool *p = container_of(t, struct buf_pool, trim);
	bool more = false;

	for (unsigned c = 0; c < CLASSES; c++) {
		spares_unmap(p, c, p->low[c], 1);
		p->low[c] = p->spare[c];
		more |= p->spare[c] > 1;
	}
	if (more)
		timer_set(t, TRIM_NS);
}

/* Room for one more arena, if need be at the expense of other sizes. */
static bool
budget_room(struct buf_pool *p)
{
	for (unsigned c = 0; c < CLASSES && p->mapped + ARENA > p->budget; c++)
		spares_unmap(p, c, 1, 0);
	return p->mapped + ARENA <= p->budget;
}

static struct arena *
arena_new(struct buf_pool *p, unsigned class)
{
	struct buf_watch *w;
	struct arena *a;

	if (!budget_room(p))
		return NULL;
	a = arena_map();
	if (!a)
		return NULL;
	p->mapped += ARENA;
	a->class = (uint8_t)class;
	p->spare[class]++;
	list_add_head(&p->avail[class], &a->link);
	list_add_tail(&p->arenas, &a->all);
	ASAN_POISON_MEMORY_REGION((char *)a + PAGE, ARENA - PAGE);
	list_for_each(w, &p->watches, link)
		w->mapped(w, a, ARENA);
	return a;
}

/* -- segments -- */

static void *
seg_take(struct buf_pool *p, struct arena *a)
{
	unsigned i = a->nfree ? a->free[--a->nfree] : a->fresh++, c = a->class;

	if (!a->used++) {
		p->spare[c]--;
		p->low[c] = MIN(p->low[c], p->spare[c]);
	}
	if (a->used == arena_segs(c))
		list_del(&a->link);
	p->used += class_size(c);
	ASAN_UNPOISON_MEMORY_REGION(arena_seg(a, i), class_size(c));
	return arena_seg(a, i);
}

/* Of the class, or of a larger one when the budget allows no more of this. */
static void *
seg_get(struct buf_pool *p, unsigned class)
{
	struct arena *a;

	if (likely(!list_empty(&p->avail[class])))
		return seg_take(p, list_first(&p->avail[class], struct arena, link));
	a = arena_new(p, class);
	if (a)
		return seg_take(p, a);
	while (++class < CLASSES)
		if (!list_empty(&p->avail[class]))
			return seg_take(p, list_first(&p->avail[class], struct arena, link));
	return NULL;
}

static void
seg_put(struct buf_pool *p, void *seg)
{
	struct arena *a = arena_of(seg);
	unsigned c = a->class;
	unsigned i = (unsigned)((size_t)((char *)seg - arena_seg(a, 0)) >> class_shift[c]);

	assert(a->used && (char *)seg == arena_seg(a, i));
	ASAN_POISON_MEMORY_REGION(seg, class_size(c));
	if (a->used == arena_segs(c))
		list_add_head(&p->avail[c], &a->link);
	a->free[a->nfree++] = (uint16_t)i;
	p->used -= class_size(c);
	if (!--a->used && p->spare[c]++ && !timer_is_set(&p->trim))
		timer_set(&p->trim, TRIM_NS);
}

/* -- buffers -- */

/* The smallest class that holds len, len <= BUF_SEG_MAX. */
static unsigned
class_for(uint32_t len)
{
	unsigned c = 0;

	while (class_size(c) < len)
		c++;
	return c;
}

/*
 * Largest segments first. The rest takes one segment when that is more than
 * half used, else two: one of the class below, and what then fits. So 15 of
 * the largest and two more are the most.
 */
static unsigned
class_next(uint32_t left)
{
	unsigned c;

	if (left >= BUF_SEG_MAX)
		return CLASSES - 1;
	c = class_for(left);
	return c && left <= class_size(c) / 2 ? c - 1 : c;
}

int
buf_get(struct reactor *r, struct iovec *iov, uint32_t len)
{
	struct buf_pool *p = r->bufs;
	int n = 0;

	assert(len && len <= BUF_XFER_MAX);
	/* Who waits is served first, or a large transfer would never be. */
	if (unlikely(!list_empty(&p->waiters)) && !p->serving)
		goto refuse;
	while (len) {
		/* The second of two: whatever is left, in one. */
		unsigned c = n && len < BUF_SEG_MAX && iov[n - 1].iov_len < BUF_SEG_MAX ?
		    class_for(len) : class_next(len);
		void *seg = seg_get(p, c);

		if (!seg)
			goto undo;
		iov[n].iov_base = seg;
		iov[n].iov_len = MIN(len, class_size(c));
		len -= (uint32_t)iov[n++].iov_len;
	}
	return n;
undo:
	/* Not buf_put: what was not there before is no news for those who wait. */
	while (n)
		seg_put(p, iov[--n].iov_base);
refuse:
	p->refused++;
	return -ENOMEM;
}

void
buf_put(struct reactor *r, struct iovec *iov, int n)
{
	struct buf_pool *p = r->bufs;

	/* Backwards: the first is then the next one out, and warm. */
	for (int i = n - 1; i >= 0; i--)
		seg_put(p, iov[i].iov_base);
	if (unlikely(!list_empty(&p->waiters)) || unlikely(p->serving))
		reactor_defer(r, &p->serve);
}

/* -- waiting -- */

/* In order, until one is refused again: it and those behind it keep their places. */
static void
waiters_serve(struct work *work)
{
	struct buf_pool *p = container_of(work, struct buf_pool, serve);
	struct list batch = LIST_INIT(batch);

	list_splice_tail(&batch, &p->waiters);
	p->serving = true;
	while (!list_empty(&batch)) {
		struct buf_wait *w = list_first(&batch, struct buf_wait, link);
		uint64_t refused = p->refused;

		list_del(&w->link);
		w->fn(w);
		if (p->refused != refused)
			break;
	}
	p->serving = false;
	list_splice_tail(&p->waiters, &batch);
}

void
buf_wait(struct reactor *r, struct buf_wait *w)
{
	struct buf_pool *p = r->bufs;

	list_add_tail(&p->waiters, &w->link);
	/* With nothing out, nothing will come back to start it. */
	if (!p->used)
		reactor_defer(r, &p->serve);
}

void
buf_wait_cancel(struct buf_wait *w)
{
	list_del(&w->link);
}

/* -- life -- */

void
buf_watch_add(struct reactor *r, struct buf_watch *w)
{
	struct arena *a;

	list_add_tail(&r->bufs->watches, &w->link);
	list_for_each(a, &r->bufs->arenas, all)
		w->mapped(w, a, ARENA);
}

void
buf_watch_del(struct buf_watch *w)
{
	list_del(&w->link);
}

void
buf_stats(struct reactor *r, struct buf_stats *s)
{
	const struct buf_pool *p = r->bufs;

	*s = (struct buf_stats){ p->budget, p->mapped, p->used, p->refused };
}

int
buf_pool_init(struct reactor *r, unsigned id, unsigned n)
{
	struct buf_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->budget = MAX(total / MAX(n, 1u), (uint64_t)BUDGET_MIN);
	for (unsigned c = 0; c < CLASSES; c++)
		list_init(&p->avail[c]);
	list_init(&p->waiters);
	list_init(&p->arenas);
	list_init(&p->watches);
	work_init(&p->serve, waiters_serve);
	timer_init(&p->trim, r, trim);
	pools[id] = p;
	r->bufs = p;
	return 0;
}

void
buf_pool_fini(unsigned id)
{
	struct buf_pool *p = pools[id];

	if (!p)
		return;
	timer_fini(&p->trim);
	for (unsigned c = 0; c < CLASSES; c++)
		spares_unmap(p, c, UINT32_MAX, 0);
	if (p->used)
		log_err("reactor %u: %llu bytes of data memory were not given back", id,
		    (unsigned long long)p->used);
	pools[id] = NULL;
	free(p);
}
