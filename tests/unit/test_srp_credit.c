/* The request limit: both sides count, and always count the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util.h"

#include "transport/srp/credit.h"

static uint32_t
draw(uint32_t below)
{
	static uint32_t x = 88172645;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

static void
what_is_granted(void **state)
{
	struct credit c;

	srp_credit_init(&c, 3);
	for (int i = 0; i < 3; i++)
		assert_true(srp_credit_take(&c));
	assert_false(srp_credit_take(&c));
	assert_true(srp_credit_ok(&c));
	assert_int_equal(c.busy, 3);
	srp_credit_back(&c);
	/* It has ended, but the initiator does not know yet. */
	assert_false(srp_credit_take(&c));
	assert_int_equal(srp_credit_give(&c), 1);
	assert_int_equal(srp_credit_give(&c), 0);
	assert_true(srp_credit_take(&c));
	assert_true(srp_credit_ok(&c));
}

/* It grows at once, and shrinks by not giving back. */
static void
another_limit(void **state)
{
	struct credit c;

	srp_credit_init(&c, 4);
	srp_credit_resize(&c, 10);
	assert_int_equal(srp_credit_give(&c), 6);
	assert_int_equal(c.req_lim, 10);
	for (int i = 0; i < 8; i++)
		assert_true(srp_credit_take(&c));
	srp_credit_resize(&c, 2);
	for (int i = 0; i < 8; i++) {
		srp_credit_back(&c);
		assert_int_equal(srp_credit_give(&c), 0);
		assert_true(srp_credit_ok(&c));
	}
	assert_int_equal(c.req_lim, 2);
	assert_int_equal(c.total, 2);
	srp_credit_resize(&c, 3);
	assert_int_equal(srp_credit_give(&c), 1);
}

/* What is on its way back goes away first. */
static void
shrinks_what_is_pending(void **state)
{
	struct credit c;

	srp_credit_init(&c, 8);
	for (int i = 0; i < 4; i++)
		srp_credit_take(&c);
	for (int i = 0; i < 4; i++)
		srp_credit_back(&c);
	srp_credit_resize(&c, 6);
	assert_int_equal(c.pending, 2);
	assert_int_equal(c.total, 6);
	srp_credit_resize(&c, 1);
	assert_int_equal(c.pending, 0);
	assert_int_equal(c.total, 4);
	assert_true(srp_credit_ok(&c));
}

/*
 * Many requests, answers, limits. The initiator keeps one credit for task
 * management and may never wait for ever; the target never has more requests
 * than it ever granted.
 */
static void
both_sides(void **state)
{
	for (unsigned seed = 0; seed < 200; seed++) {
		uint32_t lim = 2 + draw(64), most = lim, theirs = lim;
		struct credit c;

		srp_credit_init(&c, lim);
		for (unsigned step = 0; step < 2000; step++) {
			switch (draw(step % 500 < 250 ? 3 : 5)) {
			case 0:
				if (theirs <= (draw(8) ? 1 : 0))
					break;
				theirs--;
				assert_true(srp_credit_take(&c));
				break;
			case 1:
				if (!c.busy)
					break;
				srp_credit_back(&c);
				if (draw(2))
					theirs += srp_credit_give(&c);
				break;
			case 2:
				if (draw(20))
					break;
				lim = 2 + draw(64);
				most = MAX(most, lim);
				srp_credit_resize(&c, lim);
				break;
			default:
				theirs += srp_credit_give(&c);
			}
			assert_true(srp_credit_ok(&c));
			assert_int_equal(theirs, c.req_lim);
			assert_true(c.total <= most);
			if (srp_credit_stuck(&c))
				theirs += srp_credit_give(&c);
			/* With nothing here it can send a command, if it may at all. */
			if (!c.busy)
				assert_true(theirs > 1 || c.total <= 1);
		}
		while (c.busy)
			srp_credit_back(&c);
		theirs += srp_credit_give(&c);
		assert_int_equal(theirs, c.total);
		assert_true(c.total == lim || c.total <= most);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_granted),
		cmocka_unit_test(another_limit),
		cmocka_unit_test(shrinks_what_is_pending),
		cmocka_unit_test(both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
