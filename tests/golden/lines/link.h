/* link.h - what both units inline; each body is one line, which says whose it is. */
#pragma once

__device__ __forceinline__ float cube(float v, const float *p)
{
	return v * v * v + p[3];
}

__device__ __forceinline__ float twice(float v, const float *p)
{
	return cube(v, p) * cube(v + p[1], p);
}
