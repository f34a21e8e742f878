/*
 * fp64_leak_bad.cu - float code with two constants that lack the f.
 * Wrong: the whole loop runs in double precision, with a conversion on each side.
 * A report should say: FP64 instructions in code whose data are floats; write 0.999f.
 * Advice: KBN-A020.
 * Cure: fp64_leak_good.cu.
 */
#include "sample.h"

extern "C" __global__ void fp64_leak_bad(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i & (n - 1)];

	for (int k = 0; k < 32; k++)
		v = v * 0.999 + 0.001;
	out[i & (n - 1)] = v;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, fp64_leak_bad, s.words / 256, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "fp64_leak_bad");
}
