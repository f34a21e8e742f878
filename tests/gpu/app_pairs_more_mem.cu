/*
 * app_pairs_more_mem.cu - second set of pairs with one fault each and its cure, as people write them:
 * order and width of accesses, bytes in flight, shape of the grid, atomics, what is read again. Both
 * of a pair compute the same, which is checked (pairs.h). No output; usage: app_pairs_more_mem
 */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "pairs.h"

extern "C" {

/* ------------------------------------------------------------------------------ order */

/* A thread for each line of a volume; it walks along x. */
__global__ void volume_zyx(float *__restrict__ out, const float *__restrict__ in, int nx, int ny,
			   int nz)
{
	int z = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (z >= nz || y >= ny)
		return;
	for (int x = 0; x < nx; x++) {
		long long at = ((long long)z * ny + y) * nx + x;

		out[at] = sqrtf(fabsf(in[at]));
	}
}

/* The same with x for the lanes; threads walk along z. */
__global__ void volume_xyz(float *__restrict__ out, const float *__restrict__ in, int nx, int ny,
			   int nz)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x >= nx || y >= ny)
		return;
	for (int z = 0; z < nz; z++) {
		long long at = ((long long)z * ny + y) * nx + x;

		out[at] = sqrtf(fabsf(in[at]));
	}
}

/* One value in, one score for each of 16 classes out; weights, then biases. */
__global__ void scores_item(float *out, const float *in, const float *__restrict__ weights, int n)
{
	int item = blockIdx.x * blockDim.x + threadIdx.x;
	float x;

	if (item >= n)
		return;
	x = in[item];
	for (int k = 0; k < 16; k++)
		out[item * 16 + k] = fmaxf(x * weights[k] + weights[16 + k], 0.0f);
}

__global__ void scores_flat(float *out, const float *in, const float *__restrict__ weights, int n)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x, k = at & 15;

	if (at < n * 16)
		out[at] = fmaxf(in[at >> 4] * weights[k] + weights[16 + k], 0.0f);
}

/* Tensors of nine words to unit norm: a warp for each of them. */
__global__ void tensor_warp(float *out, const float *in, int tensors)
{
	int tensor = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float v = 0.0f, norm;

	if (tensor >= tensors)
		return;
	if (lane < 9)
		v = in[tensor * 9 + lane];
	norm = sqrtf(warp_sum(v * v));
	if (lane < 9)
		out[tensor * 9 + lane] = v / norm;
}

/* A lane for each, 256 of them by way of shared memory. */
__global__ void tensor_lane(float *out, const float *in)
{
	__shared__ float s[256 * 9];
	const int first = blockIdx.x * 256 * 9;
	float *mine = s + threadIdx.x * 9, norm = 0.0f;

	for (int k = 0; k < 9; k++)
		s[k * 256 + threadIdx.x] = in[first + k * 256 + threadIdx.x];
	__syncthreads();
	for (int k = 0; k < 9; k++)
		norm += mine[k] * mine[k];
	norm = sqrtf(norm);
	for (int k = 0; k < 9; k++)
		mine[k] /= norm;
	__syncthreads();
	for (int k = 0; k < 9; k++)
		out[first + k * 256 + threadIdx.x] = s[k * 256 + threadIdx.x];
}

/* ------------------------------------------------------------------------------ bytes in flight */

__global__ void halves_of(half *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __float2half(in[i]);
}

__global__ void fade_half(half *out, const half *a, const half *b, float t, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __hfma(__hsub(b[i], a[i]), __float2half(t), a[i]);
}

__global__ void fade_eight(uint4 *out, const uint4 *a, const uint4 *b, float t, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	union {
		uint4 all;
		half2 two[4];
	} from, to;

	if (i >= n)
		return;
	from.all = a[i];
	to.all = b[i];
	for (int k = 0; k < 4; k++)
		to.two[k] =
			__hfma2(__hsub2(to.two[k], from.two[k]), __float2half2_rn(t), from.two[k]);
	out[i] = to.all;
}

/* A block for each piece; the loop is kept as it stands, so one pair of words a turn. */
__global__ void dot_single(float *out, const float *x, const float *y, int piece)
{
	__shared__ float part[32];
	const long long first = (long long)blockIdx.x * piece;
	float s = 0.0f;

#pragma unroll 1
	for (int i = threadIdx.x; i < piece; i += blockDim.x)
		s += x[first + i] * y[first + i];
	s = block_sum(s, part);
	if (threadIdx.x == 0)
		out[blockIdx.x] = s;
}

__global__ void dot_sixteen(float *out, const float4 *x, const float4 *y, int piece)
{
	__shared__ float part[32];
	const long long first = (long long)blockIdx.x * piece;
	float s = 0.0f;

#pragma unroll 4
	for (int i = threadIdx.x; i < piece; i += 256) {
		float4 a = x[first + i], b = y[first + i];

		s += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
	}
	s = block_sum(s, part);
	if (threadIdx.x == 0)
		out[blockIdx.x] = s;
}

/* A thread works on a row of 32 words that the block brought in together. */
__device__ static inline float blend_row(const float4 *row)
{
	float y = 0.0f;

	for (int k = 0; k < 8; k++) {
		float4 v = row[k];

		for (int step = 0; step < 6; step++) {
			y = fmaf(y * 0.5f, y, v.x * 0.25f);
			y = fmaf(y * 0.5f, y, v.y * 0.25f);
			y = fmaf(y * 0.5f, y, v.z * 0.25f);
			y = fmaf(y * 0.5f, y, v.w * 0.25f);
		}
	}
	return y;
}

__global__ void blend_waits(float *out, const float4 *in, int tiles)
{
	__shared__ float4 rows[128][9];
	const int tid = threadIdx.x;

	for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		const float4 *from = in + (long long)tile * 1024;

		for (int k = 0; k < 8; k++)
			rows[(k * 128 + tid) / 8][tid % 8] = from[k * 128 + tid];
		__syncthreads();
		out[tile * 128 + tid] = blend_row(rows[tid]);
		__syncthreads();
	}
}

__global__ void blend_ahead(float *out, const float4 *in, int tiles)
{
	__shared__ float4 rows[2][128][9];
	const int tid = threadIdx.x;
	int turn = 0;

	for (int k = 0; k < 8; k++)
		__pipeline_memcpy_async(&rows[0][(k * 128 + tid) / 8][tid % 8],
					in + (long long)blockIdx.x * 1024 + k * 128 + tid, 16);
	__pipeline_commit();
	for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn ^= 1) {
		const float4 *from = in + (long long)(tile + gridDim.x) * 1024;

		if (tile + (int)gridDim.x < tiles)
			for (int k = 0; k < 8; k++)
				__pipeline_memcpy_async(
					&rows[turn ^ 1][(k * 128 + tid) / 8][tid % 8],
					from + k * 128 + tid, 16);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		out[tile * 128 + tid] = blend_row(rows[turn][tid]);
		__syncthreads();
	}
}

/* ------------------------------------------------------------------------------ grids */

__device__ static inline float vignette(float v, int x, int y, float scale)
{
	float dx = (float)x * scale - 1.0f, dy = (float)y * scale - 1.0f;

	return v * (1.0f - 0.25f * (dx * dx + dy * dy));
}

__global__ void vignette_4x4(float *out, const float *in, int n, float scale)
{
	int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;

	out[y * n + x] = vignette(in[y * n + x], x, y, scale);
}

__global__ void vignette_32x8(float *out, const float *in, int n, float scale)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

	out[y * n + x] = vignette(in[y * n + x], x, y, scale);
}

__device__ static inline int tone_of(float v)
{
	return min(4095, (int)((v + 1.0f) * 2048.0f));
}

/* Each block brings in the whole table for one word per thread. */
__global__ void tone_per_block(float *out, const float *in, const float *table, int n)
{
	__shared__ float s[4096];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = threadIdx.x; k < 4096; k += blockDim.x)
		s[k] = table[k];
	__syncthreads();
	if (i < n)
		out[i] = s[tone_of(in[i])];
}

__global__ void tone_kept(float4 *out, const float4 *in, const float *table, int n)
{
	__shared__ float s[4096];

	for (int k = threadIdx.x; k < 4096; k += blockDim.x)
		s[k] = table[k];
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float4 v = in[i];

		out[i] = make_float4(s[tone_of(v.x)], s[tone_of(v.y)], s[tone_of(v.z)],
				     s[tone_of(v.w)]);
	}
}

/* Brings a row to a largest value of one: the block of one row. */
__device__ static inline void gain(float *out, const float *in, int cols)
{
	__shared__ float part[32];
	float top = 0.0f;

	for (int i = threadIdx.x; i < cols; i += blockDim.x)
		top = fmaxf(top, fabsf(in[i]));
	top = 1.0f / block_max(top, part);
	for (int i = threadIdx.x; i < cols; i += blockDim.x)
		out[i] = in[i] * top;
}

__global__ void gain_row(float *out, const float *in, int cols)
{
	gain(out, in, cols);
}

__global__ void gain_rows(float *out, const float *in, int cols)
{
	gain(out + (long long)blockIdx.x * cols, in + (long long)blockIdx.x * cols, cols);
}

/* ------------------------------------------------------------------------------ atomics */

__device__ static inline unsigned words_for(float v)
{
	return 1 + (__float_as_uint(v) & 3);
}

/* Each item takes one to four words of a pool; the compiler makes one atomic of those of a warp. */
__global__ void pool_each(unsigned *out, unsigned *pool, unsigned *top, const float *in,
			  unsigned capacity)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned words = words_for(in[i]), at = atomicAdd(top, words);

	out[i] = at + words <= capacity ? words : 0;
	if (at + words <= capacity)
		pool[at] = i;
}

__global__ void pool_block(unsigned *out, unsigned *pool, unsigned *top, const float *in,
			   unsigned capacity)
{
	__shared__ unsigned before[8], base;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned lane = threadIdx.x % 32, words = words_for(in[i]), at = words, sum = 0;

	for (unsigned d = 1; d < 32; d *= 2) {
		unsigned below = __shfl_up_sync(0xffffffffu, at, d);

		if (lane >= d)
			at += below;
	}
	if (lane == 31)
		before[threadIdx.x / 32] = at;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 0; w < 8; w++) {
			unsigned all = before[w];

			before[w] = sum;
			sum += all;
		}
		base = atomicAdd(top, sum);
	}
	__syncthreads();
	at += base + before[threadIdx.x / 32] - words;
	out[i] = at + words <= capacity ? words : 0;
	if (at + words <= capacity)
		pool[at] = i;
}

/* How strong each of 16 interleaved channels is. */
__global__ void power_each(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&out[i % 16], in[i] * in[i]);
}

__global__ void power_kept(float *out, const float *in, int n)
{
	__shared__ float part[256];
	const int tid = threadIdx.x;
	float s = 0.0f;

	for (int i = blockIdx.x * 256 + tid; i < n; i += gridDim.x * 256)
		s += in[i] * in[i];
	part[tid] = s;
	__syncthreads();
	if (tid >= 16)
		return;
	for (int k = tid + 16; k < 256; k += 16)
		s += part[k];
	atomicAdd(&out[tid], s);
}

/* ------------------------------------------------------------------------------ read again */

__device__ static inline float largest(float4 v)
{
	return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

__device__ static inline float sum_of(float4 v)
{
	return v.x + v.y + (v.z + v.w);
}

__device__ static inline float squares_of(float4 v)
{
	return v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
}

__device__ static inline float4 moved(float4 v, float by, float scale)
{
	return make_float4((v.x - by) * scale, (v.y - by) * scale, (v.z - by) * scale,
			   (v.w - by) * scale);
}

/* A row of 1 MB to mean zero, deviation one, in a range of four at most: a pass for each figure. */
__global__ void standard_passes(float4 *out, const float4 *in, int quads)
{
	__shared__ float part[32];
	const float4 *row = in + (long long)blockIdx.x * quads;
	const float count = 4.0f * (float)quads;
	float low = 0.0f, high = 0.0f, mean = 0.0f, sd = 0.0f, scale;

	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		high = fmaxf(high, largest(row[i]));
	high = block_max(high, part);
	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		low = fmaxf(low, largest(moved(row[i], 0.0f, -1.0f)));
	low = block_max(low, part);
	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		mean += sum_of(row[i]);
	mean = block_sum(mean, part) / count;
	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		sd += squares_of(moved(row[i], mean, 1.0f));
	sd = sqrtf(block_sum(sd, part) / count);
	scale = fminf(1.0f / sd, 4.0f / (high + low));
	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		out[(long long)blockIdx.x * quads + i] = moved(row[i], mean, scale);
}

/* All figures in one pass. */
__global__ void standard_once(float4 *out, const float4 *in, int quads)
{
	__shared__ float part[32];
	const float4 *row = in + (long long)blockIdx.x * quads;
	const float count = 4.0f * (float)quads;
	float low = 0.0f, high = 0.0f, mean = 0.0f, squares = 0.0f, scale;

	for (int i = threadIdx.x; i < quads; i += blockDim.x) {
		float4 v = row[i];

		high = fmaxf(high, largest(v));
		low = fmaxf(low, largest(moved(v, 0.0f, -1.0f)));
		mean += sum_of(v);
		squares += squares_of(v);
	}
	high = block_max(high, part);
	low = block_max(low, part);
	mean = block_sum(mean, part) / count;
	squares = block_sum(squares, part) / count;
	scale = fminf(rsqrtf(squares - mean * mean), 4.0f / (high + low));
	for (int i = threadIdx.x; i < quads; i += blockDim.x)
		out[(long long)blockIdx.x * quads + i] = moved(row[i], mean, scale);
}

__constant__ float tap[128];

__global__ void fir_direct(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0.0f;

	if (i >= n)
		return;
	for (int k = 0; k < 128; k++)
		s += tap[k] * in[i + k];
	out[i] = s;
}

/* Four results per thread; what they have in common stays in registers. */
__global__ void fir_window(float4 *out, const float4 *in)
{
	__shared__ float4 s[256 + 32];
	const int tid = threadIdx.x;
	float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
	float4 now, next;

	s[tid] = in[blockIdx.x * 256 + tid];
	if (tid < 32)
		s[256 + tid] = in[blockIdx.x * 256 + 256 + tid];
	__syncthreads();
	now = s[tid];
#pragma unroll
	for (int k = 0; k < 128; k += 4) {
		next = s[tid + k / 4 + 1];

		const float v[7] = {now.x, now.y, now.z, now.w, next.x, next.y, next.z};

#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int o = 0; o < 4; o++)
				sum[o] += tap[k + j] * v[j + o];
		now = next;
	}
	out[blockIdx.x * 256 + tid] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

/* Echoes of a signal that comes round: a remainder for each of them. */
__global__ void ring_modulo(float *out, const float *in, int n, int step, int echoes)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0.0f, weight = 1.0f;

	if (i >= n)
		return;
	for (int k = 0; k < echoes; k++) {
		s += weight * in[(i + k * step) % n];
		weight *= 0.875f;
	}
	out[i] = s;
}

__global__ void ring_wrap(float *out, const float *in, int n, int step, int echoes)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
	float s = 0.0f, weight = 1.0f;

	if (i >= n)
		return;
	for (int k = 0; k < echoes; k++) {
		s += weight * in[at];
		weight *= 0.875f;
		at += step;
		at -= at >= n ? n : 0;
	}
	out[i] = s;
}

} /* extern "C" */

/* ------------------------------------------------------------------------------ all of them */

static void orders(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int nx = 512, ny = 512, nz = 256, items = 1 << 22, tensors = 1 << 22;

	pair(
		p, "volume", (long long)nx * ny * nz, 0,
		[=](float *out) {
			volume_zyx<<<dim3(nz / 32, ny / 8), dim3(32, 8)>>>(out, in, nx, ny, nz);
		},
		[=](float *out) {
			volume_xyz<<<dim3(nx / 256, ny), dim3(256, 1)>>>(out, in, nx, ny, nz);
		});
	pair(
		p, "scores", items * 16, 1e-6f,
		[=](float *out) { scores_item<<<items / 256, 256>>>(out, in, in2, items); },
		[=](float *out) { scores_flat<<<items / 16, 256>>>(out, in, in2, items); });
	pair(
		p, "tensors", tensors * 9, 1e-5f,
		[=](float *out) { tensor_warp<<<tensors / 8, 256>>>(out, in, tensors); },
		[=](float *out) { tensor_lane<<<tensors / 256, 256>>>(out, in); });
}

static void flights(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int n = 1 << 26, piece = 1 << 18, tiles = 1 << 14, sms = p->sms;
	half *a, *b;

	CHECK(cudaMalloc(&a, 2ll * n));
	CHECK(cudaMalloc(&b, 2ll * n));
	halves_of<<<n / 256, 256>>>(a, in, n);
	halves_of<<<n / 256, 256>>>(b, in2, n);
	pair(
		p, "fade", n / 2, 0,
		[=](float *out) { fade_half<<<n / 256, 256>>>((half *)out, a, b, 0.25f, n); },
		[=](float *out) {
			fade_eight<<<n / 2048, 256>>>((uint4 *)out, (const uint4 *)a,
						      (const uint4 *)b, 0.25f, n / 8);
		});
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	pair(
		p, "dot", n / piece, 1e-3f,
		[=](float *out) { dot_single<<<n / piece, 256>>>(out, in, in2, piece); },
		[=](float *out) {
			dot_sixteen<<<n / piece, 256>>>(out, (const float4 *)in,
							(const float4 *)in2, piece / 4);
		});
	pair(
		p, "blend", tiles * 128, 1e-5f,
		[=](float *out) { blend_waits<<<2 * sms, 128>>>(out, (const float4 *)in, tiles); },
		[=](float *out) { blend_ahead<<<2 * sms, 128>>>(out, (const float4 *)in, tiles); });
}

static void grids(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int edge = 4096, n = 1 << 25, cols = 32768, rows = 128, sms = p->sms;

	pair(
		p, "vignette", edge * edge, 1e-6f,
		[=](float *out) {
			vignette_4x4<<<dim3(edge / 4, edge / 4), dim3(4, 4)>>>(out, in, edge,
									       2.0f / edge);
		},
		[=](float *out) {
			vignette_32x8<<<dim3(edge / 32, edge / 8), dim3(32, 8)>>>(out, in, edge,
										  2.0f / edge);
		});
	pair(
		p, "tone", n, 0,
		[=](float *out) { tone_per_block<<<n / 256, 256>>>(out, in, in2, n); },
		[=](float *out) {
			tone_kept<<<8 * sms, 256>>>((float4 *)out, (const float4 *)in, in2, n / 4);
		});
	pair(
		p, "gain", cols * rows, 0,
		[=](float *out) {
			for (int k = 0; k < rows; k++)
				gain_row<<<1, 512>>>(out + k * cols, in + k * cols, cols);
		},
		[=](float *out) { gain_rows<<<rows, 512>>>(out, in, cols); });
}

static void atomics(struct pairs *p)
{
	const float *in = p->in;
	const int items = 1 << 23, n = 1 << 22, sms = p->sms;
	const unsigned capacity = 4u * items;
	unsigned *pool, *top;

	CHECK(cudaMalloc(&pool, 4ll * capacity));
	CHECK(cudaMalloc(&top, 4));
	pair(
		p, "pool", items, 0,
		[=](float *out) {
			CHECK(cudaMemsetAsync(top, 0, 4));
			pool_each<<<items / 256, 256>>>((unsigned *)out, pool, top, in, capacity);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(top, 0, 4));
			pool_block<<<items / 256, 256>>>((unsigned *)out, pool, top, in, capacity);
		});
	CHECK(cudaFree(pool));
	CHECK(cudaFree(top));
	pair(
		p, "power", 16, 1e-2f,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 64));
			power_each<<<n / 256, 256>>>(out, in, n);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 64));
			power_kept<<<2 * sms, 256>>>(out, in, n);
		});
}

static void again(struct pairs *p)
{
	const float *in = p->in;
	const int quads = 1 << 16, rows = 256, n = 1 << 24, ring = 8000000, echoes = 32;

	pair(
		p, "standard", BIG / 4, 1e-3f,
		[=](float *out) {
			standard_passes<<<rows, 1024>>>((float4 *)out, (const float4 *)in, quads);
		},
		[=](float *out) {
			standard_once<<<rows, 1024>>>((float4 *)out, (const float4 *)in, quads);
		});
	CHECK(cudaMemcpyToSymbol(tap, p->in2, sizeof(tap), 0, cudaMemcpyDeviceToDevice));
	pair(
		p, "fir", n, 1e-4f, [=](float *out) { fir_direct<<<n / 256, 256>>>(out, in, n); },
		[=](float *out) {
			fir_window<<<n / 1024, 256>>>((float4 *)out, (const float4 *)in);
		});
	pair(
		p, "ring", ring, 1e-5f,
		[=](float *out) { ring_modulo<<<ring / 256, 256>>>(out, in, ring, 1009, echoes); },
		[=](float *out) { ring_wrap<<<ring / 256, 256>>>(out, in, ring, 1009, echoes); });
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	orders(&p);
	flights(&p);
	grids(&p);
	atomics(&p);
	again(&p);
	return p.failed;
}
