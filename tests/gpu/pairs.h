/*
 * pairs.h - what the programs app_pairs_*.cu share: random input, and running a pair: the kernel with
 * the fault, then the cured one, each some times, and a comparison of what came out. A pair that does
 * not agree is a line on standard error and exit status 1. pairs.json says which advice each pair is
 * about, pairs.work what each launch has to do.
 */
#ifndef KBN_GPU_PAIRS_H
#define KBN_GPU_PAIRS_H

#include "app.h"

#define BIG      (1ll << 28) /* bytes of one buffer: five times the L2 of an H200 */
#define LAUNCHES 22

struct pairs {
	float *in, *in2;   /* random, -1 to 1 */
	float *bad, *good; /* results */
	unsigned *differ;
	int sms;
	int failed;
};

__host__ __device__ static inline unsigned pairs_hash(unsigned v)
{
	v = (v ^ (v >> 16)) * 0x7feb352du;
	v = (v ^ (v >> 15)) * 0x846ca68bu;
	return v ^ (v >> 16);
}

__global__ void pairs_fill(float *out, long long n, unsigned seed)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = (float)(pairs_hash((unsigned)i ^ seed) >> 8) * (1.0f / (1 << 23)) - 1.0f;
}

/* differ[0]: words that do not agree; differ[1]: those unlike the first one. */
__global__ void pairs_compare(unsigned *differ, const float *a, const float *b, long long n,
			      float tolerance)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (tolerance == 0.0f) {
		if (__float_as_uint(a[i]) != __float_as_uint(b[i]))
			atomicAdd(&differ[0], 1u);
	} else if (!(fabsf(a[i] - b[i]) <= tolerance * fmaxf(1.0f, fabsf(a[i])))) {
		atomicAdd(&differ[0], 1u);
	}
	if (__float_as_uint(a[i]) != __float_as_uint(a[0]))
		differ[1] = 1;
}

static inline void pairs_start(struct pairs *p)
{
	CHECK(cudaMalloc(&p->in, BIG));
	CHECK(cudaMalloc(&p->in2, BIG));
	CHECK(cudaMalloc(&p->bad, BIG));
	CHECK(cudaMalloc(&p->good, BIG));
	CHECK(cudaMalloc(&p->differ, 8));
	CHECK(cudaDeviceGetAttribute(&p->sms, cudaDevAttrMultiProcessorCount, 0));
	pairs_fill<<<(unsigned)(BIG / 4 / 256), 256>>>(p->in, BIG / 4, 0x51u);
	pairs_fill<<<(unsigned)(BIG / 4 / 256), 256>>>(p->in2, BIG / 4, 0x77000001u);
	CHECK(cudaDeviceSynchronize());
	p->failed = 0;
}

/* `bad` and `good` launch their kernel with the result to write to; `words` of it must agree. */
template <typename Bad, typename Good>
static void pair(struct pairs *p, const char *name, long long words, float tolerance, Bad bad,
		 Good good)
{
	unsigned differ[2] = {0, 0};

	/* far apart as floats and as words: what neither of them writes does not agree */
	CHECK(cudaMemset(p->bad, 0x5a, (size_t)words * 4));
	CHECK(cudaMemset(p->good, 0x7f, (size_t)words * 4));
	CHECK(cudaMemset(p->differ, 0, 8));
	for (int i = 0; i < LAUNCHES; i++)
		bad(p->bad);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < LAUNCHES; i++)
		good(p->good);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	pairs_compare<<<(unsigned)((words + 255) / 256), 256>>>(p->differ, p->bad, p->good, words,
								tolerance);
	CHECK(cudaMemcpy(differ, p->differ, 8, cudaMemcpyDeviceToHost));
	if (differ[0] == 0 && (differ[1] || words == 1))
		return;
	p->failed = 1;
	if (differ[0])
		std::fprintf(stderr, "%s: %u of %lld results differ\n", name, differ[0], words);
	else
		std::fprintf(stderr, "%s: all results are the same\n", name);
}

/* ------------------------------------------------------------------------------ reductions */

__device__ static inline float warp_sum(float v)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	return v;
}

__device__ static inline float warp_max(float v)
{
	for (int d = 16; d; d /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
	return v;
}

/* Sum over the block, for every thread of it; `part` has a word per warp. */
__device__ static inline float block_sum(float v, float *part)
{
	float s = 0.0f;

	v = warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	for (unsigned w = 0; w < blockDim.x / 32; w++)
		s += part[w];
	return s;
}

__device__ static inline float block_max(float v, float *part)
{
	v = warp_max(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[0];
	for (unsigned w = 1; w < blockDim.x / 32; w++)
		v = fmaxf(v, part[w]);
	return v;
}

#endif
