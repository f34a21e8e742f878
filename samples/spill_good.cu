/*
 * spill_good.cu - the kernel of spill_bad.cu without the register limit: no local memory.
 * A report should say nothing about spills.
 * No advice: KBN-A019.
 */
#include "sample.h"

#define LIVE 64

extern "C" __global__ void spill_good(float *out, const float *in, int n)
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
		SAMPLE_LAUNCH(s, spill_good, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "spill_good");
}
