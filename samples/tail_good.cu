/*
 * tail_good.cu - the kernel of tail_bad.cu with exactly one full wave.
 * A report should show 1.00 waves and say nothing about a tail.
 * No advice: KBN-A016.
 */
#include "sample.h"

#define WORK 512

extern "C" __global__ void tail_good(float *out, const float *in, int n)
{
	int i = (blockIdx.x * blockDim.x + threadIdx.x) & (n - 1);
	float v = in[i];

	for (int k = 0; k < WORK; k++)
		v = fmaf(v, 0.999f, 0.001f);
	out[i] = v;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);
	int per_sm;

	SAMPLE_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, tail_good, 256, 0));
	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tail_good, s.sms * per_sm, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "tail_good");
}
