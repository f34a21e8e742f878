/*
 * smem_cliff_bad.cu - dynamic shared memory one byte past the size at which two blocks fit an SM
 * (sm_90: 115,713 bytes; sm_86: 50,177).
 * Wrong: that byte halves the blocks per SM; half of the warps that could hide latency are gone.
 * A report should say: above the shared-memory cliff, and how many bytes to save.
 * Advice: KBN-A017.
 * Cure: smem_cliff_good.cu.
 */
#include "sample.h"

extern "C" __global__ void smem_cliff_bad(float *out, const float *in, int n)
{
	extern __shared__ float stage[]; /* at least blockDim.x words of it are used */
	float sum = 0.0f;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		stage[threadIdx.x] = in[i];
		__syncthreads();
		sum += stage[blockDim.x - 1 - threadIdx.x];
		__syncthreads();
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
	struct sample s = sample_begin(argc, argv, 1u << 22, SAMPLE_FLOATS);
	int smem = sample_cliff_bytes() + 1;

	SAMPLE_CHECK(cudaFuncSetAttribute(smem_cliff_bad,
					  cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, smem_cliff_bad, s.sms * 2, 256, smem, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "smem_cliff_bad");
}
