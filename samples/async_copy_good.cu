/*
 * async_copy_good.cu - the tiles of async_copy_bad.cu copied in the background, four ahead.
 * A report should say: asynchronous copies are in use.
 * No advice: KBN-A001.
 */
#include "sample.h"

#define THREADS 256
#define AHEAD   4 /* tiles under way */

static __device__ void fetch(float4 *to, const float4 *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
}

extern "C" __global__ void async_copy_good(float *out, const float *in, int n)
{
	__shared__ float4 tile[AHEAD][THREADS];
	const float4 *from = (const float4 *)in;
	int stride = gridDim.x * THREADS, at = blockIdx.x * THREADS + threadIdx.x, slot = 0;
	float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll
	for (int k = 0; k < AHEAD - 1; k++)
		fetch(&tile[k][threadIdx.x], &from[(k * stride + at) & (n / 4 - 1)]);
#pragma unroll 1
	for (int i = 0; i < n / 4; i += stride) {
		asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 2) : "memory");
		__syncthreads(); /* all have their part of this tile, and have done with the one before */
		float4 v = tile[slot][THREADS - 1 - threadIdx.x];
		int free_slot = (slot + AHEAD - 1) % AHEAD;

		fetch(&tile[free_slot][threadIdx.x],
		      &from[(i + (AHEAD - 1) * stride + at) & (n / 4 - 1)]);
		sum.x = fmaf(v.x, sum.x, 0.5f);
		sum.y = fmaf(v.y, sum.y, 0.5f);
		sum.z = fmaf(v.z, sum.z, 0.5f);
		sum.w = fmaf(v.w, sum.w, 0.5f);
		slot = (slot + 1) % AHEAD;
	}
	asm volatile("cp.async.wait_all;" ::: "memory");
	((float4 *)out)[at & (n / 4 - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 25, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, async_copy_good, s.sms * 4, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "async_copy_good");
}
