/*
 * pointer_chase_good.cu - the same number of loads per thread as pointer_chase_bad.cu in eight
 * independent chains: eight loads in flight.
 * A report should show a shorter dependent chain and a shorter time.
 * No advice: KBN-A027.
 */
#include "sample.h"

#define STEPS 64

extern "C" __global__ void pointer_chase_good(unsigned *out, const unsigned *in, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned at[8], sum = 0;

#pragma unroll
	for (int c = 0; c < 8; c++)
		at[c] = (i * 977u + (unsigned)c * 131071u) & (unsigned)(n - 1);
	for (int k = 0; k < STEPS / 8; k++) {
#pragma unroll
		for (int c = 0; c < 8; c++)
			at[c] = in[at[c]];
	}
#pragma unroll
	for (int c = 0; c < 8; c++)
		sum += at[c];
	out[i & (unsigned)(n - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 24, SAMPLE_CHAIN);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, pointer_chase_good, s.sms, 128, 0, s.out, s.in, (int)s.words);
	return sample_end(&s, "pointer_chase_good");
}
