/*
 * app_pairs_mem.cu - pairs of kernels with one fault each and its cure, as people write them: what is
 * loaded and stored, and in which order; atomics, shared memory, the shape of the grid. Both of a
 * pair compute the same, which is checked (pairs.h). No output; usage: app_pairs_mem
 */
#include <vector>

#include "pairs.h"

extern "C" {

/* ------------------------------------------------------------------------------ layout */

__global__ void transpose_naive(float *out, const float *in, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

	out[(long long)x * n + y] = in[(long long)y * n + x];
}

__global__ void transpose_tiled(float *out, const float *in, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += 8)
		tile[threadIdx.y + j][threadIdx.x] = in[(long long)(y + j) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		out[(long long)(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

struct particle {
	float x, y, z;
	float vx, vy, vz;
	float mass, charge;
	float fx, fy, fz;
	float age;
};

__global__ void energy_aos(float *energy, const struct particle *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		energy[i] = 0.5f * p[i].mass *
			    (p[i].vx * p[i].vx + p[i].vy * p[i].vy + p[i].vz * p[i].vz);
}

__global__ void energy_soa(float *energy, const float *vx, const float *vy, const float *vz,
			   const float *mass, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		energy[i] = 0.5f * mass[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
}

__global__ void split_particles(float *soa, const struct particle *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	soa[i] = p[i].vx;
	soa[n + i] = p[i].vy;
	soa[2 * n + i] = p[i].vz;
	soa[3 * n + i] = p[i].mass;
}

/* Sum of each row: a thread per row, or a warp. */
__global__ void rows_thread(float *sums, const float *m, int rows, int cols)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0.0f;

	if (row >= rows)
		return;
	for (int c = 0; c < cols; c++)
		s += m[(long long)row * cols + c];
	sums[row] = s;
}

__global__ void rows_warp(float *sums, const float *m, int rows, int cols)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float s = 0.0f;

	if (row >= rows)
		return;
	for (int c = lane; c < cols; c += 32)
		s += m[(long long)row * cols + c];
	s = warp_sum(s);
	if (lane == 0)
		sums[row] = s;
}

/* Compressed sparse rows: a thread per row, or a warp. */
__global__ void spmv_scalar(float *y, const int *start, const int *col, const float *val,
			    const float *x, int rows)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0.0f;

	if (row >= rows)
		return;
	for (int j = start[row]; j < start[row + 1]; j++)
		s += val[j] * x[col[j]];
	y[row] = s;
}

__global__ void spmv_vector(float *y, const int *start, const int *col, const float *val,
			    const float *x, int rows)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float s = 0.0f;

	if (row >= rows)
		return;
	for (int j = start[row] + lane; j < start[row + 1]; j += 32)
		s += val[j] * x[col[j]];
	s = warp_sum(s);
	if (lane == 0)
		y[row] = s;
}

__global__ void band_columns(int *col, const int *start, int rows)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;

	for (int j = start[row]; j < start[row + 1]; j++)
		col[j] = min(rows - 1, max(0, row - 512 + (int)(pairs_hash(j) % 1024)));
}

/* ------------------------------------------------------------------------------ bytes in flight */

/* Brighten an image of bytes: one byte a thread, or sixteen. */
__global__ void brighten_byte(unsigned char *out, const unsigned char *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = (unsigned char)min(255, in[i] + 32);
}

__global__ void brighten_wide(uint4 *out, const uint4 *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		uint4 v = in[i];

		v.x = __vaddus4(v.x, 0x20202020u);
		v.y = __vaddus4(v.y, 0x20202020u);
		v.z = __vaddus4(v.z, 0x20202020u);
		v.w = __vaddus4(v.w, 0x20202020u);
		out[i] = v;
	}
}

/* The result may be the input, for all that the compiler knows: no load may pass a store. */
__global__ void scale_alias(float *out, const float *in, float a, float b, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = a * in[i] + b;
}

__global__ void scale_unrolled(float *__restrict__ out, const float *__restrict__ in, float a,
			       float b, int n)
{
	const int step = gridDim.x * blockDim.x;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 8 * step) {
		float v[8];

#pragma unroll
		for (int j = 0; j < 8; j++)
			v[j] = i + j * step < n ? in[i + j * step] : 0.0f;
#pragma unroll
		for (int j = 0; j < 8; j++)
			if (i + j * step < n)
				out[i + j * step] = a * v[j] + b;
	}
}

/* ------------------------------------------------------------------------------ shape of the grid */

/* Both the same code: blocks of one warp, or of eight. */
__global__ void saxpy_one_warp(float *out, const float *x, const float *y, float a, int n)
{
	int i = blockIdx.x * 32 + threadIdx.x;

	if (i < n)
		out[i] = a * x[i] + y[i];
}

__global__ void saxpy_eight_warps(float *out, const float *x, const float *y, float a, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		out[i] = a * x[i] + y[i];
}

__device__ static void distance(float *out, const float *x, const float *y, int n)
{
	__shared__ float part[32];
	float s = 0.0f;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		s += (x[i] - y[i]) * (x[i] - y[i]);
	s = block_sum(s, part);
	if (threadIdx.x == 0)
		atomicAdd(out, s);
}

/* Four blocks for all of it, or four for every SM. */
__global__ void distance_few(float *out, const float *x, const float *y, int n)
{
	distance(out, x, y, n);
}

__global__ void distance_many(float *out, const float *x, const float *y, int n)
{
	distance(out, x, y, n);
}

__global__ void relu_piece(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = fmaxf(in[i], 0.0f);
}

__global__ void relu_whole(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = fmaxf(in[i], 0.0f);
}

/* ------------------------------------------------------------------------------ atomics */

__global__ void norm_atomic(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(out, fabsf(in[i]));
}

__global__ void norm_blocks(float *out, const float *in, int n)
{
	__shared__ float part[32];
	float s = 0.0f;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		s += fabsf(in[i]);
	s = block_sum(s, part);
	if (threadIdx.x == 0)
		atomicAdd(out, s);
}

__device__ static inline int bin_of(float v)
{
	return min(255, (int)((v + 1.0f) * 128.0f));
}

__global__ void histogram_global(unsigned *bins, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&bins[bin_of(in[i])], 1u);
}

__global__ void histogram_shared(unsigned *bins, const float *in, int n)
{
	__shared__ unsigned mine[256];

	mine[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&mine[bin_of(in[i])], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

/* ------------------------------------------------------------------------------ shared memory */

__global__ void reduce_interleaved(float *out, const float *in)
{
	__shared__ float s[256];

	s[threadIdx.x] = in[(long long)blockIdx.x * 256 + threadIdx.x];
	__syncthreads();
	for (unsigned d = 1; d < 256; d *= 2) {
		unsigned i = 2 * d * threadIdx.x;

		if (i < 256)
			s[i] += s[i + d];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

__global__ void reduce_sequential(float *out, const float *in)
{
	__shared__ float s[256];

	s[threadIdx.x] = in[(long long)blockIdx.x * 256 + threadIdx.x];
	__syncthreads();
	for (unsigned d = 128; d > 0; d /= 2) {
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

/* A small matrix times a vector for each warp: staged by rows, then each lane adds up its own row. */
__device__ static inline void small_product(float *tile, int pitch, float *y, const float *m,
					    const float *x)
{
	const int lane = threadIdx.x % 32;
	const long long which = (long long)blockIdx.x * 4 + threadIdx.x / 32;
	float s = 0.0f, mine = x[which * 32 + lane];

#pragma unroll 8
	for (int r = 0; r < 32; r++)
		tile[r * pitch + lane] = m[which * 1024 + r * 32 + lane];
	__syncwarp();
	for (int k = 0; k < 32; k++)
		s += tile[lane * pitch + k] * __shfl_sync(0xffffffffu, mine, k);
	y[which * 32 + lane] = s;
}

__global__ void small_product_square(float *y, const float *m, const float *x)
{
	__shared__ float tile[4][32 * 32];

	small_product(tile[threadIdx.x / 32], 32, y, m, x);
}

__global__ void small_product_padded(float *y, const float *m, const float *x)
{
	__shared__ float tile[4][32 * 33];

	small_product(tile[threadIdx.x / 32], 33, y, m, x);
}

/* ------------------------------------------------------------------------------ read again and again */

__global__ void softmax_three_pass(float *out, const float *in, int cols)
{
	__shared__ float part[32];
	const float *row = in + (long long)blockIdx.x * cols;
	float m = -INFINITY, s = 0.0f;

	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		m = fmaxf(m, row[c]);
	m = block_max(m, part);
	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		s += __expf(row[c] - m);
	s = block_sum(s, part);
	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		out[(long long)blockIdx.x * cols + c] = __expf(row[c] - m) / s;
}

/* 4096 columns: sixteen of each of 256 threads stay in registers. */
__global__ void softmax_fused(float4 *out, const float4 *in)
{
	__shared__ float part[32];
	const long long at = (long long)blockIdx.x * 1024 + threadIdx.x;
	float m = -INFINITY, s = 0.0f;
	float4 v[4];

#pragma unroll
	for (int j = 0; j < 4; j++) {
		v[j] = in[at + 256 * j];
		m = fmaxf(m, fmaxf(fmaxf(v[j].x, v[j].y), fmaxf(v[j].z, v[j].w)));
	}
	m = block_max(m, part);
#pragma unroll
	for (int j = 0; j < 4; j++) {
		v[j] = make_float4(__expf(v[j].x - m), __expf(v[j].y - m), __expf(v[j].z - m),
				   __expf(v[j].w - m));
		s += v[j].x + v[j].y + v[j].z + v[j].w;
	}
	s = 1.0f / block_sum(s, part);
#pragma unroll
	for (int j = 0; j < 4; j++)
		out[at + 256 * j] = make_float4(v[j].x * s, v[j].y * s, v[j].z * s, v[j].w * s);
}

__global__ void layernorm_reread(float *out, const float *in, int cols)
{
	__shared__ float part[32];
	const float *row = in + (long long)blockIdx.x * cols;
	float mean = 0.0f, var = 0.0f;

	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		mean += row[c];
	mean = block_sum(mean, part) / cols;
	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		var += (row[c] - mean) * (row[c] - mean);
	var = rsqrtf(block_sum(var, part) / cols + 1e-5f);
	for (int c = threadIdx.x; c < cols; c += blockDim.x)
		out[(long long)blockIdx.x * cols + c] = (row[c] - mean) * var;
}

/* 1024 columns: a warp for each row, 32 of them in the registers of each lane. */
__global__ void layernorm_kept(float4 *out, const float4 *in)
{
	const long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const long long at = row * 256 + threadIdx.x % 32;
	float mean = 0.0f, var = 0.0f;
	float4 v[8];

#pragma unroll
	for (int j = 0; j < 8; j++) {
		v[j] = in[at + 32 * j];
		mean += v[j].x + v[j].y + v[j].z + v[j].w;
	}
	mean = warp_sum(mean) / 1024;
#pragma unroll
	for (int j = 0; j < 8; j++) {
		v[j] = make_float4(v[j].x - mean, v[j].y - mean, v[j].z - mean, v[j].w - mean);
		var += v[j].x * v[j].x + v[j].y * v[j].y + v[j].z * v[j].z + v[j].w * v[j].w;
	}
	var = rsqrtf(warp_sum(var) / 1024 + 1e-5f);
#pragma unroll
	for (int j = 0; j < 8; j++)
		out[at + 32 * j] =
			make_float4(v[j].x * var, v[j].y * var, v[j].z * var, v[j].w * var);
}

__constant__ const float binomial[5] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};

/* Five by five points with weights; the two outermost rows and columns repeat. */
__global__ void blur_direct(float *out, const float *in, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	float s = 0.0f;

	for (int j = -2; j <= 2; j++)
		for (int i = -2; i <= 2; i++) {
			int u = min(max(x + i, 0), n - 1), v = min(max(y + j, 0), n - 1);

			s += binomial[i + 2] * binomial[j + 2] * in[(long long)v * n + u];
		}
	out[(long long)y * n + x] = s;
}

/* The same from shared memory, along rows first, then along columns: ten reads in place of 25. */
__global__ void blur_separable(float *out, const float *in, int n)
{
	__shared__ float tile[36][36], along[36][33];
	const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;

	for (int y = threadIdx.y; y < 36; y += 8)
		for (int x = threadIdx.x; x < 36; x += 32) {
			int u = min(max(x0 + x - 2, 0), n - 1), v = min(max(y0 + y - 2, 0), n - 1);

			tile[y][x] = in[(long long)v * n + u];
		}
	__syncthreads();
	for (int y = threadIdx.y; y < 36; y += 8) {
		float s = 0.0f;

		for (int i = 0; i < 5; i++)
			s += binomial[i] * tile[y][threadIdx.x + i];
		along[y][threadIdx.x] = s;
	}
	__syncthreads();
	for (int y = threadIdx.y; y < 32; y += 8) {
		float s = 0.0f;

		for (int i = 0; i < 5; i++)
			s += binomial[i] * along[y + i][threadIdx.x];
		out[(long long)(y0 + y) * n + x0 + threadIdx.x] = s;
	}
}

} /* extern "C" */

/* ------------------------------------------------------------------------------ all of them */

static void layouts(struct pairs *p)
{
	const float *in = p->in;
	const struct particle *aos = (const struct particle *)p->in;
	const int n = 8192, bodies = 1 << 22, rows = 32768, cols = 2048;
	float *soa;

	pair(
		p, "transpose", (long long)n * n, 0,
		[=](float *out) {
			transpose_naive<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(out, in, n);
		},
		[=](float *out) {
			transpose_tiled<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in, n);
		});
	CHECK(cudaMalloc(&soa, 16ll * bodies));
	split_particles<<<bodies / 256, 256>>>(soa, aos, bodies);
	pair(
		p, "energy", bodies, 1e-5f,
		[=](float *out) { energy_aos<<<bodies / 256, 256>>>(out, aos, bodies); },
		[=](float *out) {
			energy_soa<<<bodies / 256, 256>>>(out, soa, soa + bodies, soa + 2 * bodies,
							  soa + 3 * bodies, bodies);
		});
	CHECK(cudaFree(soa));
	pair(
		p, "rows", rows, 1e-3f,
		[=](float *out) { rows_thread<<<rows / 128, 128>>>(out, in, rows, cols); },
		[=](float *out) { rows_warp<<<rows / 8, 256>>>(out, in, rows, cols); });
}

/* Rows of 32 to 96 entries, near the diagonal. */
static void sparse(struct pairs *p)
{
	const int rows = 1 << 18;
	const float *val = p->in, *x = p->in2;
	std::vector<int> lengths(rows + 1, 0);
	int *start, *col;

	for (int i = 0; i < rows; i++)
		lengths[i + 1] = lengths[i] + 32 + (int)(pairs_hash((unsigned)i) % 65);
	CHECK(cudaMalloc(&start, 4ll * (rows + 1)));
	CHECK(cudaMalloc(&col, 4ll * lengths[rows]));
	CHECK(cudaMemcpy(start, lengths.data(), 4ll * (rows + 1), cudaMemcpyHostToDevice));
	band_columns<<<rows / 256, 256>>>(col, start, rows);
	pair(
		p, "spmv", rows, 1e-4f,
		[=](float *out) {
			spmv_scalar<<<rows / 256, 256>>>(out, start, col, val, x, rows);
		},
		[=](float *out) { spmv_vector<<<rows / 8, 256>>>(out, start, col, val, x, rows); });
	CHECK(cudaFree(start));
	CHECK(cudaFree(col));
}

static void streams(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int bytes = 1 << 27, n = 1 << 25, sms = p->sms;
	const int piece = 16384, pieces = 512;

	pair(
		p, "brighten", bytes / 4, 0,
		[=](float *out) {
			brighten_byte<<<bytes / 256, 256>>>((unsigned char *)out,
							    (const unsigned char *)in, bytes);
		},
		[=](float *out) {
			brighten_wide<<<bytes / 4096, 256>>>((uint4 *)out, (const uint4 *)in,
							     bytes / 16);
		});
	pair(
		p, "scale", n, 0,
		[=](float *out) { scale_alias<<<2 * sms, 256>>>(out, in, 0.5f, 0.25f, n); },
		[=](float *out) { scale_unrolled<<<2 * sms, 256>>>(out, in, 0.5f, 0.25f, n); });
	pair(
		p, "saxpy", n, 0,
		[=](float *out) { saxpy_one_warp<<<n / 32, 32>>>(out, in, in2, 0.5f, n); },
		[=](float *out) { saxpy_eight_warps<<<n / 256, 256>>>(out, in, in2, 0.5f, n); });
	pair(
		p, "relu", piece * pieces, 0,
		[=](float *out) {
			for (int k = 0; k < pieces; k++)
				relu_piece<<<piece / 256, 256>>>(out + k * piece, in + k * piece,
								 piece);
		},
		[=](float *out) {
			relu_whole<<<piece * pieces / 256, 256>>>(out, in, piece * pieces);
		});
}

static void sums(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int sms = p->sms, few = 1 << 21, some = 1 << 23, many = 1 << 24;
	const unsigned tiles = BIG / 4 / 256;

	pair(
		p, "distance", 1, 1e-3f,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 4));
			distance_few<<<4, 1024>>>(out, in, in2, many);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 4));
			distance_many<<<4 * sms, 512>>>(out, in, in2, many);
		});
	pair(
		p, "norm", 1, 1e-2f,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 4));
			norm_atomic<<<few / 256, 256>>>(out, in, few);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 4));
			norm_blocks<<<4 * sms, 256>>>(out, in, few);
		});
	pair(
		p, "histogram", 256, 0,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 1024));
			histogram_global<<<some / 256, 256>>>((unsigned *)out, in, some);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0, 1024));
			histogram_shared<<<8 * sms, 256>>>((unsigned *)out, in, some);
		});
	pair(
		p, "reduce", tiles, 1e-3f,
		[=](float *out) { reduce_interleaved<<<tiles, 256>>>(out, in); },
		[=](float *out) { reduce_sequential<<<tiles, 256>>>(out, in); });
	pair(
		p, "small product", 65536 * 32, 0,
		[=](float *out) { small_product_square<<<16384, 128>>>(out, in, in2); },
		[=](float *out) { small_product_padded<<<16384, 128>>>(out, in, in2); });
}

static void passes(struct pairs *p)
{
	const float *in = p->in;
	const int n = 4096;

	pair(
		p, "softmax", BIG / 4, 1e-7f,
		[=](float *out) { softmax_three_pass<<<16384, 256>>>(out, in, 4096); },
		[=](float *out) {
			softmax_fused<<<16384, 256>>>((float4 *)out, (const float4 *)in);
		});
	pair(
		p, "layernorm", BIG / 4, 1e-4f,
		[=](float *out) { layernorm_reread<<<65536, 128>>>(out, in, 1024); },
		[=](float *out) {
			layernorm_kept<<<8192, 256>>>((float4 *)out, (const float4 *)in);
		});
	pair(
		p, "blur", (long long)n * n, 1e-5f,
		[=](float *out) { blur_direct<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(out, in, n); },
		[=](float *out) {
			blur_separable<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in, n);
		});
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	layouts(&p);
	sparse(&p);
	streams(&p);
	sums(&p);
	passes(&p);
	return p.failed;
}
