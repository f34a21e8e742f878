/*
 * calibrate_gpu.h - a small session with the driver for kbn's own measurements: functions by
 * dlopen (no toolkit at build time), one context, one stream, two events, one gate word.
 * Errors are sticky and textual: the first failing call is kept in `error`.
 */
#ifndef KBN_CALIBRATE_GPU_H
#define KBN_CALIBRATE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "kbn_cuda.h"

#define GPU_FUNCTIONS(X)                \
	X(cuInit)                       \
	X(cuDriverGetVersion)           \
	X(cuGetErrorName)               \
	X(cuDeviceGetCount)             \
	X(cuDeviceGet)                  \
	X(cuDeviceGetName)              \
	X(cuDeviceGetAttribute)         \
	X(cuDeviceGetUuid)              \
	X(cuDevicePrimaryCtxRetain)     \
	X(cuDevicePrimaryCtxRelease_v2) \
	X(cuCtxSetCurrent)              \
	X(cuModuleLoadDataEx)           \
	X(cuModuleGetFunction)          \
	X(cuModuleUnload)               \
	X(cuStreamCreate)               \
	X(cuStreamDestroy_v2)           \
	X(cuStreamSynchronize)          \
	X(cuStreamWaitValue32_v2)       \
	X(cuEventCreate)                \
	X(cuEventDestroy_v2)            \
	X(cuEventRecord)                \
	X(cuEventElapsedTime)           \
	X(cuMemAlloc_v2)                \
	X(cuMemFree_v2)                 \
	X(cuMemHostAlloc)               \
	X(cuMemHostGetDevicePointer_v2) \
	X(cuMemFreeHost)                \
	X(cuMemcpyHtoD_v2)              \
	X(cuMemcpyDtoH_v2)              \
	X(cuMemcpyDtoDAsync_v2)         \
	X(cuMemsetD8_v2)                \
	X(cuLaunchKernel)

struct gpu_driver {
#define GPU_POINTER(name) __typeof__(name) *name;
	GPU_FUNCTIONS(GPU_POINTER)
#undef GPU_POINTER
	bool stand_in; /* executes no code: nothing can be measured */
};

struct gpu {
	const struct gpu_driver *driver;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUevent start, stop;
	volatile uint32_t *gate; /* pinned word, NULL = no gate */
	CUdeviceptr gate_device;
	uint32_t gate_value;
	int sm, sms;
	size_t l2_bytes;
	char error[160]; /* "cuX: CUDA_ERROR_Y", "" = none so far */
};

/* The driver's functions, loaded once; NULL with *e when there is none. Does not initialise it. */
const struct gpu_driver *gpu_driver(struct err *e);

/* For tests: use this table from now on instead of a driver; NULL = the driver again. */
void gpu_driver_use(const struct gpu_driver *driver);

/* 0, or -1 with *e. gpu_close may be called after a failed open. */
int gpu_open(struct gpu *g, int ordinal, struct err *e);
void gpu_close(struct gpu *g);

/* True when `result` is success; otherwise keeps the call's name and error (the first one). */
bool gpu_ok(struct gpu *g, CUresult result, const char *call);
#define GPU(g, name, ...) gpu_ok(g, (g)->driver->name(__VA_ARGS__), #name)

int gpu_attribute(struct gpu *g, int attribute);

/* A kernel out of PTX text. *module is to be unloaded by the caller; false with g->error. */
bool gpu_load(struct gpu *g, const char *ptx, CUmodule *module);
bool gpu_function(struct gpu *g, CUmodule module, const char *name, CUfunction *f);
bool gpu_launch(struct gpu *g, CUfunction f, unsigned grid, unsigned block, void **params);

/*
 * Milliseconds between the two events around `n` launches; negative on an error. A gated bracket
 * holds the stream until all of it is queued, so that the host's pace does not show.
 */
double gpu_time_ms(struct gpu *g, bool gated, CUfunction f, unsigned grid, unsigned block,
		   void **params, int n);

/* Median by sorting in place; 0 for n = 0. */
double gpu_median(double *v, size_t n);

#endif
