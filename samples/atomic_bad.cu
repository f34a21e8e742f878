/*
 * atomic_bad.cu - a sum in which every thread adds to the same word.
 * Wrong: all additions are serialised at one address of the L2.
 * A report should say: contended global atomics; reduce within the block first.
 * Advice: KBN-A023.
 * Cure: atomic_good.cu.
 */
#include "sample.h"

extern "C" __global__ void atomic_bad(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	/* the old value is used, so that the compiler cannot reduce within the warp by itself */
	if (i < n && atomicAdd(out, in[i]) == 0xffffffffu)
		out[1] = 1;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, atomic_bad, s.words / 256, 256, 0, s.out, s.in, (int)s.words);
	SAMPLE_CHECK(cudaMemset(s.out + 1, 0, sizeof(unsigned)));
	return sample_end(&s, "atomic_bad");
}
