/*
 * rows.cu - loops whose bounds are data, marked as in gemm.cu; also compiled without optimisation (-G).
 */

/* Rows of different length: the inner bound is data. */
extern "C" __global__ void spmv_csr(const int *start, const int *column, const float *value,
				    const float *x, float *y, int rows)
{
#pragma unroll 1
	/* loop row: LDG STG ; rows / threads */
	for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += gridDim.x * blockDim.x) {
		float sum = 0;

#pragma unroll 1
		/* loop entry: LDG FFMA ; the row's entries */
		for (int i = start[r]; i < start[r + 1]; i++) {
			sum += value[i] * x[column[i]];
		} /* end entry */
		y[r] = sum;
	} /* end row */
}

extern "C" __global__ void binary_search(const int *sorted, const int *keys, int *out, int n)
{
	const int key = keys[threadIdx.x];
	int low = 0, high = n;

#pragma unroll 1
	while (low < high) { /* loop halve: LDG ; log2 n */
		const int middle = (low + high) / 2;

		if (sorted[middle] < key)
			low = middle + 1;
		else
			high = middle;
	} /* end halve */
	out[threadIdx.x] = low;
}

extern "C" __global__ void mandelbrot(int *out, int w, int most)
{
	const float cx = blockIdx.x * 0.01f, cy = threadIdx.x * 0.01f;
	float x = 0, y = 0;
	int i;

#pragma unroll 1
	/* loop iterate: FFMA FMUL ; most at most, a break when it flees */
	for (i = 0; i < most; i++) {
		const float t = x * x - y * y + cx;

		if (x * x + y * y > 4)
			break;
		y = 2 * x * y + cy;
		x = t;
	} /* end iterate */
	out[blockIdx.x * w + threadIdx.x] = i;
}
