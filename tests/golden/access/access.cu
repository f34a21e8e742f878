/*
 * access.cu - accesses of lanes for test_access.c: neighbours that use one sector or do not, turns of a loop, wide loads
 * from shared memory. Arguments as of the samples. Compiled by scripts/build-tiles.
 */
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

/* 32 bytes per lane as two loads of 16, and stored so. */
extern "C" __global__ void both_halves(float4 *out, const float4 *in, int n)
{
	const float4 a = in[2 * AT], b = in[2 * AT + 1];

	out[2 * AT] = make_float4(b.x, a.y, b.z, a.w);
	out[2 * AT + 1] = make_float4(a.x, b.y, a.z, b.w);
}

/* The same by loads that leave nothing in the L1. */
extern "C" __global__ void past_l1(float4 *out, const float4 *in, int n)
{
	const float4 a = __ldcg(in + 2 * AT), b = __ldcg(in + 2 * AT + 1);

	out[AT] = make_float4(a.x + b.x, a.y * b.y, a.z - b.z, a.w + b.w);
}

/* Two loads of 8 bytes use half of each lane's sector. */
extern "C" __global__ void quarters(float2 *out, const float2 *in, int n)
{
	const float2 a = in[4 * AT], b = in[4 * AT + 2];

	out[AT] = make_float2(a.x + b.x, a.y + b.y);
}

/* Half of a sector here, and half of one 1 MB away. */
extern "C" __global__ void apart(float4 *out, const float4 *in, int n)
{
	const float4 a = in[2 * AT], b = in[2 * AT + 65536];

	out[AT] = make_float4(a.x + b.x, a.y, b.z, a.w);
}

/* The other half only if a value says so. */
extern "C" __global__ void perhaps(float4 *out, const float4 *in, int n)
{
	float4 a = in[2 * AT];

	if (__any_sync(~0u, a.x > 1.0f)) {
		const float4 b = in[2 * AT + 1];

		__syncwarp();
		a.y = b.y * b.x;
		for (int i = 0; i < n; i++)
			a.y = a.y * a.x + b.z;
	}
	out[AT] = a;
}

template <int TURNS> __device__ void rows(int *out, const unsigned short *in, int n)
{
	const unsigned short *row = in + 512 * AT;
	int sum = 0;

#pragma unroll 1
	for (int k = 0; k < (TURNS ? TURNS : n); k++)
		sum += row[k];
	out[AT] = sum;
}

/* A row per lane, 2 bytes a turn: a sector in 16 turns. */
extern "C" __global__ void turns_64(int *out, const unsigned short *in, int n)
{
	rows<64>(out, in, n);
}

extern "C" __global__ void turns_4(int *out, const unsigned short *in, int n)
{
	rows<4>(out, in, n);
}

extern "C" __global__ void turns_n(int *out, const unsigned short *in, int n)
{
	rows<0>(out, in, n);
}

/* Another sector each turn. */
extern "C" __global__ void strides(int *out, const int *in, int n)
{
	int sum = 0;

#pragma unroll 1
	for (int k = 0; k < n; k++)
		sum += in[1024 * AT + 8 * k];
	out[AT] = sum;
}

template <class T> __device__ void from_shared(T *out, const T *in, unsigned at)
{
	__shared__ T words[32];

	words[threadIdx.x] = in[AT];
	__syncthreads();
	out[AT] = words[at];
}

#define SHARED(name, type, at)                                            \
	extern "C" __global__ void name(type *out, const type *in, int n) \
	{                                                                 \
		from_shared(out, in, at);                                 \
	}

SHARED(eight_each, float2, threadIdx.x ^ 1)
SHARED(eight_pairs, float2, threadIdx.x >> 1)
SHARED(sixteen_each, float4, threadIdx.x ^ 1)
SHARED(sixteen_pairs, float4, threadIdx.x >> 1)
SHARED(sixteen_next_but_one, float4, (threadIdx.x >> 2 << 1) | (threadIdx.x & 1))
SHARED(sixteen_by_four, float4, threadIdx.x & 3)
SHARED(sixteen_of_all, float4, 5)

/* A loop in which lanes part and meet again: the root of some values takes a way of its own. Buffers are alike below. */
extern "C" __global__ void rooted(float *out, const float *in, int n)
{
#pragma unroll 1
	for (int i = 0; i < 100; i++)
		out[AT * 100 + i] = sqrtf(fabsf(in[AT * 100 + i]));
}

/* Powers of two, each under a guard that a value read decides, or not. */
template <bool IS_GUARDED> __device__ void powers(float *out, const float *in)
{
	float x = in[AT];
	const int bits = __float_as_int(in[AT + 65536]);

#pragma unroll
	for (int i = 0; i < 64; i++)
		if (IS_GUARDED)
			asm volatile(
				"{ .reg .pred p; setp.gt.s32 p, %1, 7; @p ex2.approx.ftz.f32 %0, %0; }"
				: "+f"(x)
				: "r"(bits));
		else
			asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
	out[AT] = x;
}

extern "C" __global__ void powers_perhaps(float *out, const float *in, int n)
{
	powers<true>(out, in);
}

extern "C" __global__ void powers_always(float *out, const float *in, int n)
{
	powers<false>(out, in);
}
