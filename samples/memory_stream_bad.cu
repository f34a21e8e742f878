/*
 * memory_stream_bad.cu - a scaled copy by one 4-byte load and store per loop round.
 * Wrong: few bytes in flight per thread; a small grid of such loops stays below the bandwidth.
 * A report should say: memory-bound, narrow accesses; vectorise to 16 bytes per thread.
 * Advice: KBN-A008.
 * Cure: memory_stream_good.cu.
 */
#include "sample.h"

extern "C" __global__ void memory_stream_bad(float *out, const float *in, int n)
{
#pragma unroll 1
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] * 1.5f;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 25, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, memory_stream_bad, s.sms * 4, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "memory_stream_bad");
}
