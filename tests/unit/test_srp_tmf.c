/* Task management over SRP: what is hit, what is spared, what is answered, and when. */
#include "srp_rig.h"

enum { OLD = 0x0d, NEW = 0x9e };

static struct ini ini;
static struct got got;

static uint8_t *
disk_mem(void)
{
	return fakes.fake[0].mem;
}

static int
up(void **state)
{
	rig_init(2);
	rig_start(1);
	ini_login(&ini);
	ini_quiet_unit(&ini, 1);
	memset(disk_mem(), OLD, 4096);
	return 0;
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	return 0;
}

/* A write of NEW, or a read, of one block. */
static uint64_t
rw(struct ini *one, unsigned lun, bool out)
{
	uint64_t tag = ini_rw(one, &rig_u, out, 0, 1);

	scsi_lun_wire(((struct srp_cmd *)rig_u.b)->lun, lun);
	build_direct(&rig_u, out, RIG_VA, RIG_KEY, 512);
	ini_request(one, &rig_u);
	return tag;
}

static void
expose(struct ini *one)
{
	memset(mem_expose(one->end, RIG_VA, RIG_KEY, 512), NEW, 512);
}

static uint64_t
function(struct ini *one, uint8_t fn, unsigned lun, uint64_t task)
{
	uint64_t tag = ini_tmf(one, &rig_u, fn, task);

	scsi_lun_wire(((struct srp_tsk_mgmt *)rig_u.b)->lun, lun);
	ini_request(one, &rig_u);
	return tag;
}

static void
code(struct ini *one, uint64_t tag, enum srp_rsp_code want)
{
	ini_rsp(one, &got, tag);
	assert_int_equal(got_code(&got), want);
	assert_int_equal(got.rsp.status, SCSI_GOOD);
}

static bool
written(void)
{
	for (int i = 0; i < 512; i++)
		if (disk_mem()[i] != OLD)
			return true;
	return false;
}

/* -- nothing to hit -- */

static void
answers(void **state)
{
	static const struct { uint8_t fn; unsigned lun; enum srp_rsp_code code; } rows[] = {
		{ SRP_TSK_ABORT_TASK, 0, SRP_TSK_MGMT_COMPLETE },
		{ SRP_TSK_ABORT_TASK_SET, 0, SRP_TSK_MGMT_COMPLETE },
		{ SRP_TSK_CLEAR_TASK_SET, 0, SRP_TSK_MGMT_COMPLETE },
		{ SRP_TSK_LUN_RESET, 0, SRP_TSK_MGMT_COMPLETE },
		{ SRP_TSK_CLEAR_ACA, 0, SRP_TSK_MGMT_NOT_SUPPORTED },
		{ 0x00, 0, SRP_TSK_MGMT_NOT_SUPPORTED },
		{ 0x03, 0, SRP_TSK_MGMT_NOT_SUPPORTED },
		{ 0xff, 0, SRP_TSK_MGMT_NOT_SUPPORTED },
		{ SRP_TSK_LUN_RESET, 9, SRP_RSP_FIELDS_INVALID },
		{ SRP_TSK_ABORT_TASK_SET, 9, SRP_RSP_FIELDS_INVALID },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (uint8_t bits = 0; bits < 8; bits += 2) {
			uint64_t tag = ini_tmf(&ini, &rig_u, rows[i].fn, 0x1234);
			bool ok = rows[i].code == SRP_TSK_MGMT_COMPLETE;
			bool wake = bits & (ok ? SRP_SCSOLNT : SRP_UCSOLNT);
			struct srp_tsk_mgmt *h = (void *)rig_u.b;

			scsi_lun_wire(h->lun, rows[i].lun);
			h->sol_not = bits;
			ini_request(&ini, &rig_u);
			code(&ini, tag, rows[i].code);
			assert_int_equal(got.solicited, wake);
		}
	}
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
}

/* -- while the disk has it -- */

/* The answer comes when the disk has given it back, and the command is answered with nothing. */
static void
abort_in_the_disk(void **state)
{
	for (int out = 0; out < 2; out++) {
		uint64_t task, tag;

		expose(&ini);
		fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = true;
		task = rw(&ini, 0, out);
		rig_until(fake_disk_held(&fakes.fake[0]) == 1);
		tag = function(&ini, SRP_TSK_ABORT_TASK, 0, task);
		mem_settle();
		assert_false(ini_poll(&ini, &got));
		fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = false;
		fake_disk_release(&fakes.fake[0], 1);
		code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
		mem_hide(ini.end, RIG_KEY);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
	}
}

/* -- while its data is on the way (T03, CVE-2016-6327) -- */

enum when { FETCHING, GATHERING };

static uint64_t
held_write(enum when when)
{
	struct srp_direct_buf d = build_desc(RIG_VA, RIG_KEY, 512);
	uint64_t task = ini_rw(&ini, &rig_u, true, 0, 1);

	memcpy(mem_expose(ini.end, 0x4000, 77, 16), &d, 16);
	if (when == FETCHING)
		build_indirect(&rig_u, true, &d, 1, 0, 0x4000, 77);
	else
		build_direct(&rig_u, true, RIG_VA, RIG_KEY, 512);
	mem_hold(ini.end, MEM_HOLD_READ);
	ini_request(&ini, &rig_u);
	mem_settle();
	return task;
}

static void
abort_on_the_way(void **state)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_ABORT_TASK_SET,
		SRP_TSK_CLEAR_TASK_SET, SRP_TSK_LUN_RESET };

	for (enum when when = FETCHING; when <= GATHERING; when++) {
		for (size_t i = 0; i < sizeof(fns); i++) {
			uint64_t task, tag;

			expose(&ini);
			task = held_write(when);
			tag = function(&ini, fns[i], 0, task);
			mem_settle();
			assert_false(written());
			mem_hold(ini.end, 0);
			code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
			mem_settle();
			assert_false(written());
			mem_hide(ini.end, RIG_KEY);
			mem_hide(ini.end, 77);
			ini_quiet_unit(&ini, 0);
			ini_at_rest(&ini);
		}
	}
	assert_int_equal(fakes.fake[0].ops[DISK_WRITE], 0);
}

/* Its memory is gone when it is read: the channel ends, the disk stays as it was. */
static void
abort_and_invalidate(void **state)
{
	for (enum when when = FETCHING; when <= GATHERING; when++) {
		uint64_t task;

		expose(&ini);
		task = held_write(when);
		function(&ini, SRP_TSK_ABORT_TASK, 0, task);
		mem_hide(ini.end, RIG_KEY);
		mem_hide(ini.end, 77);
		mem_settle();
		mem_hold(ini.end, 0);
		rig_until(mem_state(ini.end) == MEM_DROPPED && mem.conns == 0);
		assert_false(written());
		ini_free(&ini);
		ini_login(&ini);
	}
}

/* T09: the function waits for a disk, and the peer goes. */
static void
leave_while_it_waits(void **state)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_LUN_RESET };

	for (size_t i = 0; i < sizeof(fns); i++) {
		uint64_t task;

		expose(&ini);
		fakes.fake[0].hold[DISK_WRITE] = true;
		task = rw(&ini, 0, true);
		rig_until(fake_disk_held(&fakes.fake[0]) == 1);
		function(&ini, fns[i], 0, task);
		mem_settle();
		mem_leave(ini.end);
		mem_settle();
		fakes.fake[0].hold[DISK_WRITE] = false;
		fake_disk_release(&fakes.fake[0], 1);
		ini_free(&ini);
		rig_until(mem.conns == 0);
		mem_settle();
		assert_int_equal(rig_live(), 0);
		ini_login(&ini);
		ini_quiet_unit(&ini, 1);
	}
}

/* -- whom it hits -- */

/* Tags are a channel's own: the same tag on another channel is another task. */
static void
another_channel(void **state)
{
	uint64_t mine, theirs, tag;
	struct ini other;

	ini_login(&other);
	expose(&ini);
	expose(&other);
	ini.tag = other.tag = 500;
	fakes.fake[0].hold[DISK_READ] = true;
	mine = rw(&ini, 0, false);
	theirs = rw(&other, 0, false);
	assert_int_equal(mine, theirs);
	rig_until(fake_disk_held(&fakes.fake[0]) == 2);
	tag = function(&ini, SRP_TSK_ABORT_TASK, 0, mine);
	mem_settle();
	fakes.fake[0].hold[DISK_READ] = false;
	fake_disk_release(&fakes.fake[0], 2);
	code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
	ini_good(&other, theirs);
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
	ini_at_rest(&other);
	ini_free(&other);
}

/* T26: LUN RESET ends what others have on that LUN, and spares the other LUN. */
static void
lun_reset(void **state)
{
	static const uint8_t tur[16];
	uint64_t spared, tag, tag2;
	struct ini other;

	ini_login_as(&other, (struct say){ .port = 7 });
	ini_quiet_unit(&other, 0);
	expose(&ini);
	expose(&other);
	for (int i = 0; i < 2; i++)
		fakes.fake[i].hold[DISK_READ] = true;
	rw(&ini, 0, false);
	spared = rw(&ini, 1, false);
	rw(&other, 0, false);
	rig_until(fake_disk_held(&fakes.fake[0]) == 2);
	tag = function(&ini, SRP_TSK_LUN_RESET, 0, 0);
	mem_settle();
	for (int i = 0; i < 2; i++)
		fakes.fake[i].hold[DISK_READ] = false;
	fake_disk_release(&fakes.fake[0], 2);
	code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
	fake_disk_release(&fakes.fake[1], 1);
	ini_good(&ini, spared);
	/* The other initiator hears of it by its next command. */
	tag2 = ini_cmd(&other, &rig_u, 0, tur, 16);
	ini_request(&other, &rig_u);
	do
		rig_until(ini_poll(&other, &got));
	while (get64(got.rsp.tag) != tag2);
	assert_int_equal(got_asc(&got) >> 8, 0x0629);
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
	ini_free(&other);
}

/* T27: with every credit but the last used up and the disk deaf, a function is still answered. */
static void
with_the_last_credit(void **state)
{
	uint64_t tag;

	expose(&ini);
	fakes.fake[0].hold[DISK_READ] = true;
	for (int i = 0; i < RIG_DEPTH - 1; i++)
		rw(&ini, 0, false);
	rig_until(fake_disk_held(&fakes.fake[0]) == RIG_DEPTH - 1);
	assert_int_equal(ini.limit, 1);
	tag = function(&ini, SRP_TSK_ABORT_TASK, 1, 0x5555);
	code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
	tag = function(&ini, SRP_TSK_LUN_RESET, 0, 0);
	mem_settle();
	fakes.fake[0].hold[DISK_READ] = false;
	fake_disk_release(&fakes.fake[0], RIG_DEPTH);
	code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
}

/* T15: "no such task" is true only when its response went out before. */
static void
the_response_comes_first(void **state)
{
	uint64_t task, tag;

	expose(&ini);
	mem_hold(ini.end, MEM_HOLD_SEND);
	task = rw(&ini, 0, false);
	mem_settle();
	tag = function(&ini, SRP_TSK_ABORT_TASK, 0, task);
	mem_settle();
	mem_hold(ini.end, 0);
	ini_good(&ini, task);
	code(&ini, tag, SRP_TSK_MGMT_COMPLETE);
	ini_at_rest(&ini);
}

/*
 * The same when the device server is done with a read, but its table is still
 * being fetched: after the answer nothing of it may come, as its memory is the
 * initiator's own again.
 */
static void
a_read_that_fetches_its_table(void **state)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_ABORT_TASK_SET,
		SRP_TSK_LUN_RESET };

	for (size_t i = 0; i < sizeof(fns); i++) {
		struct srp_direct_buf d = build_desc(RIG_VA, RIG_KEY, 512);
		uint64_t task, tag;
		bool answered = false;

		expose(&ini);
		memcpy(mem_expose(ini.end, 0x4000, 77, 16), &d, 16);
		mem_hold(ini.end, MEM_HOLD_READ);
		task = ini_rw(&ini, &rig_u, false, 0, 1);
		build_indirect(&rig_u, false, &d, 1, 0, 0x4000, 77);
		ini_request(&ini, &rig_u);
		mem_settle();
		tag = function(&ini, fns[i], 0, task);
		mem_settle();
		mem_hold(ini.end, 0);
		/* Its response, if any, comes before the function's. */
		do {
			rig_until(ini_poll(&ini, &got));
			answered |= get64(got.rsp.tag) == tag;
		} while (!answered);
		mem_hide(ini.end, RIG_KEY);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
		mem_hide(ini.end, 77);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(answers), T(abort_in_the_disk), T(abort_on_the_way), T(abort_and_invalidate),
		T(leave_while_it_waits), T(another_channel), T(lun_reset), T(with_the_last_credit),
		T(the_response_comes_first), T(a_read_that_fetches_its_table),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
