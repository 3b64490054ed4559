/* What a write expects next: R2Ts and Data-Outs, right ones and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

#include "transport/iscsi/gather.h"
#include "transport/iscsi/pdu.h"

static const struct gather_limits lim = {
	.first_burst = 16384, .max_burst = 65536, .max_r2t = 2, .immediate_data = true,
};

static struct gather_r2t
ask(struct gather *g, const struct gather_limits *l, uint32_t ttt)
{
	struct gather_r2t r2t;

	assert_int_equal(gather_next(g, l), GATHER_ASK);
	gather_ask(g, l, ttt, &r2t);
	return r2t;
}

static void
r2ts_cover_the_write_once_and_in_order(void **state)
{
	static const struct gather_limits kinds[] = {
		{ 16384, 65536, 1, true, true }, { 16384, 65536, 2, true, true },
		{ 512, 512, 64, true, true }, { 65536, 1000, 3, true, true },
	};
	static const uint32_t lens[] = { 1, 511, 512, 513, 65535, 65536, 65537, 131072, 1 << 20 };

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			const struct gather_limits *l = &kinds[k];
			struct gather_r2t open[64], r2t;
			uint32_t at = 0, n = 0, head = 0, bursts;
			struct gather g;

			gather_init(&g, l, lens[i] + 100, 0, false);
			assert_int_equal(gather_next(&g, l), GATHER_WAIT);
			gather_want(&g, lens[i]);
			bursts = gather_bursts(&g, l);
			while (gather_next(&g, l) != GATHER_READY) {
				while (gather_next(&g, l) == GATHER_ASK) {
					r2t = ask(&g, l, 7000);
					assert_int_equal(r2t.offset, at);
					assert_int_equal(r2t.ttt, 7000 + n);
					assert_int_equal(r2t.r2t_sn, n);
					assert_true(r2t.len && r2t.len <= l->max_burst);
					assert_true(r2t.len <= lens[i] - at);
					open[n++ % 64] = r2t;
					at += r2t.len;
				}
				assert_true(n - head <= l->max_r2t && n > head);
				r2t = open[head++ % 64];
				assert_int_equal(gather_data_out(&g, r2t.ttt, 0, r2t.offset, r2t.len, true),
				    GATHER_TAKE);
				gather_arrived(&g, l, r2t.len, true);
			}
			assert_int_equal(at, lens[i]);
			assert_int_equal(n, bursts);
			assert_int_equal(g.next, lens[i]);
		}
	}
}

static void
immediate_then_unsolicited_then_solicited(void **state)
{
	struct gather g;
	struct gather_r2t r2t;

	gather_init(&g, &lim, 100000, 4096, true);
	gather_want(&g, 100000);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
	gather_arrived(&g, &lim, 4096, false);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
	assert_int_equal(gather_data_out(&g, ISCSI_NO_TAG, 0, 4096, 8192, false), GATHER_TAKE);
	gather_arrived(&g, &lim, 8192, false);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
	assert_int_equal(gather_data_out(&g, ISCSI_NO_TAG, 1, 12288, 4096, true), GATHER_TAKE);
	gather_arrived(&g, &lim, 4096, true);
	r2t = ask(&g, &lim, 5);
	assert_int_equal(r2t.offset, 16384);
	assert_int_equal(r2t.len, 65536);
	r2t = ask(&g, &lim, 5);
	assert_int_equal(r2t.offset, 81920);
	assert_int_equal(r2t.len, 100000 - 81920);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
}

static void
less_unsolicited_data_than_allowed_is_asked_for(void **state)
{
	struct gather g;

	gather_init(&g, &lim, 16384, 0, true);
	gather_want(&g, 16384);
	assert_int_equal(gather_data_out(&g, ISCSI_NO_TAG, 0, 0, 512, true), GATHER_TAKE);
	gather_arrived(&g, &lim, 512, true);
	assert_int_equal(ask(&g, &lim, 1).offset, 512);
}

static void
data_beyond_what_the_cdb_takes_is_not_solicited(void **state)
{
	struct gather g;

	gather_init(&g, &lim, 8192, 8192, false);
	gather_want(&g, 4096);
	gather_arrived(&g, &lim, 8192, false);
	assert_int_equal(gather_next(&g, &lim), GATHER_READY);
	gather_init(&g, &lim, 8192, 0, false);
	gather_want(&g, 4096);
	assert_int_equal(ask(&g, &lim, 1).len, 4096);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
}

static void
commands_that_bring_what_was_not_agreed(void **state)
{
	static const struct {
		uint32_t edtl, immediate;
		bool more, initial_r2t, immediate_data;
		uint16_t sense;
	} rows[] = {
		{ 4096, 4096, false, true, true, 0 },
		{ 4096, 4096, false, false, false, GATHER_UNEXPECTED },
		{ 4096, 0, true, true, true, GATHER_UNEXPECTED },
		{ 4096, 0, true, false, false, 0 },
		{ 4096, 4097, false, false, true, GATHER_AMOUNT },
		{ 65536, 16384, false, false, true, 0 },
		{ 65536, 16385, false, false, true, GATHER_AMOUNT },
		{ 0, 1, false, false, true, GATHER_AMOUNT },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gather_limits l = lim;
		struct gather g;

		l.initial_r2t = rows[i].initial_r2t;
		l.immediate_data = rows[i].immediate_data;
		gather_init(&g, &l, rows[i].edtl, rows[i].immediate, rows[i].more);
		assert_int_equal(g.sense, rows[i].sense);
		if (!rows[i].sense || !rows[i].edtl)
			continue;
		/* It ends only when what comes with it has come. */
		gather_want(&g, rows[i].edtl);
		assert_int_equal(gather_next(&g, &l), GATHER_WAIT);
		if (rows[i].immediate)
			gather_arrived(&g, &l, rows[i].immediate, false);
		else
			gather_arrived(&g, &l, 10, true);
		assert_int_equal(gather_next(&g, &l), GATHER_FAILED);
	}
}

/* A Data-Out against a burst of 4096 bytes at 0 of which 1024 are here in one PDU. */
static const struct {
	uint32_t ttt, data_sn, offset, len;
	bool final;
	enum gather_verdict verdict;
	enum gather_next after;
} data_outs[] = {
	{ 9, 1, 1024, 3072, true, GATHER_TAKE, GATHER_READY },
	{ 9, 1, 1024, 1024, false, GATHER_TAKE, GATHER_WAIT },
	{ 9, 1, 1024, 0, false, GATHER_TAKE, GATHER_WAIT },
	/* the sequence number */
	{ 9, 0, 1024, 3072, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 2, 1024, 3072, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 0xffffffff, 1024, 3072, true, GATHER_SWALLOW, GATHER_FAILED },
	/* the offset */
	{ 9, 1, 512, 3072, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 1536, 2560, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 0xfffffe00, 1024, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 0xfffffe00, 0xfff, false, GATHER_SWALLOW, GATHER_WAIT },
	/* the amount */
	{ 9, 1, 1024, 3073, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 1024, 0xffffff, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 1024, 1024, true, GATHER_SWALLOW, GATHER_FAILED },
	{ 9, 1, 1024, 3073, false, GATHER_SWALLOW, GATHER_WAIT },
	/* the tag */
	{ 8, 1, 1024, 3072, true, GATHER_STRAY, GATHER_WAIT },
	{ 10, 1, 1024, 3072, true, GATHER_STRAY, GATHER_WAIT },
	{ ISCSI_NO_TAG, 1, 1024, 3072, true, GATHER_STRAY, GATHER_WAIT },
};

static void
right_and_wrong_data_outs(void **state)
{
	for (unsigned i = 0; i < sizeof(data_outs) / sizeof(data_outs[0]); i++) {
		enum gather_verdict v;
		struct gather g;

		gather_init(&g, &lim, 4096, 0, false);
		gather_want(&g, 4096);
		ask(&g, &lim, 9);
		assert_int_equal(gather_data_out(&g, 9, 0, 0, 1024, false), GATHER_TAKE);
		gather_arrived(&g, &lim, 1024, false);
		v = gather_data_out(&g, data_outs[i].ttt, data_outs[i].data_sn, data_outs[i].offset,
		    data_outs[i].len, data_outs[i].final);
		assert_int_equal(v, data_outs[i].verdict);
		if (v != GATHER_STRAY)
			gather_arrived(&g, &lim, data_outs[i].len, data_outs[i].final);
		assert_int_equal(gather_next(&g, &lim), data_outs[i].after);
		assert_true(g.next <= 4096);
	}
}

static void
a_fault_ends_with_its_burst_not_before(void **state)
{
	struct gather g;

	gather_init(&g, &lim, 131072, 0, false);
	gather_want(&g, 131072);
	ask(&g, &lim, 9);
	ask(&g, &lim, 9);
	/* The second burst before the first. */
	assert_int_equal(gather_data_out(&g, 10, 0, 65536, 100, false), GATHER_SWALLOW);
	gather_arrived(&g, &lim, 100, false);
	assert_int_equal(gather_next(&g, &lim), GATHER_WAIT);
	assert_int_equal(gather_data_out(&g, 9, 0, 0, 65536, true), GATHER_SWALLOW);
	gather_arrived(&g, &lim, 65536, true);
	assert_int_equal(gather_next(&g, &lim), GATHER_FAILED);
	assert_int_equal(g.sense, GATHER_AMOUNT);
}

static void
the_first_fault_is_the_one_reported(void **state)
{
	struct gather g;

	gather_init(&g, &lim, 4096, 0, false);
	gather_want(&g, 4096);
	ask(&g, &lim, 9);
	gather_fail(&g, GATHER_CRC);
	assert_int_equal(gather_data_out(&g, 9, 7, 1, 1, true), GATHER_SWALLOW);
	gather_arrived(&g, &lim, 1, true);
	assert_int_equal(g.sense, GATHER_CRC);
	gather_abandon(&g, GATHER_AMOUNT);
	assert_int_equal(g.sense, GATHER_CRC);
	assert_int_equal(gather_next(&g, &lim), GATHER_FAILED);
}

/* Whatever comes, no byte goes outside and nothing asserts. */
static void
nonsense_stays_inside(void **state)
{
	srandom(1);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t edtl = (uint32_t)random() % 5000, imm = (uint32_t)random() % 3 * 100;
		uint32_t len = edtl ? 1 + (uint32_t)random() % edtl : 0;
		struct gather_limits l = { 1024, 512, 1 + (uint32_t)random() % 3, random() & 1, true };
		struct gather g;

		gather_init(&g, &l, edtl, imm, random() & 1);
		if (imm)
			gather_arrived(&g, &l, imm, false);
		if (len)
			gather_want(&g, len);
		for (unsigned step = 0; step < 20; step++) {
			struct gather_r2t r2t;
			uint32_t ttt = random() % 4 ? g.ttt : (uint32_t)random() % 2 ? ISCSI_NO_TAG : 51;
			uint32_t sn = random() % 8 ? g.data_sn : (uint32_t)random();
			uint32_t at = random() % 8 ? g.next : (uint32_t)random() * 3;
			uint32_t n = random() % 2 ? g.end - g.next : (uint32_t)random() % 700;
			bool final = random() & 1;
			enum gather_verdict v;

			while (gather_next(&g, &l) == GATHER_ASK)
				gather_ask(&g, &l, 50, &r2t);
			v = gather_data_out(&g, ttt, sn, at, n, final);
			if (v == GATHER_TAKE)
				assert_true(at <= edtl && n <= edtl - at);
			if (v != GATHER_STRAY)
				gather_arrived(&g, &l, n, final);
			assert_true(g.next <= g.end || g.sense);
			assert_true(g.open <= l.max_r2t);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(r2ts_cover_the_write_once_and_in_order),
		cmocka_unit_test(immediate_then_unsolicited_then_solicited),
		cmocka_unit_test(less_unsolicited_data_than_allowed_is_asked_for),
		cmocka_unit_test(data_beyond_what_the_cdb_takes_is_not_solicited),
		cmocka_unit_test(commands_that_bring_what_was_not_agreed),
		cmocka_unit_test(right_and_wrong_data_outs),
		cmocka_unit_test(a_fault_ends_with_its_burst_not_before),
		cmocka_unit_test(the_first_fault_is_the_one_reported),
		cmocka_unit_test(nonsense_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
