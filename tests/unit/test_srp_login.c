/* Logins: both forms at every length, every reason to refuse, and the answers byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "util.h"

#include "srp_build.h"
#include "transport/srp/login.h"

enum { IU_LEN = 8276 };

static const struct login_limits limits = { .iu_max = 16384 };

/* What the two forms say alike. */
static struct srp_login_req
long_form(void)
{
	struct srp_login_req h = {
		.opcode = SRP_LOGIN_REQ,
		.tag = put64(0x0102030405060708),
		.req_it_iu_len = put32(IU_LEN),
		.req_buf_fmt = put16(SRP_BUF_FORMAT_DIRECT | SRP_BUF_FORMAT_INDIRECT),
		.req_flags = SRP_MULTICHAN_MULTI | SRP_IMMED_REQUESTED,
		.imm_data_offset = put16(80),
	};

	for (int i = 0; i < 16; i++) {
		h.initiator_port_id[i] = (uint8_t)(0x10 + i);
		h.target_port_id[i] = (uint8_t)(0x80 + i);
	}
	return h;
}

static struct srp_login_req_rdma
short_form(void)
{
	struct srp_login_req l = long_form();
	struct srp_login_req_rdma h = {
		.opcode = l.opcode, .tag = l.tag, .req_it_iu_len = l.req_it_iu_len,
		.req_buf_fmt = l.req_buf_fmt, .req_flags = l.req_flags,
		.imm_data_offset = l.imm_data_offset,
	};

	memcpy(h.initiator_port_id, l.initiator_port_id, 16);
	memcpy(h.target_port_id, l.target_port_id, 16);
	return h;
}

static void
is_whole(const struct login_req *req)
{
	struct srp_login_req l = long_form();

	assert_int_equal(req->tag, 0x0102030405060708);
	assert_int_equal(req->iu_len, IU_LEN);
	assert_int_equal(req->buf_fmt, 6);
	assert_int_equal(req->flags, SRP_MULTICHAN_MULTI | SRP_IMMED_REQUESTED);
	assert_int_equal(req->imm_offset, 80);
	assert_memory_equal(req->i_port, l.initiator_port_id, 16);
	assert_memory_equal(req->t_port, l.target_port_id, 16);
}

/* R07: 56 to 63 bytes are RDMA/CM's form, 64 and more the long one, fewer none. */
static void
every_length(void **state)
{
	struct srp_login_req l = long_form();
	struct srp_login_req_rdma s = short_form();

	for (uint32_t len = 0; len <= 196; len++) {
		uint8_t bytes[256] = { 0 };
		struct login_req req;
		uint8_t *exact;

		if (len >= 64)
			memcpy(bytes, &l, sizeof(l));
		else
			memcpy(bytes, &s, sizeof(s));
		exact = build_exact(bytes, len);
		assert_int_equal(login_parse(exact, len, &req), len >= 56);
		if (len >= 56)
			is_whole(&req);
		free(exact);
	}
}

/* The tag to answer with is there, though nothing else is believed. */
static void
other_opcodes(void **state)
{
	for (unsigned op = 1; op < 256; op++) {
		struct srp_login_req l = long_form();
		struct srp_login_req_rdma s = short_form();
		struct login_req req;

		l.opcode = s.opcode = (uint8_t)op;
		assert_false(login_parse((void *)&l, sizeof(l), &req));
		assert_int_equal(req.tag, 0x0102030405060708);
		assert_false(login_parse((void *)&s, sizeof(s), &req));
		assert_int_equal(req.tag, 0x0102030405060708);
	}
}

static struct login_req
request(void)
{
	struct srp_login_req l = long_form();
	struct login_req req;

	assert_true(login_parse((void *)&l, sizeof(l), &req));
	return req;
}

/* R06. */
static void
iu_lengths(void **state)
{
	static const struct { uint32_t len; enum srp_login_rej_reason reason; } rows[] = {
		{ 0, SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE },
		{ 63, SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE },
		{ 64, SRP_LOGIN_OK },
		{ 68, SRP_LOGIN_OK },
		{ 4148, SRP_LOGIN_OK },
		{ 16384, SRP_LOGIN_OK },
		{ 16385, SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE },
		{ 65536, SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE },
		{ 0xffffffff, SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct login_req req = request();
		struct login_terms terms;

		req.iu_len = rows[i].len;
		assert_int_equal(login_check(&req, &limits, &terms), rows[i].reason);
		if (rows[i].reason == SRP_LOGIN_OK)
			assert_int_equal(terms.it_iu_len, rows[i].len);
	}
}

/* What it says it needs must be direct or indirect, both, or nothing. */
static void
buffer_formats(void **state)
{
	for (unsigned fmt = 0; fmt < 0x10000; fmt += fmt < 0x100 ? 1 : 0xff) {
		struct login_req req = request();
		struct login_terms terms;

		req.buf_fmt = (uint16_t)fmt;
		assert_int_equal(login_check(&req, &limits, &terms),
		    fmt & ~6u ? SRP_LOGIN_REJ_UNSUPPORTED_DESCRIPTOR_FMT : SRP_LOGIN_OK);
	}
}

static void
multichannel_actions(void **state)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct login_req req = request();
		struct login_terms terms;
		enum srp_login_rej_reason reason;

		req.flags = (uint8_t)flags;
		reason = login_check(&req, &limits, &terms);
		if ((flags & 3) > 1) {
			assert_int_equal(reason, SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED);
			continue;
		}
		assert_int_equal(reason, SRP_LOGIN_OK);
		assert_int_equal(terms.multi, flags & 1);
		assert_int_equal(terms.solnt, flags & 0x70);
		assert_int_equal(terms.imm_offset, flags & 0x80 ? 80 : 0);
	}
}

/* The worst fault is named, whatever else is wrong: lengths, formats, channels. */
static void
order_of_reasons(void **state)
{
	struct login_req req = request();
	struct login_terms terms;

	req.iu_len = 0;
	req.buf_fmt = 1;
	req.flags = 2;
	assert_int_equal(login_check(&req, &limits, &terms),
	    SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE);
	req.iu_len = IU_LEN;
	assert_int_equal(login_check(&req, &limits, &terms),
	    SRP_LOGIN_REJ_UNSUPPORTED_DESCRIPTOR_FMT);
	req.buf_fmt = 6;
	assert_int_equal(login_check(&req, &limits, &terms),
	    SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED);
}

/* R09: an offset inside the header or outside the unit: no immediate data, but a session. */
static void
immediate_offsets(void **state)
{
	for (uint32_t offset = 0; offset < 0x10000; offset++) {
		struct login_req req = request();
		struct login_terms terms;

		req.imm_offset = (uint16_t)offset;
		assert_int_equal(login_check(&req, &limits, &terms), SRP_LOGIN_OK);
		assert_int_equal(terms.imm_offset, offset >= 52 && offset < IU_LEN ? offset : 0);
	}
}

/* As r16a table 13 has it. */
static void
response_bytes(void **state)
{
	static const uint8_t want[52] = {
		0xc0, 0, 0, 0, 0, 0, 0, 100,
		1, 2, 3, 4, 5, 6, 7, 8,
		0, 0, 0x20, 0x54, 0, 0, 1, 0,
		0, 6, 0x02 | 0x10 | 0x80,
	};
	struct login_req req = request();
	struct srp_login_rsp rsp;
	struct login_terms terms;

	assert_int_equal(login_check(&req, &limits, &terms), SRP_LOGIN_OK);
	login_rsp(&rsp, &req, &terms, 100, SRP_MULTICHAN_MAINTAINED);
	assert_memory_equal(&rsp, want, sizeof(want));
	terms.imm_offset = 0;
	login_rsp(&rsp, &req, &terms, 100, SRP_MULTICHAN_NO_CHAN);
	assert_int_equal(rsp.rsp_flags, 0x10);
}

/* As r16a table 14 has it. */
static void
reject_bytes(void **state)
{
	static const uint8_t want[32] = {
		0xc2, 0, 0, 0, 0, 1, 0, 6,
		0, 0, 0, 0, 0, 0, 0, 9,
		0, 0, 0, 0, 0, 0, 0, 0,
		0, 6,
	};
	struct srp_login_rej rej;

	login_rej(&rej, 9, SRP_LOGIN_REJ_CHANNEL_LIMIT_REACHED);
	assert_memory_equal(&rej, want, sizeof(want));
	assert_string_equal(srp_login_reason_name(0x00010006), "channel limit reached");
	assert_string_equal(srp_login_reason_name(0), "unknown reason");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(other_opcodes),
		cmocka_unit_test(iu_lengths),
		cmocka_unit_test(buffer_formats),
		cmocka_unit_test(multichannel_actions),
		cmocka_unit_test(order_of_reasons),
		cmocka_unit_test(immediate_offsets),
		cmocka_unit_test(response_bytes),
		cmocka_unit_test(reject_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
