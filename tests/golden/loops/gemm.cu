/*
 * gemm.cu - matrix products: each loop is named where it begins and where it ends, with the operations
 * that its machine code must hold (README.md says how the marks are read).
 */
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

#define TILE 16

/* A tile of A and of B through shared memory, one output a thread. */
extern "C" __global__ void gemm_simt(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
	const int x = threadIdx.x, y = threadIdx.y;
	const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
	float sum = 0;

	/* loop tile: LDG STS BAR LDS FFMA ; n / 16, dot unrolled */
	for (int k = 0; k < n; k += TILE) {
		as[y][x] = a[row * n + k + x];
		bs[y][x] = b[(k + y) * n + column];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < TILE; i++)
			sum += as[y][i] * bs[i][x];
		__syncthreads();
	} /* end tile */
	c[row * n + column] = sum;
}

/* The same with the inner product kept as a loop, and 4 x 4 outputs a thread. */
extern "C" __global__ void gemm_simt_inner(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][64], bs[TILE][64];
	const int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4;
	float sum[4][4] = {};

	for (int k = 0; k < n; k += TILE) { /* loop tile: LDG STS BAR ; n / 16 */
#pragma unroll
		for (int i = 0; i < 4; i++) {
			as[t / 64 + i * 4][t % 64] =
				a[(blockIdx.y * 64 + t % 64) * n + k + t / 64 + i * 4];
			bs[t / 64 + i * 4][t % 64] =
				b[(k + t / 64 + i * 4) * n + blockIdx.x * 64 + t % 64];
		}
		__syncthreads();
#pragma unroll 1
		for (int i = 0; i < TILE; i++) { /* loop dot: LDS FFMA ; 16 */
#pragma unroll
			for (int u = 0; u < 4; u++)
#pragma unroll
				for (int v = 0; v < 4; v++)
					sum[u][v] += as[i][y + u] * bs[i][x + v];
		} /* end dot */
		__syncthreads();
	} /* end tile */
#pragma unroll 1
	for (int u = 0; u < 4; u++) { /* loop store: STG ; 4 */
		float v = u == 0 ? sum[0][0] : u == 1 ? sum[1][1] : u == 2 ? sum[2][2] : sum[3][3];
		c[(blockIdx.y * 64 + y + u) * n + blockIdx.x * 64 + x] = v + sum[0][1] * sum[3][2];
	} /* end store */
}

#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
	const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

static __device__ __forceinline__ void commit(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LEFT> static __device__ __forceinline__ void wait_copies(void)
{
	asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Tensor cores, two buffers filled with cp.async: the next tile flies while this one is used. */
extern "C" __global__ void gemm_double_buffer(const half *a, const half *b, float *c, int n)
{
	using namespace nvcuda;
	__shared__ __align__(128) half as[2][64 * 16], bs[2][16 * 64];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
	const int t = threadIdx.x, warp = t / 32;
	int now = 0;

	wmma::fill_fragment(sum, 0.0f);
	copy_async(&as[0][t * 8], a + (blockIdx.y * 64 + t / 2) * n + t % 2 * 8);
	copy_async(&bs[0][t * 8], b + t / 8 * n + blockIdx.x * 64 + t % 8 * 8);
	commit();
#pragma unroll 1
	/* loop tile: LDGSTS LDGDEPBAR DEPBAR BAR HMMA ; n / 16 - 1 */
	for (int k = 16; k < n; k += 16) {
		copy_async(&as[now ^ 1][t * 8], a + (blockIdx.y * 64 + t / 2) * n + k + t % 2 * 8);
		copy_async(&bs[now ^ 1][t * 8], b + (k + t / 8) * n + blockIdx.x * 64 + t % 8 * 8);
		commit();
		wait_copies<1>();
		__syncthreads();
		wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
		wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
		wmma::load_matrix_sync(fa, &as[now][warp / 2 * 16 * 16], 16);
		wmma::load_matrix_sync(fb, &bs[now][warp % 2 * 16], 64);
		wmma::mma_sync(sum, fa, fb, sum);
		__syncthreads();
		now ^= 1;
	} /* end tile */
	wmma::store_matrix_sync(c + (blockIdx.y * 64 + warp / 2 * 16) * n + blockIdx.x * 64 +
					warp % 2 * 16,
				sum, n, wmma::mem_row_major);
}

/* Four stages in a ring; within a stage a loop over k that is kept. */
extern "C" __global__ void gemm_multistage(const half *a, const half *b, float *c, int n, int inner)
{
	using namespace nvcuda;
	extern __shared__ __align__(128) half ring[];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
	const int t = threadIdx.x, warp = t / 32;
	int read = 0, write = 3;

	wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
	for (int s = 0; s < 3; s++) { /* loop prologue: LDGSTS ; 3 */
		copy_async(ring + s * 4096 + t * 8, a + t * n + s * 64);
		copy_async(ring + s * 4096 + 2048 + t * 8, b + t * n + s * 64);
		commit();
	} /* end prologue */
#pragma unroll 1
	for (int k = 0; k < n; k += 64) { /* loop stage: DEPBAR BAR LDGSTS ; n / 64 */
		wait_copies<2>();
		__syncthreads();
		copy_async(ring + write * 4096 + t * 8, a + t * n + k + 192);
		copy_async(ring + write * 4096 + 2048 + t * 8, b + t * n + k + 192);
		commit();
#pragma unroll 1
		for (int i = 0; i < inner; i++) { /* loop step: HMMA ; inner */
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
			wmma::load_matrix_sync(fa, ring + read * 4096 + warp * 256 + i * 16, 64);
			wmma::load_matrix_sync(fb, ring + read * 4096 + 2048 + i * 16, 64);
			wmma::mma_sync(sum, fa, fb, sum);
		} /* end step */
		read = (read + 1) & 3;
		write = (write + 1) & 3;
	} /* end stage */
	wmma::store_matrix_sync(c + warp * 16 * n, sum, n, wmma::mem_row_major);
}
#endif

#if __CUDA_ARCH__ >= 900
static __device__ __forceinline__ void wait_parity(uint32_t barrier, uint32_t parity)
{
	uint32_t done;

	do { /* loop wait: SYNCS ; until the phase is over */
		asm volatile(
			"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
			: "=r"(done)
			: "r"(barrier), "r"(parity)
			: "memory");
	} while (!done); /* end wait */
}

/* A warp that fetches with bulk copies, and others that multiply: two loops that never meet. */
extern "C" __global__ void gemm_specialised(const half *a, float *c, int n)
{
	using namespace nvcuda;
	__shared__ __align__(128) half ring[4][2048];
	__shared__ __align__(8) uint64_t full[4], empty[4];
	const uint32_t f = (uint32_t)__cvta_generic_to_shared(full),
		       e = (uint32_t)__cvta_generic_to_shared(empty);
	const uint32_t r = (uint32_t)__cvta_generic_to_shared(ring);
	const int warp = threadIdx.x / 32;

	if (threadIdx.x == 0) {
#pragma unroll 1
		for (int s = 0; s < 4; s++) { /* loop init: SYNCS ; 4 */
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(f + s * 8)
				     : "memory");
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 96;" ::"r"(e + s * 8)
				     : "memory");
		} /* end init */
	}
	__syncthreads();
	if (warp == 0) {
		if (threadIdx.x)
			return;
#pragma unroll 1
		for (int k = 0; k < n; k++) { /* loop produce: UBLKCP SYNCS ; n */
			const int s = k & 3;

			wait_parity(e + s * 8, (k >> 2 & 1) ^ 1);
			asm volatile(
				"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(
					f + s * 8)
				: "memory");
			asm volatile(
				"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];" ::
					"r"(r + s * 4096),
				"l"(a + (size_t)k * 2048), "r"(f + s * 8)
				: "memory");
		} /* end produce */
	} else {
		wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;

		wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
		for (int k = 0; k < n; k++) { /* loop consume: HMMA SYNCS ; n */
			const int s = k & 3;
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;

			wait_parity(f + s * 8, k >> 2 & 1);
			wmma::load_matrix_sync(fa, ring[s] + warp * 256, 16);
			wmma::load_matrix_sync(fb, ring[s], 16);
			wmma::mma_sync(sum, fa, fb, sum);
			asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(e + s * 8)
				     : "memory");
		} /* end consume */
		wmma::store_matrix_sync(c + warp * 256, sum, 16, wmma::mem_row_major);
	}
}
#endif
