/*
 * app_pairs_sm.cu - pairs of kernels with one fault each and its cure, as people write them: what
 * happens inside an SM: products, precision, registers, divergence, barriers, chains, occupancy. Both
 * of a pair compute the same, which is checked (pairs.h). No output; usage: app_pairs_sm
 */
#include <cuda_fp16.h>
#include <mma.h>

#include "pairs.h"

extern "C" {

/* ------------------------------------------------------------------------------ products */

__global__ void sgemm_naive(float *c, const float *a, const float *b, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float s = 0.0f;

	for (int k = 0; k < n; k++)
		s += a[y * n + k] * b[k * n + x];
	c[y * n + x] = s;
}

__global__ void sgemm_tile32(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[32][32], tb[32][32];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
	float s = 0.0f;

	for (int k = 0; k < n; k += 32) {
		ta[ty][tx] = a[y * n + k + tx];
		tb[ty][tx] = b[(k + ty) * n + x];
		__syncthreads();
		for (int j = 0; j < 32; j++)
			s += ta[ty][j] * tb[j][tx];
		__syncthreads();
	}
	c[y * n + x] = s;
}

__global__ void sgemm_tile16(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[16][16], tb[16][16];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	float s = 0.0f;

	for (int k = 0; k < n; k += 16) {
		ta[ty][tx] = a[y * n + k + tx];
		tb[ty][tx] = b[(k + ty) * n + x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
			s += ta[ty][j] * tb[j][tx];
		__syncthreads();
	}
	c[y * n + x] = s;
}

/* 64 by 64 results a block, 4 by 4 in the registers of each of 256 threads. */
__global__ void sgemm_registers(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[16][68], tb[16][64];
	const int t = threadIdx.x, tx = t % 16, ty = t / 16;
	const int x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
	float s[4][4] = {};

	for (int k = 0; k < n; k += 16) {
		float4 va = *(const float4 *)&a[(y0 + t / 4) * n + k + t % 4 * 4];
		float4 vb = *(const float4 *)&b[(k + t / 16) * n + x0 + t % 16 * 4];

		ta[t % 4 * 4 + 0][t / 4] = va.x;
		ta[t % 4 * 4 + 1][t / 4] = va.y;
		ta[t % 4 * 4 + 2][t / 4] = va.z;
		ta[t % 4 * 4 + 3][t / 4] = va.w;
		*(float4 *)&tb[t / 16][t % 16 * 4] = vb;
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++) {
			float4 p = *(const float4 *)&ta[j][ty * 4];
			float4 q = *(const float4 *)&tb[j][tx * 4];
			float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};

#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int l = 0; l < 4; l++)
					s[i][l] += u[i] * v[l];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
		*(float4 *)&c[(y0 + ty * 4 + i) * n + x0 + tx * 4] =
			make_float4(s[i][0], s[i][1], s[i][2], s[i][3]);
}

/* Whole numbers from -2 to 2: sums of 1536 products of them are exact in half precision. */
__global__ void to_half(half *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __float2half(rintf(in[i] * 1.5f));
}

/* 32 by 64 results a block, two neighbours a thread. */
__global__ void hgemm_fma(float *c, const half *a, const half *b, int n)
{
	__shared__ half ta[32][32];
	__shared__ half2 tb[32][32];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 64 + 2 * tx, y = blockIdx.y * 32 + ty;
	half2 s = __float2half2_rn(0.0f);

	for (int k = 0; k < n; k += 32) {
		ta[ty][tx] = a[y * n + k + tx];
		tb[ty][tx] = *(const half2 *)&b[(k + ty) * n + x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 32; j++)
			s = __hfma2(__half2half2(ta[ty][j]), tb[j][tx], s);
		__syncthreads();
	}
	*(float2 *)&c[y * n + x] = __half22float2(s);
}

/* 64 by 64 results a block of four warps, 32 by 32 a warp. */
__global__ void hgemm_mma(float *c, const half *a, const half *b, int n)
{
	using namespace nvcuda::wmma;
	const int w = threadIdx.x / 32;
	const int x = blockIdx.x * 64 + w % 2 * 32, y = blockIdx.y * 64 + w / 2 * 32;
	fragment<matrix_a, 16, 16, 16, half, row_major> fa[2];
	fragment<matrix_b, 16, 16, 16, half, row_major> fb[2];
	fragment<accumulator, 16, 16, 16, float> s[2][2];

	for (int i = 0; i < 4; i++)
		fill_fragment(s[i / 2][i % 2], 0.0f);
	for (int k = 0; k < n; k += 16) {
		for (int i = 0; i < 2; i++) {
			load_matrix_sync(fa[i], a + (y + 16 * i) * n + k, n);
			load_matrix_sync(fb[i], b + k * n + x + 16 * i, n);
		}
		for (int i = 0; i < 4; i++)
			mma_sync(s[i / 2][i % 2], fa[i / 2], fb[i % 2], s[i / 2][i % 2]);
	}
	for (int i = 0; i < 4; i++)
		store_matrix_sync(c + (y + i / 2 * 16) * n + x + i % 2 * 16, s[i / 2][i % 2], n,
				  mem_row_major);
}

/* ------------------------------------------------------------------------------ precision */

/* A damped swing, 256 steps of it. */
__global__ void swing_double(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = in[i], v = 0.0f;

	for (int k = 0; k < 256; k++) {
		v += 0.01 * (-9.81 * x * (1.0 - x * x / 6.0) - 0.1 * v);
		x += 0.01 * v;
	}
	out[i] = x;
}

__global__ void swing_float(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = in[i], v = 0.0f;

	for (int k = 0; k < 256; k++) {
		v += 0.01f * (-9.81f * x * (1.0f - x * x / 6.0f) - 0.1f * v);
		x += 0.01f * v;
	}
	out[i] = x;
}

__global__ void curve_double(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = pow(fabsf(in[i]), 1.5) + sin(in[i] * 3.0);
}

__global__ void curve_float(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = powf(fabsf(in[i]), 1.5f) + sinf(in[i] * 3.0f);
}

/* ------------------------------------------------------------------------------ registers */

/* The eight largest of 64 values: inserted where they belong, or by a fixed row of exchanges. */
__global__ void largest_indexed(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float best[8];

	for (int j = 0; j < 8; j++)
		best[j] = -INFINITY;
	for (int k = 0; k < 64; k++) {
		float v = in[(long long)k * n + i];
		int j = 7;

		if (v <= best[7])
			continue;
		while (j > 0 && best[j - 1] < v) {
			best[j] = best[j - 1];
			j--;
		}
		best[j] = v;
	}
	for (int j = 0; j < 8; j++)
		out[(long long)j * n + i] = best[j];
}

__global__ void largest_exchanged(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float best[8];

#pragma unroll
	for (int j = 0; j < 8; j++)
		best[j] = -INFINITY;
	for (int k = 0; k < 64; k++) {
		float v = in[(long long)k * n + i];

#pragma unroll
		for (int j = 0; j < 8; j++) {
			float high = fmaxf(best[j], v);

			v = fminf(best[j], v);
			best[j] = high;
		}
	}
#pragma unroll
	for (int j = 0; j < 8; j++)
		out[(long long)j * n + i] = best[j];
}

/* A system of eight equations per thread, made diagonally dominant; word e of all systems is together. */
__device__ static __forceinline__ void solve8(float *out, const float *in, const float *right,
					      int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float a[8][8], b[8];

#pragma unroll
	for (int r = 0; r < 8; r++) {
#pragma unroll
		for (int c = 0; c < 8; c++)
			a[r][c] = in[(long long)(r * 8 + c) * n + i];
		a[r][r] += 10.0f;
		b[r] = right[(long long)r * n + i];
	}
#pragma unroll
	for (int k = 0; k < 8; k++) {
		float inverse = 1.0f / a[k][k];

#pragma unroll
		for (int r = k + 1; r < 8; r++) {
			float f = a[r][k] * inverse;

#pragma unroll
			for (int c = k + 1; c < 8; c++)
				a[r][c] -= f * a[k][c];
			b[r] -= f * b[k];
		}
	}
#pragma unroll
	for (int r = 7; r >= 0; r--) {
#pragma unroll
		for (int c = r + 1; c < 8; c++)
			b[r] -= a[r][c] * b[c];
		b[r] /= a[r][r];
		out[(long long)r * n + i] = b[r];
	}
}

__global__ void __launch_bounds__(256, 8)
	solve_squeezed(float *out, const float *in, const float *right, int n)
{
	solve8(out, in, right, n);
}

__global__ void __launch_bounds__(256, 2)
	solve_roomy(float *out, const float *in, const float *right, int n)
{
	solve8(out, in, right, n);
}

/* ------------------------------------------------------------------------------ warps and barriers */

/* Rows of 1024 divided by their length: by a block of 1024 for 64 rows, or by a warp for each. */
__global__ void unit_rows_block(float *out, const float *in)
{
	__shared__ float s[1024];
	const int t = threadIdx.x;

	for (int r = 0; r < 64; r++) {
		long long at = ((long long)blockIdx.x * 64 + r) * 1024 + t;
		float v = in[at];

		s[t] = v * v;
		__syncthreads();
		for (int d = 512; d > 0; d /= 2) {
			if (t < d)
				s[t] += s[t + d];
			__syncthreads();
		}
		out[at] = v * rsqrtf(s[0]);
		__syncthreads();
	}
}

__global__ void unit_rows_warp(float *out, const float *in)
{
	const long long at =
		((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 1024 + threadIdx.x % 32;
	float v[32], s = 0.0f;

#pragma unroll
	for (int j = 0; j < 32; j++) {
		v[j] = in[at + 32 * j];
		s += v[j] * v[j];
	}
	s = rsqrtf(warp_sum(s));
#pragma unroll
	for (int j = 0; j < 32; j++)
		out[at + 32 * j] = v[j] * s;
}

__device__ static inline float settle(float c)
{
	float z = 0.0f;

	for (int k = 0; k < 256; k++)
		z = 0.25f * z * z + c;
	return z;
}

/* Sixteen elements a thread, which leaves one block more than fits at once; or one element a thread. */
__global__ void settle_coarse(float *out, const float *in)
{
	for (int j = 0; j < 16; j++) {
		int i = (blockIdx.x * 16 + j) * blockDim.x + threadIdx.x;

		out[i] = settle(in[i]);
	}
}

__global__ void settle_fine(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = settle(in[i]);
}

__device__ static inline float even_element(float first)
{
	float v = first;

	for (int k = 0; k < 64; k++)
		v = __cosf(v);
	return v * first;
}

__device__ static inline float odd_element(float first)
{
	float v = first;

	for (int k = 0; k < 64; k++)
		v = rsqrtf(1.0f + v * v);
	return v * first;
}

/* Red and black cells have rules of their own. */
__global__ void cells_mixed(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i % 2 ? odd_element(in[i]) : even_element(in[i]);
}

__global__ void cells_sorted(float *out, const float *in)
{
	int half = blockDim.x / 2, first = blockIdx.x * blockDim.x;

	if ((int)threadIdx.x < half) {
		int i = first + 2 * threadIdx.x;

		out[i] = even_element(in[i]);
	} else {
		int i = first + 2 * (threadIdx.x - half) + 1;

		out[i] = odd_element(in[i]);
	}
}

/* ------------------------------------------------------------------------------ chains */

__constant__ float coefficient[4096];

__global__ void series_horner(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = 0.99f * in[i], s = 0.0f;

	for (int k = 4095; k >= 0; k--)
		s = s * x + coefficient[k];
	out[i] = s;
}

__global__ void series_four(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = 0.99f * in[i], q = x * x * x * x, a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;

	for (int k = 4092; k >= 0; k -= 4) {
		a = a * q + coefficient[k];
		b = b * q + coefficient[k + 1];
		c = c * q + coefficient[k + 2];
		d = d * q + coefficient[k + 3];
	}
	out[i] = ((d * x + c) * x + b) * x + a;
}

struct node {
	unsigned next;
	float value;
};

__global__ void link_nodes(struct node *nodes, unsigned count)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	nodes[i].next = (i * 1664525u + 1013904223u) % count;
	nodes[i].value = (float)(pairs_hash(i) % 256);
}

#define LISTS 8
#define STEPS 64

/* Eight lists a thread, one behind the other or side by side. */
__global__ void lists_in_turn(float *out, const struct node *nodes, unsigned threads)
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0.0f;

	for (int l = 0; l < LISTS; l++) {
		unsigned at = pairs_hash(l * threads + t) % (1u << 23);

		for (int k = 0; k < STEPS; k++) {
			s += nodes[at].value;
			at = nodes[at].next;
		}
	}
	out[t] = s;
}

__global__ void lists_together(float *out, const struct node *nodes, unsigned threads)
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x, at[LISTS];
	float s = 0.0f;

#pragma unroll
	for (int l = 0; l < LISTS; l++)
		at[l] = pairs_hash(l * threads + t) % (1u << 23);
	for (int k = 0; k < STEPS; k++) {
#pragma unroll
		for (int l = 0; l < LISTS; l++) {
			struct node here = nodes[at[l]];

			s += here.value;
			at[l] = here.next;
		}
	}
	out[t] = s;
}

/* ------------------------------------------------------------------------------ shared memory per block */

/* Frames of 1024 samples turned back to front; a block has as many of them as its shared memory holds. */
__global__ void frames_large(float *out, const float *in, int frames)
{
	extern __shared__ float tile[];
	const long long first = (long long)blockIdx.x * frames * 1024;

	for (int i = threadIdx.x; i < frames * 1024; i += blockDim.x)
		tile[i] = in[first + i];
	__syncthreads();
	for (int i = threadIdx.x; i < frames * 1024; i += blockDim.x)
		out[first + i] = tile[i ^ 1023];
}

__global__ void frames_small(float *out, const float *in, int frames)
{
	extern __shared__ float tile[];
	const long long first = (long long)blockIdx.x * frames * 1024;

	for (int i = threadIdx.x; i < frames * 1024; i += blockDim.x)
		tile[i] = in[first + i];
	__syncthreads();
	for (int i = threadIdx.x; i < frames * 1024; i += blockDim.x)
		out[first + i] = tile[i ^ 1023];
}

/* Each column of a matrix of 128 by 64 less its mean: one warp for 32 KB, or eight. */
__global__ void center_one_warp(float *out, const float *in)
{
	__shared__ float tile[128][64];
	const long long first = (long long)blockIdx.x * 128 * 64;
	const int t = threadIdx.x;

	for (int i = t; i < 128 * 16; i += 32)
		((float4 *)tile)[i] = ((const float4 *)(in + first))[i];
	__syncthreads();
	for (int c = t; c < 64; c += 32) {
		float mean = 0.0f;

		for (int r = 0; r < 128; r++)
			mean += tile[r][c];
		mean /= 128;
		for (int r = 0; r < 128; r++)
			out[first + r * 64 + c] = tile[r][c] - mean;
	}
}

__global__ void center_eight_warps(float *out, const float *in)
{
	__shared__ float tile[128][64], part[4][64];
	const long long first = (long long)blockIdx.x * 128 * 64;
	const int t = threadIdx.x, c = t % 64, q = t / 64;
	float mean = 0.0f;

	for (int i = t; i < 128 * 16; i += 256)
		((float4 *)tile)[i] = ((const float4 *)(in + first))[i];
	__syncthreads();
	for (int r = q; r < 128; r += 4)
		mean += tile[r][c];
	part[q][c] = mean;
	__syncthreads();
	mean = (part[0][c] + part[1][c] + part[2][c] + part[3][c]) / 128;
	for (int r = q; r < 128; r += 4)
		out[first + r * 64 + c] = tile[r][c] - mean;
}

} /* extern "C" */

/* ------------------------------------------------------------------------------ all of them */

static void products(struct pairs *p)
{
	const float *a = p->in, *b = p->in2;
	const int n = 1024, m = 1536;
	half *ha, *hb;

	pair(
		p, "sgemm, tiled", n * n, 1e-4f,
		[=](float *c) { sgemm_naive<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(c, a, b, n); },
		[=](float *c) {
			sgemm_tile32<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(c, a, b, n);
		});
	pair(
		p, "sgemm, in registers", m * m, 1e-4f,
		[=](float *c) { sgemm_tile16<<<dim3(m / 16, m / 16), dim3(16, 16)>>>(c, a, b, m); },
		[=](float *c) { sgemm_registers<<<dim3(m / 64, m / 64), 256>>>(c, a, b, m); });
	CHECK(cudaMalloc(&ha, 2ll * m * m));
	CHECK(cudaMalloc(&hb, 2ll * m * m));
	to_half<<<m * m / 256, 256>>>(ha, a, m * m);
	to_half<<<m * m / 256, 256>>>(hb, b, m * m);
	pair(
		p, "hgemm", m * m, 0,
		[=](float *c) { hgemm_fma<<<dim3(m / 64, m / 32), dim3(32, 32)>>>(c, ha, hb, m); },
		[=](float *c) { hgemm_mma<<<dim3(m / 64, m / 64), 128>>>(c, ha, hb, m); });
	CHECK(cudaFree(ha));
	CHECK(cudaFree(hb));
}

static void precision(struct pairs *p)
{
	const float *in = p->in;
	const int n = 1 << 20, many = 1 << 24;

	pair(
		p, "swing", n, 1e-3f,
		[=](float *out) { swing_double<<<n / 256, 256>>>(out, in, n); },
		[=](float *out) { swing_float<<<n / 256, 256>>>(out, in, n); });
	pair(
		p, "curve", many, 1e-4f,
		[=](float *out) { curve_double<<<many / 256, 256>>>(out, in, many); },
		[=](float *out) { curve_float<<<many / 256, 256>>>(out, in, many); });
}

static void registers(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int n = 1 << 19;

	pair(
		p, "largest", 8 * n, 0,
		[=](float *out) { largest_indexed<<<n / 256, 256>>>(out, in, n); },
		[=](float *out) { largest_exchanged<<<n / 256, 256>>>(out, in, n); });
	pair(
		p, "solve", 8 * n, 1e-4f,
		[=](float *out) { solve_squeezed<<<n / 256, 256>>>(out, in, in2, n); },
		[=](float *out) { solve_roomy<<<n / 256, 256>>>(out, in, in2, n); });
}

static void warps(struct pairs *p)
{
	const float *in = p->in;
	const int coarse = 2 * p->sms + 1, cells = 1 << 22;

	pair(
		p, "unit rows", BIG / 4, 1e-5f,
		[=](float *out) { unit_rows_block<<<1024, 1024>>>(out, in); },
		[=](float *out) { unit_rows_warp<<<8192, 256>>>(out, in); });
	pair(
		p, "settle", coarse * 16384ll, 1e-5f,
		[=](float *out) { settle_coarse<<<coarse, 1024>>>(out, in); },
		[=](float *out) { settle_fine<<<coarse * 64, 256>>>(out, in); });
	pair(
		p, "cells", cells, 1e-5f,
		[=](float *out) { cells_mixed<<<cells / 256, 256>>>(out, in); },
		[=](float *out) { cells_sorted<<<cells / 256, 256>>>(out, in); });
}

static void chains(struct pairs *p)
{
	const float *in = p->in;
	const int sms = p->sms;
	const unsigned count = 1u << 23;
	struct node *nodes;

	CHECK(cudaMemcpyToSymbol(coefficient, p->in2, sizeof(coefficient), 0,
				 cudaMemcpyDeviceToDevice));
	pair(
		p, "series", sms * 128, 1e-3f,
		[=](float *out) { series_horner<<<sms, 128>>>(out, in); },
		[=](float *out) { series_four<<<sms, 128>>>(out, in); });
	CHECK(cudaMalloc(&nodes, sizeof(*nodes) * count));
	link_nodes<<<count / 256, 256>>>(nodes, count);
	pair(
		p, "lists", sms * 128, 0,
		[=](float *out) { lists_in_turn<<<sms, 128>>>(out, nodes, sms * 128); },
		[=](float *out) { lists_together<<<sms, 128>>>(out, nodes, sms * 128); });
	CHECK(cudaFree(nodes));
}

static void shared(struct pairs *p)
{
	const float *in = p->in;
	const int large = 30, small = 15;

	CHECK(cudaFuncSetAttribute(frames_large, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   large * 4096));
	CHECK(cudaFuncSetAttribute(frames_small, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   small * 4096));
	pair(
		p, "frames", 2100 * large * 1024, 0,
		[=](float *out) { frames_large<<<2100, 512, large * 4096>>>(out, in, large); },
		[=](float *out) { frames_small<<<4200, 512, small * 4096>>>(out, in, small); });
	pair(
		p, "center", BIG / 4, 1e-4f,
		[=](float *out) { center_one_warp<<<8192, 32>>>(out, in); },
		[=](float *out) { center_eight_warps<<<8192, 256>>>(out, in); });
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	products(&p);
	precision(&p);
	registers(&p);
	warps(&p);
	chains(&p);
	shared(&p);
	return p.failed;
}
