/*
 * sample.h - what every sample program shares: error checks, a deterministic input, a launch
 * counter and the closing line. A sample is one kernel with one known bottleneck (or its cure);
 * its head comment says which. All kernels take (out, in, n), so that samples/demo.c can launch
 * the prebuilt cubins without knowing more.
 *
 *   usage: NAME [REPEATS]        prints "NAME checksum HEX launches N"
 */
#ifndef KBN_SAMPLE_H
#define KBN_SAMPLE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define SAMPLE_CHECK(call)                                                                 \
	do {                                                                               \
		cudaError_t sample_err_ = (call);                                          \
		if (sample_err_ != cudaSuccess) {                                          \
			std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				     cudaGetErrorString(sample_err_));                     \
			std::exit(1);                                                      \
		}                                                                          \
	} while (0)

/* Contents of the input buffer. */
enum sample_fill {
	SAMPLE_FLOATS, /* floats in [0.5, 1.5), never zero: zeros can run faster than real data */
	SAMPLE_HALVES, /* fp16 in [0.5, 1), two per word */
	SAMPLE_CHAIN,  /* word i holds the index of the next word: one cycle over all words */
};

struct sample {
	uint32_t *in, *out; /* device, `words` words each */
	uint32_t words;
	int repeats;
	int launches; /* successful launches so far */
	int sms;
};

/* Launch, count and check; (s, kernel, grid, block, dynamic shared bytes, arguments...). */
#define SAMPLE_LAUNCH(s, kernel, grid, block, smem, ...)          \
	do {                                                      \
		kernel<<<(grid), (block), (smem)>>>(__VA_ARGS__); \
		SAMPLE_CHECK(cudaGetLastError());                 \
		(s).launches++;                                   \
	} while (0)

/* A cheap integer mix: deterministic on every machine. */
static inline uint32_t sample_mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

static inline uint32_t sample_word(enum sample_fill fill, uint32_t i, uint32_t words)
{
	union {
		float f;
		uint32_t u;
	} v;

	switch (fill) {
	case SAMPLE_HALVES: return (sample_mix(i) & 0x03ff03ffu) | 0x38003800u;
	case SAMPLE_CHAIN: /* an odd step visits every word of a power-of-two buffer once */
		return (i + 0x9e3779b1u) & (words - 1u);
	case SAMPLE_FLOATS:
	default: v.f = 0.5f + (float)(sample_mix(i) >> 8) * (1.0f / 16777216.0f); return v.u;
	}
}

/* Allocate and fill; `words` is a power of two. argv[1], when given, is the number of repeats. */
static inline struct sample sample_begin(int argc, char **argv, uint32_t words,
					 enum sample_fill fill)
{
	struct sample s = {};
	size_t bytes = (size_t)words * sizeof(uint32_t);
	uint32_t *host = (uint32_t *)std::malloc(bytes);
	int device;

	if (!host)
		std::exit(1);
	for (uint32_t i = 0; i < words; i++)
		host[i] = sample_word(fill, i, words);
	s.words = words;
	s.repeats = argc > 1 ? std::atoi(argv[1]) : 50;
	SAMPLE_CHECK(cudaGetDevice(&device));
	SAMPLE_CHECK(cudaDeviceGetAttribute(&s.sms, cudaDevAttrMultiProcessorCount, device));
	SAMPLE_CHECK(cudaMalloc((void **)&s.in, bytes));
	SAMPLE_CHECK(cudaMalloc((void **)&s.out, bytes));
	SAMPLE_CHECK(cudaMemcpy(s.in, host, bytes, cudaMemcpyHostToDevice));
	SAMPLE_CHECK(cudaMemset(s.out, 0, bytes));
	std::free(host);
	return s;
}

/* Wait, hash the output (FNV-1a), print the closing line, free. The program's exit status. */
static inline int sample_end(struct sample *s, const char *name)
{
	size_t bytes = (size_t)s->words * sizeof(uint32_t);
	uint32_t *host = (uint32_t *)std::malloc(bytes);
	uint64_t sum = 0xcbf29ce484222325ull;

	if (!host)
		return 1;
	SAMPLE_CHECK(cudaDeviceSynchronize());
	SAMPLE_CHECK(cudaMemcpy(host, s->out, bytes, cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < s->words; i++)
		sum = (sum ^ host[i]) * 0x100000001b3ull;
	std::free(host);
	SAMPLE_CHECK(cudaFree(s->in));
	SAMPLE_CHECK(cudaFree(s->out));
	std::printf("%s checksum %016llx launches %d\n", name, (unsigned long long)sum,
		    s->launches);
	return 0;
}

/*
 * The most dynamic shared memory with which two blocks still fit an SM: half of the SM's shared
 * memory less the part the system reserves in each block (H200: 115,712; RTX 3070 Ti: 50,176).
 */
static inline int sample_cliff_bytes(void)
{
	int device, sm_bytes, reserved;

	SAMPLE_CHECK(cudaGetDevice(&device));
	SAMPLE_CHECK(cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
					    device));
	SAMPLE_CHECK(
		cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
	return sm_bytes / 2 - reserved;
}

#endif
