/*
 * app_rates.cu - rates and latencies of a GPU that no data sheet has and that advice and model rest on: how many blocks
 * it starts, atomics by how many addresses they meet at, barriers by how many warps wait. Prints one line for each; the
 * median of seven launches. What an H200 printed is in results/.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                 \
	do {                                                                        \
		cudaError_t e_ = (call);                                            \
		if (e_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_)); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

static int sms;
static double cycles_per_us;

template <class F> static double median_us(F launch)
{
	std::vector<float> ms(7);
	cudaEvent_t from, to;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	launch();
	for (float &m : ms) {
		CHECK(cudaEventRecord(from));
		launch();
		CHECK(cudaEventRecord(to));
		CHECK(cudaEventSynchronize(to));
		CHECK(cudaEventElapsedTime(&m, from, to));
	}
	CHECK(cudaGetLastError());
	std::sort(ms.begin(), ms.end());
	return 1e3 * ms[ms.size() / 2];
}

/* ------------------------------------------------------------------------------------- blocks */

__global__ void nothing(int *out)
{
	if (!out)
		*out = 1;
}

__global__ void one_store(int *out)
{
	if (threadIdx.x == 0)
		out[blockIdx.x & 1023] = 1;
}

__global__ void with_shared(int *out)
{
	extern __shared__ int words[];

	if (!out)
		*out = words[threadIdx.x];
}

static void blocks_per_us(int *out)
{
	const int n = 1 << 20;

	CHECK(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   100 * 1024));
	for (int threads = 32; threads <= 1024; threads *= 2)
		printf("blocks of %4d threads: %5.0f a us empty, %5.0f with a store\n", threads,
		       n / median_us([&] { nothing<<<n, threads>>>(out); }),
		       n / median_us([&] { one_store<<<n, threads>>>(out); }));
	for (int kb : {1, 8, 32, 100})
		printf("blocks of 128 threads with %3d KB of shared memory: %5.0f a us\n", kb,
		       n / median_us([&] { with_shared<<<n, 128, kb * 1024>>>(out); }));
}

/* ------------------------------------------------------------------------------------- sectors in parts */

/* Words of each thread side by side, or words of a warp's lanes. */
template <class T, int N, bool BY_LANE> __device__ size_t place(int i)
{
	const size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	return BY_LANE ? t * N + i : t / 32 * 32 * N + i * 32 + t % 32;
}

template <class T, int N, bool BY_LANE> __global__ void stores(T *out)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		out[place<T, N, BY_LANE>(i)] = T();
}

template <class T, int N, bool BY_LANE> __global__ void loads(const T *in, float *out)
{
	float sum = 0;

#pragma unroll
	for (int i = 0; i < N; i++) {
		const T v = in[place<T, N, BY_LANE>(i)];

		sum += reinterpret_cast<const float &>(v);
	}
	if (sum == 12345.678f)
		*out = sum;
}

template <class T, int N> static void in_parts(const char *type, void *at, int mb)
{
	const int threads = 256, blocks = (int)(((size_t)mb << 20) / sizeof(T) / N / threads);
	T *to = (T *)at;

	printf("%3d MB, %2d %-6s a thread: stores side by side %6.1f us, by lane %6.1f us; loads %6.1f us, %6.1f us\n",
	       mb, N, type, median_us([&] { stores<T, N, false><<<blocks, threads>>>(to); }),
	       median_us([&] { stores<T, N, true><<<blocks, threads>>>(to); }),
	       median_us([&] { loads<T, N, false><<<blocks, threads>>>(to, (float *)at); }),
	       median_us([&] { loads<T, N, true><<<blocks, threads>>>(to, (float *)at); }));
}

static void sectors_in_parts(void *at)
{
	for (int mb : {16, 256}) {
		in_parts<float, 4>("float", at, mb);
		in_parts<float, 8>("float", at, mb);
		in_parts<float, 16>("float", at, mb);
		in_parts<float2, 4>("float2", at, mb);
		in_parts<float2, 8>("float2", at, mb);
		in_parts<float4, 2>("float4", at, mb);
		in_parts<float4, 8>("float4", at, mb);
	}
}

/* ------------------------------------------------------------------------------------- atomics */

#define TURNS  16
#define PLACES (1 << 16) /* in the table that says where each lane goes */

enum op { RED_U32, ATOM_U32, RED_F32, RED_F16X2, RED_U64, CAS_U32, SHARED_U32, SHARED_F32 };
static const char *const names[] = {"red.u32", "atom.u32", "red.f32",     "red.f16x2",
				    "red.u64", "cas.u32",  "shared, u32", "shared, f32"};

template <enum op OP> __global__ void atomics(char *to, const int *place, unsigned *sink)
{
	__shared__ unsigned words[4096];
	const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned sum = 0;

	for (int i = 0; i < TURNS; i++) {
		const int p = place[(at + i * 31264u) & (PLACES - 1)];
		const unsigned s = (unsigned)__cvta_generic_to_shared(words + (p & 4095));
		char *g = to + 8ll * p;
		unsigned old = 0;

		/* not atomicAdd(), which the compiler does once per warp where it can */
		if (OP == RED_U32)
			asm volatile("red.global.add.u32 [%0], %1;" ::"l"(g), "r"(at) : "memory");
		if (OP == ATOM_U32)
			asm volatile("atom.global.add.u32 %0, [%1], %2;"
				     : "=r"(old)
				     : "l"(g), "r"(at)
				     : "memory");
		if (OP == RED_F32)
			asm volatile("red.global.add.f32 [%0], %1;" ::"l"(g), "f"((float)at)
				     : "memory");
		if (OP == RED_F16X2)
			asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(g),
				     "r"(at & 0x03ff03ffu)
				     : "memory");
		if (OP == RED_U64)
			asm volatile("red.global.add.u64 [%0], %1;" ::"l"(g), "l"((uint64_t)at)
				     : "memory");
		if (OP == CAS_U32)
			asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;"
				     : "=r"(old)
				     : "l"(g), "r"(at), "r"(at + 1)
				     : "memory");
		if (OP == SHARED_U32)
			asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(s), "r"(at) : "memory");
		if (OP == SHARED_F32)
			asm volatile("red.shared.add.f32 [%0], %1;" ::"r"(s), "f"((float)at)
				     : "memory");
		sum += old;
	}
	if (sum == 0x12345671u)
		*sink = sum + words[threadIdx.x];
}

template <enum op OP>
static void atomics_of(const char *where, char *to, int *place, unsigned *sink)
{
	const int blocks = sms * 8, threads = 256;
	const double us = median_us([&] { atomics<OP><<<blocks, threads>>>(to, place, sink); });
	const double cycles = us * cycles_per_us;

	if (OP >= SHARED_U32)
		printf("atomics %-34s %-11s %7.1f cycles a request and SM\n", where, names[OP],
		       cycles / (8.0 * threads / 32 * TURNS));
	else
		printf("atomics %-34s %-11s %7.3f cycles a lane, %6.2f lanes a cycle\n", where,
		       names[OP], cycles / ((double)blocks * threads * TURNS),
		       (double)blocks * threads * TURNS / cycles);
}

static void all_atomics(char *to, unsigned *sink)
{
	/* words: different ones, `step` apart (of 8 bytes); by_warp: the lanes of a warp go to the same */
	static const struct {
		const char *where;
		int words, step;
		bool by_warp;
	} rows[] = {
		{"at one word", 1, 1, false},
		{"at a word for each warp, 64", 64, 16, true},
		{"at a word for each warp, 4,096", 4096, 16, true},
		{"at random words of 16", 16, 1, false},
		{"at random words of 256", 256, 1, false},
		{"at random words of 256, 4 KB apart", 256, 512, false},
		{"at random words of 4,096", 4096, 1, false},
		{"at random words of 65,536", 65536, 1, false},
		{"at random words of 8 million", 1 << 23, 1, false},
	};
	std::vector<int> places(PLACES);
	int *place;

	CHECK(cudaMalloc(&place, PLACES * sizeof(int)));
	for (const auto &row : rows) {
		uint32_t random = 1;

		for (int i = 0; i < PLACES; i++) {
			if (!row.by_warp || i % 32 == 0)
				random = random * 1664525u + 1013904223u;
			places[i] = (int)((random >> 8) % row.words) * row.step;
		}
		CHECK(cudaMemcpy(place, places.data(), PLACES * sizeof(int),
				 cudaMemcpyHostToDevice));
		atomics_of<RED_U32>(row.where, to, place, sink);
		atomics_of<ATOM_U32>(row.where, to, place, sink);
		atomics_of<RED_F32>(row.where, to, place, sink);
		atomics_of<RED_F16X2>(row.where, to, place, sink);
		atomics_of<RED_U64>(row.where, to, place, sink);
		atomics_of<CAS_U32>(row.where, to, place, sink);
		atomics_of<SHARED_U32>(row.where, to, place, sink);
		atomics_of<SHARED_F32>(row.where, to, place, sink);
	}
}

/* ------------------------------------------------------------------------------------- barriers */

template <bool ROUND_TRIP> __global__ void barriers(float *out, int n)
{
	__shared__ float words[1024];
	float v = (float)threadIdx.x;

	for (int i = 0; i < n; i++) {
		if (ROUND_TRIP) {
			words[threadIdx.x] = v;
			__syncthreads();
			v += words[(threadIdx.x + 33) & (blockDim.x - 1)];
		}
		__syncthreads();
	}
	if (v == -1)
		*out = v;
}

static void all_barriers(float *out)
{
	const int n = 2000;

	for (int threads = 32; threads <= 1024; threads *= 2)
		for (int blocks = 1; blocks <= 8 && threads * blocks <= 2048; blocks *= 2)
			printf("barriers of %4d threads, %d on an SM: %6.1f cycles, %6.1f for a store, a barrier, a load "
			       "and a barrier\n",
			       threads, blocks,
			       median_us([&] {
				       barriers<false><<<sms * blocks, threads>>>(out, n);
			       }) * cycles_per_us /
				       n,
			       median_us(
				       [&] { barriers<true><<<sms * blocks, threads>>>(out, n); }) *
				       cycles_per_us / n);
}

int main()
{
	const size_t bytes = (size_t)1 << 30;
	int khz;
	char *to;

	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	cycles_per_us = khz / 1e3;
	printf("%d SMs, cycles of %d kHz\n", sms, khz);
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaMemset(to, 0, bytes));
	blocks_per_us((int *)to);
	sectors_in_parts(to);
	all_atomics(to, (unsigned *)(to + bytes / 2));
	all_barriers((float *)to);
	return 0;
}
