/* Neighbours in one command: who joins, what the disk sees, and how all come back. */
#include "order_rig.h"

#include "hba/bridge/merge.h"
#include "util.h"

enum { LARGE = 1 << 20 };

static struct order o;
static struct sweep up = { .on = true }, none;
static struct merge_pool pool;

static void
fresh(uint32_t merges)
{
	order_init(&o);
	up.at = 0;
	disk.caps = 0;
	assert_int_equal(merge_pool_init(&pool, merges), 0);
}

static struct bridge_req *
add(int i, enum disk_op op, uint64_t lba)
{
	struct bridge_req *r = req_make(i, op, lba, 1);

	order_add(&o, r);
	return r;
}

/* Takes the next with its neighbours; the command must cover these blocks. */
static struct bridge_req *
take(struct sweep *s, uint64_t max, uint64_t lba, uint64_t blocks)
{
	struct bridge_req *r = order_take(&o, s, 1);

	merge_gather(&pool, &o, r, max);
	assert_int_equal(merge_len(r), blocks * BLOCK);
	assert_int_equal(merge_end_of(r), (lba + blocks) * BLOCK);
	return r;
}

/* What the disk would see: the segments of all, by address; then all back with this result. */
static unsigned
finish(struct bridge_req *r, int result)
{
	struct disk_io own = r->io;
	struct bridge_req *rider;
	struct list riders;
	uint64_t at, len = 0;
	unsigned n = 0;

	list_init(&riders);
	if (!r->merge)
		return 0;
	merge_build(r);
	at = r->io.offset;
	for (int i = 0; i < r->io.niov; i++) {
		struct iovec v = r->io.iov[i];
		int owner = (int)((uintptr_t)v.iov_base / 0x10000) - 1;

		/* The leader's io is the command's now; its own address is kept here. */
		assert_int_equal(&reqs[owner] == r ? own.offset : reqs[owner].io.offset, at);
		at += v.iov_len;
		len += v.iov_len;
	}
	assert_int_equal(len, r->io.len);
	r->io.result = result;
	merge_end(&pool, r, &riders);
	assert_memory_equal(&own.offset, &r->io.offset, sizeof(own.offset));
	assert_int_equal(own.len, r->io.len);
	assert_ptr_equal(own.iov, r->io.iov);
	assert_int_equal(own.niov, r->io.niov);
	assert_null(r->merge);
	list_for_each(rider, &riders, link) {
		assert_int_equal(rider->io.result, result);
		assert_null(rider->merge);
		n++;
	}
	return n;
}

static void
a_sequential_stream_is_one_command(void **state)
{
	for (int sorted = 0; sorted < 2; sorted++) {
		struct bridge_req *r;

		fresh(4);
		for (int i = 0; i < 20; i++)
			add(i, DISK_WRITE, 100 + (uint64_t)i);
		r = take(sorted ? &up : &none, LARGE, 100, 20);
		assert_int_equal(number(r), 0);
		assert_true(order_empty(&o));
		assert_int_equal(finish(r, 0), 19);
		merge_pool_fini(&pool);
	}
}

/* The one whose turn it is stands in the middle: neighbours of both sides join. */
static void
both_sides_join(void **state)
{
	for (int sorted = 0; sorted < 2; sorted++) {
		struct bridge_req *r;

		fresh(4);
		up.at = 7 * BLOCK;
		add(0, DISK_READ, 7);
		add(1, DISK_READ, 6);
		add(2, DISK_READ, 8);
		add(3, DISK_READ, 5);
		add(4, DISK_READ, 9);
		add(5, DISK_READ, 11);
		add(6, DISK_READ, 3);
		r = take(sorted ? &up : &none, LARGE, 5, 5);
		assert_int_equal(number(r), 0);
		assert_int_equal(o.count, 2);
		assert_int_equal(finish(r, -5), 4);
		while (!order_empty(&o))
			take(sorted ? &up : &none, LARGE, o.count == 1 ? 3 : 11, 1);
		merge_pool_fini(&pool);
	}
}

static void
unlike_neighbours_stay(void **state)
{
	for (int sorted = 0; sorted < 2; sorted++) {
		struct bridge_req *r;

		fresh(4);
		add(0, DISK_WRITE, 10);
		add(1, DISK_READ, 11);
		add(2, DISK_WRITE, 11)->io.flags = DISK_FUA;
		add(3, DISK_WRITE, 9)->alone = true;
		add(4, DISK_WRITE, 13);
		up.at = 10 * BLOCK;
		r = order_take(&o, &none, 1);
		if (sorted)
			/* Sorts the rest; puts the one it takes back. */
			order_add(&o, order_take(&o, &up, 1));
		merge_gather(&pool, &o, r, LARGE);
		assert_null(r->merge);
		assert_int_equal(o.count, 4);
		/* FUA goes with FUA. */
		while (o.count)
			order_take(&o, &none, 1);
		add(5, DISK_WRITE, 20)->io.flags = DISK_FUA;
		add(6, DISK_WRITE, 21)->io.flags = DISK_FUA;
		finish(take(&none, LARGE, 20, 2), 0);
		/* And one that is sent again leads nobody. */
		add(7, DISK_WRITE, 30)->alone = true;
		add(8, DISK_WRITE, 31);
		take(&none, LARGE, 30, 1);
		merge_pool_fini(&pool);
	}
}

static void
nobody_comes_from_behind_a_barrier(void **state)
{
	struct bridge_req *r;

	for (int sorted = 0; sorted < 2; sorted++) {
		fresh(4);
		add(0, DISK_WRITE, 10);
		add(1, DISK_WRITE, 11);
		add(2, DISK_FLUSH, 0);
		add(3, DISK_WRITE, 12);
		r = take(sorted ? &up : &none, LARGE, 10, 2);
		assert_int_equal(o.count, 2);
		finish(r, 0);
		/* The barrier itself, at the address where the next begins. */
		r = order_take(&o, &none, 1);
		assert_int_equal(number(r), 2);
		assert_int_equal(merge_gather(&pool, &o, r, LARGE), 0);
		merge_pool_fini(&pool);
	}
}

static void
never_above_the_largest_transfer(void **state)
{
	for (int sorted = 0; sorted < 2; sorted++) {
		int n = 0;

		fresh(64);
		for (int i = 0; i < 300; i++)
			add(i, DISK_READ, (uint64_t)i);
		for (; !order_empty(&o); n++) {
			struct bridge_req *r = order_take(&o, sorted ? &up : &none, 1);

			merge_gather(&pool, &o, r, 16 * BLOCK);
			assert_in_range(merge_len(r), BLOCK, 16 * BLOCK);
			finish(r, 0);
		}
		assert_int_equal(n, 19);
		/* One that is larger by itself is left as it is. */
		order_add(&o, req_make(0, DISK_READ, 0, 40));
		add(1, DISK_READ, 40);
		take(&none, 16 * BLOCK, 0, 40);
		merge_pool_fini(&pool);
	}
}

static void
never_more_segments_than_there_is_room(void **state)
{
	static struct iovec many[MERGE_IOV];
	struct bridge_req *r;

	fresh(4);
	for (int i = 0; i < MERGE_IOV + 50; i++)
		add(i, DISK_WRITE, (uint64_t)i);
	r = take(&none, 16 * LARGE, 0, MERGE_IOV);
	assert_int_equal(r->merge->niov, MERGE_IOV);
	assert_int_equal(finish(r, 0), MERGE_IOV - 1);
	while (!order_empty(&o))
		order_take(&o, &none, 1);
	/* One that has as many as fit takes nobody, and nobody takes it. */
	for (int i = 0; i < MERGE_IOV; i++)
		many[i] = (struct iovec){ &many[i], 2 };
	for (int first = 0; first < 2; first++) {
		for (int i = 0; i < 2; i++) {
			r = add(i, DISK_WRITE, (uint64_t)i);
			if (i == first) {
				r->io.iov = many;
				r->io.niov = MERGE_IOV;
			}
		}
		take(&none, LARGE, 0, 1);
		take(&none, LARGE, 1, 1);
	}
	merge_pool_fini(&pool);
}

static void
the_look_along_the_line_ends(void **state)
{
	fresh(4);
	add(0, DISK_READ, 10);
	for (int i = 1; i < MERGE_LOOK; i++)
		add(i, DISK_READ, 1000 + 10 * (uint64_t)i);
	add(MERGE_LOOK, DISK_READ, 11);
	for (int i = 1; i <= MERGE_LOOK; i++)
		add(MERGE_LOOK + i, DISK_READ, 2000 + 10 * (uint64_t)i);
	add(2 * MERGE_LOOK + 1, DISK_READ, 12);
	finish(take(&none, LARGE, 10, 2), 0);
	assert_int_equal(o.count, 2 * MERGE_LOOK);
	merge_pool_fini(&pool);
}

static void
a_disk_that_lends_reads_alone(void **state)
{
	fresh(4);
	disk.caps = DISK_CAP_LENDS;
	add(0, DISK_READ, 10);
	add(1, DISK_READ, 11);
	take(&none, LARGE, 10, 1);
	take(&none, LARGE, 11, 1);
	add(0, DISK_WRITE, 10);
	add(1, DISK_WRITE, 11);
	finish(take(&none, LARGE, 10, 2), 0);
	merge_pool_fini(&pool);
}

static void
without_room_in_the_pool_nobody_joins(void **state)
{
	struct bridge_req *a, *b;

	fresh(1);
	for (int i = 0; i < 6; i++)
		add(i, DISK_READ, (uint64_t)(i / 2 * 10 + i % 2));
	a = take(&none, LARGE, 0, 2);
	take(&none, LARGE, 10, 1);
	take(&none, LARGE, 11, 1);
	finish(a, 0);
	b = take(&none, LARGE, 20, 2);
	assert_int_equal(finish(b, 0), 1);
	merge_pool_fini(&pool);
	/* A pool that was never made. */
	assert_null(pool.all);
	add(0, DISK_READ, 0);
	add(1, DISK_READ, 1);
	take(&none, LARGE, 0, 1);
}

/* Random streams: each request is sent once, in a command that is right in all its parts. */
static void
random_streams_come_back_whole(void **state)
{
	static bool in[REQS];
	static struct bridge_req *out[16];
	uint64_t sent = 0, commands = 0, stream = 0;
	int next = 0;

	fresh(12);
	memset(in, 0, sizeof(in));
	for (int step = 0; step < 60000; step++) {
		struct sweep *s = step / 500 % 2 ? &up : &none;
		int k = (int)rnd(ARRAY_LEN(out));

		if (rnd(3)) {
			enum disk_op op = rnd(50) ? (enum disk_op)(step / 40 % 2) : DISK_FLUSH;
			struct bridge_req *r;

			if (in[next] || o.count > 1000)
				continue;
			r = req_make(next, op, rnd(4) ? stream : rnd(300), 1 + rnd(3));
			stream = (r->io.offset + r->io.len) / BLOCK;
			r->io.flags = rnd(10) == 0;
			order_add(&o, r);
			in[next] = true;
			next = (next + 1) % REQS;
		} else if (out[k]) {
			struct merge *m = out[k]->merge;

			if (m) {
				const struct bridge_req *r;

				list_for_each(r, &m->below, link)
					in[number(r)] = false;
				list_for_each(r, &m->above, link)
					in[number(r)] = false;
			}
			in[number(out[k])] = false;
			sent += 1 + finish(out[k], 0);
			commands++;
			out[k] = NULL;
		} else if (!order_empty(&o)) {
			struct bridge_req *r = order_take(&o, s, 1);

			merge_gather(&pool, &o, r, 32 * BLOCK);
			if (r->merge)
				assert_in_range(r->merge->len, 2 * BLOCK, 32 * BLOCK);
			out[k] = r;
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(out); k++)
		if (out[k])
			finish(out[k], 0);
	assert_true(commands > 1000 && sent > commands * 5 / 4);
	merge_pool_fini(&pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sequential_stream_is_one_command),
		cmocka_unit_test(both_sides_join),
		cmocka_unit_test(unlike_neighbours_stay),
		cmocka_unit_test(nobody_comes_from_behind_a_barrier),
		cmocka_unit_test(never_above_the_largest_transfer),
		cmocka_unit_test(never_more_segments_than_there_is_room),
		cmocka_unit_test(the_look_along_the_line_ends),
		cmocka_unit_test(a_disk_that_lends_reads_alone),
		cmocka_unit_test(without_room_in_the_pool_nobody_joins),
		cmocka_unit_test(random_streams_come_back_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
