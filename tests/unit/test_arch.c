/*
 * test_arch.c - the hardware tables: complete, ordered, consistent with the formulas that made them;
 * and what is said of a device that no row matches.
 */
#include "kbn_test.h"

#include <math.h>

#include "arch.h"

static void rows_are_complete(void **state)
{
	const struct arch *t;
	size_t n;

	(void)state;
	t = arch_table(&n);
	assert_int_equal(n, 13);
	for (size_t i = 0; i < n; i++) {
		const struct arch *a = &t[i];

		if (i)
			assert_true(a->sm > t[i - 1].sm);
		assert_true(a->warps_per_sm > 0 && a->blocks_per_sm > 0 && a->registers_per_sm > 0);
		assert_int_equal(a->registers_per_sm % (a->partitions * a->register_granularity),
				 0);
		assert_true(a->smem_optin_kb <= a->smem_per_sm_kb);
		assert_true(a->smem_configs > 0 &&
			    a->smem_configs_kb[a->smem_configs - 1] == a->smem_per_sm_kb);
		for (int k = 1; k < a->smem_configs; k++)
			assert_true(a->smem_configs_kb[k] > a->smem_configs_kb[k - 1]);
		assert_int_equal(a->smem_reserved_bytes, a->sm >= 80 ? 1024 : 0);
		/* capacity minus one reserve is what a block can get */
		assert_int_equal(a->smem_optin_kb,
				 a->smem_per_sm_kb - a->smem_reserved_bytes / 1024);
		assert_true(a->fp32 > 0 && a->fp64 > 0 && a->dep_ffma == 4);
		assert_int_equal(a->barrier_slots >= 0, a->sm >= 90);
		for (const char *const *s =
			     (const char *const[]){a->chips, a->limits_source, a->rates_source,
						   a->tensor_source, a->spacing_source, a->caveat,
						   NULL};
		     *s; s++)
			assert_true(strlen(*s) > 3);
	}
}

static bool near(double a, double b, double pct)
{
	return fabs(a - b) <= pct / 100 * fabs(b);
}

/* Table peaks are SMs x rate x 2 x clock; the class decides which rate. Rounded to three digits. */
static void peaks_follow_the_formula(void **state)
{
	const struct product *p;
	size_t n;

	(void)state;
	p = product_table(&n);
	assert_int_equal(n, 68);
	for (size_t i = 0; i < n; i++) {
		const struct arch *a = arch_find(p[i].sm, NULL);
		double core = 2e-6 * p[i].sm_count * p[i].boost_mhz,
		       tensor = 2e-6 * p[i].sm_count * p[i].tensor_mhz;
		double capped = p[i].class == PRODUCT_CAPPED ? 0.5 : 1;
		bool gf = p[i].class == PRODUCT_GEFORCE;

		if (p[i].is_profile)
			continue;
		if (!near(p[i].fp32, core * a->fp32, 0.6))
			fail_msg("%s: FP32", p[i].name);
		if (!near(p[i].fp64, core * a->fp64, 6)) /* two digits in the table */
			fail_msg("%s: FP64", p[i].name);
		if (p[i].fp16_acc16 > 0 && !near(p[i].fp16_acc16, tensor * a->t_fp16 * capped, 0.6))
			fail_msg("%s: FP16", p[i].name);
		if (p[i].fp16_acc32 > 0 &&
		    !near(p[i].fp16_acc32,
			  tensor * (gf ? a->t_fp16_fp32acc_gf : a->t_fp16_fp32acc) * capped, 0.6))
			fail_msg("%s: FP16 with FP32 sums", p[i].name);
		if (p[i].int8 > 0 && !near(p[i].int8, tensor * a->t_int8 * capped, 0.6))
			fail_msg("%s: INT8", p[i].name);
		if (p[i].class != PRODUCT_INTEGRATED &&
		    !near(p[i].dram_gbps, p[i].bus_bits / 8.0 * p[i].memory_mhz * 2e-3, 3))
			fail_msg("%s: bandwidth", p[i].name);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(p[i].name, p[k].name);
	}
}

static void reference_profiles(void **state)
{
	struct arch_device d;

	(void)state;
	arch_describe_product(&d, product_find("ga104-reference"));
	assert_string_equal(d.peaks_source, "profile");
	assert_float_equal(d.peaks[PEAK_FP32] / d.dram_gbps * 1e3, 35.7, 0.05);
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR] / d.dram_gbps * 1e3, 286.2, 0.05);
	assert_float_equal(d.peaks[PEAK_INT8_TENSOR] / d.dram_gbps * 1e3, 1144.7, 0.05);
	assert_int_equal(d.l2_bytes, 4 << 20);
	assert_int_equal(d.sm_count, 48);
	assert_int_equal(d.product->published_cliff_bytes, 51200);
	assert_non_null(strstr(d.product->note, "sparse"));
	arch_describe_product(&d, product_find("a100-reference"));
	assert_float_equal(d.peaks[PEAK_FP32] / d.dram_gbps * 1e3, 12.2, 0.05);
	arch_describe_product(&d, product_find("NVIDIA GeForce RTX 3070 Ti"));
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR], 87.0, 0.01);
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR_FP32ACC], 43.5, 0.01);
	assert_float_equal(d.peaks[PEAK_INT8_TENSOR], 174, 0.01);
}

static const struct arch_attribute h200[] = {
	{16, 132},    {13, 1980000}, {36, 3201000}, {37, 6016},  {38, 62914560}, {39, 2048},
	{81, 233472}, {97, 232448},  {106, 32},     {111, 1024}, {18, 0},
};
#define H200_N (sizeof(h200) / sizeof(*h200))

static void match_needs_name_cc_and_sms(void **state)
{
	struct arch_attribute attrs[H200_N];
	struct arch_device d;

	(void)state;
	arch_describe(&d, "NVIDIA H200", 90, false, h200, H200_N);
	assert_non_null(d.product);
	assert_string_equal(d.peaks_source, "table");
	assert_float_equal(d.dram_gbps, 4800, 0);
	assert_int_equal(d.l2_bytes, 62914560);
	memcpy(attrs, h200, sizeof(attrs));
	attrs[0].value = 78; /* the same name with other SMs: the attributes are believed */
	arch_describe(&d, "NVIDIA H200", 90, false, attrs, H200_N);
	assert_null(d.product);
	assert_string_equal(d.peaks_source, "attributes");
	assert_float_equal(d.dram_gbps, 6016 / 8.0 * 3.201 * 2, 1e-6);
	assert_float_equal(d.peaks[PEAK_FP32], 2e-6 * 78 * 128 * 1980, 1e-6);
	arch_describe(&d, "NVIDIA H200", 86, false, h200, H200_N);
	assert_null(d.product);
}

static void slices_and_integrated_parts_stay_unknown(void **state)
{
	struct arch_attribute attrs[H200_N];
	struct arch_device d;

	(void)state;
	arch_describe(&d, "NVIDIA H200 MIG 1g.18gb", 90, true, h200, H200_N);
	assert_null(d.product);
	assert_null(d.peaks_source);
	assert_true(isnan(d.dram_gbps) && isnan(d.peaks[PEAK_FP32]));
	assert_non_null(d.dram_why);
	assert_int_equal(d.sm_count, 132);
	memcpy(attrs, h200, sizeof(attrs));
	attrs[10].value = 1;
	arch_describe(&d, "Some SoC", 90, false, attrs, H200_N);
	assert_true(isnan(d.dram_gbps));
	assert_non_null(d.dram_why);
	attrs[10].value = 0;
	attrs[3].value = 0;
	arch_describe(&d, "Some card", 90, false, attrs, H200_N);
	assert_true(isnan(d.dram_gbps));
	arch_describe(&d, "NVIDIA GB10", 121, false,
		      (struct arch_attribute[]){{16, 48}, {18, 1}, {36, 8533000}, {37, 256}}, 4);
	assert_float_equal(d.dram_gbps, 273, 0); /* not the 546 of the formula */
}

static void geforce_halves_fp32_sums(void **state)
{
	const struct arch_attribute attrs[] = {{16, 100}, {13, 2000000}};
	struct arch_device d;

	(void)state;
	arch_describe(&d, "NVIDIA GeForce RTX 9999", 86, false, attrs, 2);
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR], 2e-6 * 100 * 512 * 2000, 1e-9);
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR_FP32ACC], 2e-6 * 100 * 256 * 2000, 1e-9);
	arch_describe(&d, "NVIDIA Workstation 9999", 86, false, attrs, 2);
	assert_float_equal(d.peaks[PEAK_FP16_TENSOR_FP32ACC], 2e-6 * 100 * 512 * 2000, 1e-9);
}

static void nearest_row(void **state)
{
	bool exact;

	(void)state;
	assert_int_equal(arch_find(88, &exact)->sm, 86);
	assert_false(exact);
	assert_int_equal(arch_find(91, &exact)->sm, 90);
	assert_false(exact);
	assert_null(arch_find(61, &exact));
	assert_false(exact);
	assert_null(arch_find(130, &exact));
	assert_int_equal(arch_find(121, &exact)->sm, 121);
	assert_true(exact);
}

static void names_of_architectures(void **state)
{
	(void)state;
	assert_int_equal(arch_parse("sm_90"), 90);
	assert_int_equal(arch_parse("sm_90a"), 90);
	assert_int_equal(arch_parse("sm_120f"), 120);
	assert_int_equal(arch_parse("86"), 86);
	assert_int_equal(arch_parse("8.6"), 86);
	assert_int_equal(arch_parse("12.1"), 121);
	assert_int_equal(arch_parse("sm_"), -1);
	assert_int_equal(arch_parse("hopper"), -1);
	assert_int_equal(arch_parse("8.66"), -1);
	assert_int_equal(arch_parse("sm_90x"), -1);
	assert_int_equal(arch_parse("7"), -1);
	assert_string_equal(product_reference(90)->name, "NVIDIA H100 80GB HBM3");
	assert_string_equal(product_reference(100)->name, "NVIDIA B200");
	assert_string_equal(product_reference(80)->name, "NVIDIA A100-PCIE-40GB");
	assert_null(product_reference(91));
	assert_non_null(product_find("nvidia h200"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(peaks_follow_the_formula),
		cmocka_unit_test(reference_profiles),
		cmocka_unit_test(match_needs_name_cc_and_sms),
		cmocka_unit_test(slices_and_integrated_parts_stay_unknown),
		cmocka_unit_test(geforce_halves_fp32_sums),
		cmocka_unit_test(nearest_row),
		cmocka_unit_test(names_of_architectures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
