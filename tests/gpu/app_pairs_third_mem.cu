/*
 * app_pairs_third_mem.cu - third set of pairs with one fault each and its cure, as people write them:
 * order and width of accesses, bytes in flight, what is computed only to find an address, what is read
 * again. Both of a pair compute the same, which is checked (pairs.h). No output; usage:
 * app_pairs_third_mem
 */
#include "pairs.h"

/* ------------------------------------------------------------------------------ order */

#define CHANNELS   256
#define SLICE_ROWS 1024

/* Batch norm, channels last: sum and sum of squares of a channel over a slice, a block for each. */
extern "C" __global__ void bnorm_channel(float *out, const float *in)
{
	__shared__ float part[8];
	const int c = blockIdx.x, slice = blockIdx.y;
	const float *at = in + (long long)slice * SLICE_ROWS * CHANNELS + c;
	float sum = 0.0f, squares = 0.0f;

	for (int r = threadIdx.x; r < SLICE_ROWS; r += 256) {
		float v = at[r * CHANNELS];

		sum += v;
		squares += v * v;
	}
	sum = block_sum(sum, part);
	squares = block_sum(squares, part);
	if (threadIdx.x == 0) {
		out[(slice * CHANNELS + c) * 2] = sum;
		out[(slice * CHANNELS + c) * 2 + 1] = squares;
	}
}

/* A lane for each channel, a warp for each row of the moment. */
extern "C" __global__ void bnorm_lanes(float *out, const float *in)
{
	__shared__ float part[2][8][32];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int c = blockIdx.x * 32 + lane, slice = blockIdx.y;
	const float *at = in + (long long)slice * SLICE_ROWS * CHANNELS + c;
	float sum = 0.0f, squares = 0.0f;

#pragma unroll 8
	for (int r = warp; r < SLICE_ROWS; r += 8) {
		float v = at[r * CHANNELS];

		sum += v;
		squares += v * v;
	}
	part[0][warp][lane] = sum;
	part[1][warp][lane] = squares;
	__syncthreads();
	if (warp < 2) {
		sum = 0.0f;
		for (int w = 0; w < 8; w++)
			sum += part[warp][w][lane];
		out[(slice * CHANNELS + c) * 2 + warp] = sum;
	}
}

/* Fourier transform of eight points, in place and in order. */
__device__ static inline void dft8(float *re, float *im)
{
	const float half = 0.70710678f;
	float ar[8], ai[8], br[8], bi[8];

#pragma unroll
	for (int k = 0; k < 4; k++) {
		ar[k] = re[k] + re[k + 4];
		ai[k] = im[k] + im[k + 4];
		ar[k + 4] = re[k] - re[k + 4];
		ai[k + 4] = im[k] - im[k + 4];
	}
	/* the differences turn by 0, 1, 2 and 3 eighths */
	br[5] = half * (ar[5] + ai[5]);
	bi[5] = half * (ai[5] - ar[5]);
	br[6] = ai[6];
	bi[6] = -ar[6];
	br[7] = half * (ai[7] - ar[7]);
	bi[7] = -half * (ar[7] + ai[7]);
#pragma unroll
	for (int k = 5; k < 8; k++) {
		ar[k] = br[k];
		ai[k] = bi[k];
	}
#pragma unroll
	for (int odd = 0; odd < 2; odd++) {
		const float *r = ar + 4 * odd, *i = ai + 4 * odd;
		float er = r[0] + r[2], ei = i[0] + i[2], fr = r[1] + r[3], fi = i[1] + i[3];
		float gr = r[0] - r[2], gi = i[0] - i[2], hr = i[1] - i[3], hi = r[3] - r[1];

		re[odd] = er + fr;
		im[odd] = ei + fi;
		re[odd + 2] = gr + hr;
		im[odd + 2] = gi + hi;
		re[odd + 4] = er - fr;
		im[odd + 4] = ei - fi;
		re[odd + 6] = gr - hr;
		im[odd + 6] = gi - hi;
	}
}

/* First pass of a long transform: eight points that are n / 8 apart become eight neighbours. */
extern "C" __global__ void fft_scatter(float *out, const float *real, const float *imag, int n)
{
	const int j = blockIdx.x * blockDim.x + threadIdx.x;
	float re[8], im[8];

#pragma unroll
	for (int k = 0; k < 8; k++) {
		re[k] = real[j + k * (n / 8)];
		im[k] = imag[j + k * (n / 8)];
	}
	dft8(re, im);
#pragma unroll
	for (int k = 0; k < 8; k++) {
		out[8 * j + k] = re[k];
		out[n + 8 * j + k] = im[k];
	}
}

/* The same, and the block puts its points in order before they leave. */
extern "C" __global__ void fft_ordered(float *out, const float *real, const float *imag, int n)
{
	__shared__ float sr[256 * 9], si[256 * 9];
	const int tid = threadIdx.x, j = blockIdx.x * 256 + tid;
	float re[8], im[8];

#pragma unroll
	for (int k = 0; k < 8; k++) {
		re[k] = real[j + k * (n / 8)];
		im[k] = imag[j + k * (n / 8)];
	}
	dft8(re, im);
#pragma unroll
	for (int k = 0; k < 8; k++) {
		sr[9 * tid + k] = re[k];
		si[9 * tid + k] = im[k];
	}
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 8; k++) {
		int i = tid + 256 * k;

		out[blockIdx.x * 2048 + i] = sr[i + i / 8];
		out[n + blockIdx.x * 2048 + i] = si[i + i / 8];
	}
}

/* ------------------------------------------------------------------------------ bytes in flight */

/* Luminance of packed pixels of three bytes. */
extern "C" __global__ void gray_pixel(unsigned char *out, const unsigned char *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = (77 * in[3 * i] + 150 * in[3 * i + 1] + 29 * in[3 * i + 2]) >> 8;
}

/* Four pixels are three words in and one out. */
extern "C" __global__ void gray_words(unsigned *out, const unsigned *in, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned w[3], gray = 0;

	if (i >= n)
		return;
#pragma unroll
	for (int k = 0; k < 3; k++)
		w[k] = in[3 * i + k];
#pragma unroll
	for (int k = 0; k < 4; k++) {
		unsigned r = w[3 * k / 4] >> 3 * k % 4 * 8 & 255;
		unsigned g = w[(3 * k + 1) / 4] >> (3 * k + 1) % 4 * 8 & 255;
		unsigned b = w[(3 * k + 2) / 4] >> (3 * k + 2) % 4 * 8 & 255;

		gray |= (77 * r + 150 * g + 29 * b) >> 8 << 8 * k;
	}
	out[i] = gray;
}

/* Exponential moving average of each series; a row holds all series at one time. */
extern "C" __global__ void ema_step(float *out, const float *in, int series, int times,
				    float weight)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float mean = 0.0f;

	for (int t = 0; t < times; t++) {
		mean = fmaf(weight, in[t * series + i] - mean, mean);
		out[t * series + i] = mean;
	}
}

/* 16 times are on their way together. */
extern "C" __global__ void ema_batch(float *out, const float *in, int series, int times,
				     float weight)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float mean = 0.0f;

	for (int t = 0; t < times; t += 16) {
		float v[16];

#pragma unroll
		for (int k = 0; k < 16; k++)
			v[k] = in[(t + k) * series + i];
#pragma unroll
		for (int k = 0; k < 16; k++) {
			mean = fmaf(weight, v[k] - mean, mean);
			out[(t + k) * series + i] = mean;
		}
	}
}

/* A bit for each word above the level: a thread, and so one load, for each of them. */
extern "C" __global__ void bits_word(unsigned *out, const float *in, float level)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned bits = __ballot_sync(0xffffffffu, in[i] > level);

	if (i % 32 == 0)
		out[i / 32] = bits;
}

extern "C" __global__ void bits_words(unsigned *out, const float *in, float level)
{
	const int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	unsigned mine = 0;
	float v[16];

#pragma unroll
	for (int k = 0; k < 16; k++)
		v[k] = in[warp * 512 + k * 32 + lane];
#pragma unroll
	for (int k = 0; k < 16; k++) {
		unsigned bits = __ballot_sync(0xffffffffu, v[k] > level);

		mine = lane == k ? bits : mine;
	}
	if (lane < 16)
		out[warp * 16 + lane] = mine;
}

/* ------------------------------------------------------------------------------ addresses */

/* Patches of k x k around each pixel of each channel, a row for each place of a patch. */
extern "C" __global__ void im2col_divide(float *out, const float *in, int width, int height, int k,
					 int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int row, pixel, x, y;

	if (i >= n)
		return;
	row = i / (width * height);
	pixel = i % (width * height);
	x = pixel % width + row % k - k / 2;
	y = pixel / width + row / k % k - k / 2;
	out[i] = x >= 0 && x < width && y >= 0 && y < height
			 ? in[(row / (k * k) * height + y) * width + x]
			 : 0.0f;
}

/* Division of numbers below 2^26 by a multiplication. */
struct divisor {
	unsigned by, factor, shift;
};

__constant__ struct divisor by_width, by_plane, by_k, by_patch;

__device__ static inline int quotient(int n, const struct divisor &d)
{
	return (int)(__umulhi((unsigned)n, d.factor) >> d.shift);
}

__device__ static inline int rest(int n, const struct divisor &d)
{
	return n - quotient(n, d) * (int)d.by;
}

extern "C" __global__ void im2col_multiply(float *out, const float *in, int width, int height,
					   int k, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int row, pixel, x, y;

	if (i >= n)
		return;
	row = quotient(i, by_plane);
	pixel = rest(i, by_plane);
	x = rest(pixel, by_width) + rest(row, by_k) - k / 2;
	y = quotient(pixel, by_width) + rest(quotient(row, by_k), by_k) - k / 2;
	out[i] = x >= 0 && x < width && y >= 0 && y < height
			 ? in[(quotient(row, by_patch) * height + y) * width + x]
			 : 0.0f;
}

static struct divisor divisor_of(unsigned by)
{
	struct divisor d = {by, 0, 0};

	/* exact up to 2^26: the factor is at most 1 too large, and 2^(shift + 6) is no less than `by` */
	while (1u << (d.shift + 6) < by)
		d.shift++;
	d.factor = (unsigned)((1ull << (32 + d.shift)) / by + 1);
	return d;
}

/* ------------------------------------------------------------------------------ read again */

#define PLANES 8 /* channels in, and as many out */

__constant__ float filter[PLANES * PLANES * 9];

/* Where the nine neighbours of a pixel are; those outside are the ones at the edge. */
__device__ static inline void around(int *at, int width, int height)
{
	const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

#pragma unroll
	for (int k = 0; k < 9; k++)
		at[k] = min(max(y + k / 3 - 1, 0), height - 1) * width +
			min(max(x + k % 3 - 1, 0), width - 1);
}

/* Convolution 3 x 3: a thread for one pixel of one channel, which reads all channels. */
extern "C" __global__ void conv_channel(float *out, const float *in, int width, int height)
{
	const float *weight = filter + blockIdx.z * PLANES * 9;
	float sum = 0.0f;
	int at[9];

	around(at, width, height);
#pragma unroll
	for (int c = 0; c < PLANES; c++)
#pragma unroll
		for (int k = 0; k < 9; k++)
			sum += in[c * width * height + at[k]] * weight[c * 9 + k];
	out[blockIdx.z * width * height + at[4]] = sum;
}

/* A thread for one pixel of all channels. */
extern "C" __global__ void conv_channels(float *out, const float *in, int width, int height)
{
	float sum[PLANES] = {};
	int at[9];

	around(at, width, height);
#pragma unroll
	for (int c = 0; c < PLANES; c++) {
		float v[9];

#pragma unroll
		for (int k = 0; k < 9; k++)
			v[k] = in[c * width * height + at[k]];
#pragma unroll
		for (int z = 0; z < PLANES; z++)
#pragma unroll
			for (int k = 0; k < 9; k++)
				sum[z] += v[k] * filter[(z * PLANES + c) * 9 + k];
	}
#pragma unroll
	for (int z = 0; z < PLANES; z++)
		out[z * width * height + at[4]] = sum[z];
}

#define CENTERS 64
#define DIMS    32

/* The nearest of 64 centers; each of them reads the point anew. */
extern "C" __global__ void assign_reread(int *out, const float *points, const float *centers, int n,
					 int dims)
{
	__shared__ float s[CENTERS * DIMS];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float least = 1e30f;
	int nearest = 0;

	for (int k = threadIdx.x; k < CENTERS * dims; k += blockDim.x)
		s[k] = centers[k];
	__syncthreads();
	for (int c = 0; c < CENTERS; c++) {
		float far = 0.0f;

		for (int k = 0; k < dims; k++) {
			float d = points[k * n + i] - s[c * dims + k];

			far = fmaf(d, d, far);
		}
		nearest = far < least ? c : nearest;
		least = fminf(far, least);
	}
	out[i] = nearest;
}

extern "C" __global__ void assign_kept(int *out, const float *points, const float *centers, int n)
{
	__shared__ float s[CENTERS * DIMS];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float least = 1e30f, point[DIMS];
	int nearest = 0;

	for (int k = threadIdx.x; k < CENTERS * DIMS; k += blockDim.x)
		s[k] = centers[k];
#pragma unroll
	for (int k = 0; k < DIMS; k++)
		point[k] = points[k * n + i];
	__syncthreads();
#pragma unroll 1
	for (int c = 0; c < CENTERS; c++) {
		float far = 0.0f;

#pragma unroll
		for (int k = 0; k < DIMS; k++) {
			float d = point[k] - s[c * DIMS + k];

			far = fmaf(d, d, far);
		}
		nearest = far < least ? c : nearest;
		least = fminf(far, least);
	}
	out[i] = nearest;
}

/* ------------------------------------------------------------------------------ all of them */

static void orders(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int slices = 128, n = 1 << 25;

	pair(
		p, "bnorm", slices * CHANNELS * 2, 1e-3f,
		[=](float *out) { bnorm_channel<<<dim3(CHANNELS, slices), 256>>>(out, in); },
		[=](float *out) { bnorm_lanes<<<dim3(CHANNELS / 32, slices), 256>>>(out, in); });
	pair(
		p, "fft", 2ll * n, 1e-5f,
		[=](float *out) { fft_scatter<<<n / 2048, 256>>>(out, in, in2, n); },
		[=](float *out) { fft_ordered<<<n / 2048, 256>>>(out, in, in2, n); });
}

static void flights(struct pairs *p)
{
	const float *in = p->in;
	const int pixels = 1 << 26, series = 1 << 16, times = 512, n = 1 << 26;

	pair(
		p, "gray", pixels / 4, 0,
		[=](float *out) {
			gray_pixel<<<pixels / 256, 256>>>((unsigned char *)out,
							  (const unsigned char *)in, pixels);
		},
		[=](float *out) {
			gray_words<<<pixels / 1024, 256>>>((unsigned *)out, (const unsigned *)in,
							   pixels / 4);
		});
	pair(
		p, "ema", (long long)series * times, 1e-5f,
		[=](float *out) {
			ema_step<<<series / 256, 256>>>(out, in, series, times, 0.125f);
		},
		[=](float *out) {
			ema_batch<<<series / 256, 256>>>(out, in, series, times, 0.125f);
		});
	pair(
		p, "bits", n / 32, 0,
		[=](float *out) { bits_word<<<n / 256, 256>>>((unsigned *)out, in, 0.25f); },
		[=](float *out) { bits_words<<<n / 4096, 256>>>((unsigned *)out, in, 0.25f); });
}

static void addresses(struct pairs *p)
{
	const float *in = p->in;
	const int width = 500, height = 500, k = 3, n = 28 * 9 * width * height;
	const struct divisor w = divisor_of(width), plane = divisor_of(width * height),
			     side = divisor_of(k), patch = divisor_of(k * k);

	CHECK(cudaMemcpyToSymbol(by_width, &w, sizeof(w)));
	CHECK(cudaMemcpyToSymbol(by_plane, &plane, sizeof(plane)));
	CHECK(cudaMemcpyToSymbol(by_k, &side, sizeof(side)));
	CHECK(cudaMemcpyToSymbol(by_patch, &patch, sizeof(patch)));
	pair(
		p, "im2col", n, 0,
		[=](float *out) {
			im2col_divide<<<(n + 255) / 256, 256>>>(out, in, width, height, k, n);
		},
		[=](float *out) {
			im2col_multiply<<<(n + 255) / 256, 256>>>(out, in, width, height, k, n);
		});
}

static void again(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int width = 2048, height = 1024, n = 1 << 20;

	CHECK(cudaMemcpyToSymbol(filter, in2, sizeof(filter), 0, cudaMemcpyDeviceToDevice));
	pair(
		p, "conv", (long long)PLANES * width * height, 1e-5f,
		[=](float *out) {
			conv_channel<<<dim3(width / 32, height / 8, PLANES), dim3(32, 8)>>>(
				out, in, width, height);
		},
		[=](float *out) {
			conv_channels<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(out, in, width,
										     height);
		});
	pair(
		p, "assign", n, 0,
		[=](float *out) { assign_reread<<<n / 256, 256>>>((int *)out, in, in2, n, DIMS); },
		[=](float *out) { assign_kept<<<n / 256, 256>>>((int *)out, in, in2, n); });
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	orders(&p);
	flights(&p);
	addresses(&p);
	again(&p);
	return p.failed;
}
