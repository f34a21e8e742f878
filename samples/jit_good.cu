/*
 * jit_good.cu - the program of jit_bad.cu with machine code of the GPU at hand.
 * A report should say nothing about compiling.
 * No advice: KBN-A025.
 */
#include "sample.h"

extern "C" __global__ void jit_good(float *out, const float *in, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, jit_good, s.sms * 8, 256, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "jit_good");
}
