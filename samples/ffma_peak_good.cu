/*
 * ffma_peak_good.cu - the FFMA count of ffma_peak_bad.cu in eight independent chains: the FP32
 * pipe is the limit.
 * A report should say compute-bound near the FP32 peak, nothing to gain at this level.
 * No advice: KBN-A028.
 */
#include "sample.h"

/* A template, so that one pair of samples has mangled names with arguments. */
template <int CHAINS> __global__ void ffma_peak(float *out, const float *in, int n)
{
	int i = (blockIdx.x * blockDim.x + threadIdx.x) & (n - 1);
	float v[CHAINS], sum = 0.0f;

#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		v[c] = in[i] + (float)c;
	for (int k = 0; k < 2048 / CHAINS; k++) {
#pragma unroll
		for (int c = 0; c < CHAINS; c++)
			v[c] = fmaf(v[c], 0.999f, 0.001f);
	}
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		sum += v[c];
	out[i] = sum;
}
template __global__ void ffma_peak<8>(float *, const float *, int);

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, ffma_peak<8>, s.sms, 128, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "ffma_peak_good");
}
