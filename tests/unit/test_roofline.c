/*
 * test_roofline.c - the published examples digit by digit, which peak is meant, thresholds from both sides, what
 * can be said with an input missing, shares above 100%, and every reason where it belongs.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "finding.h"
#include "roofline.h"
#include "text.h"

static struct arena *arena;

static int make_arena(void **state)
{
	(void)state;
	arena = arena_new();
	return arena ? 0 : -1;
}

static int free_arena(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct arch_device device_named(const char *name)
{
	struct arch_device d;

	assert_non_null(product_find(name));
	arch_describe_product(&d, product_find(name));
	return d;
}

static struct quantity exactly(double v, enum quantity_label label)
{
	return (struct quantity){v, v, v, label, QUANTITY_BY_USER, NULL};
}

static const struct occupancy plenty = {.waves = 8,
					.tail_waste_pct = 0,
					.last_wave_pct = 100,
					.warps_per_sm = 48,
					.enough_warps = 1,
					.enough_warps_at = 8,
					.grid_warps_per_sm = -1};

/* Work and time that give these shares of the FP32 peak and the bandwidth; NaN = that side is not known. */
static struct roofline_input with_shares(const struct arch_device *d, double compute, double memory)
{
	const double us = 100;
	struct roofline_input in = {
		.flops = quantity_unknown("no FLOPs"),
		.bytes = quantity_unknown("no bytes"),
		.time_us = exactly(us, QUANTITY_MEASURED),
		.precision = {PEAK_FP32, NULL, 0},
		.device = d,
		.occupancy = &plenty,
		.grid_blocks = 10000,
		.sm_count = d->sm_count,
		.launch_gap_us = 5,
	};

	in.time_us.by = QUANTITY_BY_EVENTS;
	if (!isnan(compute))
		in.flops =
			exactly(compute / 100 * d->peaks[PEAK_FP32] * 1e6 * us, QUANTITY_DERIVED);
	if (!isnan(memory))
		in.bytes = exactly(memory / 100 * d->dram_gbps * 1e3 * us, QUANTITY_DERIVED);
	return in;
}

static struct roofline build(const struct roofline_input *in)
{
	struct roofline r;
	struct err e;

	assert_int_equal(roofline_build(&r, in, arena, &e), 0);
	return r;
}

/* The text of the reason, NULL = it is not among them. */
static const char *reason(const struct roofline *r, enum finding finding)
{
	for (int i = 0; i < r->verdict.reasons_n; i++)
		if (strcmp(r->verdict.reasons[i].id, finding_rows[finding].id) == 0)
			return r->verdict.reasons[i].text;
	return NULL;
}

#define assert_class(r, c, l)                              \
	do {                                               \
		assert_string_equal((r).verdict.class, c); \
		assert_string_equal((r).verdict.label, l); \
	} while (0)

/* A small L2, so that no data fits it. */
static struct arch_device ga104(void)
{
	return device_named("ga104-reference");
}

/* ------------------------------------------------------------------------------------- published figures */

static void published_balances(void **state)
{
	struct arch_device d = ga104(), a100 = device_named("a100-reference");
	const struct {
		const struct arch_device *d;
		int peak;
		const char *text;
	} rows[] = {
		{&d, PEAK_FP32, "35.7"},
		{&d, PEAK_FP16_TENSOR, "286.2"},
		{&d, PEAK_INT8_TENSOR, "1144.7"},
		{&a100, PEAK_FP32, "12.2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[32];

		snprintf(text, sizeof(text), "%.1f", roofline_balance(rows[i].d, rows[i].peak));
		assert_string_equal(text, rows[i].text);
	}
	assert_true(isnan(roofline_balance(&d, -1)));
	assert_true(isnan(roofline_balance(&a100, PEAK_FP16_TENSOR)));
	/* the product's own rows are dense, and of A100 12.5 */
	d = device_named("NVIDIA GeForce RTX 3070 Ti");
	assert_float_equal(roofline_balance(&d, PEAK_FP16_TENSOR_FP32ACC), 71.5, 0.05);
	assert_float_equal(roofline_balance(&d, PEAK_FP16_TENSOR), 143.1, 0.05);
	assert_float_equal(roofline_balance(&d, PEAK_INT8_TENSOR), 286.2, 0.05);
	a100 = device_named("NVIDIA A100-SXM4-40GB");
	assert_float_equal(roofline_balance(&a100, PEAK_FP32), 12.5, 0.05);
}

/* 2 FLOP / 12 B, not the 0.5 that is often printed. */
static void saxpy(void **state)
{
	static const struct formula_geometry g = {{65536, 1, 1}, {256, 1, 1}};
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, NAN, NAN);
	struct work w = WORK_INIT;
	struct roofline r;
	struct err e;

	(void)state;
	assert_int_equal(work_option(&w, "--flops", "2*gx*bx", &g, &e), 0);
	assert_int_equal(work_option(&w, "--bytes", "12*gx*bx", &g, &e), 0);
	in.flops = work_flops(&w);
	in.bytes = work_bytes(&w);
	in.time_us.value = in.time_us.low = in.time_us.high = 400;
	r = build(&in);
	assert_float_equal(r.intensity.value, 0.1667, 0.0001);
	assert_string_equal(r.side, "memory");
	assert_float_equal(r.effective_gbps.value, 12.0 * 65536 * 256 / 400e3, 1e-6);
	assert_float_equal(r.effective_gflops.value, 2.0 * 65536 * 256 / 400e3, 1e-6);
	assert_float_equal(r.sol_memory_pct.value, 100 * 12.0 * 65536 * 256 / 400e3 / 608, 1e-6);
	assert_float_equal(r.attained_pct.value, r.sol_memory_pct.value, 1e-9);
	assert_class(r, "memory", "derived");
	assert_int_equal(r.intensity.by, QUANTITY_BY_USER);
	assert_int_equal(r.intensity.label, QUANTITY_DERIVED);
}

/* ------------------------------------------------------------------------------------- which peak */

static void which_peak(void **state)
{
	static const struct {
		const char *device;
		enum work_dtype dtype;
		int tensor, sums;
		int peak; /* -1 = not known */
	} rows[] = {
		{"NVIDIA H200", WORK_FP32, -1, -1, PEAK_FP32},
		{"NVIDIA H200", WORK_FP32, 0, -1, PEAK_FP32},
		{"NVIDIA H200", WORK_FP32, 1, 1, -1}, /* never a tensor peak for FP32 */
		{"NVIDIA H200", WORK_TF32, -1, -1, PEAK_TF32_TENSOR},
		{"NVIDIA H200", WORK_TF32, 0, -1, -1},
		{"NVIDIA H200", WORK_FP64, 0, -1, PEAK_FP64},
		{"NVIDIA H200", WORK_FP64, 1, -1, PEAK_FP64_TENSOR},
		{"NVIDIA H200", WORK_FP64, -1, -1, -1},
		{"NVIDIA GeForce RTX 3070 Ti", WORK_FP64, -1, -1, PEAK_FP64}, /* has no other */
		{"NVIDIA H200", WORK_FP16, 0, -1, PEAK_FP16},
		{"NVIDIA H200", WORK_FP16, 1, 1, PEAK_FP16_TENSOR_FP32ACC},
		{"NVIDIA H200", WORK_FP16, 1, 0, PEAK_FP16_TENSOR},
		{"NVIDIA H200", WORK_FP16, 1, -1, PEAK_FP16_TENSOR_FP32ACC}, /* both equal */
		{"NVIDIA H200", WORK_FP16, -1, -1, -1},
		{"NVIDIA GeForce RTX 3070 Ti", WORK_FP16, 1, -1, -1}, /* they differ */
		{"NVIDIA GeForce RTX 3070 Ti", WORK_FP16, 1, 1, PEAK_FP16_TENSOR_FP32ACC},
		{"NVIDIA GeForce RTX 3070 Ti", WORK_FP16, 1, 0, PEAK_FP16_TENSOR},
		{"ga104-reference", WORK_FP16, 1, 1, PEAK_FP16_TENSOR},
		{"ga104-reference", WORK_FP16, 1, -1, PEAK_FP16_TENSOR},
		{"ga104-reference", WORK_FP16, -1, -1, -1},
		{"ga104-reference", WORK_INT8, 1, -1, PEAK_INT8_TENSOR},
		{"NVIDIA H200", WORK_BF16, 1, 1, PEAK_BF16_TENSOR},
		{"NVIDIA H200", WORK_BF16, 0, 1, -1},
		{"NVIDIA H200", WORK_FP8, -1, -1, PEAK_FP8_TENSOR},
		{"NVIDIA H200", WORK_FP4, -1, -1, PEAK_FP4_TENSOR},
		{"NVIDIA H200", WORK_INT8, -1, -1, -1}, /* may be DP4A */
		{"NVIDIA H200", WORK_INT8, 1, -1, PEAK_INT8_TENSOR},
		{"NVIDIA H200", WORK_INT4, -1, -1, PEAK_INT4_TENSOR},
		{"NVIDIA H200", WORK_DTYPE_NONE, 1, 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct arch_device d = device_named(rows[i].device);
		struct roofline_precision p =
			roofline_precision(&d, rows[i].dtype, rows[i].tensor, rows[i].sums);

		if (p.peak != rows[i].peak || (p.peak < 0) != (p.why != NULL))
			fail_msg("row %zu: peak %d, %s", i, p.peak, p.why ? p.why : "");
	}
}

/* A product of which one FP16 figure is not known is no profile: the other one does not stand in for it. */
static void no_stand_in(void **state)
{
	struct arch_device d = device_named("NVIDIA GeForce RTX 3070 Ti");

	(void)state;
	d.peaks[PEAK_FP16_TENSOR_FP32ACC] = NAN;
	assert_int_equal(roofline_precision(&d, WORK_FP16, 1, 1).peak, PEAK_FP16_TENSOR_FP32ACC);
	assert_int_equal(roofline_precision(&d, WORK_FP16, 1, -1).peak, -1);
	assert_int_equal(roofline_precision(&d, WORK_FP16, -1, -1).peak, -1);
	d.peaks[PEAK_FP16_TENSOR] = NAN;
	assert_int_equal(roofline_precision(&d, WORK_FP16, -1, -1).peak, PEAK_FP16);
	d.product = NULL;
	d.peaks[PEAK_FP16_TENSOR] = 1;
	assert_int_equal(roofline_precision(&d, WORK_FP16, 1, -1).peak, -1);
}

/* Instructions that reach 63% of a peak are held against that: shares, balance and what is said of them. */
static void products_of_single_warps(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 40, 20);
	const struct roofline all = build(&in);
	struct roofline part;

	(void)state;
	assert_class(all, "latency", "derived");
	in.precision.pct = 63;
	part = build(&in);
	assert_class(part, "compute", "derived");
	assert_float_equal(part.sol_compute_pct.value, all.sol_compute_pct.value / 0.63, 1e-9);
	assert_float_equal(part.balance, all.balance * 0.63, 1e-9);
	assert_float_equal(part.sol_memory_pct.value, all.sol_memory_pct.value, 1e-9);
	assert_int_equal(part.precision_pct, 63);
}

static void names_of_precisions(void **state)
{
	char name[ROOFLINE_NAME];

	(void)state;
	assert_string_equal(roofline_precision_name(name, PEAK_FP32), "fp32");
	assert_string_equal(roofline_precision_name(name, PEAK_FP16_TENSOR_FP32ACC),
			    "fp16_tensor_fp32acc");
	assert_string_equal(roofline_precision_name(name, PEAK_INT8_TENSOR), "int8_tensor");
	assert_null(roofline_precision_name(name, -1));
	for (int i = 0; i < PEAK_N; i++)
		assert_true(strlen(roofline_precision_name(name, i)) < ROOFLINE_NAME - 1);
}

/* ------------------------------------------------------------------------------------- thresholds */

static void classes(void **state)
{
	static const struct {
		double compute, memory;
		const char *class, *larger, *side;
	} rows[] = {
		{85, 10, "compute", "compute", "compute"},
		{10, 85, "memory", "memory", "memory"},
		{60.001, 59.999, "compute", "compute", "compute"},
		{59.999, 60.001, "memory", "memory", "memory"},
		{60.001, 60.002, "balanced", "memory", "memory"},
		{95, 60.001, "balanced", "compute", "compute"},
		{59.999, 59.998, "latency", "compute", "compute"},
		{1, 2, "latency", "memory", "memory"},
		{0, 75, "memory", "memory", "memory"}, /* a copy */
		{0, 5, "latency", "memory", "memory"},
		{99.99, 99.99, "balanced", NULL, NULL},
	};
	struct arch_device d = ga104();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct roofline_input in = with_shares(&d, rows[i].compute, rows[i].memory);
		struct roofline r = build(&in);

		assert_class(r, rows[i].class, "derived");
		if (rows[i].side) {
			assert_string_equal(r.verdict.larger, rows[i].larger);
			assert_string_equal(r.side, rows[i].side);
		}
		assert_float_equal(r.sol_compute_pct.value, rows[i].compute, 1e-9);
		assert_float_equal(r.sol_memory_pct.value, rows[i].memory, 1e-9);
		assert_float_equal(r.attained_pct.value, fmax(rows[i].compute, rows[i].memory),
				   1e-9);
		assert_non_null(reason(&r, FINDING_SHARES));
		assert_false(r.verdict.launch_bound);
	}
}

/* Exactly 60 counts as saturated: figures that are exact in binary. */
static void the_threshold_itself(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 0, 0);
	struct roofline r;

	(void)state;
	d.peaks[PEAK_FP32] = 1;
	d.dram_gbps = 1;
	in.time_us = exactly(100, QUANTITY_MEASURED);
	in.flops = exactly(60e6, QUANTITY_DERIVED);
	in.bytes = exactly(60e3, QUANTITY_DERIVED);
	d.l2_bytes = 1000;
	r = build(&in);
	assert_true(r.sol_compute_pct.value == 60 && r.sol_memory_pct.value == 60);
	assert_class(r, "balanced", "derived");
	in.flops.value = in.flops.low = in.flops.high = 60e6 * (1 - 1e-12);
	assert_string_equal(build(&in).verdict.class, "memory");
	in.bytes.value = in.bytes.low = in.bytes.high = 60e3 * (1 - 1e-12);
	assert_string_equal(build(&in).verdict.class, "latency");
}

static void words_of_the_shares(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 12.3, 85.25);
	struct roofline r = build(&in);

	(void)state;
	assert_string_equal(
		reason(&r, FINDING_SHARES),
		"compute 12.3% of the fp32 peak (21.7 TFLOPS), memory 85.25% of 608 GB/s");
	in.precision.peak = PEAK_INT8_TENSOR;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_SHARES), "of the int8_tensor peak (696 TOPS)"));
}

/* ------------------------------------------------------------------------------------- labels, intervals */

static void weakest_label(void **state)
{
	static const enum quantity_label order[] = {QUANTITY_MEASURED, QUANTITY_DERIVED,
						    QUANTITY_RECONSTRUCTED, QUANTITY_ESTIMATED,
						    QUANTITY_UNKNOWN};
	struct arch_device d = ga104();

	(void)state;
	for (int a = 0; a < 5; a++)
		for (int b = 0; b < 5; b++)
			assert_int_equal(roofline_weakest(order[a], order[b]),
					 order[a > b ? a : b]);
	for (int i = 0; i < 4; i++) {
		struct roofline_input in = with_shares(&d, 80, 20);
		struct roofline r;

		in.bytes.label = order[i];
		in.flops.label = QUANTITY_MEASURED;
		r = build(&in);
		assert_class(r, "compute", quantity_label_names[order[i]]);
		assert_int_equal(r.sol_memory_pct.label, order[i]);
		assert_int_equal(r.sol_compute_pct.label, QUANTITY_MEASURED);
		assert_int_equal(r.attained_pct.label, order[i]);
	}
}

static void intervals(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 20, 66);
	struct roofline r;

	(void)state;
	in.time_us.low = 95;
	in.time_us.high = 105;
	r = build(&in);
	assert_float_equal(r.sol_memory_pct.low, 66 / 1.05, 1e-9);
	assert_float_equal(r.sol_memory_pct.high, 66 / 0.95, 1e-9);
	assert_class(r, "memory", "derived");
	assert_null(reason(&r, FINDING_NEAR_THRESHOLD));
	in.time_us.high = 115; /* 57.4% */
	r = build(&in);
	assert_class(r, "memory", "estimated");
	assert_string_equal(reason(&r, FINDING_NEAR_THRESHOLD),
			    "within the uncertainty of its inputs it may be latency-bound");
	in.time_us.high = NAN; /* no upper end: nothing to bound with */
	r = build(&in);
	assert_true(isnan(r.sol_memory_pct.low));
	assert_class(r, "memory", "derived");
	in = with_shares(&d, 66, 20);
	in.flops.low *= 0.8;
	r = build(&in);
	assert_class(r, "compute", "estimated");
	assert_non_null(strstr(reason(&r, FINDING_NEAR_THRESHOLD), "latency-bound"));
	in = with_shares(&d, 55, 66);
	in.flops.high *= 1.2;
	r = build(&in);
	assert_string_equal(reason(&r, FINDING_NEAR_THRESHOLD),
			    "within the uncertainty of its inputs it may be balanced");
}

static void assert_interval(const struct quantity *q, double low, double value, double high)
{
	assert_float_equal(q->low, low, 1e-9);
	assert_float_equal(q->value, value, 1e-9);
	assert_float_equal(q->high, high, 1e-9);
}

/* Peak and bandwidth of 1, so that shares are seen at once; all three inputs with an interval. */
static struct roofline_input wide(struct arch_device *d)
{
	struct roofline_input in;

	*d = ga104();
	d->peaks[PEAK_FP32] = 1;
	d->dram_gbps = 1;
	d->l2_bytes = 1000;
	d->product = NULL;
	in = with_shares(d, 40, 20);
	in.time_us = (struct quantity){100, 80, 125, QUANTITY_ESTIMATED, QUANTITY_BY_EVENTS, "t"};
	in.flops.low = 30e6;
	in.flops.high = 50e6;
	in.bytes.low = 16e3;
	in.bytes.high = 32e3;
	return in;
}

static void intervals_of_all(void **state)
{
	struct arch_device d;
	struct roofline_input in = wide(&d);
	struct roofline r = build(&in);

	(void)state;
	assert_interval(&r.intensity, 30e6 / 32e3, 2000, 50e6 / 16e3);
	assert_interval(&r.sol_compute_pct, 24, 40, 62.5);
	assert_interval(&r.sol_memory_pct, 12.8, 20, 40);
	assert_interval(&r.attained_pct, 24, 40, 62.5);
	assert_interval(&r.effective_gflops, 240, 400, 625);
	assert_interval(&r.effective_gbps, 0.128, 0.2, 0.4);
	assert_string_equal(r.sol_compute_pct.why, "t");
	assert_int_equal(r.sol_compute_pct.by, QUANTITY_BY_EVENTS); /* the weaker input */
	assert_int_equal(r.intensity.by, QUANTITY_BY_USER);
	assert_null(r.intensity.why);
	assert_class(r, "latency", "estimated");
	assert_non_null(strstr(reason(&r, FINDING_NEAR_THRESHOLD), "compute-bound"));
	/* attained: each end of its own side */
	in.bytes.high = 45e3;
	in.bytes.low = 24e3;
	in.flops.low = 10e6;
	r = build(&in);
	assert_interval(&r.attained_pct, 19.2, 40, 62.5);
	in.flops.high = NAN;
	r = build(&in);
	assert_true(isnan(r.attained_pct.high) && isnan(r.sol_compute_pct.high));
	in.flops.high = 50e6;
	in.bytes.high = NAN;
	r = build(&in);
	assert_true(isnan(r.attained_pct.high) && isnan(r.intensity.low));
	in.time_us.low = 0;
	r = build(&in);
	assert_true(isnan(r.sol_compute_pct.high) && r.sol_compute_pct.low == 8);
}

static void bounds_of_one_side(void **state)
{
	struct arch_device d;
	struct roofline_input in = wide(&d);
	struct roofline r;

	(void)state;
	in.bytes = quantity_unknown("b");
	r = build(&in);
	assert_float_equal(r.intensity.low, 30e6 / (1e3 * 125), 1e-9); /* the longest time */
	assert_float_equal(r.attained_pct.low, 24, 1e-9);
	assert_true(isnan(r.attained_pct.high));
	assert_null(reason(&r, FINDING_SHARES));
	in = wide(&d);
	in.flops = quantity_unknown("f");
	r = build(&in);
	assert_float_equal(r.intensity.high, 1e6 * 125 / 16e3, 1e-9);
	assert_float_equal(r.attained_pct.low, 12.8, 1e-9);
	assert_null(reason(&r, FINDING_SHARES));
	in.bytes.low = 0;
	r = build(&in);
	assert_true(isnan(r.intensity.high));
	in = wide(&d);
	in.flops = quantity_unknown("f");
	in.time_us.high = NAN;
	r = build(&in);
	assert_true(isnan(r.intensity.high));
}

/* Figures that are exact: at the balance compute is the side, at 60% a side is saturated. */
static void exact_edges(void **state)
{
	struct arch_device d;
	struct roofline_input in = wide(&d);
	struct roofline r;

	(void)state;
	in.time_us = exactly(100, QUANTITY_MEASURED);
	in.flops = exactly(60e6, QUANTITY_DERIVED);
	in.bytes = exactly(60e3, QUANTITY_DERIVED);
	r = build(&in);
	assert_true(r.balance == 1000 && r.intensity.value == 1000);
	assert_string_equal(r.side, "compute");
	assert_null(r.verdict.larger);
	in.bytes = quantity_unknown("b");
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_ONE_SIDE), "so compute-bound, or balanced"));
	in.bytes = exactly(60e3, QUANTITY_DERIVED);
	d.l2_bytes = 60000;
	r = build(&in);
	assert_non_null(reason(&r, FINDING_FITS_L2));
	d.l2_bytes = 59999;
	r = build(&in);
	assert_null(reason(&r, FINDING_FITS_L2));
	d.l2_bytes = 0;
	in.bytes = exactly(0, QUANTITY_DERIVED);
	assert_null(reason((r = build(&in), &r), FINDING_FITS_L2));
	/* exactly the peak is no contradiction */
	in.flops = exactly(100e6, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "compute", "derived");
	assert_int_equal(r.verdict.reasons_n, 1);
	/* an interval without a lower end does not excuse what is above */
	in.flops = exactly(130e6, QUANTITY_DERIVED);
	in.time_us.high = NAN;
	r = build(&in);
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
}

/* ------------------------------------------------------------------------------------- unknown inputs */

static void one_side(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, NAN, 85);
	struct roofline r = build(&in);

	(void)state;
	/* 60% of 21.7 TFLOPS in 100 us */
	assert_class(r, "unknown", "unknown");
	assert_string_equal(
		reason(&r, FINDING_ONE_SIDE),
		"memory 85% of 608 GB/s, so memory-bound, or balanced if it does 1.30 GFLOP or "
		"more; compute is not known: no FLOPs");
	assert_false(quantity_known(&r.intensity));
	assert_float_equal(r.intensity.high, d.peaks[PEAK_FP32] * 1e3 / d.dram_gbps / 0.85, 1e-6);
	assert_true(isnan(r.intensity.low));
	assert_string_equal(r.side, "unknown");
	assert_false(quantity_known(&r.attained_pct));
	assert_true(isnan(r.attained_pct.value));
	assert_float_equal(r.attained_pct.low, 85, 1e-9);
	assert_null(r.verdict.larger);

	in = with_shares(&d, NAN, 59);
	r = build(&in);
	assert_non_null(
		strstr(reason(&r, FINDING_ONE_SIDE), "latency-bound, or compute-bound if it does"));

	in = with_shares(&d, 70, NAN);
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_string_equal(
		reason(&r, FINDING_ONE_SIDE),
		"compute 70% of the fp32 peak (21.7 TFLOPS), so compute-bound, or balanced if it "
		"moves 36.5 MB or more; memory is not known: no bytes");
	assert_float_equal(r.intensity.low, d.peaks[PEAK_FP32] * 1e3 / d.dram_gbps * 0.7, 1e-6);
	assert_true(isnan(r.intensity.high));

	in = with_shares(&d, 10, NAN);
	r = build(&in);
	assert_non_null(
		strstr(reason(&r, FINDING_ONE_SIDE), "latency-bound, or memory-bound if it moves"));
	in.bytes.why = NULL;
	assert_non_null(strstr(reason(&r, FINDING_ONE_SIDE), "memory is not known"));
}

/* Both sides of the work are known, but not what one of them is held against. */
static void no_peak(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 50, 85);
	struct roofline r;

	(void)state;
	in.precision = roofline_precision(&d, WORK_FP16, -1, -1);
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_string_equal(
		reason(&r, FINDING_ONE_SIDE),
		"memory 85% of 608 GB/s, so memory-bound, or balanced; compute is not known: "
		"whether tensor units do the work is not known");
	assert_true(quantity_known(&r.intensity) && isnan(r.balance));
	assert_string_equal(r.side, "unknown");
	assert_true(quantity_known(&r.effective_gflops));
	in.precision = (struct roofline_precision){PEAK_FP4_TENSOR, NULL, 0};
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_ONE_SIDE),
			       "no peak of this type is known of the device"));

	in.precision = (struct roofline_precision){PEAK_FP32, NULL, 0};
	d.dram_gbps = NAN;
	d.dram_why = "a slice";
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(
		strstr(reason(&r, FINDING_ONE_SIDE), "memory-bound; memory is not known: a slice"));
}

/* A copy computes nothing: 0% of any peak, so its class needs none. */
static void nothing_computed(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 50, 85);
	struct roofline r;

	(void)state;
	in.flops = exactly(0, QUANTITY_DERIVED);
	in.precision = (struct roofline_precision){-1, "the type of the work is not known", 0};
	r = build(&in);
	assert_string_equal(r.verdict.class, "memory");
	assert_string_equal(r.side, "memory");
	assert_true(r.sol_compute_pct.value == 0);
	assert_non_null(strstr(reason(&r, FINDING_SHARES), "compute 0% of any peak"));
	in.flops = exactly(1, QUANTITY_DERIVED);
	r = build(&in);
	assert_string_equal(r.verdict.class, "unknown");
}

static void no_time(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 10, 85);
	struct roofline r;

	(void)state;
	in.time_us = quantity_unknown("never timed");
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(reason(&r, FINDING_NO_TIME));
	assert_true(quantity_known(&r.intensity));
	assert_string_equal(r.side, "memory");
	assert_false(quantity_known(&r.sol_compute_pct) || quantity_known(&r.attained_pct));
	assert_string_equal(r.sol_memory_pct.why, "never timed");
	assert_null(reason(&r, FINDING_ONE_SIDE));
	in.time_us = exactly(0, QUANTITY_MEASURED);
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(reason(&r, FINDING_NO_TIME));
	assert_false(quantity_known(&r.sol_memory_pct));
}

static void no_work(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, NAN, NAN);
	struct occupancy o = plenty;
	struct roofline r = build(&in);

	(void)state;
	assert_class(r, "unknown", "unknown");
	assert_int_equal(r.verdict.reasons_n, 1);
	assert_non_null(reason(&r, FINDING_WORK_UNKNOWN));
	assert_true(isnan(r.intensity.low) && isnan(r.intensity.high) && isnan(r.attained_pct.low));
	/* time and geometry speak for themselves */
	o.waves = 0.5;
	in.occupancy = &o;
	in.time_us = exactly(1.6, QUANTITY_MEASURED);
	r = build(&in);
	assert_non_null(reason(&r, FINDING_SMALL_GRID));
	assert_non_null(reason(&r, FINDING_LAUNCH_GAP));
	assert_true(r.verdict.launch_bound);
	assert_class(r, "launch", "measured");
}

static void no_bytes_at_all(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 80, 0);
	struct roofline r = build(&in);

	(void)state;
	assert_class(r, "compute", "derived");
	assert_false(quantity_known(&r.intensity));
	assert_string_equal(r.side, "compute");
	in = with_shares(&d, 0, 0);
	r = build(&in);
	assert_string_equal(r.side, "unknown");
	assert_false(quantity_known(&r.intensity));
}

/* ------------------------------------------------------------------------------------- above 100% */

static void contradictions(void **state)
{
	struct arch_device d = ga104();
	struct roofline_input in = with_shares(&d, 130, 20);
	struct roofline r = build(&in);

	(void)state;
	assert_class(r, "unknown", "unknown");
	assert_float_equal(r.sol_compute_pct.value, 130, 1e-9);
	assert_float_equal(r.attained_pct.value, 130, 1e-9);
	assert_non_null(r.sol_compute_pct.why);
	assert_non_null(
		strstr(reason(&r, FINDING_OVER_PEAK), "130% of the fp32 peak (21.7 TFLOPS)"));
	assert_null(r.verdict.larger);
	in = with_shares(&d, 20, 101); /* 61 MB: the L2 has 4 */
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(strstr(reason(&r, FINDING_OVER_PEAK), "101% of 608 GB/s"));
	in = with_shares(&d, 150, 150);
	assert_int_equal(build(&in).verdict.reasons_n, 3);
	in = with_shares(&d, NAN, 150);
	r = build(&in);
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
	assert_null(reason(&r, FINDING_ONE_SIDE));
	/* a time that may be as long as needed contradicts nothing */
	in = with_shares(&d, 20, 101);
	in.time_us.high = 102;
	r = build(&in);
	assert_class(r, "memory", "derived");
	assert_null(reason(&r, FINDING_OVER_PEAK));
	/* nor is it launch-bound then: the time may be what is wrong */
	in = with_shares(&d, 130, 20);
	in.launch_gap_us = 1000;
	in.time_us = exactly(1, QUANTITY_MEASURED);
	r = build(&in);
	assert_true(r.verdict.launch_bound);
	assert_class(r, "unknown", "unknown");
}

/* The H200's tensor peaks are stated at 1830 MHz, and its clock may reach 1980. */
static void peaks_that_are_no_limit(void **state)
{
	struct arch_device d = device_named("NVIDIA H200");
	struct roofline_input in = with_shares(&d, 20, 20);
	struct roofline r;

	(void)state;
	in.precision = (struct roofline_precision){PEAK_BF16_TENSOR, NULL, 0};
	in.flops = exactly(1.05 * d.peaks[PEAK_BF16_TENSOR] * 1e8, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "compute", "derived");
	assert_float_equal(r.sol_compute_pct.value, 105, 1e-9);
	assert_non_null(strstr(reason(&r, FINDING_SOFT_PEAK), "up to 108% of it"));
	in.flops = exactly(1.09 * d.peaks[PEAK_BF16_TENSOR] * 1e8, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
	/* the ordinary units have no such room */
	in = with_shares(&d, 105, 20);
	r = build(&in);
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
	/* calibrated: what a measurement achieved, against the published figure */
	d.peaks_source = "calibrated";
	d.peaks[PEAK_FP32] *= 0.9;
	d.dram_gbps *= 0.9;
	in = with_shares(&d, 105, 20);
	r = build(&in);
	assert_class(r, "compute", "derived");
	in = with_shares(&d, 20, 105);
	r = build(&in);
	assert_class(r, "memory", "derived");
	assert_non_null(strstr(reason(&r, FINDING_SOFT_PEAK), "of 4,320 GB/s"));
	in = with_shares(&d, 20, 112);
	assert_class(build(&in), "unknown", "unknown");
	d.product = NULL;
	in = with_shares(&d, 109, 20);
	assert_class(build(&in), "compute", "derived");
	in = with_shares(&d, 111, 20);
	assert_class(build(&in), "unknown", "unknown");
	d.peaks_source = "attributes";
	in = with_shares(&d, 101, 20);
	assert_class(build(&in), "unknown", "unknown");
}

static void cache_is_not_speed(void **state)
{
	struct arch_device d = device_named("NVIDIA H100 80GB HBM3");
	struct roofline_input in = with_shares(&d, 20, 120);
	struct roofline r;
	double l2_gbps = (double)d.arch.l2_bytes_measured * d.clock_mhz * 1e-3;

	(void)state;
	/* 40 MB in 10 us; the L2 has 50 MB */
	in.bytes = exactly(40e6, QUANTITY_DERIVED);
	in.time_us = exactly(10, QUANTITY_MEASURED);
	in.flops = exactly(0.2 * d.peaks[PEAK_FP32] * 1e7, QUANTITY_DERIVED);
	assert_true(4000 / l2_gbps < 0.6);
	r = build(&in);
	assert_float_equal(r.sol_memory_pct.value, 100 * 4000.0 / d.dram_gbps, 1e-6);
	assert_string_equal(r.sol_memory_pct.why, finding_rows[FINDING_FROM_CACHE].text);
	assert_non_null(
		strstr(reason(&r, FINDING_FROM_CACHE), "4,000 GB/s where DRAM has 3,352 GB/s"));
	assert_null(reason(&r, FINDING_OVER_PEAK));
	assert_class(r, "latency", "estimated"); /* 41% of what the L2 can do */
	in.time_us = exactly(6, QUANTITY_MEASURED);
	r = build(&in);
	assert_class(r, "memory", "estimated");
	assert_string_equal(r.verdict.larger, "memory");
	/* an L2 that nobody measured */
	d.arch.l2_bytes_measured = -1;
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_non_null(strstr(reason(&r, FINDING_FROM_CACHE), "is not known"));
	/* one byte more than the L2 */
	in.bytes = exactly((double)d.l2_bytes + 1, QUANTITY_DERIVED);
	in.time_us = exactly(in.bytes.value / (d.dram_gbps * 1e3) / 1.01, QUANTITY_MEASURED);
	r = build(&in);
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
	assert_null(reason(&r, FINDING_FROM_CACHE));
	in.bytes = exactly((double)d.l2_bytes, QUANTITY_DERIVED);
	r = build(&in);
	assert_non_null(reason(&r, FINDING_FROM_CACHE));
	d.l2_bytes = -1;
	r = build(&in);
	assert_non_null(reason(&r, FINDING_OVER_PEAK));
}

/* Saturated, and small enough to have come from the L2: doubtful, but no contradiction. */
static void data_that_fits_the_l2(void **state)
{
	struct arch_device d = device_named("NVIDIA H100 80GB HBM3");
	struct roofline_input in = with_shares(&d, 20, 5); /* 16.8 MB in 100 us */
	struct roofline r = build(&in);

	(void)state;
	assert_class(r, "latency", "derived");
	assert_null(reason(&r, FINDING_FITS_L2));
	in.time_us = exactly(100 * 5.0 / 70, QUANTITY_MEASURED);
	in.flops = exactly(0, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "memory", "estimated");
	assert_non_null(reason(&r, FINDING_FITS_L2));
	assert_int_equal(r.sol_memory_pct.label, QUANTITY_DERIVED);
}

/* ------------------------------------------------------------------------------------- geometry, launches */

static void reasons_of_latency(void **state)
{
	struct arch_device d = ga104();
	struct occupancy o = plenty;
	struct roofline_input in = with_shares(&d, 10, 20);
	struct roofline r = build(&in);

	(void)state;
	assert_class(r, "latency", "derived");
	assert_non_null(reason(&r, FINDING_DEPENDENT));
	assert_int_equal(r.verdict.reasons_n, 2);

	in.occupancy = &o;
	o.waves = 0.02;
	o.grid_warps_per_sm = 4;
	in.grid_blocks = 20;
	r = build(&in);
	assert_string_equal(reason(&r, FINDING_SMALL_GRID),
			    "20 blocks for 48 SMs: 28 SMs never work");
	assert_non_null(strstr(reason(&r, FINDING_FEW_WARPS), "the grid puts 4 warps on an SM"));
	assert_null(reason(&r, FINDING_DEPENDENT));
	in.grid_blocks = 47;
	r = build(&in);
	assert_string_equal(reason(&r, FINDING_SMALL_GRID),
			    "47 blocks for 48 SMs: 1 SM never works");
	in.grid_blocks = 48;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_SMALL_GRID), "0.020 waves"));
	in.sm_count = -1;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_SMALL_GRID), "0.020 waves"));
	in.sm_count = 48;
	in.grid_blocks = 0;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_SMALL_GRID), "0.020 waves"));
	o.grid_warps_per_sm = 1;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_FEW_WARPS), "the grid puts 1 warp on an SM"));
	in.grid_blocks = 60;
	o.waves = 0.5;
	o.grid_warps_per_sm = 8;
	r = build(&in);
	assert_string_equal(
		reason(&r, FINDING_SMALL_GRID),
		"0.500 waves: the grid does not fill the SMs with the blocks they could hold");
	assert_null(reason(&r, FINDING_FEW_WARPS));

	o = plenty;
	o.enough_warps = 0;
	o.warps_per_sm = 1;
	o.enough_is_published = true;
	r = build(&in);
	assert_string_equal(
		reason(&r, FINDING_FEW_WARPS),
		"room for 1 warp per SM, below the 8 from which latency counts as hidden");
	o.enough_is_published = false;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_FEW_WARPS), "(a rule of thumb)"));

	/* the golden case: 2048 blocks, 148 SMs of 8 blocks each */
	o = plenty;
	o.waves = 2048.0 / (148 * 8);
	o.last_wave_pct = 73;
	o.tail_waste_pct = 13.5;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_TAIL), "1.730 waves, the last 73% full"));
	assert_null(reason(&r, FINDING_DEPENDENT));
	o.waves = 2;
	r = build(&in);
	assert_null(reason(&r, FINDING_TAIL));
	o.waves = 1;
	o.last_wave_pct = 100;
	r = build(&in);
	assert_null(reason(&r, FINDING_TAIL));
	assert_null(reason(&r, FINDING_SMALL_GRID));

	in.occupancy = NULL;
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_DEPENDENT), "is not known"));
}

/* What saturates a unit has warps enough, whatever the count. */
/* An H200 starts 0.84 blocks a cycle, 1,663 a us; an empty kernel takes 0.6 us. */
static void blocks_that_start_no_faster(void **state)
{
	struct arch_device d = device_named("NVIDIA H200");
	struct roofline_input in = with_shares(&d, 10, 20);
	struct roofline r;

	(void)state;
	in.grid_blocks = (uint64_t)(1663.2 * (100 - 0.6) * 0.805);
	r = build(&in);
	assert_non_null(strstr(reason(&r, FINDING_BLOCK_STARTS), "1,331 blocks start per us"));
	assert_non_null(strstr(reason(&r, FINDING_BLOCK_STARTS), "1,663 is the most"));
	assert_null(reason(&r, FINDING_DEPENDENT));
	in.grid_blocks = (uint64_t)(1663.2 * (100 - 0.6) * 0.795);
	r = build(&in);
	assert_null(reason(&r, FINDING_BLOCK_STARTS));
	assert_non_null(reason(&r, FINDING_DEPENDENT));
	/* nobody measured another architecture */
	assert_true(isnan(arch_start_us(&(struct arch_device){.arch_known = false}, 1)));
	d = ga104();
	in.grid_blocks = 1000000;
	r = build(&in);
	assert_null(reason(&r, FINDING_BLOCK_STARTS));
}

static void saturated_needs_no_excuse(void **state)
{
	struct arch_device d = ga104();
	struct occupancy o = plenty;
	const double shares[][2] = {{80, 10}, {10, 80}, {80, 80}};

	(void)state;
	o.waves = 0.5;
	o.enough_warps = 0;
	for (int i = 0; i < 3; i++) {
		struct roofline_input in = with_shares(&d, shares[i][0], shares[i][1]);
		struct roofline r;

		in.occupancy = &o;
		r = build(&in);
		assert_int_equal(r.verdict.reasons_n, 1);
	}
}

static void launch_bound(void **state)
{
	static const struct {
		double us, gap;
		bool bound, may_be;
	} rows[] = {
		{9.99, 10, true, false}, {9.99, 9.99, false, false}, {9.99, 5, false, false},
		{10, 20, false, false},  {9.99, NAN, false, true},   {10, NAN, false, false},
		{1.6, 4, true, false},
	};
	struct arch_device d = ga104();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct roofline_input in = with_shares(&d, 0.1, 0.1);
		struct roofline r;

		in.time_us = exactly(rows[i].us, QUANTITY_MEASURED);
		in.launch_gap_us = rows[i].gap;
		r = build(&in);
		assert_string_equal(r.verdict.class, "latency"); /* said beside the class */
		assert_int_equal(r.verdict.launch_bound, rows[i].bound);
		assert_int_equal(reason(&r, FINDING_LAUNCH_GAP) != NULL, rows[i].bound);
		assert_int_equal(reason(&r, FINDING_SHORT) != NULL, rows[i].may_be);
	}
}

/* Whatever comes in: no infinity, no class without both shares, and never more reasons than there is room. */
static void random_inputs(void **state)
{
	struct arch_device d = ga104(), none = {0};
	uint64_t seed = 88172645463325252;
	const double figures[] = {NAN, 0, 1e-300, 1, 100, 1e9, 1e18, 1e300};
	struct occupancy o = plenty;

	(void)state;
	none.dram_gbps = NAN;
	none.l2_bytes = none.clock_mhz = -1;
	for (int i = 0; i < PEAK_N; i++)
		none.peaks[i] = NAN;
	for (int i = 0; i < 20000; i++) {
		struct roofline_input in;
		struct roofline r;
		unsigned pick[6];

		for (int k = 0; k < 6; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			pick[k] = (unsigned)(seed >> 33) % 8;
		}
		in = with_shares(pick[5] ? &d : &none, NAN, NAN);
		in.flops = pick[0] ? exactly(figures[pick[0]], (enum quantity_label)(pick[4] % 5))
				   : quantity_unknown("x");
		in.bytes = pick[1] ? exactly(figures[pick[1]], QUANTITY_DERIVED)
				   : quantity_unknown(NULL);
		in.time_us = exactly(figures[pick[2]], QUANTITY_MEASURED);
		in.launch_gap_us = figures[pick[3]];
		in.precision.peak = (int)pick[4] - 1;
		o.waves = pick[3] / 3.0;
		o.last_wave_pct = 50;
		o.enough_warps = (int)pick[4] % 3 - 1;
		in.occupancy = pick[2] & 1 ? &o : NULL;
		r = build(&in);
		for (int k = 0; k < 6; k++) {
			const struct quantity *q = &(&r.intensity)[0];

			q = k == 0   ? &r.intensity
			    : k == 1 ? &r.attained_pct
			    : k == 2 ? &r.sol_compute_pct
			    : k == 3 ? &r.sol_memory_pct
			    : k == 4 ? &r.effective_gflops
				     : &r.effective_gbps;
			assert_false(isinf(q->value) || isinf(q->low) || isinf(q->high));
			assert_int_equal(quantity_known(q), q->label != QUANTITY_UNKNOWN);
		}
		if (!quantity_known(&r.sol_compute_pct) || !quantity_known(&r.sol_memory_pct))
			assert_true(
				strcmp(r.verdict.class, "unknown") == 0 ||
				(strcmp(r.verdict.class, "launch") == 0 && r.verdict.launch_bound));
		assert_true(r.verdict.reasons_n > 0 && r.verdict.reasons_n < METRIC_FINDINGS);
		for (int k = 0; k < r.verdict.reasons_n; k++)
			assert_true(strlen(r.verdict.reasons[k].text) < TEXT_LINE);
	}
}

/* Indices and conversions are no FLOPs, but take issue slots; certain ones count though not all are known. */
static void issue_slots(void **state)
{
	const struct arch_device d = device_named("NVIDIA H200");
	const double slots = 132.0 * 4 * d.clock_mhz * 100;
	struct roofline_input in = with_shares(&d, 5, 20);
	struct roofline r;

	(void)state;
	in.time_us = exactly(100, QUANTITY_MEASURED);
	in.instructions = exactly(0.7 * slots, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "compute", "derived");
	assert_float_equal(r.sol_compute_pct.value, 70, 1e-9);
	assert_float_equal(r.attained_pct.value, 20,
			   1e-9); /* of the roof, which is of FLOPs and bytes */
	assert_non_null(strstr(reason(&r, FINDING_ISSUE), "warps issue in 70% of the slots"));
	/* memory is busy as well */
	in = with_shares(&d, 5, 80);
	in.instructions = exactly(0.7 * slots, QUANTITY_DERIVED);
	r = build(&in);
	assert_class(r, "balanced", "derived");
	/* so many of them are certain */
	in = with_shares(&d, 5, 20);
	in.instructions = quantity_unknown("of a loop nobody knows how often");
	in.instructions.low = 0.65 * slots;
	r = build(&in);
	assert_class(r, "compute", "estimated");
	assert_non_null(strstr(reason(&r, FINDING_ISSUE), "at least 65%"));
	in.instructions.low = 0.5 * slots;
	r = build(&in);
	assert_class(r, "latency", "estimated");
	assert_null(reason(&r, FINDING_ISSUE));
	/* what cannot be is no reading, and speaks against the time */
	in.instructions.low = 1.5 * slots;
	r = build(&in);
	assert_class(r, "unknown", "unknown");
	assert_float_equal(r.sol_compute_pct.value, 5, 1e-9);
	assert_non_null(strstr(reason(&r, FINDING_OVER_PEAK), "times as long"));
	/* a pipe of half the rate is busy for twice as long */
	in = with_shares(&d, 5, 20);
	in.instructions = quantity_unknown("of a loop nobody knows how often");
	in.instructions.low = 0.4 * slots;
	in.pipe_cycles = 0.66 * slots;
	in.pipe = "ALU";
	r = build(&in);
	assert_class(r, "compute", "estimated");
	assert_float_equal(r.sol_compute_pct.value, 66, 1e-9);
	assert_non_null(strstr(reason(&r, FINDING_ISSUE), "the ALU pipe is busy for at least 66%"));
	/* fewer than the work says */
	in = with_shares(&d, 75, 20);
	in.instructions = exactly(0.65 * slots, QUANTITY_DERIVED);
	r = build(&in);
	assert_float_equal(r.sol_compute_pct.value, 75, 1e-9);
	assert_null(reason(&r, FINDING_ISSUE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_balances),
		cmocka_unit_test(saxpy),
		cmocka_unit_test(which_peak),
		cmocka_unit_test(no_stand_in),
		cmocka_unit_test(names_of_precisions),
		cmocka_unit_test(products_of_single_warps),
		cmocka_unit_test(classes),
		cmocka_unit_test(the_threshold_itself),
		cmocka_unit_test(words_of_the_shares),
		cmocka_unit_test(weakest_label),
		cmocka_unit_test(intervals),
		cmocka_unit_test(intervals_of_all),
		cmocka_unit_test(bounds_of_one_side),
		cmocka_unit_test(exact_edges),
		cmocka_unit_test(one_side),
		cmocka_unit_test(no_peak),
		cmocka_unit_test(nothing_computed),
		cmocka_unit_test(no_time),
		cmocka_unit_test(no_work),
		cmocka_unit_test(no_bytes_at_all),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(peaks_that_are_no_limit),
		cmocka_unit_test(cache_is_not_speed),
		cmocka_unit_test(data_that_fits_the_l2),
		cmocka_unit_test(reasons_of_latency),
		cmocka_unit_test(blocks_that_start_no_faster),
		cmocka_unit_test(issue_slots),
		cmocka_unit_test(saturated_needs_no_excuse),
		cmocka_unit_test(launch_bound),
		cmocka_unit_test(random_inputs),
	};

	return cmocka_run_group_tests(tests, make_arena, free_arena);
}
