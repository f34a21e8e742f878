/*
 * calibrate_gpu.c - the driver session behind `kbn calibrate`. Opens libcuda.so.1, one device, one
 * stream with a gate; times brackets of launches. What is measured is calibrate_measure.c's.
 */
#include "calibrate_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Documented numbers of the driver interface. */
#define ATTR_SMS              16
#define ATTR_L2_BYTES         38
#define ATTR_CC_MAJOR         75
#define ATTR_CC_MINOR         76
#define STREAM_NON_BLOCKING   1
#define WAIT_GEQ              0
#define HOST_ALLOC_PORTABLE   1
#define HOST_ALLOC_DEVICE_MAP 2

static const struct gpu_driver *substitute;

void gpu_driver_use(const struct gpu_driver *driver)
{
	substitute = driver;
}

const struct gpu_driver *gpu_driver(struct err *e)
{
	static struct gpu_driver driver;
	static void *lib;

	if (substitute)
		return substitute;
	if (lib)
		return &driver;
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		err_set(e, ERR_NOT_FOUND, -1,
			"no NVIDIA driver here (libcuda.so.1 cannot be loaded)");
		return NULL;
	}
#define GPU_LOAD(name)                                                      \
	*(void **)&driver.name = dlsym(lib, #name);                         \
	if (!driver.name) {                                                 \
		err_set(e, ERR_VERSION, -1, "the driver has no %s", #name); \
		lib = NULL;                                                 \
		return NULL;                                                \
	}
	GPU_FUNCTIONS(GPU_LOAD)
#undef GPU_LOAD
	driver.stand_in = dlsym(lib, "kbn_stand_in_driver") != NULL;
	return &driver;
}

bool gpu_ok(struct gpu *g, CUresult result, const char *call)
{
	const char *name = NULL;

	if (result == 0)
		return true;
	g->driver->cuGetErrorName(result, &name);
	if (!g->error[0])
		snprintf(g->error, sizeof(g->error), "%s: %s", call, name ? name : "error");
	return false;
}

int gpu_attribute(struct gpu *g, int attribute)
{
	int value = 0;

	return GPU(g, cuDeviceGetAttribute, &value, (CUdevice_attribute)attribute, g->device)
		       ? value
		       : 0;
}

/* Without a gate everything but the gated figures can still be measured. */
static void gate_open(struct gpu *g)
{
	void *word = NULL;

	if (g->driver->cuMemHostAlloc(&word, 64, HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICE_MAP) != 0)
		return;
	*(volatile uint32_t *)word = 0;
	if (g->driver->cuMemHostGetDevicePointer_v2(&g->gate_device, word, 0) == 0 &&
	    g->driver->cuStreamWaitValue32_v2(g->stream, g->gate_device, 0, WAIT_GEQ) == 0)
		g->gate = word;
	else
		g->driver->cuMemFreeHost(word);
}

int gpu_open(struct gpu *g, int ordinal, struct err *e)
{
	memset(g, 0, sizeof(*g));
	g->driver = gpu_driver(e);
	if (!g->driver)
		return -1;
	if (!GPU(g, cuInit, 0) || !GPU(g, cuDeviceGet, &g->device, ordinal) ||
	    !GPU(g, cuDevicePrimaryCtxRetain, &g->context, g->device) ||
	    !GPU(g, cuCtxSetCurrent, g->context) ||
	    !GPU(g, cuStreamCreate, &g->stream, STREAM_NON_BLOCKING) ||
	    !GPU(g, cuEventCreate, &g->start, 0) || !GPU(g, cuEventCreate, &g->stop, 0))
		return err_set(e, ERR_IO, -1, "device %d: %s", ordinal, g->error);
	g->sm = gpu_attribute(g, ATTR_CC_MAJOR) * 10 + gpu_attribute(g, ATTR_CC_MINOR);
	g->sms = gpu_attribute(g, ATTR_SMS);
	g->l2_bytes = (size_t)gpu_attribute(g, ATTR_L2_BYTES);
	gate_open(g);
	return 0;
}

void gpu_close(struct gpu *g)
{
	if (!g->driver)
		return;
	if (g->gate)
		g->driver->cuMemFreeHost((void *)(uintptr_t)g->gate);
	if (g->stop)
		g->driver->cuEventDestroy_v2(g->stop);
	if (g->start)
		g->driver->cuEventDestroy_v2(g->start);
	if (g->stream)
		g->driver->cuStreamDestroy_v2(g->stream);
	if (g->context)
		g->driver->cuDevicePrimaryCtxRelease_v2(g->device);
	memset(g, 0, sizeof(*g));
}

bool gpu_load(struct gpu *g, const char *ptx, CUmodule *module)
{
	*module = NULL;
	return GPU(g, cuModuleLoadDataEx, module, ptx, 0, NULL, NULL);
}

bool gpu_function(struct gpu *g, CUmodule module, const char *name, CUfunction *f)
{
	return GPU(g, cuModuleGetFunction, f, module, name);
}

bool gpu_launch(struct gpu *g, CUfunction f, unsigned grid, unsigned block, void **params)
{
	return GPU(g, cuLaunchKernel, f, grid, 1, 1, block, 1, 1, 0, g->stream, params, NULL);
}

double gpu_time_ms(struct gpu *g, bool gated, CUfunction f, unsigned grid, unsigned block,
		   void **params, int n)
{
	float ms = -1.0f;
	bool ok = true;

	if (gated)
		ok = GPU(g, cuStreamWaitValue32_v2, g->stream, g->gate_device, ++g->gate_value,
			 WAIT_GEQ);
	ok = ok && GPU(g, cuEventRecord, g->start, g->stream);
	for (int i = 0; ok && i < n; i++)
		ok = gpu_launch(g, f, grid, block, params);
	ok = ok && GPU(g, cuEventRecord, g->stop, g->stream);
	if (gated) /* in any case: nothing may stay behind a shut gate */
		__atomic_store_n(g->gate, g->gate_value, __ATOMIC_RELEASE);
	ok = GPU(g, cuStreamSynchronize, g->stream) && ok;
	ok = ok && GPU(g, cuEventElapsedTime, &ms, g->start, g->stop);
	return ok ? (double)ms : -1.0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double gpu_median(double *v, size_t n)
{
	if (n == 0)
		return 0.0;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2.0;
}
