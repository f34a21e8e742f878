/*
 * app_pairs_third_sm.cu - third set of pairs with one fault each and its cure, as people write them:
 * shared memory, barriers, products, and loads beside work. Both of a pair compute the same, which is
 * checked (pairs.h). No output; usage: app_pairs_third_sm
 */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "pairs.h"

/* ------------------------------------------------------------------------------ banks */

#define LINE 4096 /* points of a Hadamard transform: 512 threads with eight each, four times */

/* Eight points, three of the twelve bits of their numbers. */
__device__ static inline void butterflies(float *v)
{
#pragma unroll
	for (int half = 1; half < 8; half *= 2)
#pragma unroll
		for (int k = 0; k < 8; k++)
			if (!(k & half)) {
				float a = v[k], b = v[k + half];

				v[k] = a + b;
				v[k + half] = a - b;
			}
}

/* The number of the first point of this thread while points that are `step` apart are dealt with. */
__device__ static inline unsigned first_of(unsigned step)
{
	return threadIdx.x / step * step * 8 + threadIdx.x % step;
}

/* Where point k of these is, with a word left out after each PAD. */
template <int PAD> __device__ static inline unsigned place(unsigned step, unsigned k)
{
	const unsigned first = first_of(step), pad = PAD ? PAD : 1u << 31;

	return first + first / pad + k * (step + step / pad);
}

template <int PAD>
__device__ static inline void exchange(float *v, float *s, unsigned from, unsigned to)
{
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 8; k++)
		s[place<PAD>(from, k)] = v[k];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = s[place<PAD>(to, k)];
	butterflies(v);
}

/* There, times a diagonal, and back. */
template <int PAD>
__device__ static inline void hadamard(float *out, const float *in, const float *diagonal, float *s)
{
	const long long first = (long long)blockIdx.x * LINE;
	float v[8];

#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = in[first + first_of(512) + 512 * k];
	butterflies(v);
	exchange<PAD>(v, s, 512, 64);
	exchange<PAD>(v, s, 64, 8);
	exchange<PAD>(v, s, 8, 1);
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] *= diagonal[first_of(1) + k];
	butterflies(v);
	exchange<PAD>(v, s, 1, 8);
	exchange<PAD>(v, s, 8, 64);
	exchange<PAD>(v, s, 64, 512);
#pragma unroll
	for (int k = 0; k < 8; k++)
		out[first + first_of(512) + 512 * k] = v[k] * (1.0f / LINE);
}

extern "C" __global__ void __launch_bounds__(512)
	hadamard_plain(float *out, const float *in, const float *diagonal)
{
	__shared__ float s[LINE];

	hadamard<0>(out, in, diagonal, s);
}

extern "C" __global__ void __launch_bounds__(512)
	hadamard_padded(float *out, const float *in, const float *diagonal)
{
	__shared__ float s[LINE + LINE / 8];

	hadamard<8>(out, in, diagonal, s);
}

/* ------------------------------------------------------------------------------ reuse */

__constant__ float pattern[64];

/* 32 x 64 places and what lies right of and below them. */
__device__ static inline void bring(float (*s)[40], const float *image, int n)
{
	for (int y = threadIdx.y; y < 71; y += 8)
		for (int x = threadIdx.x; x < 39; x += 32)
			s[y][x] = image[min(blockIdx.y * 64 + y, n - 1) * n +
					min(blockIdx.x * 32 + x, n - 1)];
	__syncthreads();
}

/* How alike a pattern of 8 x 8 and each place of an image are: eight places, one after the other. */
extern "C" __global__ void match_place(float *out, const float *image, int n)
{
	__shared__ float s[71][40];
	const int x = threadIdx.x;

	bring(s, image, n);
	for (int y = threadIdx.y; y < 64; y += 8) {
		float sum = 0.0f;

#pragma unroll
		for (int k = 0; k < 64; k++)
			sum += s[y + k / 8][x + k % 8] * pattern[k];
		out[(blockIdx.y * 64 + y) * n + blockIdx.x * 32 + x] = sum;
	}
}

/* Eight places below each other, for which a word is read once. */
extern "C" __global__ void match_column(float *out, const float *image, int n)
{
	__shared__ float s[71][40];
	const int x = threadIdx.x, top = threadIdx.y * 8;
	float sum[8] = {};

	bring(s, image, n);
#pragma unroll
	for (int c = 0; c < 8; c++)
#pragma unroll
		for (int r = 0; r < 15; r++) {
			float v = s[top + r][x + c];

#pragma unroll
			for (int y = 0; y < 8; y++)
				if (r - y >= 0 && r - y < 8)
					sum[y] += v * pattern[(r - y) * 8 + c];
		}
#pragma unroll
	for (int y = 0; y < 8; y++)
		out[(blockIdx.y * 64 + top + y) * n + blockIdx.x * 32 + x] = sum[y];
}

/* ------------------------------------------------------------------------------ products */

#define TOKENS 512
#define HEAD   64

extern "C" __global__ void to_halves(half *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = __float2half(in[i]);
}

/* Each query times each key of its head: tiles of 64 x 64, 4 x 4 for each thread. */
extern "C" __global__ void attend_float(float *out, const half *queries, const half *keys)
{
	__shared__ float q[64][HEAD + 1], k[64][HEAD + 1];
	const int tid = threadIdx.x, x = tid % 16, y = tid / 16, head = blockIdx.z;
	const half *from_q = queries + (head * TOKENS + blockIdx.y * 64) * HEAD;
	const half *from_k = keys + (head * TOKENS + blockIdx.x * 64) * HEAD;
	float sum[4][4] = {};

	for (int i = tid; i < 64 * HEAD; i += 256) {
		q[i / HEAD][i % HEAD] = __half2float(from_q[i]);
		k[i / HEAD][i % HEAD] = __half2float(from_k[i]);
	}
	__syncthreads();
	for (int d = 0; d < HEAD; d++) {
		float a[4], b[4];

#pragma unroll
		for (int j = 0; j < 4; j++) {
			a[j] = q[y + 16 * j][d];
			b[j] = k[x + 16 * j][d];
		}
#pragma unroll
		for (int j = 0; j < 16; j++)
			sum[j / 4][j % 4] += a[j / 4] * b[j % 4];
	}
#pragma unroll
	for (int j = 0; j < 16; j++)
		out[(head * TOKENS + blockIdx.y * 64 + y + 16 * (j / 4)) * TOKENS +
		    blockIdx.x * 64 + x + 16 * (j % 4)] = sum[j / 4][j % 4];
}

/* The same tiles, 32 x 32 for each of four warps. */
extern "C" __global__ void attend_tensor(float *out, const half *queries, const half *keys)
{
	using namespace nvcuda::wmma;
	const int warp = threadIdx.x / 32, head = blockIdx.z;
	const int row = blockIdx.y * 64 + warp / 2 * 32, col = blockIdx.x * 64 + warp % 2 * 32;
	const half *from_q = queries + (head * TOKENS + row) * HEAD;
	const half *from_k = keys + (head * TOKENS + col) * HEAD;
	float *to = out + (head * TOKENS + row) * TOKENS + col;
	fragment<matrix_a, 16, 16, 16, half, row_major> a[2];
	fragment<matrix_b, 16, 16, 16, half, col_major> b[2];
	fragment<accumulator, 16, 16, 16, float> sum[4];

#pragma unroll
	for (int j = 0; j < 4; j++)
		fill_fragment(sum[j], 0.0f);
#pragma unroll
	for (int d = 0; d < HEAD; d += 16) {
		for (int j = 0; j < 2; j++) {
			load_matrix_sync(a[j], from_q + 16 * j * HEAD + d, HEAD);
			load_matrix_sync(b[j], from_k + 16 * j * HEAD + d, HEAD);
		}
		for (int j = 0; j < 4; j++)
			mma_sync(sum[j], a[j / 2], b[j % 2], sum[j]);
	}
#pragma unroll
	for (int j = 0; j < 4; j++)
		store_matrix_sync(to + j / 2 * 16 * TOKENS + j % 2 * 16, sum[j], TOKENS,
				  mem_row_major);
}

/* ------------------------------------------------------------------------------ loads beside work */

/* The potential of a charge among the 64 of its cluster; the block holds four of them. */
__device__ static inline float potential(const float4 *tile)
{
	const float4 me = tile[threadIdx.x], *cluster = tile + threadIdx.x / 64 * 64;
	float sum = 0.0f;

#pragma unroll 8
	for (int k = 0; k < 64; k++) {
		float4 other = cluster[k];
		float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;

		sum += other.w * rsqrtf(dx * dx + dy * dy + dz * dz + 0.25f);
	}
	return sum;
}

/* Nothing comes in while a block computes. */
extern "C" __global__ void clusters_waits(float *out, const float4 *in, int tiles)
{
	__shared__ float4 tile[256];

	for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
		tile[threadIdx.x] = in[t * 256 + threadIdx.x];
		__syncthreads();
		out[t * 256 + threadIdx.x] = potential(tile);
		__syncthreads();
	}
}

/* Three tiles are under way while a block computes. */
extern "C" __global__ void clusters_ahead(float *out, const float4 *in, int tiles)
{
	__shared__ float4 tile[4][256];
	const int tid = threadIdx.x, stride = gridDim.x;
	int turn = 0;

	for (int k = 0; k < 3; k++) {
		int t = blockIdx.x + k * stride;

		if (t < tiles)
			__pipeline_memcpy_async(&tile[k][tid], &in[t * 256 + tid], 16);
		__pipeline_commit();
	}
	for (int t = blockIdx.x; t < tiles; t += stride, turn++) {
		__pipeline_wait_prior(2);
		__syncthreads();
		if (t + 3 * stride < tiles)
			__pipeline_memcpy_async(&tile[(turn + 3) % 4][tid],
						&in[(t + 3 * stride) * 256 + tid], 16);
		__pipeline_commit();
		out[t * 256 + tid] = potential(tile[turn % 4]);
	}
}

/* ------------------------------------------------------------------------------ barriers */

#define SETS 16 /* right sides for each warp */

/* Triangular systems of 32 unknowns, one matrix for all: a warp for each right side, a row a lane. */
extern "C" __global__ void forward_barriers(float *out, const float *in, const float *matrix)
{
	__shared__ float known[16];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	float coefficient[32];

#pragma unroll
	for (int j = 0; j < 32; j++)
		coefficient[j] = lane > j ? 0.125f * matrix[j * 32 + lane] : 0.0f;
	for (int set = 0; set < SETS; set++) {
		const int at = (blockIdx.x * SETS + set) * 512 + threadIdx.x;
		float v = in[at];

#pragma unroll
		for (int j = 0; j < 32; j++) {
			if (lane == j)
				known[warp] = v;
			__syncthreads();
			v -= coefficient[j] * known[warp];
			__syncthreads();
		}
		out[at] = v;
	}
}

/* What is known comes from the lane that knows it. */
extern "C" __global__ void forward_lanes(float *out, const float *in, const float *matrix)
{
	const int lane = threadIdx.x % 32;
	float coefficient[32];

#pragma unroll
	for (int j = 0; j < 32; j++)
		coefficient[j] = lane > j ? 0.125f * matrix[j * 32 + lane] : 0.0f;
	for (int set = 0; set < SETS; set++) {
		const int at = (blockIdx.x * SETS + set) * 512 + threadIdx.x;
		float v = in[at];

#pragma unroll
		for (int j = 0; j < 32; j++)
			v -= coefficient[j] * __shfl_sync(0xffffffffu, v, j);
		out[at] = v;
	}
}

/* ------------------------------------------------------------------------------ one for all */

/* The sum over the block as many write it: one thread adds up what all of them left. */
__device__ static inline float leader_sum(float v, float *part)
{
	__syncthreads();
	part[threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		float sum = 0.0f;

		for (int k = 0; k < 512; k++)
			sum += part[k];
		part[0] = sum;
	}
	__syncthreads();
	return part[0];
}

/* Group norm: groups of 2048 words, a block for each. */
template <typename Sum>
__device__ static inline void group_norm(float4 *out, const float4 *in, Sum sum)
{
	const int i = blockIdx.x * 512 + threadIdx.x;
	float4 v = in[i];
	float mean = sum(v.x + v.y + v.z + v.w) * (1.0f / 2048), scale;

	v.x -= mean;
	v.y -= mean;
	v.z -= mean;
	v.w -= mean;
	scale = rsqrtf(sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) * (1.0f / 2048) + 1e-5f);
	v.x *= scale;
	v.y *= scale;
	v.z *= scale;
	v.w *= scale;
	out[i] = v;
}

extern "C" __global__ void group_leader(float4 *out, const float4 *in)
{
	__shared__ float part[512];

	group_norm(out, in, [=](float v) { return leader_sum(v, part); });
}

extern "C" __global__ void group_warps(float4 *out, const float4 *in)
{
	__shared__ float part[16];

	group_norm(out, in, [=](float v) { return block_sum(v, part); });
}

/* ------------------------------------------------------------------------------ all of them */

static void shared_memory(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int lines = (int)(BIG / 4 / LINE), n = 4096;

	pair(
		p, "hadamard", BIG / 4, 1e-5f,
		[=](float *out) { hadamard_plain<<<lines, 512>>>(out, in, in2); },
		[=](float *out) { hadamard_padded<<<lines, 512>>>(out, in, in2); });
	CHECK(cudaMemcpyToSymbol(pattern, in2, sizeof(pattern), 0, cudaMemcpyDeviceToDevice));
	pair(
		p, "match", n * n, 1e-4f,
		[=](float *out) { match_place<<<dim3(n / 32, n / 64), dim3(32, 8)>>>(out, in, n); },
		[=](float *out) {
			match_column<<<dim3(n / 32, n / 64), dim3(32, 8)>>>(out, in, n);
		});
}

static void products(struct pairs *p)
{
	const int heads = 64, n = heads * TOKENS * HEAD;
	half *queries, *keys;

	CHECK(cudaMalloc(&queries, 2ll * n));
	CHECK(cudaMalloc(&keys, 2ll * n));
	to_halves<<<n / 256, 256>>>(queries, p->in);
	to_halves<<<n / 256, 256>>>(keys, p->in2);
	pair(
		p, "attend", heads * TOKENS * TOKENS, 1e-3f,
		[=](float *out) {
			attend_float<<<dim3(TOKENS / 64, TOKENS / 64, heads), 256>>>(out, queries,
										     keys);
		},
		[=](float *out) {
			attend_tensor<<<dim3(TOKENS / 64, TOKENS / 64, heads), 128>>>(out, queries,
										      keys);
		});
	CHECK(cudaFree(queries));
	CHECK(cudaFree(keys));
}

static void together(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int tiles = 1 << 16, systems = 1 << 24, sms = p->sms;

	pair(
		p, "clusters", tiles * 256, 1e-4f,
		[=](float *out) { clusters_waits<<<sms, 256>>>(out, (const float4 *)in, tiles); },
		[=](float *out) { clusters_ahead<<<sms, 256>>>(out, (const float4 *)in, tiles); });
	pair(
		p, "forward", systems, 1e-5f,
		[=](float *out) { forward_barriers<<<systems / 512 / SETS, 512>>>(out, in, in2); },
		[=](float *out) { forward_lanes<<<systems / 512 / SETS, 512>>>(out, in, in2); });
	pair(
		p, "group", BIG / 4, 1e-4f,
		[=](float *out) {
			group_leader<<<(unsigned)(BIG / 4 / 2048), 512>>>((float4 *)out,
									  (const float4 *)in);
		},
		[=](float *out) {
			group_warps<<<(unsigned)(BIG / 4 / 2048), 512>>>((float4 *)out,
									 (const float4 *)in);
		});
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	shared_memory(&p);
	products(&p);
	together(&p);
	return p.failed;
}
