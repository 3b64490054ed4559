/* Range locks: no lock outlives its command, in whatever state that is ended. */
#include "range_rig.h"

enum how { BY_ABORT, BY_RESET, BY_LOGOUT, HOWS };

/* Ends a's commands; *tmf is answered unless by logout, which counts *gone. */
static void
end_a(enum how how, const struct fake_cmd *fc, struct fake_tmf *tmf, unsigned *gone)
{
	switch (how) {
	case BY_ABORT:
		fake_tmf(tmf, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
		break;
	case BY_RESET:
		fake_tmf(tmf, a, TMF_LUN_RESET, 0, 0);
		break;
	case BY_LOGOUT:
		fake_logout(a, gone);
		a = NULL;
		break;
	case HOWS:
		break;
	}
	fake_settle();
}

static void
stop_after(enum how how)
{
	nothing_is_left();
	if (how != BY_LOGOUT)
		fake_logout(a, NULL);
	fake_logout(b, NULL);
	fake_world_stop();
}

/* The attention after a reset of the unit by a is told, to both. */
static void
told(enum how how)
{
	if (how != BY_RESET)
		return;
	DONE(fake_in(a, 0, CDB(OP_TEST_UNIT_READY), 0), SCSI_CHECK_CONDITION);
	DONE(fake_in(a, 0, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
	DONE(fake_in(b, LUN_B, CDB(OP_TEST_UNIT_READY), 0), SCSI_CHECK_CONDITION);
	DONE(fake_in(b, LUN_B, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
}

static void
aborted_in_its_read(void **state)
{
	for (enum how how = 0; how < HOWS; how++) {
		struct fake_cmd *lock = locked(), *waits, *fc;
		unsigned gone = 0;
		struct fake_tmf ft;

		waits = how == BY_RESET ? NULL : fake_write(b, LUN_B, 11, 1, 0x22, DATA_BORROWED);
		end_a(how, lock, &ft, &gone);
		/* It writes no more, so others need not wait for the disk. */
		if (waits)
			DONE(waits, SCSI_GOOD);
		told(how);
		fc = fake_write(b, LUN_B, 12, 1, 0x33, DATA_BORROWED);
		DONE(fc, SCSI_GOOD);
		assert_int_equal(how == BY_LOGOUT ? gone : ft.dones, 0);
		release(1);
		SILENT(lock);
		assert_int_equal(how == BY_LOGOUT ? gone : ft.dones, 1);
		assert_true(all_bytes(disk->mem + 10 * 512, 512, 0));
		assert_true(all_bytes(disk->mem + 12 * 512, 512, 0x33));
		stop_after(how);
	}
}

static void
aborted_in_its_write(void **state)
{
	for (enum how how = 0; how < HOWS; how++) {
		struct fake_cmd *lock, *waits, *caw;
		unsigned gone = 0;
		struct fake_tmf ft;

		start();
		disk->hold[DISK_WRITE] = true;
		lock = caw_a(10, 4, 0, 0x11);
		disk->hold[DISK_WRITE] = false;
		assert_int_equal(fake_disk_held(disk), 1);
		waits = how == BY_RESET ? NULL : fake_write(b, LUN_B, 11, 1, 0x22, DATA_BORROWED);
		end_a(how, lock, &ft, &gone);
		assert_int_equal(fence_orphans(lu_next(NULL)), 1);
		assert_true(list_empty(&lu_next(NULL)->locks));
		told(how);
		if (!waits)
			waits = fake_write(b, LUN_B, 11, 1, 0x22, DATA_BORROWED);
		caw = caw_b(11, 1, 0x22, 0x33);
		assert_int_equal(waits->dones + caw->dones, 0);
		release(1);
		SILENT(lock);
		DONE(waits, SCSI_GOOD);
		DONE(caw, SCSI_GOOD);
		assert_true(all_bytes(disk->mem + 10 * 512, 512, 0x11));
		assert_true(all_bytes(disk->mem + 11 * 512, 512, 0x33));
		stop_after(how);
	}
}

static void
aborted_while_others_are_before_it(void **state)
{
	for (enum how how = 0; how < HOWS; how++) {
		struct fake_cmd *before, *lock, *behind;
		unsigned gone = 0;
		struct fake_tmf ft;

		if (how == BY_RESET)	/* it would end what it waits for as well */
			continue;
		start();
		hold(true);
		before = fake_read(b, LUN_B, 10, 1);
		lock = caw_a(10, 4, 0, 0x11);
		hold(false);
		behind = fake_write(b, LUN_B, 12, 1, 0x22, DATA_BORROWED);
		assert_int_equal(behind->dones, 0);
		end_a(how, lock, &ft, &gone);
		assert_int_equal(how == BY_LOGOUT ? gone : ft.dones, 1);
		SILENT(lock);
		DONE(behind, SCSI_GOOD);
		assert_int_equal(before->dones, 0);
		release(1);
		DONE(before, SCSI_GOOD);
		stop_after(how);
	}
}

static void
aborted_behind_another_lock(void **state)
{
	for (enum how how = 0; how < HOWS; how++) {
		struct fake_cmd *first, *lock, *behind;
		unsigned gone = 0;
		struct fake_tmf ft;

		if (how == BY_RESET)
			continue;
		start();
		hold(true);
		first = caw_b(10, 1, 0, 1);
		lock = caw_a(10, 4, 0, 0x11);
		behind = fake_write(b, LUN_B, 12, 1, 0x22, DATA_POOL);
		assert_int_equal(fake_disk_held(disk), 1);
		hold(false);
		end_a(how, lock, &ft, &gone);
		assert_int_equal(how == BY_LOGOUT ? gone : ft.dones, 1);
		SILENT(lock);
		DONE(behind, SCSI_GOOD);
		release(1);
		DONE(first, SCSI_GOOD);
		stop_after(how);
	}
}

/* What a lock waits for is aborted: in the disk, and parked behind another lock. */
static void
what_was_before_is_aborted(void **state)
{
	struct fake_cmd *lock = locked(), *parked, *second, *read, *third;
	struct fake_tmf ft;

	parked = fake_write(b, LUN_B, 13, 2, 0x22, DATA_POOL);
	/* It waits for the parked one only. */
	second = caw_a(14, 1, 0, 1);
	assert_int_equal(second->dones, 0);
	fake_tmf(&ft, b, TMF_ABORT_TASK, LUN_B, parked->cmd.tag);
	fake_settle();
	assert_int_equal(ft.dones, 1);
	SILENT(parked);
	DONE(second, SCSI_GOOD);

	disk->hold[DISK_READ] = true;
	read = fake_read(b, LUN_B, 20, 1);
	disk->hold[DISK_READ] = false;
	third = caw_a(20, 1, 0, 1);
	assert_int_equal(third->dones, 0);
	fake_tmf(&ft, b, TMF_ABORT_TASK, LUN_B, read->cmd.tag);
	fake_settle();
	DONE(third, SCSI_GOOD);
	release(2);
	SILENT(read);
	DONE(lock, SCSI_GOOD);
	stop();
}

static void
a_reset_ends_them_all(void **state)
{
	struct fake_cmd *lock = locked(), *fc[4];
	struct fake_tmf ft;

	fc[0] = caw_b(10, 1, 0, 2);
	fc[1] = fake_read(b, LUN_B, 10, 1);
	fc[2] = caw_a(10, 1, 0, 3);
	fc[3] = fake_write(a, 0, 10, 1, 4, DATA_BORROWED);
	fake_tmf(&ft, b, TMF_LUN_RESET, LUN_B, 0);
	fake_settle();
	for (unsigned i = 0; i < ARRAY_LEN(fc); i++)
		SILENT(fc[i]);
	assert_int_equal(ft.dones, 0);
	release(1);
	SILENT(lock);
	assert_int_equal(ft.response, TMF_COMPLETE);
	assert_true(all_bytes(disk->mem, 1 << 20, 0));
	told(BY_RESET);
	stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aborted_in_its_read),
		cmocka_unit_test(aborted_in_its_write),
		cmocka_unit_test(aborted_while_others_are_before_it),
		cmocka_unit_test(aborted_behind_another_lock),
		cmocka_unit_test(what_was_before_is_aborted),
		cmocka_unit_test(a_reset_ends_them_all),
	};

	return cmocka_run_group_tests_name("range_lock_abort", tests, NULL, NULL);
}
