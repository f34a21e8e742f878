/*
 * jit_bad.cu - a program that ships PTX of an old architecture and no machine code.
 * Build: -gencode arch=compute_75,code=compute_75
 * Wrong: the driver compiles it when the program starts; the first start is slow.
 * A report should say: compiled from PTX by the driver; build for this architecture.
 * Advice: KBN-A025.
 * Cure: jit_good.cu.
 */
#include "sample.h"

extern "C" __global__ void jit_bad(float *out, const float *in, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] * in[i] + 1.0f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, jit_bad, s.sms * 8, 256, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "jit_bad");
}
