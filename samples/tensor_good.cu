/*
 * tensor_good.cu - the matrix product of tensor_bad.cu on the tensor cores: a warp makes 64 x 32 results from
 * products of 16 x 16 x 16, and the next tiles are copied to shared memory meanwhile.
 * A report should show matrix instructions in the inner loop, and asynchronous copies.
 * No advice: KBN-A011.
 */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "sample.h"

#define TILE  128         /* results of a block on each side */
#define DEPTH 32          /* of a tile of the operands */
#define PITCH (DEPTH + 8) /* halves from line to line: no two of eight lines on one bank */
#define ROWS  4           /* products of a warp */
#define COLS  2

namespace wmma = nvcuda::wmma;

struct tiles {
	__half a[TILE][PITCH], b[TILE][PITCH];
};

/* Two pieces of 16 bytes of each operand for every thread; eight lanes take eight lines, for the banks. */
static __device__ void fetch(tiles *to, const __half *a, const __half *b, int n)
{
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const int line = threadIdx.x / 32 * 8 + threadIdx.x % 8 + i * TILE / 2;
		const int at = threadIdx.x / 8 % 4 * 8;

		__pipeline_memcpy_async(&to->a[line][at], a + (size_t)line * n + at, 16);
		__pipeline_memcpy_async(&to->b[line][at], b + (size_t)line * n + at, 16);
	}
}

/* in: A (n x n, row-major), then B (n x n, column-major); out: C (n x n) in float. n is a multiple of 128. */
extern "C" __global__ void __launch_bounds__(256, 2)
	tensor_good(float *out, const __half *in, int n)
{
	__shared__ __align__(128) tiles stage[2];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[ROWS][COLS];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[ROWS];
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b[COLS];
	const int row = blockIdx.y * TILE, col = blockIdx.x * TILE, warp = threadIdx.x / 32;
	const int y = warp / 4 * ROWS * 16, x = warp % 4 * COLS * 16;
	const __half *from_a = in + (size_t)row * n, *from_b = in + (size_t)n * n + (size_t)col * n;

#pragma unroll
	for (int i = 0; i < ROWS * COLS; i++)
		wmma::fill_fragment(c[i / COLS][i % COLS], 0.0f);
	fetch(&stage[0], from_a, from_b, n);
	__pipeline_commit();
#pragma unroll 1
	for (int k = 0, now = 0; k < n; k += DEPTH, now ^= 1) {
		__pipeline_wait_prior(0);
		__syncthreads(); /* this tile is there, and nobody reads the other one any more */
		if (k + DEPTH < n)
			fetch(&stage[now ^ 1], from_a + k + DEPTH, from_b + k + DEPTH, n);
		__pipeline_commit();
#pragma unroll
		for (int j = 0; j < DEPTH; j += 16) {
#pragma unroll
			for (int i = 0; i < ROWS; i++)
				wmma::load_matrix_sync(a[i], &stage[now].a[y + i * 16][j], PITCH);
#pragma unroll
			for (int i = 0; i < COLS; i++)
				wmma::load_matrix_sync(b[i], &stage[now].b[x + i * 16][j], PITCH);
#pragma unroll
			for (int i = 0; i < ROWS * COLS; i++)
				wmma::mma_sync(c[i / COLS][i % COLS], a[i / COLS], b[i % COLS],
					       c[i / COLS][i % COLS]);
		}
	}
#pragma unroll
	for (int i = 0; i < ROWS * COLS; i++)
		wmma::store_matrix_sync(out + (size_t)(row + y + i / COLS * 16) * n + col + x +
						i % COLS * 16,
					c[i / COLS][i % COLS], n, wmma::mem_row_major);
}

int main(int argc, char **argv)
{
	const int n = 4096;
	struct sample s = sample_begin(argc, argv, (uint32_t)n * n, SAMPLE_HALVES);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tensor_good, dim3(n / TILE, n / TILE), 256, 0, (float *)s.out,
			      (const __half *)s.in, n);
	return sample_end(&s, "tensor_good");
}
