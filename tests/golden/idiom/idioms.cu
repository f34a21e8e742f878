/*
 * idioms.cu - matrix products in plain multiply-adds and what looks like them; doubles that somebody meant and
 * such that nobody did: what idiom.h finds, and what it leaves.
 */
#include <cuda_fp16.h>

/* 4 x 4 results a thread from tiles in shared memory: a product. */
extern "C" __global__ void tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][64], bs[16][64];
	float sum[4][4] = {};
	const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

#pragma unroll 1
	for (int k = 0; k < n; k += 16) {
		for (int i = 0; i < 4; i++) {
			as[ty][tx * 4 + i] = a[(k + ty) * n + blockIdx.y * 64 + tx * 4 + i];
			bs[ty][tx * 4 + i] = b[(k + ty) * n + blockIdx.x * 64 + tx * 4 + i];
		}
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
#pragma unroll
			for (int i = 0; i < 16; i++)
				sum[i / 4][i % 4] += as[j][ty * 4 + i / 4] * bs[j][tx * 4 + i % 4];
		__syncthreads();
	}
	for (int i = 0; i < 16; i++)
		c[(blockIdx.y * 64 + ty * 4 + i / 4) * n + blockIdx.x * 64 + tx * 4 + i % 4] =
			sum[i / 4][i % 4];
}

/* One result a thread, rows by y and columns by x: a product. */
extern "C" __global__ void plain(const float *a, const float *b, float *c, int n)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x,
		  y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[y * n + k] * b[k * n + x];
	c[y * n + x] = sum;
}

/* One result a thread, from tiles in shared memory: a product. */
extern "C" __global__ void staged(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][16], bs[16][16];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	float sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k += 16) {
		as[ty][tx] = a[y * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
			sum += as[ty][j] * bs[j][tx];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

/* The same in halves, two neighbours a thread: a product. */
extern "C" __global__ void staged_halves(const __half *a, const __half2 *b, float2 *c, int n)
{
	__shared__ __half as[32][32];
	__shared__ __half2 bs[32][32];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
	__half2 sum = __float2half2_rn(0);

#pragma unroll 1
	for (int k = 0; k < n; k += 32) {
		as[ty][tx] = a[y * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n / 2 + x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 32; j++)
			sum = __hfma2(__half2half2(as[ty][j]), bs[j][tx], sum);
		__syncthreads();
	}
	c[y * n / 2 + x] = __half22float2(sum);
}

/* A row of each warp times a vector that all share, both in shared memory: no word is used twice on one side. */
extern "C" __global__ void staged_vector(const float *a, const float *x, float *y, int n)
{
	__shared__ float as[8][33], xs[32];
	const int row = blockIdx.x * 8 + threadIdx.y;
	float sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k += 32) {
		as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		xs[threadIdx.x] = x[k + threadIdx.x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 32; j++)
			sum += as[threadIdx.y][j] * xs[j];
		__syncthreads();
	}
	y[row] = sum;
}

/* A matrix and a vector: every element of the matrix is used once. */
extern "C" __global__ void matrix_vector(const float *a, const float *x, float *y, int n)
{
	const int row = blockIdx.x * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int k = threadIdx.x; k < n; k += 32)
		sum += a[row * n + k] * x[k];
	atomicAdd(&y[row], sum);
}

/* Two vectors. */
extern "C" __global__ void dot(const float *a, const float *b, float *out, int n)
{
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += a[i] * b[i];
	atomicAdd(out, sum);
}

/* A row filtered with weights that all share. */
extern "C" __global__ void filter(const float *a, const float *w, float *out, int taps)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < taps; k++)
		sum += a[i + k] * w[k];
	out[i] = sum;
}

/* Distances: what is multiplied was not loaded. */
extern "C" __global__ void distances(const float *a, const float *b, float *out, int n)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x,
		  y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int k = 0; k < n; k++) {
		const float d = a[y * n + k] - b[x * n + k];

		sum += d * d;
	}
	out[y * n + x] = sum;
}

/* A constant without its f, in a loop. */
extern "C" __global__ void leak(const float *a, float *out, int n)
{
	float v = a[threadIdx.x];

	for (int k = 0; k < n; k++)
		v = v * 0.999 + a[k];
	out[threadIdx.x] = v;
}

/* Compared with one. */
extern "C" __global__ void compare(const float *a, float *out, int n)
{
	float sum = 0;

	for (int i = threadIdx.x; i < n; i += 256)
		if (a[i] * 1.1 > 0.7)
			sum += a[i];
	out[threadIdx.x] = sum;
}

/* Floats summed up in a double, narrowed once behind the loop. */
extern "C" __global__ void sum_in_double(const float *a, float *out, int n)
{
	double sum = 0;

	for (int i = threadIdx.x; i < n; i += 256)
		sum += a[i];
	out[threadIdx.x] = (float)sum;
}

/* Doubles from end to end. */
extern "C" __global__ void all_double(const double *a, double *out, int n)
{
	double v = 0;

	for (int i = threadIdx.x; i < n; i += 256)
		v = v * 0.999 + a[i];
	out[threadIdx.x] = v;
}

/* Tries again until it was first: mostly once. */
extern "C" __global__ void retry(float *sum, const float *a)
{
	int *at = (int *)sum;
	int seen = *at, before;

	do {
		before = seen;
		seen = atomicCAS(at, before,
				 __float_as_int(__int_as_float(before) + a[threadIdx.x]));
	} while (seen != before);
}

/* A list: where the next is, the load before says. */
extern "C" __global__ void list(const int2 *nodes, int *out)
{
	int sum = 0;

#pragma unroll 1
	for (int at = threadIdx.x; at >= 0; at = nodes[at].x)
		sum += nodes[at].y;
	out[threadIdx.x] = sum;
}

/* A division without its f: so many operations for each conversion. */
extern "C" __global__ void divided(const float *a, float *out, int n)
{
	float x = a[threadIdx.x], v = 0;

	for (int k = 0; k < n; k++) {
		v += 0.01 * (1.0 - x * x / 6.0);
		x += 0.01 * v;
	}
	out[threadIdx.x] = x;
}

/* Functions in double, which are called or have loops of their own. */
extern "C" __global__ void functions(const float *a, float *out)
{
	out[threadIdx.x] = pow(a[threadIdx.x] + 1.0, 1.5) + sin(a[threadIdx.x] * 3.0);
}

/* Some steps of the reduction of large arguments are in double: none of ours. */
extern "C" __global__ void sine(const float *a, float *out, int n)
{
	float v = a[threadIdx.x];

	for (int k = 0; k < n; k++)
		v = sinf(v) + 1.0f;
	out[threadIdx.x] = v;
}

/* A state in double through all turns. */
extern "C" __global__ void kept_in_double(const float *a, float *out, int n)
{
	double x = a[threadIdx.x];

	for (int k = 0; k < n; k++)
		x = x * 0.999 + 0.001 * x * x;
	out[threadIdx.x] = (float)x;
}

/* Weights of the caller's, in double. */
extern "C" __global__ void given(const float *a, const double *w, float *out, double scale)
{
	const double x = a[threadIdx.x];

	out[threadIdx.x] = (float)(((x * w[0] + w[1]) * x + w[2]) * x * 0.5 * scale * scale + 0.25);
}

/* A sum without a loop, and one across lanes. */
extern "C" __global__ void sum_of_twelve(const float *a, float *out)
{
	double sum = 0;

#pragma unroll
	for (int i = 0; i < 12; i++)
		sum += a[threadIdx.x * 12 + i];
	out[threadIdx.x] = (float)sum;
}

extern "C" __global__ void sum_of_lanes(const float *a, float *out)
{
	double sum = a[threadIdx.x] * 0.5 + 0.25;

	for (int d = 16; d; d /= 2)
		sum += __shfl_xor_sync(~0u, sum, d) * 0.5;
	out[threadIdx.x] = (float)sum;
}

/* A remainder by what the caller says: its reciprocal is worked out before the loop. */
extern "C" __global__ void ring(float *out, const float *in, int n, int step, int echoes)
{
	const int at = threadIdx.x;
	float sum = 0;

#pragma unroll 1
	for (int k = 0; k < echoes; k++)
		sum += in[(at + k * step) % n];
	out[at] = sum;
}

/* Another divisor in each turn; quotient and remainder of it. */
extern "C" __global__ void divides_each(unsigned *out, const unsigned *in, int n)
{
	unsigned sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k++)
		sum += in[k] / in[k + 1] * 7 + in[k] % in[k + 1];
	out[threadIdx.x] = sum;
}

/* Of 64 bits: a function of the compiler's, and a shorter way beside it. */
extern "C" __global__ void divides_long(long long *out, const long long *in, int n, long long by)
{
	long long sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k++)
		sum += in[k] % by;
	out[threadIdx.x] = sum;
}

/* By constants, and a division of floats: neither is one. */
extern "C" __global__ void divides_known(unsigned *out, const unsigned *in, float *floats, int n)
{
	unsigned sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		sum += in[k] / 7 + in[k] % 1000 + in[k] / 64;
		floats[k] = floats[k + 1] / floats[k + 2] + (float)in[k];
	}
	out[threadIdx.x] = sum;
}

/* The least of sums in place of the sum of products. */
extern "C" __global__ void staged_minima(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][16], bs[16][16];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	float least = 1e30f;

#pragma unroll 1
	for (int k = 0; k < n; k += 16) {
		as[ty][tx] = a[y * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + x];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
			least = fminf(least, as[ty][j] + bs[j][tx]);
		__syncthreads();
	}
	c[y * n + x] = least;
}

/* Bits in which rows of the one differ from rows of the other, two by two. */
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, int *c, int n)
{
	const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 2,
		  y = (blockIdx.y * blockDim.y + threadIdx.y) * 2;
	int sum[4] = {};

#pragma unroll 1
	for (int k = 0; k < n; k++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			sum[i] += __popc(a[(y + i / 2) * n + k] ^ b[(x + i % 2) * n + k]);
	for (int i = 0; i < 4; i++)
		c[(y + i / 2) * n + x + i % 2] = sum[i];
}
