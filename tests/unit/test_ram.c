/* The RAM disk. */
#include "disk_rig.h"

#include <sys/mman.h>

struct ram_conf {
	uint64_t size;
};

enum { SIZE = 8 * 1024 * 1024 };

static void
write_pattern(uint64_t offset, uint64_t len, unsigned seed, int nseg)
{
	char *buf = malloc(len);

	assert_non_null(buf);
	drig_fill(buf, offset, len, seed);
	assert_int_equal(drig_io(DISK_WRITE, 0, offset, buf, len, nseg), 0);
	free(buf);
}

static void
a_new_disk_is_zeros(void **state)
{
	struct ram_conf conf = { .size = SIZE };

	assert_true(drig_open("ram", &conf, 512, false));
	for (uint64_t at = 0; at < SIZE; at += BUF_XFER_MAX)
		drig_expect_zeros(at, BUF_XFER_MAX);
	drig_close();
}

static void
what_was_written_is_read(void **state)
{
	struct ram_conf conf = { .size = SIZE };

	assert_true(drig_open("ram", &conf, 512, false));
	write_pattern(0, 512, 1, 1);
	write_pattern(512, 17 * 512, 2, 17);
	write_pattern(SIZE - 512, 512, 3, 1);
	write_pattern(1 << 20, BUF_XFER_MAX, 4, 16);
	assert_int_equal(drig.verdict, BRIDGE_DONE);
	drig_expect(0, 512, 1);
	drig_expect(512, 17 * 512, 2);
	drig_expect(SIZE - 512, 512, 3);
	drig_expect(1 << 20, BUF_XFER_MAX, 4);
	assert_int_equal(drig.verdict, BRIDGE_DONE);
	drig_expect_zeros(18 * 512, 4096);
	drig_close();
}

static void
unmap_and_zero_clear_exactly_their_range(void **state)
{
	static const struct { uint64_t offset, len; } row[] = {
		{ 4096, 4096 },			/* a page */
		{ 512, 512 },			/* inside a page */
		{ 512, 4096 },			/* over a border, no whole page */
		{ 4096 - 512, 3 * 4096 },	/* pages and edges */
		{ 0, 64 * 1024 },
	};

	for (size_t i = 0; i < ARRAY_LEN(row) * 2; i++) {
		struct ram_conf conf = { .size = SIZE };
		uint64_t at = row[i / 2].offset, len = row[i / 2].len;

		assert_true(drig_open("ram", &conf, 512, false));
		write_pattern(0, 128 * 1024, 7, 1);
		assert_int_equal(drig_io(i & 1 ? DISK_UNMAP : DISK_ZERO, 0, at, NULL, len, 0), 0);
		drig_expect_zeros(at, len);
		if (at)
			drig_expect(0, at, 7);
		drig_expect(at + len, 128 * 1024 - at - len, 7);
		drig_close();
	}
}

/* Memory of a large range goes back, in steps between which the reactor serves others. */
static void
a_long_unmap_is_done_in_steps(void **state)
{
	struct ram_conf conf = { .size = 1ull << 32 };
	unsigned char resident[256];
	char *base;

	assert_true(drig_open("ram", &conf, 512, false));
	write_pattern(0, 1 << 20, 1, 1);
	write_pattern((1ull << 32) - (1 << 20), 1 << 20, 1, 1);
	assert_int_equal(drig_io(DISK_UNMAP, 0, 0, NULL, 1ull << 32, 0), 0);
	assert_int_equal(drig.verdict, BRIDGE_PENDING);
	base = drig.disk->priv;
	assert_int_equal(mincore(base, 1 << 20, resident), 0);
	for (int i = 0; i < 256; i++)
		assert_int_equal(resident[i] & 1, 0);
	drig_expect_zeros(0, 1 << 20);
	drig_expect_zeros((1ull << 32) - (1 << 20), 1 << 20);
	drig_close();
}

static void
terabytes_cost_nothing_until_written(void **state)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	/* The sanitizers want the address space for themselves. */
	struct ram_conf conf = { .size = 64ull << 30 };
#else
	struct ram_conf conf = { .size = 4ull << 40 };
#endif

	assert_true(drig_open("ram", &conf, 4096, false));
	write_pattern(conf.size - 4096, 4096, 9, 1);
	drig_expect(conf.size - 4096, 4096, 9);
	drig_close();
}

static void
a_size_of_half_blocks_is_refused(void **state)
{
	struct ram_conf conf = { .size = 4096 + 512 };

	assert_false(drig_open("ram", &conf, 4096, false));
	drig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_disk_is_zeros),
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(unmap_and_zero_clear_exactly_their_range),
		cmocka_unit_test(a_long_unmap_is_done_in_steps),
		cmocka_unit_test(terabytes_cost_nothing_until_written),
		cmocka_unit_test(a_size_of_half_blocks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
