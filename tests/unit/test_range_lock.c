/* Range locks: who waits for whom. */
#include "range_rig.h"

#include <errno.h>

static void
what_overlaps_waits(void **state)
{
	struct fake_cmd *lock = locked(), *wait[6];
	static const struct { uint32_t lba; uint16_t blocks; } free_ones[] = {
		{ 0, 10 }, { 14, 1 }, { 9, 1 }, { 100, 100 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(free_ones); i++) {
		DONE(fake_read(b, LUN_B, free_ones[i].lba, free_ones[i].blocks), SCSI_GOOD);
		DONE(fake_write(a, 0, free_ones[i].lba, free_ones[i].blocks, 0, DATA_BORROWED),
		    SCSI_GOOD);
	}
	DONE(fake_in(b, LUN_B, CDB(OP_SYNC_CACHE_10), 0), SCSI_GOOD);
	DONE(fake_in(b, LUN_B, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
	wait[0] = fake_read(b, LUN_B, 9, 2);
	wait[1] = fake_read(a, 0, 0, 11);
	wait[2] = fake_in(b, LUN_B, CDB(OP_VERIFY_10, 0, 0, 0, 0, 12, 0, 0, 9), 0);
	wait[3] = fake_write(b, LUN_B, 12, 1, 0x22, DATA_BORROWED);
	wait[4] = send_out(a, CDB(OP_WRITE_SAME_10, 0, 0, 0, 0, 13, 0, 0, 3), 512, 0x33, DATA_POOL);
	wait[5] = caw_b(13, 2, 0x33, 0x44);
	for (unsigned i = 0; i < ARRAY_LEN(wait); i++)
		assert_int_equal(wait[i]->dones, 0);
	release(1);
	DONE(lock, SCSI_GOOD);
	/* What was read before the lock's write would be 0. */
	assert_true(all_bytes(wait[0]->in + 512, 512, 0x11));
	assert_true(all_bytes(wait[1]->in + 10 * 512, 512, 0x11));
	for (unsigned i = 0; i < ARRAY_LEN(wait); i++)
		DONE(wait[i], SCSI_GOOD);
	assert_true(all_bytes(disk->mem + 10 * 512, 1024, 0x11));
	assert_true(all_bytes(disk->mem + 12 * 512, 512, 0x22));
	assert_true(all_bytes(disk->mem + 13 * 512, 1024, 0x44));
	assert_true(all_bytes(disk->mem + 15 * 512, 512, 0x33));
	stop();
}

static void
the_lock_waits_for_what_the_disk_has(void **state)
{
	static const bool writes[] = { false, true };

	for (unsigned i = 0; i < ARRAY_LEN(writes); i++) {
		struct fake_cmd *before[2], *lock;
		unsigned reads;

		start();
		hold(true);
		before[0] = writes[i] ? fake_write(b, LUN_B, 8, 3, 0x77, DATA_POOL) :
		    fake_read(b, LUN_B, 8, 3);
		before[1] = writes[i] ? fake_write(a, 0, 13, 1, 0x77, DATA_POOL) :
		    fake_read(a, 0, 13, 1);
		hold(false);
		reads = disk->ops[DISK_READ];
		lock = caw_a(10, 4, 0, 0x11);
		assert_int_equal(disk->ops[DISK_READ], reads);
		release(1);
		assert_int_equal(disk->ops[DISK_READ], reads);
		assert_int_equal(lock->dones, 0);
		release(1);
		assert_int_equal(disk->ops[DISK_READ], reads + 1);
		if (writes[i])
			assert_sense(lock, KEY_MISCOMPARE, 0x1d, 0x00);
		else
			assert_status(lock, SCSI_GOOD);
		fake_cmd_free(lock);
		for (unsigned j = 0; j < 2; j++) {
			if (!writes[i])
				assert_true(all_bytes(before[j]->in, 512, 0));
			DONE(before[j], SCSI_GOOD);
		}
		stop();
	}
}

/* Also at the bridge a command is on its way to the disk. */
static void
the_lock_waits_for_what_waits_at_the_bridge(void **state)
{
	struct fake_cmd *other, *waits, *lock;

	fake_world_init(1);
	fakes.adapter.lun_depth = 1;
	disk->hold[DISK_WRITE] = true;
	assert_int_equal(fake_world_start(2), 0);
	a = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	b = fake_login_quiet(1, "iqn.2026-11.test:b", 1);
	other = fake_write(b, LUN_B, 100, 1, 1, DATA_POOL);
	waits = fake_write(b, LUN_B, 10, 1, 1, DATA_POOL);
	lock = caw_a(10, 1, 1, 2);
	release(1);
	assert_int_equal(disk->ops[DISK_READ], 0);
	release(1);
	DONE(other, SCSI_GOOD);
	DONE(waits, SCSI_GOOD);
	release(1);
	DONE(lock, SCSI_GOOD);
	disk->hold[DISK_WRITE] = false;
	stop();
}

static void
ranges_apart_go_together(void **state)
{
	struct fake_cmd *fc[2];

	start();
	disk->hold[DISK_READ] = true;
	fc[0] = caw_a(10, 4, 0, 1);
	fc[1] = caw_b(14, 4, 0, 2);
	assert_int_equal(fake_disk_held(disk), 2);
	disk->hold[DISK_READ] = false;
	release(2);
	DONE(fc[0], SCSI_GOOD);
	DONE(fc[1], SCSI_GOOD);
	stop();
}

static void
each_has_its_turn(void **state)
{
	struct fake_cmd *lock[6], *read[6];

	start();
	disk->hold[DISK_READ] = true;
	/* Each depends on the one before, and between two of them somebody reads. */
	for (uint8_t i = 0; i < 6; i++) {
		lock[i] = i % 2 ? caw_b(10, 1, i, i + 1) : caw_a(10, 1, i, i + 1);
		read[i] = i % 2 ? fake_read(a, 0, 10, 1) : fake_read(b, LUN_B, 10, 1);
	}
	assert_int_equal(fake_disk_held(disk), 1);
	for (uint8_t i = 0; i < 6; i++) {
		release(1);
		assert_status(lock[i], SCSI_GOOD);
		assert_int_equal(read[i]->dones, 0);
		release(1);
		assert_true(all_bytes(read[i]->in, 512, i + 1));
		DONE(lock[i], SCSI_GOOD);
		DONE(read[i], SCSI_GOOD);
	}
	disk->hold[DISK_READ] = false;
	stop();
}

static void
who_logs_in_meets_the_lock(void **state)
{
	struct fake_cmd *lock = locked(), *fc;
	struct nexus *late = fake_login_quiet(0, "iqn.2026-11.test:late", 1);

	fc = fake_write(late, 0, 10, 1, 0x22, DATA_BORROWED);
	assert_int_equal(fc->dones, 0);
	release(1);
	DONE(lock, SCSI_GOOD);
	DONE(fc, SCSI_GOOD);
	assert_true(all_bytes(disk->mem + 10 * 512, 512, 0x22));
	assert_int_equal(late->luns[0]->hot, 0);
	fake_logout(late, NULL);
	stop();
}

static void
the_lock_waits_for_an_orphan(void **state)
{
	struct fake_cmd *orphan, *lock;
	struct fake_tmf ft;

	start();
	disk->hold[DISK_WRITE] = true;
	orphan = fake_write(b, LUN_B, 10, 1, 0x55, DATA_POOL);
	lock = caw_a(10, 1, 0x55, 0x66);
	/* It becomes one while the lock waits for it already. */
	fake_tmf(&ft, b, TMF_ABORT_TASK, LUN_B, orphan->cmd.tag);
	disk->hold[DISK_WRITE] = false;
	fake_settle();
	assert_int_equal(disk->ops[DISK_READ], 0);
	assert_int_equal(lock->dones, 0);
	release(1);
	SILENT(orphan);
	assert_int_equal(ft.response, TMF_COMPLETE);
	DONE(lock, SCSI_GOOD);
	stop();
}

/* The first piece of a WRITE SAME is in the disk; the lock gets in before the second. */
static void
a_command_of_many_steps_lets_a_lock_in(void **state)
{
	struct fake_cmd *same, *lock;

	start();
	hold(true);
	same = send_out(a, CDB(OP_WRITE_SAME_10, 0, 0, 0, 0, 0, 0, 6, 0), 512, 0x78, DATA_POOL);
	lock = caw_b(600, 1, 0, 1);
	assert_int_equal(fake_disk_held(disk), 2);
	release(1);		/* the piece; the next one parks */
	assert_int_equal(disk->ops[DISK_WRITE], 1);
	assert_int_equal(same->dones, 0);
	hold(false);
	release(2);
	DONE(lock, SCSI_GOOD);
	DONE(same, SCSI_GOOD);
	assert_true(all_bytes(disk->mem, 1536 * 512, 0x78));
	stop();
}

/* -- disks that lend -- */

static struct fake_cmd *
read_kept(struct nexus *nexus, unsigned lun)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, lun, CDB(OP_READ_10, 0, 0, 0, 0, 10, 0, 0, 2));

	fake_cmd_expect(fc, 0, 1024, 0);
	fc->keep = true;
	fake_cmd_submit(fc);
	fake_settle();
	assert_status(fc, SCSI_GOOD);
	return fc;
}

static void
what_is_lent_is_sent_before_the_first_lock(void **state)
{
	struct fake_cmd *read, *lock, *behind;

	fake_world_init(1);
	disk->caps = DISK_CAP_LENDS | DISK_CAP_INLINE;
	assert_int_equal(fake_world_start(2), 0);
	a = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	b = fake_login_quiet(1, "iqn.2026-11.test:b", 1);
	read = read_kept(b, LUN_B);
	assert_int_equal(read->cmd.mem, MEM_LENT);
	lock = caw_a(10, 1, 0, 1);
	behind = fake_write(a, 0, 10, 1, 2, DATA_BORROWED);
	assert_int_equal(lock->dones + behind->dones, 0);
	assert_true(all_bytes(read->cmd.iov[0].iov_base, 512, 0));
	fake_release(read);
	fake_settle();
	DONE(read, SCSI_GOOD);
	DONE(lock, SCSI_GOOD);
	DONE(behind, SCSI_GOOD);

	/* From now on a read has memory of its own, and keeps nobody waiting. */
	read = read_kept(b, LUN_B);
	assert_int_equal(read->cmd.mem, MEM_POOL);
	DONE(caw_a(10, 2, 2, 3), SCSI_CHECK_CONDITION);
	DONE(caw_a(10, 1, 2, 3), SCSI_GOOD);
	assert_true(all_bytes(read->cmd.iov[0].iov_base, 512, 2));
	fake_release(read);
	DONE(read, SCSI_GOOD);
	assert_int_equal(b->luns[LUN_B]->lent, 0);
	stop();
}

/* No place at the bridge, and a disk that fails: the lock goes with the command. */
static void
a_refused_step_gives_the_lock_back(void **state)
{
	struct fake_cmd *other[2], *lock, *waits;

	fake_world_init(1);
	fakes.adapter.lun_depth = 1;
	fakes.adapter.max_waiters = 1;
	disk->hold[DISK_READ] = true;
	assert_int_equal(fake_world_start(2), 0);
	a = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	b = fake_login_quiet(1, "iqn.2026-11.test:b", 1);
	other[0] = fake_read(a, 0, 100, 1);
	other[1] = fake_read(a, 0, 200, 1);
	lock = caw_a(10, 1, 0, 1);
	DONE(lock, SCSI_TASK_SET_FULL);
	assert_true(list_empty(&lu_next(NULL)->locks));
	disk->hold[DISK_READ] = false;
	release(2);
	DONE(other[0], SCSI_GOOD);
	DONE(other[1], SCSI_GOOD);
	stop();

	lock = locked();
	waits = fake_write(b, LUN_B, 10, 1, 9, DATA_BORROWED);
	disk->error[DISK_READ] = -EIO;
	release(1);
	assert_sense(lock, KEY_MEDIUM_ERROR, 0x11, 0x00);
	fake_cmd_free(lock);
	DONE(waits, SCSI_GOOD);
	stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_overlaps_waits),
		cmocka_unit_test(the_lock_waits_for_what_the_disk_has),
		cmocka_unit_test(the_lock_waits_for_what_waits_at_the_bridge),
		cmocka_unit_test(ranges_apart_go_together),
		cmocka_unit_test(each_has_its_turn),
		cmocka_unit_test(who_logs_in_meets_the_lock),
		cmocka_unit_test(the_lock_waits_for_an_orphan),
		cmocka_unit_test(a_command_of_many_steps_lets_a_lock_in),
		cmocka_unit_test(what_is_lent_is_sent_before_the_first_lock),
		cmocka_unit_test(a_refused_step_gives_the_lock_back),
	};

	return cmocka_run_group_tests_name("range_lock", tests, NULL, NULL);
}
