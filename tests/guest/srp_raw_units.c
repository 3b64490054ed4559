/* Units that lie: refused one by one, on a channel that goes on with all its credits. */
#include <string.h>

#include "srp_raw.h"

enum { IMM = 80 };

static struct build u;
static struct raw r;

static struct srp_direct_buf
piece(uint32_t at, uint32_t len)
{
	return build_desc((uintptr_t)r.data + at, r.mr_data->rkey, len);
}

/* Sent and refused: by ILLEGAL REQUEST or ABORTED COMMAND, or as a unit of invalid fields. */
static bool
refused(uint64_t tag)
{
	uint8_t sense[96];
	struct srp_rsp rsp;
	uint8_t key;

	if (!raw_request(&r, &u) || !raw_response(&r, tag, &rsp, sense))
		return false;
	key = sense[2] & 15;
	if (rsp.flags & SRP_RSP_RSPVALID)
		return sense[3] == SRP_RSP_FIELDS_INVALID;
	return rsp.status == 2 && rsp.flags & SRP_RSP_SNSVALID && (key == 5 || key == 0xb);
}

static bool
good(uint64_t tag)
{
	struct srp_rsp rsp;

	return raw_request(&r, &u) && raw_response(&r, tag, &rsp, NULL) && !rsp.status;
}

/* The first 1 KiB of the disk is still what was written there. */
static bool
untouched(void)
{
	uint64_t tag = raw_rw(&r, &u, false, 0, 2);
	struct srp_direct_buf d = piece(0, 1024);

	build_direct(&u, false, get64(d.va), get32(d.key), 1024);
	memset(r.data, 0, 1024);
	if (!good(tag))
		return false;
	for (int i = 0; i < 1024; i++)
		if (r.data[i] != 0x5a)
			return false;
	return true;
}

static bool
begin(void)
{
	struct srp_direct_buf d;
	uint64_t tag;

	if (!raw_login(&r, (struct raw_say){ .imm = IMM, .port = 1 }) || !raw_ready(&r))
		return false;
	tag = raw_rw(&r, &u, true, 0, 2);
	d = piece(0, 1024);
	build_direct(&u, true, get64(d.va), get32(d.key), 1024);
	memset(r.data, 0x5a, 1024);
	return good(tag) && untouched();
}

/* R08, in the unit. */
static void
tables(void)
{
	static const struct { const char *what; uint32_t bytes, count, len; } rows[] = {
		{ "a table of no bytes", 0, 2, 512 }, { "of 15 bytes", 15, 1, 512 },
		{ "of 17 bytes", 17, 1, 512 }, { "shorter than its count", 16, 2, 512 },
		{ "of nearly 4 GiB", 0xfffffff0, 2, 512 },
		{ "of a count of 255", 255 * 16, 255, 512 },
		{ "whose sum is too small", 32, 2, 513 }, { "whose sum is too large", 32, 2, 511 },
		{ "whose sum is nothing", 32, 2, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct srp_direct_buf d[2] = { piece(0, 256), piece(256, 256) };
		uint64_t tag = raw_rw(&r, &u, true, 0, 1);
		struct srp_indirect_buf *t = build_indirect(&u, true, d, 2, 2, (uintptr_t)r.table,
		    r.mr_table->rkey);

		t->table_desc.len = put32(rows[i].bytes);
		t->len = put32(rows[i].len);
		((struct srp_cmd *)u.b)->data_out_desc_cnt = (uint8_t)rows[i].count;
		RAW_OK(rows[i].what, refused(tag));
	}
}

/* R08, in the initiator's memory. */
static void
fetched_tables(void)
{
	static const struct { const char *what; uint32_t len[3]; bool good; } rows[] = {
		{ "a fetched table", { 256, 255, 1 }, true },
		{ "with a descriptor of nothing", { 0, 512, 0 }, true },
		{ "whose sum is too small", { 256, 255, 0 }, false },
		{ "whose sum wraps", { 0x80000000, 0x80000000, 512 }, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int out = 0; out < 2; out++) {
			struct srp_direct_buf d[3];
			uint64_t tag = raw_rw(&r, &u, out, 64, 1);

			for (int k = 0; k < 3; k++)
				d[k] = piece(4096, rows[i].len[k]);
			memcpy(r.table, d, sizeof(d));
			build_indirect(&u, out, d, 3, (uint32_t)i % 3, (uintptr_t)r.table,
			    r.mr_table->rkey)->len = put32(512);
			RAW_OK(rows[i].what, rows[i].good ? good(tag) : refused(tag));
		}
	}
}

/* R08: the CDB pushes its descriptors past the end. */
static void
additional_cdbs(void)
{
	bool ok = true;

	for (unsigned words = 1; words < 64; words++) {
		struct srp_direct_buf d = piece(0, 512);
		uint64_t tag = raw_rw(&r, &u, true, 0, 1);

		build_direct(&u, true, get64(d.va), get32(d.key), 512);
		((struct srp_cmd *)u.b)->add_cdb_len = (uint8_t)(words << 2);
		ok &= refused(tag);
	}
	RAW_OK("an additional CDB that did not come", ok);
}

/* R09. */
static void
immediate(void)
{
	static uint8_t data[512];
	static const uint32_t claims[] = { 513, 1024, 0xffffffff, 0xffffffff - IMM + 1 };
	bool ok = true;
	uint64_t tag;

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		tag = raw_rw(&r, &u, true, 0, 1);
		build_imm(&u, IMM, data, sizeof(data));
		((struct srp_imm_buf *)(u.b + 48))->len = put32(claims[i]);
		ok &= refused(tag);
	}
	RAW_OK("immediate data that did not come", ok);
	tag = raw_rw(&r, &u, true, 64, 1);
	build_imm(&u, IMM, data, sizeof(data));
	RAW_OK("immediate data that came", good(tag));
}

static void
formats(void)
{
	bool ok = true;

	for (unsigned fmt = 0; fmt < 256; fmt++) {
		uint64_t tag;

		if (fmt >> 4 <= 3 && (fmt & 15) <= 2)
			continue;
		tag = raw_rw(&r, &u, false, 0, 0);
		((struct srp_cmd *)u.b)->buf_fmt = (uint8_t)fmt;
		ok &= refused(tag);
	}
	RAW_OK("descriptors of unknown formats", ok);
}

/* R03. */
static void
functions(void)
{
	static const uint8_t fns[] = { 1, 2, 4, 8, 0x40, 0, 0xff };
	struct srp_rsp rsp;
	bool ok = true;

	for (int i = 0; i < 1000 && ok; i++) {
		uint64_t tag = r.tag++;

		build_tmf(&u, tag, fns[(size_t)i % sizeof(fns)], 0xdead0000 + (unsigned)i);
		ok = raw_request(&r, &u) && raw_response(&r, tag, &rsp, NULL) &&
		    rsp.flags & SRP_RSP_RSPVALID && get32(rsp.req_lim_delta) >= 1;
	}
	RAW_OK("1000 functions of every kind, a credit back for each", ok);
	RAW_OK("the unit serves after them", raw_ready(&r));
}

static void
same_tag(void)
{
	static const uint8_t tur[16];
	struct srp_rsp rsp;
	int n = 0;

	for (int i = 0; i < 8; i++) {
		build_cmd(&u, 0x4242, tur, 16);
		raw_request(&r, &u);
	}
	while (n < 8 && raw_response(&r, 0x4242, &rsp, NULL))
		n++;
	RAW_OK("one tag eight times: eight answers", n == 8);
}

void
raw_units(void)
{
	if (!RAW_OK("a channel for units that lie", begin()))
		return;
	tables();
	fetched_tables();
	additional_cdbs();
	immediate();
	formats();
	RAW_OK("not a byte was written by any of them", untouched());
	functions();
	same_tag();
	RAW_OK("all credits are back", raw_ready(&r) && raw_at_rest(&r));
	raw_close(&r);
}
