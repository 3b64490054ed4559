/* Finding PDUs in a stream, and additional headers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "transport/iscsi/digest.h"
#include "transport/iscsi/pdu_next.h"

static void
a_header_is_whole_or_not_at_every_cut(void **state)
{
	uint8_t b[ISCSI_HEADER_MAX] = { 0 };
	struct iscsi_bhs *h = (void *)b;
	struct pdu pdu;

	for (unsigned digest = 0; digest <= 1; digest++) {
		for (unsigned words = 0; words <= 255; words += 51) {
			size_t covered = ISCSI_BHS + words * 4, whole = covered + (digest ? 4 : 0);

			memset(b, 0x5a, sizeof(b));
			h->ahs_len = (uint8_t)words;
			h->data_len = put24(0x123456);
			digest_end(digest_add(DIGEST_INIT, b, covered), b + covered);
			for (size_t n = 0; n < whole; n++)
				assert_int_equal(pdu_next(b, n, digest, &pdu), PDU_MORE);
			for (size_t n = whole; n < whole + 3 && n <= sizeof(b); n++) {
				assert_int_equal(pdu_next(b, n, digest, &pdu), PDU_HEADER);
				assert_ptr_equal(pdu.bhs, h);
				assert_ptr_equal(pdu.ahs, b + ISCSI_BHS);
				assert_int_equal(pdu.ahs_len, words * 4);
				assert_int_equal(pdu.head_len, whole);
				assert_int_equal(pdu.data_len, 0x123456);
			}
		}
	}
}

static void
each_flipped_bit_of_a_header_is_seen(void **state)
{
	uint8_t b[ISCSI_BHS + 8 + 4] = { 0 };
	struct pdu pdu;

	b[4] = 2;
	digest_end(digest_add(DIGEST_INIT, b, ISCSI_BHS + 8), b + ISCSI_BHS + 8);
	for (unsigned bit = 0; bit < sizeof(b) * 8; bit++) {
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* A longer header can only be waited for. */
		assert_int_not_equal(pdu_next(b, sizeof(b), true, &pdu), PDU_HEADER);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(pdu_next(b, sizeof(b), true, &pdu), PDU_HEADER);
}

static void
padding_and_digest_follow_data_only(void **state)
{
	static const uint32_t pads[] = { 0, 3, 2, 1 };

	for (uint32_t len = 0; len < 9; len++) {
		assert_int_equal(pdu_pad(len), pads[len % 4]);
		assert_int_equal(pdu_tail(len, false), pads[len % 4]);
		assert_int_equal(pdu_tail(len, true), len ? pads[len % 4] + 4 : 0);
	}
	assert_int_equal(pdu_pad(0xffffff), 1);
}

static int
ext_of(const uint8_t *ahs, uint32_t len, struct pdu_ext *ext)
{
	struct pdu pdu = { .ahs = ahs, .ahs_len = len };

	return pdu_ext(&pdu, ext);
}

static void
additional_headers_that_are_right(void **state)
{
	uint8_t b[64] = { 0 };
	struct pdu_ext ext;

	assert_int_equal(ext_of(b, 0, &ext), 0);
	assert_int_equal(ext.cdb_len, 16);
	assert_false(ext.bidi);
	/* A CDB of 32 bytes, and how much a bidirectional command reads. */
	wr16(b, 17);
	b[2] = ISCSI_AHS_EXTENDED_CDB;
	for (unsigned i = 0; i < 16; i++)
		b[4 + i] = (uint8_t)(i + 1);
	wr16(b + 20, 5);
	b[22] = ISCSI_AHS_BIDI_READ;
	wr32(b + 24, 0xfedcba98);
	assert_int_equal(ext_of(b, 28, &ext), 0);
	assert_int_equal(ext.cdb_len, 32);
	assert_memory_equal(ext.cdb, b + 4, 16);
	assert_true(ext.bidi);
	assert_int_equal(ext.edtl_in, 0xfedcba98);
	/* One byte more than 16, padded. */
	memset(b, 0, sizeof(b));
	wr16(b, 2);
	b[2] = ISCSI_AHS_EXTENDED_CDB;
	b[4] = 0xaa;
	assert_int_equal(ext_of(b, 8, &ext), 0);
	assert_int_equal(ext.cdb_len, 17);
	assert_int_equal(ext.cdb[0], 0xaa);
	assert_int_equal(ext.cdb[1], 0);
}

static void
additional_headers_that_are_wrong(void **state)
{
	static const struct { uint16_t len; uint8_t type; uint32_t total; } rows[] = {
		{ 0, 1, 4 }, { 1, 1, 4 }, { 18, 1, 24 }, { 17, 1, 16 }, { 0xffff, 1, 1020 },
		{ 4, 2, 8 }, { 6, 2, 12 }, { 5, 2, 4 }, { 5, 0, 8 }, { 5, 3, 8 }, { 1, 0x3f, 4 },
		{ 5, 2, 12 },
	};
	uint8_t b[1020] = { 0 };
	struct pdu_ext ext;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(b, 0, sizeof(b));
		wr16(b, rows[i].len);
		b[2] = rows[i].type;
		assert_int_equal(ext_of(b, rows[i].total, &ext), -EINVAL);
	}
	/* The same type twice. */
	memset(b, 0, sizeof(b));
	for (unsigned at = 0; at < 16; at += 8) {
		wr16(b + at, 5);
		b[at + 2] = ISCSI_AHS_BIDI_READ;
	}
	assert_int_equal(ext_of(b, 16, &ext), -EINVAL);
}

static void
every_opcode_and_reason_has_a_name(void **state)
{
	unsigned named = 0;

	for (unsigned i = 0; i < 256; i++)
		named += strcmp(iscsi_opcode_name(i), "unknown opcode") != 0;
	assert_int_equal(named, 18);
	assert_string_equal(iscsi_opcode_name(ISCSI_R2T), "R2T");
	assert_string_equal(iscsi_reject_name(ISCSI_REJECT_PROTOCOL), "protocol error");
	assert_string_equal(iscsi_reject_name(0), "unknown reason");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_whole_or_not_at_every_cut),
		cmocka_unit_test(each_flipped_bit_of_a_header_is_seen),
		cmocka_unit_test(padding_and_digest_follow_data_only),
		cmocka_unit_test(additional_headers_that_are_right),
		cmocka_unit_test(additional_headers_that_are_wrong),
		cmocka_unit_test(every_opcode_and_reason_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
