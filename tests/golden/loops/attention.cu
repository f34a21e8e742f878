/*
 * attention.cu - softmax, attention and normalisation: loops as gemm.cu marks them.
 */
#include <cuda_fp16.h>
#include <mma.h>

/* Three passes over a row. */
extern "C" __global__ void softmax_three_pass(const float *in, float *out, int n)
{
	const float *row = in + (size_t)blockIdx.x * n;
	float most = -1e30f, sum = 0;

#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) /* loop most: LDG FMNMX ; n / 32 */
		most = fmaxf(most, row[i]);       /* end most */
#pragma unroll 1
	for (int d = 16; d; d >>= 1) /* loop warp_most: SHFL FMNMX ; 5 */
		most = fmaxf(most, __shfl_xor_sync(~0u, most, d)); /* end warp_most */
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) /* loop sum: LDG MUFU FADD ; n / 32 */
		sum += __expf(row[i] - most);     /* end sum */
#pragma unroll 1
	for (int d = 16; d; d >>= 1)                 /* loop warp_sum: SHFL FADD ; 5 */
		sum += __shfl_xor_sync(~0u, sum, d); /* end warp_sum */
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) /* loop scale: LDG MUFU STG ; n / 32 */
		out[(size_t)blockIdx.x * n + i] =
			__expf(row[i] - most) * __frcp_rn(sum); /* end scale */
}

/* The running maximum corrects the running sum; shuffles unrolled. */
extern "C" __global__ void softmax_online(const float *in, float *out, int n)
{
	const float *row = in + (size_t)blockIdx.x * n;
	float most = -1e30f, sum = 0;

#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) { /* loop online: LDG FMNMX MUFU FFMA ; n / 32 */
		const float v = row[i], m = fmaxf(most, v);

		sum = sum * __expf(most - m) + __expf(v - m);
		most = m;
	} /* end online */
#pragma unroll
	for (int d = 16; d; d >>= 1) {
		const float m = __shfl_xor_sync(~0u, most, d), s = __shfl_xor_sync(~0u, sum, d),
			    both = fmaxf(most, m);

		sum = sum * __expf(most - both) + s * __expf(m - both);
		most = both;
	}
	sum = 1 / sum;
	/* loop scale: LDG MUFU STG ; n / 32, unrolled and remainder */
	for (int i = threadIdx.x; i < n; i += 32) {
		out[(size_t)blockIdx.x * n + i] = __expf(row[i] - most) * sum;
	} /* end scale */
}

/* Keys and values pass by in tiles; scalar products and the weighted sum are loops within. */
extern "C" __global__ void flash_scalar(const float *q, const float *k, const float *v, float *out,
					int n, int d)
{
	extern __shared__ float tile[];
	float *ks = tile, *vs = tile + 32 * d, *acc = tile + 64 * d + threadIdx.x * d;
	const float *mine = q + (size_t)(blockIdx.x * 32 + threadIdx.x) * d;
	float most = -1e30f, sum = 0;

#pragma unroll 1
	for (int i = 0; i < d; i++) { /* loop clear: STS ; d */
		acc[i] = 0;
	} /* end clear */
#pragma unroll 1
	for (int j = 0; j < n; j += 32) { /* loop kv: BAR ; n / 32 */
		__syncthreads();
#pragma unroll 1
		for (int i = threadIdx.x; i < 32 * d; i += 32) { /* loop fill: LDG STS ; d */
			ks[i] = k[(size_t)j * d + i];
			vs[i] = v[(size_t)j * d + i];
		} /* end fill */
		__syncthreads();
#pragma unroll 1
		for (int r = 0; r < 32; r++) { /* loop row: MUFU FMNMX ; 32 */
			float s = 0;

#pragma unroll 1
			for (int i = 0; i < d; i++) { /* loop dot: LDG LDS FFMA ; d */
				s += mine[i] * ks[r * d + i];
			} /* end dot */
			const float m = fmaxf(most, s), scale = __expf(most - m), p = __expf(s - m);

			sum = sum * scale + p;
			most = m;
#pragma unroll 1
			for (int i = 0; i < d; i++) { /* loop weigh: LDS STS FFMA ; d */
				acc[i] = acc[i] * scale + p * vs[r * d + i];
			} /* end weigh */
		}         /* end row */
	}                 /* end kv */
#pragma unroll 1
	for (int i = 0; i < d; i++) { /* loop write: LDS STG ; d */
		out[(size_t)(blockIdx.x * 32 + threadIdx.x) * d + i] = __fdividef(acc[i], sum);
	} /* end write */
}

/* On tensor cores: the outer loop over keys, within it one over the head's dimension. */
extern "C" __global__ void flash_tensor(const half *q, const half *k, const half *v, float *out,
					int n, int d)
{
	using namespace nvcuda;
	__shared__ __align__(128) float scores[16 * 16];
	__shared__ __align__(128) half weights[16 * 16];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;

	wmma::fill_fragment(acc, 0.0f);
#pragma unroll 1
	for (int j = 0; j < n; j += 16) { /* loop kv: HMMA ; n / 16 */
		wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;

		wmma::fill_fragment(s, 0.0f);
#pragma unroll 1
		for (int i = 0; i < d; i += 16) { /* loop dk: HMMA ; d / 16 */
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fq;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fk;

			wmma::load_matrix_sync(fq, q + i, d);
			wmma::load_matrix_sync(fk, k + (size_t)j * d + i, d);
			wmma::mma_sync(s, fq, fk, s);
		} /* end dk */
		wmma::store_matrix_sync(scores, s, 16, wmma::mem_row_major);
		__syncwarp();
#pragma unroll 1
		for (int i = threadIdx.x; i < 256; i += 32) { /* loop exponent: LDS MUFU STS ; 8 */
			weights[i] = __float2half(__expf(scores[i]));
		} /* end exponent */
		__syncwarp();
		wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fw;
		wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fv;

		wmma::load_matrix_sync(fw, weights, 16);
		wmma::load_matrix_sync(fv, v + (size_t)j * d, d);
		wmma::mma_sync(acc, fw, fv, acc);
	} /* end kv */
	wmma::store_matrix_sync(out, acc, 16, wmma::mem_row_major);
}

/* Mean, deviation and output: three loops over the row, sums through shared memory. */
extern "C" __global__ void layernorm(const float *in, float *out, int n)
{
	__shared__ float part[32];
	float sum = 0, square = 0;

	/* loop read: LDG FADD FFMA ; n / block, unrolled and remainder */
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		const float v = in[(size_t)blockIdx.x * n + i];

		sum += v;
		square += v * v;
	} /* end read */
#pragma unroll 1
	for (int d = 16; d; d >>= 1) { /* loop warp: SHFL FADD ; 5 */
		sum += __shfl_down_sync(~0u, sum, d);
		square += __shfl_down_sync(~0u, square, d);
	} /* end warp */
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum + square;
	__syncthreads();
	sum = 0;
#pragma unroll 1
	for (int w = 0; w < blockDim.x / 32; w++) { /* loop block: LDS FADD ; warps */
		sum += part[w];
	} /* end block */
	/* loop write: LDG STG FFMA ; n / block, unrolled and remainder */
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		out[(size_t)blockIdx.x * n + i] = in[(size_t)blockIdx.x * n + i] * sum + square;
	} /* end write */
}
