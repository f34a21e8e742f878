/*
 * async_copy_bad.cu - tiles that go through registers into shared memory before they are used.
 * Wrong: four FFMA for every 16 bytes; a block waits for its tile, works a moment and waits again.
 * A report should say: low compute/load ratio, room in shared memory; copy the next tile meanwhile.
 * Advice: KBN-A001.
 * Cure: async_copy_good.cu.
 */
#include "sample.h"

#define THREADS 256

extern "C" __global__ void async_copy_bad(float *out, const float *in, int n)
{
	__shared__ float4 tile[THREADS];
	const float4 *from = (const float4 *)in;
	int stride = gridDim.x * THREADS, at = blockIdx.x * THREADS + threadIdx.x;
	float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll 1
	for (int i = 0; i < n / 4; i += stride) {
		tile[threadIdx.x] = from[(i + at) & (n / 4 - 1)];
		__syncthreads();
		float4 v = tile[THREADS - 1 - threadIdx.x];

		sum.x = fmaf(v.x, sum.x, 0.5f);
		sum.y = fmaf(v.y, sum.y, 0.5f);
		sum.z = fmaf(v.z, sum.z, 0.5f);
		sum.w = fmaf(v.w, sum.w, 0.5f);
		__syncthreads();
	}
	((float4 *)out)[at & (n / 4 - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 25, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, async_copy_bad, s.sms * 4, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "async_copy_bad");
}
