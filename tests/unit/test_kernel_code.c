/*
 * test_kernel_code.c - what the report says of a kernel's instructions: the types of its matrix products, how
 * often each operation stands there, its loops.
 */
#include "kbn_test.h"

#include <string.h>

#include "code_fixture.h"
#include "sass_work.h"

static uint32_t count(const struct metric_sass *s, const char *op)
{
	for (size_t i = 0; i < s->ops_n; i++)
		if (!strcmp(s->ops[i].op, op))
			return s->ops[i].n;
	return 0;
}

static void types_of_products(void **state)
{
	const struct metric_sass *s =
		code_in("tests/golden/cubin/gemm_good.sm_80.cubin", "gemm_good");

	(void)state;
	assert_true(s->has_products);
	assert_int_equal(s->product_type, SASS_TYPE_F16);
	assert_int_equal(s->product_sums, SASS_TYPE_F32);
	assert_int_equal(count(s, "HMMA"), 80);
	s = code_in("tests/golden/tile/published.sm_80.cubin", "imma_8");
	assert_true(s->has_products);
	assert_int_equal(s->product_type, SASS_TYPE_S8);
	assert_int_equal(s->product_sums, SASS_TYPE_S32);
	s = code_in("tests/golden/cubin/gemm_bad.sm_90.cubin",
		    "gemm_bad"); /* halves are made floats first */
	assert_true(count(s, "HADD2") > 0 && count(s, "HFMA2") > 0 && !s->has_halves);
	assert_false(s->has_products);
	assert_int_equal(s->product_type, SASS_UNKNOWN);
}

/* HMMA.16816.F32 and HMMA.16816.F16, by how many of each; EXIT behind them (sm_80). */
static const struct metric_sass *products(unsigned singles, unsigned halves)
{
	static const struct sass_word single = {0x000000040c08723c, 0x000fe20000001808},
				      half = {0x000000040c08723c, 0x000fe20000000808},
				      end = {0x000000000000794d, 0x000fea0003800000};
	static uint8_t code[8 * SASS_BYTES];
	struct cubin_function f = {.name = "f"};
	struct err e;

	for (unsigned i = 0; i <= singles + halves; i++) {
		const struct sass_word w = i < singles ? single : i < singles + halves ? half : end;

		memcpy(code + i * SASS_BYTES, &w.lo, 8);
		memcpy(code + i * SASS_BYTES + 8, &w.hi, 8);
	}
	f.code = (struct buf){.data = code, .bytes = (singles + halves + 1) * SASS_BYTES};
	return code_of(80, &f, &e);
}

/* A peak is of one type: where products differ, none is taken for the other. */
static void products_that_differ(void **state)
{
	const struct metric_sass *s = products(2, 0);

	(void)state;
	assert_int_equal(s->product_sums, SASS_TYPE_F32);
	s = products(0, 2);
	assert_int_equal(s->product_sums, SASS_TYPE_F16);
	s = products(2, 2);
	assert_true(s->has_products);
	assert_int_equal(s->undecoded, 0);
	assert_int_equal(s->product_type, SASS_UNKNOWN);
	assert_int_equal(s->product_sums, SASS_UNKNOWN);
	assert_int_equal(count(s, "HMMA"), 4);
}

/* The most frequent first, and all of them together are the instructions. */
static void operations(void **state)
{
	const struct metric_sass *s =
		code_in("tests/golden/cubin/gemm_bad.sm_90.cubin", "gemm_bad");
	uint32_t sum = 0;

	(void)state;
	for (size_t i = 0; i < s->ops_n; i++) {
		assert_true(!i || s->ops[i - 1].n >= s->ops[i].n);
		assert_in_range(s->ops[i].stall_median, s->ops[i].stall_min, 15);
		assert_null(strchr(s->ops[i].op, '.'));
		assert_in_range(s->ops[i].reducible, 0, s->ops[i].n);
		sum += s->ops[i].n;
	}
	assert_int_equal(sum, s->instructions);
	assert_int_equal(s->loops_n, 3);
	assert_true(s->loops[0].is_main && !s->loops[1].is_main);
	for (size_t i = 0; i < s->loops_n; i++) {
		assert_true(s->loops[i].stall_cycles > 0);
		assert_in_range(s->loops[i].saved_cycles, 0, s->loops[i].stall_cycles);
	}
}

static void an_architecture_that_is_not_known(void **state)
{
	const struct cubin_function f = {.name = "f"};
	struct err e = {0};

	(void)state;
	assert_null(code_of(61, &f, &e));
	assert_int_equal(e.code, ERR_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(types_of_products, set_up, tear_down),
		cmocka_unit_test_setup_teardown(products_that_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(operations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_architecture_that_is_not_known, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
