/*
 * test_launch_limits.c - what a kernel was compiled for against how it is to be launched: bounds, fixed
 * blocks, clusters, static shared memory, arguments. The limits of every kernel are in test_analyze.
 */
#include "launch_limits.h"

#include "kbn_test.h"

#define X32              \
	{                \
		32, 1, 1 \
	}

/* What is wrong, "" = nothing. */
static const char *wrong(struct launch l, int sm, struct cubin_function f)
{
	static struct err e;

	e = (struct err){.offset = -1};
	if (launch_check_kernel(&l, arch_find(sm, NULL), &f, &e) == 0)
		return "";
	assert_int_equal(e.code, ERR_USAGE);
	return e.text;
}

static void blocks(void **state)
{
	const struct launch l = {.grid = {8, 1, 1}, .block = {16, 16, 1}};

	(void)state;
	assert_string_equal(wrong(l, 90, (struct cubin_function){.max_threads = {256}}), "");
	assert_string_equal(wrong(l, 90, (struct cubin_function){.max_threads = {128, 2, 0}}), "");
	assert_string_equal(
		wrong(l, 90, (struct cubin_function){.max_threads = {255, 1, 1}}),
		"--block: 256 threads, the kernel was compiled for at most 255 (__launch_bounds__)");
	assert_string_equal(wrong(l, 90, (struct cubin_function){.block = {16, 16, 1}}), "");
	assert_string_equal(wrong(l, 90, (struct cubin_function){.block = {256}}),
			    "--block: the kernel was compiled for blocks of 256,1,1 alone");
}

static void shared_memory(void **state)
{
	const struct launch l = {.grid = X32, .block = X32, .dyn_smem_bytes = 101376 - 1024};

	(void)state;
	assert_string_equal(wrong(l, 86, (struct cubin_function){.static_smem_bytes = 1024}), "");
	assert_string_equal(
		wrong(l, 86, (struct cubin_function){.static_smem_bytes = 1025}),
		"--dyn-smem: 101377 bytes of shared memory per block (1025 static), sm_86 has "
		"at most 101376");
}

static void clusters(void **state)
{
	const struct launch none = {.grid = {12, 1, 1}, .block = X32},
			    four = {.grid = {12, 1, 1}, .block = X32, .cluster = {4, 1, 1}};
	const struct cubin_function any = {.needs_cluster = true}, fixed = {.cluster = {4, 1, 1}},
				    five = {.cluster = {5, 1, 1}};

	(void)state;
	assert_string_equal(wrong(four, 90, any), "");
	assert_string_equal(wrong(none, 90, any),
			    "--cluster is missing: the kernel works in clusters");
	assert_string_equal(wrong(none, 90, fixed), "");
	assert_string_equal(wrong(four, 90, fixed), "");
	assert_string_equal(wrong(four, 90, five), "--cluster: the kernel was compiled for 5,1,1");
	assert_string_equal(
		wrong(none, 90, five),
		"--grid: x is 12, no multiple of the 5 of the cluster that was compiled in");
	assert_string_equal(wrong(four, 89, (struct cubin_function){0}),
			    "--cluster: sm_89 has none, they begin with sm_90");
}

static void arguments(void **state)
{
	struct cubin_param params[] = {{0, 8}, {8, 4}};
	const struct cubin_function f = {.params = params, .params_n = 2, .param_bytes = 12};
	const uint8_t bytes[16] = {0};
	const struct given_arg good[] = {{"ptr", bytes, 8}, {"i32", bytes, 4}},
			       large[] = {{"ptr", bytes, 8}, {"f64", bytes, 8}};
	struct err e;

	(void)state;
	assert_int_equal(launch_check_args(&(struct given){.params_n = 0}, &f, &e), 0);
	assert_int_equal(launch_check_args(&(struct given){.args = good, .args_n = 2}, &f, &e), 0);
	assert_int_equal(launch_check_args(&(struct given){.args = good, .args_n = 1}, &f, &e), -1);
	assert_int_equal(launch_check_args(&(struct given){.args = large, .args_n = 2}, &f, &e),
			 -1);
	assert_string_equal(e.text, "--arg f64: argument 2 of the kernel has 4 bytes, not 8");
	assert_int_equal(
		launch_check_args(&(struct given){.params = bytes, .params_n = 12}, &f, &e), 0);
	assert_int_equal(
		launch_check_args(&(struct given){.params = bytes, .params_n = 16}, &f, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(clusters),
		cmocka_unit_test(arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
