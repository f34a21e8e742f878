/*
 * pointer_chase_bad.cu - each load needs the value of the one before.
 * Wrong: one load in flight per thread and few warps; the time is latency times steps.
 * A report should say: latency-bound on a chain of dependent loads; follow several chains at once.
 * Advice: KBN-A027.
 * Cure: pointer_chase_good.cu.
 */
#include "sample.h"

#define STEPS 64

extern "C" __global__ void pointer_chase_bad(unsigned *out, const unsigned *in, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned at = i * 977u & (unsigned)(n - 1);

	for (int k = 0; k < STEPS; k++)
		at = in[at];
	out[i & (unsigned)(n - 1)] = at;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 24, SAMPLE_CHAIN);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, pointer_chase_bad, s.sms, 128, 0, s.out, s.in, (int)s.words);
	return sample_end(&s, "pointer_chase_bad");
}
