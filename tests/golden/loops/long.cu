/*
 * long.cu - loop bodies so long that code for sm_80 leaves the loops by a call which is a jump; marked as in
 * gemm.cu.
 */

extern "C" __global__ void long_bodies(float *out, const float *in, int n, int m)
{
	float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;

#pragma unroll 1
	for (int r = 0; r < n; r++) { /* loop outer: STG ; n */
#pragma unroll 1
		for (int i = 0; i < m; i++) { /* loop inner: FFMA ; m */
#pragma unroll
			for (int u = 0; u < 64; u++) {
				a = a * b + c;
				b = b * c + d;
				c = c * d + a;
				d = d * a + b;
			}
		} /* end inner */
		out[r * 32 + threadIdx.x] = a + b + c + d;
	} /* end outer */
}
