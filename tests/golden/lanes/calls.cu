/*
 * calls.cu - kernels that call functions: one for the index of a load, one that does an atomic itself, and one that
 * is elsewhere. For tests/unit/test_lanes.c; built by nvcc 13.0.88 with -O3 -cubin -arch=sm_XX.
 */
#include <cstdio>

__noinline__ __device__ int index_of(int a, int n)
{
	return __shfl_xor_sync(~0u, a * 33 + n, 7) * (int)clock() & 1023;
}

__noinline__ __device__ void add(float *p, int at)
{
	atomicAdd(p + at * 5, 1.0f);
}

extern "C" __global__ void asks(float *out, const float *in, int n)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	out[i] = in[index_of(i, n)];
}

extern "C" __global__ void has_it_done(float *out, const float *in, int n)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	add(out, i);
	if (i & 1)
		add(out + 5000, i);
}

extern "C" __global__ void says(float *out, const float *in, int n)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	if (in[i] > 2)
		printf("%d\n", i);
	out[i] = 1;
}
