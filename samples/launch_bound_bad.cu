/*
 * launch_bound_bad.cu - an array worked through in pieces of 4,096 words, one launch each.
 * Wrong: a launch costs the host more time than its kernel takes; the GPU waits for the host.
 * A report should say: launch-bound; a CUDA graph, larger batches or one kernel for all.
 * Advice: KBN-A018.
 * Cure: launch_bound_good.cu.
 */
#include "sample.h"

#define PIECE 4096

extern "C" __global__ void launch_bound_bad(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = 2.0f * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		for (uint32_t at = 0; at < s.words; at += PIECE)
			SAMPLE_LAUNCH(s, launch_bound_bad, PIECE / 256, 256, 0, (float *)s.out + at,
				      (const float *)s.in + at, PIECE);
	return sample_end(&s, "launch_bound_bad");
}
