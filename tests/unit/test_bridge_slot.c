/* A slot's states: each event in each, completions that come twice or late, and the generation's end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "hba/bridge/slot.h"

enum { COUNT = 3 };

enum news {
	LEAVE_FREE,			/* the disk gave it back, and it is free */
	LEAVE_BACK,			/* the same, and it goes to the next */
	LEAVE_OTHER,			/* a completion of who had the tag before */
	LEAVE_STRANGER,			/* of a request that only says it has the tag */
	ABORT,
	EVENTS
};
enum { STATES = SLOT_BACK + 1, SAME = 100 };

/* The state afterwards, and whether the event was believed. */
static const struct { uint8_t to; bool yes; } edges[STATES][EVENTS] = {
	[SLOT_FREE] =     { { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false } },
	[SLOT_HELD] =     { { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false } },
	[SLOT_INFLIGHT] = { { SLOT_FREE, true }, { SLOT_BACK, true }, { SAME, false }, { SAME, false }, { SLOT_ABORTING, false } },
	[SLOT_ABORTING] = { { SLOT_FREE, true }, { SLOT_BACK, true }, { SAME, false }, { SAME, false }, { SAME, false } },
	[SLOT_BACK] =     { { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false }, { SAME, false } },
};

static struct slots slots;
static struct bridge_req before, now, stranger;
static struct bridge_node *nodes[LEVELS];

/* The slot has been used once, by `before`; then `now` has it, in that state. */
static struct slot *
slot_in(enum slot_state state)
{
	struct slot *slot = &slots.slot[1];

	memset(&now, 0, sizeof(now));
	atomic_store(&slot->word, atomic_load(&slot->word) & ~0xffu);
	slot_hold(slot, &before, nodes);
	slot_run(slot, &before);
	assert_true(slot_leave(slot, &before, SLOT_FREE));
	slot_hold(slot, &now, nodes);
	stranger.slot = now.slot;
	stranger.gen = now.gen;
	if (state != SLOT_HELD)
		slot_run(slot, &now);
	if (state == SLOT_ABORTING)
		slot_abort(slot, &now);
	if (state == SLOT_FREE || state == SLOT_BACK)
		assert_true(slot_leave(slot, &now, state));
	assert_int_equal(slot_state(slot), state);
	return slot;
}

static bool
apply(struct slot *slot, enum news e)
{
	switch (e) {
	case LEAVE_FREE:
		return slot_leave(slot, &now, SLOT_FREE);
	case LEAVE_BACK:
		return slot_leave(slot, &now, SLOT_BACK);
	case LEAVE_OTHER:
		return slot_leave(slot, &before, SLOT_FREE);
	case LEAVE_STRANGER:
		return slot_leave(slot, &stranger, SLOT_FREE);
	case ABORT:
		slot_abort(slot, &now);
		return false;
	case EVENTS:
		break;
	}
	fail();
	return false;
}

static void
each_event_in_each_state(void **state)
{
	assert_int_equal(slots_init(&slots, COUNT), 0);
	for (int s = 0; s < STATES; s++)
		for (int e = 0; e < EVENTS; e++) {
			struct slot *slot = slot_in((enum slot_state)s);
			uint32_t word = atomic_load(&slot->word);
			bool yes = apply(slot, (enum news)e);

			assert_int_equal(yes, edges[s][e].yes);
			if (edges[s][e].to == SAME)
				assert_int_equal(atomic_load(&slot->word), word);
			else
				assert_int_equal(slot_state(slot), edges[s][e].to);
			/* Who gave it back does not do so twice. */
			if (yes)
				assert_int_equal(atomic_load(&slot->word) >> 8, (word >> 8) + 1);
			assert_false(yes && apply(slot, (enum news)e));
		}
	slots_fini(&slots);
}

static void
a_request_is_held_only_in_flight(void **state)
{
	assert_int_equal(slots_init(&slots, COUNT), 0);
	for (int s = 0; s < STATES; s++) {
		struct slot *slot = slot_in((enum slot_state)s);

		assert_int_equal(slot_is_held(slot, &now), s == SLOT_INFLIGHT || s == SLOT_ABORTING);
		assert_false(slot_is_held(slot, &before));
		assert_false(slot_is_held(slot, &stranger));
	}
	slots_fini(&slots);
}

static void
done_inside_submit_needs_no_race(void **state)
{
	struct slot *slot;
	uint32_t gen;

	assert_int_equal(slots_init(&slots, COUNT), 0);
	slot = slot_in(SLOT_INFLIGHT);
	gen = now.gen;
	slot_leave_inline(slot, &now, SLOT_FREE);
	assert_int_equal(atomic_load(&slot->word), (gen + 0x100) | SLOT_FREE);
	assert_false(slot_leave(slot, &now, SLOT_FREE));
	slots_fini(&slots);
}

/* 2^24 uses of one tag later the number begins again; only that very completion would be believed. */
static void
the_generation_wraps(void **state)
{
	struct slot *slot;

	assert_int_equal(slots_init(&slots, COUNT), 0);
	slot = &slots.slot[1];
	atomic_store(&slot->word, 0xffffff00u);
	slot_hold(slot, &before, nodes);
	assert_int_equal(before.gen, 0xffffff00u);
	slot_run(slot, &before);
	assert_true(slot_leave(slot, &before, SLOT_FREE));
	assert_int_equal(atomic_load(&slot->word), SLOT_FREE);
	slot_hold(slot, &now, nodes);
	assert_int_equal(now.gen, 0);
	slot_run(slot, &now);
	assert_false(slot_leave(slot, &before, SLOT_FREE));
	assert_true(slot_leave(slot, &now, SLOT_FREE));
	assert_int_equal(atomic_load(&slot->word) >> 8, 1);
	slots_fini(&slots);
}

static void
no_such_slot(void **state)
{
	static const uint32_t bad[] = { COUNT + SLOTS_RESERVED, COUNT + SLOTS_RESERVED + 1, 1u << 31,
		UINT32_MAX };

	assert_int_equal(slots_init(&slots, COUNT), 0);
	for (uint32_t i = 0; i < COUNT + SLOTS_RESERVED; i++) {
		now.slot = i;
		assert_ptr_equal(slot_of(&slots, &now), &slots.slot[i]);
		assert_int_equal(slot_is_reserved(&slots, &slots.slot[i]), i >= COUNT);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		now.slot = bad[i];
		assert_null(slot_of(&slots, &now));
	}
	slots_fini(&slots);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_in_each_state),
		cmocka_unit_test(a_request_is_held_only_in_flight),
		cmocka_unit_test(done_inside_submit_needs_no_race),
		cmocka_unit_test(the_generation_wraps),
		cmocka_unit_test(no_such_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
