/*
 * called.cu - functions in double that are called several times, beside pointers of the caller's in registers that they
 * leave alone: nobody meant these doubles either.
 */

extern "C" __global__ void places(float *out, const float *a, const float *b, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = a[i] * 3.14, y = b[i] * 3.14, z = a[n + i] * 3.14, w = b[n + i] * 3.14;
	float h = pow(sin((y - x) / 2.0), 2.0) +
		  cos((double)x) * cos((double)y) * pow(sin((w - z) / 2.0), 2.0);

	out[i] = 2.0 * asin(fmin(1.0, sqrt((double)h)));
}

/* The same with a double that the caller gives, which comes back from the function. */
extern "C" __global__ void places_given(float *out, const float *a, const float *b, int n,
					double by)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = a[i] * 3.14, y = b[i] * 3.14;

	out[i] = pow(sin((y - x) / 2.0), 2.0) + pow(by, 2.0 + n) * cos((double)x);
}
