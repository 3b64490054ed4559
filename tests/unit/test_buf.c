/* Data memory: sizes, the budget, waiting for it, and what goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "reactor.h"

#include "daemon/loop.h"

enum { MIB = 1024 * 1024, ARENAS = 8 };

/* One reactor without a thread: its loop is turned by hand. */
static struct reactor *r;

static int
start(void **state)
{
	r = aligned_alloc(_Alignof(struct reactor), sizeof(*r));
	if (!r || loop_init(r, 0, 0))
		return -1;
	buf_budget(ARENAS * 2 * MIB);
	return buf_pool_init(r, 0, 1);
}

static int
stop(void **state)
{
	struct buf_stats s;

	buf_stats(r, &s);
	assert_int_equal(s.used, 0);
	buf_pool_fini(0);
	loop_fini(r);
	free(r);
	return 0;
}

static struct buf_stats
stats(void)
{
	struct buf_stats s;

	buf_stats(r, &s);
	return s;
}

/* Lets so many seconds pass. */
static void
seconds_pass(unsigned n)
{
	while (n--) {
		r->now = r->timers ? MAX(r->timers->at, r->now) : r->now;
		timers_run(r);
	}
}

static uint64_t
sum(const struct iovec *iov, int n)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	return total;
}

static void
every_length_is_served(void **state)
{
	struct iovec iov[BUF_IOV_MAX];

	for (uint32_t len = 1; len <= BUF_XFER_MAX; len += len < 600000 ? 511 : 4093) {
		int n = buf_get(r, iov, len);

		assert_true(n > 0 && n <= BUF_IOV_MAX);
		assert_int_equal(sum(iov, n), len);
		for (int i = 0; i < n; i++) {
			assert_true(iov[i].iov_len > 0 && iov[i].iov_len <= BUF_SEG_MAX);
			assert_int_equal((uintptr_t)iov[i].iov_base % 4096, 0);
			/* Ours to the last byte, and nobody else's. */
			memset(iov[i].iov_base, i + 1, iov[i].iov_len);
		}
		for (int i = 0; i < n; i++) {
			assert_int_equal(*(char *)iov[i].iov_base, i + 1);
			assert_int_equal(((char *)iov[i].iov_base)[iov[i].iov_len - 1], i + 1);
		}
		buf_put(r, iov, n);
	}
	assert_int_equal(buf_get(r, iov, BUF_XFER_MAX), 16);
	buf_put(r, iov, 16);
	/* 15 of the largest, 64 KiB, 4 KiB. */
	assert_int_equal(buf_get(r, iov, 15 * BUF_SEG_MAX + 68 * 1024), 17);
	buf_put(r, iov, 17);
	assert_int_equal(buf_get(r, iov, 4096), 1);
	buf_put(r, iov, 1);
}

static void
small_ones_waste_little(void **state)
{
	static const struct { uint32_t len, used; int n; } rows[] = {
		{ 512, 4096, 1 }, { 4096, 4096, 1 }, { 8192, 8192, 2 }, { 4097, 8192, 2 },
		{ 12288, 16384, 1 }, { 16384, 16384, 1 }, { 65536, 65536, 1 },
		{ 131072, 131072, 2 }, { 131073, 262144, 1 }, { 262144, 262144, 1 },
		{ 262145, 266240, 2 },
	};
	struct iovec iov[BUF_IOV_MAX];

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(buf_get(r, iov, rows[i].len), rows[i].n);
		assert_int_equal(stats().used, rows[i].used);
		buf_put(r, iov, rows[i].n);
		assert_int_equal(stats().used, 0);
	}
}

static void
the_last_one_back_is_the_next_out(void **state)
{
	struct iovec a, b, c;

	assert_int_equal(buf_get(r, &a, 4096), 1);
	assert_int_equal(buf_get(r, &b, 4096), 1);
	assert_ptr_not_equal(a.iov_base, b.iov_base);
	buf_put(r, &a, 1);
	assert_int_equal(buf_get(r, &c, 4096), 1);
	assert_ptr_equal(a.iov_base, c.iov_base);
	buf_put(r, &b, 1);
	buf_put(r, &c, 1);
}

/* Takes transfers of len until refused; returns how many. */
static int
take_all(struct iovec (*iov)[BUF_IOV_MAX], int *n, int max, uint32_t len)
{
	int taken = 0;

	while (taken < max && (n[taken] = buf_get(r, iov[taken], len)) > 0)
		taken++;
	return taken;
}

static void
put_all(struct iovec (*iov)[BUF_IOV_MAX], int *n, int taken)
{
	while (taken--)
		buf_put(r, iov[taken], n[taken]);
}

static void
the_budget_holds_and_arenas_return(void **state)
{
	static struct iovec iov[600][BUF_IOV_MAX];
	static int n[600];
	int taken;

	/* 7 of the largest in an arena. */
	taken = take_all(iov, n, 600, BUF_SEG_MAX);
	assert_int_equal(taken, 7 * ARENAS);
	assert_int_equal(stats().mapped, stats().budget);
	assert_int_equal(stats().refused, 1);
	put_all(iov, n, taken);
	assert_int_equal(stats().used, 0);

	/* Another size may have it all, what the first still keeps included. */
	taken = take_all(iov, n, 600, 65536);
	assert_int_equal(taken, 31 * ARENAS);
	assert_int_equal(stats().mapped, stats().budget);
	put_all(iov, n, taken);
	seconds_pass(2);
	assert_int_equal(stats().mapped, 2 * MIB);
	assert_null(r->timers);

	/* A refusal in the middle takes nothing. */
	taken = take_all(iov, n, 600, BUF_XFER_MAX);
	assert_int_equal(taken, 7 * ARENAS / 16);
	assert_int_equal(stats().used, (uint64_t)taken * BUF_XFER_MAX);
	put_all(iov, n, taken);
	assert_int_equal(stats().used, 0);
}

static void
waves_do_not_map_and_unmap(void **state)
{
	static struct iovec iov[21][BUF_IOV_MAX];
	static int n[21];

	/* Three arenas a wave; nothing goes back while waves come. */
	for (int wave = 0; wave < 5; wave++) {
		assert_int_equal(take_all(iov, n, 21, BUF_SEG_MAX), 21);
		put_all(iov, n, 21);
		seconds_pass(1);
		assert_int_equal(stats().mapped, 3 * 2 * MIB);
	}
	seconds_pass(1);
	assert_int_equal(stats().mapped, 2 * MIB);
}

static void
a_larger_segment_serves_when_all_is_mapped(void **state)
{
	static struct iovec iov[7 * ARENAS][BUF_IOV_MAX];
	struct iovec small;
	static int n[7 * ARENAS];
	int taken = take_all(iov, n, 7 * ARENAS, BUF_SEG_MAX);

	assert_int_equal(buf_get(r, &small, 4096), -ENOMEM);
	taken--;
	buf_put(r, iov[taken], n[taken]);
	assert_int_equal(buf_get(r, &small, 4096), 1);
	assert_int_equal(small.iov_len, 4096);
	assert_int_equal(stats().used, 7 * ARENAS * BUF_SEG_MAX);
	buf_put(r, &small, 1);
	put_all(iov, n, taken);
}

static void
a_tiny_budget_still_holds_one_transfer(void **state)
{
	struct iovec iov[BUF_IOV_MAX], small;

	buf_pool_fini(0);
	buf_budget(1);
	assert_int_equal(buf_pool_init(r, 0, 1), 0);
	assert_int_equal(buf_get(r, &small, 1), 1);
	buf_put(r, &small, 1);
	assert_int_equal(buf_get(r, &small, 10000), 1);
	buf_put(r, &small, 1);
	assert_int_equal(buf_get(r, iov, BUF_XFER_MAX), 16);
	buf_put(r, iov, 16);
}

/* -- waiting -- */

struct waiter {
	struct buf_wait wait;
	uint32_t len;
	struct iovec iov[BUF_IOV_MAX];
	int n, calls;
	int order;			/* of being served, from 1 */
};

static int served;

static void
waiter_try(struct buf_wait *w)
{
	struct waiter *me = container_of(w, struct waiter, wait);

	me->calls++;
	me->n = buf_get(r, me->iov, me->len);
	if (me->n < 0)
		buf_wait(r, w);
	else
		me->order = ++served;
}

static void
waiter_start(struct waiter *w, uint32_t len)
{
	*w = (struct waiter){ .wait.fn = waiter_try, .len = len };
	list_init(&w->wait.link);
	buf_wait(r, &w->wait);
}

static void
waiters_are_served_in_order(void **state)
{
	static struct iovec iov[7 * ARENAS][BUF_IOV_MAX];
	static int n[7 * ARENAS];
	int taken = take_all(iov, n, 7 * ARENAS, BUF_SEG_MAX);
	struct waiter big, small, gone;
	struct iovec barger;

	served = 0;
	waiter_start(&big, 2 * BUF_SEG_MAX);
	waiter_start(&gone, 4096);
	waiter_start(&small, BUF_SEG_MAX);
	loop_work(r);
	assert_int_equal(big.calls, 0);

	/* One back: not enough for the first, and nobody else may have it. */
	taken--;
	buf_put(r, iov[taken], n[taken]);
	assert_int_equal(buf_get(r, &barger, BUF_SEG_MAX), -ENOMEM);
	loop_work(r);
	assert_int_equal(big.calls, 1);
	assert_int_equal(big.order, 0);
	assert_int_equal(small.calls, 0);
	assert_true(list_empty(&r->work));

	buf_wait_cancel(&gone.wait);
	buf_wait_cancel(&gone.wait);
	taken--;
	buf_put(r, iov[taken], n[taken]);
	loop_work(r);
	assert_int_equal(big.order, 1);
	assert_int_equal(small.order, 0);
	taken--;
	buf_put(r, iov[taken], n[taken]);
	loop_work(r);
	assert_int_equal(small.order, 2);
	assert_int_equal(gone.calls, 0);

	buf_put(r, big.iov, big.n);
	buf_put(r, small.iov, small.n);
	loop_work(r);
	assert_int_equal(small.calls + big.calls, 4);
	put_all(iov, n, taken);
}

static void
waiting_with_nothing_out_is_served(void **state)
{
	struct waiter w;

	served = 0;
	waiter_start(&w, 4096);
	loop_work(r);
	assert_int_equal(w.order, 1);
	buf_put(r, w.iov, w.n);
}

/* -- objects -- */

static void
objects_are_zero_when_new_and_kept_when_reused(void **state)
{
	enum { OBJECTS = 500, SIZE = 1000 };
	static unsigned char *obj[OBJECTS];
	struct obj_pool pool;
	unsigned char *again;

	obj_pool_init(&pool, SIZE);
	assert_int_equal(pool.size % CACHE_LINE, 0);
	for (int i = 0; i < OBJECTS; i++) {
		obj[i] = obj_get(&pool);
		assert_non_null(obj[i]);
		assert_int_equal((uintptr_t)obj[i] % CACHE_LINE, 0);
		for (int k = 0; k < SIZE; k++)
			assert_int_equal(obj[i][k], 0);
		memset(obj[i], 0xa5, SIZE);
	}
	assert_int_equal(pool.used, OBJECTS);
	obj_put(&pool, obj[7]);
	again = obj_get(&pool);
	assert_ptr_equal(again, obj[7]);
	for (int k = 0; k < SIZE; k++)
		assert_int_equal(again[k], 0xa5);
	for (int i = 0; i < OBJECTS; i++)
		obj_put(&pool, obj[i]);
	assert_int_equal(pool.used, 0);
	assert_int_equal(pool.made, OBJECTS);
	obj_pool_fini(&pool);
}

static void
large_objects_fit_a_slab(void **state)
{
	struct obj_pool pool;
	char *a, *b;

	obj_pool_init(&pool, 300000);
	a = obj_get(&pool);
	b = obj_get(&pool);
	assert_true(a && b && (b - a >= 300000 || a - b >= 300000));
	memset(a, 1, 300000);
	memset(b, 2, 300000);
	assert_int_equal(a[299999], 1);
	obj_put(&pool, a);
	obj_put(&pool, b);
	obj_pool_fini(&pool);
}

/* Random sizes in and out; every byte of a live transfer keeps its owner's mark. */
static void
nothing_is_handed_out_twice(void **state)
{
	enum { LIVE = 64 };
	static struct iovec iov[LIVE][BUF_IOV_MAX];
	static int n[LIVE];
	unsigned seed = 1;

	memset(n, 0, sizeof(n));
	for (int step = 0; step < 20000; step++) {
		int i = rand_r(&seed) % LIVE;

		if (n[i] > 0) {
			for (int k = 0; k < n[i]; k++) {
				char *p = iov[i][k].iov_base;

				assert_int_equal(p[0], (char)i);
				assert_int_equal(p[iov[i][k].iov_len - 1], (char)i);
			}
			buf_put(r, iov[i], n[i]);
			n[i] = 0;
			continue;
		}
		n[i] = buf_get(r, iov[i], 1 + (uint32_t)rand_r(&seed) % (1u << (rand_r(&seed) % 22 + 1)));
		for (int k = 0; k < n[i]; k++) {
			char *p = iov[i][k].iov_base;

			p[0] = p[iov[i][k].iov_len - 1] = (char)i;
		}
		assert_true(stats().mapped <= stats().budget && stats().used <= stats().mapped);
	}
	for (int i = 0; i < LIVE; i++)
		if (n[i] > 0)
			buf_put(r, iov[i], n[i]);
	seconds_pass(2);
	assert_true(stats().mapped <= 4 * 2 * MIB);
}

/* What a watcher was told: arenas that are there. */
struct census {
	struct buf_watch watch;
	char *arena[ARENAS];
	int n, came, went;
};

static void
census_mapped(struct buf_watch *w, void *arena, size_t len)
{
	struct census *c = container_of(w, struct census, watch);

	assert_int_equal(len, BUF_ARENA);
	assert_int_equal((uintptr_t)arena % BUF_ARENA, 0);
	assert_true(c->n < ARENAS);
	c->arena[c->n++] = arena;
	c->came++;
}

static void
census_unmapping(struct buf_watch *w, void *arena, size_t len)
{
	struct census *c = container_of(w, struct census, watch);
	int i = 0;

	while (i < c->n && c->arena[i] != arena)
		i++;
	assert_true(i < c->n);
	/* Still mapped: a device may use it until now. */
	(void)*(volatile char *)arena;
	c->arena[i] = c->arena[--c->n];
	c->went++;
}

static bool
census_knows(const struct census *c, const struct iovec *iov)
{
	for (int i = 0; i < c->n; i++)
		if ((size_t)((char *)iov->iov_base - c->arena[i]) <= BUF_ARENA - iov->iov_len)
			return true;
	return false;
}

static void
watchers_know_every_arena(void **state)
{
	struct census early = { .watch = { .mapped = census_mapped, .unmapping = census_unmapping } };
	struct census late = early;
	struct iovec iov[3][BUF_IOV_MAX];
	int n[3];

	buf_watch_add(r, &early.watch);
	assert_int_equal(early.n, 0);
	for (int i = 0; i < 3; i++) {
		n[i] = buf_get(r, iov[i], 3 * MIB);
		assert_true(n[i] > 0);
		for (int k = 0; k < n[i]; k++)
			assert_true(census_knows(&early, &iov[i][k]));
	}
	buf_watch_add(r, &late.watch);
	assert_int_equal(late.n, early.n);
	assert_int_equal(early.n * (uint64_t)BUF_ARENA, stats().mapped);
	for (int i = 0; i < 3; i++)
		buf_put(r, iov[i], n[i]);
	buf_watch_del(&early.watch);
	seconds_pass(3);
	assert_int_equal(early.went, 0);
	assert_true(late.went > 0);
	assert_int_equal(late.n * (uint64_t)BUF_ARENA, stats().mapped);
	buf_watch_del(&late.watch);
}

#define POOL(test) cmocka_unit_test_setup_teardown(test, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		POOL(every_length_is_served),
		POOL(small_ones_waste_little),
		POOL(the_last_one_back_is_the_next_out),
		POOL(the_budget_holds_and_arenas_return),
		POOL(waves_do_not_map_and_unmap),
		POOL(a_larger_segment_serves_when_all_is_mapped),
		POOL(a_tiny_budget_still_holds_one_transfer),
		POOL(waiters_are_served_in_order),
		POOL(waiting_with_nothing_out_is_served),
		POOL(nothing_is_handed_out_twice),
		POOL(watchers_know_every_arena),
		cmocka_unit_test(objects_are_zero_when_new_and_kept_when_reused),
		cmocka_unit_test(large_objects_fit_a_slab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
