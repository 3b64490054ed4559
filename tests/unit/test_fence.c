/* The fence: nothing overtakes an aborted write that the disk still has. */
#include "scsi_rig.h"

#include "hba/scsi/fence.h"
#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"

/* A nexus whose write of blocks 10 to 13 with 0x11 was aborted in the disk. */
static struct nexus *
start(unsigned reactors, struct fake_cmd **orphan, struct fake_tmf *ft)
{
	struct nexus *nexus = rig_start(1, reactors);

	disk->hold[DISK_WRITE] = true;
	*orphan = fake_write(nexus, 0, 10, 4, 0x11, DATA_POOL);
	disk->hold[DISK_WRITE] = false;
	fake_tmf(ft, nexus, TMF_ABORT_TASK, 0, (*orphan)->cmd.tag);
	/* The time is over: the initiator hears that the write is no more. */
	assert_int_equal(ft->dones, 0);
	rig_timer_fire(&ft->tmf.timer, 0);
	assert_int_equal(ft->response, TMF_COMPLETE);
	assert_int_equal(fence_orphans(lu_next(NULL)), 1);
	return nexus;
}

/* The report: write A, abort, write A again, write B; and A's first lands last. */
static void
the_late_write_does_not_win(void **state)
{
	struct fake_cmd *orphan, *again, *newer, *fc;
	struct fake_tmf ft;
	struct nexus *nexus = start(1, &orphan, &ft);

	again = fake_write(nexus, 0, 10, 4, 0x11, DATA_BORROWED);
	newer = fake_write(nexus, 0, 10, 4, 0x22, DATA_BORROWED);
	assert_int_equal(again->dones + newer->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	assert_status(again, SCSI_GOOD);
	assert_status(newer, SCSI_GOOD);
	fc = fake_read(nexus, 0, 10, 4);
	assert_true(all_bytes(fc->in, 2048, 0x22));
	fake_cmd_free(fc);
	fake_cmd_free(again);
	fake_cmd_free(newer);
	assert_int_equal(fence_orphans(lu_next(NULL)), 0);
	assert_int_equal(nexus->luns[0]->hot, 0);
	rig_stop(nexus);
}

static void
only_what_overlaps_waits(void **state)
{
	struct fake_cmd *orphan, *fc;
	struct fake_tmf ft;
	struct nexus *nexus = start(1, &orphan, &ft);
	static const struct { uint32_t lba; uint16_t blocks; bool waits; } ranges[] = {
		{ 9, 1, false }, { 9, 2, true }, { 10, 1, true }, { 13, 1, true }, { 13, 9, true },
		{ 14, 1, false }, { 0, 100, true }, { 0, 10, false },
	};

	for (unsigned i = 0; i < ARRAY_LEN(ranges); i++) {
		struct fake_tmf abort;

		fc = fake_read(nexus, 0, ranges[i].lba, ranges[i].blocks);
		assert_int_equal(fc->dones, !ranges[i].waits);
		if (ranges[i].waits) {
			/* One that is parked can be aborted at once. */
			fake_tmf(&abort, nexus, TMF_ABORT_TASK, 0, fc->cmd.tag);
			assert_int_equal(abort.dones, 1);
			assert_int_equal(abort.response, TMF_COMPLETE);
			assert_true(fc->flags & CMD_SILENT);
		}
		fake_cmd_free(fc);
	}
	DONE(fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	rig_stop(nexus);
}

static void
the_fence_holds_on_every_reactor(void **state)
{
	struct fake_cmd *orphan, *fc;
	struct fake_tmf ft;
	struct nexus *nexus = start(2, &orphan, &ft);
	struct nexus *late = fake_login_quiet(1, "iqn.2026-11.test:late", 1);

	fc = fake_write(late, 5, 12, 1, 0x33, DATA_BORROWED);
	assert_int_equal(fc->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	assert_true(all_bytes(disk->mem + 12 * 512, 512, 0x33));
	assert_true(all_bytes(disk->mem + 13 * 512, 512, 0x11));
	assert_int_equal(late->luns[5]->hot, 0);
	fake_logout(late, NULL);
	rig_stop(nexus);
}

/* It leads a merged command: its neighbour's blocks, which are in it, are not its own. */
static void
a_merged_orphan_fences_its_own_blocks(void **state)
{
	struct fake_cmd *first, *orphan, *rider, *beside, *over;
	struct nexus *nexus;
	struct fake_tmf ft;

	fake_world_init(1);
	fakes.adapter.lun_depth = 1;
	fakes.adapter.coalesce = true;
	fakes.adapter.max_xfer = 65536;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	disk->hold[DISK_WRITE] = true;
	first = fake_write(nexus, 0, 100, 1, 0x11, DATA_POOL);
	orphan = fake_write(nexus, 0, 10, 4, 0x22, DATA_POOL);
	rider = fake_write(nexus, 0, 14, 4, 0x33, DATA_POOL);
	fake_disk_release(disk, 1);
	fake_settle();
	assert_status(first, SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_WRITE], 2);
	assert_int_equal(orphan->cmd.req.io.len, 8 * 512);
	fake_tmf(&ft, nexus, TMF_ABORT_TASK, 0, orphan->cmd.tag);
	rig_timer_fire(&ft.tmf.timer, 0);
	beside = fake_read(nexus, 0, 14, 1);
	assert_false(beside->cmd.flags & CMD_PARKED);
	over = fake_read(nexus, 0, 13, 1);
	assert_true(over->cmd.flags & CMD_PARKED);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	DONE(rider, SCSI_GOOD);
	DONE(beside, SCSI_GOOD);
	DONE(over, SCSI_GOOD);
	fake_cmd_free(first);
	rig_stop(nexus);
}

static void
two_orphans_hold_until_both_are_back(void **state)
{
	struct fake_cmd *orphan, *second, *over_both, *over_second, *over_first, *late;
	struct fake_tmf ft, ft2;
	struct nexus *nexus = start(1, &orphan, &ft);

	disk->hold[DISK_WRITE] = true;
	second = fake_write(nexus, 0, 20, 4, 0x44, DATA_POOL);
	disk->hold[DISK_WRITE] = false;
	fake_tmf(&ft2, nexus, TMF_ABORT_TASK, 0, second->cmd.tag);
	over_both = fake_write(nexus, 0, 10, 14, 0x55, DATA_POOL);
	over_first = fake_write(nexus, 0, 10, 1, 0x66, DATA_POOL);
	over_second = fake_write(nexus, 0, 23, 1, 0x77, DATA_POOL);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	assert_status(over_first, SCSI_GOOD);
	assert_int_equal(over_both->dones + over_second->dones, 0);
	/* The fence stands for whoever comes now, too. */
	late = fake_read(nexus, 0, 20, 1);
	assert_int_equal(late->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(second);
	assert_int_equal(ft2.response, TMF_COMPLETE);
	assert_status(over_both, SCSI_GOOD);
	assert_status(over_second, SCSI_GOOD);
	assert_status(late, SCSI_GOOD);
	fake_cmd_free(late);
	fake_cmd_free(over_both);
	fake_cmd_free(over_first);
	fake_cmd_free(over_second);
	rig_stop(nexus);
}

static void
an_aborted_read_fences_nothing(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc;
	struct fake_tmf ft;

	disk->hold[DISK_READ] = true;
	fc = fake_read(nexus, 0, 10, 4);
	disk->hold[DISK_READ] = false;
	fake_tmf(&ft, nexus, TMF_ABORT_TASK, 0, fc->cmd.tag);
	DONE(fake_write(nexus, 0, 10, 4, 1, DATA_BORROWED), SCSI_GOOD);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(fc);
	assert_int_equal(ft.dones, 1);
	rig_stop(nexus);
}

static void
steps_behind_an_aborted_one_do_not_happen(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;
	struct fake_tmf ft;

	/* The first of three pieces of a WRITE SAME is in the disk. */
	disk->hold[DISK_WRITE] = true;
	fc = send_out(nexus, CDB(OP_WRITE_SAME_10, 0, 0, 0, 0, 0, 0, 6, 0), 512, 0x78, DATA_POOL);
	fake_tmf(&ft, nexus, TMF_LUN_RESET, 0, 0);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(fc);
	assert_int_equal(ft.response, TMF_COMPLETE);
	assert_int_equal(disk->ops[DISK_WRITE], 1);
	rig_stop(nexus);
}

static void
logging_out_with_commands_parked(void **state)
{
	struct fake_cmd *orphan, *fc;
	struct fake_tmf ft;
	struct nexus *nexus = start(1, &orphan, &ft);
	unsigned gone = 0;

	fc = fake_write(nexus, 0, 10, 4, 0x22, DATA_BORROWED);
	assert_int_equal(fc->dones, 0);
	fake_logout(nexus, &gone);
	SILENT(fc);
	assert_int_equal(gone, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(orphan);
	assert_int_equal(gone, 1);
	assert_true(all_bytes(disk->mem + 10 * 512, 2048, 0x11));
	fake_world_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_late_write_does_not_win),
		cmocka_unit_test(only_what_overlaps_waits),
		cmocka_unit_test(the_fence_holds_on_every_reactor),
		cmocka_unit_test(a_merged_orphan_fences_its_own_blocks),
		cmocka_unit_test(two_orphans_hold_until_both_are_back),
		cmocka_unit_test(an_aborted_read_fences_nothing),
		cmocka_unit_test(steps_behind_an_aborted_one_do_not_happen),
		cmocka_unit_test(logging_out_with_commands_parked),
	};

	return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
