/*
 * spill_bad.cu - 64 values live per thread under a limit of 32 registers.
 * Wrong: the compiler keeps the rest in local memory; loads and stores of spills fill the loop.
 * A report should say: register spills; lift the limit or keep fewer values live.
 * Advice: KBN-A019.
 * Cure: spill_good.cu.
 */
#include "sample.h"

#define LIVE 64

extern "C" __global__ void __maxnreg__(32) spill_bad(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v[LIVE];

#pragma unroll
	for (int k = 0; k < LIVE; k++)
		v[k] = in[(i + k * 256) & (n - 1)];
	/* every value is needed in every round, so all of them stay live */
	for (int round = 0; round < 8; round++) {
#pragma unroll
		for (int k = 0; k < LIVE; k++)
			v[k] = fmaf(v[k], 0.5f, v[(k + 7) % LIVE]);
	}
	float sum = 0.0f;
#pragma unroll
	for (int k = 0; k < LIVE; k++)
		sum += v[k];
	if (i < n)
		out[i] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, spill_bad, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "spill_bad");
}
