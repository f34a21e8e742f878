/*
 * atomic_good.cu - the sum of atomic_bad.cu reduced within each block: one atomic per block.
 * A report should say nothing about atomics.
 * No advice: KBN-A023.
 */
#include "sample.h"

extern "C" __global__ void atomic_good(unsigned *out, const unsigned *in, int n)
{
	__shared__ unsigned partial[8];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = i < n ? in[i] : 0;

	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (threadIdx.x % 32 == 0)
		partial[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (unsigned w = 1; w < blockDim.x / 32; w++)
			v += partial[w];
		atomicAdd(out, v);
	}
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, atomic_good, s.words / 256, 256, 0, s.out, s.in, (int)s.words);
	return sample_end(&s, "atomic_good");
}
