/* unit: shim */
/*
 * test_sketch.c - the histogram of kbn_trace.h: buckets tile the range, and reading a bucket's
 * midpoint is within the promised 1.6% of what went in.
 */
#include "kbn_test.h"

#include "kbn_trace.h"

static void test_edges_tile(void **state)
{
	(void)state;
	assert_int_equal(kbn_sketch_edge(0), 64);
	for (uint32_t b = 0; b + 1 < KBN_SKETCH_BUCKETS; b++) {
		uint64_t low = kbn_sketch_edge(b), high = kbn_sketch_edge(b + 1);

		assert_true(low < high);
		assert_int_equal(kbn_sketch_bucket(low), b);
		assert_int_equal(kbn_sketch_bucket(high - 1), b);
		assert_int_equal(kbn_sketch_bucket(high), b + 1);
	}
}

static void test_midpoint_is_near(void **state)
{
	uint64_t last = kbn_sketch_edge(KBN_SKETCH_BUCKETS - 1);

	(void)state;
	for (uint64_t ns = 64; ns < last; ns += ns / 97 + 1) {
		uint32_t b = kbn_sketch_bucket(ns);
		double middle = ((double)kbn_sketch_edge(b) + (double)kbn_sketch_edge(b + 1)) / 2;
		double off = middle > (double)ns ? middle - (double)ns : (double)ns - middle;

		assert_true(off <= 0.016 * (double)ns);
	}
}

static void test_ends_are_clamped(void **state)
{
	(void)state;
	assert_int_equal(kbn_sketch_bucket(0), 0);
	assert_int_equal(kbn_sketch_bucket(63), 0);
	assert_int_equal(kbn_sketch_bucket((1ull << 38) - 1), KBN_SKETCH_BUCKETS - 1);
	assert_int_equal(kbn_sketch_bucket(1ull << 38), KBN_SKETCH_BUCKETS - 1);
	assert_int_equal(kbn_sketch_bucket(UINT64_MAX), KBN_SKETCH_BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_tile),
		cmocka_unit_test(test_midpoint_is_near),
		cmocka_unit_test(test_ends_are_clamped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
