/*
 * lanes_index.h - kernels of app_lanes.cu whose indices take arithmetic that is easily got wrong: division, bits, what
 * depends on the block or the warp, counters that are not those of a loop, bounds in one block only.
 */
#ifndef KBN_GPU_LANES_INDEX_H
#define KBN_GPU_LANES_INDEX_H

KERNEL(x_mulhi)
{
	out[I] = in[__umulhi((unsigned)I, 0x10000000u) + (T & 3)];
}
KERNEL(x_sdiv)
{
	out[I] = in[(I - 700) / 3 + 1000];
}
KERNEL(x_smod)
{
	out[I] = in[(I - 700) % 5 + 10];
}
KERNEL(x_div_n)
{
	out[I] = in[(I - 700) / n + 1000];
}
KERNEL(x_mod_n)
{
	out[I] = in[(unsigned)(I + 77) % (unsigned)n];
}
KERNEL(x_mod_row)
{
	int r = I / n, c = I % n;
	out[r * (n + 7) + c] = in[c * 64 + r % 64];
}
KERNEL(x_brev)
{
	out[I] = in[__brev((unsigned)T) >> 24];
}
KERNEL(x_xor_block)
{
	out[I ^ (int)(blockIdx.x * 5)] = in[T ^ (int)blockIdx.x];
}
KERNEL(x_and_block)
{
	out[I] = in[(T * 3) & (int)(blockIdx.x * 11 + 7)];
}
KERNEL(x_or_block)
{
	out[I] = in[(T & 7) | (int)(blockIdx.x * 3)];
}
KERNEL(x_shift_block)
{
	out[I] = in[T << (blockIdx.x & 3)];
}
KERNEL(x_shift_warp)
{
	out[I] = in[(T & 31) << (T >> 5)];
}
KERNEL(x_rshift)
{
	out[I] = in[(I + 3) >> 2];
}
KERNEL(x_rshift_signed)
{
	out[I] = in[((I - 1000) >> 3) + 500];
}
KERNEL(x_min_n)
{
	out[I] = in[I < n ? I : n];
}
KERNEL(x_min_minus)
{
	out[I] = in[max(I - n, 0)];
}
KERNEL(x_clamp_block)
{
	out[I] = in[min(T, (int)blockIdx.x * 9)];
}
KERNEL(x_select_block)
{
	out[I] = in[blockIdx.x & 1 ? T : 2 * T];
}
KERNEL(x_select_warp)
{
	out[I] = in[(T >> 5) & 1 ? 3 * T : T];
}
KERNEL(x_select_warp_lane)
{
	out[I] = in[((T >> 5) ^ T) & 1 ? T + 2048 : T];
}
KERNEL(x_square)
{
	out[I] = in[T * T];
}
KERNEL(x_product)
{
	out[I] = in[T * (int)blockIdx.x];
}
KERNEL(x_product_warp)
{
	out[I] = in[(T & 31) * (T >> 5)];
}
KERNEL(x_short)
{
	unsigned short v = (unsigned short)(I * 37);
	out[I] = in[v];
}
KERNEL(x_char)
{
	signed char v = (signed char)(I * 3);
	out[I] = in[v + 128];
}
KERNEL(x_low_bits)
{
	out[(I * 7) & 1023] = in[(I * 5 + 3) & 255];
}
KERNEL(x_swizzle)
{
	int r = T / 8, c = T % 8;
	out[r * 8 + (c ^ (r & 7))] = in[(c ^ (r & 3)) * 32 + r];
}
KERNEL(x_morton)
{
	int x = T & 15, y = T >> 4, m = 0;
	for (int b = 0; b < 4; b++)
		m |= ((x >> b) & 1) << (2 * b) | ((y >> b) & 1) << (2 * b + 1);
	out[I] = in[m];
}
KERNEL(x_byte_4)
{
	out[I] = ((const unsigned char *)in)[I * 4 + (T & 3)];
}
KERNEL(x_half_odd)
{
	((short *)out)[I * 2 + 1] = ((const short *)in)[I ^ 1];
}
KERNEL(x_wide_index)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	out[i * 3 % 5000] = in[i * i % 4096];
}
KERNEL(x_ptr_walk)
{
	const float *p = in + I;
	for (int k = 0; k < 6; k++, p += 17)
		out[I] = *p + k;
}
KERNEL(x_ptr_step_n)
{
	const float *p = in + I;
	float v = 0;
	for (int k = 0; k < n; k++, p += n)
		v += *p * v;
	out[I] = v;
}
KERNEL(x_down)
{
	float v = 0;
	for (int k = n; k > 0; k -= 3)
		v += in[I + k * 8] * v;
	out[I] = v;
}
KERNEL(x_twice)
{
	float v = 0;
	for (int k = 1; k < n; k *= 2)
		v += in[I + k * 8] * v;
	out[I] = v;
}
KERNEL(x_two_loops)
{
	float v = 0;
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < n; b++)
			v += in[I + a * 64 + b * 8] * v;
	out[I] = v;
}
KERNEL(x_triangle)
{
	float v = 0;
	for (int a = 0; a < 5; a++)
		for (int b = a; b < 5; b++)
			v += in[I + a * 64 + b * 8] * v;
	out[I] = v;
}
KERNEL(x_do)
{
	int k = 0;
	float v = 0;
	do {
		v += in[I + k * 8] * v;
		k += 2;
	} while (k < n);
	out[I] = v;
}
KERNEL(x_le)
{
	float v = 0;
	for (unsigned k = 3; k <= (unsigned)n; k += 4)
		v += in[I + k * 8] * v;
	out[I] = v;
}
KERNEL(x_ne)
{
	float v = 0;
	for (int k = 0; k != 3 * n; k += 3)
		v += in[I + k * 8] * v;
	out[I] = v;
}
KERNEL(x_cont)
{
	float v = 0;
	for (int k = 0; k < 12; k++) {
		if (k % 3 == n % 3)
			continue;
		v += in[I + k * 8] * v;
	}
	out[I] = v;
}
KERNEL(x_guard_in_loop)
{
	float v = 0;
	for (int k = 0; k < 8; k++)
		if (I + k * 256 < n)
			v += in[I + k * 256] * v;
	out[I] = v;
}
KERNEL(x_guard_lane_loop)
{
	float v = 0;
	for (int k = 0; k < 8; k++)
		if (T + k * 32 < n)
			v += in[T + k * 32] * v;
	out[I] = v;
}
KERNEL(x_grid_loop)
{
	float v = 0;
	for (int k = blockIdx.x; k < n; k += gridDim.x)
		v += in[T + k * 256] * v;
	out[I] = v;
}
KERNEL(x_strip)
{
	for (int k = T; k < n; k += blockDim.x)
		out[blockIdx.x * 2048 + k] = in[k * 2];
}
KERNEL(x_ret_blocks)
{
	if (blockIdx.x >= (unsigned)n)
		return;
	out[I] = in[I * 2];
}
KERNEL(x_ret_odd_block)
{
	if (blockIdx.x % 3 == 1)
		return;
	out[I] = in[I * 2 + 1];
}
KERNEL(x_ret_warp)
{
	if ((T >> 5) == n)
		return;
	out[I] = in[I + 1];
}
KERNEL(x_last_block)
{
	if (blockIdx.x == gridDim.x - 1)
		out[I] = in[I * 8];
	else
		out[I] = in[T];
}
KERNEL(x_edge)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	float l = x > 0 ? in[x - 1] : 0, r = x < n - 1 ? in[x + 1] : 0;
	out[x] = l + r;
}
KERNEL(x_edge2)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
		out[y * n + x] = in[(y - 1) * n + x] + in[y * n + x + 1];
}
KERNEL(x_transposed)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	out[x * n + y] = in[y * n + x];
}
KERNEL(x_block_y)
{
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	out[y * 100 + threadIdx.x] = in[y * n + threadIdx.x];
}
KERNEL(x_swap)
{
	int a = T, b = I;
	if (n > 3) {
		int t = a;
		a = b;
		b = t;
	}
	out[b] = in[a + b];
}
KERNEL(x_lane_path)
{
	int a;
	if (T & 1)
		a = T * 2;
	else
		a = T + 64;
	if (n)
		a += 5;
	out[I] = in[a];
}
KERNEL(x_warp_path)
{
	int a;
	if (T & 32)
		a = T * 2;
	else
		a = T + 64;
	out[I] = in[a];
}
KERNEL(x_block_path)
{
	int a = T;
	if (blockIdx.x == 3)
		a = T * 4;
	out[I] = in[a];
}
KERNEL(x_state)
{
	int a = T;
	for (int k = 0; k < 4; k++) {
		a = (a * 5 + 1) & 255;
		out[I] = in[a];
	}
}
KERNEL(x_state_swap)
{
	int a = T, b = 2 * T;
	for (int k = 0; k < 5; k++) {
		out[I + k] = in[a];
		int t = a;
		a = b;
		b = t;
	}
}
KERNEL(x_lag)
{
	int a = T * 4, p = 0;
	for (int k = 0; k < 5; k++) {
		out[I + k] = in[p];
		p = a;
		a = a + T;
	}
}
KERNEL(x_float_bits)
{
	float f = (float)(T * 2 + 1);
	out[I] = in[(int)f];
}
KERNEL(x_u64)
{
	unsigned long long a = (unsigned long long)I << 34 >> 32;
	out[I] = in[a];
}
KERNEL(x_neg64)
{
	long long a = -(long long)I * 4;
	out[I] = *(const float *)((const char *)in + 65536 + a);
}
KERNEL(x_carry)
{
	unsigned lo = 0xfffffff0u + T;
	unsigned hi = lo < 0xfffffff0u;
	out[I] = in[hi * 32 + (lo & 15)];
}

/* ------------------------------------------------------------------------------ from other lanes */

KERNEL(x_down_8)
{
	out[I] = in[__shfl_down_sync(~0u, T * 2, 3, 8)];
}
KERNEL(x_up)
{
	out[I] = in[__shfl_up_sync(~0u, T * 3, 5)];
}
KERNEL(x_from_16)
{
	out[I] = in[__shfl_sync(~0u, T * 9, T * 3, 16)];
}
KERNEL(x_from_n)
{
	out[I] = in[__shfl_sync(~0u, T, n) + T];
}
KERNEL(x_lane)
{
	unsigned l;
	asm("mov.u32 %0, %%laneid;" : "=r"(l));
	out[I] = in[l * 3];
}
KERNEL(x_lanes_below)
{
	unsigned m;
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
	out[I] = in[__popc(m & 0x33333333) * 8];
}
KERNEL(x_match)
{
	out[I] = in[__ffs(__match_any_sync(~0u, T / 5)) * 8];
}
KERNEL(x_reduced)
{
	out[I] = in[__reduce_add_sync(~0u, T & 31) + T];
}
KERNEL(x_any_lane)
{
	if (__any_sync(~0u, T == 70))
		out[I] = in[2 * I];
}
KERNEL(x_parted)
{
	int k = T;
	if (T & 1)
		k = __shfl_xor_sync(0xaaaaaaaau, T * 2, 2);
	out[I] = in[k];
}
KERNEL(x_scan)
{
	int v = T & 3;
	for (int d = 1; d < 32; d *= 2) {
		int o = __shfl_up_sync(~0u, v, d);
		if ((T & 31) >= d)
			v += o;
	}
	out[I] = in[v];
}

#endif
