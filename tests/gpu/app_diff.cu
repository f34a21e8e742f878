/*
 * app_diff.cu - four kernels of about 20 to 60 us, launched by turns. One of them, multiply, does PERCENT
 * more rounds: what a comparison of two runs must find, and of two equal runs must not.
 * usage: app_diff PERCENT LAUNCHES
 */
#include "app.h"

#define BLOCK 256

__global__ void copy(float4 *out, const float4 *in)
{
	out[(long long)blockIdx.x * BLOCK + threadIdx.x] =
		in[(long long)blockIdx.x * BLOCK + threadIdx.x];
}

__global__ void add_up(float *out, const float *in, int n)
{
	float s = 0.0f;

	for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
		s += in[i];
	out[blockIdx.x * BLOCK + threadIdx.x] = s;
}

__global__ void multiply(float *out, int rounds)
{
	float v[4] = {1.0f, 2.0f, 3.0f, (float)threadIdx.x};

	for (int i = 0; i < rounds; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			v[j] = v[j] * 0.5f + 0.25f;
	out[blockIdx.x * BLOCK + threadIdx.x] = v[0] + v[1] + v[2] + v[3];
}

__global__ void chase(unsigned *out, const unsigned *in, int steps)
{
	unsigned at = threadIdx.x;

	for (int i = 0; i < steps; i++)
		at = in[at];
	out[threadIdx.x] = at;
}

int main(int argc, char **argv)
{
	int percent = argc > 1 ? std::atoi(argv[1]) : 0, n = argc > 2 ? std::atoi(argv[2]) : 100;
	const size_t bytes = 64 << 20;
	int sms;
	void *a, *b;

	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc(&b, bytes));
	CHECK(cudaMemset(a, 0, bytes));
	CHECK(cudaMemset(b, 0, bytes));
	for (int i = 0; i < n; i++) {
		copy<<<(unsigned)(bytes / 16 / BLOCK), BLOCK>>>((float4 *)a, (const float4 *)b);
		add_up<<<sms * 8, BLOCK>>>((float *)a, (const float *)b, (int)(bytes / 4));
		multiply<<<sms * 8, BLOCK>>>((float *)a, 1250 * (100 + percent) / 100);
		chase<<<1, 32>>>((unsigned *)a, (const unsigned *)b, 64);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaDeviceSynchronize());
	std::printf("launches %d\n", 4 * n);
	return 0;
}
