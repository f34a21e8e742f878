/* pointers.cu - functions and data whose addresses stand in code and in constants. */
typedef float (*function)(float);

__device__ float scale = 2.f;
<<<<<<< HEAD
=======

>>>>>>> c429d53 (tests: Lay out the sources of the line tables)
__device__ float one(float v)
{
	return v + scale;
}
<<<<<<< HEAD
=======

>>>>>>> c429d53 (tests: Lay out the sources of the line tables)
__device__ float two(float v)
{
	return v * scale;
}
<<<<<<< HEAD
=======

>>>>>>> c429d53 (tests: Lay out the sources of the line tables)
__constant__ function either[2] = {one, two};
extern __device__ float elsewhere(float);
extern __shared__ float room[];

__global__ void pointers(float *out, function *left, int n)
{
	room[threadIdx.x] = either[n](out[0]);
	left[0] = n ? two : elsewhere;
	__syncthreads();
	out[1] = elsewhere(room[n]);
}
