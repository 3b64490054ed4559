/* The waiting order of one flow, and the tree under it. */
#include "order_rig.h"

#include "util.h"

enum { MS = 1000000 };

static struct order o;
static struct sweep up = { .on = true }, none;

static void
fresh(void)
{
	order_init(&o);
	up.at = 0;
}

static void
add(int i, enum disk_op op, uint64_t lba)
{
	order_add(&o, req_make(i, op, lba, 1));
}

/* Takes them all out and compares their numbers with the list, which ends with -1. */
static void
assert_taken(struct sweep *s, uint64_t now, const int *want)
{
	for (; *want >= 0; want++) {
		assert_false(order_empty(&o));
		assert_int_equal(number(order_take(&o, s, now)), *want);
	}
	assert_true(order_empty(&o));
}

/* -- the tree -- */

static unsigned
tree_depth(const struct bridge_req *n)
{
	unsigned l, r;

	if (!n)
		return 0;
	assert_true(!n->up || n->up->weight >= n->weight);
	assert_true(!n->left || n->left->up == n);
	assert_true(!n->right || n->right->up == n);
	l = tree_depth(n->left);
	r = tree_depth(n->right);
	return 1 + MAX(l, r);
}

/* Neither ascending nor descending addresses make it a list. */
static void
the_tree_stays_flat(void **state)
{
	for (int down = 0; down < 3; down++) {
		struct tree t;

		tree_init(&t);
		for (int i = 0; i < REQS; i++)
			tree_add(&t, req_make(i, DISK_READ,
			    (uint64_t)(down == 2 ? 7 : down ? REQS - i : i), 1));
		/* A random tree of 4096 is about 30 deep; 70 comes once in ages. */
		assert_in_range(tree_depth(t.root), 12, 70);
		for (int i = 0; i < REQS; i++)
			tree_del(&t, &reqs[i]);
		assert_null(t.root);
	}
}

/* Against a plain array: many equal addresses, and all orders of coming and going. */
static void
the_tree_finds_what_a_list_finds(void **state)
{
	enum { N = 200 };
	static int line[N];		/* present ones, as they came */
	int n = 0;
	struct tree t;
	bool in[N] = { false };

	tree_init(&t);
	for (int step = 0; step < 20000; step++) {
		int i = (int)rnd(N);
		uint64_t at = rnd(70) * BLOCK;
		const struct bridge_req *from = NULL, *before = NULL;

		if (in[i]) {
			int k = 0;

			tree_del(&t, &reqs[i]);
			while (line[k] != i)
				k++;
			memmove(&line[k], &line[k + 1], (size_t)(n - k - 1) * sizeof(line[0]));
			n--;
		} else {
			tree_add(&t, req_make(i, DISK_READ, rnd(64), 1));
			line[n++] = i;
		}
		in[i] = !in[i];
		for (int k = 0; k < n; k++) {
			const struct bridge_req *r = &reqs[line[k]];

			if (r->io.offset >= at && (!from || r->io.offset < from->io.offset))
				from = r;
			if (r->io.offset < at && (!before || r->io.offset >= before->io.offset))
				before = r;
		}
		assert_ptr_equal(tree_from(&t, at), from);
		assert_ptr_equal(tree_before(&t, at), before);
		if (step % 100 == 0)
			tree_depth(t.root);
	}
}

/* -- order -- */

static void
without_a_scheduler_they_leave_as_they_came(void **state)
{
	fresh();
	add(0, DISK_WRITE, 50);
	add(1, DISK_READ, 10);
	add(2, DISK_FLUSH, 0);
	add(3, DISK_WRITE, 5);
	assert_int_equal(o.count, 4);
	assert_taken(&none, 1, (const int[]){ 0, 1, 2, 3, -1 });
}

static void
the_sweep_goes_up_and_begins_again(void **state)
{
	fresh();
	up.at = 40 * BLOCK;
	add(0, DISK_READ, 50);
	add(1, DISK_READ, 10);
	add(2, DISK_READ, 40);
	add(3, DISK_READ, 70);
	add(4, DISK_READ, 39);
	assert_taken(&up, 1, (const int[]){ 2, 0, 3, 1, 4, -1 });
	assert_int_equal(up.at, 40 * BLOCK);
}

/* Two flows of one LUN follow the same sweep. */
static void
flows_of_a_lun_share_the_sweep(void **state)
{
	static struct order other;
	uint64_t last = 0;

	fresh();
	order_init(&other);
	for (int i = 0; i < 20; i++) {
		order_add(&o, req_make(i, DISK_READ, (uint64_t)(i * 7 % 20) * 10, 1));
		order_add(&other, req_make(100 + i, DISK_READ, (uint64_t)(i * 3 % 20) * 10 + 5, 1));
	}
	for (int i = 0; i < 15; i++) {
		const struct bridge_req *r = order_take(i % 2 ? &o : &other, &up, 1);

		assert_true(r->io.offset >= last);
		last = r->io.offset;
	}
}

static void
equal_addresses_leave_as_they_came(void **state)
{
	fresh();
	for (int i = 0; i < 5; i++)
		add(i, DISK_WRITE, 3);
	assert_int_equal(number(order_take(&o, &up, 1)), 0);
	up.at = 0;
	assert_int_equal(number(order_take(&o, &up, 1)), 1);
	up.at = 0;
	assert_int_equal(number(order_take(&o, &up, 1)), 2);
}

static void
reads_go_first_but_not_always(void **state)
{
	int run = 0, longest = 0, writes = 0;

	fresh();
	for (int i = 0; i < 1000; i++)
		add(i, i % 2 ? DISK_WRITE : DISK_READ, rnd(100000));
	for (int i = 0; i < 500; i++) {
		const struct bridge_req *r = order_take(&o, &up, 2);

		if (r->io.op == DISK_WRITE) {
			writes++;
			run = 0;
		} else if (i > ORDER_BATCH) {
			run++;
			longest = MAX(longest, run);
		}
	}
	assert_true(writes > 100 && writes < 250);
	assert_in_range(longest, ORDER_BATCH, ORDER_BATCH * ORDER_READS_FIRST);
}

/*
 * However many new ones come ahead of the sweep, who waited too long is next
 * when the batch ends.
 */
static void
who_waits_too_long_is_next(void **state)
{
	static const uint64_t patience[] = {
		[DISK_READ] = ORDER_READ_NS, [DISK_WRITE] = ORDER_WRITE_NS,
	};

	for (int op = DISK_READ; op <= DISK_WRITE; op++) {
		int taken = 0, next = 1;

		fresh();
		add(0, (enum disk_op)op, 1);
		reqs[0].wait_ns = 10 * MS;
		up.at = 100 * BLOCK;
		for (;; taken++) {
			struct bridge_req *r;
			/* One each time, all ahead. */
			add(next, (enum disk_op)op, 1000 + (uint64_t)next);
			reqs[next].wait_ns = 10 * MS + patience[op];
			next++;
			r = order_take(&o, &up, 10 * MS + patience[op] - (taken < 40));
			if (number(r) == 0)
				break;
			assert_true(taken < 1000);
		}
		/* Not before its time, and then within one batch. */
		assert_in_range(taken, 40, 40 + ORDER_BATCH);
	}
}

static void
one_from_the_future_is_not_old(void **state)
{
	fresh();
	add(0, DISK_READ, 1);
	add(1, DISK_READ, 200);
	reqs[0].wait_ns = reqs[1].wait_ns = 1000 * MS;
	up.at = 100 * BLOCK;
	assert_int_equal(number(order_take(&o, &up, 1)), 1);
}

static void
nothing_passes_a_barrier(void **state)
{
	fresh();
	add(0, DISK_READ, 50);
	add(1, DISK_WRITE, 10);
	add(2, DISK_FLUSH, 0);
	add(3, DISK_READ, 5);
	add(4, DISK_READ, 2);
	add(5, DISK_UNMAP, 1);
	add(6, DISK_ZERO, 0);
	add(7, DISK_WRITE, 0);
	up.at = 0;
	assert_taken(&up, 1, (const int[]){ 0, 1, 2, 4, 3, 5, 6, 7, -1 });
}

static void
what_comes_again_is_next(void **state)
{
	fresh();
	add(0, DISK_READ, 50);
	add(1, DISK_READ, 10);
	order_add_again(&o, req_make(2, DISK_WRITE, 90, 1));
	order_add_again(&o, req_make(3, DISK_FLUSH, 0, 0));
	assert_taken(&up, 1, (const int[]){ 2, 3, 1, 0, -1 });
}

/* Whoever is sorted when the scheduler is switched off goes before those that came after. */
static void
switching_loses_nobody(void **state)
{
	fresh();
	for (int i = 0; i < 10; i++)
		add(i, DISK_READ, (uint64_t)(10 - i));
	assert_int_equal(number(order_take(&o, &up, 1)), 9);
	add(10, DISK_READ, 0);
	none.at = up.at;
	for (int i = 8; i >= 0; i--)
		assert_int_equal(number(order_take(&o, &none, 1)), i);
	assert_int_equal(number(order_take(&o, &none, 1)), 10);
	assert_true(order_empty(&o));
}

/*
 * Random steps against a plain list: everyone leaves once, nobody passes a
 * barrier either way, what comes again is first; and when the sweep is off and
 * nobody is sorted, as they came.
 */
static void
random_steps_keep_the_contract(void **state)
{
	enum { N = 500 };
	static struct { bool in, again; uint64_t turn; } m[N];
	struct sweep s = { 0 };
	uint64_t turn = 0, now = 1000ull * MS;
	int inside = 0, taken = 0, deleted = 0;
	bool sorted = false;

	fresh();
	memset(m, 0, sizeof(m));
	for (int step = 0; step < 100000; step++) {
		int i = (int)rnd(N);
		unsigned what = rnd(100);

		now += rnd(MS);
		if (what < 1)
			s.on = !s.on;
		if (m[i].in && what < 20) {
			order_del(&o, &reqs[i]);
			m[i].in = false;
			deleted++;
			inside--;
		} else if (!m[i].in && what < 60) {
			enum disk_op op = (enum disk_op)(rnd(12) ? rnd(2) : 2 + rnd(3));

			req_make(i, op, rnd(1000), 1 + rnd(8))->wait_ns = now;
			m[i].in = true;
			m[i].turn = turn++;
			m[i].again = rnd(20) == 0;
			(m[i].again ? order_add_again : order_add)(&o, &reqs[i]);
			inside++;
		} else if (!order_empty(&o)) {
			int k = number(order_take(&o, &s, now));
			bool is_barrier = !order_is_transfer(&reqs[k]);

			sorted |= s.on;
			assert_true(m[k].in);
			for (int j = 0; j < N; j++) {
				if (!m[j].in || j == k)
					continue;
				/* Again: first of all, in their order. */
				if (m[j].again)
					assert_true(m[k].again && m[j].turn > m[k].turn);
				else if (!m[k].again && (is_barrier || !sorted ||
				    !order_is_transfer(&reqs[j])))
					assert_true(m[j].turn > m[k].turn);
			}
			m[k].in = false;
			taken++;
			inside--;
		}
		if (inside == 0)
			sorted = false;
		assert_int_equal(o.count, inside);
		if (step % 500 == 0) {
			int n = 0;

			for (const struct bridge_req *r = NULL; (r = order_next(&o, r)); n++)
				assert_true(m[number(r)].in);
			assert_int_equal(n, inside);
		}
	}
	assert_true(taken > 10000 && deleted > 3000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_stays_flat),
		cmocka_unit_test(the_tree_finds_what_a_list_finds),
		cmocka_unit_test(without_a_scheduler_they_leave_as_they_came),
		cmocka_unit_test(the_sweep_goes_up_and_begins_again),
		cmocka_unit_test(flows_of_a_lun_share_the_sweep),
		cmocka_unit_test(equal_addresses_leave_as_they_came),
		cmocka_unit_test(reads_go_first_but_not_always),
		cmocka_unit_test(who_waits_too_long_is_next),
		cmocka_unit_test(one_from_the_future_is_not_old),
		cmocka_unit_test(nothing_passes_a_barrier),
		cmocka_unit_test(what_comes_again_is_next),
		cmocka_unit_test(switching_loses_nobody),
		cmocka_unit_test(random_steps_keep_the_contract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
