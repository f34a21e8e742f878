/*
 * uncoalesced_bad.cu - a copy whose neighbouring threads read words 4 KB apart.
 * Wrong: each warp load touches 32 sectors of 32 bytes to use 4 bytes of each; eight times the
 * memory traffic that the data needs.
 * A report should say: excess sectors on the load; make neighbouring threads read neighbouring
 * words. Cure: uncoalesced_good.cu.
 * Advice: KBN-A004.
 */
#include "sample.h"

#define COLUMNS 1024

extern "C" __global__ void uncoalesced_bad(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int rows = n / COLUMNS;

	if (i < n)
		out[i] = in[(size_t)(i % rows) * COLUMNS + i / rows];
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 24, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, uncoalesced_bad, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "uncoalesced_bad");
}
