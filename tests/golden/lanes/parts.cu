/*
 * parts.cu - one lane of each warp takes five turns of a loop, then all meet again. For tests/unit/test_lanes.c; built as
 * calls.cu.
 */
extern "C" __global__ void parts(float *out, const float *in, int n)
{
	__shared__ float s[64];
	float v = in[threadIdx.x];

	if (threadIdx.x % 32 == 31) {
#pragma unroll 1
		for (int k = 0; k < 5; k++)
			s[threadIdx.x / 32 * 8 + k] = v * k;
	}
	__syncthreads();
	out[threadIdx.x] = v + s[n];
}
