/*
 * tiny_grid_good.cu - the loop of tiny_grid_bad.cu over a grid that fills every SM.
 * A report should say nothing about a small grid.
 * No advice: KBN-A015.
 */
#include "sample.h"

extern "C" __global__ void tiny_grid_good(float *out, const float *in, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = 2.0f * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tiny_grid_good, s.words / 256 / 4, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "tiny_grid_good");
}
