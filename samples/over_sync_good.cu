/*
 * over_sync_good.cu - the sums of over_sync_bad.cu with shuffles in each warp: one barrier a round.
 * A report should say nothing about barriers.
 * No advice: KBN-A026.
 */
#include "sample.h"

#define ROUNDS  64
#define THREADS 256

extern "C" __global__ void over_sync_good(unsigned *out, const unsigned *in, int n)
{
	__shared__ unsigned part[2][THREADS / 32]; /* in turn, so that no second barrier is needed */
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

#pragma unroll 1
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned v = in[(i + round * 4096) & (unsigned)(n - 1)];

#pragma unroll
		for (int step = 16; step; step /= 2)
			v += __shfl_xor_sync(0xffffffffu, v, step);
		if (threadIdx.x % 32 == 0)
			part[round & 1][threadIdx.x / 32] = v;
		__syncthreads();
#pragma unroll
		for (int w = 0; w < THREADS / 32; w++)
			sum += part[round & 1][w];
	}
	out[i & (unsigned)(n - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, over_sync_good, s.sms * 4, 256, 0, (unsigned *)s.out,
			      (const unsigned *)s.in, (int)s.words);
	return sample_end(&s, "over_sync_good");
}
