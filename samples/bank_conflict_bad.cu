/*
 * bank_conflict_bad.cu - a matrix transpose through an unpadded 32 x 32 tile of shared memory.
 * Wrong: the column read puts all 32 lanes of a warp on one bank: 32 wavefronts instead of one.
 * A report should say: shared-memory bank conflicts on the load; pad each row by one word.
 * Advice: KBN-A022.
 * Cure: bank_conflict_good.cu.
 */
#include "sample.h"

#define TILE 32
#define ROWS 8

extern "C" __global__ void bank_conflict_bad(float *out, const float *in, int n)
{
	__shared__ float tile[TILE][TILE];
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
		SAMPLE_LAUNCH(s, bank_conflict_bad, dim3(n / TILE, n / TILE), dim3(TILE, ROWS), 0,
			      (float *)s.out, (const float *)s.in, n);
	return sample_end(&s, "bank_conflict_bad");
}
