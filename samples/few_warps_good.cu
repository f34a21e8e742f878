/*
 * few_warps_good.cu - the loop of few_warps_bad.cu with a table of the size that is used.
 * A report should say nothing about shared memory.
 * No advice: KBN-A014.
 */
#include "sample.h"

#define TABLE 256
#define STEPS 64

extern "C" __global__ void few_warps_good(float *out, const float *in, int n)
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
		SAMPLE_LAUNCH(s, few_warps_good, s.sms * 32, 32, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "few_warps_good");
}
