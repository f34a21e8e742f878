/*
 * launch_bound_good.cu - the array of launch_bound_bad.cu in one launch.
 * A report should say nothing about launches.
 * No advice: KBN-A018.
 */
#include "sample.h"

extern "C" __global__ void launch_bound_good(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = 2.0f * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, launch_bound_good, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "launch_bound_good");
}
