/*
 * tensor_bad.cu - an fp16 matrix product in FFMA, and well made: tiles in shared memory, 8 x 8 results a thread.
 * Wrong: the FP32 pipe is full and the tensor cores idle, which do the same many times faster.
 * A report should say: no matrix instructions in a GEMM; use the tensor cores.
 * Advice: KBN-A011.
 * Cure: tensor_good.cu.
 */
#include <cuda_fp16.h>

#include "sample.h"

#define TILE  128 /* results of a block on each side */
#define DEPTH 16  /* of a tile of the operands */

struct tiles {
	float a[DEPTH][TILE], b[DEPTH][TILE];
};

/*
 * Eight halves of a row become floats in a column each. Columns of the second eight are turned by 16, so that the
 * two lanes of a row write to different banks.
 */
static __device__ void put(float (*tile)[TILE], int row, int k, uint4 halves)
{
	const __half *h = (const __half *)&halves;

#pragma unroll
	for (int i = 0; i < 8; i++)
		tile[k + i][(row + k * 2) % TILE] = __half2float(h[i]);
}

static __device__ void get(float v[8], const float (*tile)[TILE], int k, int first)
{
	const int turn = k / 8 * 16;

	*(float4 *)v = *(const float4 *)&tile[k][(first + turn) % TILE];
	*(float4 *)(v + 4) = *(const float4 *)&tile[k][(TILE / 2 + first + turn) % TILE];
}

/* in: A (n x n, row-major), then B (n x n, column-major); out: C (n x n) in float. n is a multiple of 128. */
extern "C" __global__ void __launch_bounds__(256, 2) tensor_bad(float *out, const __half *in, int n)
{
	__shared__ tiles stage[2];
	const int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
	const int line = threadIdx.x / 2, at = threadIdx.x % 2 * 8;
	const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
	const __half *a = in + (size_t)(row + line) * n + at;
	const __half *b = in + (size_t)n * n + (size_t)(col + line) * n + at;
	uint4 next_a = *(const uint4 *)a, next_b = *(const uint4 *)b;
	float sum[8][8] = {};

#pragma unroll 1
	for (int k = 0, now = 0; k < n; k += DEPTH, now ^= 1) {
		put(stage[now].a, line, at, next_a);
		put(stage[now].b, line, at, next_b);
		__syncthreads();
		if (k + DEPTH < n) {
			next_a = *(const uint4 *)(a + k + DEPTH);
			next_b = *(const uint4 *)(b + k + DEPTH);
		}
#pragma unroll
		for (int j = 0; j < DEPTH; j++) {
			float u[8], v[8];

			get(u, stage[now].a, j, y);
			get(v, stage[now].b, j, x);
#pragma unroll
			for (int i = 0; i < 64; i++)
				sum[i / 8][i % 8] = fmaf(u[i / 8], v[i % 8], sum[i / 8][i % 8]);
		}
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
#pragma unroll
		for (int j = 0; j < 8; j += 4)
			*(float4 *)&out[(size_t)(row + i / 4 * TILE / 2 + y + i % 4) * n + col +
					j / 4 * TILE / 2 + x] = *(float4 *)&sum[i][j];
}

int main(int argc, char **argv)
{
	const int n = 4096;
	struct sample s = sample_begin(argc, argv, (uint32_t)n * n, SAMPLE_HALVES);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, tensor_bad, dim3(n / TILE, n / TILE), 256, 0, (float *)s.out,
			      (const __half *)s.in, n);
	return sample_end(&s, "tensor_bad");
}
