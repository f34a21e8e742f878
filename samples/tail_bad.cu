/*
 * tail_bad.cu - one block more than fits the machine at once.
 * Wrong: that block runs alone in a second wave; the kernel takes twice as long for less than a
 * thousandth more work.
 * A report should say: just past one wave, the last wave is nearly empty; fit the grid to whole waves.
 * Advice: KBN-A016.
 * Cure: tail_good.cu.
 */
#include "sample.h"

#define WORK 512

extern "C" __global__ void tail_bad(float *out, const float *in, int n)
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

	SAMPLE_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, tail_bad, 256, 0));
	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tail_bad, s.sms * per_sm + 1, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "tail_bad");
}
