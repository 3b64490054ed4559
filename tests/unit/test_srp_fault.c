/* Every step of a login, a READ, a WRITE fails in every way: nothing false is told or written. */
#include "srp_rig.h"

enum { LEN = 8192, OLD = 0x0d, NEW = 0x9e };

static struct ini ini;

static uint8_t *
disk_mem(void)
{
	return fakes.fake[0].mem;
}

static bool
all(const uint8_t *p, uint8_t what)
{
	for (int i = 0; i < LEN; i++)
		if (p[i] != what)
			return false;
	return true;
}

/* A peer that is told of it may be anywhere; this is where the rules are. */
static bool
ends_the_channel(enum mem_fault fault)
{
	return fault != MEM_AGAIN && fault != MEM_NOMEM;
}

/* -- shapes of one command -- */

enum shape {
	READ_DIRECT, READ_PIECES, READ_TABLE,
	WRITE_DIRECT, WRITE_PIECES, WRITE_TABLE, WRITE_IMM, SHAPES
};

static const char *const shape_names[SHAPES] = {
	"READ", "READ in pieces", "READ by a table elsewhere", "WRITE", "WRITE in pieces",
	"WRITE by a table elsewhere", "WRITE of immediate data",
};

static bool
writes(enum shape shape)
{
	return shape >= WRITE_DIRECT;
}

/* Sends it; returns the initiator's bytes. */
static uint8_t *
begin(enum shape shape, uint64_t *tag)
{
	struct srp_direct_buf d[8];
	uint8_t *data = mem_expose(ini.end, RIG_VA, RIG_KEY, LEN);
	uint8_t *table = mem_expose(ini.end, 0x4000, 77, sizeof(d));
	bool table_away = shape == READ_TABLE || shape == WRITE_TABLE;

	memset(data, writes(shape) ? NEW : 0, LEN);
	*tag = ini_rw(&ini, &rig_u, writes(shape), 0, LEN / 512);
	for (int i = 0; i < 8; i++)
		d[i] = build_desc(RIG_VA + (uint64_t)i * LEN / 8, RIG_KEY, LEN / 8);
	memcpy(table, d, sizeof(d));
	if (shape == READ_DIRECT || shape == WRITE_DIRECT)
		build_direct(&rig_u, writes(shape), RIG_VA, RIG_KEY, LEN);
	else if (shape == WRITE_IMM)
		build_imm(&rig_u, RIG_IMM, data, LEN);
	else
		build_indirect(&rig_u, writes(shape), d, 8, table_away ? 0 : 8, 0x4000, 77);
	memset(disk_mem(), OLD, LEN);
	ini_request(&ini, &rig_u);
	return data;
}

/* What must hold however it ended. */
static void
judge(enum shape shape, enum mem_fault fault, const uint8_t *data, uint64_t tag)
{
	enum mem_where where;
	struct got got;
	bool answered;

	rig_until((answered = ini_poll(&ini, &got)) || mem_state(ini.end) != MEM_UP);
	/* What happens once it is flushed must not change anything more. */
	if (mem_state(ini.end) != MEM_UP)
		rig_until(mem.conns == 0);
	answered |= !answered && ini_poll(&ini, &got);
	where = mem_hit(ini.end);
	if (!ends_the_channel(fault) || where == MEM_NOWHERE)
		assert_true(answered && mem_state(ini.end) == MEM_UP);
	else
		assert_true(mem_state(ini.end) != MEM_UP);
	if (answered) {
		assert_int_equal(got.b[0], SRP_RSP);
		assert_int_equal(get64(got.rsp.tag), tag);
		assert_int_equal(got.rsp.status, SCSI_GOOD);
		assert_true(writes(shape) ? all(disk_mem(), NEW) : all(data, OLD));
		assert_false(ini_poll(&ini, &got));
	}
	if (!writes(shape))
		return;
	/* All or nothing, and nothing when its data did not surely come. */
	assert_true(all(disk_mem(), NEW) || all(disk_mem(), OLD));
	if (where == MEM_AT_READ && ends_the_channel(fault))
		assert_true(all(disk_mem(), OLD));
	assert_int_equal(fakes.fake[0].ops[DISK_WRITE], all(disk_mem(), NEW));
}

/* Returns whether there are more points. */
static bool
one_fault(enum shape shape, enum mem_fault fault, unsigned at)
{
	const uint8_t *data;
	uint64_t tag;
	bool more;

	ini_login_as(&ini, (struct say){ .imm = RIG_IMM, .iu_len = 16384 });
	ini_quiet_unit(&ini, 0);
	mem_settle();
	fakes.fake[0].ops[DISK_WRITE] = 0;
	mem_arm(ini.end, at, fault);
	data = begin(shape, &tag);
	judge(shape, fault, data, tag);
	more = mem_points(ini.end) > at;
	ini_free(&ini);
	rig_until(mem.conns == 0);
	mem_settle();
	if (rig_live())
		fail_msg("%s: something is left when point %u %s", shape_names[shape], at,
		    mem_fault_names[fault]);
	return more;
}

static void
every_step(void **state)
{
	unsigned rounds = 0;

	for (enum mem_order order = MEM_SENDS_FIRST; order <= MEM_RANDOM; order++) {
		mem.order = order;
		for (enum shape shape = 0; shape < SHAPES; shape++) {
			for (enum mem_fault fault = 0; fault < MEM_FAULTS; fault++) {
				unsigned at = 0;

				for (; one_fault(shape, fault, at); at++)
					rounds++;
				/* The unit comes, is answered, and something is posted. */
				assert_true(at >= 3);
			}
		}
	}
	print_message("# %u faults\n", rounds);
}

/* A login with every call failing: refused or lost, never half there, and the next one stands. */
static void
every_step_of_a_login(void **state)
{
	for (enum mem_fault fault = 0; fault < MEM_FAULTS; fault++) {
		bool more = true;

		for (unsigned at = 0; more; at++) {
			mem.arm = (struct mem_arm){ true, at, fault };
			ini_connect(&ini, (struct say){ 0 });
			mem_settle();
			more = mem_points(ini.end) > at;
			switch (mem_hit(ini.end)) {
			case MEM_AT_OPEN:
			case MEM_AT_ACCEPT:
			case MEM_AT_POST_RECV:
				assert_int_equal(ini_refused(&ini),
				    SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
				break;
			default:
				assert_int_equal(mem_state(ini.end), MEM_UP);
			}
			mem_free(ini.end);
			rig_until(mem.conns == 0);
			ini_login(&ini);
			ini_at_rest(&ini);
			ini_free(&ini);
		}
		assert_false(mem.arm.on);
	}
}

/* The peer leaves, or goes before it has seen the answer, and comes back at once. */
static void
never_established(void **state)
{
	struct ini again;

	mem.hold = MEM_HOLD_ESTABLISHED;
	ini_login_as(&ini, (struct say){ 0 });
	/* Its first unit says as much. */
	ini_quiet_unit(&ini, 0);
	ini_at_rest(&ini);
	ini_connect(&again, (struct say){ 0 });
	rig_until(mem_state(again.end) == MEM_UP);
	ini_free(&ini);
	ini_free(&again);
	rig_until(mem.conns == 0);
	mem.hold = 0;
}

/* -- the memory of the peer -- */

/* R10, T03: keys that are not valid any more, at each kind of descriptor. */
static void
invalidated(void **state)
{
	for (enum shape shape = 0; shape < WRITE_IMM; shape++) {
		for (int table = 0; table < 2; table++) {
			struct got got;
			uint64_t tag;

			if (table && shape != READ_TABLE && shape != WRITE_TABLE)
				continue;
			ini_login(&ini);
			mem_hold(ini.end, MEM_HOLD_READ | MEM_HOLD_WRITE);
			begin(shape, &tag);
			mem_settle();
			mem_hide(ini.end, table ? 77 : RIG_KEY);
			mem_hold(ini.end, 0);
			rig_until(mem_state(ini.end) == MEM_DROPPED && mem.conns == 0);
			assert_false(ini_poll(&ini, &got));
			assert_true(all(disk_mem(), OLD));
			ini_free(&ini);
		}
	}
}

/* Addresses inside the key, but one byte before or behind what it stands for. */
static void
out_of_bounds(void **state)
{
	static const int64_t off[] = { -1, 1 };

	for (size_t i = 0; i < ARRAY_LEN(off); i++) {
		for (int out = 0; out < 2; out++) {
			uint8_t *data;

			ini_login(&ini);
			data = mem_expose(ini.end, RIG_VA, RIG_KEY, 512);
			ini_rw(&ini, &rig_u, out, 0, 1);
			build_direct(&rig_u, out, RIG_VA + (uint64_t)off[i], RIG_KEY, 512);
			memset(disk_mem(), OLD, LEN);
			ini_request(&ini, &rig_u);
			rig_until(mem_state(ini.end) == MEM_DROPPED);
			assert_true(all(disk_mem(), OLD));
			assert_int_equal(data[0], 0);
			ini_free(&ini);
		}
	}
}

/* -- while a device or a disk is slow -- */

static void
disk_hold(bool hold)
{
	fakes.fake[0].hold[DISK_READ] = fakes.fake[0].hold[DISK_WRITE] = hold;
}

/*
 * The peer leaves at a moment when the disk has the command, the device its
 * data, or the flushes take long. Memory goes back last.
 */
static void
slow_ends(void **state)
{
	static const uint32_t holds[] = { 0, MEM_HOLD_READ, MEM_HOLD_WRITE, MEM_HOLD_SEND,
		MEM_HOLD_DONE };

	for (enum shape shape = 0; shape < SHAPES; shape++) {
		for (size_t h = 0; h < ARRAY_LEN(holds); h++) {
			for (int disk = 0; disk < 2; disk++) {
				uint64_t tag;

				disk_hold(disk);
				ini_login_as(&ini, (struct say){ .imm = RIG_IMM, .iu_len = 16384 });
				ini_quiet_unit(&ini, 0);
				mem_hold(ini.end, holds[h] | MEM_HOLD_DRAIN);
				begin(shape, &tag);
				mem_settle();
				mem_leave(ini.end);
				mem_settle();
				/* First the disk, then the device; and the other way. */
				if (h & 1)
					mem_hold(ini.end, 0);
				mem_settle();
				disk_hold(false);
				fake_disk_release(&fakes.fake[0], 10);
				mem_settle();
				mem_hold(ini.end, 0);
				rig_until(mem.conns == 0);
				ini_free(&ini);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)
		T(every_step), T(every_step_of_a_login), T(never_established), T(invalidated),
		T(out_of_bounds), T(slow_ends),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
