/*
 * app_load.c - loads every cubin it is given through the driver API and launches `touch` of each
 * once: a program with much code. Prints milliseconds from before cuInit to after the last launch,
 * and the clock at the end of main, so that the caller can tell how long the exit took.
 * usage: app_load CUBIN...
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kbn_cuda.h"

#define FUNCTIONS(X)                \
	X(cuInit)                   \
	X(cuDeviceGet)              \
	X(cuDevicePrimaryCtxRetain) \
	X(cuCtxSetCurrent)          \
	X(cuCtxSynchronize)         \
	X(cuModuleLoadData)         \
	X(cuModuleGetFunction)      \
	X(cuLaunchKernel)

#define POINTER(name) static __typeof__(name) *p_##name;
FUNCTIONS(POINTER)
#undef POINTER

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	void *data;
	long size;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) <= 0)
		exit(2);
	rewind(f);
	data = malloc((size_t)size);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
		exit(2);
	fclose(f);
	return data;
}

#define CALL(name, ...)                                                   \
	do {                                                              \
		int call_result_ = (int)p_##name(__VA_ARGS__);            \
		if (call_result_ != 0) {                                  \
			fprintf(stderr, "%s: %d\n", #name, call_result_); \
			exit(1);                                          \
		}                                                         \
	} while (0)

int main(int argc, char **argv)
{
	void *lib, **images = calloc((size_t)argc, sizeof(*images));
	CUdevice device;
	CUcontext context;
	double start;

	for (int i = 1; i < argc; i++)
		images[i] = read_file(argv[i]);
	start = now_ms();
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		return 2;
#define LOAD(name)                               \
	*(void **)&p_##name = dlsym(lib, #name); \
	if (!p_##name)                           \
		return 2;
	FUNCTIONS(LOAD)
#undef LOAD
	CALL(cuInit, 0);
	CALL(cuDeviceGet, &device, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, device);
	CALL(cuCtxSetCurrent, context);
	for (int i = 1; i < argc; i++) {
		CUmodule m;
		CUfunction f;

		CALL(cuModuleLoadData, &m, images[i]);
		CALL(cuModuleGetFunction, &f, m, "touch");
		CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	}
	CALL(cuCtxSynchronize);
	printf("value %.3f launches %d end %.3f\n", now_ms() - start, argc - 1, now_ms());
	fflush(stdout);
	return 0;
}
