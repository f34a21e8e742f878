/*
 * app_class.cu - kernels of each class of the roofline, whose work is known by formula: streams and
 * reductions of far more than the L2, the same with so much arithmetic per element that they near the
 * compute roof or both, and launches too small or too serial for either.
 * usage: app_class LIST LAUNCHES; LIST receives a line of JSON per case (cases.h).
 */
#include <cuda_fp16.h>

#include "cases.h"

#define BIG   (1ll << 28) /* bytes of one buffer: five times the L2 of an H200 */
#define BLOCK 256

/* ------------------------------------------------------------------------------ streams */

template <typename T> __global__ void copy(T *out, const T *in)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i];
}

template <typename T> __global__ void axpy(T *y, const T *x, T a)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = a * x[i] + y[i];
}

__global__ void triad(float *out, const float *x, const float *y, float a)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = x[i] + a * y[i];
}

__global__ void fill(float4 *out, float v)
{
	out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = make_float4(v, v, v, v);
}

/* Each block adds up `n` elements; one atomic addition per block is not worth counting. */
template <bool DOT> __global__ void sum(float *out, const float4 *x, const float4 *y, int n)
{
	__shared__ float part[BLOCK / 32];
	float s = 0.0f;

	for (int i = threadIdx.x; i < n / 4; i += BLOCK) {
		float4 a = x[(long long)blockIdx.x * (n / 4) + i];

		if (DOT) {
			float4 b = y[(long long)blockIdx.x * (n / 4) + i];

			s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
		} else {
			s += a.x + a.y + a.z + a.w;
		}
	}
	for (int d = 16; d; d /= 2)
		s += __shfl_down_sync(0xffffffffu, s, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < BLOCK / 32; w++)
			s += part[w];
		atomicAdd(out, s);
	}
}

__global__ void transpose(float *out, const float *in, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += 8)
		tile[threadIdx.y + j][threadIdx.x] = in[(long long)(y + j) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		out[(long long)(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

/* Seven points; 8 FLOPs and, counted once, a float read and one written per inner point. */
__global__ void stencil(float *out, const float *in, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	long long plane = (long long)n * n;

	if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
		return;
	for (int z = 1; z < n - 1; z++) {
		long long i = z * plane + (long long)y * n + x;

		out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] +
						in[i - plane] + in[i + plane]);
	}
}

/* ------------------------------------------------------------------------------ arithmetic per element */

template <typename T> __device__ T fused(T a, T b, T c)
{
	return a * b + c;
}
template <> __device__ __half2 fused(__half2 a, __half2 b, __half2 c)
{
	return __hfma2(a, b, c);
}

/* K multiply-adds on each element of a stream, eight elements a thread: eight chains. */
template <typename T, int K> __global__ void poly(T *out, const T *in, T a, T b)
{
	long long first = (long long)blockIdx.x * BLOCK * 8 + threadIdx.x;
	T v[8];

#pragma unroll
	for (int j = 0; j < 8; j++)
		v[j] = in[first + j * BLOCK];
#pragma unroll 4
	for (int k = 0; k < K; k++)
#pragma unroll
		for (int j = 0; j < 8; j++)
			v[j] = fused(v[j], a, b);
#pragma unroll
	for (int j = 0; j < 8; j++)
		out[first + j * BLOCK] = v[j];
}

/* No stream at all: CHAINS chains of n multiply-adds per thread, one result each. */
template <typename T, int CHAINS> __global__ void chain(T *out, T a, T b, int n)
{
	T v[CHAINS], s;

#pragma unroll
	for (int j = 0; j < CHAINS; j++)
		v[j] = fused(a, b, (T)((float)(threadIdx.x + j)));
#pragma unroll 4
	for (int k = 0; k < n; k++)
#pragma unroll
		for (int j = 0; j < CHAINS; j++)
			v[j] = fused(v[j], a, b);
	s = v[0];
#pragma unroll
	for (int j = 1; j < CHAINS; j++)
		s = fused(v[j], a, s);
	out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = s;
}

/* ------------------------------------------------------------------------------ neither */

/* The same copy by a few blocks; `N` only gives each case a kernel of its own. */
template <int N> __global__ void few(float *out, const float *in, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = 2.0f * in[i];
}

__global__ void chase(unsigned *out, const unsigned *in, int steps)
{
	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < steps; i++)
		at = in[at];
	out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void one_word(unsigned *out)
{
	atomicAdd(out, threadIdx.x);
}

__global__ void barriers(float *out, const float *in, int rounds)
{
	__shared__ float stage[BLOCK];
	float v = in[blockIdx.x * BLOCK + threadIdx.x];

	for (int i = 0; i < rounds; i++) {
		stage[threadIdx.x] = v;
		__syncthreads();
		v += stage[(threadIdx.x + 1) % BLOCK];
		__syncthreads();
	}
	out[blockIdx.x * BLOCK + threadIdx.x] = v;
}

/* ------------------------------------------------------------------------------ cases */

template <typename T, int K>
static void poly_case(struct cases *c, const char *type, int lanes, void *out, const void *in, T a,
		      T b)
{
	const long long n = BIG / (long long)sizeof(T);
	char name[64];

	std::snprintf(name, sizeof(name), "%s stream, %d multiply-adds", type, K);
	run_case(c, name, 2.0 * K * (double)n * lanes, 2.0 * BIG, type, [=] {
		poly<T, K><<<(unsigned)(n / (BLOCK * 8)), BLOCK>>>((T *)out, (const T *)in, a, b);
	});
}

template <typename T, int CHAINS>
static void chain_case(struct cases *c, const char *type, int lanes, void *out, T a, T b,
		       int blocks, int n, const char *what)
{
	double threads = (double)blocks * BLOCK;

	/* n rounds, one multiply-add per chain before them and CHAINS - 1 behind */
	run_case(c, what, 2.0 * lanes * threads * ((double)n * CHAINS + 2 * CHAINS - 1),
		 threads * sizeof(T), type,
		 [=] { chain<T, CHAINS><<<blocks, BLOCK>>>((T *)out, a, b, n); });
}

static void streams(struct cases *c, float *a, float *b, float *d)
{
	const long long n = BIG / 4;
	const unsigned blocks = (unsigned)(n / BLOCK);

	run_case(c, "copy, 4 bytes", 0, 2.0 * BIG, "fp32", [=] { copy<<<blocks, BLOCK>>>(a, b); });
	run_case(c, "copy, 8 bytes", 0, 2.0 * BIG, "fp32",
		 [=] { copy<<<blocks / 2, BLOCK>>>((float2 *)a, (const float2 *)b); });
	run_case(c, "copy, 16 bytes", 0, 2.0 * BIG, "fp32",
		 [=] { copy<<<blocks / 4, BLOCK>>>((float4 *)a, (const float4 *)b); });
	run_case(c, "axpy, float", 2.0 * n, 3.0 * BIG, "fp32",
		 [=] { axpy<<<blocks, BLOCK>>>(a, b, 1e-6f); });
	run_case(c, "axpy, double", 1.0 * n, 3.0 * BIG, "fp64",
		 [=] { axpy<<<blocks / 2, BLOCK>>>((double *)a, (const double *)b, 1e-6); });
	run_case(c, "triad", 2.0 * n, 3.0 * BIG, "fp32",
		 [=] { triad<<<blocks, BLOCK>>>(a, b, d, 0.5f); });
	run_case(c, "fill", 0, 1.0 * BIG, "fp32",
		 [=] { fill<<<blocks / 4, BLOCK>>>((float4 *)a, 0.5f); });
	run_case(c, "sum", 1.0 * n, 1.0 * BIG, "fp32", [=] {
		sum<false><<<(unsigned)(n / 16384), BLOCK>>>(d, (const float4 *)b,
							     (const float4 *)a, 16384);
	});
	run_case(c, "dot", 2.0 * n, 2.0 * BIG, "fp32", [=] {
		sum<true><<<(unsigned)(n / 16384), BLOCK>>>(d, (const float4 *)b, (const float4 *)a,
							    16384);
	});
	run_case(c, "transpose", 0, 2.0 * BIG, "fp32",
		 [=] { transpose<<<dim3(256, 256), dim3(32, 8)>>>(a, b, 8192); });
	run_case(c, "stencil", 8.0 * 382 * 382 * 382, 8.0 * 384 * 384 * 384, "fp32",
		 [=] { stencil<<<dim3(12, 48), dim3(32, 8)>>>(a, b, 384); });
}

static void arithmetic(struct cases *c, void *out, const void *in, int sms)
{
	const __half2 ha = __float2half2_rn(0.5f), hb = __float2half2_rn(0.25f);

	/* an H200 balances at 13.9 FLOP/B in FP32: 56 multiply-adds on four bytes read and four written */
	poly_case<float, 8>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 44>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 48>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 52>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 56>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 60>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 64>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 68>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 192>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<float, 512>(c, "fp32", 1, out, in, 0.5f, 0.25f);
	poly_case<double, 8>(c, "fp64", 1, out, in, 0.5, 0.25);
	poly_case<double, 48>(c, "fp64", 1, out, in, 0.5, 0.25);
	poly_case<double, 56>(c, "fp64", 1, out, in, 0.5, 0.25);
	poly_case<double, 64>(c, "fp64", 1, out, in, 0.5, 0.25);
	poly_case<double, 192>(c, "fp64", 1, out, in, 0.5, 0.25);
	poly_case<__half2, 8>(c, "fp16", 2, out, in, ha, hb);
	poly_case<__half2, 48>(c, "fp16", 2, out, in, ha, hb);
	poly_case<__half2, 56>(c, "fp16", 2, out, in, ha, hb);
	poly_case<__half2, 64>(c, "fp16", 2, out, in, ha, hb);
	poly_case<__half2, 192>(c, "fp16", 2, out, in, ha, hb);

	chain_case<float, 8>(c, "fp32", 1, out, 0.5f, 0.25f, sms * 8, 4096,
			     "fp32 chains, 8 a thread");
	chain_case<float, 4>(c, "fp32", 1, out, 0.5f, 0.25f, sms * 8, 4096,
			     "fp32 chains, 4 a thread");
	chain_case<double, 4>(c, "fp64", 1, out, 0.5, 0.25, sms * 8, 2048,
			      "fp64 chains, 4 a thread");
	chain_case<double, 2>(c, "fp64", 1, out, 0.5, 0.25, sms * 8, 2048,
			      "fp64 chains, 2 a thread");
	/* two warps per SM and scheduler or less: each waits for itself */
	chain_case<float, 1>(c, "fp32", 1, out, 0.5f, 0.25f, sms / 2, 4096,
			     "fp32 chain, half of the SMs");
	chain_case<double, 1>(c, "fp64", 1, out, 0.5, 0.25, sms / 4, 2048,
			      "fp64 chain, a quarter of the SMs");
	chain_case<float, 2>(c, "fp32", 1, out, 0.5f, 0.25f, 8, 4096, "fp32 chains, 8 blocks");
}

static void neither(struct cases *c, float *a, float *b)
{
	run_case(c, "copy of 64 MB by 8 blocks", 1 << 24, 8.0 * (1 << 24), "fp32",
		 [=] { few<0><<<8, BLOCK>>>(a, b, 1 << 24); });
	run_case(c, "copy of 64 MB by 32 blocks", 1 << 24, 8.0 * (1 << 24), "fp32",
		 [=] { few<1><<<32, BLOCK>>>(a, b, 1 << 24); });
	run_case(c, "copy of 4 KB", 1 << 10, 8.0 * (1 << 10), "fp32",
		 [=] { few<2><<<4, BLOCK>>>(a, b, 1 << 10); });
	run_case(c, "copy of 256 KB", 1 << 16, 8.0 * (1 << 16), "fp32",
		 [=] { few<3><<<256, BLOCK>>>(a, b, 1 << 16); });
	/* the buffer is zero there: each step is one word, always the same */
	run_case(c, "pointer chase", 0, 8.0 * 132 * 32, "fp32",
		 [=] { chase<<<132, 32>>>((unsigned *)a, (const unsigned *)b, 512); });
	run_case(c, "atomics on one word", 0, 4, "fp32",
		 [=] { one_word<<<64, BLOCK>>>((unsigned *)a); });
	run_case(c, "barriers", 256.0 * BLOCK * 64, 8.0 * BLOCK * 64, "fp32",
		 [=] { barriers<<<64, BLOCK>>>(a, b, 256); });
}

int main(int argc, char **argv)
{
	struct cases c = {};
	int sms;
	float *a, *b, *d;

	c.list = argc > 1 ? std::fopen(argv[1], "w") : stdout;
	c.launches = argc > 2 ? std::atoi(argv[2]) : 10;
	if (!c.list)
		return 1;
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc((void **)&a, BIG));
	CHECK(cudaMalloc((void **)&b, BIG));
	CHECK(cudaMalloc((void **)&d, BIG));
	CHECK(cudaMemset(a, 0, BIG));
	CHECK(cudaMemset(b, 0, BIG));
	CHECK(cudaMemset(d, 0, BIG));
	/* the clocks go up before anything counts */
	for (int i = 0; i < 20; i++)
		chain<float, 3><<<sms * 8, BLOCK>>>(a, 0.5f, 0.25f, 1 << 14);
	CHECK(cudaDeviceSynchronize());
	streams(&c, a, b, d);
	arithmetic(&c, a, b, sms);
	neither(&c, a, b);
	std::fclose(c.list);
	std::printf("class done\n");
	return 0;
}
