/*
 * over_sync_bad.cu - sums of 256 values through shared memory, a barrier after every halving.
 * Wrong: ten barriers in each round with a handful of instructions between; the warps wait.
 * A report should say: the barriers of the loop cost more than the work between them.
 * Advice: KBN-A026.
 * Cure: over_sync_good.cu.
 */
#include "sample.h"

#define ROUNDS  64
#define THREADS 256

extern "C" __global__ void over_sync_bad(unsigned *out, const unsigned *in, int n)
{
	__shared__ unsigned part[THREADS];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

#pragma unroll 1
	for (unsigned round = 0; round < ROUNDS; round++) {
		part[threadIdx.x] = in[(i + round * 4096) & (unsigned)(n - 1)];
		__syncthreads();
#pragma unroll
		for (int step = THREADS / 2; step; step /= 2) {
			if (threadIdx.x < step)
				part[threadIdx.x] += part[threadIdx.x + step];
			__syncthreads();
		}
		sum += part[0];
		__syncthreads();
	}
	out[i & (unsigned)(n - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, over_sync_bad, s.sms * 4, 256, 0, (unsigned *)s.out,
			      (const unsigned *)s.in, (int)s.words);
	return sample_end(&s, "over_sync_bad");
}
