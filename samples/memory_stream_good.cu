/*
 * memory_stream_good.cu - the scaled copy of memory_stream_bad.cu with 16 bytes per access.
 * A report should say: memory-bound near the bandwidth at a naturally low intensity; done at this
 * level, fuse with neighbours.
 * No advice: KBN-A008.
 * Advice: KBN-A003.
 */
#include "sample.h"

extern "C" __global__ void memory_stream_good(float *out, const float *in, int n)
{
	const float4 *in4 = (const float4 *)in;
	float4 *out4 = (float4 *)out;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4;
	     i += gridDim.x * blockDim.x) {
		float4 v = in4[i];

		v.x *= 1.5f;
		v.y *= 1.5f;
		v.z *= 1.5f;
		v.w *= 1.5f;
		out4[i] = v;
	}
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 25, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, memory_stream_good, s.sms * 8, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "memory_stream_good");
}
