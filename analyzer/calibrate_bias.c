/*
 * calibrate_bias.c - what an event pair reads besides its kernel, gated and plain. Input: an open
 * device and what CUPTI says of an empty kernel. Output: readings with their method.
 */
#include "calibrate_measure.h"

#include <string.h>

/*
 * Clocks and power states move over tenths of a second, so each figure is taken in batches with work
 * between them: BATCHES * BATCH_APART_MS of it, and WARM_MS before the first.
 */
#define WARM_MS        250.0
#define BATCHES        9
#define BATCH_APART_MS 60.0
#define GATED_MAX      16 /* most kernels in one bracket */
#define GATED_PAIRS    25 /* of one kind in one batch */

/* Keep all SMs busy for so long. False on an error, also when no time passes. */
static bool work_for(struct gpu *g, const struct calibrate_basic *b, double want_ms)
{
	CUdeviceptr out = b->scratch;
	uint32_t loops = 1 << 12;
	void *params[] = {&out, &loops};

	for (double sum = 0; sum < want_ms;) {
		double ms = gpu_time_ms(g, false, b->ffma, (unsigned)g->sms * 4, 256, params, 1);

		if (ms <= 0)
			return false;
		sum += ms;
		if (ms < 4 && loops < 1u << 30)
			loops *= 2;
	}
	return true;
}

/* Readings of one kind, in us. */
struct batches {
	double all[BATCHES * GATED_PAIRS], median[BATCHES];
};

/* The readings of one batch are in `all`. */
static void batch_done(struct batches *r, int batch)
{
	double us[GATED_PAIRS];

	memcpy(us, &r->all[batch * GATED_PAIRS], sizeof(us));
	r->median[batch] = gpu_median(us, GATED_PAIRS);
}

/* Median of the batches' medians; *low and *high = p10 and p90 of all readings. */
static double batches_median(struct batches *r, double *low, double *high)
{
	const size_t n = BATCHES * GATED_PAIRS;

	gpu_median(r->all, n); /* sorts */
	*low = r->all[n / 10];
	*high = r->all[n * 9 / 10];
	return gpu_median(r->median, BATCHES);
}

/* One batch of gated brackets around n launches of `f`. False on an error. */
static bool gated_batch(struct gpu *g, CUfunction f, void **params, int n, struct batches *r,
			int batch)
{
	for (int i = 0; i < GATED_PAIRS; i++) {
		double ms = gpu_time_ms(g, true, f, 1, 1, params, n);

		if (ms < 0)
			return false;
		r->all[batch * GATED_PAIRS + i] = ms * 1e3;
	}
	batch_done(r, batch);
	return true;
}

/* Least squares through (n, t[n]), n = 1..GATED_MAX: time per further kernel. */
static double slope(const double *t)
{
	double mean_n = (1 + GATED_MAX) / 2.0, mean_t = 0.0, top = 0.0, bottom = 0.0;

	for (int n = 1; n <= GATED_MAX; n++)
		mean_t += t[n] / GATED_MAX;
	for (int n = 1; n <= GATED_MAX; n++) {
		top += (n - mean_n) * (t[n] - mean_t);
		bottom += (n - mean_n) * (n - mean_n);
	}
	return top / bottom;
}

/* Time of an empty kernel by CUPTI, where we once measured it; 0 = not known. */
static double known_empty_us(int sm)
{
	return sm == 90 ? 0.61 : 0.0; /* H200, driver 580: 0.61 us */
}

void calibrate_gated(struct gpu *g, const struct calibrate_basic *b, double cupti_us,
		     struct calibrate_device *d)
{
	static struct batches r[GATED_MAX + 1];
	double t[GATED_MAX + 1], low[GATED_MAX + 1], high[GATED_MAX + 1], spread, per_kernel,
		empty = cupti_us;
	bool ok;

	if (!g->gate) {
		calibrate_missing(d, CALIBRATE_GATED_BIAS,
				  "the device does not take stream memory waits");
		return;
	}
	/* the first launch may load the kernel and wait for the device: never behind a shut gate */
	ok = gpu_time_ms(g, false, b->empty, 1, 1, NULL, 1) >= 0 && work_for(g, b, WARM_MS);
	for (int batch = 0; ok && batch < BATCHES; batch++) {
		ok = work_for(g, b, BATCH_APART_MS);
		for (int n = 0; ok && n <= GATED_MAX; n++)
			ok = gated_batch(g, b->empty, NULL, n, &r[n], batch);
	}
	if (!ok) {
		calibrate_missing(d, CALIBRATE_GATED_BIAS, g->error);
		return;
	}
	for (int n = 0; n <= GATED_MAX; n++)
		t[n] = batches_median(&r[n], &low[n], &high[n]);
	spread = high[1] - low[1];
	per_kernel = slope(t);
	calibrate_known(d, CALIBRATE_GATED_NOTHING, t[0],
			"gated pairs with nothing between, %d batches of %d, p10-p90 %.3f-%.3f us",
			BATCHES, GATED_PAIRS, low[0], high[0]);
	calibrate_known(
		d, CALIBRATE_GATED_EMPTY, t[1],
		"gated pairs around an empty kernel, %d batches of %d, p10-p90 %.3f-%.3f us",
		BATCHES, GATED_PAIRS, low[1], high[1]);
	calibrate_known(d, CALIBRATE_GATED_SPREAD, spread, "p90 - p10 of the same pairs");
	calibrate_known(d, CALIBRATE_GATED_SLOPE, per_kernel,
			"least squares over 1 to %d empty kernels in a pair", GATED_MAX);
	if (empty <= 0.0)
		empty = known_empty_us(g->sm);
	if (empty > 0.0) {
		calibrate_known(d, CALIBRATE_GATED_BIAS, t[1] - empty,
				"gated_empty_us less the empty kernel's own %.2f us (%s)", empty,
				cupti_us > 0 ? "CUPTI" : "measured before on this architecture");
		calibrate_known(d, CALIBRATE_GATED_UNCERTAINTY,
				0.1 + spread / 2 + (cupti_us > 0 ? 0.0 : 0.1),
				"half of the spread and 0.1 us for kernels of other kinds");
		return;
	}
	calibrate_known(d, CALIBRATE_GATED_BIAS, t[1] - per_kernel / 2,
			"gated_empty_us less half of gated_slope_us");
	calibrate_known(
		d, CALIBRATE_GATED_UNCERTAINTY, per_kernel / 2 + spread / 2,
		"half of gated_slope_us and half of the spread: the empty kernel's own time is not known");
}

#define PLAIN_LEAD 8 /* pairs ahead, until the stream is surely busy; not read */

/* One batch of plain pairs, all queued before the first has passed. False on an error. */
static bool plain_batch(struct gpu *g, CUfunction f, void **params, CUevent *ev, struct batches *r,
			int batch)
{
	const int pairs = PLAIN_LEAD + GATED_PAIRS;
	bool ok = true;

	for (int i = 0; ok && i < pairs; i++)
		ok = GPU(g, cuEventRecord, ev[2 * i], g->stream) &&
		     gpu_launch(g, f, 1, 1, params) &&
		     GPU(g, cuEventRecord, ev[2 * i + 1], g->stream);
	ok = GPU(g, cuStreamSynchronize, g->stream) && ok;
	for (int i = PLAIN_LEAD; ok && i < pairs; i++) {
		float ms = 0;

		ok = GPU(g, cuEventElapsedTime, &ms, ev[2 * i], ev[2 * i + 1]);
		r->all[batch * GATED_PAIRS + i - PLAIN_LEAD] = 1e3 * ms;
	}
	if (ok)
		batch_done(r, batch);
	return ok;
}

void calibrate_plain(struct gpu *g, const struct calibrate_basic *b, struct calibrate_device *d)
{
	enum { EVENTS = 2 * (PLAIN_LEAD + GATED_PAIRS) };
	static struct batches gated, plain;
	uint64_t cycles = 60000; /* some 30 us: longer than the host needs for a pair */
	void *params[] = {&cycles};
	CUevent ev[EVENTS] = {0};
	double low, high, less;
	bool ok = d->values[CALIBRATE_GATED_BIAS].known;

	ok = ok && gpu_time_ms(g, false, b->spin, 1, 1, params, 1) >= 0; /* loads it */
	for (int i = 0; ok && i < EVENTS; i++)
		ok = GPU(g, cuEventCreate, &ev[i], 0);
	for (int batch = 0; ok && batch < BATCHES; batch++)
		ok = work_for(g, b, BATCH_APART_MS) &&
		     gated_batch(g, b->spin, params, 1, &gated, batch) &&
		     plain_batch(g, b->spin, params, ev, &plain, batch);
	if (ok) {
		less = batches_median(&gated, &low, &high);
		calibrate_known(
			d, CALIBRATE_PLAIN_BIAS,
			d->values[CALIBRATE_GATED_BIAS].value - less +
				batches_median(&plain, &low, &high),
			"gated_bias_us and what plain pairs of a 30 us kernel on a busy stream read over gated ones, %d batches of %d, p10-p90 %.3f-%.3f us",
			BATCHES, GATED_PAIRS, low - less + d->values[CALIBRATE_GATED_BIAS].value,
			high - less + d->values[CALIBRATE_GATED_BIAS].value);
	} else {
		calibrate_missing(d, CALIBRATE_PLAIN_BIAS,
				  g->error[0] ? g->error : "needs gated_bias_us");
	}
	for (int i = 0; i < EVENTS; i++)
		if (ev[i])
			g->driver->cuEventDestroy_v2(ev[i]);
}
