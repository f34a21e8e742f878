/*
 * published.cu - the two cases of the published rule rebuilt: what a K-tile computes against what it loads.
 * A warp takes 64 columns of the tiles of A and B from global memory into shared memory in each iteration.
 */
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

using namespace nvcuda;

/* 32 products of 16 x 16 x 16 a tile, two HMMA each: 64 HMMA; two loads of 16 bytes a thread. */
extern "C" __global__ void hmma_64(const uint4 *a, const uint4 *b, float *c, int tiles)
{
	__shared__ __align__(128) half as[4 * 256], bs[4 * 256];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[8];
	const int t = threadIdx.x;

	for (int i = 0; i < 8; i++)
		wmma::fill_fragment(sum[i], 0.0f);
#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		((uint4 *)as)[t] = a[k * 128 + t];
		((uint4 *)bs)[t] = b[k * 128 + t];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < 4; i++) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;

			wmma::load_matrix_sync(fa, as + i * 256, 16);
#pragma unroll
			for (int j = 0; j < 8; j++) {
				wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;

				wmma::load_matrix_sync(fb, bs + j % 4 * 256 + j / 4 * 8, 16);
				wmma::mma_sync(sum[j], fa, fb, sum[j]);
			}
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		wmma::store_matrix_sync(c + i * 256, sum[i], 16, wmma::mem_row_major);
}

/* 4 products of 16 x 16 x 16 bytes a tile, two IMMA each: 8 IMMA; four loads of 16 bytes a thread. */
extern "C" __global__ void imma_8(const uint4 *a, const uint4 *b, int *c, int tiles)
{
	__shared__ __align__(128) signed char as[4096], bs[4096];
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum[2];
	const int t = threadIdx.x;

	for (int i = 0; i < 2; i++)
		wmma::fill_fragment(sum[i], 0);
#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		((uint4 *)as)[t] = a[k * 256 + t];
		((uint4 *)as)[t + 128] = a[k * 256 + t + 128];
		((uint4 *)bs)[t] = b[k * 256 + t];
		((uint4 *)bs)[t + 128] = b[k * 256 + t + 128];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < 2; i++) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;

			wmma::load_matrix_sync(fa, as + t / 32 * 1024 + i * 256, 16);
#pragma unroll
			for (int j = 0; j < 2; j++) {
				wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char,
					       wmma::col_major>
					fb;

				wmma::load_matrix_sync(fb, bs + t / 32 * 1024 + j * 256, 16);
				wmma::mma_sync(sum[j], fa, fb, sum[j]);
			}
		}
		__syncthreads();
	}
	for (int i = 0; i < 2; i++)
		wmma::store_matrix_sync(c + i * 256, sum[i], 16, wmma::mem_row_major);
}

/* As hmma_64 with copies that do not wait. */
extern "C" __global__ void hmma_async(const uint4 *a, const uint4 *b, float *c, int tiles)
{
	__shared__ __align__(128) half as[4 * 256], bs[4 * 256];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
	const int t = threadIdx.x;
	const uint32_t to_a = (uint32_t)__cvta_generic_to_shared(as + t * 8);
	const uint32_t to_b = (uint32_t)__cvta_generic_to_shared(bs + t * 8);

	wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_a),
			     "l"(a + k * 128 + t)
			     : "memory");
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_b),
			     "l"(b + k * 128 + t)
			     : "memory");
		asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
		__syncthreads();
#pragma unroll
		for (int i = 0; i < 4; i++) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;

			wmma::load_matrix_sync(fa, as + i * 256, 16);
			wmma::load_matrix_sync(fb, bs + i * 256, 16);
			wmma::mma_sync(sum, fa, fb, sum);
		}
		__syncthreads();
	}
	wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
