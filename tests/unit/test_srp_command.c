/* Commands: data by every kind of descriptor, both ways, and what is said of units that lie. */
#include "srp_rig.h"

enum { BLOCK = 512 };

static uint8_t pattern[1 << 20];
static struct ini ini;
static struct got got;

static uint8_t *
disk_mem(void)
{
	return fakes.fake[0].mem;
}

static int
up_with(uint32_t caps)
{
	rig_init(1);
	fakes.fake[0].caps = caps;
	rig_start(1);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
	ini_login(&ini);
	return 0;
}

static int
up(void **state)
{
	return up_with(0);
}

static int
lending_up(void **state)
{
	return up_with(DISK_CAP_LENDS);
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	return 0;
}

/* -- shapes: the same bytes, told in different ways -- */

enum shape { DIRECT, INDIRECT, EXTERNAL, PARTIAL, TORN, IMMEDIATE, SHAPES };

static const char *const shape_names[SHAPES] = {
	"direct", "indirect", "external", "partial", "torn", "immediate"
};

/*
 * Adds descriptors of len bytes at RIG_VA, and exposes them; the bytes, or NULL
 * when the data is in the unit.
 */
static uint8_t *
shape_add(struct build *u, enum shape shape, bool out, uint32_t len)
{
	static struct srp_direct_buf d[512];
	uint32_t n = 0, at = 0, here, step = shape == TORN ? 1 : len / 7 + 1;
	uint8_t *mem_data, *table;

	if (shape == IMMEDIATE) {
		build_imm(u, RIG_IMM, pattern, len);
		return NULL;
	}
	mem_data = mem_expose(ini.end, RIG_VA, RIG_KEY, len);
	if (shape == DIRECT) {
		build_direct(u, out, RIG_VA, RIG_KEY, len);
		return mem_data;
	}
	/* Pieces that grow, or grow from nothing: none fits a block. */
	for (; at < len; n++) {
		uint32_t part = MIN(step, len - at);

		d[n] = build_desc(RIG_VA + at, RIG_KEY, part);
		at += part;
		step = shape == TORN ? step * 2 + 1 : step;
		if (shape == TORN)
			d[++n] = build_desc(0, 0, 0);
	}
	here = shape == EXTERNAL ? 0 : shape == PARTIAL ? n / 2 : n;
	table = mem_expose(ini.end, 0x555500, 77, n * 16);
	memcpy(table, d, n * 16);
	build_indirect(u, out, d, n, here, 0x555500, 77);
	return mem_data;
}

static void
shape_end(void)
{
	mem_hide(ini.end, RIG_KEY);
	mem_hide(ini.end, 77);
}

static void
writes_and_reads(uint32_t blocks)
{
	uint32_t len = blocks * BLOCK;

	for (enum shape shape = DIRECT; shape < SHAPES; shape++) {
		uint8_t *data;
		uint64_t tag;

		if (shape == IMMEDIATE && len > RIG_IU - RIG_IMM)
			continue;
		memset(disk_mem(), 0, len);
		tag = ini_rw(&ini, &rig_u, true, 0, (uint16_t)blocks);
		data = shape_add(&rig_u, shape, true, len);
		if (data)
			memcpy(data, pattern, len);
		ini_request(&ini, &rig_u);
		ini_good(&ini, tag);
		if (memcmp(disk_mem(), pattern, len))
			fail_msg("%s: other bytes written", shape_names[shape]);
		shape_end();
		if (shape == IMMEDIATE)
			continue;
		tag = ini_rw(&ini, &rig_u, false, 0, (uint16_t)blocks);
		data = shape_add(&rig_u, shape, false, len);
		ini_request(&ini, &rig_u);
		ini_good(&ini, tag);
		if (memcmp(data, pattern, len))
			fail_msg("%s: other bytes read", shape_names[shape]);
		shape_end();
	}
	ini_at_rest(&ini);
}

static void
all_shapes(void **state)
{
	static const uint32_t blocks[] = { 1, 3, 7, 8, 9, 64, 129, 2048 };

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		writes_and_reads(blocks[i]);
}

/* R11: a device of few places, elements and bytes: all is cut, nothing is lost. */
static void
small_devices(void **state)
{
	static const struct fabric_limits limits[] = {
		{ 4, 4096, 1, 1, 0, 1u << 30 },
		{ 5, 4096, 3, 1, 64, 4096 },
		{ 8, 4096, 2, 2, 0, 1000 },
		{ 64, 4096, 32, 32, 256, 65536 },
	};
	static const enum mem_order orders[] = { MEM_SENDS_FIRST, MEM_RECVS_FIRST, MEM_RANDOM };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
			ini_free(&ini);
			rig_until(mem.conns == 0);
			mem.limits = limits[i];
			mem.order = orders[k];
			mem.seed = 7;
			ini_login(&ini);
			writes_and_reads(1);
			writes_and_reads(129);
			writes_and_reads(512);
			assert_true(mem_count(ini.end).longest <= limits[i].send_wr);
		}
	}
}

/* R11: as many large commands as there are credits, in a queue for a few requests. */
static void
many_large_ones(void **state)
{
	enum { N = RIG_DEPTH, LEN = 65536 };
	uint8_t *mem_data;
	uint64_t tags[N];

	ini_free(&ini);
	mem.limits.send_wr = 6;
	mem.limits.max_sge = 2;
	mem.limits.max_msg = 8192;
	ini_login(&ini);
	memcpy(disk_mem(), pattern, sizeof(pattern));
	mem_data = mem_expose(ini.end, RIG_VA, RIG_KEY, N * LEN);
	for (int i = 0; i < N; i++) {
		tags[i] = ini_rw(&ini, &rig_u, i & 1, (uint32_t)i * LEN / BLOCK, LEN / BLOCK);
		if (i & 1)
			memset(mem_data + i * LEN, i, LEN);
		build_direct(&rig_u, i & 1, RIG_VA + (uint64_t)i * LEN, RIG_KEY, LEN);
		ini_request(&ini, &rig_u);
	}
	for (int i = 0; i < N; i++) {
		rig_until(ini_poll(&ini, &got));
		assert_int_equal(got.rsp.status, SCSI_GOOD);
	}
	for (int i = 0; i < N; i++) {
		if (i & 1)
			assert_int_equal(disk_mem()[i * LEN + LEN - 1], i);
		else
			assert_memory_equal(mem_data + i * LEN, pattern + i * LEN, LEN);
	}
	assert_true(tags[0]);
	ini_at_rest(&ini);
}

/* A disk's own memory goes out without a copy when the device reaches it, and with one when not. */
static void
lent_memory(void **state)
{
	for (int reached = 0; reached < 2; reached++) {
		mem.lent = reached;
		mem.foreign = reached ? NULL : disk_mem();
		mem.foreign_len = reached ? 0 : 1 << 20;
		writes_and_reads(9);
		writes_and_reads(1000);
	}
}

/* -- lengths that differ -- */

static void
residuals(void **state)
{
	static const struct {
		bool out;
		uint32_t expects;
		uint8_t flags;
		uint32_t resid;
	} rows[] = {
		{ false, 1024, SRP_RSP_DIUNDER, 512 },
		{ false, 100, SRP_RSP_DIOVER, 412 },
		{ false, 512, 0, 0 },
		{ true, 1024, SRP_RSP_DOUNDER, 512 },
		{ true, 512, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t tag = ini_rw(&ini, &rig_u, rows[i].out, 0, 1);
		uint8_t *data = shape_add(&rig_u, DIRECT, rows[i].out, rows[i].expects);

		memset(data, 0x99, rows[i].expects);
		memcpy(disk_mem(), pattern, 1024);
		ini_request(&ini, &rig_u);
		ini_rsp(&ini, &got, tag);
		assert_int_equal(got.rsp.status, SCSI_GOOD);
		assert_int_equal(got.rsp.flags, rows[i].flags);
		assert_int_equal(get32(got.rsp.data_out_res_cnt), rows[i].out ? rows[i].resid : 0);
		assert_int_equal(get32(got.rsp.data_in_res_cnt), rows[i].out ? 0 : rows[i].resid);
		if (!rows[i].out) {
			assert_memory_equal(data, pattern, MIN(rows[i].expects, 512u));
			/* Not a byte more than there is. */
			for (uint32_t at = 512; at < rows[i].expects; at++)
				assert_int_equal(data[at], 0x99);
		}
		shape_end();
	}
	ini_at_rest(&ini);
}

/* A command that moves nothing, or that has no descriptors for what it would move. */
static void
nothing_to_move(void **state)
{
	uint64_t tag = ini_rw(&ini, &rig_u, false, 0, 0);

	ini_request(&ini, &rig_u);
	ini_good(&ini, tag);
	tag = ini_rw(&ini, &rig_u, false, 0, 1);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got.rsp.status, SCSI_GOOD);
	assert_int_equal(got.rsp.flags, SRP_RSP_DIOVER);
	assert_int_equal(get32(got.rsp.data_in_res_cnt), 512);
	/* Descriptors of no bytes. */
	tag = ini_rw(&ini, &rig_u, false, 0, 0);
	build_direct(&rig_u, false, 0, 0, 0);
	ini_request(&ini, &rig_u);
	ini_good(&ini, tag);
	tag = ini_rw(&ini, &rig_u, true, 0, 0);
	build_indirect(&rig_u, true, NULL, 0, 0, 0, 0);
	ini_request(&ini, &rig_u);
	ini_good(&ini, tag);
	assert_int_equal(mem_count(ini.end).reads + mem_count(ini.end).writes, 0);
	ini_at_rest(&ini);
}

static void
sense(void **state)
{
	static const uint8_t bad[16] = { 0xff };
	uint64_t tag = ini_cmd(&ini, &rig_u, 0, bad, 16);

	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got), 0x052000);
	tag = ini_rw(&ini, &rig_u, false, 0xffffff, 1);
	shape_add(&rig_u, DIRECT, false, 512);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got), 0x052100);
	assert_int_equal(got.rsp.flags & ~SRP_RSP_DIUNDER, SRP_RSP_SNSVALID);
	tag = ini_cmd(&ini, &rig_u, 3, bad, 16);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got), 0x052500);
	ini_at_rest(&ini);
}

/* An error of the disk: what was read does not go out, and the status says so. */
static void
disk_errors(void **state)
{
	uint64_t tag = ini_rw(&ini, &rig_u, false, 0, 1);
	uint8_t *data = shape_add(&rig_u, DIRECT, false, 512);

	memcpy(disk_mem(), pattern, 512);
	fakes.fake[0].error[DISK_READ] = -EIO;
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got) >> 16, 3);
	for (int i = 0; i < 512; i++)
		assert_int_equal(data[i], 0);
	fakes.fake[0].error[DISK_READ] = 0;
	ini_at_rest(&ini);
}

/* -- units that lie: refused with the tag, and the channel goes on -- */

static void
lies(void **state)
{
	for (int what = 0; what < 9; what++) {
		struct srp_direct_buf d[2] = { build_desc(RIG_VA, RIG_KEY, 256),
			build_desc(RIG_VA + 256, RIG_KEY, 256) };
		uint64_t tag = ini_rw(&ini, &rig_u, true, 0, 1);
		struct srp_cmd *h = (void *)rig_u.b;
		struct srp_indirect_buf *t = build_indirect(&rig_u, true, d, 2, 2, 0x555500, 77);

		switch (what) {
		case 0: t->len = put32(513); break;
		case 1: t->table_desc.len = put32(0); break;
		case 2: t->table_desc.len = put32(31); break;
		case 3: t->table_desc.len = put32(0xfffffff0); break;
		case 4: h->data_out_desc_cnt = 255; break;
		case 5: h->add_cdb_len = 63 << 2; break;
		case 6: h->buf_fmt = 0x70; break;
		case 7: h->buf_fmt = 0x23; break;
		case 8: rig_u.len--; break;
		}
		ini_request(&ini, &rig_u);
		ini_rsp(&ini, &got, tag);
		if (got.rsp.flags & SRP_RSP_SNSVALID)
			assert_int_equal(got_asc(&got) >> 16, 5);
		else
			assert_int_equal(got_code(&got), SRP_RSP_FIELDS_INVALID);
	}
	assert_int_equal(fakes.fake[0].ops[DISK_WRITE], 0);
	assert_int_equal(mem_count(ini.end).reads, 0);
	ini_at_rest(&ini);
}

/* R08: what a fetched table says is looked at only then, and as hard. */
static void
tables_that_lie(void **state)
{
	static const struct { uint32_t len[3]; uint64_t va; } rows[] = {
		{ { 256, 255, 0 }, RIG_VA },
		{ { 256, 257, 0 }, RIG_VA },
		{ { 0x80000000, 0x80000000, 512 }, RIG_VA },
		{ { 0, 0, 0 }, RIG_VA },
		{ { 512, 0, 0 }, UINT64_MAX - 10 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (int out = 0; out < 2; out++) {
			struct srp_direct_buf d[3];
			uint64_t tag = ini_rw(&ini, &rig_u, out, 0, 1);
			uint8_t *table;

			for (int k = 0; k < 3; k++)
				d[k] = build_desc(rows[i].va, RIG_KEY, rows[i].len[k]);
			table = mem_expose(ini.end, 0x555500, 77, sizeof(d));
			memcpy(table, d, sizeof(d));
			build_indirect(&rig_u, out, d, 3, 0, 0x555500, 77)->len = put32(512);
			ini_request(&ini, &rig_u);
			ini_rsp(&ini, &got, tag);
			assert_true((got_asc(&got) >> 16 == 5) || (got_asc(&got) >> 16 == 0xb));
			mem_hide(ini.end, 77);
		}
	}
	assert_int_equal(fakes.fake[0].ops[DISK_WRITE], 0);
	assert_int_equal(mem_count(ini.end).writes, 0);
	ini_at_rest(&ini);
}

/* R09: immediate data shorter than the write asks, longer, or not agreed on. */
static void
immediate_lengths(void **state)
{
	uint64_t tag = ini_rw(&ini, &rig_u, true, 0, 2);

	build_imm(&rig_u, RIG_IMM, pattern, 512);
	memset(disk_mem(), 0, 2048);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	/* Half of what the CDB asks: an overrun, or an error; never bytes nobody sent. */
	if (got.rsp.status == SCSI_GOOD)
		assert_int_equal(got.rsp.flags, SRP_RSP_DOOVER);
	for (int i = 512; i < 1024; i++)
		assert_int_equal(disk_mem()[i], 0);
	tag = ini_rw(&ini, &rig_u, true, 2, 1);
	build_imm(&rig_u, RIG_IMM, pattern, 1024);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got.rsp.status, SCSI_GOOD);
	assert_int_equal(got.rsp.flags, SRP_RSP_DOUNDER);
	assert_memory_equal(disk_mem() + 1024, pattern, 512);
	assert_int_equal(disk_mem()[1536], 0);
	ini_at_rest(&ini);
	ini_free(&ini);
	ini_login_as(&ini, (struct say){ 0 });
	ini_quiet_unit(&ini, 0);
	tag = ini_rw(&ini, &rig_u, true, 2, 1);
	build_imm(&rig_u, RIG_IMM, pattern, 512);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got) >> 16, 5);
	ini_at_rest(&ini);
}

/* Immediate data is used where it was received: nothing else comes there before the write ended. */
static void
immediate_data_stays(void **state)
{
	uint64_t tags[RIG_DEPTH];

	fakes.fake[0].hold[DISK_WRITE] = true;
	for (int i = 0; i < RIG_DEPTH - 1; i++) {
		uint8_t block[512];

		memset(block, i + 1, sizeof(block));
		tags[i] = ini_rw(&ini, &rig_u, true, (uint32_t)i, 1);
		build_imm(&rig_u, RIG_IMM, block, 512);
		ini_request(&ini, &rig_u);
	}
	rig_until(fake_disk_held(&fakes.fake[0]) == RIG_DEPTH - 1);
	/* The last credit, over and over. */
	for (int i = 0; i < 40; i++)
		ini_quiet_unit(&ini, 0);
	fakes.fake[0].hold[DISK_WRITE] = false;
	fake_disk_release(&fakes.fake[0], RIG_DEPTH);
	for (int i = 0; i < RIG_DEPTH - 1; i++) {
		ini_good(&ini, tags[i]);
		for (int k = 0; k < 512; k++)
			assert_int_equal(disk_mem()[i * 512 + k], i + 1);
	}
	ini_at_rest(&ini);
}

/* Both directions at once, for a command that takes only one. */
static void
two_directions(void **state)
{
	uint64_t tag = ini_rw(&ini, &rig_u, false, 0, 1);
	uint8_t *data = mem_expose(ini.end, RIG_VA, RIG_KEY, 1024);

	build_direct(&rig_u, true, RIG_VA, RIG_KEY, 512);
	build_direct(&rig_u, false, RIG_VA + 512, RIG_KEY, 512);
	memcpy(disk_mem(), pattern, 512);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	if (got.rsp.status == SCSI_GOOD)
		assert_memory_equal(data + 512, pattern, 512);
	else
		assert_int_equal(got_asc(&got) >> 16, 5);
	ini_at_rest(&ini);
}

/* R16a 4.5: the initiator says which responses shall wake it. */
static void
solicited(void **state)
{
	static const uint8_t tur[16], bad[16] = { 0xff };

	for (unsigned bits = 0; bits < 8; bits++) {
		for (int fails = 0; fails < 2; fails++) {
			uint64_t tag = ini_cmd(&ini, &rig_u, 0, fails ? bad : tur, 16);
			bool wanted = bits & (fails ? SRP_UCSOLNT : SRP_SCSOLNT);

			((struct srp_cmd *)rig_u.b)->sol_not = (uint8_t)bits;
			ini_request(&ini, &rig_u);
			ini_rsp(&ini, &got, tag);
			assert_int_equal(got.solicited, wanted);
			assert_int_equal(got.rsp.sol_not, wanted ? SRP_SOLNT : 0);
		}
	}
}

/* SAM-5 5.10. */
static void
a_tag_twice(void **state)
{
	static const uint8_t tur[16];
	uint64_t tag = ini_rw(&ini, &rig_u, false, 0, 1);
	uint8_t *data = shape_add(&rig_u, DIRECT, false, 512);

	fakes.fake[0].hold[DISK_READ] = true;
	memcpy(disk_mem(), pattern, 512);
	ini_request(&ini, &rig_u);
	rig_until(fake_disk_held(&fakes.fake[0]) == 1);
	build_cmd(&rig_u, tag, tur, 16);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got), 0x0b4e00);
	build_tmf(&rig_u, tag, SRP_TSK_ABORT_TASK, 99);
	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_code(&got), SRP_RSP_FIELDS_INVALID);
	fakes.fake[0].hold[DISK_READ] = false;
	fake_disk_release(&fakes.fake[0], 1);
	ini_good(&ini, tag);
	assert_memory_equal(data, pattern, 512);
	/* Now it is free again. */
	build_cmd(&rig_u, tag, tur, 16);
	ini_request(&ini, &rig_u);
	ini_good(&ini, tag);
	ini_at_rest(&ini);
}

/* An initiator that has its response may use the tag, though no completion of ours was told yet. */
static void
a_tag_again_at_once(void **state)
{
	uint64_t tag = ini.tag;

	shape_add(&rig_u, DIRECT, false, 512);
	mem_hold(ini.end, MEM_HOLD_DONE);
	for (int i = 0; i < 8; i++) {
		ini.tag = tag;
		ini_rw(&ini, &rig_u, false, 0, 1);
		build_direct(&rig_u, false, RIG_VA, RIG_KEY, 512);
		ini_request(&ini, &rig_u);
		ini_good(&ini, tag);
	}
	mem_hold(ini.end, 0);
	ini_at_rest(&ini);
}

/* A read is one post: its data and its response together, one completion or none. */
static void
chained(void **state)
{
	struct mem_count before, after;
	uint64_t tag;

	for (int i = 0; i < 64; i++) {
		tag = ini_rw(&ini, &rig_u, false, 0, 1);
		shape_add(&rig_u, DIRECT, false, 512);
		before = mem_count(ini.end);
		ini_request(&ini, &rig_u);
		ini_good(&ini, tag);
		after = mem_count(ini.end);
		shape_end();
		assert_int_equal(after.posts - before.posts, 1);
		assert_int_equal(after.writes - before.writes, 1);
		assert_true(after.signalled - before.signalled <= 1);
		assert_int_equal(after.inlined - before.inlined, 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(all_shapes), T(small_devices), T(many_large_ones), T(residuals),
		T(nothing_to_move), T(sense), T(disk_errors), T(lies), T(tables_that_lie),
		T(immediate_lengths), T(immediate_data_stays), T(two_directions), T(solicited),
		T(a_tag_twice), T(a_tag_again_at_once), T(chained),
#undef T
		cmocka_unit_test_setup_teardown(lent_memory, lending_up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
