/* The null disk. */
#include "disk_rig.h"

struct null_conf {
	uint64_t size;
};

static void
reads_are_zeros_at_both_ends(void **state)
{
	struct null_conf conf = { .size = 1ull << 40 };

	assert_true(drig_open("null", &conf, 512, false));
	assert_int_equal(drig.disk->size, 1ull << 40);
	drig_expect_zeros(0, 512);
	drig_expect_zeros(conf.size - 512, 512);
	drig_expect_zeros(4096, BUF_XFER_MAX);
	drig_close();
}

static void
writes_vanish(void **state)
{
	struct null_conf conf = { .size = 1 << 20 };
	char buf[4096];

	assert_true(drig_open("null", &conf, 4096, false));
	drig_fill(buf, 0, sizeof(buf), 1);
	assert_int_equal(drig_write(0, buf, sizeof(buf)), 0);
	drig_expect_zeros(0, 4096);
	assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
	assert_int_equal(drig_io(DISK_UNMAP, 0, 0, NULL, 1 << 20, 0), 0);
	assert_int_equal(drig_io(DISK_ZERO, 0, 0, NULL, 1 << 20, 0), 0);
	assert_int_equal(drig_io(DISK_COMPARE_WRITE, 0, 0, buf, 1024, 1), -EOPNOTSUPP);
	assert_int_equal(drig.verdict, BRIDGE_DONE);
	drig_close();
}

static void
a_size_of_half_blocks_is_refused(void **state)
{
	struct null_conf conf = { .size = 4096 + 512 };

	assert_false(drig_open("null", &conf, 4096, false));
	drig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_are_zeros_at_both_ends),
		cmocka_unit_test(writes_vanish),
		cmocka_unit_test(a_size_of_half_blocks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
