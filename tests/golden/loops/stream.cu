/*
 * stream.cu - reductions, scans and kernels that walk through memory: loops as gemm.cu marks them.
 */

extern "C" __global__ void reduce_grid_stride(const float *in, float *out, int n)
{
	float sum = 0;

#pragma unroll 1
	/* loop stride: LDG FADD ; n / threads */
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		sum += in[i];
	} /* end stride */
	atomicAdd(out, sum);
}

/* A tree in shared memory, as a loop; then one over lanes. */
extern "C" __global__ void reduce_tree(const float *in, float *out)
{
	extern __shared__ float part[];
	float v;

	part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
#pragma unroll 1
	/* loop tree: BAR LDS STS FADD ; log2 of the block - 5 */
	for (int d = blockDim.x / 2; d >= 32; d >>= 1) {
		if (threadIdx.x < d)
			part[threadIdx.x] += part[threadIdx.x + d];
		__syncthreads();
	} /* end tree */
	v = part[threadIdx.x];
#pragma unroll 1
	for (int d = 16; d; d >>= 1) { /* loop lanes: SHFL FADD ; 5 */
		v += __shfl_down_sync(~0u, v, d);
	} /* end lanes */
	if (threadIdx.x == 0)
		out[blockIdx.x] = v;
}

/* The test at the end. */
extern "C" __global__ void reduce_do_while(const int *in, int *out, int n)
{
	int i = threadIdx.x, sum = 0;

#pragma unroll 1
	do { /* loop once_at_least: LDG ; 1 or more */
		sum = max(sum, in[i]) ^ i;
		i += blockDim.x;
	} while (i < n); /* end once_at_least */
	out[threadIdx.x] = sum;
}

/* Unrolled by eight, and a loop for what is left over. */
extern "C" __global__ void dot_unrolled(const float *a, const float *b, float *out, int n)
{
	float sum = 0;

#pragma unroll 8
	for (int i = 0; i < n; i++) { /* loop dot: LDG FFMA ; n, eight at a time and remainder */
		sum += a[i * 32 + threadIdx.x] * b[i * 32 + threadIdx.x];
	} /* end dot */
	out[threadIdx.x] = sum;
}

/* Inclusive scan of a block: two barriers a step. */
extern "C" __global__ void scan_block(const int *in, int *out)
{
	extern __shared__ int s[];
	int v = in[threadIdx.x];

	s[threadIdx.x] = v;
	__syncthreads();
#pragma unroll 1
	for (int d = 1; d < blockDim.x; d <<= 1) { /* loop step: LDS STS BAR ; log2 of the block */
		const int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0;

		__syncthreads();
		v += left;
		s[threadIdx.x] = v;
		__syncthreads();
	} /* end step */
	out[threadIdx.x] = v;
}

/* Five points in a plane, a column of planes a thread, with a halo in shared memory. */
extern "C" __global__ void stencil(const float *in, float *out, int nx, int planes)
{
	__shared__ float s[18][34];
	const int x = threadIdx.x + 1, y = threadIdx.y + 1;

#pragma unroll 1
	for (int z = 0; z < planes; z++) { /* loop plane: LDG STS BAR LDS FADD STG ; planes */
		const float *p =
			in + (size_t)z * nx * nx + (blockIdx.y * 16 + y) * nx + blockIdx.x * 32 + x;

		s[y][x] = p[0];
		if (threadIdx.x == 0)
			s[y][0] = p[-1];
		if (threadIdx.x == 31)
			s[y][33] = p[1];
		if (threadIdx.y == 0)
			s[0][x] = p[-nx];
		if (threadIdx.y == 15)
			s[17][x] = p[nx];
		__syncthreads();
		out[p - in] = s[y][x] + s[y - 1][x] + s[y + 1][x] + s[y][x - 1] + s[y][x + 1];
		__syncthreads();
	} /* end plane */
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n)
{
	__shared__ unsigned bins[256];

#pragma unroll 1
	for (int i = threadIdx.x; i < 256; i += blockDim.x) { /* loop clear: STS ; 256 / block */
		bins[i] = 0;
	} /* end clear */
	__syncthreads();
#pragma unroll 1
	/* loop count: LDG ATOMS ; n / threads */
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&bins[in[i]], 1u);
	} /* end count */
	__syncthreads();
#pragma unroll 1
	for (int i = threadIdx.x; i < 256; i += blockDim.x) { /* loop add: LDS ; 256 / block */
		atomicAdd(&out[i], bins[i]);
	} /* end add */
}

/* Tiles of 32 x 32, eight rows a pass, both passes unrolled: no loop. */
extern "C" __global__ void transpose_unrolled(const float *in, float *out, int n)
{
	__shared__ float s[32][33];

#pragma unroll
	for (int i = 0; i < 32; i += 8)
		s[threadIdx.y + i][threadIdx.x] =
			in[(size_t)(blockIdx.y * 32 + threadIdx.y + i) * n + blockIdx.x * 32 +
			   threadIdx.x];
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 32; i += 8)
		out[(size_t)(blockIdx.x * 32 + threadIdx.y + i) * n + blockIdx.y * 32 + threadIdx.x] =
			s[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_rolled(const float *in, float *out, int n)
{
	__shared__ float s[32][33];

#pragma unroll 1
	for (int i = 0; i < 32; i += 8) { /* loop read: LDG STS ; 4 */
		s[threadIdx.y + i][threadIdx.x] =
			in[(size_t)(blockIdx.y * 32 + threadIdx.y + i) * n + blockIdx.x * 32 +
			   threadIdx.x];
	} /* end read */
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < 32; i += 8) { /* loop write: LDS STG ; 4 */
		out[(size_t)(blockIdx.x * 32 + threadIdx.y + i) * n + blockIdx.y * 32 + threadIdx.x] =
			s[threadIdx.x][threadIdx.y + i];
	} /* end write */
}
