/*
 * test_count.c - sums and products that cannot wrap.
 */
#include "kbn_test.h"

#include "count.h"

static void nothing_wraps(void **state)
{
	(void)state;
	assert_int_equal(count_sum(2, 3), 5);
	assert_true(count_sum(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(count_sum(UINT64_MAX, 1) == UINT64_MAX);
	assert_int_equal(count_product(1ull << 31, 4), 1ull << 33);
	assert_true(count_product(1ull << 33, 1ull << 33) == UINT64_MAX);
	assert_int_equal(count_volume((uint32_t[]){65536, 65536, 2}), 1ull << 33);
	assert_true(count_volume((uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}) == UINT64_MAX);
	assert_int_equal(count_volume((uint32_t[]){UINT32_MAX, UINT32_MAX, 0}), 0);
	assert_int_equal(count_int(1024), 1024);
	assert_int_equal(count_int(1ull << 31), INT32_MAX);
	assert_int_equal(count_int(UINT64_MAX), INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_wraps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
