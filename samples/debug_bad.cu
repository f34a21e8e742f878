/*
 * debug_bad.cu - device code built with -G.
 * Build: -G
 * Wrong: nothing is inlined and every variable lives in local memory.
 * A report should say: debug build; its speed says little, build without -G.
 * Advice: KBN-A024.
 * Cure: debug_good.cu.
 */
#include "sample.h"

#define TERMS 16

static __device__ float term(float x, int k)
{
	return x * 0.5f + 1.0f / (float)(k + 1);
}

extern "C" __global__ void debug_bad(float *out, const float *in, int n)
{
	int i = (blockIdx.x * blockDim.x + threadIdx.x) & (n - 1);
	float v = in[i];

	for (int k = 0; k < TERMS; k++)
		v = term(v, k);
	out[i] = v;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, debug_bad, 4096, 256, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "debug_bad");
}
