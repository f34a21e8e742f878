/*
 * calibrate_measure.c - what `kbn calibrate` measures and how: bandwidth, rates, clock,
 * effective L2. Input: an open device. Output: readings, each with its method or the reason why it
 * is missing; one failure costs one reading. Leaves the event bias to calibrate_bias.c.
 */
#include "calibrate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate_gpu.h"
#include "calibrate_measure.h"
#include "calibrate_ptx.h"

void calibrate_known(struct calibrate_device *d, enum calibrate_reading r, double value,
		     const char *how, ...)
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

void calibrate_missing(struct calibrate_device *d, enum calibrate_reading r, const char *why)
{
	d->values[r].known = false;
	snprintf(d->values[r].note, sizeof(d->values[r].note), "%s",
		 why && *why ? why : "not measured");
}

/* ---------------------------------------------------------------------- memory */

#define COPIES 9

static void fill(struct gpu *g, const struct calibrate_basic *b, CUdeviceptr at, size_t bytes)
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

static void measure_copy(struct gpu *g, const struct calibrate_basic *b, struct calibrate_device *d)
{
	size_t bytes = (size_t)1 << 30, least = 4 * g->l2_bytes;
	CUdeviceptr from = 0, to = 0;
	double ms[COPIES];
	bool ok = true;

	while (!pair_alloc(g, &from, &to, bytes)) {
		bytes /= 2;
		if (bytes < least || bytes < 1 << 20) {
			calibrate_missing(d, CALIBRATE_COPY,
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
		calibrate_known(d, CALIBRATE_COPY,
				2.0 * (double)bytes / (gpu_median(ms, COPIES) * 1e6),
				"median of %d device-to-device copies of %zu MiB, read + written",
				COPIES, bytes >> 20);
	else
		calibrate_missing(d, CALIBRATE_COPY, g->error);
	g->driver->cuMemFree_v2(to);
	g->driver->cuMemFree_v2(from);
}

/* GB/s of reading `bytes` round and round; 0 on an error. */
static double read_gbps(struct gpu *g, const struct calibrate_basic *b, CUdeviceptr at,
			size_t bytes)
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

/*
 * Read bandwidth against the size of the working set is a high plateau, a long slope and a low
 * plateau: even twice the L2's size still hits it half of the time. Neither the best figure nor a
 * share of it says where the slope begins, since the smallest sets may read faster than all others.
 * So both plateaus are medians, and the effective size is where a quarter of the way from one to the
 * other is lost.
 */
#define L2_PER_OCTAVE 4
#define L2_OCTAVES    7 /* from 1/16 of the L2's size to 8 times of it */
#define L2_POINTS     (L2_PER_OCTAVE * L2_OCTAVES + 1)
#define L2_KEEPS      0.75

/* Median bandwidth of the sizes from `from` to `to`; 0 = there is none. */
static double plateau(const double *size, const double *gbps, double from, double to)
{
	double in[L2_POINTS];
	size_t n = 0;

	for (int i = 0; i < L2_POINTS; i++)
		if (size[i] >= from && size[i] <= to)
			in[n++] = gbps[i];
	return gpu_median(in, n);
}

/* The largest size that is read at `least` or faster, between two sizes by their logarithms. */
static double knee(const double *size, const double *gbps, double least)
{
	int at = L2_POINTS - 1;

	while (at > 0 && gbps[at] < least)
		at--;
	if (at == L2_POINTS - 1 || gbps[at] < least)
		return 0.0;
	return size[at] *
	       pow(size[at + 1] / size[at], log(gbps[at] / least) / log(gbps[at] / gbps[at + 1]));
}

static void measure_l2(struct gpu *g, const struct calibrate_basic *b, struct calibrate_device *d)
{
	double l2 = (double)g->l2_bytes, high, low;
	double least = (double)g->sms * 4 * 256 * 16; /* each unit is read once per step at most */
	double size[L2_POINTS], gbps[L2_POINTS];
	CUdeviceptr buffer = 0;

	if (least > l2 / 4 || !GPU(g, cuMemAlloc_v2, &buffer, 8 * g->l2_bytes)) {
		calibrate_missing(d, CALIBRATE_L2_EFFECTIVE,
				  g->error[0] ? g->error : "the L2 is too small for this method");
		return;
	}
	fill(g, b, buffer, 8 * g->l2_bytes);
	for (int i = 0; i < L2_POINTS; i++) {
		size[i] = l2 / 16 * exp2((double)i / L2_PER_OCTAVE);
		gbps[i] = size[i] < least ? 0.0
					  : read_gbps(g, b, buffer, (size_t)size[i] / 16 * 16);
	}
	g->driver->cuMemFree_v2(buffer);
	for (int i = 0; i < L2_POINTS; i++)
		if (gbps[i] <= 0 && size[i] >= least) {
			calibrate_missing(d, CALIBRATE_L2_EFFECTIVE, g->error);
			return;
		}
	high = plateau(size, gbps, least, 0.51 * l2);
	low = plateau(size, gbps, 3.99 * l2, 8.01 * l2);
	if (low <= 0 || high < 1.15 * low) {
		calibrate_missing(d, CALIBRATE_L2_EFFECTIVE,
				  g->error[0] ? g->error : "no step between L2 and DRAM was seen");
		return;
	}
	calibrate_known(d, CALIBRATE_L2_BANDWIDTH, high,
			"median read bandwidth of working sets from 1/16 to 1/2 of the L2's size");
	calibrate_known(
		d, CALIBRATE_L2_EFFECTIVE, knee(size, gbps, low + L2_KEEPS * (high - low)),
		"largest working set that keeps %.0f%% of the way from %.0f GB/s (sets of 4 to 8 times the L2) to l2_gbps, interpolated",
		100 * L2_KEEPS, low);
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

static void measure_fp32(struct gpu *g, const struct calibrate_basic *b, struct calibrate_device *d)
{
	unsigned grid = (unsigned)g->sms * 4, block = 256;
	uint64_t times[2] = {0, 0};
	uint32_t loops;
	double s = steady_seconds(g, b->ffma, grid, block, b->scratch, &loops);

	if (s <= 0 || !GPU(g, cuMemcpyDtoH_v2, times, b->scratch, sizeof(times))) {
		calibrate_missing(d, CALIBRATE_FP32, g->error);
		calibrate_missing(d, CALIBRATE_SM_CLOCK, g->error);
		return;
	}
	calibrate_known(d, CALIBRATE_FP32,
			2.0 * CALIBRATE_FFMA_PER_LOOP * loops * grid * block / s / 1e12,
			"median of 7 launches of a pure FFMA kernel, %u blocks of %u threads", grid,
			block);
	calibrate_known(d, CALIBRATE_SM_CLOCK,
			times[1] ? 1e3 * (double)times[0] / (double)times[1] : 0.0,
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
			calibrate_missing(d, m->reading, g->error);
		return;
	}
	tflops = calibrate_mma_flop(m) * loops * grid / s / 1e12;
	if (!d->values[m->reading].known || tflops > d->values[m->reading].value)
		calibrate_known(d, m->reading, tflops,
				"median of 7 launches of a pure %s %s kernel on random data",
				m->warpgroup ? "wgmma" : "mma.sync", m->types);
}

/* Datacentre Blackwell reaches its rate only through tcgen05; mma.sync there says little. */
static void measure_matrix(struct gpu *g, const struct calibrate_basic *b,
			   struct calibrate_device *d)
{
	for (size_t i = 0; i < calibrate_mma_count; i++) {
		const struct calibrate_mma *m = &calibrate_mma_table[i];

		if (g->sm >= 100 && g->sm < 120)
			calibrate_missing(
				d, m->reading,
				"this architecture needs tcgen05 instructions, which kbn does not use");
		else if (m->warpgroup ? g->sm == m->sm : g->sm >= m->sm)
			measure_mma(g, b->scratch, m, d);
		else if (!d->values[m->reading].note[0])
			calibrate_missing(d, m->reading,
					  "the architecture has no such instruction");
	}
}

/* --------------------------------------------------------------------- a device */

static bool basic_load(struct gpu *g, struct calibrate_basic *b)
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
	struct calibrate_basic b = {0};
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
		calibrate_known(d, CALIBRATE_CUPTI_EMPTY, cupti_us,
				"median CUPTI time of an empty kernel, in a process apart");
	else
		calibrate_missing(d, CALIBRATE_CUPTI_EMPTY, cupti->why);
	if (basic_load(&g, &b)) {
		/* rates before the bias: idle clocks would show in the gated pairs */
		measure_fp32(&g, &b, d);
		calibrate_gated(&g, &b, cupti_us, d);
		calibrate_plain(&g, &b, d);
		measure_copy(&g, &b, d);
		measure_l2(&g, &b, d);
		measure_matrix(&g, &b, d);
	} else {
		result = err_set(e, ERR_IO, -1, "device %d: %s", ordinal,
				 g.error[0] ? g.error : "no memory");
	}
	for (int i = 0; i < CALIBRATE_N; i++)
		if (!d->values[i].known && !d->values[i].note[0])
			calibrate_missing(d, (enum calibrate_reading)i, g.error);
	if (b.scratch)
		g.driver->cuMemFree_v2(b.scratch);
	if (b.module)
		g.driver->cuModuleUnload(b.module);
	gpu_close(&g);
	d->seconds = now() - begin;
	return result;
}
