/* Nexuses: an end that waits for no disk, whatever state their commands are in. */
#include "scsi_rig.h"

#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"
#include "hba/scsi/ua.h"

static void
an_idle_nexus_is_gone_at_once(void **state)
{
	struct nexus *nexus = rig_start(4, 1);
	unsigned gone = 0;

	fake_logout(nexus, &gone);
	assert_int_equal(gone, 1);
	assert_true(list_empty(&lu_next(NULL)->nluns));
	fake_world_stop();
}

static void
the_end_of_commands_in_each_state(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *gathering, *running, *writing, *waiting;
	unsigned gone = 0;

	fake_world_init(1);
	fakes.adapter.lun_depth = 2;
	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	gathering = fake_write(nexus, 0, 0, 1, 1, DATA_LATER);
	running = fake_read(nexus, 0, 1, 1);
	writing = fake_write(nexus, 0, 2, 1, 0x77, DATA_POOL);
	waiting = fake_read(nexus, 0, 3, 1);
	assert_int_equal(fake_disk_held(disk), 2);
	fake_logout(nexus, &gone);
	/* What no disk has ends at once, the rest when it comes back. */
	SILENT(gathering);
	SILENT(waiting);
	assert_int_equal(running->dones + writing->dones, 0);
	assert_int_equal(gone, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(running);
	assert_int_equal(gone, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(writing);
	assert_int_equal(gone, 1);
	fake_world_stop();
}

static void
a_disk_that_never_answers_holds_nobody(void **state)
{
	struct nexus *nexus = rig_start(1, 1), *other;
	struct fake_cmd *writing, *fc;
	unsigned gone = 0;

	disk->hold[DISK_WRITE] = true;
	writing = fake_write(nexus, 0, 0, 1, 1, DATA_POOL);
	fake_logout(nexus, &gone);
	assert_int_equal(gone, 0);
	rig_timer_fire(&nexus_own(nexus)->timer, 0);
	assert_int_equal(gone, 1);
	assert_int_equal(writing->dones, 0);
	/* What it has is fenced. */
	other = fake_login_quiet(0, "iqn.2026-11.test:b", 0);
	fc = fake_read(other, 0, 0, 1);
	assert_int_equal(fc->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	assert_int_equal(gone, 1);
	SILENT(writing);
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	rig_stop(other);
}

static void
commands_of_others_stay(void **state)
{
	struct nexus *a = rig_start(1, 2);
	struct nexus *b = fake_login_quiet(0, "iqn.2026-11.test:b", 1);
	struct nexus *c = fake_login_quiet(0, "iqn.2026-11.test:c", 0);
	struct fake_cmd *fb, *fc;

	disk->hold[DISK_READ] = true;
	fb = fake_read(b, 0, 0, 1);
	fc = fake_read(c, 0, 1, 1);
	fake_logout(a, NULL);
	disk->hold[DISK_READ] = false;
	fake_disk_release(disk, 2);
	fake_settle();
	assert_status(fb, SCSI_GOOD);
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fb);
	fake_cmd_free(fc);
	fake_logout(b, NULL);
	fake_logout(c, NULL);
	fake_world_stop();
}

/* An initiator comes back while the disk has its write: that must not land on what is new. */
static void
a_new_login_meets_the_old_write(void **state)
{
	struct nexus *old = rig_start(1, 1), *nexus;
	struct fake_cmd *writing, *again, *reading, *elsewhere;
	unsigned gone = 0;

	disk->hold[DISK_WRITE] = true;
	writing = fake_write(old, 0, 4, 2, 0x11, DATA_POOL);
	fake_logout(old, &gone);
	assert_int_equal(gone, 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	disk->hold[DISK_WRITE] = false;
	again = fake_write(nexus, 0, 5, 1, 0x22, DATA_BORROWED);
	reading = fake_read(nexus, 0, 4, 1);
	elsewhere = fake_write(nexus, 0, 6, 1, 0x33, DATA_BORROWED);
	assert_int_equal(again->dones + reading->dones, 0);
	assert_status(elsewhere, SCSI_GOOD);
	fake_cmd_free(elsewhere);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(writing);
	assert_int_equal(gone, 1);
	assert_status(again, SCSI_GOOD);
	assert_status(reading, SCSI_GOOD);
	assert_true(all_bytes(reading->in, 512, 0x11));
	assert_true(all_bytes(disk->mem + 5 * 512, 512, 0x22));
	fake_cmd_free(again);
	fake_cmd_free(reading);
	rig_stop(nexus);
}

static void
a_thousand_logins_leave_nothing(void **state)
{
	fake_world_init(4);
	assert_int_equal(fake_world_start(1), 0);
	for (unsigned i = 0; i < 1000; i++) {
		struct nexus *nexus = fake_login_quiet(i & 1, "iqn.2026-11.test:a", 0);
		unsigned gone = 0;

		DONE(fake_read(nexus, i & 1 ? 5 : 2, 0, 1), SCSI_GOOD);
		fake_logout(nexus, &gone);
		assert_int_equal(gone, 1);
	}
	fake_world_stop();
}

/* Two channels of one SRP initiator port, on two reactors: to SCSI one I_T nexus. */
static void
channels_are_one_nexus(void **state)
{
	struct nexus *a = rig_start(1, 2);
	struct nexus *b = fake_login_quiet(0, "iqn.2026-11.test:a", 1);
	struct nexus *other = fake_login_quiet(0, "iqn.2026-11.test:b", 1);
	struct lu *lu = lu_next(NULL);
	struct fake_cmd *fc;

	/* An attention that one has told, the other does not tell again; a stranger does. */
	lu_attention(lu, UA_CAPACITY_CHANGED, NULL);
	fc = fake_read(b, 0, 0, 1);
	assert_sense(fc, KEY_UNIT_ATTENTION, 0x2a, 0x09);
	fake_cmd_free(fc);
	DONE(fake_read(a, 0, 0, 1), SCSI_GOOD);
	fc = fake_read(other, 0, 0, 1);
	assert_sense(fc, KEY_UNIT_ATTENTION, 0x2a, 0x09);
	fake_cmd_free(fc);

	/* RESERVE(6) by one is the other's too, and outlives its channel. */
	DONE(fake_in(a, 0, CDB(0x16, 0, 0, 0, 0, 0), 0), SCSI_GOOD);
	DONE(fake_read(b, 0, 0, 1), SCSI_GOOD);
	DONE(fake_in(b, 0, CDB(0x16, 0, 0, 0, 0, 0), 0), SCSI_GOOD);
	DONE(fake_read(other, 0, 0, 1), SCSI_RESERVATION_CONFLICT);
	fake_logout(a, NULL);
	DONE(fake_read(b, 0, 0, 1), SCSI_GOOD);
	DONE(fake_read(other, 0, 0, 1), SCSI_RESERVATION_CONFLICT);
	DONE(fake_in(b, 0, CDB(0x17, 0, 0, 0, 0, 0), 0), SCSI_GOOD);
	DONE(fake_read(other, 0, 0, 1), SCSI_GOOD);
	fake_logout(b, NULL);
	rig_stop(other);
}

static void
abort_task_set_over_channels(void **state)
{
	struct nexus *a = rig_start(1, 2);
	struct nexus *b = fake_login_quiet(0, "iqn.2026-11.test:a", 1);
	struct nexus *other = fake_login_quiet(0, "iqn.2026-11.test:b", 1);
	struct fake_cmd *fa, *fb, *fc;
	struct fake_tmf t = { .dones = 0 };

	disk->hold[DISK_WRITE] = true;
	fa = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	fb = fake_write(b, 0, 1, 1, 1, DATA_LATER);
	fc = fake_write(other, 0, 2, 1, 1, DATA_POOL);
	fake_tmf(&t, a, TMF_ABORT_TASK_SET, 0, 0);
	fake_settle();
	SILENT(fb);
	assert_int_equal(t.dones, 0);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 2);
	fake_settle();
	SILENT(fa);
	assert_int_equal(t.dones, 1);
	assert_int_equal(t.response, TMF_COMPLETE);
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	/* Nobody is told that another cleared its commands. */
	DONE(fake_read(b, 0, 0, 1), SCSI_GOOD);
	DONE(fake_read(other, 0, 0, 1), SCSI_GOOD);
	fake_logout(a, NULL);
	fake_logout(b, NULL);
	rig_stop(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_nexus_is_gone_at_once),
		cmocka_unit_test(the_end_of_commands_in_each_state),
		cmocka_unit_test(a_disk_that_never_answers_holds_nobody),
		cmocka_unit_test(commands_of_others_stay),
		cmocka_unit_test(a_new_login_meets_the_old_write),
		cmocka_unit_test(a_thousand_logins_leave_nothing),
		cmocka_unit_test(channels_are_one_nexus),
		cmocka_unit_test(abort_task_set_over_channels),
	};

	return cmocka_run_group_tests_name("nexus", tests, NULL, NULL);
}
