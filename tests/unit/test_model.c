/*
 * test_model.c - times without bias, totals with honest labels, and what is said when something is
 * not known. The sketch and the early samples are made by hand, so every expected value is exact.
 */
#include "kbn_test.h"

#include <math.h>

#include "model.h"

static const struct event_bias bias = {2000, 200, 2800, false, "test"};

/* A recording of one shape, as session.c would join it. */
struct samples {
	struct session_times t;
	uint32_t sketch[KBN_SKETCH_BUCKETS];
	struct kbn_early early[64];
};

static void add(struct samples *s, uint32_t launch, uint32_t ns, bool gated)
{
	*(gated ? &s->t.gated : &s->t.plain) += 1;
	s->t.early = s->early;
	if (s->t.early_n < KBN_EARLY)
		s->early[s->t.early_n++] =
			(struct kbn_early){launch | (gated ? 0 : KBN_EARLY_PLAIN), ns};
	if (launch < KBN_WARMUP)
		return;
	if (!s->t.samples || ns < s->t.min_ns)
		s->t.min_ns = ns;
	if (ns > s->t.max_ns)
		s->t.max_ns = ns;
	s->t.samples++;
	s->t.sum_ns += ns;
	s->sketch[kbn_sketch_bucket(ns)]++;
	if (s->t.gated + s->t.plain > KBN_EARLY)
		s->t.sketch = s->sketch;
}

static void early_only(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	add(&s, 0, 102000, true);
	add(&s, 1, 12500, true);
	add(&s, 2, 12400, true);
	add(&s, 3, 12000, true);
	add(&s, 4, 12200, true);
	model_times(&m, &s.t, &bias, 5);
	assert_int_equal(m.timed, 5);
	assert_float_equal(m.first, 100, 1e-9);
	assert_float_equal(m.median, 10.1, 1e-9);
	assert_float_equal(m.mean, 10.1, 1e-9);
	assert_float_equal(m.min, 10.0, 1e-9);
	assert_float_equal(m.max, 10.2, 1e-9);
	assert_float_equal(m.total.value, 100 + 10.5 + 10.4 + 10.0 + 10.2, 1e-9);
	assert_int_equal(m.total.label, QUANTITY_MEASURED);
	assert_float_equal(m.total.high - m.total.value, 5 * 0.2, 1e-4);
	assert_string_equal(m.method, "gated-events");
	assert_float_equal(m.uncertainty, 0.2, 1e-9);
	assert_false(m.warmup_only || m.from_sketch);
	assert_null(m.why);
}

/* 10 timed of 110: the rest is taken to be like the timed, and that is an estimate with an interval. */
static void sampled(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	for (uint32_t i = 0; i < 13; i++)
		add(&s, i, i < 3 ? 22000 : 12000, true);
	model_times(&m, &s.t, &bias, 110);
	assert_float_equal(m.total.value, 3 * 20 + 107 * 10, 1e-6);
	assert_int_equal(m.total.label, QUANTITY_ESTIMATED);
	assert_true(m.total.low < m.total.value && m.total.high > m.total.value);
	assert_true(m.total.high - m.total.value >= 110 * 0.2 - 1e-6);
	assert_float_equal(m.median, 10, 1e-9); /* bounded by min = max, whatever the bucket says */
	assert_float_equal(m.p90, 10, 1e-9);
	assert_true(m.from_sketch);
}

/* The median of the sketch is within 1.6% of the exact one, over five decades. */
static void sketch_median(void **state)
{
	(void)state;
	for (double base = 3000; base < 3e8; base *= 2.7) {
		struct samples s = {0};
		struct metric_times m;
		double exact, p90;

		for (uint32_t i = 0; i < 1003; i++) /* steady: base * (1 ... 1.3), uniform */
			add(&s, i, (uint32_t)(base * (1 + 0.3 * ((i * 617) % 1000) / 1000.0)),
			    true);
		model_times(&m, &s.t, &bias, 1003);
		exact = base * 1.15;
		p90 = base * 1.27;
		assert_true(fabs(m.median * 1e3 + 2000 - exact) < 0.016 * exact);
		assert_true(fabs(m.p90 * 1e3 + 2000 - p90) < 0.016 * p90);
		assert_true(m.uncertainty > 0.2);
	}
}

static void plain_pairs(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		add(&s, i, 1002800, false);
	s.t.slack_ns = 6 * 10000;
	model_times(&m, &s.t, &bias, 6);
	assert_float_equal(m.median, 1000, 1e-9);
	assert_string_equal(m.method, "events");
	/* true time lies in [elapsed - 10, elapsed], elapsed - 2.8 is said: 7.2 us too long at most */
	assert_float_equal(m.uncertainty, 7.2, 1e-9);
	s.t.slack_ns = 0;
	model_times(&m, &s.t, &bias, 6);
	assert_float_equal(m.uncertainty, 0.2 + 0.4, 1e-9);
}

/* Plain pairs lose the plain bias, however long the kernel, one by one and out of the sums. */
static void plain_bias_is_one_figure(void **state)
{
	static const double raws[] = {4000, 7000, 12250, 25000, 1e6};

	(void)state;
	for (size_t i = 0; i < sizeof(raws) / sizeof(*raws); i++) {
		struct samples few = {0}, many = {0};
		struct metric_times m;

		for (uint32_t k = 0; k < 6; k++)
			add(&few, k, (uint32_t)raws[i], false);
		for (uint32_t k = 0; k < 60; k++)
			add(&many, k, (uint32_t)raws[i], false);
		for (int k = 0; k < 2; k++) {
			model_times(&m, k ? &many.t : &few.t, &bias, 60);
			assert_float_equal(m.median, (raws[i] - 2800) / 1e3, 1e-6);
			assert_float_equal(m.mean, m.median, 1e-6);
			assert_float_equal(m.min, m.median, 1e-6);
			assert_float_equal(m.max, m.median, 1e-6);
			assert_float_equal(m.uncertainty, 0.6 + (k ? 0.016 * raws[i] / 1e3 : 0),
					   1e-6);
		}
	}
}

/* Half gated, half plain: each sample loses the bias of its own kind. */
static void mixed_pairs(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add(&s, i, 52000, true);
	add(&s, 3, 52000, true);
	add(&s, 4, 52800, false);
	model_times(&m, &s.t, &bias, 5);
	assert_float_equal(m.mean, 50, 1e-9);
	assert_float_equal(m.median, 50, 1e-9);
	assert_float_equal(m.total.value, 250, 1e-9);
	assert_float_equal(m.uncertainty, (0.2 + 0.6) / 2, 1e-9);
}

/* Kept one by one, all figures are of the same values: 50, 50 and 50.5 us. */
static void few_mixed_pairs_agree(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	add(&s, 3, 52000, true);
	add(&s, 4, 52800, false);
	add(&s, 5, 53300, false);
	model_times(&m, &s.t, &bias, 3);
	assert_float_equal(m.min, 50, 1e-9);
	assert_float_equal(m.median, 50, 1e-9);
	assert_float_equal(m.max, 50.5, 1e-9);
	assert_float_equal(m.mean, 150.5 / 3, 1e-9);
	assert_float_equal(m.total.value, 150.5, 1e-9);
	assert_true(m.min <= m.median && m.median <= m.p90 && m.p90 <= m.max);
}

/* One plain pair among many gated ones does not make the shape as uncertain as itself. */
static void one_plain_among_many(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		add(&s, i, 52000, true);
	s.t.gated += 36;
	s.t.plain += 1;
	s.t.samples += 37;
	s.t.sum_ns += 37 * 52000;
	s.t.slack_ns = 400000;
	model_times(&m, &s.t, &bias, 43);
	assert_true(m.uncertainty > 0.2);
	assert_float_equal(m.uncertainty, (39 * 0.2 + (400 - 2.8)) / 40, 1e-9);
}

static void below_resolution(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		add(&s, i, 1900, true);
	model_times(&m, &s.t, &bias, 6);
	assert_true(isnan(m.median) && isnan(m.mean) && isnan(m.min) && isnan(m.first));
	assert_false(quantity_known(&m.total));
	assert_non_null(strstr(m.why, "below the resolution"));
	assert_non_null(m.total.why);
	assert_float_equal(m.total.low, 0, 0);
	assert_float_equal(m.total.high, 6 * (0.2 - 0.1), 1e-9);
}

static void warmup_only(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	add(&s, 0, 92000, true);
	model_times(&m, &s.t, &bias, 1);
	assert_true(m.warmup_only);
	assert_float_equal(m.first, 90, 1e-9);
	assert_float_equal(m.median, 90, 1e-9);
	assert_float_equal(m.total.value, 90, 1e-9);
	assert_int_equal(m.total.label, QUANTITY_MEASURED);
	add(&s, 1, 12000, true);
	add(&s, 2, 14000, true);
	model_times(&m, &s.t, &bias, 3);
	assert_float_equal(m.median, 11, 1e-9); /* the first launch stands apart */
	assert_float_equal(m.total.value, 90 + 10 + 12, 1e-9);
	model_times(&m, &s.t, &bias, 10);
	assert_float_equal(m.total.value, 90 + 10 + 12 + 7 * 11, 1e-9);
	assert_int_equal(m.total.label, QUANTITY_ESTIMATED);
}

/* One steady sample bounds nothing: no upper end is made up. */
static void one_sample(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	add(&s, 7, 12000, true);
	model_times(&m, &s.t, &bias, 100);
	assert_float_equal(m.total.value, 1000, 1e-9);
	assert_true(isnan(m.total.high));
	assert_float_equal(m.total.low, 0, 0);
}

static void never_timed(void **state)
{
	struct session_times t = {.starved = 3};
	struct metric_times m;

	(void)state;
	model_times(&m, &t, &bias, 10);
	assert_int_equal(m.timed, 0);
	assert_false(quantity_known(&m.total));
	assert_non_null(strstr(m.why, "host"));
	assert_null(m.method);
	t.starved = 0;
	model_times(&m, &t, &bias, 0);
	assert_non_null(strstr(m.why, "never ran"));
}

/* First launches of several threads: the slowest is shown, all count in the total. */
static void several_firsts(void **state)
{
	struct samples s = {0};
	struct metric_times m;

	(void)state;
	add(&s, 0, 12000, true);
	add(&s, 0, 52000, true);
	add(&s, 0, 32000, true);
	model_times(&m, &s.t, &bias, 3);
	assert_float_equal(m.first, 50, 1e-9);
	assert_float_equal(m.total.value, 90, 1e-9);
	assert_float_equal(m.median, 30, 1e-9);
}

static void bias_of_machines(void **state)
{
	static const char json[] =
		"{\"schema\":\"kbn-calibration/1\",\"date\":\"2026-01-02T03:04:05Z\",\"gated_bias_us\":1.9,"
		"\"gated_uncertainty_us\":0.1,\"plain_bias_us\":null,\"copy_gbps\":4300.5,\"fp32_tflops\":60.1,"
		"\"matrix\":{\"bf16_tensor_tflops\":780}}";
	struct calibration c;
	struct event_bias b;
	struct err e;

	(void)state;
	b = calibration_bias(NULL, 90);
	assert_float_equal(b.gated_ns, 2080, 0);
	assert_float_equal(b.gated_uncertainty_ns, 200, 0);
	b = calibration_bias(NULL, 86);
	assert_float_equal(b.gated_ns, 2100, 0);
	assert_float_equal(b.gated_uncertainty_ns, 800, 0);
	assert_int_equal(calibration_parse(&c, json, sizeof(json) - 1, &e), 0);
	b = calibration_bias(&c, 90);
	assert_true(b.calibrated);
	assert_float_equal(b.gated_ns, 1900, 1e-9);
	assert_float_equal(b.gated_uncertainty_ns, 100, 1e-9);
	assert_float_equal(b.plain_ns, 2800, 0);
	assert_float_equal(c.peaks[PEAK_BF16_TENSOR], 780, 0);
	assert_float_equal(c.peaks[PEAK_FP32], 60.1, 1e-9);
	assert_int_equal(calibration_parse(&c, json, sizeof(json) - 5, &e), -1);
	assert_false(c.found);
	assert_int_equal(calibration_parse(&c, "{\"schema\":\"kbn-calibration/9\"}", 30, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_only),
		cmocka_unit_test(sampled),
		cmocka_unit_test(sketch_median),
		cmocka_unit_test(plain_pairs),
		cmocka_unit_test(plain_bias_is_one_figure),
		cmocka_unit_test(mixed_pairs),
		cmocka_unit_test(few_mixed_pairs_agree),
		cmocka_unit_test(one_plain_among_many),
		cmocka_unit_test(below_resolution),
		cmocka_unit_test(warmup_only),
		cmocka_unit_test(one_sample),
		cmocka_unit_test(never_timed),
		cmocka_unit_test(several_firsts),
		cmocka_unit_test(bias_of_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
