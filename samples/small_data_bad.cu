/*
 * small_data_bad.cu - a copy measured on 4 MB, which every L2 cache holds.
 * Wrong: after the first launch the data comes from the cache; the bandwidth is that of no real run.
 * A report should say: KBN-R011, or KBN-R012: the data fits the L2, this is cache and not speed.
 * Cure: small_data_good.cu.
 */
#include "sample.h"

extern "C" __global__ void small_data_bad(float *out, const float *in, int n)
{
	const float4 *from = (const float4 *)in;
	float4 *to = (float4 *)out;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4;
	     i += gridDim.x * blockDim.x) {
		float4 v = from[i];

		to[i] = make_float4(v.w, v.z, v.y, v.x);
	}
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 19, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, small_data_bad, s.sms * 8, 256, 0, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "small_data_bad");
}
