/*
 * fp64_leak_good.cu - the loop of fp64_leak_bad.cu with float constants: no FP64 instruction.
 * A report should say nothing about FP64.
 * No advice: KBN-A020.
 */
#include "sample.h"

extern "C" __global__ void fp64_leak_good(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i & (n - 1)];

	for (int k = 0; k < 32; k++)
		v = v * 0.999f + 0.001f;
	out[i & (n - 1)] = v;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, fp64_leak_good, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "fp64_leak_good");
}
