/*
 * app_pairs_more_sm.cu - second set of pairs with one fault each and its cure, as people write them:
 * grids, occupancy, shared memory and products. Both of a pair compute the same, which is checked
 * (pairs.h). No output; usage: app_pairs_more_sm
 */
#include <cuda_bf16.h>
#include <mma.h>

#include "pairs.h"

extern "C" {

/* ------------------------------------------------------------------------------ grids */

/* A body in the field of four masses at rest. */
__device__ static inline float orbit(float x, float y, int steps)
{
	const float mx[4] = {0.9f, -1.1f, 0.3f, -0.2f}, my[4] = {0.4f, 0.6f, -1.2f, -0.5f};
	float vx = 0.0f, vy = 0.0f;

	for (int s = 0; s < steps; s++) {
		float ax = 0.0f, ay = 0.0f;

#pragma unroll
		for (int k = 0; k < 4; k++) {
			float dx = mx[k] - x, dy = my[k] - y;
			float r = rsqrtf(dx * dx + dy * dy + 0.5f), pull = r * r * r;

			ax += dx * pull;
			ay += dy * pull;
		}
		vx = 0.999f * vx + 0.001f * ax;
		vy = 0.999f * vy + 0.001f * ay;
		x += 0.001f * vx;
		y += 0.001f * vy;
	}
	return x + y;
}

__global__ void orbits_large(float *out, const float *x, const float *y, int steps)
{
	int i = blockIdx.x * 1024 + threadIdx.x;

	out[i] = orbit(x[i], y[i], steps);
}

__global__ void orbits_spread(float *out, const float *x, const float *y, int steps)
{
	int i = blockIdx.x * 32 + threadIdx.x;

	out[i] = orbit(x[i], y[i], steps);
}

/* One way that the prices of a basket may go. */
#define ASSETS 32

__device__ static inline float basket(float start, unsigned way, int days)
{
	float price[ASSETS], sum = 0.0f;

#pragma unroll
	for (int a = 0; a < ASSETS; a++)
		price[a] = 1.0f + 0.01f * start * (float)a;
	for (int day = 0; day < days; day++) {
#pragma unroll
		for (int a = 0; a < ASSETS; a++) {
			unsigned h = (way + (unsigned)(day * ASSETS + a)) * 0x9e3779b1u;

			h = (h ^ (h >> 15)) * 0x846ca68bu;
			price[a] *= 1.0f + 0.02f * (__uint_as_float(h >> 9 | 0x3f800000u) - 1.5f);
		}
	}
#pragma unroll
	for (int a = 0; a < ASSETS; a++)
		sum += price[a];
	return sum;
}

__global__ void __launch_bounds__(1024) baskets_coarse(float *out, const float *in, int days)
{
	int i = blockIdx.x * 1024 + threadIdx.x;

	out[i] = basket(in[i], (unsigned)i << 12, days);
}

__global__ void __launch_bounds__(128) baskets_fine(float *out, const float *in, int days)
{
	int i = blockIdx.x * 128 + threadIdx.x;

	out[i] = basket(in[i], (unsigned)i << 12, days);
}

/* ------------------------------------------------------------------------------ occupancy */

/* The median of the 64 words around a word. */
__device__ static inline float middle(const float *in, int i)
{
	float v[64];

#pragma unroll
	for (int k = 0; k < 64; k++)
		v[k] = in[max(i - 32, 0) + k];
#pragma unroll
	for (int size = 2; size <= 64; size *= 2)
#pragma unroll
		for (int d = size / 2; d > 0; d /= 2)
#pragma unroll
			for (int j = 0; j < 64; j++)
				if (!(j & d)) {
					float low = fminf(v[j], v[j | d]),
					      high = fmaxf(v[j], v[j | d]);

					v[j] = j & size ? high : low;
					v[j | d] = j & size ? low : high;
				}
	return 0.5f * (v[31] + v[32]);
}

/* One word of a million is an outlier, and has to be replaced. */
__device__ static inline void repair(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v;

	if (i >= n)
		return;
	v = in[i];
	out[i] = fabsf(v) < 0.999999f ? v : middle(in, i);
}

__global__ void repair_roomy(float *out, const float *in, int n)
{
	repair(out, in, n);
}

__global__ void __launch_bounds__(512, 4) repair_tight(float *out, const float *in, int n)
{
	repair(out, in, n);
}

/* Three rounds of smoothing on a line of 16384 points, with a copy of the outermost at either end. */
#define POINTS 16384
#define LINE   (POINTS + 2)

__device__ static inline void put_point(float *line, int i, float v)
{
	line[i + 1] = v;
	if (i == 0)
		line[0] = v;
	if (i == POINTS - 1)
		line[POINTS + 1] = v;
}

__device__ static inline float smoothed(const float *line, int i)
{
	return 0.5f * line[i + 1] + 0.25f * (line[i] + line[i + 2]);
}

/* From one buffer to another: one block per SM. */
__global__ void smooth_two(float *out, const float *in, int rounds)
{
	extern __shared__ float line[];
	float *from = line, *to = line + LINE;
	const long long first = (long long)blockIdx.x * POINTS;

	for (int i = threadIdx.x; i < POINTS; i += 512)
		put_point(from, i, in[first + i]);
	for (int r = 0; r < rounds; r++) {
		float *next = from;

		__syncthreads();
		for (int i = threadIdx.x; i < POINTS; i += 512)
			put_point(to, i, smoothed(from, i));
		from = to;
		to = next;
	}
	__syncthreads();
	for (int i = threadIdx.x; i < POINTS; i += 512)
		out[first + i] = from[i + 1];
}

/* In place: half the shared memory, so three blocks per SM. */
__global__ void __launch_bounds__(512, 3) smooth_one(float *out, const float *in, int rounds)
{
	extern __shared__ float line[];
	const long long first = (long long)blockIdx.x * POINTS;
	float v[POINTS / 512];

	for (int i = threadIdx.x; i < POINTS; i += 512)
		put_point(line, i, in[first + i]);
	for (int r = 0; r < rounds; r++) {
		__syncthreads();
#pragma unroll
		for (int k = 0; k < POINTS / 512; k++)
			v[k] = smoothed(line, k * 512 + threadIdx.x);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < POINTS / 512; k++)
			put_point(line, k * 512 + threadIdx.x, v[k]);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < POINTS; i += 512)
		out[first + i] = line[i + 1];
}

/* ------------------------------------------------------------------------------ banks */

/* 0 to 31; two thirds are 0. */
__device__ static inline int grade_of(float v)
{
	v *= v;
	v *= v;
	return min(31, (int)(32.0f * v * v));
}

/* Counters of each thread are neighbours: lanes that count the same meet in one bank. */
__global__ void tally_rows(unsigned *out, const float *in)
{
	__shared__ unsigned count[128][32];
	const int tid = threadIdx.x;
	unsigned sum = 0;

	for (int k = 0; k < 32; k++)
		count[k * 4 + tid / 32][tid % 32] = 0;
	__syncthreads();
	for (int k = 0; k < 256; k++)
		count[tid][grade_of(in[(blockIdx.x * 256 + k) * 128 + tid])]++;
	__syncthreads();
	if (tid >= 32)
		return;
	for (int k = 0; k < 128; k++)
		sum += count[k][tid];
	out[blockIdx.x * 32 + tid] = sum;
}

/* Counters of a grade are neighbours: a bank for each lane. */
__global__ void tally_columns(unsigned *out, const float *in)
{
	__shared__ unsigned count[32][128];
	const int tid = threadIdx.x;
	unsigned sum = 0;

	for (int k = 0; k < 32; k++)
		count[k][tid] = 0;
	for (int k = 0; k < 256; k++)
		count[grade_of(in[(blockIdx.x * 256 + k) * 128 + tid])][tid]++;
	__syncthreads();
	if (tid >= 32)
		return;
	for (int k = 0; k < 128; k++)
		sum += count[tid][(k + tid) % 128];
	out[blockIdx.x * 32 + tid] = sum;
}

__constant__ float tap[64];

/* Every eighth word of a filtered signal: lanes are `rate` words apart. */
__global__ void decimate_dense(float *out, const float *in, int rate)
{
	__shared__ float s[256 * 8 + 64];
	const int tid = threadIdx.x, first = blockIdx.x * 256 * rate;
	float sum = 0.0f;

	for (int i = tid; i < 256 * rate + 64; i += 256)
		s[i] = in[first + i];
	__syncthreads();
#pragma unroll 16
	for (int k = 0; k < 64; k++)
		sum += tap[k] * s[tid * rate + k];
	out[blockIdx.x * 256 + tid] = sum;
}

/* A word left free after every 32. */
__global__ void decimate_padded(float *out, const float *in, int rate)
{
	__shared__ float s[256 * 8 + 64 + 66];
	const int tid = threadIdx.x, first = blockIdx.x * 256 * rate;
	float sum = 0.0f;

	for (int i = tid; i < 256 * rate + 64; i += 256)
		s[i + i / 32] = in[first + i];
	__syncthreads();
#pragma unroll 16
	for (int k = 0; k < 64; k++) {
		int i = tid * rate + k;

		sum += tap[k] * s[i + (i >> 5)];
	}
	out[blockIdx.x * 256 + tid] = sum;
}

/* ------------------------------------------------------------------------------ products */

/* The shortest way over one stop: min in place of +, + in place of *. */
__global__ void hops_tile(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[32][32], tb[32][32];
	const int x = threadIdx.x, y = threadIdx.y;
	const float *row = a + (blockIdx.y * 32 + y) * n + x,
		    *col = b + y * n + blockIdx.x * 32 + x;
	float best = 1e30f;

	for (int k = 0; k < n; k += 32, row += 32, col += 32 * n) {
		ta[y][x] = *row;
		tb[y][x] = *col;
		__syncthreads();
		for (int j = 0; j < 32; j++)
			best = fminf(best, ta[y][j] + tb[j][x]);
		__syncthreads();
	}
	c[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x] = best;
}

/* Sixteen results per thread. */
__global__ void hops_registers(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[16][68], tb[16][64];
	const int tid = threadIdx.x, x = tid % 16, y = tid / 16;
	float best[4][4];

#pragma unroll
	for (int j = 0; j < 16; j++)
		best[j / 4][j % 4] = 1e30f;
	for (int k = 0; k < n; k += 16) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
			ta[x][y + 16 * j] = a[(blockIdx.y * 64 + y + 16 * j) * n + k + x];
			tb[4 * j + tid / 64][tid % 64] =
				b[(k + 4 * j + tid / 64) * n + blockIdx.x * 64 + tid % 64];
		}
		__syncthreads();
#pragma unroll
		for (int t = 0; t < 16; t++) {
			float4 va = *(const float4 *)&ta[t][4 * y];
			float4 vb = *(const float4 *)&tb[t][4 * x];
			const float fa[4] = {va.x, va.y, va.z, va.w};
			const float fb[4] = {vb.x, vb.y, vb.z, vb.w};

#pragma unroll
			for (int j = 0; j < 16; j++)
				best[j / 4][j % 4] =
					fminf(best[j / 4][j % 4], fa[j / 4] + fb[j % 4]);
		}
		__syncthreads();
	}
#pragma unroll
	for (int j = 0; j < 4; j++)
		*(float4 *)&c[(blockIdx.y * 64 + 4 * y + j) * n + blockIdx.x * 64 + 4 * x] =
			make_float4(best[j][0], best[j][1], best[j][2], best[j][3]);
}

__global__ void to_bf16(__nv_bfloat16 *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = __float2bfloat16(in[i]);
}

/* Products of bfloat16 as floats, in tiles; two rows per thread. */
__global__ void bgemm_float(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b, int n)
{
	__shared__ __nv_bfloat16 ta[32][32], tb[32][32];
	const int x = threadIdx.x, y = threadIdx.y;
	const int row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
	float upper = 0.0f, lower = 0.0f;

	for (int k = 0; k < n; k += 32) {
		ta[y][x] = a[row * n + k + x];
		ta[y + 16][x] = a[(row + 16) * n + k + x];
		tb[y][x] = b[(k + y) * n + col];
		tb[y + 16][x] = b[(k + y + 16) * n + col];
		__syncthreads();
		for (int j = 0; j < 32; j++) {
			float v = __bfloat162float(tb[j][x]);

			upper += __bfloat162float(ta[y][j]) * v;
			lower += __bfloat162float(ta[y + 16][j]) * v;
		}
		__syncthreads();
	}
	c[row * n + col] = upper;
	c[(row + 16) * n + col] = lower;
}

__global__ void bgemm_tensor(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b, int n)
{
	using namespace nvcuda::wmma;
	const int warp = threadIdx.x / 32;
	const int row = blockIdx.y * 64 + warp / 2 * 32, col = blockIdx.x * 64 + warp % 2 * 32;
	fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa[2];
	fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> fb[2];
	fragment<accumulator, 16, 16, 16, float> sum[2][2];

	for (int j = 0; j < 4; j++)
		fill_fragment(sum[j / 2][j % 2], 0.0f);
	for (int k = 0; k < n; k += 16) {
		for (int j = 0; j < 2; j++) {
			load_matrix_sync(fa[j], a + (row + 16 * j) * n + k, n);
			load_matrix_sync(fb[j], b + k * n + col + 16 * j, n);
		}
		for (int j = 0; j < 4; j++)
			mma_sync(sum[j / 2][j % 2], fa[j / 2], fb[j % 2], sum[j / 2][j % 2]);
	}
	for (int j = 0; j < 4; j++)
		store_matrix_sync(c + (row + j / 2 * 16) * n + col + j % 2 * 16, sum[j / 2][j % 2],
				  n, mem_row_major);
}

} /* extern "C" */

/* ------------------------------------------------------------------------------ all of them */

static void grids(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int bodies = 8192, coarse = p->sms + 8;

	pair(
		p, "orbits", bodies, 1e-3f,
		[=](float *out) { orbits_large<<<bodies / 1024, 1024>>>(out, in, in2, 500); },
		[=](float *out) { orbits_spread<<<bodies / 32, 32>>>(out, in, in2, 500); });
	pair(
		p, "baskets", coarse * 1024, 1e-4f,
		[=](float *out) { baskets_coarse<<<coarse, 1024>>>(out, in, 64); },
		[=](float *out) { baskets_fine<<<coarse * 8, 128>>>(out, in, 64); });
}

static void occupancy(struct pairs *p)
{
	const float *in = p->in;
	/* the last words have too few behind them */
	const int n = (1 << 26) - 512, lines = 4096, bytes = LINE * 4;

	pair(
		p, "repair", n, 0, [=](float *out) { repair_roomy<<<n / 512, 512>>>(out, in, n); },
		[=](float *out) { repair_tight<<<n / 512, 512>>>(out, in, n); });
	CHECK(cudaFuncSetAttribute(smooth_two, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   2 * bytes));
	CHECK(cudaFuncSetAttribute(smooth_one, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
	pair(
		p, "smooth", (long long)lines * POINTS, 1e-6f,
		[=](float *out) { smooth_two<<<lines, 512, 2 * bytes>>>(out, in, 3); },
		[=](float *out) { smooth_one<<<lines, 512, bytes>>>(out, in, 3); });
}

static void banks(struct pairs *p)
{
	const float *in = p->in;
	const int blocks = 2048, n = 1 << 22, rate = 8;

	pair(
		p, "tally", blocks * 32, 0,
		[=](float *out) { tally_rows<<<blocks, 128>>>((unsigned *)out, in); },
		[=](float *out) { tally_columns<<<blocks, 128>>>((unsigned *)out, in); });
	CHECK(cudaMemcpyToSymbol(tap, p->in2, sizeof(tap), 0, cudaMemcpyDeviceToDevice));
	pair(
		p, "decimate", n, 1e-5f,
		[=](float *out) { decimate_dense<<<n / 256, 256>>>(out, in, rate); },
		[=](float *out) { decimate_padded<<<n / 256, 256>>>(out, in, rate); });
}

static void products(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int n = 1536, m = 1024;
	__nv_bfloat16 *a, *b;

	pair(
		p, "hops", n * n, 0,
		[=](float *c) { hops_tile<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(c, in, in2, n); },
		[=](float *c) { hops_registers<<<dim3(n / 64, n / 64), 256>>>(c, in, in2, n); });
	CHECK(cudaMalloc(&a, 2ll * m * m));
	CHECK(cudaMalloc(&b, 2ll * m * m));
	to_bf16<<<m * m / 256, 256>>>(a, in);
	to_bf16<<<m * m / 256, 256>>>(b, in2);
	pair(
		p, "bgemm", m * m, 1e-2f,
		[=](float *c) { bgemm_float<<<dim3(m / 32, m / 32), dim3(32, 16)>>>(c, a, b, m); },
		[=](float *c) { bgemm_tensor<<<dim3(m / 64, m / 64), 128>>>(c, a, b, m); });
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	grids(&p);
	occupancy(&p);
	banks(&p);
	products(&p);
	return p.failed;
}
