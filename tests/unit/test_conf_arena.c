/* Memory that is freed all at once. */
#include "tests/unit/conf/check.h"

static void
objects_are_apart_zeroed_and_aligned(void **state)
{
	static const size_t sizes[] = { 1, 0, 15, 16, 17, 1000, 65535, 65536, 65537, 200000, 3, 64 };
	struct arena *a = arena_new();
	unsigned char *p[ARRAY_LEN(sizes)];

	assert_non_null(a);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		p[i] = arena_get(a, sizes[i]);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], i + 1);
	}
	assert_string_equal(arena_text(a, "abcdef", 3), "abc");
	arena_free(a);
	arena_free(NULL);
}

static void
arrays_grow_and_keep(void **state)
{
	struct arena *a = arena_new();
	uint64_t *v = NULL;
	size_t cap = 0;

	for (uint64_t n = 0; n < 10000; n++) {
		v = arena_grow(a, v, n, &cap, sizeof(*v));
		assert_non_null(v);
		assert_true(n < cap);
		v[n] = n;
	}
	for (uint64_t n = 0; n < 10000; n++)
		assert_int_equal(v[n], n);
	arena_free(a);
}

static void
sizes_that_cannot_be_had(void **state)
{
	struct arena *a = arena_new();
	size_t cap = SIZE_MAX / 16;

	assert_null(arena_get(a, SIZE_MAX));
	assert_null(arena_get(a, SIZE_MAX / 2 + 1));
	assert_null(arena_grow(a, NULL, cap, &cap, 16));
	assert_int_equal(cap, SIZE_MAX / 16);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_apart_zeroed_and_aligned),
		cmocka_unit_test(arrays_grow_and_keep),
		cmocka_unit_test(sizes_that_cannot_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
