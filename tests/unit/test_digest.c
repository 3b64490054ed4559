/* CRC32C as RFC 7143 B.4 has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "transport/iscsi/digest.h"

static void
check(const void *bytes, size_t len, const uint8_t want[4])
{
	uint8_t got[4];

	digest_end(digest_add(DIGEST_INIT, bytes, len), got);
	assert_memory_equal(got, want, 4);
	assert_true(digest_matches(digest_add(DIGEST_INIT, bytes, len), want));
	got[3] ^= 0x80;
	assert_false(digest_matches(digest_add(DIGEST_INIT, bytes, len), got));
}

static void
vectors_of_the_rfc(void **state)
{
	static const uint8_t read10[48] = {
		0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
		0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
	};
	uint8_t b[32];

	memset(b, 0, sizeof(b));
	check(b, sizeof(b), (const uint8_t[]){ 0xaa, 0x36, 0x91, 0x8a });
	memset(b, 0xff, sizeof(b));
	check(b, sizeof(b), (const uint8_t[]){ 0x43, 0xab, 0xa8, 0x62 });
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)i;
	check(b, sizeof(b), (const uint8_t[]){ 0x4e, 0x79, 0xdd, 0x46 });
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(31 - i);
	check(b, sizeof(b), (const uint8_t[]){ 0x5c, 0xdb, 0x3f, 0x11 });
	check(read10, sizeof(read10), (const uint8_t[]){ 0x56, 0x3a, 0x96, 0xd9 });
}

static void
pieces_give_the_same_as_the_whole(void **state)
{
	uint8_t b[5000];
	uint32_t whole;

	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 7 + i / 256);
	whole = digest_add(DIGEST_INIT, b, sizeof(b));
	for (size_t cut = 0; cut <= sizeof(b); cut += 61)
		assert_int_equal(digest_add(digest_add(DIGEST_INIT, b, cut), b + cut, sizeof(b) - cut), whole);
	assert_int_equal(digest_add(DIGEST_INIT, b, 0), DIGEST_INIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_the_rfc),
		cmocka_unit_test(pieces_give_the_same_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
