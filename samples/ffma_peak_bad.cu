/*
 * ffma_peak_bad.cu - one chain of dependent FFMA per thread with one warp per scheduler.
 * Wrong: each FFMA waits about four cycles for the one before; the pipe is empty in between.
 * A report should say: compute chain with too little independent work; use several accumulators.
 * Advice: KBN-A028.
 * Cure: ffma_peak_good.cu.
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
template __global__ void ffma_peak<1>(float *, const float *, int);

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 20, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, ffma_peak<1>, s.sms, 128, 0, (float *)s.out, (const float *)s.in,
			      (int)s.words);
	return sample_end(&s, "ffma_peak_bad");
}
