/*
 * divergent_bad.cu - odd and even lanes of each warp take different long paths.
 * Wrong: a warp runs both paths one after the other with half of its lanes idle.
 * A report should say: divergence at this branch; let whole warps take one path.
 * Advice: KBN-A021.
 * Cure: divergent_good.cu.
 */
#include "sample.h"

#define WORK 64

extern "C" __global__ void divergent_bad(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i & (n - 1)];

	if (threadIdx.x & 1) {
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
		SAMPLE_LAUNCH(s, divergent_bad, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "divergent_bad");
}
