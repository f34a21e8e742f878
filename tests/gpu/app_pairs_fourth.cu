/*
 * app_pairs_fourth.cu - fourth set of pairs with one fault each and its cure, as people write them: one
 * for each kind of fault, written when the rules were done and by someone who had not read them. Both
 * of a pair compute the same, which is checked (pairs.h). No output; usage: app_pairs_fourth
 */
#include "pairs.h"

#define KERNEL extern "C" __global__ void

/* ------------------------------------------------------------------------------ memory */

/* Log of the likelihood of samples with heavy tails. */
__device__ static inline void likelihood(float *out, const float *own, int step, int each)
{
	__shared__ float part[32];
	float sum = 0.0f;

	for (int k = 0; k < each; k++)
		sum += __logf(1.0f + own[k * step] * own[k * step]);
	sum = block_sum(sum, part);
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

/* Each thread has a chunk of its own, as on a CPU; or the threads of a block share its chunk. */
KERNEL likelihood_chunks(float *out, const float *in, int each)
{
	likelihood(out, in + (blockIdx.x * blockDim.x + threadIdx.x) * each, 1, each);
}

KERNEL likelihood_strides(float *out, const float *in, int each)
{
	likelihood(out, in + blockIdx.x * blockDim.x * each + threadIdx.x, blockDim.x, each);
}

/* A price and the state of its random numbers, one step on. */
__device__ static inline float price_step(float price, unsigned *random)
{
	*random = *random * 1664525u + 1013904223u;
	return price + price * (1e-5f + 0.01f * ((float)(int)*random * 4.656613e-10f));
}

/* Random walks of prices, each of which is a row of the result. */
KERNEL paths_rows(float *out, int steps)
{
	const int path = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned random = pairs_hash(path);
	float price = 1.0f;

	for (int t = 0; t < steps; t++) {
		price = price_step(price, &random);
		out[(long long)path * steps + t] = price;
	}
}

#define WARPS 8

/* 32 steps of 32 walks are collected, then written row by row. */
KERNEL paths_tiles(float *out, int steps)
{
	__shared__ float tiles[WARPS][32][33];
	const int lane = threadIdx.x % 32, path = blockIdx.x * blockDim.x + threadIdx.x;
	float(*tile)[33] = tiles[threadIdx.x / 32];
	float *rows = out + (long long)(path - lane) * steps + lane;
	unsigned random = pairs_hash(path);
	float price = 1.0f;

	for (int t = 0; t < steps; t += 32) {
		for (int k = 0; k < 32; k++) {
			price = price_step(price, &random);
			tile[lane][k] = price;
		}
		__syncwarp();
		for (int r = 0; r < 32; r++)
			rows[(long long)r * steps + t] = tile[r][lane];
		__syncwarp();
	}
}

/* Two strands of letters; one of 64 letters differs. */
__global__ void draw_strands(unsigned char *a, unsigned char *b)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned r = pairs_hash(i ^ 0x1234567);

	a[i] = "ACGT"[r % 4];
	b[i] = "ACGT"[(r / 4 % 64 == 0 ? r + 1 : r) % 4];
}

/* Letters in which two reads differ, a warp for each; who finds too many stops. */
KERNEL bases_single(float *out, const unsigned char *a, const unsigned char *b, int length,
		    int limit)
{
	const int lane = threadIdx.x % 32, read = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const int end = (read + 1) * length;
	int wrong = 0;

	for (int k = read * length + lane; k < end && wrong <= limit; k += 32)
		wrong += a[k] != b[k];
	out[read] = warp_sum((float)wrong);
}

KERNEL bases_sixteen(float *out, const uint4 *a, const uint4 *b, int length, int limit)
{
	const int lane = threadIdx.x % 32, read = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const int end = (read + 1) * length / 16;
	int wrong = 0;

	for (int k = read * length / 16 + lane; k < end && wrong <= limit; k += 32)
		wrong += __popc(__vsetne4(a[k].x, b[k].x)) + __popc(__vsetne4(a[k].y, b[k].y)) +
			 __popc(__vsetne4(a[k].z, b[k].z)) + __popc(__vsetne4(a[k].w, b[k].w));
	out[read] = warp_sum((float)wrong);
}

/* ------------------------------------------------------------------------------ grids */

/* Heat flows between the six neighbours; a thread goes along z from `first` to before `end`. */
__device__ static inline void heat(float *__restrict__ out, const float *__restrict__ in, int nz,
				   int first, int end)
{
	const int nx = gridDim.x * blockDim.x, ny = gridDim.y * blockDim.y, plane = nx * ny;
	const int x = blockIdx.x * blockDim.x + threadIdx.x,
		  y = blockIdx.y * blockDim.y + threadIdx.y;
	const int west = x ? -1 : 0, east = x < nx - 1 ? 1 : 0;
	const int north = y ? -nx : 0, south = y < ny - 1 ? nx : 0;
	int at = first * plane + y * nx + x;
	float here = in[at], below = first ? in[at - plane] : here;

	for (int z = first; z < end; z++) {
		float above = z < nz - 1 ? in[at + plane] : here;
		float sides = in[at + west] + in[at + east] + in[at + north] + in[at + south];

		out[at] = here + 0.1f * (sides + below + above - 6.0f * here);
		below = here;
		here = above;
		at += plane;
	}
}

KERNEL heat_column(float *out, const float *in, int nz)
{
	heat(out, in, nz, 0, nz);
}

KERNEL heat_pieces(float *out, const float *in, int nz)
{
	const int piece = nz / gridDim.z;

	heat(out, in, nz, blockIdx.z * piece, (blockIdx.z + 1) * piece);
}

/* Mixes column q of the state, or a diagonal `places` down. */
__device__ static inline void quarter(unsigned s[16], int q, int places)
{
	unsigned &a = s[q], &b = s[4 + (q + places) % 4];
	unsigned &c = s[8 + (q + 2 * places) % 4], &d = s[12 + (q + 3 * places) % 4];

	a += b;
	d = __funnelshift_l(d ^ a, d ^ a, 16);
	c += d;
	b = __funnelshift_l(b ^ c, b ^ c, 12);
	a += b;
	d = __funnelshift_l(d ^ a, d ^ a, 8);
	c += d;
	b = __funnelshift_l(b ^ c, b ^ c, 7);
}

/* Twenty rounds of a stream cipher over two neighbouring counters, folded into one word. */
__device__ static inline float cipher(const unsigned *key, unsigned counter)
{
	unsigned s[2][16], folded = 0;

#pragma unroll
	for (int k = 0; k < 16; k++)
		s[0][k] = s[1][k] = k < 4 ? 0x61707865u + k : k < 12 ? key[k - 4] : counter ^ k;
	s[1][12]++;
#pragma unroll 2
	for (int round = 0; round < 20; round++) {
#pragma unroll
		for (int k = 0; k < 8; k++)
			quarter(s[k % 2], k / 2, round % 2);
	}
#pragma unroll
	for (int k = 0; k < 16; k++)
		folded ^= s[0][k] ^ __funnelshift_l(s[1][k], s[1][k], k);
	return __uint_as_float(folded);
}

/* So many messages for each block. */
KERNEL __launch_bounds__(1024) cipher_ranges(float *out, const unsigned *key, int each)
{
	for (int message = blockIdx.x * each; message < (blockIdx.x + 1) * each; message++) {
		int at = message * 1024 + threadIdx.x;

		out[at] = cipher(key, 2 * at);
	}
}

/* A block for each SM takes the next message of all. */
KERNEL __launch_bounds__(1024) cipher_turns(float *out, const unsigned *key, int messages)
{
	for (int message = blockIdx.x; message < messages; message += gridDim.x) {
		int at = message * 1024 + threadIdx.x;

		out[at] = cipher(key, 2 * at);
	}
}

#define BUILD   256 /* rows of a partition, with keys of their own */
#define PROBES  2048
#define NOTHING 0xffffffffu

/* Keys of a partition, and those looked for, half of which are there. */
__global__ void draw_keys(unsigned *build, unsigned *probe)
{
	const unsigned first = blockIdx.x * 2 * BUILD;

	build[blockIdx.x * BUILD + threadIdx.x] = pairs_hash(first + threadIdx.x);
	for (int k = threadIdx.x; k < PROBES; k += BUILD)
		probe[blockIdx.x * PROBES + k] =
			pairs_hash(first + pairs_hash(blockIdx.x * PROBES + k) % (2 * BUILD));
}

extern __shared__ unsigned table[];

/* Joins a partition through a hash table in shared memory; the launch says how large that is. */
__device__ static inline void join(float *out, const unsigned *build, const float *values,
				   const unsigned *probe, int slots)
{
	float *found = (float *)(table + slots);

	for (int k = threadIdx.x; k < slots; k += blockDim.x)
		table[k] = NOTHING;
	__syncthreads();
	for (int k = threadIdx.x; k < BUILD; k += blockDim.x) {
		unsigned key = build[blockIdx.x * BUILD + k], slot = key & (slots - 1);

		while (atomicCAS(&table[slot], NOTHING, key) != NOTHING)
			slot = (slot + 1) & (slots - 1);
		found[slot] = values[blockIdx.x * BUILD + k];
	}
	__syncthreads();
	for (int k = threadIdx.x; k < PROBES; k += blockDim.x) {
		unsigned key = probe[blockIdx.x * PROBES + k], slot = key & (slots - 1);

		while (table[slot] != key && table[slot] != NOTHING)
			slot = (slot + 1) & (slots - 1);
		out[blockIdx.x * PROBES + k] = table[slot] == key ? found[slot] : 0.0f;
	}
}

KERNEL join_roomy(float *out, const unsigned *build, const float *values, const unsigned *probe,
		  int slots)
{
	join(out, build, values, probe, slots);
}

KERNEL join_tight(float *out, const unsigned *build, const float *values, const unsigned *probe,
		  int slots)
{
	join(out, build, values, probe, slots);
}

/* ------------------------------------------------------------------------------ shared memory */

#define LONGEST 32
#define EDITORS 128

/* Edits that turn one word of two-bit letters into another; `row` is a row of the table. */
__device__ static inline float edits(unsigned long long x, unsigned long long y, int length,
				     int *row, int step)
{
	int left = 0;

	for (int k = 0; k < length; k++)
		row[k * step] = k + 1;
	for (int i = 0; i < length; i++, x >>= 2) {
		unsigned long long rest = y;
		int diagonal = i;

		left = i + 1;
		for (int k = 0; k < length; k++, rest >>= 2) {
			int above = row[k * step];

			left = min(min(above, left) + 1, diagonal + ((x & 3) != (rest & 3)));
			row[k * step] = left;
			diagonal = above;
		}
	}
	return (float)left;
}

KERNEL edit_rows(float *out, const unsigned long long *a, const unsigned long long *b, int length)
{
	__shared__ int rows[EDITORS * LONGEST];
	const int i = blockIdx.x * EDITORS + threadIdx.x;

	out[i] = edits(a[i], b[i], length, rows + threadIdx.x * LONGEST, 1);
}

KERNEL edit_columns(float *out, const unsigned long long *a, const unsigned long long *b,
		    int length)
{
	__shared__ int rows[EDITORS * LONGEST];
	const int i = blockIdx.x * EDITORS + threadIdx.x;

	out[i] = edits(a[i], b[i], length, rows + threadIdx.x, EDITORS);
}

/* Sums from the left end of each row, by pieces of 1024; they double their reach step by step. */
KERNEL integral_steps(float *out, const float *in, int cols)
{
	__shared__ float sums[1024];
	const long long row = (long long)blockIdx.x * cols + threadIdx.x;
	float carry = 0.0f;

	for (int first = 0; first < cols; first += 1024) {
		sums[threadIdx.x] = in[row + first];
		__syncthreads();
		for (int reach = 1; reach < 1024; reach *= 2) {
			float more = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0.0f;

			__syncthreads();
			sums[threadIdx.x] += more;
			__syncthreads();
		}
		out[row + first] = carry + sums[threadIdx.x];
		carry += sums[1023];
		__syncthreads();
	}
}

__device__ static inline float warp_sums(float v)
{
	for (int reach = 1; reach < 32; reach *= 2) {
		float more = __shfl_up_sync(0xffffffffu, v, reach);

		v += threadIdx.x % 32 >= reach ? more : 0.0f;
	}
	return v;
}

/* Within the warps first, then over their sums: one barrier. */
KERNEL integral_warps(float *out, const float *in, int cols)
{
	__shared__ float totals[2][32];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const long long row = (long long)blockIdx.x * cols + threadIdx.x;
	float carry = 0.0f;

	for (int first = 0; first < cols; first += 1024) {
		float *total = totals[first / 1024 % 2];
		float v = warp_sums(in[row + first]), upto, before;

		if (lane == 31)
			total[warp] = v;
		__syncthreads();
		upto = warp_sums(total[lane]);
		before = __shfl_sync(0xffffffffu, upto, (warp + 31) % 32);
		out[row + first] = carry + (warp ? before : 0.0f) + v;
		carry += __shfl_sync(0xffffffffu, upto, 31);
	}
}

#define LABELS 64
#define WIDTH  4096
#define HEIGHT 2048
#define ROWS   64 /* of a block */

/* Eight by eight regions with rough sides. */
__global__ void draw_labels(unsigned char *labels)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	const int column = min((x + (int)(pairs_hash(y) % 32)) / (WIDTH / 8), 7);

	labels[y * WIDTH + x] = y / (HEIGHT / 8) * 8 + column;
}

/* How near each region comes to the four sides of the image. */
KERNEL boxes_pixel(unsigned *out, const unsigned char *labels)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	unsigned *box = out + labels[y * WIDTH + x] * 4;

	atomicMin(&box[0], (unsigned)x);
	atomicMin(&box[1], (unsigned)y);
	atomicMin(&box[2], (unsigned)(WIDTH - 1 - x));
	atomicMin(&box[3], (unsigned)(HEIGHT - 1 - y));
}

/* Warps within a region agree first; a block keeps all boxes until it has done its rows. */
KERNEL boxes_block(unsigned *out, const unsigned char *labels)
{
	__shared__ unsigned boxes[LABELS * 4];
	const int x = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * ROWS;

	boxes[threadIdx.x] = NOTHING;
	__syncthreads();
	for (int y = first; y < first + ROWS; y++) {
		unsigned label = labels[y * WIDTH + x];
		unsigned side[4] = {(unsigned)x, (unsigned)y, (unsigned)(WIDTH - 1 - x),
				    (unsigned)(HEIGHT - 1 - y)};
		bool same = __all_sync(0xffffffffu, label == __shfl_sync(0xffffffffu, label, 0));

#pragma unroll
		for (int k = 0; k < 4; k++) {
			unsigned least = same ? __reduce_min_sync(0xffffffffu, side[k]) : side[k];

			if (!same || threadIdx.x % 32 == 0)
				atomicMin(&boxes[label * 4 + k], least);
		}
	}
	__syncthreads();
	if (boxes[threadIdx.x] != NOTHING)
		atomicMin(&out[threadIdx.x], boxes[threadIdx.x]);
}

/* ------------------------------------------------------------------------------ lanes */

/* Each of four channels has a sound of its own. */
__device__ static inline float shape(float v, int channel, int turns)
{
	switch (channel) {
	case 0:
		for (int k = 0; k < turns; k++)
			v = __fdividef(v * 1.2f, 1.0f + fabsf(v));
		break;
	case 1:
		for (int k = 0; k < turns; k++)
			v = __sinf(1.6f * v);
		break;
	case 2:
		for (int k = 0; k < turns; k++)
			v = copysignf(__logf(1.0f + 2.0f * fabsf(v)), v);
		break;
	default:
		for (int k = 0; k < turns; k++)
			v = v * (1.5f - 0.5f * v * v);
	}
	return v;
}

/* Samples of four channels side by side: neighbouring lanes have different channels. */
KERNEL shaper_frames(float *out, const float *in, int turns)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = shape(in[i], i % 4, turns);
}

/* Each of four warps takes one channel of their 32 frames. */
KERNEL shaper_channels(float *out, const float *in, int turns)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, channel = i / 32 % 4;
	const int at = i / 128 * 128 + i % 32 * 4 + channel;

	out[at] = shape(in[at], channel, turns);
}

/* Where a planet is on its ellipse, from the time since it was closest: six steps of Newton. */
KERNEL kepler_double(float *out, const float *time, const float *shape)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	double mean = 3.14159265358979 * time[i], e = 0.3 + 0.3 * shape[i], at = mean;

	for (int k = 0; k < 6; k++)
		at -= (at - e * sin(at) - mean) / (1 - e * cos(at));
	out[i] = at;
}

KERNEL kepler_float(float *out, const float *time, const float *shape)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float mean = 3.14159265358979f * time[i], e = 0.3f + 0.3f * shape[i], at = mean;

	for (int k = 0; k < 6; k++)
		at -= (at - e * sinf(at) - mean) / (1 - e * cosf(at));
	out[i] = at;
}

#define TAPS 32

__constant__ float taps[TAPS];

/* Filters many channels, a thread for each; the last samples are in a ring. */
KERNEL delay_ring(float *__restrict__ out, const float *__restrict__ in, int n, int samples)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float ring[TAPS] = {};

	for (int t = 0; t < samples; t++) {
		float sum = 0.0f;

		ring[t % TAPS] = in[t * n + i];
		for (int k = 0; k < TAPS; k++)
			sum += taps[k] * ring[(t - k) & (TAPS - 1)];
		out[t * n + i] = sum;
	}
}

/* A turn of the ring without a loop: its places are registers. */
KERNEL delay_registers(float *__restrict__ out, const float *__restrict__ in, int n, int samples)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float ring[TAPS] = {};

	for (int t = 0; t < samples; t += TAPS) {
#pragma unroll
		for (int j = 0; j < TAPS; j++) {
			float sum = 0.0f;

			ring[j] = in[(t + j) * n + i];
#pragma unroll
			for (int k = 0; k < TAPS; k++)
				sum += taps[k] * ring[(j - k) & (TAPS - 1)];
			out[(t + j) * n + i] = sum;
		}
	}
}

/* ------------------------------------------------------------------------------ chains */

#define STARTS 4

/* x^2 + 1 modulo n, without a division; inverse is that of -n modulo 2^32. */
__device__ static inline unsigned rho_step(unsigned x, unsigned n, unsigned inverse)
{
	unsigned long long square = (unsigned long long)x * x;

	x = (unsigned)((square + (unsigned long long)((unsigned)square * inverse) * n) >> 32);
	x = (x >= n ? x - n : x) + 1;
	return x >= n ? x - n : x;
}

__device__ static inline unsigned rho_inverse(unsigned n)
{
	unsigned inverse = n;

	for (int k = 0; k < 5; k++)
		inverse *= 2u - n * inverse;
	return 0u - inverse;
}

/* The sequences in which the factors of numbers are looked for, four for each thread. */
template <int AT_ONCE> __device__ static inline void rho(float *out, int steps)
{
	const int first = blockIdx.x * STARTS * blockDim.x + threadIdx.x;

	for (int k = 0; k < STARTS; k += AT_ONCE) {
		unsigned n[AT_ONCE], inverse[AT_ONCE], x[AT_ONCE];

		for (int j = 0; j < AT_ONCE; j++) {
			n[j] = (pairs_hash(first + (k + j) * blockDim.x) >> 1) | 0x40000001u;
			inverse[j] = rho_inverse(n[j]);
			x[j] = 2;
		}
		for (int s = 0; s < steps; s++)
			for (int j = 0; j < AT_ONCE; j++)
				x[j] = rho_step(x[j], n[j], inverse[j]);
		for (int j = 0; j < AT_ONCE; j++)
			out[first + (k + j) * blockDim.x] = __uint_as_float(x[j]);
	}
}

KERNEL rho_in_turn(float *out, int steps)
{
	rho<1>(out, steps);
}

KERNEL rho_together(float *out, int steps)
{
	rho<STARTS>(out, steps);
}

#define STATES 16384

__global__ void draw_automaton(unsigned *next)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	next[i] = pairs_hash(i) % STATES;
}

/* Runs an automaton over four texts for each thread; four letters are a word. */
template <int AT_ONCE>
__device__ static inline void automaton(float *out, const unsigned *next, const unsigned *text,
					int words)
{
	const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < STARTS; k += AT_ONCE) {
		unsigned state[AT_ONCE] = {}, letters[AT_ONCE];

		for (int w = 0; w < words; w++) {
			for (int j = 0; j < AT_ONCE; j++)
				letters[j] = text[(w * STARTS + k + j) * n + i];
			for (int l = 0; l < 32; l += 8)
				for (int j = 0; j < AT_ONCE; j++)
					state[j] = next[state[j] * 256 + (letters[j] >> l) % 256];
		}
		for (int j = 0; j < AT_ONCE; j++)
			out[(k + j) * n + i] = (float)state[j];
	}
}

KERNEL automaton_in_turn(float *out, const unsigned *next, const unsigned *text, int words)
{
	automaton<1>(out, next, text, words);
}

KERNEL automaton_together(float *out, const unsigned *next, const unsigned *text, int words)
{
	automaton<STARTS>(out, next, text, words);
}

/* ------------------------------------------------------------------------------ reuse */

#define DETECTORS 4096

__global__ void draw_ways(float2 *ways)
{
	float angle = threadIdx.x * (3.14159265f / blockDim.x);

	ways[threadIdx.x] = make_float2(cosf(angle), sinf(angle));
}

/* What the detectors saw from one angle at this point of the image. */
__device__ static inline float seen(const float *in, const float2 *ways, int k)
{
	const float x =
		(int)(blockIdx.x * blockDim.x + threadIdx.x) - (int)(gridDim.x * blockDim.x / 2);
	const float y = (int)blockIdx.y - (int)(gridDim.y / 2);

	return in[k * DETECTORS + DETECTORS / 2 + (int)floorf(fmaf(x, ways[k].x, y * ways[k].y))];
}

/* Back to an image from what was seen from all sides: the sum is in memory. */
KERNEL project_memory(float *out, const float *in, const float2 *ways, int angles)
{
	const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;

	out[i] = 0.0f;
	for (int k = 0; k < angles; k++)
		out[i] += seen(in, ways, k);
}

KERNEL project_register(float *out, const float *in, const float2 *ways, int angles)
{
	const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	float sum = 0.0f;

	for (int k = 0; k < angles; k++)
		sum += seen(in, ways, k);
	out[i] = sum;
}

/* Distances between all points of two sets as streets go: one for each thread. */
KERNEL manhattan_one(float *out, const float *a, const float *b, int n, int sizes)
{
	__shared__ float p[16][17], q[16][17];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int i = blockIdx.y * 16 + ty, j = blockIdx.x * 16;
	float sum = 0.0f;

	for (int first = 0; first < sizes; first += 16) {
		p[ty][tx] = a[i * sizes + first + tx];
		q[ty][tx] = b[(j + ty) * sizes + first + tx];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++)
			sum += fabsf(p[ty][k] - q[tx][k]);
		__syncthreads();
	}
	out[i * n + j + tx] = sum;
}

/* Eight by eight for each thread, from registers. */
KERNEL __launch_bounds__(256)
	manhattan_block(float *out, const float *a, const float *b, int n, int sizes)
{
	__shared__ float p[16][129], q[16][129];
	const int tx = threadIdx.x, ty = threadIdx.y;
	const int i = blockIdx.y * 128 + ty, j = blockIdx.x * 128;
	float sum[8][8] = {};

	for (int first = 0; first < sizes; first += 16) {
#pragma unroll
		for (int r = 0; r < 128; r += 16) {
			p[tx][ty + r] = a[(i + r) * sizes + first + tx];
			q[tx][ty + r] = b[(j + ty + r) * sizes + first + tx];
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++) {
#pragma unroll
			for (int c = 0; c < 64; c++)
				sum[c / 8][c % 8] +=
					fabsf(p[k][ty + c / 8 * 16] - q[k][tx + c % 8 * 16]);
		}
		__syncthreads();
	}
#pragma unroll
	for (int c = 0; c < 64; c++)
		out[(i + c / 8 * 16) * n + j + tx + c % 8 * 16] = sum[c / 8][c % 8];
}

/* ------------------------------------------------------------------------------ launches */

/* A pair whose launches look the same. */
#define ALIKE(p, words, tolerance, bad, good, grid, block, ...)              \
	pair(                                                                \
		p, #bad, words, tolerance,                                   \
		[=](float *out) { bad<<<grid, block>>>(out, __VA_ARGS__); }, \
		[=](float *out) { good<<<grid, block>>>(out, __VA_ARGS__); })

static void memory(struct pairs *p)
{
	const float *in = p->in;
	unsigned char *a, *b;

	ALIKE(p, 4096, 1e-4f, likelihood_chunks, likelihood_strides, 4096, 256, in, 64);
	ALIKE(p, 131072 * 512, 1e-4f, paths_rows, paths_tiles, 512, 32 * WARPS, 512);
	CHECK(cudaMalloc(&a, BIG / 2));
	CHECK(cudaMalloc(&b, BIG / 2));
	draw_strands<<<(unsigned)(BIG / 2 / 256), 256>>>(a, b);
	pair(
		p, "bases", 32768, 0.0f,
		[=](float *out) { bases_single<<<4096, 256>>>(out, a, b, 4096, 64); },
		[=](float *out) {
			bases_sixteen<<<4096, 256>>>(out, (uint4 *)a, (uint4 *)b, 4096, 64);
		});
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
}

static void grids(struct pairs *p)
{
	const float *in = p->in;
	const unsigned *key = (unsigned *)p->in2;
	const int sms = p->sms, parts = 16384;
	unsigned *build, *probe;

	pair(
		p, "heat", 256 * 256 * 512, 1e-5f,
		[=](float *out) { heat_column<<<dim3(8, 8), dim3(32, 32)>>>(out, in, 512); },
		[=](float *out) { heat_pieces<<<dim3(8, 8, 16), dim3(32, 32)>>>(out, in, 512); });
	pair(
		p, "cipher", 3600 * 1024, 0.0f,
		[=](float *out) { cipher_ranges<<<150, 1024>>>(out, key, 24); },
		[=](float *out) { cipher_turns<<<sms, 1024>>>(out, key, 3600); });
	CHECK(cudaMalloc(&build, parts * BUILD * 4));
	CHECK(cudaMalloc(&probe, parts * PROBES * 4));
	draw_keys<<<parts, BUILD>>>(build, probe);
	CHECK(cudaFuncSetAttribute(join_roomy, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	pair(
		p, "join", parts * PROBES, 0.0f,
		[=](float *out) { join_roomy<<<parts, 128, 65536>>>(out, build, in, probe, 8192); },
		[=](float *out) { join_tight<<<parts, 128, 8192>>>(out, build, in, probe, 1024); });
	CHECK(cudaFree(build));
	CHECK(cudaFree(probe));
}

static void shared(struct pairs *p)
{
	const float *in = p->in;
	const unsigned long long *x = (unsigned long long *)p->in,
				 *y = (unsigned long long *)p->in2;
	const dim3 pixels(WIDTH / 256, HEIGHT), stripes(WIDTH / 256, HEIGHT / ROWS);
	unsigned char *labels;

	ALIKE(p, 131072, 0.0f, edit_rows, edit_columns, 131072 / EDITORS, EDITORS, x, y, LONGEST);
	ALIKE(p, 4096 * 4096, 1e-3f, integral_steps, integral_warps, 4096, 1024, in, 4096);
	CHECK(cudaMalloc(&labels, WIDTH * HEIGHT));
	draw_labels<<<pixels, 256>>>(labels);
	pair(
		p, "boxes", LABELS * 4, 0.0f,
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0x7f, LABELS * 16));
			boxes_pixel<<<pixels, 256>>>((unsigned *)out, labels);
		},
		[=](float *out) {
			CHECK(cudaMemsetAsync(out, 0x7f, LABELS * 16));
			boxes_block<<<stripes, 256>>>((unsigned *)out, labels);
		});
	CHECK(cudaFree(labels));
}

static void lanes(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	float weights[TAPS];

	ALIKE(p, 8388608, 1e-4f, shaper_frames, shaper_channels, 32768, 256, in, 32);
	ALIKE(p, 4194304, 1e-4f, kepler_double, kepler_float, 16384, 256, in, in2);
	for (int k = 0; k < TAPS; k++)
		weights[k] = 1.0f / (k + 2);
	CHECK(cudaMemcpyToSymbol(taps, weights, sizeof weights));
	ALIKE(p, 131072 * 256, 1e-4f, delay_ring, delay_registers, 512, 256, in, 131072, 256);
}

static void chains(struct pairs *p)
{
	const unsigned *text = (unsigned *)p->in;
	const int sms = p->sms;
	unsigned *next;

	ALIKE(p, sms * 128 * STARTS, 0.0f, rho_in_turn, rho_together, sms, 128, 4096);
	CHECK(cudaMalloc(&next, STATES * 256 * 4));
	draw_automaton<<<STATES, 256>>>(next);
	ALIKE(p, sms * 64 * STARTS, 0.0f, automaton_in_turn, automaton_together, sms, 64, next,
	      text, 64);
	CHECK(cudaFree(next));
}

static void reuse(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const dim3 image(8, 2048), square(16, 16), each(128, 128);
	float2 *ways;

	CHECK(cudaMalloc(&ways, 64 * 8));
	draw_ways<<<1, 64>>>(ways);
	ALIKE(p, 2048 * 2048, 1e-4f, project_memory, project_register, image, 256, in, ways, 64);
	CHECK(cudaFree(ways));
	pair(
		p, "manhattan", 2048 * 2048, 1e-4f,
		[=](float *out) { manhattan_one<<<each, square>>>(out, in, in2, 2048, 256); },
		[=](float *out) { manhattan_block<<<square, square>>>(out, in, in2, 2048, 256); });
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	memory(&p);
	grids(&p);
	shared(&p);
	lanes(&p);
	chains(&p);
	reuse(&p);
	return p.failed;
}
