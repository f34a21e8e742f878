/*
 * few_warps_bad.cu - blocks of one warp that reserve 48 KB of shared memory and use 1 KB of it.
 * Wrong: an SM holds a few such blocks, so a few warps, and scattered loads leave it idle.
 * A report should say: too few warps, limited by shared memory; use less of it.
 * Advice: KBN-A014.
 * Cure: few_warps_good.cu.
 */
#include "sample.h"

#define TABLE 12288
#define STEPS 64

extern "C" __global__ void few_warps_bad(float *out, const float *in, int n)
{
	__shared__ float table[TABLE];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i * 977u;
	float sum = 0.0f;

	for (int k = 0; k < 8; k++)
		table[(threadIdx.x + k * 32) % TABLE] = (float)k;
	__syncwarp();
#pragma unroll 1
	for (int k = 0; k < STEPS; k++) {
		at = at * 1664525u + 1013904223u;
		sum += in[at >> 8 & (unsigned)(n - 1)] * table[at >> 24];
	}
	out[i & (unsigned)(n - 1)] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 24, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, few_warps_bad, s.sms * 32, 32, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "few_warps_bad");
}
