/*
 * app.h - error check and clock for the programs of tests/gpu. They time and count themselves, so
 * that what kbn reports can be compared with something that kbn had no part in.
 */
#ifndef KBN_GPU_APP_H
#define KBN_GPU_APP_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
	do {                                                                               \
		cudaError_t check_err_ = (call);                                           \
		if (check_err_ != cudaSuccess) {                                           \
			std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				     cudaGetErrorString(check_err_));                      \
			std::exit(1);                                                      \
		}                                                                          \
	} while (0)

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t app_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void app_wait_us(double us)
{
	uint64_t end = app_now() + (uint64_t)(us * 1e3);

	while (app_now() < end)
		;
}

#endif
