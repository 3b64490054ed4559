/*
 * Channels that come and go while everything fails, on several reactors: what
 * a read returns is what was written, nothing that was given up is written later,
 * credits add up, and nothing is left.
 */
#include "srp_rig.h"

enum {
	INIS = 4,
	SLOTS = 8,			/* commands of an initiator, each with blocks of its own */
	BLOCKS = 16, LEN = BLOCKS * 512,
	PATTERNS = 60,
};

/* A command's place: what may be on its blocks, as a bit for each pattern. */
struct slot {
	uint64_t tag;			/* 0: nothing is out */
	bool out, aborted;		/* a function that is out names it */
	uint8_t pattern;
	uint64_t may;
};

static struct one {
	struct ini ini;
	bool up;
	uint8_t *data;			/* SLOTS times LEN */
	struct slot slot[SLOTS];
	uint64_t tmf;			/* a function that is out */
} ones[INIS];

static uint32_t seed;
static unsigned logins, reads, writes, aborts, failures;

static uint32_t
draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % below;
}

/* -- commands -- */

/* The pattern of all its bytes, or 0xff. */
static uint8_t
uniform(const uint8_t *p)
{
	for (int i = 1; i < LEN; i++)
		if (p[i] != p[0])
			return 0xff;
	return p[0];
}

static void
describe(struct one *o, unsigned s, bool out)
{
	uint64_t va = RIG_VA + s * LEN, table = RIG_VA + SLOTS * LEN + s * 64;
	struct srp_direct_buf d[4];

	if (draw(2)) {
		build_direct(&rig_u, out, va, RIG_KEY, LEN);
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		d[i] = build_desc(va + i * LEN / 4, RIG_KEY, LEN / 4);
	memcpy(o->data + (table - RIG_VA), d, sizeof(d));
	build_indirect(&rig_u, out, d, 4, draw(2) ? 4 : draw(4), table, RIG_KEY);
}

static void
command(struct one *o, unsigned n)
{
	unsigned s = draw(SLOTS);
	struct slot *slot = &o->slot[s];
	uint8_t *data = o->data + s * LEN;

	if (slot->tag || o->ini.limit < 2)
		return;
	slot->aborted = false;
	slot->out = draw(2);
	slot->tag = ini_rw(&o->ini, &rig_u, slot->out, (n * SLOTS + s) * BLOCKS, BLOCKS);
	if (slot->out) {
		slot->pattern = (uint8_t)(1 + draw(PATTERNS - 1));
		slot->may |= 1ull << slot->pattern;
		memset(data, slot->pattern, LEN);
	} else {
		memset(data, 0xcc, LEN);
	}
	if (slot->out && o->ini.imm && draw(3) == 0)
		build_imm(&rig_u, RIG_IMM, data, LEN);
	else
		describe(o, s, slot->out);
	ini_request(&o->ini, &rig_u);
}

/* Its blocks: one pattern each, of those that may be there. */
static void
response(struct one *o, const struct got *got)
{
	for (unsigned s = 0; s < SLOTS; s++) {
		struct slot *slot = &o->slot[s];
		uint8_t pattern;

		if (!slot->tag || slot->tag != get64(got->rsp.tag))
			continue;
		slot->tag = 0;
		if (got->rsp.status != SCSI_GOOD) {
			assert_true(got->rsp.status == SCSI_BUSY ||
			    got->rsp.status == SCSI_TASK_SET_FULL || got_asc(got) >> 16 == 6);
			return;
		}
		if (slot->out) {
			writes++;
			slot->may = 1ull << slot->pattern;
			return;
		}
		reads++;
		pattern = uniform(o->data + s * LEN);
		assert_true(pattern < PATTERNS);
		assert_true(slot->may & 1ull << pattern);
		return;
	}
	assert_int_equal(get64(got->rsp.tag), o->tmf);
	assert_int_equal(got_code(got), SRP_TSK_MGMT_COMPLETE);
	o->tmf = 0;
	aborts++;
	/* Whatever was not answered before is over now, and may have been done. */
	for (unsigned s = 0; s < SLOTS; s++)
		if (o->slot[s].aborted)
			o->slot[s].tag = 0;
}

static void
abort_some(struct one *o)
{
	static const uint8_t fns[] = { SRP_TSK_ABORT_TASK, SRP_TSK_ABORT_TASK_SET };
	uint8_t fn = fns[draw(2)];
	unsigned s = draw(SLOTS);

	if (o->tmf || !o->ini.limit)
		return;
	o->tmf = ini_tmf(&o->ini, &rig_u, fn, o->slot[s].tag);
	ini_request(&o->ini, &rig_u);
	for (unsigned i = 0; i < SLOTS; i++)
		o->slot[i].aborted = o->slot[i].tag && (fn != SRP_TSK_ABORT_TASK || i == s);
}

/* -- channels -- */

static void
enter(struct one *o, unsigned n)
{
	static const uint8_t flags[] = { SRP_MULTICHAN_SINGLE, SRP_MULTICHAN_MULTI };
	struct mem_arm arm = { draw(2), draw(150), (enum mem_fault)draw(MEM_FAULTS) };

	mem.reactor = draw(reactor_count());
	mem.arm = arm;
	ini_connect(&o->ini, (struct say){ .port = (uint8_t)n, .flags = flags[draw(2)],
	    .imm = RIG_IMM, .iu_len = 16384, .rdma_form = draw(2) });
	o->data = mem_expose(o->ini.end, RIG_VA, RIG_KEY, SLOTS * LEN + SLOTS * 64);
	o->up = false;
	o->tmf = 0;
	for (unsigned s = 0; s < SLOTS; s++)
		o->slot[s].tag = 0;
}

static void
leave(struct one *o)
{
	failures += mem_hit(o->ini.end) != MEM_NOWHERE;
	ini_free(&o->ini);
	o->up = false;
}

static void
look(struct one *o, unsigned n)
{
	struct got got;

	if (!o->ini.end) {
		enter(o, n);
		return;
	}
	switch (mem_state(o->ini.end)) {
	case MEM_ASKING:
		return;
	case MEM_UP:
		if (!o->up) {
			ini_entered(&o->ini);
			logins++;
		}
		o->up = true;
		break;
	case MEM_REFUSED:
	case MEM_LEFT:
	case MEM_DROPPED:
		leave(o);
		return;
	}
	while (ini_poll(&o->ini, &got)) {
		if (got.b[0] == SRP_T_LOGOUT) {
			leave(o);
			return;
		}
		assert_int_equal(got.b[0], SRP_RSP);
		response(o, &got);
	}
}

static void
act(struct one *o, unsigned n)
{
	look(o, n);
	if (!o->up)
		return;
	switch (draw(200)) {
	case 0:
		mem_leave(o->ini.end);
		break;
	case 1:
		ini_reply(&o->ini, SRP_I_LOGOUT, put64(1));
		break;
	case 2:
		mem_hold(o->ini.end, draw(128));
		break;
	case 3 ... 15:
		mem_hold(o->ini.end, 0);
		break;
	case 16 ... 20:
		abort_some(o);
		break;
	default:
		command(o, n);
	}
}

static void
disk_hold(struct fake_disk *disk, bool hold)
{
	pthread_mutex_lock(&disk->lock);
	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = hold;
	pthread_mutex_unlock(&disk->lock);
}

static void
disk_moods(void)
{
	struct fake_disk *disk = &fakes.fake[0];

	if (draw(40) == 0)
		disk_hold(disk, draw(3) == 0);
	if (draw(8) == 0)
		fake_disk_release(disk, 1 + draw(4));
}

/* Everything goes on and ends; then the disk itself is looked at. */
static void
calm(void)
{
	struct fake_disk *disk = &fakes.fake[0];

	disk_hold(disk, false);
	for (unsigned n = 0; n < INIS; n++) {
		if (ones[n].ini.end) {
			mem_hold(ones[n].ini.end, 0);
			leave(&ones[n]);
		}
	}
	do {
		fake_disk_release(disk, 1000);
		mem_settle();
	} while (fake_disk_held(disk));
	rig_until(mem.conns == 0 && rig_live() == 0);
	for (unsigned n = 0; n < INIS; n++) {
		for (unsigned s = 0; s < SLOTS; s++) {
			uint8_t pattern = uniform(disk->mem + (n * SLOTS + s) * LEN);

			assert_true(pattern < PATTERNS);
			assert_true(ones[n].slot[s].may & 1ull << pattern);
			/* Nothing that is over may change it. */
			ones[n].slot[s].may = 1ull << pattern;
		}
	}
}

static void
storm(unsigned reactors, enum mem_order order, const struct fabric_limits *limits)
{
	rig_init(1);
	mem.order = order;
	mem.seed = seed = 12345 + (uint32_t)order;
	if (limits)
		mem.limits = *limits;
	rig_start(reactors);
	memset(ones, 0, sizeof(ones));
	for (unsigned n = 0; n < INIS; n++)
		for (unsigned s = 0; s < SLOTS; s++)
			ones[n].slot[s].may = 1;
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned step = 0; step < 2000; step++) {
			unsigned n = draw(INIS);

			act(&ones[n], n);
			disk_moods();
			if (draw(6) == 0)
				mem_settle();
		}
		calm();
	}
	rig_stop();
	print_message("# %u logins, %u reads, %u writes, %u functions, %u failures\n", logins,
	    reads, writes, aborts, failures);
	assert_true(logins > 100 && reads > 100 && writes > 100 && aborts > 10 && failures > 10);
	logins = reads = writes = aborts = failures = 0;
}

static void
one_reactor(void **state)
{
	for (enum mem_order order = MEM_SENDS_FIRST; order <= MEM_RANDOM; order++)
		storm(1, order, NULL);
}

static void
three_reactors(void **state)
{
	for (enum mem_order order = MEM_SENDS_FIRST; order <= MEM_RANDOM; order++)
		storm(3, order, NULL);
}

static void
a_small_device(void **state)
{
	static const struct fabric_limits limits = { 6, 4096, 2, 1, 0, 3000 };

	storm(2, MEM_RANDOM, &limits);
	storm(2, MEM_RECVS_FIRST, &limits);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reactor),
		cmocka_unit_test(three_reactors),
		cmocka_unit_test(a_small_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
