/*
 * nests.cu - loops within loops, and loops that are not simple: what tile.h joins, and what it leaves.
 */
#include <cuda_fp16.h>

/* Loads outside, 4 x 8 steps of 3 FFMA within: one tile of 96 FFMA, from loops of three depths. */
extern "C" __global__ void nest_deep(const float *a, float *c, int tiles)
{
	__shared__ float s[2][1024];
	float x = 0, y = 1, z = 2;

#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		s[0][threadIdx.x] = a[k * 512 + threadIdx.x];
		s[1][threadIdx.x] = a[k * 512 + 256 + threadIdx.x];
		__syncthreads();
#pragma unroll 1
		for (int i = 0; i < 4; i++)
#pragma unroll 1
			for (int j = 0; j < 8; j++) {
				const float u = s[0][(i * 8 + j) ^ threadIdx.x],
					    v = s[1][j * 4 + i];

				x = x * u + v;
				y = y * v + u;
				z = z * u + u;
			}
		__syncthreads();
	}
	c[threadIdx.x] = x + y + z;
}

/* Counts down, and by another step: 7 and 5 iterations. */
extern "C" __global__ void nest_down(const float *a, float *c, int tiles)
{
	__shared__ float s[1024];
	float x = 0;

#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		s[threadIdx.x] = a[k * 256 + threadIdx.x];
		__syncthreads();
#pragma unroll 1
		for (int i = 21; i > 0; i -= 3)
			x = x * s[i ^ threadIdx.x] + s[i * 3];
#pragma unroll 1
		for (unsigned i = 2; i <= 30; i += 6)
			x = x * s[(i ^ threadIdx.x) + 64] + s[i * 5 + k % 2];
		__syncthreads();
	}
	c[threadIdx.x] = x;
}

/* The loop within runs as often as the caller says. */
extern "C" __global__ void nest_open(const float *a, float *c, int tiles, int steps)
{
	__shared__ float s[1024];
	float x = 0;

#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		s[threadIdx.x] = a[k * 256 + threadIdx.x];
		__syncthreads();
#pragma unroll 1
		for (int i = 0; i < steps; i++)
			x = x * s[i ^ threadIdx.x] + s[i * 3];
		__syncthreads();
	}
	c[threadIdx.x] = x;
}

/* A loop within that may end early: its 16 iterations are not proven. */
extern "C" __global__ void nest_break(const float *a, float *c, int tiles)
{
	__shared__ float s[1024];
	float x = 0;

#pragma unroll 1
	for (int k = 0; k < tiles; k++) {
		s[threadIdx.x] = a[k * 256 + threadIdx.x];
		__syncthreads();
#pragma unroll 1
		for (int i = 0; i < 16; i++) {
			x = x * s[i ^ threadIdx.x] + s[i * 3];
			if (x > 100)
				break;
		}
		__syncthreads();
	}
	c[threadIdx.x] = x;
}

/* Loads that a predicate guards, the next tile's before this one is used. */
extern "C" __global__ void pipelined(const float *a, float *c, int tiles, int limit)
{
	__shared__ float s[2][256];
	const int t = threadIdx.x;
	float x = 0, next = t < limit ? a[t] : 0;

#pragma unroll 1
	for (int k = 1; k <= tiles; k++) {
		s[k & 1][t] = next;
		__syncthreads();
		next = 0;
		if (t < limit - k)
			next = a[k * 256 + t];
#pragma unroll
		for (int i = 0; i < 32; i++)
			x = x * s[k & 1][i] + s[k & 1][i ^ 5];
	}
	c[t] = x + next;
}

/* Two ways back to the head, one of them past a load. */
extern "C" __global__ void two_latches(const float *a, const int *skip, float *c, int n)
{
	float x = 0;
	int k = 0;

#pragma unroll 1
	while (k < n) {
		const int by = skip[k];

		k += 1;
		if (by > 3) {
			k += by;
			__syncwarp();
			continue;
		}
		x = x * a[k * 32 + threadIdx.x] + a[k];
		__syncwarp();
	}
	c[threadIdx.x] = x;
}

/* An item of work is loaded, and its loop is a tile of its own. */
extern "C" __global__ void nest_outer(const float *a, const int *work, float *c, int items,
				      int steps)
{
	float x = 0;

#pragma unroll 1
	for (int w = 0; w < items; w++) {
		const float *from = a + work[w];

#pragma unroll 1
		for (int i = 0; i < steps; i++) {
			const float u = from[i * 32 + threadIdx.x];

			x = x * u + 1;
			x = x * u + 2;
		}
	}
	c[threadIdx.x] = x;
}

/* 3 HFMA2, 2 FFMA and 1 DFMA an iteration. */
extern "C" __global__ void halves(const half2 *h, const float *f, const double *d, half2 *ho,
				  float *fo, double *dout, int n)
{
	half2 x = h[0];
	float y = f[0];
	double z = d[0];

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		const half2 a = h[k * 32 + threadIdx.x];
		const float b = f[k * 32 + threadIdx.x];
		const double c = d[k * 32 + threadIdx.x];

		x = __hfma2(x, a, a);
		x = __hfma2(x, a, x);
		x = __hfma2(a, a, x);
		y = y * b + b;
		y = y * b + y;
		z = z * c + c;
	}
	ho[threadIdx.x] = x;
	fo[threadIdx.x] = y;
	dout[threadIdx.x] = z;
}
