/*
 * gemm_bad.cu - an fp16 matrix product with one FFMA thread per element of the result.
 * Wrong: the tensor cores stay idle on a matmul-shaped kernel, and every operand is read from
 * global memory n times.
 * A report should say: no matrix instructions in a GEMM; use the tensor cores and tile.
 * Advice: KBN-A004.
 * By its code alone the tensor cores come as well; measured it waits, and first its access must mend.
 * Cure: gemm_good.cu.
 */
#include "sample.h"

#include <cuda_fp16.h>

/* in: A (n x n, row-major), then B (n x n, column-major); out: C (n x n) in float. */
extern "C" __global__ void gemm_bad(float *out, const __half *in, int n)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x;
	int row = blockIdx.y * blockDim.y + threadIdx.y;
	const __half *a = in + (size_t)row * n;
	const __half *b = in + (size_t)n * n + (size_t)col * n;
	float sum = 0.0f;

	for (int k = 0; k < n; k++)
		sum = fmaf(__half2float(a[k]), __half2float(b[k]), sum);
	out[(size_t)row * n + col] = sum;
}

int main(int argc, char **argv)
{
	const int n = 1024;
	struct sample s = sample_begin(argc, argv, (uint32_t)n * n, SAMPLE_HALVES);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, gemm_bad, dim3(n / 16, n / 16), dim3(16, 16), 0, (float *)s.out,
			      (const __half *)s.in, n);
	return sample_end(&s, "gemm_bad");
}
