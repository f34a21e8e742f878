/*
 * tiny_grid_bad.cu - eight blocks, whatever the size of the machine.
 * Wrong: fewer blocks than SMs; most of the GPU never works (waves below 1).
 * A report should say: the grid is smaller than the machine; launch more blocks.
 * Advice: KBN-A015.
 * Cure: tiny_grid_good.cu.
 */
#include "sample.h"

extern "C" __global__ void tiny_grid_bad(float *out, const float *in, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = 2.0f * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tiny_grid_bad, 8, 256, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "tiny_grid_bad");
}
