/*
 * app_pairs_third_grid.cu - third set of pairs with one fault each and its cure, as people write them:
 * how work is cut into blocks and launches, what fits on an SM, and atomics. Both of a pair compute the
 * same, which is checked (pairs.h). No output; usage: app_pairs_third_grid
 */
#include "pairs.h"

/* ------------------------------------------------------------------------------ blocks */

/* Probabilities of 64 classes; a warp for each row. */
__device__ static inline void classes(float2 *out, const float2 *in, int row)
{
	const int at = row * 32 + threadIdx.x % 32;
	float2 v = in[at];
	float most = warp_max(fmaxf(v.x, v.y)), scale;

	v.x = __expf(v.x - most);
	v.y = __expf(v.y - most);
	scale = 1.0f / warp_sum(v.x + v.y);
	v.x *= scale;
	v.y *= scale;
	out[at] = v;
}

extern "C" __global__ void classes_block(float2 *out, const float2 *in)
{
	classes(out, in, blockIdx.x);
}

extern "C" __global__ void classes_warp(float2 *out, const float2 *in)
{
	classes(out, in, blockIdx.x * 8 + threadIdx.x / 32);
}

/* Product of so many columns of one row and a vector. */
__device__ static inline float product(const float4 *m, const float4 *x, int quads, float *part)
{
	float sum = 0.0f;

#pragma unroll 4
	for (int k = threadIdx.x; k < quads; k += blockDim.x) {
		float4 a = m[k], b = x[k];

		sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
	}
	return block_sum(sum, part);
}

/* A matrix with few long rows times a vector: a block for each row. */
extern "C" __global__ void gemv_row(float *out, const float4 *m, const float4 *x, int quads)
{
	__shared__ float part[32];
	float sum = product(m + (long long)blockIdx.y * quads, x, quads, part);

	if (threadIdx.x == 0)
		out[blockIdx.y] = sum;
}

/* Each row in as many pieces as there are blocks along x. */
extern "C" __global__ void gemv_pieces(float *out, const float4 *m, const float4 *x, int quads)
{
	__shared__ float part[32];
	const int piece = quads / gridDim.x, first = blockIdx.x * piece;
	float sum = product(m + (long long)blockIdx.y * quads + first, x + first, piece, part);

	if (threadIdx.x == 0)
		atomicAdd(&out[blockIdx.y], sum);
}

#define SOURCES 1024

/* The pull of all sources on four bodies of each thread; w is the mass. */
template <int THREADS>
__device__ static inline void attract(float *out, const float4 *bodies, const float4 *sources)
{
	__shared__ float4 s[SOURCES];
	const int n = gridDim.x * THREADS * 4, first = blockIdx.x * THREADS * 4 + threadIdx.x;
	float x[4], y[4], z[4], ax[4] = {}, ay[4] = {}, az[4] = {};

	for (int k = threadIdx.x; k < SOURCES; k += THREADS)
		s[k] = sources[k];
#pragma unroll
	for (int b = 0; b < 4; b++) {
		float4 body = bodies[first + b * THREADS];

		x[b] = body.x;
		y[b] = body.y;
		z[b] = body.z;
	}
	__syncthreads();
#pragma unroll 2
	for (int k = 0; k < SOURCES; k++) {
		float4 from = s[k];

#pragma unroll
		for (int b = 0; b < 4; b++) {
			float dx = from.x - x[b], dy = from.y - y[b], dz = from.z - z[b];
			float over = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float pull = from.w * over * over * over;

			ax[b] += pull * dx;
			ay[b] += pull * dy;
			az[b] += pull * dz;
		}
	}
#pragma unroll
	for (int b = 0; b < 4; b++) {
		out[first + b * THREADS] = ax[b];
		out[n + first + b * THREADS] = ay[b];
		out[2 * n + first + b * THREADS] = az[b];
	}
}

extern "C" __global__ void __launch_bounds__(1024)
	attract_1024(float *out, const float4 *bodies, const float4 *sources)
{
	attract<1024>(out, bodies, sources);
}

extern "C" __global__ void __launch_bounds__(128)
	attract_128(float *out, const float4 *bodies, const float4 *sources)
{
	attract<128>(out, bodies, sources);
}

/* ------------------------------------------------------------------------------ occupancy */

extern __shared__ float row[];

/* Brings a row to a mean square of one; the launch says how much room there is for it. */
__device__ static inline void unit_square(float *out, const float *in, int cols)
{
	__shared__ float part[8];
	const long long first = (long long)blockIdx.x * cols;
	float sum = 0.0f, scale;

	for (int k = threadIdx.x; k < cols; k += blockDim.x) {
		float v = in[first + k];

		row[k] = v;
		sum += v * v;
	}
	scale = rsqrtf(block_sum(sum, part) / (float)cols + 1e-6f);
	for (int k = threadIdx.x; k < cols; k += blockDim.x)
		out[first + k] = row[k] * scale;
}

/* Room for the longest row that there can be. */
extern "C" __global__ void rms_longest(float *out, const float *in, int cols)
{
	unit_square(out, in, cols);
}

/* Room for the rows that there are. */
extern "C" __global__ void rms_needed(float *out, const float *in, int cols)
{
	unit_square(out, in, cols);
}

/* ------------------------------------------------------------------------------ atomics */

#define KINDS 8
#define WIDTH 128

extern "C" __global__ void draw_kinds(int *kinds)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	kinds[i] = (int)(pairs_hash(i) % KINDS);
}

/* Gradient of an embedding of eight kinds: each word of each token is added to the row of its kind. */
extern "C" __global__ void embed_tokens(float *gradient, const float *in, const int *kinds)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&gradient[kinds[i / WIDTH] * WIDTH + i % WIDTH], in[i]);
}

/* A block sums up many tokens before it adds. */
extern "C" __global__ void embed_blocks(float *gradient, const float *in, const int *kinds,
					int tokens)
{
	__shared__ float sum[KINDS][WIDTH];
	const int tid = threadIdx.x;
	const long long first = (long long)blockIdx.x * tokens;

	for (int k = 0; k < KINDS; k++)
		sum[k][tid] = 0.0f;
	for (int t = 0; t < tokens; t += 8) {
		float v[8];

#pragma unroll
		for (int k = 0; k < 8; k++)
			v[k] = in[(first + t + k) * WIDTH + tid];
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum[kinds[first + t + k]][tid] += v[k];
	}
	for (int k = 0; k < KINDS; k++)
		atomicAdd(&gradient[k * WIDTH + tid], sum[k][tid]);
}

/* ------------------------------------------------------------------------------ launches */

#define STRING 1024

/* What a point of a string that is fixed at both ends does next. */
__device__ static inline float swing(float left, float at, float right, float before)
{
	return fmaf(0.25f, left - 2.0f * at + right, 2.0f * at - before);
}

/* One step in time of all strings. */
extern "C" __global__ void wave_step(float *next, const float *now, const float *before)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % STRING;
	float left = at == 0 ? 0.0f : now[i - 1], right = at == STRING - 1 ? 0.0f : now[i + 1];

	next[i] = swing(left, now[i], right, before[i]);
}

/* A block for each string, all steps. */
extern "C" __global__ void wave_steps(float *out, const float *start, const float *earlier,
				      int steps)
{
	__shared__ float s[2][STRING + 2];
	const int tid = threadIdx.x, i = blockIdx.x * STRING + tid;
	float now = start[i], before = earlier[i];

	if (tid < 2)
		s[tid][0] = s[tid][STRING + 1] = 0.0f;
	for (int step = 0; step < steps; step++) {
		float *line = s[step % 2], next;

		line[tid + 1] = now;
		__syncthreads();
		next = swing(line[tid], now, line[tid + 2], before);
		before = now;
		now = next;
	}
	out[i] = now;
}

/* ------------------------------------------------------------------------------ all of them */

static void blocks(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int rows = 1 << 20, long_rows = 16, quads = 1 << 20, wide = 140, bodies = wide * 4096;

	pair(
		p, "classes", rows * 64ll, 0,
		[=](float *out) { classes_block<<<rows, 32>>>((float2 *)out, (const float2 *)in); },
		[=](float *out) {
			classes_warp<<<rows / 8, 256>>>((float2 *)out, (const float2 *)in);
		});
	pair(
		p, "gemv", long_rows, 1e-2f,
		[=](float *out) {
			gemv_row<<<dim3(1, long_rows), 1024>>>(out, (const float4 *)in,
							       (const float4 *)in2, quads);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, long_rows * 4));
			gemv_pieces<<<dim3(64, long_rows), 256>>>(out, (const float4 *)in,
								  (const float4 *)in2, quads);
		});
	pair(
		p, "attract", bodies * 3ll, 1e-3f,
		[=](float *out) {
			attract_1024<<<wide, 1024>>>(out, (const float4 *)in, (const float4 *)in2);
		},
		[=](float *out) {
			attract_128<<<wide * 8, 128>>>(out, (const float4 *)in,
						       (const float4 *)in2);
		});
}

static void occupancy(struct pairs *p)
{
	const float *in = p->in;
	const int cols = 2048, rows = 1 << 15, longest = 25600;

	CHECK(cudaFuncSetAttribute(rms_longest, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   longest * 4));
	pair(
		p, "rms", BIG / 4, 1e-5f,
		[=](float *out) { rms_longest<<<rows, 256, longest * 4>>>(out, in, cols); },
		[=](float *out) { rms_needed<<<rows, 256, cols * 4>>>(out, in, cols); });
}

static void atomics(struct pairs *p)
{
	const float *in = p->in;
	const int tokens = 1 << 18, each = 256;
	int *kinds;

	CHECK(cudaMalloc(&kinds, 4ll * tokens));
	draw_kinds<<<tokens / 256, 256>>>(kinds);
	pair(
		p, "embed", KINDS * WIDTH, 1e-2f,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, KINDS * WIDTH * 4));
			embed_tokens<<<tokens / 2, 256>>>(out, in, kinds);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, KINDS * WIDTH * 4));
			embed_blocks<<<tokens / each, WIDTH>>>(out, in, kinds, each);
		});
	CHECK(cudaFree(kinds));
}

static void launches(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int strings = 2 * p->sms, n = strings * STRING, steps = 256;
	float *between;

	CHECK(cudaMalloc(&between, 12ll * n));
	pair(
		p, "wave", n, 1e-4f,
		[=](float *out) {
			const float *now = in, *before = in2;

			for (int k = 0; k < steps; k++) {
				float *next = k == steps - 1 ? out : between + k % 3 * n;

				wave_step<<<n / 256, 256>>>(next, now, before);
				before = now;
				now = next;
			}
		},
		[=](float *out) { wave_steps<<<strings, STRING>>>(out, in, in2, steps); });
	CHECK(cudaFree(between));
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	blocks(&p);
	occupancy(&p);
	atomics(&p);
	launches(&p);
	return p.failed;
}
