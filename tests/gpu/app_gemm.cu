/*
 * app_gemm.cu - the GPU-bound case: 2048^3 FP32 matrix products through shared-memory tiles.
 * Prints microseconds per product. usage: app_gemm PRODUCTS
 */
#include "app.h"

#define N    2048
#define TILE 32

__global__ void product(float *c, const float *a, const float *b)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
	float sum = 0;

	for (int k = 0; k < N; k += TILE) {
		as[y][x] = a[row * N + k + x];
		bs[y][x] = b[(k + y) * N + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += as[y][i] * bs[i][x];
		__syncthreads();
	}
	c[row * N + col] = sum;
}

__global__ void fill(float *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	p[i] = (float)(i * 2654435761u >> 8) / 16777216.0f - 0.5f;
}

int main(int argc, char **argv)
{
	int products = argc > 1 ? std::atoi(argv[1]) : 60;
	float *m;
	uint64_t start;

	CHECK(cudaMalloc(&m, 3ull * N * N * sizeof(float)));
	fill<<<2 * N * N / 256, 256>>>(m);
	for (int i = 0; i < 20; i++)
		product<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(m + 2 * N * N, m,
									m + N * N);
	CHECK(cudaDeviceSynchronize());
	start = app_now();
	for (int i = 0; i < products; i++)
		product<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(m + 2 * N * N, m,
									m + N * N);
	CHECK(cudaDeviceSynchronize());
	std::printf("value %.3f launches %d\n", (double)(app_now() - start) / 1e3 / products,
		    products + 21);
	return 0;
}
