/*
 * app_lanes.cu - for section l: many small kernels in which it is easy to be wrong about what the lanes of a warp do:
 * starts that are not aligned, guards within a warp, blocks of no whole warps, loops that lanes leave one by one, words
 * that lanes share, matrices, copies, atomics. Each is launched once on zeroed buffers; nothing is computed of use.
 *
 *   app_lanes     ends with "lanes done"
 */
#include <cstdint>

#include "app.h"

#define WORDS (1 << 20)
#define T     (int)threadIdx.x
#define I     (int)(blockIdx.x * blockDim.x + threadIdx.x)

#define KERNEL(name)                                                                           \
	extern "C" __global__ void name(float *__restrict__ out, const float *__restrict__ in, \
					int n)

/* ------------------------------------------------------------------------------ alignment and stride */

KERNEL(off_by_words)
{
	out[I + 1] = in[I + 3];
}
KERNEL(stride_2)
{
	out[I] = in[2 * I];
}
KERNEL(stride_3)
{
	out[3 * I] = in[I];
}
KERNEL(stride_9)
{
	out[I] = in[9 * I + 2];
}
KERNEL(stride_n)
{
	out[I] = in[n * I];
}
KERNEL(backwards)
{
	out[I] = in[n - 1 - I];
}
KERNEL(wraps)
{
	out[(unsigned)I * 0x40000001u & 0xffffu] = in[(unsigned)I * 0x08000001u >> 16];
}
KERNEL(wide)
{
	out[(long long)I * 2] = in[(long long)(n - I) * 2];
}
KERNEL(divided)
{
	out[I] = in[I / 3] + in[I % 7];
}
KERNEL(divided_by_n)
{
	out[I] = in[I / n] + in[I % n];
}
KERNEL(one_word)
{
	out[I] = in[blockIdx.x];
}
KERNEL(bytes)
{
	((char *)out)[I] = ((const char *)in)[I + 5];
}
KERNEL(halves)
{
	((short *)out)[I + 1] = ((const short *)in)[3 * I];
}
KERNEL(doubles)
{
	((double *)out)[I] = ((const double *)in)[I + 1];
}
KERNEL(fours)
{
	((float4 *)out)[I] = ((const float4 *)in)[2 * I];
}
KERNEL(fours_of_quads)
{
	((float4 *)out)[I] = ((const float4 *)in)[I / 4];
}
KERNEL(threes)
{
	const float3 v = ((const float3 *)in)[I];

	((float3 *)out)[I] = v;
}
KERNEL(bits)
{
	out[T ^ (T >> 2)] = in[(T & 0x15) * 4 + __popc(T)];
}
KERNEL(by_float)
{
	out[(int)((float)T * 1.5f)] = in[(int)sqrtf((float)T)];
}
KERNEL(two_rows)
{
	out[blockIdx.x * 4096 + threadIdx.y * n + threadIdx.x] = in[threadIdx.x * n + threadIdx.y];
}
KERNEL(three_ways)
{
	const int at = (threadIdx.z * blockDim.y + threadIdx.y) * n + threadIdx.x;

	out[at + blockIdx.y * 8192 + blockIdx.z * 16384] = in[at + 1];
}

#include "lanes_index.h"

/* ------------------------------------------------------------------------------ who takes part */

KERNEL(tail)
{
	if (I < n)
		out[I] = in[I];
}
KERNEL(hole)
{
	if (I >= 5 && I < n && T != 77)
		out[I] = in[2 * I];
}
KERNEL(odd_lanes)
{
	if (T & 1)
		out[I] = in[I] + 1;
}
KERNEL(odd_warps)
{
	if (T & 32)
		out[I] = in[I] + 1;
}
KERNEL(first_block)
{
	if (blockIdx.x == 0)
		out[I] = in[4 * I];
}
KERNEL(first_thread)
{
	if (T == 0)
		out[blockIdx.x] = in[blockIdx.x * 32];
}
KERNEL(two_sides)
{
	if (T % 4 == 0)
		out[I] = in[I * 2] * sinf(in[I]);
	else
		out[I] = in[I + 4096] + in[3 * I];
}
KERNEL(either_pointer)
{
	const float *p = T % 32 < 16 ? in : in + 8192;

	out[I] = p[I];
}
KERNEL(four_cases)
{
	switch (T & 3) {
	case 0: out[I] = in[I]; break;
	case 1: out[2 * I] = in[I] * 3; break;
	case 2: out[I + 1000] = sinf(in[3 * I]); break;
	default: out[I + 2000] = 1;
	}
}
KERNEL(leave_early)
{
	if (T >= n)
		return;
	out[I] = in[I];
	if (T & 1)
		return;
	out[I + 4096] = in[I + 4096];
	__syncwarp();
}
KERNEL(shuffled)
{
	const int k = __shfl_xor_sync(~0u, T, 5), l = __shfl_sync(~0u, 3 * T, 1);

	out[2 * k] = in[k + l];
}
KERNEL(voted)
{
	const unsigned m = __ballot_sync(~0u, T % 3 == 0);

	if (m >> (T & 31) & 1)
		out[__popc(m & ((1u << (T & 31)) - 1)) + blockIdx.x] = in[I];
}
KERNEL(by_data)
{
	if (in[I] == 0)
		out[I] = in[I + 4096];
}

/* ------------------------------------------------------------------------------ loops */

KERNEL(seven_turns)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < 7; k++)
		v += in[I + k * 1024] * v;
	out[I] = v;
}
KERNEL(n_turns)
{
	float v = 0;

	for (int k = 0; k < n; k++)
		v += in[I + k * 1024] * v;
	out[I] = v;
}
KERNEL(lane_turns)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < T % 32; k++)
		v += in[I + k * 32] * v;
	out[I] = v;
}
KERNEL(warp_turns)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k <= T / 32; k++)
		v += in[I + k * 32] * v;
	out[I] = v;
}
KERNEL(block_turns)
{
	float v = 0;

#pragma unroll 1
	for (unsigned k = 0; k < blockIdx.x; k++)
		v += in[I + k * 32] * v;
	out[I] = v;
}
KERNEL(nested)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < 5; k++) {
		v += in[k];
#pragma unroll 1
		for (int l = 0; l < k; l++)
			v += in[I + l * 256] * v;
	}
	out[I] = v;
}
KERNEL(strided_walk)
{
	for (int k = I; k < n; k += gridDim.x * blockDim.x)
		out[k] = in[k] * 2;
}
KERNEL(broken_off)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < 9; k++) {
		v += in[I + k * 32];
		if (k == 4 && T < 40)
			break;
	}
	out[I] = v;
}
KERNEL(every_other)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < 10; k++)
		if (k & 1)
			v += in[I * 2 + k] * v;
	out[I] = v;
}
KERNEL(moving_start)
{
	float v = 0;

#pragma unroll 1
	for (int k = 0; k < 8; k++)
		v += in[I + k] * v;
	out[I] = v;
}
KERNEL(growing_stride)
{
	float v = 0;

#pragma unroll 1
	for (int k = 1; k < 64; k *= 2)
		v += in[I * k] * v;
	out[I] = v;
}
KERNEL(until_data)
{
	int k = I;

	while (in[k] > 1)
		k++;
	out[I] = k;
}

__noinline__ __device__ float called(const float *in, int at)
{
	return in[at * 2] + in[at + 4096];
}
KERNEL(calls)
{
	out[I] = called(in, I) + called(in + 1, 2 * I);
}

/* ------------------------------------------------------------------------------ shared memory */

#define SHARED(type, count)                                \
	__shared__ type s[count];                          \
	for (int k = T; k < (int)(count); k += blockDim.x) \
		s[k] = type();                             \
	__syncthreads()

static __device__ float sum_of(float v)
{
	return v;
}
static __device__ float sum_of(float2 v)
{
	return v.x + v.y;
}
static __device__ float sum_of(float4 v)
{
	return v.x + v.y + v.z + v.w;
}

#define READS(name, type, count, index)      \
	KERNEL(name)                         \
	{                                    \
		SHARED(type, count);         \
		out[I] = sum_of(s[(index)]); \
	}

READS(s_stride_1, float, 2048, T)
READS(s_stride_2, float, 2048, 2 * T)
READS(s_stride_33, float, 2048, 33 * (T & 31))
READS(s_stride_n, float, 2048, n *(T & 31))
READS(s_broadcast, float, 2048, T >> 5)
READS(s_pairs, float, 2048, T >> 1)
READS(s_two_banks, float, 2048, (T & 1) * 32 + (T & 2) * 32)
READS(s_bytes, char, 2048, 3 * T)
READS(s_halves, short, 2048, 5 * T)
READS(s8_stride_1, float2, 1024, T)
READS(s8_stride_2, float2, 1024, 2 * T)
READS(s8_pairs, float2, 1024, T >> 1)
READS(s8_quads, float2, 1024, (T & 31) >> 2)
READS(s8_halves, float2, 1024, T & 15)
READS(s8_one, float2, 1024, 3)
READS(s8_crossed, float2, 1024, (T & 31) * 16 % 17)
READS(s16_stride_1, float4, 512, T & 127)
READS(s16_stride_2, float4, 512, 2 * T & 255)
READS(s16_pairs, float4, 512, (T & 31) >> 1)
READS(s16_quads, float4, 512, (T & 31) >> 2)
READS(s16_eights, float4, 512, (T & 31) >> 3)
READS(s16_repeat_8, float4, 512, T & 7)
READS(s16_repeat_16, float4, 512, T & 15)
READS(s16_repeat_4, float4, 512, T & 3)
READS(s16_one, float4, 512, 7)
READS(s16_swizzled, float4, 512, (T & 31) ^ ((T & 31) >> 3))
READS(s16_columns, float4, 512, (T & 7) * 8 + ((T & 31) >> 3))
READS(s16_even_odd, float4, 512, (T & 1) * 8 + ((T & 31) >> 1) * 16 % 128)
READS(s16_pairs_far, float4, 512, ((T & 31) >> 1) * 8)
READS(s16_quads_far, float4, 512, ((T & 31) >> 2) * 8)
READS(s16_rows_9, float4, 512, (T & 31) * 9)

KERNEL(s_writes)
{
	__shared__ float s[4096];

	s[T * 4] = in[I];
	s[T >> 2] = 1;
	((float4 *)s)[(T & 63) * 3] = make_float4(1, 2, 3, 4);
	((float2 *)s)[(T & 31) * 5] = make_float2(1, 2);
	__syncthreads();
	out[I] = s[T + n];
}
KERNEL(s_some_lanes)
{
	SHARED(float, 2048);
	if (T % 3 == 0)
		out[I] = s[T * 8];
}
KERNEL(s_tree)
{
	SHARED(float, 256);
#pragma unroll 1
	for (int k = 128; k > 0; k >>= 1) {
		if (T < k)
			s[T] += s[T + k];
		__syncthreads();
	}
	if (T == 0)
		out[blockIdx.x] = s[0];
}

/* ------------------------------------------------------------------------------ matrices and copies */

template <int ROW> static __device__ void matrices(float *out, int lanes_rows)
{
	__shared__ __align__(128) char s[ROW * 32 + 128];
	unsigned a, b, c, d, e, f, g;
	unsigned at = (unsigned)__cvta_generic_to_shared(s) + (unsigned)lanes_rows * ROW;

	for (int k = T; k < (int)sizeof(s); k += blockDim.x)
		s[k] = 0;
	__syncthreads();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "r"(at));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		     : "=r"(e), "=r"(f)
		     : "r"(at));
	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(g) : "r"(at));
	out[I] = a + b + c + d + e + f + g;
}
KERNEL(m_rows_16)
{
	matrices<16>(out, T & 31);
}
KERNEL(m_rows_32)
{
	matrices<32>(out, T & 31);
}
KERNEL(m_rows_128)
{
	matrices<128>(out, T & 31);
}
KERNEL(m_rows_144)
{
	matrices<144>(out, T & 31);
}
KERNEL(m_rows_same)
{
	matrices<128>(out, T & 3);
}

#define COPIES(name, bytes, kind, to, from)                                                     \
	KERNEL(name)                                                                            \
	{                                                                                       \
		__shared__ __align__(128) char s[32768];                                        \
		asm volatile("cp.async." kind ".shared.global [%0], [%1], " #bytes              \
			     ";" ::"r"((unsigned)__cvta_generic_to_shared(s) + (unsigned)(to)), \
			     "l"((const char *)in + (from)));                                   \
		asm volatile("cp.async.wait_all;" ::);                                          \
		__syncthreads();                                                                \
		out[I] = s[T + n];                                                              \
	}
COPIES(c_words, 4, "ca", T * 4, I * 4)
COPIES(c_words_apart, 4, "ca", T * 8, I * 36)
COPIES(c_fours, 16, "cg", T * 16, I * 16)
COPIES(c_fours_kept, 16, "ca", T * 16, I * 32)
COPIES(c_fours_apart, 16, "cg", (T & 31) * 144, I * 64)
COPIES(c_eights, 8, "ca", T * 8, I * 8 + 8)

/* ------------------------------------------------------------------------------ atomics */

KERNEL(a_one)
{
	atomicAdd(out, in[I]);
}
KERNEL(a_one_int)
{
	atomicAdd((int *)out, 1);
}
KERNEL(a_each)
{
	atomicAdd(out + I, 1.0f);
}
KERNEL(a_spread)
{
	atomicAdd(out + (I & 7) * 16, 1.0f);
}
KERNEL(a_some)
{
	if (I % 5 == 0)
		atomicAdd(out + I, 1.0f);
}
KERNEL(a_old)
{
	out[I] = (float)atomicExch((int *)out + WORDS / 2 + T, I);
}
KERNEL(a_shared)
{
	SHARED(int, 256);
	atomicAdd(&s[T >> 2], 1);
	__syncthreads();
	out[I] = (float)s[T];
}

/* ------------------------------------------------------------------------------ all of them */

struct shape {
	const char *name;
	void (*kernel)(float *, const float *, int);
	dim3 grid, block;
	int n;
};
#define SHAPE(name, grid, block, n)         \
	{                                   \
#name, name, grid, block, n \
	}

/* clang-format off */
static const shape shapes[] = {
	SHAPE(off_by_words, 8, 256, 0), SHAPE(stride_2, 8, 256, 0), SHAPE(stride_3, 8, 256, 0), SHAPE(stride_9, 8, 256, 0),
	SHAPE(stride_n, 8, 256, 5), SHAPE(backwards, 8, 256, 5000), SHAPE(wraps, 8, 256, 0), SHAPE(wide, 8, 256, 4000),
	SHAPE(divided, 8, 256, 0), SHAPE(divided_by_n, 8, 256, 48), SHAPE(one_word, 8, 256, 0), SHAPE(bytes, 8, 256, 0),
	SHAPE(halves, 8, 256, 0), SHAPE(doubles, 8, 256, 0), SHAPE(fours, 8, 256, 0), SHAPE(fours_of_quads, 8, 256, 0),
	SHAPE(threes, 8, 256, 0), SHAPE(bits, 3, 128, 0), SHAPE(by_float, 3, 128, 0),
	SHAPE(two_rows, 8, dim3(16, 16), 20), SHAPE(three_ways, dim3(2, 2, 2), dim3(10, 5, 3), 12),
	SHAPE(off_by_words, 5, 48, 0), SHAPE(stride_9, 5, 33, 0), SHAPE(fours, 7, 20, 0),
	SHAPE(tail, 8, 256, 1000), SHAPE(tail, 4, 250, 777), SHAPE(hole, 8, 256, 1501), SHAPE(odd_lanes, 8, 256, 0),
	SHAPE(odd_warps, 8, 256, 0), SHAPE(first_block, 8, 256, 0), SHAPE(first_thread, 8, 256, 0), SHAPE(two_sides, 8, 256, 0),
	SHAPE(either_pointer, 8, 256, 0), SHAPE(four_cases, 8, 256, 0), SHAPE(leave_early, 8, 256, 100), SHAPE(shuffled, 8, 64, 0),
	SHAPE(voted, 8, 256, 0), SHAPE(by_data, 8, 256, 0),
	SHAPE(seven_turns, 8, 256, 0), SHAPE(n_turns, 8, 256, 11), SHAPE(lane_turns, 8, 256, 0), SHAPE(warp_turns, 8, 256, 0),
	SHAPE(block_turns, 8, 256, 0), SHAPE(nested, 8, 256, 0), SHAPE(strided_walk, 8, 256, 5000), SHAPE(broken_off, 8, 256, 0),
	SHAPE(every_other, 8, 256, 0), SHAPE(moving_start, 8, 256, 0), SHAPE(growing_stride, 8, 256, 0), SHAPE(until_data, 8, 256, 0),
	SHAPE(calls, 8, 256, 0),
	SHAPE(s_stride_1, 4, 256, 0), SHAPE(s_stride_2, 4, 256, 0), SHAPE(s_stride_33, 4, 256, 0), SHAPE(s_stride_n, 4, 256, 12),
	SHAPE(s_broadcast, 4, 256, 0), SHAPE(s_pairs, 4, 256, 0), SHAPE(s_two_banks, 4, 256, 0), SHAPE(s_bytes, 4, 256, 0),
	SHAPE(s_halves, 4, 256, 0), SHAPE(s8_stride_1, 4, 256, 0), SHAPE(s8_stride_2, 4, 256, 0), SHAPE(s8_pairs, 4, 256, 0),
	SHAPE(s8_quads, 4, 256, 0), SHAPE(s8_halves, 4, 256, 0), SHAPE(s8_one, 4, 256, 0), SHAPE(s8_crossed, 4, 256, 0),
	SHAPE(s16_stride_1, 4, 256, 0), SHAPE(s16_stride_2, 4, 256, 0), SHAPE(s16_pairs, 4, 256, 0), SHAPE(s16_quads, 4, 256, 0),
	SHAPE(s16_eights, 4, 256, 0), SHAPE(s16_repeat_8, 4, 256, 0), SHAPE(s16_repeat_16, 4, 256, 0), SHAPE(s16_repeat_4, 4, 256, 0),
	SHAPE(s16_one, 4, 256, 0), SHAPE(s16_swizzled, 4, 256, 0), SHAPE(s16_columns, 4, 256, 0), SHAPE(s16_even_odd, 4, 256, 0),
	SHAPE(s16_pairs_far, 4, 256, 0), SHAPE(s16_quads_far, 4, 256, 0), SHAPE(s16_rows_9, 4, 256, 0),
	SHAPE(s_writes, 4, 256, 1), SHAPE(s_some_lanes, 4, 256, 0), SHAPE(s_tree, 4, 256, 0),
	SHAPE(m_rows_16, 4, 64, 0), SHAPE(m_rows_32, 4, 64, 0), SHAPE(m_rows_128, 4, 64, 0), SHAPE(m_rows_144, 4, 64, 0),
	SHAPE(m_rows_same, 4, 64, 0),
	SHAPE(c_words, 4, 256, 1), SHAPE(c_words_apart, 4, 256, 1), SHAPE(c_fours, 4, 256, 1), SHAPE(c_fours_kept, 4, 256, 1),
	SHAPE(c_fours_apart, 4, 256, 1), SHAPE(c_eights, 4, 256, 1),
	SHAPE(a_one, 8, 256, 0), SHAPE(a_one_int, 8, 256, 0), SHAPE(a_each, 8, 256, 0), SHAPE(a_spread, 8, 256, 0),
	SHAPE(a_some, 8, 256, 0), SHAPE(a_old, 8, 256, 0), SHAPE(a_shared, 4, 256, 0),
	SHAPE(x_mulhi, 8, 256, 9), SHAPE(x_sdiv, 8, 256, 9), SHAPE(x_smod, 8, 256, 9),
	SHAPE(x_div_n, 8, 256, 7), SHAPE(x_mod_n, 8, 256, 24), SHAPE(x_mod_row, 8, 256, 40),
	SHAPE(x_brev, 8, 256, 9), SHAPE(x_xor_block, 8, 256, 9), SHAPE(x_and_block, 8, 256, 9),
	SHAPE(x_or_block, 8, 256, 9), SHAPE(x_shift_block, 8, 256, 9),
	SHAPE(x_shift_warp, 8, 256, 9), SHAPE(x_rshift, 8, 256, 9),
	SHAPE(x_rshift_signed, 8, 256, 9), SHAPE(x_min_n, 8, 256, 1100),
	SHAPE(x_min_minus, 8, 256, 300), SHAPE(x_clamp_block, 8, 256, 9),
	SHAPE(x_select_block, 8, 256, 9), SHAPE(x_select_warp, 8, 256, 9),
	SHAPE(x_select_warp_lane, 8, 256, 9), SHAPE(x_square, 8, 256, 9),
	SHAPE(x_product, 8, 256, 9), SHAPE(x_product_warp, 8, 256, 9), SHAPE(x_short, 8, 256, 9),
	SHAPE(x_char, 8, 256, 9), SHAPE(x_low_bits, 8, 256, 9), SHAPE(x_swizzle, 8, 256, 9),
	SHAPE(x_morton, 8, 256, 9), SHAPE(x_byte_4, 8, 256, 9), SHAPE(x_half_odd, 8, 256, 9),
	SHAPE(x_wide_index, 8, 256, 9), SHAPE(x_ptr_walk, 8, 256, 9),
	SHAPE(x_ptr_step_n, 8, 256, 9), SHAPE(x_down, 8, 256, 14), SHAPE(x_twice, 8, 256, 100),
	SHAPE(x_two_loops, 8, 256, 9), SHAPE(x_triangle, 8, 256, 9), SHAPE(x_do, 8, 256, 9),
	SHAPE(x_le, 8, 256, 30), SHAPE(x_ne, 8, 256, 9), SHAPE(x_cont, 8, 256, 9),
	SHAPE(x_guard_in_loop, 8, 256, 1000), SHAPE(x_guard_lane_loop, 8, 256, 77),
	SHAPE(x_grid_loop, 8, 256, 21), SHAPE(x_strip, 8, 256, 700),
	SHAPE(x_ret_blocks, 8, 256, 5), SHAPE(x_ret_odd_block, 8, 256, 9),
	SHAPE(x_ret_warp, 8, 256, 3), SHAPE(x_last_block, 8, 256, 9), SHAPE(x_edge, 8, 256, 2000),
	SHAPE(x_edge2, dim3(4, 4), dim3(16, 16), 50),
	SHAPE(x_transposed, dim3(4, 4), dim3(32, 8), 130),
	SHAPE(x_block_y, dim3(1, 6), dim3(8, 16), 12), SHAPE(x_swap, 8, 256, 9),
	SHAPE(x_lane_path, 8, 256, 9), SHAPE(x_warp_path, 8, 256, 9),
	SHAPE(x_block_path, 8, 256, 9), SHAPE(x_state, 8, 256, 9), SHAPE(x_state_swap, 8, 256, 9),
	SHAPE(x_lag, 8, 256, 9), SHAPE(x_float_bits, 8, 256, 9), SHAPE(x_u64, 8, 256, 9),
	SHAPE(x_neg64, 8, 256, 9), SHAPE(x_carry, 8, 256, 9),
	SHAPE(x_down_8, 8, 256, 9),
	SHAPE(x_up, 8, 256, 9),
	SHAPE(x_from_16, 8, 256, 9),
	SHAPE(x_from_n, 8, 256, 9),
	SHAPE(x_lane, 8, 256, 9),
	SHAPE(x_lanes_below, 8, 256, 9),
	SHAPE(x_match, 8, 256, 9),
	SHAPE(x_reduced, 8, 256, 9),
	SHAPE(x_any_lane, 8, 256, 9),
	SHAPE(x_parted, 8, 256, 9),
	SHAPE(x_scan, 8, 256, 9),
};
/* clang-format on */

int main()
{
	float *out, *in;

	CHECK(cudaMalloc((void **)&out, WORDS * sizeof(float)));
	CHECK(cudaMalloc((void **)&in, WORDS * sizeof(float)));
	CHECK(cudaMemset(out, 0, WORDS * sizeof(float)));
	CHECK(cudaMemset(in, 0, WORDS * sizeof(float)));
	for (const shape &s : shapes) {
		const cudaError_t e =
			(s.kernel<<<s.grid, s.block>>>(out, in, s.n), cudaDeviceSynchronize());

		if (e != cudaSuccess) {
			std::fprintf(stderr, "%s: %s\n", s.name, cudaGetErrorString(e));
			return 1;
		}
	}
	std::printf("lanes done\n");
	return 0;
}
