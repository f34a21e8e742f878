/*
 * bank_conflict_good.cu - the transpose of bank_conflict_bad.cu with one word of padding per row:
 * the column read spreads over all 32 banks.
 * A report should say nothing about bank conflicts.
 * No advice: KBN-A022.
 */
#include "sample.h"

#define TILE 32
#define ROWS 8

extern "C" __global__ void bank_conflict_good(float *out, const float *in, int n)
{
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x;
	int y = blockIdx.y * TILE + threadIdx.y;

	for (int r = 0; r < TILE; r += ROWS)
		tile[threadIdx.y + r][threadIdx.x] = in[(size_t)(y + r) * n + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	for (int r = 0; r < TILE; r += ROWS)
		out[(size_t)(y + r) * n + x] = tile[threadIdx.x][threadIdx.y + r];
}

int main(int argc, char **argv)
{
	const int n = 4096; /* n x n matrix */
	struct sample s = sample_begin(argc, argv, (uint32_t)n * n, SAMPLE_FLOATS);

	for (int i = 0; i < s.repeats; i++)
		SAMPLE_LAUNCH(s, bank_conflict_good, dim3(n / TILE, n / TILE), dim3(TILE, ROWS), 0,
			      (float *)s.out, (const float *)s.in, n);
	return sample_end(&s, "bank_conflict_good");
}
