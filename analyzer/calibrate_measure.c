/*
 * calibrate_measure.c - what `kbn calibrate` measures and how: event bias, bandwidth, rates, clock,
 * effective L2. Input: an open device. Output: readings, each with its method or the reason why it
 * is missing; one failure costs one reading.
 */
#include "calibrate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate_gpu.h"
#include "calibrate_ptx.h"

struct basic {
	CUmodule module;
	CUfunction empty, spin, ffma, fill, read;
	CUdeviceptr scratch; /* 4 KB */
};

static void __attribute__((format(printf, 4, 5)))
known(struct calibrate_device *d, enum calibrate_reading r, double value, const char *how, ...)
{
	struct calibrate_value *v = &d->values[r];
	va_list args;

	if (!isfinite(value) || value <= 0.0) {
		snprintf(v->note, sizeof(v->note), "measured value makes no sense: %g", value);
		return;
	}
	v->known = true;
	v->value = value;
	va_start(args, how);
	vsnprintf(v->note, sizeof(v->note), how, args);
	va_end(args);
}

static void missing(struct calibrate_device *d, enum calibrate_reading r, const char *why)
{
	d->values[r].known = false;
	snprintf(d->values[r].note, sizeof(d->values[r].note), "%s",
		 why && *why ? why : "not measured");
}

/* ------------------------------------------------------------------- event bias */

#define GATED_MAX   16 /* most kernels in one bracket */
#define GATED_PAIRS 200

/* Median (us) of gated brackets around n empty kernels; *spread = p90 - p10. Negative on an error. */
static double gated_median(struct gpu *g, const struct basic *b, int n, double *spread)
{
	double us[GATED_PAIRS], median;

	for (int i = 0; i < GATED_PAIRS; i++) {
		double ms = gpu_time_ms(g, true, b->empty, 1, 1, NULL, n);

		if (ms < 0)
			return -1.0;
		us[i] = ms * 1e3;
	}
	median = gpu_median(us, GATED_PAIRS); /* sorts */
	if (spread)
		*spread = us[GATED_PAIRS * 9 / 10] - us[GATED_PAIRS / 10];
	return median;
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

/*
 * A gated pair around an empty kernel reads bias + e, with e the kernel's own time as CUPTI would
 * give it. e comes from CUPTI itself, else from an earlier measurement of this architecture, else
 * from its bounds: a further kernel in the bracket adds e and the gap between two kernels, so e
 * lies between 0 and that slope.
 */
static void measure_gated(struct gpu *g, const struct basic *b, double cupti_us,
			  struct calibrate_device *d)
{
	double t[GATED_MAX + 1], spread = 0.0, per_kernel, empty = cupti_us;

	if (!g->gate) {
		missing(d, CALIBRATE_GATED_BIAS, "the device does not take stream memory waits");
		return;
	}
	/* the first launch may load the kernel and wait for the device: never behind a shut gate */
	gpu_time_ms(g, false, b->empty, 1, 1, NULL, 1);
	gated_median(g, b, 1, NULL);
	for (int n = 0; n <= GATED_MAX; n++) {
		t[n] = gated_median(g, b, n, n == 1 ? &spread : NULL);
		if (t[n] < 0) {
			missing(d, CALIBRATE_GATED_BIAS, g->error);
			return;
		}
	}
	per_kernel = slope(t);
	known(d, CALIBRATE_GATED_NOTHING, t[0], "median of %d gated pairs with nothing between",
	      GATED_PAIRS);
	known(d, CALIBRATE_GATED_EMPTY, t[1], "median of %d gated pairs around an empty kernel",
	      GATED_PAIRS);
	known(d, CALIBRATE_GATED_SPREAD, spread, "p90 - p10 of the same pairs");
	known(d, CALIBRATE_GATED_SLOPE, per_kernel,
	      "least squares over 1 to %d empty kernels in a pair", GATED_MAX);
	if (empty <= 0.0)
		empty = known_empty_us(g->sm);
	if (empty > 0.0) {
		known(d, CALIBRATE_GATED_BIAS, t[1] - empty,
		      "gated_empty_us less the empty kernel's own %.2f us (%s)", empty,
		      cupti_us > 0 ? "CUPTI" : "measured before on this architecture");
		known(d, CALIBRATE_GATED_UNCERTAINTY, 0.1 + spread / 2 + (cupti_us > 0 ? 0.0 : 0.1),
		      "half of the spread and 0.1 us for kernels of other kinds");
		return;
	}
	known(d, CALIBRATE_GATED_BIAS, t[1] - per_kernel / 2,
	      "gated_empty_us less half of gated_slope_us");
	known(d, CALIBRATE_GATED_UNCERTAINTY, per_kernel / 2 + spread / 2,
	      "half of gated_slope_us and half of the spread: the empty kernel's own time is not known");
}

/* A plain pair on a stream that is never idle, against gated pairs of the same kernel. */
static void measure_plain(struct gpu *g, const struct basic *b, struct calibrate_device *d)
{
	enum { PAIRS = 64 };
	uint64_t cycles = 60000; /* some 30 us: longer than the host needs for a pair */
	void *params[] = {&cycles};
	CUevent ev[2 * PAIRS] = {0};
	double plain[PAIRS], gated[PAIRS];
	bool ok = d->values[CALIBRATE_GATED_BIAS].known;

	ok = ok && gpu_time_ms(g, false, b->spin, 1, 1, params, 1) >= 0; /* loads it */
	for (int i = 0; ok && i < 2 * PAIRS; i++)
		ok = GPU(g, cuEventCreate, &ev[i], 0);
	for (int i = 0; ok && i < PAIRS; i++)
		ok = (gated[i] = gpu_time_ms(g, true, b->spin, 1, 1, params, 1)) >= 0;
	for (int i = 0; ok && i < PAIRS; i++)
		ok = GPU(g, cuEventRecord, ev[2 * i], g->stream) &&
		     gpu_launch(g, b->spin, 1, 1, params) &&
		     GPU(g, cuEventRecord, ev[2 * i + 1], g->stream);
	ok = ok && GPU(g, cuStreamSynchronize, g->stream);
	for (int i = 0; ok && i < PAIRS; i++) {
		float ms = 0;

		ok = GPU(g, cuEventElapsedTime, &ms, ev[2 * i], ev[2 * i + 1]);
		plain[i] = ms;
	}
	if (ok)
		known(d, CALIBRATE_PLAIN_BIAS,
		      d->values[CALIBRATE_GATED_BIAS].value +
			      1e3 * (gpu_median(plain + 8, PAIRS - 8) - gpu_median(gated, PAIRS)),
		      "plain pairs of a 30 us kernel on a busy stream less gated pairs of it, plus gated_bias_us");
	else
		missing(d, CALIBRATE_PLAIN_BIAS, g->error[0] ? g->error : "needs gated_bias_us");
	for (int i = 0; i < 2 * PAIRS; i++)
		if (ev[i])
			g->driver->cuEventDestroy_v2(ev[i]);
}

/* ---------------------------------------------------------------------- memory */

#define COPIES 9

static void fill(struct gpu *g, const struct basic *b, CUdeviceptr at, size_t bytes)
{
	uint64_t words = bytes / 4;
	void *params[] = {&at, &words};

	gpu_launch(g, b->fill, (unsigned)g->sms * 8, 256, params);
}

/* Two buffers; others may hold most of the memory, so failing is no error. */
static bool pair_alloc(struct gpu *g, CUdeviceptr *from, CUdeviceptr *to, size_t bytes)
{
	if (g->driver->cuMemAlloc_v2(from, bytes) != 0)
		return false;
	if (g->driver->cuMemAlloc_v2(to, bytes) == 0)
		return true;
	g->driver->cuMemFree_v2(*from);
	return false;
}

static void measure_copy(struct gpu *g, const struct basic *b, struct calibrate_device *d)
{
	size_t bytes = (size_t)1 << 30, least = 4 * g->l2_bytes;
	CUdeviceptr from = 0, to = 0;
	double ms[COPIES];
	bool ok = true;

	while (!pair_alloc(g, &from, &to, bytes)) {
		bytes /= 2;
		if (bytes < least || bytes < 1 << 20) {
			missing(d, CALIBRATE_COPY,
				"too little free memory for a copy larger than the L2");
			return;
		}
	}
	fill(g, b, from, bytes);
	for (int i = -1; ok && i < COPIES; i++) {
		float t = 0;

		ok = GPU(g, cuEventRecord, g->start, g->stream) &&
		     GPU(g, cuMemcpyDtoDAsync_v2, to, from, bytes, g->stream) &&
		     GPU(g, cuEventRecord, g->stop, g->stream) &&
		     GPU(g, cuStreamSynchronize, g->stream) &&
		     GPU(g, cuEventElapsedTime, &t, g->start, g->stop);
		if (i >= 0)
			ms[i] = t;
	}
	if (ok)
		known(d, CALIBRATE_COPY, 2.0 * (double)bytes / (gpu_median(ms, COPIES) * 1e6),
		      "median of %d device-to-device copies of %zu MiB, read + written", COPIES,
		      bytes >> 20);
	else
		missing(d, CALIBRATE_COPY, g->error);
	g->driver->cuMemFree_v2(to);
	g->driver->cuMemFree_v2(from);
}

/* GB/s of reading `bytes` round and round; 0 on an error. */
static double read_gbps(struct gpu *g, const struct basic *b, CUdeviceptr at, size_t bytes)
{
	unsigned grid = (unsigned)g->sms * 4, block = 256;
	uint64_t threads = (uint64_t)grid * block, units = bytes / 16;
	double volume = fmax(12.0 * (double)bytes, 64.0 * (double)g->l2_bytes), ms[5];
	uint32_t loops = (uint32_t)(volume / ((double)threads * 16 * CALIBRATE_READS_PER_LOOP)) + 1;
	CUdeviceptr out = b->scratch;
	void *params[] = {&at, &units, &loops, &out};

	for (int i = -1; i < 5; i++) {
		double t = gpu_time_ms(g, false, b->read, grid, block, params, 1);

		if (t <= 0)
			return 0.0;
		if (i >= 0)
			ms[i] = t;
	}
	return (double)loops * (double)threads * 16 * CALIBRATE_READS_PER_LOOP /
	       (gpu_median(ms, 5) * 1e6);
}

#define L2_HOLDS 0.9 /* of the best bandwidth: a working set that reads so fast lies in the L2 */

/*
 * Read bandwidth against the size of the working set falls from the L2's plateau to the DRAM's,
 * slowly: twice the L2's size still hits it half of the time. The effective size is the largest that
 * keeps L2_HOLDS of the plateau; between two sizes by interpolation of the logarithms.
 */
static void measure_l2(struct gpu *g, const struct basic *b, struct calibrate_device *d)
{
	enum { POINTS = 22 };
	size_t least = (size_t)g->sms * 4 * 256 * 16, first = g->l2_bytes / 8, top;
	double size[POINTS], gbps[POINTS], plateau = 0.0, least_gbps;
	CUdeviceptr buffer = 0;
	int at;

	if (first < least)
		first = least; /* the kernel reads each unit at most once per step */
	top = 4 * g->l2_bytes;
	if (g->l2_bytes == 0 || first * 4 > top || !GPU(g, cuMemAlloc_v2, &buffer, top)) {
		missing(d, CALIBRATE_L2_EFFECTIVE,
			g->error[0] ? g->error : "the L2 is too small for this method");
		return;
	}
	fill(g, b, buffer, top);
	for (int i = 0; i < POINTS; i++) {
		size[i] =
			(double)first * pow((double)top / (double)first, (double)i / (POINTS - 1));
		gbps[i] = read_gbps(g, b, buffer, (size_t)size[i] / 16 * 16);
		plateau = fmax(plateau, gbps[i]);
	}
	g->driver->cuMemFree_v2(buffer);
	if (gbps[POINTS - 1] <= 0 || plateau < 1.15 * gbps[POINTS - 1]) {
		missing(d, CALIBRATE_L2_EFFECTIVE,
			g->error[0] ? g->error : "no step between L2 and DRAM was seen");
		return;
	}
	/* Ends at the best size at the latest. That is not the last one: then there was no step. */
	least_gbps = L2_HOLDS * plateau;
	for (at = POINTS - 1; gbps[at - 1] < least_gbps; at--)
		;
	known(d, CALIBRATE_L2_BANDWIDTH, plateau,
	      "best read bandwidth over working sets that fit the L2");
	known(d, CALIBRATE_L2_EFFECTIVE,
	      size[at - 1] * pow(size[at] / size[at - 1],
				 log(gbps[at - 1] / least_gbps) / log(gbps[at - 1] / gbps[at])),
	      "largest working set that is read at %.0f%% of l2_gbps or faster, interpolated between %d sizes",
	      100 * L2_HOLDS, POINTS);
}

/* ----------------------------------------------------------------------- rates */

/* Seconds per launch of f(out, loops), with `loops` raised until a launch takes 8 ms. 0 on an error. */
static double steady_seconds(struct gpu *g, CUfunction f, unsigned grid, unsigned block,
			     CUdeviceptr out, uint32_t *loops)
{
	void *params[] = {&out, loops};
	double ms[7];

	for (*loops = 256;; *loops *= 2) {
		double t = gpu_time_ms(g, false, f, grid, block, params, 1);

		if (t < 0)
			return 0.0;
		if (t > 8.0 || *loops >= 1u << 30)
			break;
		if (t > 0.05 && t < 4.0) /* far off: one large step instead of many */
			*loops = (uint32_t)(*loops * (4.0 / t));
	}
	for (int i = 0; i < 7; i++) {
		ms[i] = gpu_time_ms(g, false, f, grid, block, params, 1);
		if (ms[i] <= 0)
			return 0.0;
	}
	return gpu_median(ms, 7) / 1e3;
}

static void measure_fp32(struct gpu *g, const struct basic *b, struct calibrate_device *d)
{
	unsigned grid = (unsigned)g->sms * 4, block = 256;
	uint64_t times[2] = {0, 0};
	uint32_t loops;
	double s = steady_seconds(g, b->ffma, grid, block, b->scratch, &loops);

	if (s <= 0 || !GPU(g, cuMemcpyDtoH_v2, times, b->scratch, sizeof(times))) {
		missing(d, CALIBRATE_FP32, g->error);
		missing(d, CALIBRATE_SM_CLOCK, g->error);
		return;
	}
	known(d, CALIBRATE_FP32, 2.0 * CALIBRATE_FFMA_PER_LOOP * loops * grid * block / s / 1e12,
	      "median of 7 launches of a pure FFMA kernel, %u blocks of %u threads", grid, block);
	known(d, CALIBRATE_SM_CLOCK, times[1] ? 1e3 * (double)times[0] / (double)times[1] : 0.0,
	      "clock64 against globaltimer within the same FFMA kernel");
}

static void measure_mma(struct gpu *g, CUdeviceptr out, const struct calibrate_mma *m,
			struct calibrate_device *d)
{
	unsigned grid = (unsigned)(g->sms * calibrate_mma_blocks(m));
	char *ptx = calibrate_ptx_mma(m);
	CUmodule module = NULL;
	CUfunction f;
	uint32_t loops;
	double s = 0.0, tflops;

	g->error[0] = 0;
	if (ptx && gpu_load(g, ptx, &module) && gpu_function(g, module, "mma", &f))
		s = steady_seconds(g, f, grid, (unsigned)calibrate_mma_threads(m), out, &loops);
	free(ptx);
	if (module)
		g->driver->cuModuleUnload(module);
	if (s <= 0) {
		if (!d->values[m->reading].known)
			missing(d, m->reading, g->error);
		return;
	}
	tflops = calibrate_mma_flop(m) * loops * grid / s / 1e12;
	if (!d->values[m->reading].known || tflops > d->values[m->reading].value)
		known(d, m->reading, tflops,
		      "median of 7 launches of a pure %s %s kernel on random data",
		      m->warpgroup ? "wgmma" : "mma.sync", m->types);
}

/* Datacentre Blackwell reaches its rate only through tcgen05; mma.sync there says little. */
static void measure_matrix(struct gpu *g, const struct basic *b, struct calibrate_device *d)
{
	for (size_t i = 0; i < calibrate_mma_count; i++) {
		const struct calibrate_mma *m = &calibrate_mma_table[i];

		if (g->sm >= 100 && g->sm < 120)
			missing(d, m->reading,
				"this architecture needs tcgen05 instructions, which kbn does not use");
		else if (m->warpgroup ? g->sm == m->sm : g->sm >= m->sm)
			measure_mma(g, b->scratch, m, d);
		else if (!d->values[m->reading].note[0])
			missing(d, m->reading, "the architecture has no such instruction");
	}
}

/* --------------------------------------------------------------------- a device */

static bool basic_load(struct gpu *g, struct basic *b)
{
	char *ptx = calibrate_ptx_basic();
	bool ok = ptx && gpu_load(g, ptx, &b->module) &&
		  gpu_function(g, b->module, "empty", &b->empty) &&
		  gpu_function(g, b->module, "spin", &b->spin) &&
		  gpu_function(g, b->module, "ffma", &b->ffma) &&
		  gpu_function(g, b->module, "fill", &b->fill) &&
		  gpu_function(g, b->module, "read", &b->read) &&
		  GPU(g, cuMemAlloc_v2, &b->scratch, 4096) &&
		  GPU(g, cuMemsetD8_v2, b->scratch, 0, 4096);

	free(ptx);
	return ok;
}

static void identify(struct gpu *g, struct calibrate_device *d)
{
	CUuuid id;
	const unsigned char *u = (const unsigned char *)&id;
	size_t at;

	memset(&id, 0, sizeof(id));
	GPU(g, cuDeviceGetUuid, &id, g->device);
	at = (size_t)snprintf(d->uuid, sizeof(d->uuid), "GPU-");
	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(d->uuid + at, sizeof(d->uuid) - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	GPU(g, cuDeviceGetName, d->name, (int)sizeof(d->name), g->device);
	GPU(g, cuDriverGetVersion, &d->driver_api);
	d->sm = g->sm;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int calibrate_available(struct err *e)
{
	const struct gpu_driver *driver = gpu_driver(e);

	if (!driver)
		return -1;
	if (driver->stand_in)
		return err_set(e, ERR_NOT_FOUND, -1,
			       "the stand-in driver executes no code: nothing to measure");
	return 0;
}

int calibrate_count(struct err *e)
{
	const struct gpu_driver *driver;
	const char *name = NULL;
	CUresult r;
	int n = 0;

	if (calibrate_available(e) != 0)
		return -1;
	driver = gpu_driver(e);
	r = driver->cuInit(0);
	if (r == 0)
		r = driver->cuDeviceGetCount(&n);
	if (r != 0) {
		driver->cuGetErrorName(r, &name);
		return err_set(e, ERR_NOT_FOUND, -1, "the driver does not start: %s",
			       name ? name : "error");
	}
	return n > 0 ? n : err_set(e, ERR_NOT_FOUND, -1, "no device");
}

int calibrate_device(int ordinal, const struct calibrate_cupti *cupti, struct calibrate_device *d,
		     struct err *e)
{
	double begin = now(), cupti_us;
	struct basic b = {0};
	struct gpu g;
	int result = 0;

	memset(d, 0, sizeof(*d));
	if (gpu_open(&g, ordinal, e) != 0) {
		gpu_close(&g);
		return -1;
	}
	identify(&g, d);
	cupti_us = ordinal < cupti->devices ? cupti->empty_us[ordinal] : 0.0;
	if (cupti_us > 0)
		known(d, CALIBRATE_CUPTI_EMPTY, cupti_us,
		      "median CUPTI time of an empty kernel, in a process apart");
	else
		missing(d, CALIBRATE_CUPTI_EMPTY, cupti->why);
	if (basic_load(&g, &b)) {
		/* rates before the bias: idle clocks would show in the gated pairs */
		measure_fp32(&g, &b, d);
		measure_gated(&g, &b, cupti_us, d);
		measure_plain(&g, &b, d);
		measure_copy(&g, &b, d);
		measure_l2(&g, &b, d);
		measure_matrix(&g, &b, d);
	} else {
		result = err_set(e, ERR_IO, -1, "device %d: %s", ordinal,
				 g.error[0] ? g.error : "no memory");
	}
	for (int i = 0; i < CALIBRATE_N; i++)
		if (!d->values[i].known && !d->values[i].note[0])
			missing(d, (enum calibrate_reading)i, g.error);
	if (b.scratch)
		g.driver->cuMemFree_v2(b.scratch);
	if (b.module)
		g.driver->cuModuleUnload(b.module);
	gpu_close(&g);
	d->seconds = now() - begin;
	return result;
}
