/*
 * async_copy_good.cu - the tiles of async_copy_bad.cu copied in the background, four ahead.
 * A report should say: asynchronous copies are in use.
 * No advice: KBN-A001.
 */
#include <cuda_pipeline.h>

#include "sample.h"

#define THREADS 256
#define AHEAD   4 /* tiles under way */

extern "C" __global__ void async_copy_good(float *out, const float *in, int n)
{
	__shared__ float4 tile[AHEAD][THREADS];
	const float4 *from = (const float4 *)in;
	int stride = gridDim.x * THREADS, at = blockIdx.x * THREADS + threadIdx.x, slot = 0;
	float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll
	for (int k = 0; k < AHEAD - 1; k++) {
		__pipeline_memcpy_async(&tile[k][threadIdx.x],
					&from[(k * stride + at) & (n / 4 - 1)], 16);
		__pipeline_commit();
	}
#pragma unroll 1
	for (int i = 0; i < n / 4; i += stride) {
		__pipeline_wait_prior(AHEAD - 2);
		__syncthreads(); /* all have their part of this tile, and have done with the one before */
		float4 v = tile[slot][THREADS - 1 - threadIdx.x];
		int free_slot = (slot + AHEAD - 1) % AHEAD;

		__pipeline_memcpy_async(&tile[free_slot][threadIdx.x],
					&from[(i + (AHEAD - 1) * stride + at) & (n / 4 - 1)], 16);
		__pipeline_commit();
		sum.x = fmaf(v.x, sum.x, 0.5f);
		sum.y = fmaf(v.y, sum.y, 0.5f);
		sum.z = fmaf(v.z, sum.z, 0.5f);
		sum.w = fmaf(v.w, sum.w, 0.5f);
		slot = (slot + 1) % AHEAD;
	}
	__pipeline_wait_prior(0);
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
