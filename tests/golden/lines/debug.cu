/* debug.cu - for a cubin with -G, which must be small. */
__device__ int next(int i)
{
	return i + 1;
}

__global__ void debug(int *out, int i)
{
	out[i] = next(i);
}
