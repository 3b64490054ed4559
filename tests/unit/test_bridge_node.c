/* A node's credits: taken, given back, owed; and how many of them a reactor may keep. */
#include "bridge_rig.h"

#include "hba/bridge/host.h"

static enum disk_result
no_submit(struct disk_io *io)
{
	return DISK_DONE;
}

static struct bridge_node *
lun_of(unsigned reactors, uint32_t limit)
{
	rig_open(reactors, limit, limit, limit, 1, 1, no_submit);
	return host_find_node(rig.host, BRIDGE_LUN, "d0");
}

/* The rule of docs/BRIDGE.md: min(32, limit / 4N), and less than 2 is none. */
static void
what_a_reactor_may_keep(void **state)
{
	for (int32_t limit = 1; limit <= 8192; limit++)
		for (unsigned n = 1; n <= 64; n++) {
			int32_t want = limit / (int32_t)(4 * n), got = node_bcap(limit, n, 32);

			want = want > 32 ? 32 : want < 2 ? 0 : want;
			assert_int_equal(got, want);
			/* None below 8N; and never more than half is in caches, which hold up to twice that. */
			assert_int_equal(got == 0, limit < (int32_t)(8 * n));
			assert_true(2 * got * (int32_t)n <= limit / 2);
		}
	assert_int_equal(node_bcap(1 << 30, 64, 32), 32);
	assert_int_equal(node_bcap(1 << 30, 64, 0), 0);
	assert_int_equal(node_bcap(1024, 4, 256), 64);
}

static void
claims_take_what_there_is(void **state)
{
	struct bridge_node *n = lun_of(1, 10);

	assert_int_equal(atomic_load(&n->free), 10);
	/* A part of what is free, and at least one. */
	assert_int_equal(atomic_load(&n->divisor), 2);
	assert_int_equal(node_claim(n, 32), 5);
	assert_int_equal(node_claim(n, 2), 2);
	assert_int_equal(node_claim(n, 32), 1);
	assert_int_equal(node_claim(n, 32), 1);
	assert_int_equal(node_claim(n, 32), 1);
	assert_int_equal(node_claim(n, 32), 0);
	assert_int_equal(atomic_load(&n->free), 0);
	node_give(n, 10);
	assert_int_equal(atomic_load(&n->free), 10);
	rig_close();
}

static void
a_fall_is_owed_and_paid(void **state)
{
	struct bridge_node *n = lun_of(1, 10);

	for (int i = 0; i < 8; i++)
		assert_int_equal(node_claim(n, 1), 1);
	host_lock(rig.host);
	node_set_limit(n, 3);
	assert_int_equal(atomic_load(&n->free), 3 - 8);
	assert_true(atomic_load(&n->gate) & GATE_DEBT);
	assert_int_equal(node_claim(n, 1), 0);
	assert_false(node_ready(n));
	for (int i = 0; i < 4; i++) {
		node_give(n, 1);
		node_gate_look(n);
		assert_true(atomic_load(&n->gate) & GATE_DEBT);
		assert_int_equal(node_claim(n, 1), 0);
	}
	node_give(n, 1);
	node_gate_look(n);
	/* Nothing is owed any more, and nothing is free. */
	assert_false(atomic_load(&n->gate) & GATE_DEBT);
	assert_int_equal(node_claim(n, 1), 0);
	node_give(n, 1);
	assert_int_equal(node_claim(n, 1), 1);
	/* Raised above where it was, all of it is there. */
	node_set_limit(n, 10);
	assert_int_equal(atomic_load(&n->free), 7);
	node_give(n, 3);
	host_unlock(rig.host, true);
	rig_settle();
	rig_close();
}

static void
a_fall_of_what_is_free_owes_nothing(void **state)
{
	struct bridge_node *n = lun_of(1, 10);

	host_lock(rig.host);
	assert_int_equal(node_claim(n, 1), 1);
	node_set_limit(n, 1);
	assert_int_equal(atomic_load(&n->free), 0);
	assert_false(atomic_load(&n->gate) & GATE_DEBT);
	node_give(n, 1);
	node_set_limit(n, 10);
	host_unlock(rig.host, true);
	rig_settle();
	rig_close();
}

/* I8: the count of gates is what a recount gives, in whatever order bits come and go. */
static void
gates_are_counted_once(void **state)
{
	struct bridge_node *n = lun_of(1, 10);
	struct bridge_node *t = host_find_node(rig.host, BRIDGE_TARGET, "0:0");

	host_lock(rig.host);
	for (uint32_t bits = 1; bits < 64; bits++) {
		node_gate_set(n, bits);
		assert_int_equal(atomic_load(&rig.host->gates), 1);
		node_gate_set(n, bits & 5);
		node_gate_set(t, 63 & ~bits);
		assert_int_equal(atomic_load(&rig.host->gates), bits == 63 ? 1 : 2);
		node_gate_clear(n, 63 & ~bits);
		assert_int_equal(atomic_load(&n->gate), bits);
		node_gate_clear(n, bits);
		node_gate_clear(n, bits);
		node_gate_clear(t, 63);
		assert_int_equal(atomic_load(&rig.host->gates), 0);
	}
	host_unlock(rig.host, false);
	rig_close();
}

static void
caches_follow_the_limit(void **state)
{
	struct bridge_node *n = lun_of(2, 1024);

	assert_int_equal(atomic_load(&n->cache[0].bcap), 32);
	host_lock(rig.host);
	node_set_limit(n, 64);
	assert_int_equal(atomic_load(&n->cache[0].bcap), 8);
	node_set_limit(n, 16);
	assert_int_equal(atomic_load(&n->cache[0].bcap), 2);
	node_set_limit(n, 15);
	assert_int_equal(atomic_load(&n->cache[0].bcap), 0);
	node_set_limit(n, 1024);
	assert_int_equal(atomic_load(&n->cache[0].bcap), 32);
	host_unlock(rig.host, true);
	rig_settle();
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_reactor_may_keep),
		cmocka_unit_test(claims_take_what_there_is),
		cmocka_unit_test(a_fall_is_owed_and_paid),
		cmocka_unit_test(a_fall_of_what_is_free_owes_nothing),
		cmocka_unit_test(gates_are_counted_once),
		cmocka_unit_test(caches_follow_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
