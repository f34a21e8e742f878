/*
 * divergent_good.cu - the two paths of divergent_bad.cu chosen per warp: same work, no idle lanes.
 * A report should say nothing about divergence.
 * No advice: KBN-A021.
 */
#include "sample.h"

#define WORK 64

extern "C" __global__ void divergent_good(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i & (n - 1)];

	if (threadIdx.x / 32 & 1) {
		for (int k = 0; k < WORK; k++)
			v = __sinf(v) + 0.5f;
	} else {
		for (int k = 0; k < WORK; k++)
			v = sqrtf(v + 1.0f);
	}
	out[i & (n - 1)] = v;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, divergent_good, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "divergent_good");
}
