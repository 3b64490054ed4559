/* Task management: each function, commands in each state, on several reactors. */
#include "scsi_rig.h"

static struct nexus *a, *b;

/* Two nexuses to LUN 0, b's on the last reactor; the unit takes two commands, and holds them. */
static void
start(unsigned reactors)
{
	fake_world_init(2);
	fakes.adapter.lun_depth = 2;
	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = true;
	assert_int_equal(fake_world_start(reactors), 0);
	a = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	b = fake_login_quiet(0, "iqn.2026-11.test:b", reactors - 1);
}

static void
stop(void)
{
	fake_logout(b, NULL);
	rig_stop(a);
}

#define assert_answer(ft, want)                                                     \
	do {                                                                        \
		assert_int_equal((ft).dones, 1);                                    \
		assert_int_equal((ft).response, want);                              \
	} while (0)

static struct fake_cmd *
ready(struct nexus *nexus)
{
	return fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY), 0);
}

static void
no_such_task(void **state)
{
	struct fake_tmf ft;

	start(1);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, 4711);
	assert_answer(ft, TMF_NO_TASK);
	/* And nothing waits for that one. */
	fake_tmf(&ft, a, TMF_LUN_RESET, 0, 0);
	assert_answer(ft, TMF_COMPLETE);
	stop();
}

static void
abort_while_data_comes(void **state)
{
	struct fake_cmd *fc;
	struct fake_tmf ft;

	start(1);
	fc = fake_write(a, 0, 0, 1, 1, DATA_LATER);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
	assert_answer(ft, TMF_COMPLETE);
	SILENT(fc);
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	stop();
}

static void
abort_while_it_waits_for_the_adapter(void **state)
{
	struct fake_cmd *first, *second, *third;
	struct fake_tmf ft;

	start(1);
	first = fake_read(a, 0, 0, 1);
	second = fake_read(a, 0, 1, 1);
	third = fake_write(a, 0, 2, 1, 1, DATA_POOL);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, third->cmd.tag);
	assert_answer(ft, TMF_COMPLETE);
	SILENT(third);
	fake_disk_release(disk, 2);
	fake_settle();
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	assert_status(first, SCSI_GOOD);
	assert_status(second, SCSI_GOOD);
	fake_cmd_free(first);
	fake_cmd_free(second);
	stop();
}

static void
abort_in_the_disk_is_answered_when_it_is_back(void **state)
{
	struct fake_cmd *fc, *other;
	struct fake_tmf ft;

	start(1);
	fc = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	other = fake_read(a, 0, 9, 1);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
	assert_int_equal(ft.dones, 0);
	assert_int_equal(fc->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(fc);
	assert_answer(ft, TMF_COMPLETE);
	assert_int_equal(other->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	assert_status(other, SCSI_GOOD);
	fake_cmd_free(other);
	stop();
}

static void
a_second_abort_of_the_same_task_waits_too(void **state)
{
	struct fake_tmf one, two;
	struct fake_cmd *fc;

	start(1);
	fc = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	fake_tmf(&one, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
	fake_tmf(&two, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
	assert_int_equal(one.dones + two.dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	assert_answer(one, TMF_COMPLETE);
	assert_answer(two, TMF_COMPLETE);
	SILENT(fc);
	fake_tmf(&two, a, TMF_ABORT_TASK, 0, 1);
	assert_answer(two, TMF_NO_TASK);
	stop();
}

/* The initiator was told that its task is over, though the disk has it, and uses the tag again. */
static void
a_tag_that_is_used_again(void **state)
{
	struct fake_cmd *stuck, *fc;
	struct fake_tmf ft;

	start(1);
	stuck = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, stuck->cmd.tag);
	rig_timer_fire(&ft.tmf.timer, 0);
	assert_answer(ft, TMF_COMPLETE);
	fc = fake_cmd_new(a, 0, CDB(OP_WRITE_10, 0, 0, 0, 0, 9, 0, 0, 1));
	fake_cmd_expect(fc, 512, 0, 2);
	fc->cmd.tag = stuck->cmd.tag;
	fc->how = DATA_LATER;
	fake_cmd_submit(fc);
	fake_tmf(&ft, a, TMF_QUERY_TASK, 0, stuck->cmd.tag);
	assert_answer(ft, TMF_SUCCEEDED);
	fake_tmf(&ft, a, TMF_ABORT_TASK, 0, stuck->cmd.tag);
	assert_answer(ft, TMF_COMPLETE);
	SILENT(fc);
	assert_int_equal(stuck->dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(stuck);
	stop();
}

static void
abort_task_set_ends_ones_own(void **state)
{
	struct fake_cmd *mine, *elsewhere, *theirs;
	struct fake_tmf ft;

	start(2);
	mine = fake_read(a, 0, 0, 1);
	elsewhere = fake_write(a, 1, 0, 1, 1, DATA_LATER);
	theirs = fake_read(b, 0, 1, 1);
	fake_tmf(&ft, a, TMF_ABORT_TASK_SET, 0, 0);
	assert_int_equal(ft.dones, 0);
	fake_disk_release(disk, 2);
	fake_settle();
	assert_answer(ft, TMF_COMPLETE);
	SILENT(mine);
	assert_status(theirs, SCSI_GOOD);
	fake_cmd_free(theirs);
	assert_int_equal(elsewhere->dones, 0);
	fake_data_come(elsewhere);
	assert_status(elsewhere, SCSI_GOOD);
	fake_cmd_free(elsewhere);
	DONE(ready(b), SCSI_GOOD);
	stop();
}

/* A function that ends all commands of the unit: who is told what. */
static void
end_all(enum tmf_fn fn, uint8_t asc, uint8_t ascq)
{
	struct fake_cmd *mine, *theirs, *waiting, *gathering, *fc;
	struct fake_tmf ft;

	start(2);
	mine = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	theirs = fake_write(b, 0, 1, 1, 1, DATA_POOL);
	waiting = fake_read(b, 0, 1, 1);
	gathering = fake_write(b, 0, 3, 1, 1, DATA_LATER);
	fake_tmf(&ft, a, fn, 0, 0);
	fake_settle();
	SILENT(waiting);
	SILENT(gathering);
	assert_int_equal(ft.dones, 0);
	/* The other's comes back last: the answer waits for it. */
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(mine);
	assert_int_equal(ft.dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(theirs);
	assert_answer(ft, TMF_COMPLETE);
	/* SAM-5 6.3.3: a reset is news for who asked for it too; clearing others' commands is not. */
	if (fn != TMF_CLEAR_TASK_SET) {
		fc = ready(a);
		assert_sense(fc, KEY_UNIT_ATTENTION, asc, ascq);
		fake_cmd_free(fc);
	}
	DONE(ready(a), SCSI_GOOD);
	fc = ready(b);
	assert_sense(fc, KEY_UNIT_ATTENTION, asc, ascq);
	fake_cmd_free(fc);
	DONE(ready(b), SCSI_GOOD);
	stop();
}

static void
clear_task_set(void **state)
{
	end_all(TMF_CLEAR_TASK_SET, 0x2f, 0x00);
}

static void
lun_reset(void **state)
{
	end_all(TMF_LUN_RESET, 0x29, 0x03);
}

static void
target_reset(void **state)
{
	end_all(TMF_TARGET_RESET, 0x29, 0x03);
}

static void
lun_reset_leaves_other_units_alone(void **state)
{
	struct fake_cmd *fc;
	struct fake_tmf ft;

	start(2);
	fc = fake_write(b, 1, 0, 1, 1, DATA_LATER);
	fake_tmf(&ft, a, TMF_LUN_RESET, 0, 0);
	fake_settle();
	assert_answer(ft, TMF_COMPLETE);
	assert_int_equal(fc->dones, 0);
	fake_tmf(&ft, a, TMF_TARGET_RESET, 0, 0);
	fake_settle();
	assert_answer(ft, TMF_COMPLETE);
	SILENT(fc);
	stop();
}

static void
nexus_reset(void **state)
{
	struct fake_cmd *fc, *theirs;
	struct fake_tmf ft;

	start(2);
	fc = fake_write(a, 1, 0, 1, 1, DATA_LATER);
	theirs = fake_write(b, 1, 0, 1, 1, DATA_LATER);
	fake_tmf(&ft, a, TMF_I_T_NEXUS_RESET, 0, 0);
	assert_answer(ft, TMF_COMPLETE);
	SILENT(fc);
	assert_int_equal(theirs->dones, 0);
	fake_data_come(theirs);
	fake_cmd_free(theirs);
	fc = ready(a);
	assert_sense(fc, KEY_UNIT_ATTENTION, 0x29, 0x07);
	fake_cmd_free(fc);
	stop();
}

static void
queries(void **state)
{
	struct fake_cmd *fc;
	struct fake_tmf ft;

	start(2);
	fc = fake_read(a, 0, 0, 1);
	fake_tmf(&ft, a, TMF_QUERY_TASK, 0, fc->cmd.tag);
	assert_answer(ft, TMF_SUCCEEDED);
	fake_tmf(&ft, a, TMF_QUERY_TASK, 0, fc->cmd.tag + 1);
	assert_answer(ft, TMF_COMPLETE);
	fake_tmf(&ft, a, TMF_QUERY_TASK, 1, fc->cmd.tag);
	assert_answer(ft, TMF_COMPLETE);
	fake_tmf(&ft, a, TMF_QUERY_TASK_SET, 0, 0);
	assert_answer(ft, TMF_SUCCEEDED);
	fake_tmf(&ft, b, TMF_QUERY_TASK_SET, 0, 0);
	assert_answer(ft, TMF_COMPLETE);
	fake_tmf(&ft, b, TMF_QUERY_ASYNC_EVENT, 0, 0);
	assert_answer(ft, TMF_COMPLETE);
	fake_disk_release(disk, 1);
	fake_settle();
	fake_cmd_free(fc);
	fake_tmf(&ft, a, TMF_LUN_RESET, 0, 0);
	fake_settle();
	fake_tmf(&ft, b, TMF_QUERY_ASYNC_EVENT, 0, 0);
	assert_answer(ft, TMF_SUCCEEDED);
	assert_memory_equal(ft.tmf.info, "\x06\x29\x03", 3);
	stop();
}

static void
refusals(void **state)
{
	struct fake_tmf ft;

	start(1);
	fake_tmf(&ft, a, TMF_CLEAR_ACA, 0, 0);
	assert_answer(ft, TMF_REJECTED);
	fake_tmf(&ft, a, (enum tmf_fn)77, 0, 0);
	assert_answer(ft, TMF_REJECTED);
	for (unsigned fn = 0; fn <= TMF_I_T_NEXUS_RESET; fn++) {
		fake_tmf(&ft, a, (enum tmf_fn)fn, 9, 0);
		if (fn == TMF_TARGET_RESET || fn == TMF_I_T_NEXUS_RESET)
			assert_answer(ft, TMF_COMPLETE);
		else
			assert_answer(ft, TMF_WRONG_LUN);
	}
	stop();
}

/* A stuck command, its stuck abort, and resets behind them: each has its own time. */
static void
a_stuck_abort_delays_no_other_function(void **state)
{
	struct fake_tmf abort, reset, other;
	struct fake_cmd *stuck, *fc;

	start(2);
	stuck = fake_write(a, 0, 0, 1, 1, DATA_POOL);
	fake_tmf(&abort, a, TMF_ABORT_TASK, 0, stuck->cmd.tag);
	fake_tmf(&reset, b, TMF_LUN_RESET, 0, 0);
	fake_settle();
	assert_int_equal(abort.dones + reset.dones, 0);
	/* Another unit is not concerned. */
	fake_tmf(&other, b, TMF_LUN_RESET, 1, 0);
	fake_settle();
	assert_answer(other, TMF_COMPLETE);
	/* The time of the reset is over, that of the abort not yet. */
	rig_timer_fire(&reset.tmf.timer, 1);
	assert_answer(reset, TMF_COMPLETE);
	assert_int_equal(abort.dones, 0);
	rig_timer_fire(&abort.tmf.timer, 0);
	assert_answer(abort, TMF_COMPLETE);
	/* A command that came after them and was ended by a later one is not waited for. */
	fake_tmf(&reset, a, TMF_LUN_RESET, 0, 0);
	fake_settle();
	assert_int_equal(reset.dones, 0);
	for (unsigned i = 0; i < 3; i++) {	/* attentions of the resets */
		fc = ready(a);
		fake_cmd_free(fc);
	}
	fc = fake_read(a, 0, 100, 1);
	assert_int_equal(fake_disk_held(disk), 2);
	fake_tmf(&abort, a, TMF_ABORT_TASK, 0, fc->cmd.tag);
	fake_disk_release(disk, 1);		/* the stuck one */
	fake_settle();
	SILENT(stuck);
	assert_answer(reset, TMF_COMPLETE);
	assert_int_equal(abort.dones, 0);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(fc);
	assert_answer(abort, TMF_COMPLETE);
	stop();
}

static void
a_function_of_a_nexus_that_ends(void **state)
{
	struct fake_cmd *stuck;
	struct fake_tmf ft;
	unsigned gone = 0;

	start(2);
	stuck = fake_write(b, 0, 0, 1, 1, DATA_POOL);
	fake_tmf(&ft, a, TMF_LUN_RESET, 0, 0);
	fake_settle();
	assert_int_equal(ft.dones, 0);
	fake_logout(a, &gone);
	assert_answer(ft, TMF_REJECTED);
	assert_int_equal(gone, 1);
	fake_disk_release(disk, 1);
	fake_settle();
	SILENT(stuck);
	rig_stop(b);
}

static void
a_function_needs_no_slot(void **state)
{
	struct fake_cmd *fc[4];
	struct fake_tmf ft;

	start(1);
	for (unsigned i = 0; i < 4; i++)
		fc[i] = fake_read(a, 0, i, 1);
	fake_tmf(&ft, a, TMF_QUERY_TASK_SET, 0, 0);
	assert_answer(ft, TMF_SUCCEEDED);
	DONE(fake_in(a, 0, CDB(OP_INQUIRY, 0, 0, 0, 96), 96), SCSI_GOOD);
	fake_tmf(&ft, a, TMF_ABORT_TASK_SET, 0, 0);
	fake_disk_release(disk, 2);
	fake_settle();
	assert_answer(ft, TMF_COMPLETE);
	for (unsigned i = 0; i < 4; i++)
		SILENT(fc[i]);
	stop();
}

/* Resets from two reactors at once, again and again, with commands under way on both. */
struct storm {
	struct nexus *nexus;
	struct fake_tmf tmf[8];
	struct fake_cmd *cmd[8];
};

static void
storm_run(void *arg)
{
	struct storm *s = arg;

	for (unsigned i = 0; i < ARRAY_LEN(s->tmf); i++) {
		scsi_submit(&s->cmd[i]->cmd);
		scsi_tmf(&s->tmf[i].tmf);
	}
}

static struct storm storms[2];

static void
storm_prepare(struct storm *s, struct nexus *nexus)
{
	s->nexus = nexus;
	for (unsigned i = 0; i < ARRAY_LEN(s->tmf); i++) {
		struct scsi_tmf *tmf = &s->tmf[i].tmf;

		s->cmd[i] = fake_cmd_new(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 1));
		fake_cmd_expect(s->cmd[i], 0, 512, 0);
		s->tmf[i].dones = 0;
		tmf->nexus = nexus;
		tmf->fn = i & 1 ? TMF_CLEAR_TASK_SET : TMF_LUN_RESET;
		scsi_lun_wire(tmf->lun, 0);
	}
}

struct post {
	struct msg msg;
	struct storm *storm;
};

static void
post_run(struct msg *msg)
{
	storm_run(container_of(msg, struct post, msg)->storm);
}

static void
resets_from_two_reactors(void **state)
{
	start(2);
	for (unsigned round = 0; round < 50; round++) {
		struct post post[2];

		storm_prepare(&storms[0], a);
		storm_prepare(&storms[1], b);
		for (unsigned i = 0; i < 2; i++) {
			post[i] = (struct post){ .msg.fn = post_run, .storm = &storms[i] };
			reactor_post(storms[i].nexus->reactor, &post[i].msg);
		}
		fake_settle();
		while (fake_disk_held(disk)) {
			fake_disk_release(disk, 100);
			fake_settle();
		}
		for (unsigned i = 0; i < ARRAY_LEN(storms[0].tmf) * 2; i++) {
			struct storm *s = &storms[i & 1];

			assert_answer(s->tmf[i / 2], TMF_COMPLETE);
			fake_cmd_free(s->cmd[i / 2]);
		}
	}
	stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_such_task),
		cmocka_unit_test(abort_while_data_comes),
		cmocka_unit_test(abort_while_it_waits_for_the_adapter),
		cmocka_unit_test(abort_in_the_disk_is_answered_when_it_is_back),
		cmocka_unit_test(a_second_abort_of_the_same_task_waits_too),
		cmocka_unit_test(a_tag_that_is_used_again),
		cmocka_unit_test(abort_task_set_ends_ones_own),
		cmocka_unit_test(clear_task_set),
		cmocka_unit_test(lun_reset),
		cmocka_unit_test(target_reset),
		cmocka_unit_test(lun_reset_leaves_other_units_alone),
		cmocka_unit_test(nexus_reset),
		cmocka_unit_test(queries),
		cmocka_unit_test(refusals),
		cmocka_unit_test(a_stuck_abort_delays_no_other_function),
		cmocka_unit_test(a_function_of_a_nexus_that_ends),
		cmocka_unit_test(a_function_needs_no_slot),
		cmocka_unit_test(resets_from_two_reactors),
	};

	return cmocka_run_group_tests_name("tmf_core", tests, NULL, NULL);
}
