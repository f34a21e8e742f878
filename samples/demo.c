/*
 * demo.c - a small workload with known faults: loads the prebuilt device code of the sample pairs
 * through the driver API and launches each kernel many times. Runs on any NVIDIA GPU of an
 * architecture in tests/golden/cubin/ and on the stand-in driver, which executes no code (the
 * checksum is then not printed). Needs no toolkit: libcuda.so.1 is opened at run time.
 *
 *   demo [-d DIRECTORY] [-n REPEATS] [NAME...]     last line: "demo checksum HEX launches N"
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kbn_cuda.h"

#define DRIVER_FUNCTIONS(X)             \
	X(cuInit)                       \
	X(cuGetErrorName)               \
	X(cuDeviceGet)                  \
	X(cuDeviceGetName)              \
	X(cuDeviceGetAttribute)         \
	X(cuDevicePrimaryCtxRetain)     \
	X(cuDevicePrimaryCtxRelease_v2) \
	X(cuCtxSetCurrent)              \
	X(cuCtxSynchronize)             \
	X(cuModuleLoadData)             \
	X(cuModuleGetFunction)          \
	X(cuModuleUnload)               \
	X(cuFuncSetAttribute)           \
	X(cuMemAlloc_v2)                \
	X(cuMemFree_v2)                 \
	X(cuMemcpyHtoD_v2)              \
	X(cuMemcpyDtoH_v2)              \
	X(cuMemsetD8_v2)                \
	X(cuLaunchKernel)

static struct {
#define DRIVER_POINTER(name) __typeof__(name) *name;
	DRIVER_FUNCTIONS(DRIVER_POINTER)
#undef DRIVER_POINTER
} driver;

/* Numbers of the driver interface, by their documented values. */
#define ATTR_SMS              16
#define ATTR_CC_MAJOR         75
#define ATTR_CC_MINOR         76
#define ATTR_THREADS_PER_SM   39
#define ATTR_SMEM_PER_SM      81
#define ATTR_SMEM_RESERVED    111
#define FUNC_MAX_DYNAMIC_SMEM 8

#define WORDS (1u << 22) /* that are filled, cleared and hashed */
#define BIG   (1u << 25) /* of the input and of the output buffer: more than a cache holds */

enum fill { FLOATS, HALVES, CHAIN };
enum smem { NO_SMEM, AT_CLIFF, PAST_CLIFF };

#define FULL 0xffu /* per_sm: as many as the threads of an SM allow */

/* A grid side is `grid` blocks plus `per_sm` blocks for each SM. */
struct demo_kernel {
	const char *file, *symbol;
	enum fill fill;
	int n;
	unsigned grid_x, grid_y, per_sm;
	unsigned block_x, block_y;
	enum smem smem;
	int repeats;
};

/* clang-format off */
static const struct demo_kernel kernels[] = {
	/* file                symbol                        fill    n        gx     gy   /SM  bx  by  smem        times */
	{"uncoalesced_bad",    "uncoalesced_bad",            FLOATS, WORDS,   16384, 1,   0,   256, 1, NO_SMEM,    100},
	{"uncoalesced_good",   "uncoalesced_good",           FLOATS, WORDS,   16384, 1,   0,   256, 1, NO_SMEM,    100},
	{"bank_conflict_bad",  "bank_conflict_bad",          FLOATS, 2048,    64,    64,  0,   32,  8, NO_SMEM,    100},
	{"bank_conflict_good", "bank_conflict_good",         FLOATS, 2048,    64,    64,  0,   32,  8, NO_SMEM,    100},
	{"spill_bad",          "spill_bad",                  FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"spill_good",         "spill_good",                 FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"smem_cliff_bad",     "smem_cliff_bad",             FLOATS, WORDS,   0,     1,   2,   256, 1, PAST_CLIFF, 60},
	{"smem_cliff_good",    "smem_cliff_good",            FLOATS, WORDS,   0,     1,   2,   256, 1, AT_CLIFF,   60},
	{"tiny_grid_bad",      "tiny_grid_bad",              FLOATS, WORDS,   8,     1,   0,   256, 1, NO_SMEM,    40},
	{"tiny_grid_good",     "tiny_grid_good",             FLOATS, WORDS,   4096,  1,   0,   256, 1, NO_SMEM,    40},
	{"tail_bad",           "tail_bad",                   FLOATS, 1 << 20, 1,     1,   FULL, 256, 1, NO_SMEM,    100},
	{"tail_good",          "tail_good",                  FLOATS, 1 << 20, 0,     1,   FULL, 256, 1, NO_SMEM,    100},
	{"divergent_bad",      "divergent_bad",              FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    100},
	{"divergent_good",     "divergent_good",             FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    100},
	{"pointer_chase_bad",  "pointer_chase_bad",          CHAIN,  WORDS,   0,     1,   1,   128, 1, NO_SMEM,    60},
	{"pointer_chase_good", "pointer_chase_good",         CHAIN,  WORDS,   0,     1,   1,   128, 1, NO_SMEM,    60},
	{"ffma_peak_bad",      "_Z9ffma_peakILi1EEvPfPKfi",  FLOATS, 1 << 20, 0,     1,   1,   128, 1, NO_SMEM,    200},
	{"ffma_peak_good",     "_Z9ffma_peakILi8EEvPfPKfi",  FLOATS, 1 << 20, 0,     1,   1,   128, 1, NO_SMEM,    200},
	{"memory_stream_bad",  "memory_stream_bad",          FLOATS, BIG,     0,     1,   4,   256, 1, NO_SMEM,    100},
	{"memory_stream_good", "memory_stream_good",         FLOATS, BIG,     0,     1,   8,   256, 1, NO_SMEM,    100},
	{"gemm_bad",           "gemm_bad",                   HALVES, 1024,    64,    64,  0,   16, 16, NO_SMEM,    30},
	{"gemm_good",          "gemm_good",                  HALVES, 1024,    8,     16,  0,   128, 1, NO_SMEM,    30},
	{"tensor_bad",         "tensor_bad",                 HALVES, 4096,    32,    32,  0,   256, 1, NO_SMEM,    30},
	{"tensor_good",        "tensor_good",                HALVES, 4096,    32,    32,  0,   256, 1, NO_SMEM,    30},
	{"fp64_leak_bad",      "fp64_leak_bad",              FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"fp64_leak_good",     "fp64_leak_good",             FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"atomic_bad",         "atomic_bad",                 FLOATS, 1 << 18, 1024,  1,   0,   256, 1, NO_SMEM,    60},
	{"atomic_good",        "atomic_good",                FLOATS, 1 << 18, 1024,  1,   0,   256, 1, NO_SMEM,    60},
	{"debug_bad",          "debug_bad",                  FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"debug_good",         "debug_good",                 FLOATS, 1 << 20, 4096,  1,   0,   256, 1, NO_SMEM,    60},
	{"launch_bound_bad",   "launch_bound_bad",           FLOATS, 4096,    16,    1,   0,   256, 1, NO_SMEM,    1024},
	{"launch_bound_good",  "launch_bound_good",          FLOATS, WORDS,   16384, 1,   0,   256, 1, NO_SMEM,    20},
	{"over_sync_bad",      "over_sync_bad",              FLOATS, WORDS,   0,     1,   4,   256, 1, NO_SMEM,    60},
	{"over_sync_good",     "over_sync_good",             FLOATS, WORDS,   0,     1,   4,   256, 1, NO_SMEM,    60},
	{"async_copy_bad",     "async_copy_bad",             FLOATS, BIG,     0,     1,   4,   256, 1, NO_SMEM,    60},
	{"async_copy_good",    "async_copy_good",            FLOATS, BIG,     0,     1,   4,   256, 1, NO_SMEM,    60},
	{"few_warps_bad",      "few_warps_bad",              FLOATS, WORDS,   0,     1,   32,  32,  1, NO_SMEM,    60},
	{"few_warps_good",     "few_warps_good",             FLOATS, WORDS,   0,     1,   32,  32,  1, NO_SMEM,    60},
	{"small_data_bad",     "small_data_bad",             FLOATS, 1 << 19, 0,     1,   8,   256, 1, NO_SMEM,    60},
	{"small_data_good",    "small_data_good",            FLOATS, BIG,     0,     1,   8,   256, 1, NO_SMEM,    60},
};
/* clang-format on */
#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

struct demo {
	const char *dir;
	int sm, sms, threads_per_sm;
	unsigned cliff_bytes; /* most dynamic shared memory with two blocks on an SM */
	int repeats;          /* 0 = each kernel's own */
	CUdeviceptr in, out;
	int filled; /* enum fill of the input buffer, -1 = none yet */
	uint32_t *host;
	uint64_t launches, sum;
};

static void die(const char *what)
{
	fprintf(stderr, "demo: %s\n", what);
	exit(1);
}

static void check(CUresult r, const char *what)
{
	const char *name = NULL;

	if (r == 0)
		return;
	if (driver.cuGetErrorName)
		driver.cuGetErrorName(r, &name);
	fprintf(stderr, "demo: %s: %s (%d)\n", what, name ? name : "error", (int)r);
	exit(1);
}
#define CALL(name, ...) check(driver.name(__VA_ARGS__), #name)

/* Opens the driver; returns true when it is the stand-in, which executes no device code. */
static bool driver_open(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		die("no libcuda.so.1: no NVIDIA driver here");
#define DRIVER_LOAD(name)                           \
	*(void **)&driver.name = dlsym(lib, #name); \
	if (!driver.name)                           \
		die("the driver lacks " #name);
	DRIVER_FUNCTIONS(DRIVER_LOAD)
#undef DRIVER_LOAD
	return dlsym(lib, "kbn_stand_in_driver") != NULL;
}

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

static uint32_t word(enum fill fill, uint32_t i)
{
	union {
		float f;
		uint32_t u;
	} v;

	if (fill == HALVES)
		return (mix(i) & 0x03ff03ffu) | 0x38003800u;
	if (fill == CHAIN)
		return (i + 0x9e3779b1u) & (WORDS - 1u);
	v.f = 0.5f + (float)(mix(i) >> 8) * (1.0f / 16777216.0f);
	return v.u;
}

static void fill_input(struct demo *d, enum fill fill)
{
	if (d->filled == (int)fill)
		return;
	d->filled = (int)fill;
	for (uint32_t i = 0; i < WORDS; i++)
		d->host[i] = word(fill, i);
	for (uint32_t at = 0; at < BIG; at += WORDS)
		CALL(cuMemcpyHtoD_v2, d->in + at * sizeof(uint32_t), d->host,
		     WORDS * sizeof(uint32_t));
}

/* The whole file, NUL-terminated; NULL when it cannot be read. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	long size;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
		data = calloc(1, (size_t)size + 1);
		if (data && fread(data, 1, (size_t)size, f) != (size_t)size) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

/* Device code runs on its own and on later minors of the same major architecture. */
static char *read_code(const struct demo *d, const char *name)
{
	char path[4096];
	char *code = NULL;

	for (int sm = d->sm; !code && sm >= d->sm / 10 * 10; sm--) {
		snprintf(path, sizeof(path), "%s/%s.sm_%d.cubin", d->dir, name, sm);
		code = read_file(path);
	}
	return code;
}

static void launch(struct demo *d, const struct demo_kernel *k)
{
	unsigned smem = k->smem == NO_SMEM ? 0 : d->cliff_bytes + (k->smem == PAST_CLIFF);
	unsigned full = (unsigned)d->threads_per_sm / (k->block_x * k->block_y);
	unsigned grid_x = k->grid_x + (k->per_sm == FULL ? full : k->per_sm) * (unsigned)d->sms;
	int repeats = d->repeats ? d->repeats : k->repeats, n = k->n;
	void *params[] = {&d->out, &d->in, &n};
	CUmodule module;
	CUfunction function;
	char *code = read_code(d, k->file);

	if (!code) {
		fprintf(stderr, "demo: no device code %s for sm_%d in %s\n", k->file, d->sm,
			d->dir);
		exit(1);
	}
	CALL(cuModuleLoadData, &module, code);
	free(code);
	CALL(cuModuleGetFunction, &function, module, k->symbol);
	if (smem)
		CALL(cuFuncSetAttribute, function, FUNC_MAX_DYNAMIC_SMEM, (int)smem);
	fill_input(d, k->fill);
	CALL(cuMemsetD8_v2, d->out, 0, WORDS * sizeof(uint32_t));
	for (int i = 0; i < repeats; i++) {
		CALL(cuLaunchKernel, function, grid_x, k->grid_y, 1, k->block_x, k->block_y, 1,
		     smem, NULL, params, NULL);
		d->launches++;
	}
	CALL(cuCtxSynchronize);
	CALL(cuMemcpyDtoH_v2, d->host, d->out, WORDS * sizeof(uint32_t));
	for (uint32_t i = 0; i < WORDS; i++)
		d->sum = (d->sum ^ d->host[i]) * 0x100000001b3ull;
	CALL(cuModuleUnload, module);
	printf("%-20s %4d launches\n", k->file, repeats);
}

/* The prebuilt code as seen from build/samples/demo. */
static const char *default_dir(void)
{
	static char path[4096 + 64];
	ssize_t n = readlink("/proc/self/exe", path, 4096);

	for (int up = 0; up < 3; up++) {
		while (n > 0 && path[n - 1] != '/')
			n--;
		n -= n > 1;
	}
	if (n <= 0)
		return "tests/golden/cubin";
	strcpy(path + n, "/tests/golden/cubin");
	return access(path, R_OK) == 0 ? path : "tests/golden/cubin";
}

static bool wanted(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return n == 0;
}

static void device_open(struct demo *d, CUdevice *device, bool simulated)
{
	CUcontext context;
	char name[128] = "";
	int major, minor, smem, reserved;

	CALL(cuInit, 0);
	CALL(cuDeviceGet, device, 0);
	CALL(cuDeviceGetName, name, (int)sizeof(name), *device);
	CALL(cuDeviceGetAttribute, &major, ATTR_CC_MAJOR, *device);
	CALL(cuDeviceGetAttribute, &minor, ATTR_CC_MINOR, *device);
	CALL(cuDeviceGetAttribute, &d->sms, ATTR_SMS, *device);
	CALL(cuDeviceGetAttribute, &d->threads_per_sm, ATTR_THREADS_PER_SM, *device);
	CALL(cuDeviceGetAttribute, &smem, ATTR_SMEM_PER_SM, *device);
	CALL(cuDeviceGetAttribute, &reserved, ATTR_SMEM_RESERVED, *device);
	d->sm = major * 10 + minor;
	d->cliff_bytes = (unsigned)(smem / 2 - reserved);
	CALL(cuDevicePrimaryCtxRetain, &context, *device);
	CALL(cuCtxSetCurrent, context);
	printf("%s, sm_%d, %d SMs%s\n", name, d->sm, d->sms,
	       simulated ? " (stand-in driver: no code is executed, times are simulated)" : "");
}

int main(int argc, char **argv)
{
	struct demo d = {.sum = 0xcbf29ce484222325ull, .filled = -1};
	bool simulated;
	CUdevice device;
	int opt;

	while ((opt = getopt(argc, argv, "d:n:")) != -1) {
		switch (opt) {
		case 'd': d.dir = optarg; break;
		case 'n': d.repeats = atoi(optarg); break;
		default:
			fprintf(stderr, "usage: demo [-d DIRECTORY] [-n REPEATS] [NAME...]\n");
			return 2;
		}
	}
	if (!d.dir)
		d.dir = default_dir();
	d.host = malloc(WORDS * sizeof(uint32_t));
	if (!d.host)
		die("no memory");
	simulated = driver_open();
	device_open(&d, &device, simulated);
	CALL(cuMemAlloc_v2, &d.in, BIG * sizeof(uint32_t));
	CALL(cuMemAlloc_v2, &d.out, BIG * sizeof(uint32_t));
	for (size_t i = 0; i < N_KERNELS; i++)
		if (wanted(kernels[i].file, argv + optind, argc - optind))
			launch(&d, &kernels[i]);
	CALL(cuMemFree_v2, d.in);
	CALL(cuMemFree_v2, d.out);
	CALL(cuDevicePrimaryCtxRelease_v2, device);
	free(d.host);
	if (simulated)
		printf("demo checksum none launches %llu\n", (unsigned long long)d.launches);
	else
		printf("demo checksum %016llx launches %llu\n", (unsigned long long)d.sum,
		       (unsigned long long)d.launches);
	return 0;
}
