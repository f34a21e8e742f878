/*
 * copies.cu - an asynchronous copy that some lanes do, and the others write zeros. For tests/unit/test_lanes.c; built as
 * calls.cu.
 */
extern "C" __global__ void copies(float *out, const float *in, int n)
{
	__shared__ __align__(128) char s[32768];
	int i = threadIdx.x;
	int bytes = i % 32 < n ? 16 : 0;

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 16),
		     "l"((const char *)in + i * 16), "r"(bytes));
	asm volatile("cp.async.wait_all;" ::);
	__syncthreads();
	out[i] = s[threadIdx.x];
}
