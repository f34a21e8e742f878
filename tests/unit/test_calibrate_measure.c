/*
 * test_calibrate_measure.c - the arithmetic of `kbn calibrate` against a simulated device whose
 * figures are known: a table of driver functions over one clock that launches, copies and events
 * move forward. What the readings say must be what the device was made to be.
 */
#include "kbn_test.h"

#include <math.h>

#include "calibrate.h"
#include "calibrate_gpu.h"
#include "calibrate_ptx.h"

/* The simulated device. Times in us, rates in units per us. */
#define RECORD_US   0.64 /* each event record */
#define LAUNCH_US   0.80 /* between the end of one kernel and the start of the next */
#define EMPTY_US    0.61 /* an empty kernel */
#define HOST_US     0.70 /* what an ungated pair reads too much */
#define COLD_US     1.50 /* a record while the clocks are low */
#define WARM_AT_US  2e5  /* of work; then they are high */
#define HICCUP_US   4.00 /* now and then a record takes so much longer */
#define COPY_GBPS   4200.0
#define FP32_TFLOPS 60.0
#define MMA_TFLOPS  800.0
#define CLOCK_MHZ   1755.0
#define L2_GBPS     6800.0
#define DRAM_GBPS   4000.0
#define L2_KNEE     30e6

enum { EMPTY, SPIN, FFMA, FILL, READ, MMA };
static const char *const names[] = {"empty", "spin", "ffma", "fill", "read", "mma"};

static double device_us;
static double event_us[256];
static int events;
static double worked_us;
static bool gated, gates_work, has_hiccups, small_sets_fly;
static struct {
	uint32_t word;
} pinned;

static CUresult sim_init(unsigned flags)
{
	(void)flags;
	return 0;
}
static CUresult sim_version(int *v)
{
	*v = 13000;
	return 0;
}
static CUresult sim_error_name(CUresult r, const char **name)
{
	(void)r;
	*name = "SIM_ERROR";
	return 0;
}
static CUresult sim_count(int *n)
{
	*n = 1;
	return 0;
}
static CUresult sim_device(CUdevice *d, int ordinal)
{
	*d = ordinal;
	return 0;
}
static CUresult sim_name(char *name, int n, CUdevice d)
{
	(void)d;
	snprintf(name, (size_t)n, "sim");
	return 0;
}

static CUresult sim_attribute(int *v, CUdevice_attribute a, CUdevice d)
{
	(void)d;
	*v = (int)a == 16 ? 132 : (int)a == 38 ? 60 << 20 : (int)a == 75 ? 9 : 0;
	return 0;
}

static CUresult sim_uuid(CUuuid *u, CUdevice d)
{
	(void)d;
	for (int i = 0; i < 16; i++)
		((unsigned char *)u)[i] = (unsigned char)(0x10 * i + 1);
	return 0;
}

static CUresult sim_retain(CUcontext *c, CUdevice d)
{
	(void)d;
	*c = (CUcontext)(void *)&pinned;
	return 0;
}
static CUresult sim_release(CUdevice d)
{
	(void)d;
	return 0;
}
static CUresult sim_current(CUcontext c)
{
	(void)c;
	return 0;
}

static CUresult sim_load(CUmodule *m, const void *image, unsigned n, CUjit_option *o, void **v)
{
	(void)image;
	(void)n;
	(void)o;
	(void)v;
	*m = (CUmodule)(void *)&pinned;
	return 0;
}

static CUresult sim_function(CUfunction *f, CUmodule m, const char *name)
{
	(void)m;
	for (uintptr_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			*f = (CUfunction)(i + 1);
	return 0;
}

static CUresult sim_unload(CUmodule m)
{
	(void)m;
	return 0;
}
static CUresult sim_stream(CUstream *s, unsigned flags)
{
	(void)flags;
	*s = (CUstream)(void *)&device_us;
	return 0;
}
static CUresult sim_stream_destroy(CUstream s)
{
	(void)s;
	return 0;
}

/* The gate must be open by now: the host waits for the device. */
static CUresult sim_synchronise(CUstream s)
{
	(void)s;
	gated = false;
	return 0;
}

static CUresult sim_wait_value(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	(void)s;
	(void)at;
	(void)flags;
	gated = value > 0;
	return gates_work ? 0 : 801;
}

static CUresult sim_event(CUevent *e, unsigned flags)
{
	(void)flags;
	*e = (CUevent)(void *)&event_us[events++ % 256];
	return 0;
}

static CUresult sim_event_destroy(CUevent e)
{
	(void)e;
	return 0;
}

static CUresult sim_record(CUevent e, CUstream s)
{
	(void)s;
	static int n;

	device_us += gated ? RECORD_US : RECORD_US + HOST_US / 2;
	device_us += worked_us < WARM_AT_US ? COLD_US : 0;
	device_us += has_hiccups && ++n % 5 == 0 ? HICCUP_US : 0;
	*(double *)(void *)e = device_us;
	device_us += RECORD_US;
	return 0;
}

static CUresult sim_elapsed(float *ms, CUevent a, CUevent b)
{
	*ms = (float)((*(double *)(void *)b - *(double *)(void *)a) / 1e3);
	return 0;
}

static CUresult sim_alloc(CUdeviceptr *p, size_t bytes)
{
	*p = 0x1000;
	return bytes > 2ull << 30 ? 2 : 0;
}
static CUresult sim_free(CUdeviceptr p)
{
	(void)p;
	return 0;
}
static CUresult sim_host_alloc(void **p, size_t bytes, unsigned flags)
{
	(void)bytes;
	(void)flags;
	*p = &pinned;
	return 0;
}
static CUresult sim_host_device(CUdeviceptr *d, void *p, unsigned flags)
{
	(void)p;
	(void)flags;
	*d = 1;
	return 0;
}
static CUresult sim_host_free(void *p)
{
	(void)p;
	return 0;
}
static CUresult sim_to_device(CUdeviceptr d, const void *s, size_t n)
{
	(void)d;
	(void)s;
	(void)n;
	return 0;
}

/* Only the clocks of the FFMA kernel are ever read back. */
static CUresult sim_to_host(void *to, CUdeviceptr from, size_t bytes)
{
	uint64_t clocks[2] = {(uint64_t)(CLOCK_MHZ * 8000.0), 8000000};

	(void)from;
	memcpy(to, clocks, bytes < sizeof(clocks) ? bytes : sizeof(clocks));
	return 0;
}

static CUresult sim_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	(void)to;
	(void)from;
	(void)s;
	device_us += 2.0 * (double)bytes / (COPY_GBPS * 1e3);
	return 0;
}

static CUresult sim_set(CUdeviceptr p, unsigned char v, size_t n)
{
	(void)p;
	(void)v;
	(void)n;
	return 0;
}

/* What fits the L2 stays in it, the rest comes from DRAM: bandwidth falls slowly past the knee. */
static double read_us(double units, double loops, double threads)
{
	double bytes = units * 16, miss = bytes > L2_KNEE ? 1 - L2_KNEE / bytes : 0;

	if (small_sets_fly && bytes < 8e6) /* the nearer half of the L2, the L1 */
		loops /= 1.5;
	return loops * threads * CALIBRATE_READS_PER_LOOP * 16 *
	       ((1 - miss) / (L2_GBPS * 1e3) + miss / (DRAM_GBPS * 1e3));
}

static CUresult sim_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			   unsigned by, unsigned bz, unsigned smem, CUstream s, void **params,
			   void **extra)
{
	double threads = (double)gx * bx, us = EMPTY_US;

	(void)gy;
	(void)gz;
	(void)by;
	(void)bz;
	(void)smem;
	(void)s;
	(void)extra;
	switch ((uintptr_t)f - 1) {
	case SPIN: us += (double)*(uint64_t *)params[0] / CLOCK_MHZ; break;
	case FFMA:
		us += *(uint32_t *)params[1] * threads * 2 * CALIBRATE_FFMA_PER_LOOP /
		      (FP32_TFLOPS * 1e6);
		worked_us += us;
		break;
	case READ:
		us += read_us((double)*(uint64_t *)params[1], *(uint32_t *)params[2], threads);
		break;
	case MMA: /* the first row's work stands for all: rates of others come out in proportion */
		us += *(uint32_t *)params[1] * gx * calibrate_mma_flop(&calibrate_mma_table[0]) /
		      (MMA_TFLOPS * 1e6);
		break;
	default: break;
	}
	device_us += LAUNCH_US + us;
	return 0;
}

static const struct gpu_driver simulated = {
	.cuInit = sim_init,
	.cuDriverGetVersion = sim_version,
	.cuGetErrorName = sim_error_name,
	.cuDeviceGetCount = sim_count,
	.cuDeviceGet = sim_device,
	.cuDeviceGetName = sim_name,
	.cuDeviceGetAttribute = sim_attribute,
	.cuDeviceGetUuid = sim_uuid,
	.cuDevicePrimaryCtxRetain = sim_retain,
	.cuDevicePrimaryCtxRelease_v2 = sim_release,
	.cuCtxSetCurrent = sim_current,
	.cuModuleLoadDataEx = sim_load,
	.cuModuleGetFunction = sim_function,
	.cuModuleUnload = sim_unload,
	.cuStreamCreate = sim_stream,
	.cuStreamDestroy_v2 = sim_stream_destroy,
	.cuStreamSynchronize = sim_synchronise,
	.cuStreamWaitValue32_v2 = sim_wait_value,
	.cuEventCreate = sim_event,
	.cuEventDestroy_v2 = sim_event_destroy,
	.cuEventRecord = sim_record,
	.cuEventElapsedTime = sim_elapsed,
	.cuMemAlloc_v2 = sim_alloc,
	.cuMemFree_v2 = sim_free,
	.cuMemHostAlloc = sim_host_alloc,
	.cuMemHostGetDevicePointer_v2 = sim_host_device,
	.cuMemFreeHost = sim_host_free,
	.cuMemcpyHtoD_v2 = sim_to_device,
	.cuMemcpyDtoH_v2 = sim_to_host,
	.cuMemcpyDtoDAsync_v2 = sim_copy,
	.cuMemsetD8_v2 = sim_set,
	.cuLaunchKernel = sim_launch,
};

static void measure(struct calibrate_device *d, double cupti_us, bool with_gates)
{
	struct calibrate_cupti cupti = {.devices = 1, .empty_us = {cupti_us}, .why = "no CUPTI"};
	struct err e;

	gates_work = with_gates;
	worked_us = 0;
	gpu_driver_use(&simulated);
	assert_int_equal(calibrate_count(&e), 1);
	assert_int_equal(calibrate_device(0, &cupti, d, &e), 0);
	gpu_driver_use(NULL);
}

static void near(const struct calibrate_device *d, enum calibrate_reading r, double value,
		 double tolerance)
{
	if (!d->values[r].known)
		fail_msg("reading %d is missing: %s", (int)r, d->values[r].note);
	if (fabs(d->values[r].value - value) > tolerance)
		fail_msg("reading %d is %g, not %g", (int)r, d->values[r].value, value);
}

#define BIAS (2 * RECORD_US + LAUNCH_US) /* record to record, and the launch between */

static void bias_against_cupti(void **state)
{
	struct calibrate_device d;

	(void)state;
	measure(&d, EMPTY_US, true);
	near(&d, CALIBRATE_GATED_EMPTY, BIAS + EMPTY_US, 0.01);
	near(&d, CALIBRATE_GATED_NOTHING, 2 * RECORD_US, 0.01);
	near(&d, CALIBRATE_GATED_SLOPE, LAUNCH_US + EMPTY_US, 0.01);
	near(&d, CALIBRATE_GATED_BIAS, BIAS, 0.01);
	near(&d, CALIBRATE_GATED_UNCERTAINTY, 0.1, 0.02);
	near(&d, CALIBRATE_PLAIN_BIAS, BIAS + HOST_US / 2, 0.02);
	assert_string_equal(d.uuid, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
}

/* Single readings that are far off show in the spread and not in the figure. */
static void hiccups_are_told(void **state)
{
	struct calibrate_device d;

	(void)state;
	has_hiccups = true;
	measure(&d, EMPTY_US, true);
	has_hiccups = false;
	near(&d, CALIBRATE_GATED_BIAS, BIAS, 0.01);
	near(&d, CALIBRATE_PLAIN_BIAS, BIAS + HOST_US / 2, 0.02);
	near(&d, CALIBRATE_GATED_SPREAD, HICCUP_US, 0.01);
	near(&d, CALIBRATE_GATED_UNCERTAINTY, 0.1 + HICCUP_US / 2, 0.02);
	assert_non_null(strstr(d.values[CALIBRATE_GATED_EMPTY].note, "p10-p90 2.690-6.690 us"));
	assert_non_null(strstr(d.values[CALIBRATE_PLAIN_BIAS].note, "p10-p90"));
}

/* Another CUPTI answer must show: the bias is not a constant of the code. */
static void bias_follows_cupti(void **state)
{
	struct calibrate_device d;

	(void)state;
	measure(&d, 1.0, true);
	near(&d, CALIBRATE_GATED_BIAS, BIAS + EMPTY_US - 1.0, 0.01);
}

static void rates_and_memory(void **state)
{
	struct calibrate_device d;

	(void)state;
	measure(&d, EMPTY_US, true);
	near(&d, CALIBRATE_COPY, COPY_GBPS, 0.01 * COPY_GBPS);
	near(&d, CALIBRATE_FP32, FP32_TFLOPS, 0.01 * FP32_TFLOPS);
	near(&d, CALIBRATE_SM_CLOCK, CLOCK_MHZ, 1.0);
	/* the warp-group row claims its own share of the simulated work */
	near(&d, CALIBRATE_FP16_ACC32,
	     MMA_TFLOPS * calibrate_mma_flop(&calibrate_mma_table[6]) /
		     calibrate_mma_flop(&calibrate_mma_table[0]),
	     0.02 * 4 * MMA_TFLOPS);
}

/* The working set that loses a quarter of the way from L2 to DRAM; whatever small sets do. */
static void l2_knee(void **state)
{
	/* DRAM's plateau is read at the middle of 4 and 8 times the L2, which still hits a little */
	double hits = L2_KNEE / (sqrt(32) * (60 << 20)),
	       low = 1 / (hits / L2_GBPS + (1 - hits) / DRAM_GBPS),
	       at = low + 0.75 * (L2_GBPS - low),
	       miss = (L2_GBPS / at - 1) / (L2_GBPS / DRAM_GBPS - 1);
	struct calibrate_device d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		small_sets_fly = i == 1;
		measure(&d, EMPTY_US, true);
		small_sets_fly = false;
		near(&d, CALIBRATE_L2_BANDWIDTH, L2_GBPS, 0.02 * L2_GBPS);
		near(&d, CALIBRATE_L2_EFFECTIVE, L2_KNEE / (1 - miss), 0.03 * L2_KNEE);
		assert_non_null(strstr(d.values[CALIBRATE_L2_EFFECTIVE].note, "75% of the way"));
	}
}

static void no_gate_costs_only_the_bias(void **state)
{
	struct calibrate_device d;

	(void)state;
	measure(&d, 0.0, false);
	assert_false(d.values[CALIBRATE_GATED_BIAS].known);
	assert_non_null(strstr(d.values[CALIBRATE_GATED_BIAS].note, "memory waits"));
	assert_false(d.values[CALIBRATE_PLAIN_BIAS].known);
	assert_false(d.values[CALIBRATE_CUPTI_EMPTY].known);
	assert_string_equal(d.values[CALIBRATE_CUPTI_EMPTY].note, "no CUPTI");
	near(&d, CALIBRATE_COPY, COPY_GBPS, 0.01 * COPY_GBPS);
	for (int i = 0; i < CALIBRATE_N; i++)
		assert_true(d.values[i].note[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bias_against_cupti),
		cmocka_unit_test(bias_follows_cupti),
		cmocka_unit_test(hiccups_are_told),
		cmocka_unit_test(rates_and_memory),
		cmocka_unit_test(l2_knee),
		cmocka_unit_test(no_gate_costs_only_the_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
