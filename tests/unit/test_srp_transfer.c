/* Transfers: pieces of any size on both sides meet byte for byte, in requests of allowed size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "srp_build.h"
#include "transport/srp/transfer.h"

enum { WHOLE = 4096, PIECES = 64 };

static uint8_t local[WHOLE], peer[WHOLE];

static uint32_t
draw(uint32_t below)
{
	static uint32_t x = 2463534242;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

/* Does what a device would: bytes of the local pieces to the peer's address. */
static void
carry(const struct fabric_wr *wr, const struct fabric_sge *sge, uint32_t len)
{
	uint64_t at = wr->remote;
	uint32_t sum = 0;

	for (unsigned i = 0; i < wr->nsge; i++) {
		assert_true(sge[i].len > 0);
		assert_true(at + sge[i].len <= WHOLE);
		memcpy(peer + at, sge[i].addr, sge[i].len);
		at += sge[i].len;
		sum += sge[i].len;
	}
	assert_int_equal(sum, len);
}

struct cut {
	struct srp_direct_buf desc[PIECES];
	struct iovec iov[PIECES];
	uint32_t ndesc;
};

static uint32_t
draw_up_to(uint32_t left, uint32_t n)
{
	return MIN(left, n);
}

/* Both sides cut at random, empty descriptors between; local pieces lie backwards in memory. */
static void
cut(struct cut *c, uint32_t len)
{
	uint32_t at, n;

	for (at = 0, c->ndesc = 0; at < len; c->ndesc++) {
		n = c->ndesc == PIECES - 1 ? len - at :
		    draw_up_to(len - at, draw(4) ? draw(len) : 0);
		c->desc[c->ndesc] = build_desc(at, 0x100 + at, n);
		at += n;
	}
	for (at = 0, n = 0; at < len; n++) {
		uint32_t part = n == PIECES - 1 ? len - at : draw_up_to(len - at, 1 + draw(len));

		c->iov[n] = (struct iovec){ local + len - at - part, part };
		at += part;
	}
}

static void
expect(const struct cut *c, uint32_t len)
{
	uint32_t at = 0;

	for (int i = 0; at < len; i++) {
		assert_memory_equal(peer + at, c->iov[i].iov_base, c->iov[i].iov_len);
		at += (uint32_t)c->iov[i].iov_len;
	}
}

static void
random_cuts(void **state)
{
	for (uint32_t i = 0; i < WHOLE; i++)
		local[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t len = 1 + draw(round < 10000 ? 64 : WHOLE), left = len;
		uint32_t max_sge = 1 + draw(8), max_msg = draw(2) ? 1 + draw(300) : UINT32_MAX;
		struct fabric_sge sge[8];
		struct transfer t;
		struct cut c;

		cut(&c, len);
		memset(peer, 0, len);
		transfer_init(&t, c.desc, c.ndesc, c.iov, len);
		while (left) {
			struct fabric_wr wr = { 0 };
			uint32_t n = transfer_next(&t, max_sge, max_msg, &wr, sge);

			assert_true(n > 0 && n <= left && n <= max_msg && wr.nsge <= max_sge);
			carry(&wr, sge, n);
			left -= n;
			assert_int_equal(t.left, left);
		}
		expect(&c, len);
	}
}

/* A command may move less than its descriptors hold, never more. */
static void
less_than_described(void **state)
{
	struct srp_direct_buf d[2] = { build_desc(0, 1, 100), build_desc(200, 2, 100) };
	struct iovec iov = { local, 150 };
	struct fabric_wr wr = { 0 };
	struct fabric_sge sge[4];
	struct transfer t;

	transfer_init(&t, d, 2, &iov, 150);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 100);
	assert_int_equal(wr.rkey, 1);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 50);
	assert_int_equal(wr.rkey, 2);
	assert_int_equal(wr.remote, 200);
	assert_ptr_equal(sge[0].addr, local + 100);
	assert_int_equal(t.left, 0);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 0);
}

static void
more_than_described(void **state)
{
	struct srp_direct_buf d[3] = { build_desc(0, 1, 0), build_desc(0, 1, 10),
		build_desc(9, 1, 0) };
	struct iovec iov = { local, 11 };
	struct fabric_wr wr = { 0 };
	struct fabric_sge sge[4];
	struct transfer t;

	transfer_init(&t, d, 3, &iov, 11);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 10);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 0);
	assert_int_equal(t.left, 1);
}

/* One request for each run of the peer's memory: a whole transfer of one run is one. */
static void
as_few_as_can_be(void **state)
{
	struct srp_direct_buf d = build_desc(0, 1, 64);
	struct iovec iov[4] = { { local, 16 }, { local + 32, 16 }, { local + 64, 16 },
		{ local + 96, 16 } };
	struct fabric_wr wr = { 0 };
	struct fabric_sge sge[4];
	struct transfer t;

	transfer_init(&t, &d, 1, iov, 64);
	assert_int_equal(transfer_next(&t, 4, 1 << 20, &wr, sge), 64);
	assert_int_equal(wr.nsge, 4);
	transfer_init(&t, &d, 1, iov, 64);
	assert_int_equal(transfer_next(&t, 3, 1 << 20, &wr, sge), 48);
	assert_int_equal(transfer_next(&t, 3, 1 << 20, &wr, sge), 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_cuts),
		cmocka_unit_test(less_than_described),
		cmocka_unit_test(more_than_described),
		cmocka_unit_test(as_few_as_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
