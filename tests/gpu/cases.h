/*
 * cases.h - what app_class.cu runs one by one: a marker kernel, then one launch of the case; and what
 * is written down of it: FLOPs and unique bytes, by formula from the sizes that the program chose.
 */
#ifndef KBN_GPU_CASES_H
#define KBN_GPU_CASES_H

#include <cuda_profiler_api.h>

#include "app.h"

__global__ void spin_kernel(void)
{
}

struct cases {
	FILE *list; /* a line of JSON per case */
	int launches;
};

/* `launch` is called some times to warm up, then `launches` times behind the marker, seen by a profiler. */
template <typename Launch>
static void run_case(struct cases *c, const char *name, double flops, double bytes,
		     const char *dtype, Launch launch)
{
	const int warm = 2;

	for (int i = 0; i < warm; i++)
		launch();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaProfilerStart());
	spin_kernel<<<1, 1>>>();
	for (int i = 0; i < c->launches; i++)
		launch();
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaProfilerStop());
	std::fprintf(c->list,
		     "{\"case\": \"%s\", \"calls\": %d, \"flops\": %.0f, \"bytes\": %.0f, "
		     "\"dtype\": \"%s\"}\n",
		     name, warm + c->launches, flops, bytes, dtype);
	std::fflush(c->list);
}

#endif
