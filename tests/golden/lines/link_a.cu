/* link_a.cu - the first of two units that are linked. */
#include "link.h"

__device__ float outside(float v, const float *p);

__global__ void linked(float *out)
{
	out[0] = twice(out[1], out) + outside(out[2], out);
}
