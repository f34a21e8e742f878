/*
 * again.cu - passes over the same data, and what looks like them, for test_again.c. Compiled by scripts/build-tiles.
 */
#define ROW (in + (long long)blockIdx.x * n)

__device__ static float whole_sum(float s)
{
	__shared__ float part[8];

	for (int d = 16; d; d /= 2)
		s += __shfl_xor_sync(0xffffffffu, s, d);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	__syncthreads();
	return part[0] + part[1] + part[2] + part[3];
}

/* Three passes, the last with a division that is called. */
extern "C" __global__ void three_passes(float *out, const float *in, int n)
{
	float m = 0, s = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		m += ROW[i];
	m = whole_sum(m) / n;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s += (ROW[i] - m) * (ROW[i] - m);
	s = whole_sum(s);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[(long long)blockIdx.x * n + i] = (ROW[i] - m) / s;
}

/* The same row by steps of another size. */
extern "C" __global__ void unrolled_once(float *out, const float *in, int n)
{
	float m = 0, s = 0;

#pragma unroll 4
	for (int k = 0; k < 32; k++)
		m += ROW[threadIdx.x + 128 * k];
	m = whole_sum(m);
#pragma unroll 1
	for (int k = 0; k < 32; k++)
		s += (ROW[threadIdx.x + 128 * k] - m) * (ROW[threadIdx.x + 128 * k] - m);
	out[blockIdx.x * 128 + threadIdx.x] = s;
}

/* Pieces of a row in no loop at all, read again behind a barrier. */
extern "C" __global__ void straight(float *out, float *in, int n)
{
	const float a = ROW[threadIdx.x], b = ROW[threadIdx.x + 128];
	const float s = whole_sum(a + b);

	out[blockIdx.x * 256 + threadIdx.x] = ROW[threadIdx.x] * s;
	out[blockIdx.x * 256 + threadIdx.x + 128] = s;
}

/* The second pass reads what the first has written. */
extern "C" __global__ void written(float *out, float *in, int n)
{
	float m = 0;

#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 128)
		ROW[i] = 2 * ROW[i] + 1;
	__syncthreads();
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 128)
		m += ROW[i];
	out[blockIdx.x * 128 + threadIdx.x] = m;
}

/* Two rows. */
extern "C" __global__ void other_row(float *out, const float *in, int n)
{
	float m = 0, s = 0;

	for (int i = threadIdx.x; i < n; i += 128)
		m += ROW[i];
	m = whole_sum(m);
	for (int i = threadIdx.x; i < n; i += 128)
		s += in[(long long)(blockIdx.x + 1) * n + i] - m;
	out[blockIdx.x * 128 + threadIdx.x] = s;
}

/* Every second word, then every word. */
extern "C" __global__ void other_step(float *out, const float *in, int n)
{
	float m = 0, s = 0;

#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 256)
		m += ROW[i];
	m = whole_sum(m);
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 128)
		s += ROW[i] - m;
	out[blockIdx.x * 128 + threadIdx.x] = s;
}

/* One way or the other. */
extern "C" __global__ void either(float *out, const float *in, int n)
{
	float s = 0;

	if (n & 1) {
#pragma unroll 1
		for (int i = threadIdx.x; i < n; i += 128)
			s += ROW[i];
	} else {
#pragma unroll 1
		for (int i = threadIdx.x; i < n; i += 128)
			s += ROW[i] * ROW[i] + 1;
	}
	out[blockIdx.x * 128 + threadIdx.x] = s;
}

/* A row kept in registers. */
extern "C" __global__ void kept(float *out, const float *in, int n)
{
	float v[8], m = 0;

#pragma unroll
	for (int k = 0; k < 8; k++)
		m += v[k] = ROW[threadIdx.x + 128 * k];
	m = whole_sum(m);
#pragma unroll
	for (int k = 0; k < 8; k++)
		out[blockIdx.x * 1024 + threadIdx.x + 128 * k] = v[k] - m;
}

/* The first tile in front of the loop, the next one within. */
extern "C" __global__ void ahead(float *out, const float *in, int n)
{
	float next = ROW[threadIdx.x], s = 0;

#pragma unroll 1
	for (int i = 128; i < n; i += 128) {
		const float now = next;

		next = ROW[threadIdx.x + i];
		s += whole_sum(now);
	}
	out[blockIdx.x * 128 + threadIdx.x] = s + next;
}

/* One word that all need, twice. */
extern "C" __global__ void one_word(float *out, float *in, int n)
{
	float s = in[n];

	out[blockIdx.x * 128 + threadIdx.x] = s;
	s = whole_sum(s + threadIdx.x);
	out[threadIdx.x] = s * in[n];
}

/* Until it is done: the same word of each lane again and again. */
extern "C" __global__ void tried_again(float *out, const float *in, int n)
{
	const float a = ROW[threadIdx.x];
	int *word = (int *)out + (int)a, old = *word, before;

	do {
		before = old;
		old = atomicCAS(word, before, before + __float_as_int(ROW[threadIdx.x]));
	} while (old != before);
}

/* Five by five points around each, kept within the field. */
extern "C" __global__ void around(float *out, const float *in, int n)
{
	const int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 4 + threadIdx.x / 32;
	float s = 0;

#pragma unroll
	for (int k = 0; k < 25; k++) {
		const int u = min(max(x + k % 5 - 2, 0), n - 1),
			  v = min(max(y + k / 5 - 2, 0), n - 1);

		s += in[(long long)v * n + u] * (k + 1);
	}
	out[(long long)y * n + x] = s;
}

/* Sixteen words from each lane's on, one in a turn. */
extern "C" __global__ void window(float *out, const float *in, int n)
{
	const int i = blockIdx.x * 128 + threadIdx.x;
	float s = 0;

#pragma unroll 1
	for (int k = 0; k < 16; k++)
		s = s * 0.5f + in[i + k];
	out[i] = s;
}

/* A row of its own for each lane, one word in a turn: nobody else asks for that. */
extern "C" __global__ void own_rows(float *out, const float *in, int n)
{
	const int i = blockIdx.x * 128 + threadIdx.x;
	float s = 0;

#pragma unroll 1
	for (int k = 0; k < n; k++)
		s = s * 0.5f + in[(long long)i * n + k];
	out[i] = s;
}

/* The same words by one way or the other. */
extern "C" __global__ void two_ways(float *out, const float *in, int n)
{
	const float *p = in + blockIdx.x * 512 + threadIdx.x;
	float s;

	if (n & 1)
		s = p[0] + p[128] * p[256] + p[384];
	else
		s = p[0] * p[128] + p[256] * p[384] + sinf(p[0]);
	out[blockIdx.x * 128 + threadIdx.x] = s;
}
