/*
 * lines.cu - what the readers of cubins have to find: a jump table, a function out of line, inlined
 * functions from another file, constant banks. The lines matter: EXPECTED names them.
 */
#include "lines.h"

__constant__ float table[16];

__device__ __noinline__ float slow(float v, int n)
{
	for (int i = 0; i < n; i++)
		v = v * v + table[i & 15];
	return v;
}

__global__ void branches(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i];

	switch (n) {
	case 0: v += 1; break;
	case 1: v *= v; break;
	case 2: v = middle(v, in + i); break;
	case 3: v = slow(v, 7); break;
	case 4: v = in[i + 3]; break;
	case 5: v = out[i + 4]; break;
	case 6: v = rsqrtf(v); break;
	case 7: v = fabsf(v) - v; break;
	default: break;
	}
	out[i] = v;
}
