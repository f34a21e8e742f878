/* link_b.cu - the second of two units that are linked. */
#include "link.h"

__device__ __forceinline__ float alone(float v, const float *p)
{
	return sqrtf(v) * p[5];
}

__device__ __noinline__ float outside(float v, const float *p)
{
	return alone(v, p) + cube(v, p);
}
