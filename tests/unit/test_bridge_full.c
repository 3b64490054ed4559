/* Disks with less room than configured, and slow ones: the LUN's depth follows. */
#include "policy_rig.h"

#include <time.h>

#include "hba/bridge/lun.h"

enum { MS = 1000000 };

static void
nap_ms(unsigned ms)
{
	const struct timespec t = { .tv_nsec = ms * MS };

	nanosleep(&t, NULL);
	rig_settle();
}

static enum disk_result
has_no_room(struct disk_io *io)
{
	io->result = -EAGAIN;
	return DISK_DONE;
}

static enum disk_result
done_at_once(struct disk_io *io)
{
	io->result = 0;
	return DISK_DONE;
}

static void
start_full(uint32_t lun_depth, int room)
{
	pstart(64, lun_depth, 2);
	disk_room = room;
	pflow(0, 0, "a", 1);
	pflow(1, 0, "b", 1);
	pflow(2, 1, "a", 1);
}

static uint32_t
limit(void)
{
	return rig_stats(BRIDGE_LUN, "d0").limit;
}

static void
the_depth_becomes_the_disks_room(void **state)
{
	int refused;

	start_full(16, 4);
	ask(0, DISK_READ, 0, 20);
	assert_in_range(limit(), 4, 5);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").configured, 16);
	assert_int_equal(disk_now, 4);
	pcheck();
	refused = npcmds - 4;
	/* 16 found their way past the limit at most before it was known. */
	assert_in_range(refused, 1, 16);
	while (give_back_oldest(0))
		;
	/*
	 * From there on hardly anyone is refused: but for the one more that is
	 * tried each 100 ms.
	 */
	assert_in_range(npcmds, 20 + refused, 20 + refused + 4);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(preqs[i].done, 1);
		assert_int_equal(preqs[i].result, 0);
	}
	/* The other LUN knows nothing of it. */
	assert_int_equal(rig_stats(BRIDGE_LUN, "d1").limit, 16);
	pend();
}

static void
it_grows_again(void **state)
{
	uint64_t from;

	start_full(6, 2);
	ask(0, DISK_READ, 0, 6);
	assert_in_range(limit(), 2, 3);
	disk_room = 0;
	from = now_ns();
	while (limit() < 6) {
		assert_true(now_ns() - from < 20000ull * MS);
		nap_ms(5);
	}
	assert_true(now_ns() - from >= 200ull * MS);
	/* Those that waited have been sent as it grew. */
	assert_int_equal(disk_now, 6);
	pcheck();
	pend();
}

/*
 * With nothing at the disk that could come back, it is asked again after a
 * while, and not all the time.
 */
static void
a_full_disk_is_not_pestered(void **state)
{
	uint64_t from = now_ns();
	int asked;

	start_full(16, 0);
	disk_answers = has_no_room;
	ask(0, DISK_READ, 0, 3);
	for (int i = 0; i < 20; i++)
		nap_ms(5);
	asked = npcmds;
	assert_in_range(asked, 3, 4 + 3 * (int)((now_ns() - from) / LUN_RETRY_NS));
	assert_int_equal(limit(), 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 0);
	pcheck();
	disk_answers = done_at_once;
	from = now_ns();
	while (!preqs[0].done || !preqs[1].done || !preqs[2].done) {
		assert_true(now_ns() - from < 20000ull * MS);
		nap_ms(1);
	}
	assert_int_equal(preqs[0].result, 0);
	pend();
}

static void
after_a_time_the_initiator_hears_it(void **state)
{
	uint64_t from = now_ns();

	lun_patience_ns = 100ull * MS;
	start_full(16, 0);
	disk_answers = has_no_room;
	ask(0, DISK_READ, 0, 2);
	while (!preqs[0].done || !preqs[1].done) {
		assert_true(now_ns() - from < 20000ull * MS);
		nap_ms(5);
	}
	assert_true(now_ns() - from >= 100ull * MS);
	assert_int_equal(preqs[0].result, -EAGAIN);
	assert_int_equal(preqs[1].result, -EAGAIN);
	lun_patience_ns = 5000ull * MS;
	pend();
}

static void
refused_late_it_waits_in_front(void **state)
{
	int first, second;

	start_full(2, 0);
	first = ask(0, DISK_READ, 0, 2);
	second = ask(0, DISK_READ, 100, 1);
	/* The disk took it, and then had no room. */
	give_back(0, -EAGAIN);
	assert_int_equal(preqs[first].done, 0);
	assert_int_equal(limit(), 1);
	pcheck();
	give_back(1, 0);
	assert_int_equal(pcmds[2].leader, first);
	give_back(2, 0);
	assert_int_equal(pcmds[3].leader, second);
	pend();
}

static void
cancelled_while_it_waits_to_be_sent_again(void **state)
{
	int first;

	start_full(2, 0);
	first = ask(0, DISK_READ, 0, 2);
	give_back(0, -EAGAIN);
	assert_int_equal(pcancel(first), BRIDGE_CANCELLED);
	pcheck();
	give_back(1, 0);
	assert_int_equal(npcmds, 2);
	/* Cancelled at the disk, it is not sent again. */
	first = ask(0, DISK_READ, 0, 1);
	assert_int_equal(pcancel(first), BRIDGE_RUNNING);
	give_back(2, -EAGAIN);
	assert_int_equal(preqs[first].done, 1);
	assert_int_equal(preqs[first].result, -EAGAIN);
	assert_int_equal(npcmds, 3);
	pcheck();
	pend();
}

/* A merged command is sent again as it is; without its leader, its riders go alone. */
static void
a_merged_command_is_sent_again(void **state)
{
	int first;

	rig_wants.coalesce = true;
	rig_wants.max_xfer = 64 * BLOCK;
	start_full(1, 0);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_READ, 0, 4);
	give_back(0, 0);
	assert_command(1, DISK_READ, 0, 4);
	give_back(1, -EAGAIN);
	for (int i = 0; i < 1000 && npcmds < 3; i++)
		nap_ms(1);
	assert_command(2, DISK_READ, 0, 4);
	give_back(2, -EAGAIN);
	assert_int_equal(pcancel(first + 1), BRIDGE_RUNNING);
	assert_int_equal(pcancel(first), BRIDGE_CANCELLED);
	pcheck();
	for (int i = 0; i < 1000 && npcmds < 4; i++)
		nap_ms(1);
	assert_command(3, DISK_READ, 2, 1);
	assert_int_equal(preqs[first].done, 0);
	assert_int_equal(preqs[first + 1].done, 1);
	pend();
}

/* Who is cancelled in it comes home; who rode with it goes on alone. */
static void
a_refused_leader_that_was_cancelled_leaves_its_riders(void **state)
{
	int first;

	rig_wants.coalesce = true;
	rig_wants.max_xfer = 64 * BLOCK;
	start_full(1, 0);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_READ, 0, 4);
	give_back(0, 0);
	assert_command(1, DISK_READ, 0, 4);
	assert_int_equal(pcancel(first), BRIDGE_RUNNING);
	assert_int_equal(pcancel(first + 2), BRIDGE_RUNNING);
	give_back(1, -EAGAIN);
	for (int i = first; i < first + 4; i++)
		assert_int_equal(preqs[i].done, i % 2 == first % 2);
	assert_int_equal(preqs[first].result, -EAGAIN);
	assert_int_equal(preqs[first].req.io.len, BLOCK);
	pcheck();
	for (int i = 0; i < 1000 && npcmds < 3; i++)
		nap_ms(1);
	assert_command(2, DISK_READ, 1, 1);
	give_back(2, 0);
	assert_command(3, DISK_READ, 3, 1);
	pend();
	assert_int_equal(preqs[first + 1].result, 0);
	assert_int_equal(preqs[first + 3].result, 0);
}

static void
what_may_not_wait_is_told(void **state)
{
	int i;

	start_full(16, 0);
	disk_answers = has_no_room;
	i = ask_by(bridge_try, 0, DISK_READ, 0, 1, 1, 0);
	assert_int_equal(preqs[i].verdict, BRIDGE_WOULD_WAIT);
	/* For error handling neither: it stands beside limits, and has its answer as it is. */
	i = ask_by(bridge_urgent, 0, DISK_READ, 0, 1, 1, 0);
	assert_int_equal(preqs[i].verdict, BRIDGE_DONE);
	assert_int_equal(preqs[i].result, -EAGAIN);
	assert_int_equal(limit(), 16);
	pcheck();
	pend();
}

static void
the_administrator_has_the_last_word(void **state)
{
	start_full(16, 4);
	ask(0, DISK_READ, 0, 20);
	assert_in_range(limit(), 4, 5);
	disk_room = 0;
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_LUN, "d0", 10), 0);
	rig_settle();
	assert_int_equal(limit(), 10);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").configured, 10);
	assert_int_equal(disk_now, 10);
	pcheck();
	pend();
}

/* Each command stays so long that its latency is over the target, whatever the machine does. */
static void
a_slow_disk_gets_less(void **state)
{
	rig_wants.latency_target_ns = 1 * MS;
	start_full(32, 0);
	for (int round = 0; round < 6; round++) {
		ask(0, DISK_READ, 0, 40);
		nap_ms(10);
		while (give_back_oldest(0))
			;
	}
	nap_ms(2);
	assert_in_range(limit(), 1, 24);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").configured, 32);
	pcheck();
	pend();
}

static void
a_fast_disk_keeps_its_depth(void **state)
{
	rig_wants.latency_target_ns = 10000ull * MS;
	start_full(32, 0);
	for (int round = 0; round < 6; round++) {
		ask(0, DISK_READ, 0, 40);
		nap_ms(5);
		while (give_back_oldest(0))
			;
	}
	assert_int_equal(limit(), 32);
	pend();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_depth_becomes_the_disks_room),
		cmocka_unit_test(it_grows_again),
		cmocka_unit_test(a_full_disk_is_not_pestered),
		cmocka_unit_test(after_a_time_the_initiator_hears_it),
		cmocka_unit_test(refused_late_it_waits_in_front),
		cmocka_unit_test(cancelled_while_it_waits_to_be_sent_again),
		cmocka_unit_test(a_merged_command_is_sent_again),
		cmocka_unit_test(a_refused_leader_that_was_cancelled_leaves_its_riders),
		cmocka_unit_test(what_may_not_wait_is_told),
		cmocka_unit_test(the_administrator_has_the_last_word),
		cmocka_unit_test(a_slow_disk_gets_less),
		cmocka_unit_test(a_fast_disk_keeps_its_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
