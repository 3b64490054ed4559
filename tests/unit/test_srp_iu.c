/* Information units: every length and every field that may lie, against the bytes that came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "scsi.h"
#include "util.h"

#include "srp_build.h"
#include "transport/srp/iu.h"

static const uint8_t cdb[32] = { 0x28, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
	18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
static struct build u;

/* What iu_cmd says of the first len bytes; the pointers it gives stay inside them. */
static enum iu_verdict
verdict(uint32_t len, uint32_t imm_offset)
{
	uint8_t *iu = build_exact(u.b, len);
	struct iu_cmd cmd;
	enum iu_verdict v = iu_cmd(iu, len, imm_offset, &cmd);

	if (v == IU_OK) {
		assert_true(cmd.cdb >= iu && cmd.cdb + 16 <= iu + len);
		assert_true(cmd.add_cdb + cmd.add_cdb_len <= iu + len);
		for (int i = 0; i < 2; i++) {
			const struct iu_data *d = i ? &cmd.in : &cmd.out;

			if (d->desc && !d->external)
				assert_true((const uint8_t *)(d->desc + d->ndesc) <= iu + len);
			if (d->imm)
				assert_true(d->imm >= iu && d->imm + d->len <= iu + len);
		}
	}
	free(iu);
	return v;
}

/* Every shorter form of the unit is refused, by the right name. */
static void
no_shorter(uint32_t imm_offset)
{
	assert_int_equal(verdict(u.len, imm_offset), IU_OK);
	for (uint32_t len = 0; len < u.len; len++)
		assert_int_equal(verdict(len, imm_offset), len < 48 ? IU_SHORT : IU_BAD);
}

static void
no_data(void **state)
{
	struct iu_cmd cmd;
	struct srp_cmd *h = build_cmd(&u, 0x1122334455667788, cdb, 16);

	h->sol_not = SRP_UCSOLNT;
	h->lun[1] = 7;
	h->task_attr = 0xf8 | SRP_ATTR_ORDERED;
	no_shorter(0);
	assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), IU_OK);
	assert_int_equal(cmd.tag, 0x1122334455667788);
	assert_int_equal(cmd.sol_not, SRP_UCSOLNT);
	assert_int_equal(cmd.attr, SRP_ATTR_ORDERED);
	assert_int_equal(cmd.lun[1], 7);
	assert_memory_equal(cmd.cdb, cdb, 16);
	assert_int_equal(cmd.add_cdb_len, 0);
	assert_int_equal(cmd.out.kind, SRP_NO_DATA_DESC);
	assert_int_equal(cmd.in.kind, SRP_NO_DATA_DESC);
	assert_int_equal(cmd.out.len + cmd.in.len, 0);
}

/* A length that is too short says so, and a fault inside keeps the tag to answer with. */
static void
the_tag_of_a_bad_unit(void **state)
{
	struct iu_cmd cmd;

	build_cmd(&u, 77, cdb, 16)->sol_not = SRP_UCSOLNT;
	build_fmt(&u, false, SRP_DATA_DESC_DIRECT);
	assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), IU_BAD);
	assert_int_equal(cmd.tag, 77);
	assert_int_equal(cmd.sol_not, SRP_UCSOLNT);
}

static void
direct(void **state)
{
	for (int out = 0; out < 2; out++) {
		struct iu_cmd cmd;
		struct iu_data *d = out ? &cmd.out : &cmd.in;

		build_cmd(&u, 1, cdb, 16);
		build_direct(&u, out, 0x1000, 0xabcd, 4096);
		no_shorter(0);
		assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), IU_OK);
		assert_int_equal(d->kind, SRP_DATA_DESC_DIRECT);
		assert_int_equal(d->len, 4096);
		assert_int_equal(d->ndesc, 1);
		assert_false(d->external);
		assert_int_equal(get64(d->desc->va), 0x1000);
		assert_int_equal(get32(d->desc->key), 0xabcd);
	}
}

static void
direct_addresses(void **state)
{
	static const struct { uint64_t va; uint32_t len; enum iu_verdict v; } rows[] = {
		{ 0, 0, IU_OK },
		{ 0, UINT32_MAX, IU_OK },
		{ UINT64_MAX, 0, IU_OK },
		{ UINT64_MAX, 1, IU_OK },
		{ UINT64_MAX, 2, IU_BAD },
		{ UINT64_MAX - UINT32_MAX + 1, UINT32_MAX, IU_OK },
		{ UINT64_MAX - UINT32_MAX + 2, UINT32_MAX, IU_BAD },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		build_cmd(&u, 1, cdb, 16);
		build_direct(&u, false, rows[i].va, 1, rows[i].len);
		assert_int_equal(verdict(u.len, 0), rows[i].v);
	}
}

/* Data-out comes first, whatever the kinds (r16a 6.6). */
static void
both_directions(void **state)
{
	struct srp_direct_buf d[2] = { build_desc(64, 5, 100), build_desc(4096, 6, 28) };
	struct iu_cmd cmd;

	build_cmd(&u, 1, cdb, 32);
	build_indirect(&u, true, d, 2, 2, 0, 0);
	build_direct(&u, false, 99, 7, 512);
	no_shorter(0);
	assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), IU_OK);
	assert_int_equal(cmd.out.len, 128);
	assert_int_equal(cmd.out.ndesc, 2);
	assert_int_equal(get32(cmd.out.desc[1].key), 6);
	assert_int_equal(cmd.in.len, 512);
	assert_int_equal(get64(cmd.in.desc->va), 99);
	assert_int_equal(cmd.add_cdb_len, 16);
	assert_memory_equal(cmd.add_cdb, cdb + 16, 16);
}

/* As many words of CDB as it says push the descriptors back; more than 32 bytes are not taken. */
static void
additional_cdb(void **state)
{
	for (uint32_t words = 0; words < 64; words++) {
		struct srp_cmd *h = build_cmd(&u, 1, cdb, 16);
		struct iu_cmd cmd;

		h->add_cdb_len = (uint8_t)(words << 2 | 3);
		memset(u.b + u.len, 0x5a, words * 4);
		u.len += words * 4;
		build_direct(&u, true, 0x2000, 1, 512);
		assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), words <= 4 ? IU_OK : IU_BAD);
		if (words > 4) {
			verdict(u.len, 0);
			continue;
		}
		no_shorter(0);
		assert_int_equal(cmd.add_cdb_len, words * 4);
		assert_int_equal(get64(cmd.out.desc->va), 0x2000);
		/* The same words, but they did not come. */
		u.len = 48;
		assert_int_equal(verdict(48, 0), IU_BAD);
	}
}

static void
indirect(void **state)
{
	static struct srp_direct_buf d[255];

	for (int out = 0; out < 2; out++) {
		for (uint32_t n = 1; n <= 255; n = n * 2 + 1) {
			struct iu_cmd cmd;
			struct iu_data *got = out ? &cmd.out : &cmd.in;
			uint32_t sum = 0;

			for (uint32_t i = 0; i < n; i++) {
				d[i] = build_desc(i * 8192ull, i, 16 + i);
				sum += 16 + i;
			}
			build_cmd(&u, 1, cdb, 16);
			build_indirect(&u, out, d, n, n, 0, 0);
			no_shorter(0);
			assert_int_equal(iu_cmd(u.b, u.len, 0, &cmd), IU_OK);
			assert_int_equal(got->len, sum);
			assert_int_equal(got->ndesc, n);
			assert_false(got->external);
			assert_int_equal(get32(got->desc[n - 1].key), n - 1);
		}
	}
}

/* R08: what the header of a table may claim, with two descriptors of 512 bytes in the unit. */
static void
a_table_that_lies(void **state)
{
	static const struct {
		uint32_t bytes, count, len;
		enum iu_verdict v;
		bool external;
	} rows[] = {
		{ 32, 2, 1024, IU_OK, false },
		{ 32, 2, 1023, IU_BAD, false },
		{ 32, 2, 1025, IU_BAD, false },
		{ 32, 2, 0, IU_BAD, false },
		{ 0, 0, 0, IU_OK, false },
		{ 0, 0, 1024, IU_BAD, false },
		{ 0, 2, 1024, IU_BAD, false },
		{ 15, 0, 1024, IU_BAD, false },
		{ 16, 1, 512, IU_OK, false },
		{ 16, 1, 1024, IU_BAD, false },
		{ 16, 2, 1024, IU_BAD, false },
		{ 17, 1, 512, IU_BAD, false },
		{ 31, 2, 1024, IU_BAD, false },
		{ 32, 3, 1024, IU_BAD, false },
		{ 32, 255, 1024, IU_BAD, false },
		/* What is not here is somewhere else, and the parts are not looked at yet. */
		{ 32, 0, 1024, IU_OK, true },
		{ 32, 1, 1024, IU_OK, true },
		{ 48, 2, 4096, IU_OK, true },
		{ 16 * 256, 2, 4096, IU_OK, true },
		{ IU_TABLE_BYTES, 2, 4096, IU_OK, true },
		{ IU_TABLE_BYTES + 16, 2, 4096, IU_BAD, false },
		{ 0xfffffff0, 2, 1024, IU_BAD, false },
		{ 0xffffffff, 2, 1024, IU_BAD, false },
		{ 0xfffffff0, 255, 1024, IU_BAD, false },
	};
	struct srp_direct_buf d[2] = { build_desc(0, 1, 512), build_desc(512, 1, 512) };

	for (int out = 0; out < 2; out++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			struct srp_cmd *h = build_cmd(&u, 1, cdb, 16);
			struct srp_indirect_buf *t = build_indirect(&u, out, d, 2, 2, 0x10000, 9);
			struct iu_cmd cmd;
			struct iu_data *got = out ? &cmd.out : &cmd.in;

			t->table_desc.len = put32(rows[i].bytes);
			t->len = put32(rows[i].len);
			if (out)
				h->data_out_desc_cnt = (uint8_t)rows[i].count;
			else
				h->data_in_desc_cnt = (uint8_t)rows[i].count;
			assert_int_equal(verdict(u.len, 0), rows[i].v);
			if (iu_cmd(u.b, u.len, 0, &cmd) != IU_OK)
				continue;
			assert_int_equal(got->external, rows[i].external);
			assert_int_equal(got->ndesc, rows[i].bytes / 16);
			assert_int_equal(got->len, rows[i].len);
			assert_int_equal(get64(got->table.va), 0x10000);
		}
	}
}

/* The sum of the parts does not wrap to the whole. */
static void
sums_that_wrap(void **state)
{
	struct srp_direct_buf d[3] = { build_desc(0, 1, 0x80000000), build_desc(0, 1, 0x80000000),
		build_desc(0, 1, 512) };

	build_cmd(&u, 1, cdb, 16);
	build_indirect(&u, false, d, 3, 3, 0, 0)->len = put32(512);
	assert_int_equal(verdict(u.len, 0), IU_BAD);
	assert_false(iu_table_ok(d, 3, 512));
	assert_false(iu_table_ok(d, 2, 0));
	d[0] = build_desc(0, 1, 0x7fffffff);
	assert_true(iu_table_ok(d, 2, 0xffffffff));
}

static void
descriptors_of_nothing(void **state)
{
	struct srp_direct_buf d[3] = { build_desc(UINT64_MAX, 1, 0), build_desc(0, 1, 512),
		build_desc(1, 1, 0) };

	build_cmd(&u, 1, cdb, 16);
	build_indirect(&u, true, d, 3, 3, 0, 0);
	no_shorter(0);
	/* The last byte of each must have an address. */
	d[1] = build_desc(UINT64_MAX - 510, 1, 512);
	assert_false(iu_table_ok(d, 3, 512));
	d[1] = build_desc(UINT64_MAX - 511, 1, 512);
	assert_true(iu_table_ok(d, 3, 512));
}

/* A table that is to be fetched must itself be somewhere. */
static void
a_table_at_the_end_of_memory(void **state)
{
	struct srp_direct_buf d[1] = { build_desc(0, 1, 512) };
	struct srp_indirect_buf *t;

	build_cmd(&u, 1, cdb, 16);
	t = build_indirect(&u, true, d, 1, 0, UINT64_MAX - 15, 9);
	assert_int_equal(verdict(u.len, 0), IU_OK);
	t->table_desc.va = put64(UINT64_MAX - 14);
	assert_int_equal(verdict(u.len, 0), IU_BAD);
}

/* R09. The data begins at 80 of 80 + 100 bytes. */
static void
immediate(void **state)
{
	static const struct { uint32_t agreed, claim; enum iu_verdict v; } rows[] = {
		{ 80, 100, IU_OK },
		{ 80, 99, IU_OK },
		{ 80, 0, IU_OK },
		{ 80, 101, IU_BAD },
		{ 80, 0xffffffff, IU_BAD },
		{ 80, 0xffffffff - 79, IU_BAD },
		{ 0, 100, IU_BAD },
		{ 0, 0, IU_BAD },
		{ 1, 1, IU_BAD },
		{ 51, 100, IU_BAD },
		{ 52, 100, IU_OK },
		{ 180, 0, IU_OK },
		{ 180, 1, IU_BAD },
		{ 181, 0, IU_BAD },
		{ 0xffff, 0, IU_BAD },
	};
	uint8_t data[100];

	memset(data, 0xda, sizeof(data));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct iu_cmd cmd;

		build_cmd(&u, 1, cdb, 16);
		build_imm(&u, 80, data, sizeof(data));
		((struct srp_imm_buf *)(u.b + 48))->len = put32(rows[i].claim);
		assert_int_equal(verdict(u.len, rows[i].agreed), rows[i].v);
		if (iu_cmd(u.b, u.len, rows[i].agreed, &cmd) != IU_OK)
			continue;
		assert_int_equal(cmd.out.len, rows[i].claim);
		assert_ptr_equal(cmd.out.imm, u.b + rows[i].agreed);
	}
}

static void
immediate_and_its_length(void **state)
{
	uint8_t data[64] = { 0 };

	build_cmd(&u, 1, cdb, 32);
	build_imm(&u, 80, data, sizeof(data));
	no_shorter(80);
	/* Its offset lies in the data-in descriptor. */
	build_cmd(&u, 1, cdb, 16);
	build_fmt(&u, true, SRP_DATA_DESC_IMM);
	build_add(&u, &(struct srp_imm_buf){ put32(4) }, 4);
	build_direct(&u, false, 0, 1, 512);
	assert_int_equal(verdict(u.len, 60), IU_BAD);
	assert_int_equal(verdict(u.len, 68), IU_BAD);
	build_add(&u, data, 4);
	assert_int_equal(verdict(u.len, 68), IU_OK);
}

/* SRP-2: data-in is never immediate. Formats above 3 are none. */
static void
unknown_formats(void **state)
{
	uint8_t some[64] = { 0 };

	for (unsigned fmt = 0; fmt < 256; fmt++) {
		struct srp_cmd *h = build_cmd(&u, 1, cdb, 16);
		bool known = fmt >> 4 <= 3 && (fmt & 15) <= 2;

		h->buf_fmt = (uint8_t)fmt;
		build_add(&u, some, sizeof(some));
		assert_int_equal(verdict(u.len, 100), known ? IU_OK : IU_BAD);
	}
}

static void
attributes(void **state)
{
	for (unsigned attr = 0; attr < 8; attr++) {
		bool known = attr <= 2 || attr == 4;

		build_cmd(&u, 1, cdb, 16)->task_attr = (uint8_t)attr;
		assert_int_equal(verdict(u.len, 0), known ? IU_OK : IU_BAD);
	}
}

static void
functions(void **state)
{
	struct srp_tsk_mgmt *h = build_tmf(&u, 0xaa00000000000001, 0x77, 0xbb00000000000002);

	h->sol_not = 6;
	h->lun[1] = 3;
	for (uint32_t len = 0; len <= u.len + 20; len++) {
		uint8_t *iu = build_exact(u.b, len);
		struct iu_tmf tmf;

		assert_int_equal(iu_tmf(iu, len, &tmf), len < 48 ? IU_SHORT : IU_OK);
		if (len >= 48) {
			assert_int_equal(tmf.tag, 0xaa00000000000001);
			assert_int_equal(tmf.task_tag, 0xbb00000000000002);
			assert_int_equal(tmf.fn, 0x77);
			assert_int_equal(tmf.sol_not, 6);
			assert_int_equal(tmf.lun[1], 3);
		}
		free(iu);
	}
}

static void
tags(void **state)
{
	struct srp_i_logout h = { .opcode = SRP_I_LOGOUT, .tag = put64(5) };

	for (uint32_t len = 0; len <= sizeof(h); len++) {
		uint8_t *iu = build_exact((void *)&h, len);
		uint64_t tag = 1;

		assert_int_equal(iu_tag(iu, len, &tag), len < 16 ? IU_SHORT : IU_OK);
		assert_int_equal(tag, len < 16 ? 0 : 5);
		free(iu);
	}
}

static void
names(void **state)
{
	for (unsigned op = 0; op < 256; op++)
		assert_non_null(srp_opcode_name(op));
	assert_string_equal(srp_opcode_name(SRP_CRED_REQ), "SRP_CRED_REQ");
	assert_string_equal(srp_opcode_name(0x77), "unknown opcode");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_data),
		cmocka_unit_test(the_tag_of_a_bad_unit),
		cmocka_unit_test(direct),
		cmocka_unit_test(direct_addresses),
		cmocka_unit_test(both_directions),
		cmocka_unit_test(additional_cdb),
		cmocka_unit_test(indirect),
		cmocka_unit_test(a_table_that_lies),
		cmocka_unit_test(sums_that_wrap),
		cmocka_unit_test(descriptors_of_nothing),
		cmocka_unit_test(a_table_at_the_end_of_memory),
		cmocka_unit_test(immediate),
		cmocka_unit_test(immediate_and_its_length),
		cmocka_unit_test(unknown_formats),
		cmocka_unit_test(attributes),
		cmocka_unit_test(functions),
		cmocka_unit_test(tags),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
