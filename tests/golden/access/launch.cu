/*
 * launch.cu - what all warps of a launch do together, for test_access_launch.c: warps without all of their lanes, warps
 * that differ, lanes that leave a loop one after another, loads in what is called. Arguments as of the samples.
 * Compiled by scripts/build-tiles.
 */
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

/* A load, a store and an atomic of every thread. */
extern "C" __global__ void one_each(int *out, const int *in, int n)
{
	out[AT] = in[AT];
	atomicAdd(out + (1 << 20) + threadIdx.x, 1);
}

/* Of the first 40 threads of a block 16 store here and 24 there. */
extern "C" __global__ void two_stores(float *out, const float *in, int n)
{
	if (threadIdx.x >= 40)
		return;
	if (threadIdx.x >= 16) {
		out[AT * 3] = in[AT];
		return;
	}
	out[AT] = in[AT * 2];
}

/* Turns as long as a lane has work: lanes leave in one turn, or in two. */
extern "C" __global__ void leaving(float *out, const float *in, int n)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[i] = in[i] * 2;
}

/* Side by side by the first warp, once; every second word by the second, three times. */
extern "C" __global__ void warps_differ(float *out, const float *in, int n)
{
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	float s = 0;

#pragma unroll 1
	for (int j = 0; j < 1 + 2 * warp; j++)
		s += in[j * 4096 + lane * (1 + warp)];
	out[AT] = s;
}

static __device__ __noinline__ float gather(const float *in, int n)
{
	float s = 0;

	for (int i = 0; i < n; i++)
		s += in[i * 64];
	return s;
}

/* All loads are where the call goes. */
extern "C" __global__ void calling(float *out, const float *in, int n)
{
	out[AT] = gather(in + AT, n) * gather(in + 2 * AT, n + 1);
}

/* Of the first half of a warp five lanes leave the kernel before the others wait for them; of the second half nobody. */
extern "C" __global__ void some_leave(float *out, const float *in, int n)
{
	if (threadIdx.x % 32 < 16) {
		out[1 << 20] = 1;
		if (threadIdx.x % 16 < 5)
			return;
		out[(1 << 20) + 1] = 1;
	}
	out[AT] = in[AT];
}

/* The same, if a value says so. */
extern "C" __global__ void some_may_leave(float *out, const float *in, int n)
{
	if (threadIdx.x % 32 < 16) {
		out[1 << 20] = 1;
		if (in[AT + n] < 0)
			return;
		out[(1 << 20) + 1] = 1;
	}
	out[AT] = in[AT] + 1;
}

/* The only turn of a loop ends early in the first block. */
extern "C" __global__ void first_leaves(float *out, const float *in, int n)
{
	float s = 0;

#pragma unroll 1
	for (unsigned j = 0; j < 8; j += blockDim.x) {
		if (blockIdx.x == j)
			return;
		s += in[AT + j];
	}
	out[AT] = s;
}

/* The last lane stays; whether one of the first half does a value says. */
extern "C" __global__ void half_may_be_gone(float *out, const float *in, int n)
{
	const int lane = threadIdx.x % 32;

	if (lane != 31 && in[AT] < 0)
		return;
	if (lane < 16) {
#pragma unroll 1
		for (int i = 0; i < 3; i++)
			out[AT + i] = in[AT + 1000 * i];
	} else {
#pragma unroll 1
		for (int i = 0; i < 5; i++)
			out[AT - i] = in[AT + 2000 * i] * 2;
	}
}

/* Lanes that parted wait for each other before the barrier of the block, by no BSYNC. */
extern "C" __global__ void waits(float *out, const float *in, int n)
{
	float s = 0;

	if (threadIdx.x % 32 > 4) {
		s = __shfl_xor_sync(__activemask(), in[AT], 16);
		atomicAdd(out + (1 << 20), 1);
	}
	__syncthreads();
	out[AT] = s;
}

/* 512 bytes come by the first thread's order, as a block. */
extern "C" __global__ void block_copy(float *out, const float *in, int n)
{
#if __CUDA_ARCH__ >= 900
	__shared__ __align__(128) float s[128];
	__shared__ unsigned long long full;
	const unsigned to = (unsigned)__cvta_generic_to_shared(s),
		       bar = (unsigned)__cvta_generic_to_shared(&full);

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(bar));
		asm volatile(
			"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::
				"r"(to),
			"l"(in), "r"(bar)
			: "memory");
	}
	__syncthreads();
	out[AT] = s[threadIdx.x];
#endif
}

/* Lanes that parted come to one store and the end behind it, the third lane before the others. */
extern "C" __global__ void ends_twice(float *out, const float *in, int n)
{
	const int lane = threadIdx.x % 32;
	float s = 1;

	if (lane < 20) {
#pragma unroll 1
		for (int j = 0; j < n; j += blockDim.x) {
			out[1 << 20] = s;
			if (lane == 2)
				return;
			out[(1 << 20) + 33] = s;
			if (AT + n != 33)
				return;
		}
	} else {
		s = in[n] + in[2 * n];
	}
	out[AT] = s;
}

/* One to four turns a lane; the first lane's word of its only turn is stored. */
extern "C" __global__ void first_turn(float *out, const float *in, int n)
{
	float s = in[AT];

#pragma unroll 1
	for (int i = 0; i <= (threadIdx.x & 3); i++) {
		s = s * s + 1;
		if (threadIdx.x % 32 == 0)
			out[1 << 20] = s;
	}
	out[AT] = s;
}

/* Most lanes leave all together or not at all, in front of the place where they would meet the others. */
extern "C" __global__ void all_or_none(float *out, const float *in, int n)
{
	if (threadIdx.x % 32 > 2) {
		out[AT] = 0;
		if (blockIdx.x != n)
			return;
	}
	out[AT + 64] = 1;
}

/* A word of each lane, and by n warps of 32 twice, by the others once, words in sectors of their own. */
extern "C" __global__ void some_scatter_twice(float *out, const float *in, int n)
{
	out[AT] = 1;
#pragma unroll 1
	for (int i = threadIdx.x / 32; i < 32 + n; i += 32)
		((volatile float *)out)[(1 << 20) + AT * 8] = i;
}

/* A table that all blocks load alike, a row of each block's own, and one that is where memory says. */
extern "C" __global__ void tables(float *out, const float *in, int n)
{
	__shared__ float table[1024], row[1024], rest[1024];
	const int first = (int)in[1 << 20];

#pragma unroll 1
	for (int k = threadIdx.x; k < n; k += blockDim.x)
		table[k] = __ldg(&in[k]);
#pragma unroll 1
	for (int k = threadIdx.x; k < n; k += blockDim.x)
		row[k] = in[(blockIdx.x + 1) * 1024 + k];
#pragma unroll 1
	for (int k = threadIdx.x; k < n; k += blockDim.x)
		rest[k] = in[first + k];
	__syncthreads();
	out[AT] = table[AT % n] + row[(AT + 1) % n] + rest[(AT + 2) % n];
}
