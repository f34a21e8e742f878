/*
 * smem_cliff_good.cu - the kernel of smem_cliff_bad.cu with one byte less: exactly the largest
 * size at which two blocks fit an SM (sm_90: 115,712 bytes; sm_86: 50,176).
 * A report should show two blocks per SM and no cliff.
 * No advice: KBN-A017.
 */
#include "sample.h"

extern "C" __global__ void smem_cliff_good(float *out, const float *in, int n)
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
	int smem = sample_cliff_bytes();

	SAMPLE_CHECK(cudaFuncSetAttribute(smem_cliff_good,
					  cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, smem_cliff_good, s.sms * 2, 256, smem, (float *)s.out,
			      (const float *)s.in, (int)s.words);
	return sample_end(&s, "smem_cliff_good");
}
