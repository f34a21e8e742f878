/*
 * gemm_good.cu - the matrix product of gemm_bad.cu on the tensor cores: one warp makes a 64 x 32
 * piece of the result from 16 x 16 x 16 matrix instructions.
 * A report should show matrix instructions in the inner loop; what is left to do is staging the
 * operands through shared memory.
 * No advice: KBN-A011.
 */
#include "sample.h"

#include <mma.h>

#define TILE 16
#define ROWS 4 /* tiles per warp */
#define COLS 2

namespace wmma = nvcuda::wmma;

/* in: A (n x n, row-major), then B (n x n, column-major); out: C (n x n) in float. */
extern "C" __global__ void gemm_good(float *out, const __half *in, int n)
{
	wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> c[ROWS][COLS];
	wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, __half, wmma::row_major> a[ROWS];
	wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, __half, wmma::col_major> b[COLS];
	const __half *second = in + (size_t)n * n;
	int row = blockIdx.y * ROWS * TILE;
	int col = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * COLS * TILE;

#pragma unroll
	for (int i = 0; i < ROWS * COLS; i++)
		wmma::fill_fragment(c[i / COLS][i % COLS], 0.0f);
	for (int k = 0; k < n; k += TILE) {
#pragma unroll
		for (int i = 0; i < ROWS; i++)
			wmma::load_matrix_sync(a[i], in + (size_t)(row + i * TILE) * n + k, n);
#pragma unroll
		for (int j = 0; j < COLS; j++)
			wmma::load_matrix_sync(b[j], second + (size_t)(col + j * TILE) * n + k, n);
#pragma unroll
		for (int i = 0; i < ROWS * COLS; i++)
			wmma::mma_sync(c[i / COLS][i % COLS], a[i / COLS], b[i % COLS],
				       c[i / COLS][i % COLS]);
	}
#pragma unroll
	for (int i = 0; i < ROWS * COLS; i++)
		wmma::store_matrix_sync(out + (size_t)(row + i / COLS * TILE) * n + col +
						i % COLS * TILE,
					c[i / COLS][i % COLS], n, wmma::mem_row_major);
}

int main(int argc, char **argv)
{
	const int n = 1024;
	struct sample s = sample_begin(argc, argv, (uint32_t)n * n, SAMPLE_HALVES);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, gemm_good, dim3(n / (4 * COLS * TILE), n / (ROWS * TILE)), 128, 0,
			      (float *)s.out, (const __half *)s.in, n);
	return sample_end(&s, "gemm_good");
}
