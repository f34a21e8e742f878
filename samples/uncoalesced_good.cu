/*
 * uncoalesced_good.cu - the copy of uncoalesced_bad.cu with neighbouring threads on neighbouring
 * words: four sectors per warp load, the least possible.
 * A report should say nothing about excess sectors; the kernel is memory-bound near the peak.
 * No advice: KBN-A004.
 */
#include "sample.h"

extern "C" __global__ void uncoalesced_good(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i];
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 24, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, uncoalesced_good, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "uncoalesced_good");
}
