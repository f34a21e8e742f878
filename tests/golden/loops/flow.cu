/*
 * flow.cu - loops of unusual shape, marked as in gemm.cu.
 */
#include <stdio.h>

extern "C" __global__ void triple(const int *in, int *out, int n)
{
	int sum = 0;

#pragma unroll 1
	for (int i = 0; i < n; i++) { /* loop i ; n */
#pragma unroll 1
		for (int j = 0; j < i; j++) { /* loop j: STG ; i */
#pragma unroll 1
			for (int k = j; k < n; k++) { /* loop k: LDG ; n - j */
				sum ^= in[i * n + j * k] + sum * k;
			} /* end k */
			out[j] = sum;
		} /* end j */
	}         /* end i */
}

extern "C" __global__ void with_continue(const float *in, float *out, int n)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) { /* loop skip: LDG MUFU STG ; n / 32 */
		if (in[i] < 0)
			continue;
		float v = __sinf(in[i] * 0.5f) + in[i + n];
		if (v > 3)
			continue;
		out[i] = __logf(v);
	} /* end skip */
}

static __device__ __noinline__ float series(float x, int n)
{
	float sum = 1, term = 1;

#pragma unroll 1
	for (int i = 1; i < n; i++) { /* loop term: FFMA ; n - 1, in a function of its own */
		term = term * x + (float)i;
		sum += term;
	} /* end term */
	return sum;
}

extern "C" __global__ void calls_in_loop(const float *in, float *out, int n)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) { /* loop outer: LDG CALL STG ; n / 32 */
		out[i] = series(in[i], i);
	} /* end outer */
}

static __device__ __forceinline__ int steps(unsigned v)
{
	int n = 0;

#pragma unroll 1
	while (v > 1) { /* loop collatz ; inlined */
		v = v & 1 ? 3 * v + 1 : v / 2;
		n++;
	} /* end collatz */
	return n;
}

extern "C" __global__ void inlined_twice(const unsigned *in, int *out, int n)
{
	int sum = steps(n);

#pragma unroll 1
	for (int i = 0; i < n; i++) { /* loop each: LDG ; n */
		sum += steps(in[i]);
	} /* end each */
	out[threadIdx.x] = sum;
}

/* A jump table within a loop; the cases come back to it. */
extern "C" __global__ void machine(const int *program, int *out, const float *table)
{
	int at = 0, a = 0, b = threadIdx.x;
	float x = 1;

#pragma unroll 1
	for (;;) { /* loop step: LDG BRX ; until an operation says so */
		switch (program[at++]) {
		case 0: a += b; break;
		case 1: b = a * b; break;
		case 2: x = table[a & 63]; break;
		case 3: out[b & 1023] = a; break;
		case 4: x = sqrtf(x); break;
		case 5: a = __float2int_rn(x); break;
		case 6: at = b & 15; continue;
		case 7: atomicAdd(out, a); break;
		case 8: x = __sinf(x); break;
		case 9: b ^= a; break;
		default: out[0] = a + b + (int)x; return;
		}
	} /* end step */
}

/* A cycle with two ways in: no natural loop; the compiler may copy blocks and make it one. */
extern "C" __global__ void irreducible(int *p, int n)
{
	int i = threadIdx.x;

	if (n & 1)
		goto middle;
top: /* loop cycle: LDG ; two ways in */
	p[i] = p[i + 1] + n;
	if (p[i] > 77)
		goto out;
middle:
	i = p[i];
	if (i < n)
		goto top;
	/* end cycle */
out:
	p[threadIdx.x] = i;
}

extern "C" __global__ void spin_lock(int *lock, int *value)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(lock, 0, 1)) /* loop spin: ATOMG ; while another one holds it */
		;                     /* end spin */
	__threadfence();
	*value += 1;
	atomicExch(lock, 0);
}

extern "C" __global__ void polls_for_ever(volatile int *flag, int *out)
{
#pragma unroll 1
	while (!flag[0]) { /* loop poll: LDG NANOSLEEP ; until the flag is set */
		__nanosleep(100);
	}                                 /* end poll */
	for (;;)                          /* loop forever: STG ; never ends */
		*(volatile int *)out = 1; /* end forever */
}

static __device__ __noinline__ int tree(const int *in, int node)
{
	int sum = in[node];

#pragma unroll 1
	for (int i = 0; i < 4 && in[node] > 0; i++) { /* loop child: CALL ; 4, calls itself */
		sum += tree(in, node * 4 + i);
	} /* end child */
	return sum;
}

extern "C" __global__ void recursion(const int *in, int *out)
{
	out[threadIdx.x] = tree(in, threadIdx.x);
}

/* Lanes leave at different times, and shuffle within: code for divergent lanes is out of line. */
extern "C" __global__ void divergent_shuffle(const float *in, float *out, int n)
{
	float v = 0;

#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) { /* loop outer: LDG SHFL ; n / 32 */
		float x = in[i];

#pragma unroll 1
		for (int j = 0; j < n && x > 0; j++) { /* loop inner: LDG ; until x is negative */
			x -= in[j] / v;
		} /* end inner */
		v += __shfl_xor_sync(~0u, x, 4);
		v += __shfl_down_sync(~0u, v, 2);
	} /* end outer */
	out[threadIdx.x] = v;
}

/* Out of two loops at once. */
extern "C" __global__ void leaves_two(const int *in, int *out, int n)
{
	int i, j = 0;

#pragma unroll 1
	for (i = 0; i < n; i++) { /* loop outer ; n at most */
#pragma unroll 1
		for (j = 0; j < n; j++) { /* loop inner: LDG ; n at most */
			if (in[i * n + j] == 42)
				goto found;
		} /* end inner */
		__syncthreads();
	} /* end outer */
found:
	out[threadIdx.x] = i * n + j;
}

extern "C" __global__ void prints(const int *in, int n)
{
#pragma unroll 1
	for (int i = 0; i < n; i++) { /* loop each: LDG ; n, the rare case is out of line */
		if (__builtin_expect(in[i] < 0, 0))
			printf("%d\n", i);
	} /* end each */
}

/* A return within a loop, 64-bit division by a call within. */
extern "C" __global__ void returns_within(long *p, int n)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32) { /* loop divide: LDG STG ; n / 32, or a return */
		if (p[i] == 0)
			return;
		p[i] = p[i + n] / p[i];
	} /* end divide */
	p[0] = 1;
}

/* Uniform bounds: branches on uniform registers where there are some. */
extern "C" __global__ void uniform(const int *__restrict__ in, int *out, int n)
{
	int sum = 0;

#pragma unroll 1
	for (int i = 0; i < n; i++) { /* loop rows ; n */
		const int m = blockIdx.x + i;

#pragma unroll 1
		for (int j = 0; j < m; j += 3) { /* loop columns: BAR ; (block + i) / 3 */
			__syncthreads();
			sum += in[j * 32 + threadIdx.x];
		} /* end columns */
	}         /* end rows */
	out[threadIdx.x] = sum;
}
