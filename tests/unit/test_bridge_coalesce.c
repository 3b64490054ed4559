/* Merged commands: one slot, one charge, one result, and each request alone when that is bad. */
#include "policy_rig.h"

#include <time.h>

#include "conf.h"

static void
start_merging(uint32_t can_queue, bool on)
{
	rig_wants.coalesce = on;
	rig_wants.max_xfer = 64 * BLOCK;
	pstart(can_queue, 8, 2);
	pflow(0, 0, "a", 1);
	pflow(1, 0, "b", 1);
	pflow(2, 1, "a", 1);
}

static void
assert_results(int from, int n, int result)
{
	for (int i = from; i < from + n; i++) {
		assert_int_equal(preqs[i].done, 1);
		assert_int_equal(preqs[i].result, result);
	}
}

static void
neighbours_are_one_command(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 20);
	give_back(0, 0);
	assert_int_equal(npcmds, 2);
	assert_command(1, DISK_WRITE, 100, 20);
	assert_int_equal(pcmds[1].niov, 20);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").waiting, 0);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").merged, 19);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waited, 20);
	pcheck();
	assert_int_equal(preqs[first].done, 0);
	give_back(1, 0);
	assert_results(first, 20, 0);
	/* The io of the leader is its own again. */
	assert_int_equal(preqs[first].req.io.len, BLOCK);
	assert_ptr_equal(preqs[first].req.io.iov, &preqs[first].iov);
	pend();
}

static void
not_unless_it_is_asked_for(void **state)
{
	start_merging(1, false);
	ask(0, DISK_WRITE, 100, 5);
	for (int c = 0; c < 5; c++) {
		assert_command(c, DISK_WRITE, 100 + (uint64_t)c, 1);
		give_back(c, 0);
	}
	pend();
}

static void
only_of_the_same_flow(void **state)
{
	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	ask(0, DISK_READ, 100, 1);
	ask(1, DISK_READ, 101, 1);
	ask(2, DISK_READ, 101, 1);
	for (int c = 0; c < 4; c++)
		give_back(c, 0);
	for (int c = 0; c < 4; c++)
		assert_int_equal(pcmds[c].blocks, 1);
	pend();
}

/* Whose fault was it? Each asks for itself, once, and gets its own answer. */
static void
after_an_error_each_is_sent_alone(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 5);
	give_back(0, 0);
	assert_command(1, DISK_WRITE, 100, 5);
	/* A neighbour of the last one, which must not be drawn into it. */
	ask(0, DISK_WRITE, 105, 1);
	give_back(1, -EIO);
	for (int i = 0; i < 5; i++)
		assert_int_equal(preqs[first + i].done, 0);
	for (int c = 2; c < 7; c++) {
		int i = pcmds[c].leader;

		/* Before the one that came later. */
		assert_in_range(i, first, first + 4);
		assert_command(c, DISK_WRITE, 100 + (uint64_t)(i - first), 1);
		pcheck();
		give_back(c, i == first + 2 ? -ENOSPC : 0);
		assert_results(i, 1, i == first + 2 ? -ENOSPC : 0);
	}
	assert_command(7, DISK_WRITE, 105, 1);
	pend();
	assert_int_equal(npcmds, 8);
}

static void
a_failure_alone_is_the_end(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 2);
	give_back(0, 0);
	give_back(1, -EIO);
	give_back(2, -EIO);
	give_back(3, -EIO);
	assert_results(first, 2, -EIO);
	assert_int_equal(npcmds, 4);
	pend();
}

static void
who_rides_is_at_the_disk(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 6);
	/* One that still waits is taken out; those around it are no neighbours any more. */
	assert_int_equal(pcancel(first + 4), BRIDGE_CANCELLED);
	give_back(0, 0);
	assert_command(1, DISK_WRITE, 100, 4);
	assert_int_equal(pcancel(first), BRIDGE_RUNNING);
	assert_int_equal(pcancel(first + 2), BRIDGE_RUNNING);
	pcheck();
	give_back(1, 0);
	assert_results(first, 4, 0);
	pend();
}

/* The others are sent again; who was cancelled is not, whether it led or rode. */
static void
who_was_cancelled_is_not_sent_again(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 4);
	give_back(0, 0);
	assert_int_equal(pcancel(first), BRIDGE_RUNNING);
	assert_int_equal(pcancel(first + 2), BRIDGE_RUNNING);
	give_back(1, -EIO);
	assert_results(first, 1, -EIO);
	assert_results(first + 2, 1, -EIO);
	assert_int_equal(npcmds, 3);
	give_back(2, 0);
	give_back(3, 0);
	assert_results(first + 1, 1, 0);
	assert_results(first + 3, 1, 0);
	assert_int_equal(npcmds, 4);
	pend();
}

/* Waiting to be sent again, they are waiters like others. */
static void
cancelled_before_it_is_sent_again(void **state)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 3);
	give_back(0, 0);
	give_back(1, -EIO);
	assert_int_equal(npcmds, 3);
	for (int i = first; i < first + 3; i++)
		if (i != pcmds[2].leader) {
			assert_int_equal(pcancel(i), BRIDGE_CANCELLED);
			break;
		}
	pcheck();
	pend();
	assert_int_equal(npcmds, 4);
}

/* A sequential initiator and one that is not share commands, not requests. */
static void
one_command_is_one_turn(void **state)
{
	int merged = 0, single = 0;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	ask(0, DISK_WRITE, 2000, 640);
	for (int i = 0; i < 20; i++)
		ask(1, DISK_WRITE, 10000 + 10 * (uint64_t)i, 1);
	for (int c = 0; c < 20; c++)
		give_back(c, 0);
	for (int c = 1; c <= 20; c++) {
		merged += pcmds[c].blocks == 64;
		single += pcmds[c].blocks == 1;
	}
	assert_int_equal(merged, 10);
	assert_int_equal(single, 10);
	pend();
}

/* Riders take no place: with one at each limit, as many as fit ride. */
static void
a_merged_command_takes_one_place(void **state)
{
	start_merging(8, true);
	pflow_with(3, 1, "c", (struct bridge_limits){ .weight = 1, .depth = 1 });
	ask(3, DISK_READ, 1000, 1);
	ask(3, DISK_READ, 100, 30);
	give_back(0, 0);
	assert_command(1, DISK_READ, 100, 30);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "c").in_flight, 1);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "c").max_in_flight, 1);
	pend();
}

static void
a_flush_is_never_passed(void **state)
{
	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	ask(0, DISK_WRITE, 100, 2);
	ask(0, DISK_FLUSH, 0, 1);
	ask(0, DISK_WRITE, 102, 2);
	for (int c = 0; c < 4; c++)
		give_back(c, 0);
	assert_int_equal(npcmds, 4);
	assert_command(1, DISK_WRITE, 100, 2);
	assert_int_equal(pcmds[2].op, DISK_FLUSH);
	assert_command(3, DISK_WRITE, 102, 2);
	pend();
}

static enum disk_result
finish_inside(struct disk_io *io)
{
	io->result = 0;
	disk_io_done(io);
	return DISK_PENDING;
}

static enum disk_result
fail_several(struct disk_io *io)
{
	io->result = io->len > BLOCK ? -EIO : 0;
	return DISK_DONE;
}

/* A disk that is done at once, from within its submit or by its answer, also with an error. */
static void
merged_and_done_at_once(void **state)
{
	enum disk_result (*const ways[])(struct disk_io *) = { finish_inside, fail_several };

	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		int first;

		start_merging(1, true);
		ask(0, DISK_READ, 1000, 1);
		first = ask(0, DISK_WRITE, 100, 200);
		disk_answers = ways[w];
		give_back(0, 0);
		rig_settle();
		assert_results(first, 200, 0);
		assert_int_equal(npcmds, w == 0 ? 5 : 1 + 4 + 200);
		pcheck();
		pend();
	}
}

/* Long enough for a disk that had no room to be asked again. */
static void
until_asked_again(void)
{
	const struct timespec t = { .tv_nsec = 30000000 };

	nanosleep(&t, NULL);
	rig_settle();
}

/* Its disk had no room: who was cancelled there is done, the others are sent again, none is lost. */
static void
cancelled_where_there_was_no_room(void **state)
{
	for (int who = 0; who < 4; who++) {
		int first, sent = 0;

		start_merging(1, true);
		ask(0, DISK_READ, 1000, 1);
		first = ask(0, DISK_WRITE, 100, 4);
		give_back(0, 0);
		assert_command(1, DISK_WRITE, 100, 4);
		assert_int_equal(pcancel(first + who), BRIDGE_RUNNING);
		give_back(1, -EAGAIN);
		for (until_asked_again(); give_back_oldest(0); until_asked_again())
			;
		for (int c = 2; c < npcmds; c++) {
			assert_false(pcmds[c].lba <= 100 + (uint64_t)who &&
			    100 + (uint64_t)who < pcmds[c].lba + pcmds[c].blocks);
			sent += (int)pcmds[c].blocks;
		}
		assert_int_equal(sent, 3);
		for (int i = 0; i < 4; i++)
			assert_results(first + i, 1, i == who ? -EAGAIN : 0);
		pcheck();
		pend();
	}
}

/* They wait for room together; then the one that rides is cancelled, and after it the other one too. */
static void
cancelled_while_they_wait(bool both)
{
	int first;

	start_merging(1, true);
	ask(0, DISK_READ, 1000, 1);
	first = ask(0, DISK_WRITE, 100, 3);
	give_back(0, 0);
	assert_command(1, DISK_WRITE, 100, 3);
	give_back(1, -EAGAIN);
	assert_int_equal(pcancel(first + 1), BRIDGE_RUNNING);
	if (both)
		assert_int_equal(pcancel(first), BRIDGE_CANCELLED);
	for (until_asked_again(); give_back_oldest(0); until_asked_again())
		;
	assert_results(first + 1, 1, -EAGAIN);
	assert_results(first + 2, 1, 0);
	assert_int_equal(npcmds, both ? 3 : 4);
	assert_command(npcmds - 1, DISK_WRITE, 102, 1);
	pcheck();
	pend();
}

static void
cancelled_while_they_wait_for_room(void **state)
{
	cancelled_while_they_wait(false);
	cancelled_while_they_wait(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_one_command),
		cmocka_unit_test(not_unless_it_is_asked_for),
		cmocka_unit_test(only_of_the_same_flow),
		cmocka_unit_test(after_an_error_each_is_sent_alone),
		cmocka_unit_test(a_failure_alone_is_the_end),
		cmocka_unit_test(who_rides_is_at_the_disk),
		cmocka_unit_test(who_was_cancelled_is_not_sent_again),
		cmocka_unit_test(cancelled_before_it_is_sent_again),
		cmocka_unit_test(cancelled_where_there_was_no_room),
		cmocka_unit_test(cancelled_while_they_wait_for_room),
		cmocka_unit_test(one_command_is_one_turn),
		cmocka_unit_test(a_merged_command_takes_one_place),
		cmocka_unit_test(a_flush_is_never_passed),
		cmocka_unit_test(merged_and_done_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
