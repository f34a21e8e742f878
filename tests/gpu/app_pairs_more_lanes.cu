/*
 * app_pairs_more_lanes.cu - second set of pairs with one fault each and its cure, as people write them:
 * what threads do by themselves: divergence, precision, local memory, barriers, chains. Both of a
 * pair compute the same, which is checked (pairs.h). No output; usage: app_pairs_more_lanes
 */
#include <algorithm>
#include <numeric>
#include <vector>

#include "pairs.h"

extern "C" {

/* ------------------------------------------------------------------------------ divergence */

__device__ static inline int escape(float cx, float cy, int limit)
{
	float x = 0.0f, y = 0.0f;
	int turns = 0;

	/* counts must agree: nothing is left to how a compiler fuses */
	while (turns < limit && fmaf(x, x, y * y) < 4.0f) {
		float next = fmaf(x, x, fmaf(-y, y, cx));

		y = fmaf(2.0f * x, y, cy);
		x = next;
		turns++;
	}
	return turns;
}

/* Points come in any order, so that each warp has one that takes all turns. */
__global__ void escape_mixed(int *out, const float *cx, const float *cy, int limit)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = escape(fmaf(1.5f, cx[i], -0.5f), cy[i], limit);
}

/* Points that take equally long are neighbours in `order`. */
__global__ void escape_ordered(int *out, const float *cx, const float *cy, const int *order,
			       int limit)
{
	int i = order[blockIdx.x * blockDim.x + threadIdx.x];

	out[i] = escape(fmaf(1.5f, cx[i], -0.5f), cy[i], limit);
}

__device__ static inline float arc(float a, int pieces)
{
	float length = 0.0f;

	for (int k = 0; k < pieces; k++) {
		float slope = a * ((float)k + 0.5f) - 1.0f;

		length += sqrtf(1.0f + slope * slope);
	}
	return length;
}

/* One point in eight is wanted; the threads of the others leave. */
__global__ void arcs_guarded(float *out, const float *in, int pieces)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 8 != 0)
		return;
	out[i / 8] = arc(in[i], pieces);
}

__global__ void arcs_dense(float *out, const float *in, int pieces)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = arc(in[i * 8], pieces);
}

/* ------------------------------------------------------------------------------ precision */

#define FRAME 2048

/* How alike a frame and its later self are, for each of 256 delays. */
__global__ void lags_double(float *out, const float *in)
{
	__shared__ float s[FRAME + 256];
	const int tid = threadIdx.x;
	double sum = 0.0;

	for (int i = tid; i < FRAME + 256; i += 256)
		s[i] = in[blockIdx.x * FRAME + i];
	__syncthreads();
	for (int k = 0; k < FRAME; k++)
		sum += (double)s[k] * s[k + tid];
	out[blockIdx.x * 256 + tid] = (float)sum;
}

__global__ void lags_float(float *out, const float *in)
{
	__shared__ float s[FRAME + 256];
	const int tid = threadIdx.x;
	float sum = 0.0f;

	for (int i = tid; i < FRAME + 256; i += 256)
		s[i] = in[blockIdx.x * FRAME + i];
	__syncthreads();
	for (int k = 0; k < FRAME; k++)
		sum += s[k] * s[k + tid];
	out[blockIdx.x * 256 + tid] = sum;
}

__global__ void gelu_double(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = 0.5 * in[i] *
			 (1.0 + tanh(0.7978845608 * (in[i] + 0.044715 * in[i] * in[i] * in[i])));
}

__global__ void gelu_float(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] =
			0.5f * in[i] *
			(1.0f + tanhf(0.7978845608f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}

/* ------------------------------------------------------------------------------ local memory */

/* How unevenly the hexadecimal digits of 16 words are spread. */
__global__ void digits_indexed(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned count[16] = {0}, sum = 0;

	for (int k = 0; k < 16; k++) {
		unsigned word = in[k * n + i];

		for (int d = 0; d < 8; d++, word >>= 4)
			count[word & 15]++;
	}
	for (int k = 0; k < 16; k++)
		sum += count[k] * count[k];
	out[i] = sum;
}

/* Counters of eight bits in two registers pairs. */
__global__ void digits_packed(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long low = 0, high = 0;
	unsigned sum = 0;

	for (int k = 0; k < 16; k++) {
		unsigned word = in[k * n + i];

		for (int d = 0; d < 8; d++, word >>= 4) {
			unsigned long long one = 1ull << (word & 7) * 8;

			low += word & 8 ? 0 : one;
			high += word & 8 ? one : 0;
		}
	}
	for (int k = 0; k < 8; k++, low >>= 8, high >>= 8)
		sum += (unsigned)((low & 255) * (low & 255) + (high & 255) * (high & 255));
	out[i] = sum;
}

/* 64 moments of points in a square: Chebyshev polynomials of x times those of y. */
__device__ static inline void moments(float *out, const float *px, const float *py, int each)
{
	const int threads = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
	float sum[8][8] = {};

	for (int s = 0; s < each; s++) {
		float x = px[s * threads + me], y = py[s * threads + me];
		float tx[8] = {1.0f, x}, ty[8] = {1.0f, y};

#pragma unroll
		for (int k = 2; k < 8; k++) {
			tx[k] = 2.0f * x * tx[k - 1] - tx[k - 2];
			ty[k] = 2.0f * y * ty[k - 1] - ty[k - 2];
		}
#pragma unroll
		for (int j = 0; j < 8; j++)
#pragma unroll
			for (int k = 0; k < 8; k++)
				sum[j][k] += tx[j] * ty[k];
	}
#pragma unroll
	for (int j = 0; j < 64; j++)
		out[j * threads + me] = sum[j / 8][j % 8];
}

__global__ void __launch_bounds__(1024)
	moments_1024(float *out, const float *px, const float *py, int each)
{
	moments(out, px, py, each);
}

__global__ void __launch_bounds__(256)
	moments_256(float *out, const float *px, const float *py, int each)
{
	moments(out, px, py, each);
}

/* ------------------------------------------------------------------------------ barriers */

/* Lines of 128 points, eight to a block, that settle in so many steps; two barriers for each. */
__global__ void relax_barriers(float *out, const float *in, int steps)
{
	__shared__ float s[1024];
	const int tid = threadIdx.x, at = tid % 128;
	float v = in[blockIdx.x * 1024 + tid];

	s[tid] = v;
	for (int step = 0; step < steps; step++) {
		__syncthreads();
		v = 0.5f * v + 0.25f * (s[at == 0 ? tid : tid - 1] + s[at == 127 ? tid : tid + 1]);
		__syncthreads();
		s[tid] = v;
	}
	out[blockIdx.x * 1024 + tid] = v;
}

/* A warp for each line; lanes ask their neighbours. */
__global__ void relax_lanes(float4 *out, const float4 *in, int steps)
{
	const int lane = threadIdx.x % 32;
	float4 v = in[blockIdx.x * 256 + threadIdx.x];

	for (int step = 0; step < steps; step++) {
		float before = __shfl_up_sync(0xffffffffu, v.w, 1);
		float after = __shfl_down_sync(0xffffffffu, v.x, 1);
		float4 next;

		before = lane == 0 ? v.x : before;
		after = lane == 31 ? v.w : after;
		next.x = 0.5f * v.x + 0.25f * (before + v.y);
		next.y = 0.5f * v.y + 0.25f * (v.x + v.z);
		next.z = 0.5f * v.z + 0.25f * (v.y + v.w);
		next.w = 0.5f * v.w + 0.25f * (v.z + after);
		v = next;
	}
	out[blockIdx.x * 256 + threadIdx.x] = v;
}

/* ------------------------------------------------------------------------------ chains */

#define SIGNAL 4096

/* The strength of 512 tones in a signal: four of them per thread, one after the other. */
__global__ void tones_in_turn(float *out, const float *in)
{
	__shared__ float s[SIGNAL];
	const int tid = threadIdx.x;

	for (int i = tid; i < SIGNAL; i += 128)
		s[i] = in[blockIdx.x * SIGNAL + i];
	__syncthreads();
#pragma unroll 1
	for (int f = 0; f < 4; f++) {
		float twice = 2.0f * cospif((float)(f * 128 + tid + 65) * 0.0015f);
		float last = 0.0f, before = 0.0f;

		for (int k = 0; k < SIGNAL; k++) {
			float now = s[k] + twice * last - before;

			before = last;
			last = now;
		}
		out[blockIdx.x * 512 + f * 128 + tid] =
			last * last + before * before - twice * last * before;
	}
}

__global__ void tones_together(float *out, const float *in)
{
	__shared__ float s[SIGNAL];
	const int tid = threadIdx.x;
	float twice[4], last[4] = {}, before[4] = {};

	for (int i = tid; i < SIGNAL; i += 128)
		s[i] = in[blockIdx.x * SIGNAL + i];
	__syncthreads();
	for (int f = 0; f < 4; f++)
		twice[f] = 2.0f * cospif((float)(f * 128 + tid + 65) * 0.0015f);
	for (int k = 0; k < SIGNAL; k++) {
#pragma unroll
		for (int f = 0; f < 4; f++) {
			float now = s[k] + twice[f] * last[f] - before[f];

			before[f] = last[f];
			last[f] = now;
		}
	}
	for (int f = 0; f < 4; f++)
		out[blockIdx.x * 512 + f * 128 + tid] =
			last[f] * last[f] + before[f] * before[f] - twice[f] * last[f] * before[f];
}

/* A step of 24 bits that doubles: keys go up from -1 to 1. */
__global__ void sorted_keys(float *keys)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	keys[i] = (float)i * (1.0f / (1 << 23)) - 1.0f;
}

/* Where 16 words belong among 2^24 sorted keys: one search after the other. */
__global__ void search_in_turn(int *out, const float *keys, const float *in, int threads)
{
	int me = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
	for (int q = 0; q < 16; q++) {
		float v = in[q * threads + me];
		int at = 0;

		for (int half = 1 << 23; half; half /= 2)
			if (keys[at + half] <= v)
				at += half;
		out[q * threads + me] = at;
	}
}

/* Eight searches side by side. */
__global__ void search_together(int *out, const float *keys, const float *in, int threads)
{
	int me = blockIdx.x * blockDim.x + threadIdx.x;

	for (int q = 0; q < 16; q += 8) {
		float v[8];
		int at[8] = {};

#pragma unroll
		for (int j = 0; j < 8; j++)
			v[j] = in[(q + j) * threads + me];
		for (int half = 1 << 23; half; half /= 2) {
#pragma unroll
			for (int j = 0; j < 8; j++)
				at[j] += keys[at[j] + half] <= v[j] ? half : 0;
		}
#pragma unroll
		for (int j = 0; j < 8; j++)
			out[(q + j) * threads + me] = at[j];
	}
}

} /* extern "C" */

/* ------------------------------------------------------------------------------ all of them */

static void divergence(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int n = 1 << 20, limit = 1000, few = 1 << 19;
	std::vector<int> turns(n), longest(n);
	int *order;

	escape_mixed<<<n / 256, 256>>>((int *)p->bad, in, in2, limit);
	CHECK(cudaMemcpy(turns.data(), p->bad, 4ll * n, cudaMemcpyDeviceToHost));
	std::iota(longest.begin(), longest.end(), 0);
	std::stable_sort(longest.begin(), longest.end(),
			 [&](int a, int b) { return turns[a] > turns[b]; });
	CHECK(cudaMalloc(&order, 4ll * n));
	CHECK(cudaMemcpy(order, longest.data(), 4ll * n, cudaMemcpyHostToDevice));
	pair(
		p, "escape", n, 0,
		[=](float *out) { escape_mixed<<<n / 256, 256>>>((int *)out, in, in2, limit); },
		[=](float *out) {
			escape_ordered<<<n / 256, 256>>>((int *)out, in, in2, order, limit);
		});
	CHECK(cudaFree(order));
	pair(
		p, "arcs", few, 1e-5f,
		[=](float *out) { arcs_guarded<<<few / 32, 256>>>(out, in, 256); },
		[=](float *out) { arcs_dense<<<few / 256, 256>>>(out, in, 256); });
}

static void precision(struct pairs *p)
{
	const float *in = p->in;
	const int frames = 2048, n = 1 << 24;

	pair(
		p, "lags", frames * 256, 1e-3f,
		[=](float *out) { lags_double<<<frames, 256>>>(out, in); },
		[=](float *out) { lags_float<<<frames, 256>>>(out, in); });
	pair(
		p, "gelu", n, 1e-5f, [=](float *out) { gelu_double<<<n / 256, 256>>>(out, in, n); },
		[=](float *out) { gelu_float<<<n / 256, 256>>>(out, in, n); });
}

static void registers(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const unsigned *words = (const unsigned *)p->in;
	const int n = 1 << 21, threads = 1 << 17;

	pair(
		p, "digits", n, 0,
		[=](float *out) { digits_indexed<<<n / 256, 256>>>((unsigned *)out, words, n); },
		[=](float *out) { digits_packed<<<n / 256, 256>>>((unsigned *)out, words, n); });
	pair(
		p, "moments", 64 * threads, 1e-4f,
		[=](float *out) { moments_1024<<<threads / 1024, 1024>>>(out, in, in2, 512); },
		[=](float *out) { moments_256<<<threads / 256, 256>>>(out, in, in2, 512); });
}

static void chains(struct pairs *p)
{
	const float *in = p->in;
	const int n = 1 << 25, sms = p->sms, threads = sms * 128;
	float *keys;

	pair(
		p, "relax", n, 1e-5f,
		[=](float *out) { relax_barriers<<<n / 1024, 1024>>>(out, in, 32); },
		[=](float *out) {
			relax_lanes<<<n / 1024, 256>>>((float4 *)out, (const float4 *)in, 32);
		});
	pair(
		p, "tones", sms * 512, 1e-3f,
		[=](float *out) { tones_in_turn<<<sms, 128>>>(out, in); },
		[=](float *out) { tones_together<<<sms, 128>>>(out, in); });
	CHECK(cudaMalloc(&keys, 4ll << 24));
	sorted_keys<<<(1 << 24) / 256, 256>>>(keys);
	pair(
		p, "search", threads * 16, 0,
		[=](float *out) { search_in_turn<<<sms, 128>>>((int *)out, keys, in, threads); },
		[=](float *out) { search_together<<<sms, 128>>>((int *)out, keys, in, threads); });
	CHECK(cudaFree(keys));
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	divergence(&p);
	precision(&p);
	registers(&p);
	chains(&p);
	return p.failed;
}
