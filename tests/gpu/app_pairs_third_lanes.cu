/*
 * app_pairs_third_lanes.cu - third set of pairs with one fault each and its cure, as people write them:
 * what threads do by themselves: divergence, precision, local memory, chains. Both of a pair compute
 * the same, which is checked (pairs.h). No output; usage: app_pairs_third_lanes
 */
#include "pairs.h"

/* ------------------------------------------------------------------------------ divergence */

/* One flight of a particle between two collisions; false when the second one ends it. */
__device__ static inline bool fly(unsigned particle, unsigned flight, float *depth, float *cosine)
{
	unsigned length = pairs_hash(particle * 0x9e3779b9u + flight), turn = pairs_hash(length);

	*depth += *cosine * -__logf(((float)(length >> 8) + 1.0f) * (1.0f / (1 << 24)));
	*cosine = (float)(turn >> 8) * (1.0f / (1 << 23)) - 1.0f;
	return turn % 24 != 0;
}

/* How deep particles get: each lane waits until the particles of its neighbours have ended, too. */
extern "C" __global__ void particles_nested(float *out, int n)
{
	const int threads = gridDim.x * blockDim.x;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
		float depth = 0.0f, cosine = 1.0f;
		unsigned flight = 0;

		while (fly(i, flight, &depth, &cosine))
			flight++;
		out[i] = depth;
	}
}

/* A lane whose particle has ended goes on with its next one at once. */
extern "C" __global__ void particles_merged(float *out, int n)
{
	const int threads = gridDim.x * blockDim.x;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float depth = 0.0f, cosine = 1.0f;
	unsigned flight = 0;

	while (i < n) {
		bool more = fly(i, flight, &depth, &cosine);

		flight++;
		if (!more) {
			out[i] = depth;
			i += threads;
			depth = 0.0f;
			cosine = 1.0f;
			flight = 0;
		}
	}
}

/* ------------------------------------------------------------------------------ precision */

#define PI 3.14159265358979323846

/* Distance on the unit sphere; positions are in half turns. */
extern "C" __global__ void haversine_double(float *out, const float *places, const float *others,
					    int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float lat = places[i] * PI / 2, lat2 = others[i] * PI / 2;
	float lon = places[n + i] * PI, lon2 = others[n + i] * PI;
	float h = pow(sin((lat2 - lat) / 2.0), 2.0) +
		  cos((double)lat) * cos((double)lat2) * pow(sin((lon2 - lon) / 2.0), 2.0);

	out[i] = 2.0 * asin(fmin(1.0, sqrt((double)h)));
}

extern "C" __global__ void haversine_float(float *out, const float *places, const float *others,
					   int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float lat = places[i] * (float)PI / 2, lat2 = others[i] * (float)PI / 2;
	float lon = places[n + i] * (float)PI, lon2 = others[n + i] * (float)PI;
	float by_lat = sinf((lat2 - lat) / 2.0f), by_lon = sinf((lon2 - lon) / 2.0f);
	float h = by_lat * by_lat + cosf(lat) * cosf(lat2) * by_lon * by_lon;

	out[i] = 2.0f * asinf(fminf(1.0f, sqrtf(h)));
}

/* ------------------------------------------------------------------------------ local memory */

#define ORDER 8

/* Cholesky factors of small matrices; how small is known at run time. */
extern "C" __global__ void cholesky_any(float *out, const float *in, int batch, int order)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float a[ORDER][ORDER];
	int k = 0;

	for (int i = 0; i < order; i++)
		for (int j = 0; j <= i; j++)
			a[i][j] = in[k++ * batch + me] + (i == j ? 10.0f : 0.0f);
	for (int j = 0; j < order; j++) {
		float over = rsqrtf(a[j][j]);

		for (int i = j; i < order; i++)
			a[i][j] *= over;
		for (int i = j + 1; i < order; i++)
			for (int l = j + 1; l <= i; l++)
				a[i][l] -= a[i][j] * a[l][j];
	}
	k = 0;
	for (int i = 0; i < order; i++)
		for (int j = 0; j <= i; j++)
			out[k++ * batch + me] = a[i][j];
}

/* All indices are known when this is compiled. */
extern "C" __global__ void cholesky_eight(float *out, const float *in, int batch)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float a[ORDER][ORDER];

#pragma unroll
	for (int i = 0; i < ORDER; i++)
#pragma unroll
		for (int j = 0; j < ORDER; j++)
			if (j <= i)
				a[i][j] = in[(i * (i + 1) / 2 + j) * batch + me] +
					  (i == j ? 10.0f : 0.0f);
#pragma unroll
	for (int j = 0; j < ORDER; j++) {
		float over = rsqrtf(a[j][j]);

#pragma unroll
		for (int i = 0; i < ORDER; i++)
			if (i >= j)
				a[i][j] *= over;
#pragma unroll
		for (int i = 0; i < ORDER; i++)
#pragma unroll
			for (int l = 0; l < ORDER; l++)
				if (l > j && l <= i)
					a[i][l] -= a[i][j] * a[l][j];
	}
#pragma unroll
	for (int i = 0; i < ORDER; i++)
#pragma unroll
		for (int j = 0; j < ORDER; j++)
			if (j <= i)
				out[(i * (i + 1) / 2 + j) * batch + me] = a[i][j];
}

/* Cosine of so many parts of 32 of a turn. */
__device__ static constexpr float cosine(int part)
{
	constexpr float quarter[9] = {1.0f,        0.98078528f, 0.92387953f,
				      0.83146961f, 0.70710678f, 0.55557023f,
				      0.38268343f, 0.19509032f, 0.0f};

	part %= 32;
	part = part > 16 ? 32 - part : part;
	return part <= 8 ? quarter[part] : -quarter[16 - part];
}

/* Cosine transform of eight words that are `step` apart. */
__device__ static inline void dct8(float *v, int step)
{
	float sum[4], difference[4];

#pragma unroll
	for (int k = 0; k < 4; k++) {
		sum[k] = v[k * step] + v[(7 - k) * step];
		difference[k] = v[k * step] - v[(7 - k) * step];
	}
#pragma unroll
	for (int u = 0; u < 8; u++) {
		float s = 0.0f;

#pragma unroll
		for (int k = 0; k < 4; k++)
			s += (u % 2 ? difference[k] : sum[k]) * cosine((2 * k + 1) * u);
		v[u * step] = 0.5f * s;
	}
}

/* A thread for each square of 8 x 8: rows, then columns. */
__device__ static inline void dct(float *out, const float *in, int squares)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float v[64];

#pragma unroll
	for (int k = 0; k < 64; k++)
		v[k] = in[k * squares + me];
#pragma unroll
	for (int k = 0; k < 8; k++)
		dct8(v + 8 * k, 1);
#pragma unroll
	for (int k = 0; k < 8; k++)
		dct8(v + k, 8);
#pragma unroll
	for (int k = 0; k < 64; k++)
		out[k * squares + me] = v[k];
}

extern "C" __global__ void __launch_bounds__(512, 4)
	dct_full(float *out, const float *in, int squares)
{
	dct(out, in, squares);
}

extern "C" __global__ void __launch_bounds__(512, 1)
	dct_roomy(float *out, const float *in, int squares)
{
	dct(out, in, squares);
}

/* ------------------------------------------------------------------------------ chains */

#define STATES 4096

__device__ static inline void add_state(float *most, float *sum, float x)
{
	float next = fmaxf(*most, x);

	*sum = *sum * __expf(*most - next) + __expf(x - next);
	*most = next;
}

__device__ static inline void bring_states(float *energy, const float *in)
{
	for (int k = threadIdx.x; k < STATES; k += blockDim.x)
		energy[k] = in[blockIdx.x * STATES + k];
	__syncthreads();
}

/* Logarithm of the partition function at 128 temperatures, in one pass that cannot overflow. */
extern "C" __global__ void partition_chain(float *out, const float *in)
{
	__shared__ float energy[STATES];
	const float minus_beta = -0.25f * (float)(threadIdx.x + 1);
	float most = -1e30f, sum = 0.0f;

	bring_states(energy, in);
	for (int k = 0; k < STATES; k++)
		add_state(&most, &sum, minus_beta * energy[k]);
	out[blockIdx.x * 128 + threadIdx.x] = most + __logf(sum);
}

extern "C" __global__ void partition_four(float *out, const float *in)
{
	__shared__ float energy[STATES];
	const float minus_beta = -0.25f * (float)(threadIdx.x + 1);
	float most[4] = {-1e30f, -1e30f, -1e30f, -1e30f}, sum[4] = {}, all, total = 0.0f;

	bring_states(energy, in);
	for (int k = 0; k < STATES; k += 4)
#pragma unroll
		for (int j = 0; j < 4; j++)
			add_state(&most[j], &sum[j], minus_beta * energy[k + j]);
	all = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
#pragma unroll
	for (int j = 0; j < 4; j++)
		total += sum[j] * __expf(most[j] - all);
	out[blockIdx.x * 128 + threadIdx.x] = all + __logf(total);
}

#define TREES    64
#define LEVELS   10
#define LEAVES   (1 << LEVELS)
#define FEATURES 32

struct split {
	unsigned feature;
	float level;
};

/* Trees one behind the other; nodes 2 k + 1 and 2 k + 2 are below node k. */
extern "C" __global__ void grow(struct split *splits)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = pairs_hash(i ^ 0x1234567u);

	splits[i].feature = h % FEATURES;
	splits[i].level = (float)(h >> 8) * (1.0f / (1 << 24)) - 0.5f;
}

/* What 64 trees say about a sample: one tree after the other, from the root to a leaf. */
extern "C" __global__ void forest_in_turn(float *out, const struct split *splits,
					  const float *leaves, const float *samples, int n)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0.0f;

#pragma unroll 1
	for (int t = 0; t < TREES; t++) {
		int node = 0;

		for (int level = 0; level < LEVELS; level++) {
			struct split s = splits[t * LEAVES + node];

			node = 2 * node + (samples[s.feature * n + me] < s.level ? 1 : 2);
		}
		sum += leaves[t * LEAVES + node - (LEAVES - 1)];
	}
	out[me] = sum;
}

/* Eight trees side by side. */
extern "C" __global__ void forest_together(float *out, const struct split *splits,
					   const float *leaves, const float *samples, int n)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0.0f;

#pragma unroll 1
	for (int t = 0; t < TREES; t += 8) {
		int node[8] = {};

#pragma unroll 1
		for (int level = 0; level < LEVELS; level++) {
			struct split s[8];

#pragma unroll
			for (int j = 0; j < 8; j++)
				s[j] = splits[(t + j) * LEAVES + node[j]];
#pragma unroll
			for (int j = 0; j < 8; j++)
				node[j] = 2 * node[j] +
					  (samples[s[j].feature * n + me] < s[j].level ? 1 : 2);
		}
#pragma unroll
		for (int j = 0; j < 8; j++)
			sum += leaves[(t + j) * LEAVES + node[j] - (LEAVES - 1)];
	}
	out[me] = sum;
}

/* ------------------------------------------------------------------------------ all of them */

static void lanes(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int blocks = 8 * p->sms, particles = blocks * 256 * 16, pairs_of_places = 1 << 23;

	pair(
		p, "particles", particles, 1e-4f,
		[=](float *out) { particles_nested<<<blocks, 256>>>(out, particles); },
		[=](float *out) { particles_merged<<<blocks, 256>>>(out, particles); });
	pair(
		p, "haversine", pairs_of_places, 2e-3f,
		[=](float *out) {
			haversine_double<<<pairs_of_places / 256, 256>>>(out, in, in2,
									 pairs_of_places);
		},
		[=](float *out) {
			haversine_float<<<pairs_of_places / 256, 256>>>(out, in, in2,
									pairs_of_places);
		});
}

static void local_memory(struct pairs *p)
{
	const float *in = p->in;
	const int batch = 1 << 19, squares = 1 << 20;

	pair(
		p, "cholesky", batch * 36ll, 1e-4f,
		[=](float *out) { cholesky_any<<<batch / 128, 128>>>(out, in, batch, ORDER); },
		[=](float *out) { cholesky_eight<<<batch / 128, 128>>>(out, in, batch); });
	pair(
		p, "dct", squares * 64ll, 1e-4f,
		[=](float *out) { dct_full<<<squares / 512, 512>>>(out, in, squares); },
		[=](float *out) { dct_roomy<<<squares / 512, 512>>>(out, in, squares); });
}

static void chains(struct pairs *p)
{
	const float *in = p->in, *in2 = p->in2;
	const int sms = p->sms, n = sms * 128;
	struct split *splits;

	pair(
		p, "partition", n, 1e-4f,
		[=](float *out) { partition_chain<<<sms, 128>>>(out, in); },
		[=](float *out) { partition_four<<<sms, 128>>>(out, in); });
	CHECK(cudaMalloc(&splits, sizeof(*splits) * TREES * LEAVES));
	grow<<<TREES * LEAVES / 256, 256>>>(splits);
	pair(
		p, "forest", n, 1e-5f,
		[=](float *out) { forest_in_turn<<<sms, 128>>>(out, splits, in2, in, n); },
		[=](float *out) { forest_together<<<sms, 128>>>(out, splits, in2, in, n); });
	CHECK(cudaFree(splits));
}

int main()
{
	struct pairs p;

	pairs_start(&p);
	lanes(&p);
	local_memory(&p);
	chains(&p);
	return p.failed;
}
