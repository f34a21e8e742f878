/*
 * count_hook.c - an independent count of launches, for tests on the stand-in driver and on a GPU.
 *
 *   LD_PRELOAD="count_hook.so libkbn.so" COUNT_DIR=dir app
 *
 * Preloaded before the recorder it sees what the program asks for. Each process that launches
 * leaves dir/count.<pid>: four 64-bit numbers {launches that ran, captured into a graph, failed,
 * graph launches}, mapped, so that a killed process keeps them.
 */
#include "client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#ifdef __aarch64__
#define BASE_VERSION "GLIBC_2.17"
#else
#define BASE_VERSION "GLIBC_2.2.5"
#endif

typedef void *(*dlsym_fn)(void *, const char *);

struct counts {
	_Atomic uint64_t ok, captured, failed, graphs;
};

static struct counts local, *counts = &local;
static _Atomic int opened;

static void open_counts(void)
{
	const char *dir = getenv("COUNT_DIR");
	char path[4096];
	void *at;
	int fd;

	if (atomic_exchange(&opened, 1) || !dir)
		return;
	snprintf(path, sizeof(path), "%s/count.%d", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*counts)) != 0)
		return;
	at = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		counts = at;
}

static dlsym_fn next_dlsym(void)
{
	static dlsym_fn next;

	if (!next) {
		void *at = dlvsym(RTLD_NEXT, "dlsym", BASE_VERSION);
		dlsym_fn base;

		memcpy(&base, &at, sizeof(base));
		at = base(RTLD_NEXT, "dlsym");
		if (at)
			memcpy(&base, &at, sizeof(base));
		next = base;
	}
	return next;
}

/* What comes after us: an address that somebody has been given, else the next definition. */
static void *after(_Atomic(void *) *slot, const char *name)
{
	void *at = atomic_load(slot);

	if (!at) {
		at = next_dlsym()(RTLD_NEXT, name);
		if (!at) {
			void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

			at = driver ? next_dlsym()(driver, name) : NULL;
		}
		atomic_store(slot, at);
	}
	return at;
}

static bool capturing(CUstream s, bool ptsz)
{
	static _Atomic(void *) slot[2];
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	__typeof__(cuStreamIsCapturing) *ask = (__typeof__(ask))after(
		&slot[ptsz], ptsz ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");

	return ask && ask(s, &status) == 0 && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult tally(CUresult result, bool captured)
{
	open_counts();
	if (result)
		counts->failed++;
	else if (captured)
		counts->captured++;
	else
		counts->ok++;
	return result;
}

/* symbol, per-thread?, stream, parameters, arguments */
#define COUNTED(X)                                                                        \
	X(cuLaunchKernel, s,                                                              \
	  (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
	   unsigned bz, unsigned smem, CUstream s, void **params, void **extra),          \
	  (f, gx, gy, gz, bx, by, bz, smem, s, params, extra))                            \
	X(cuLaunchKernelEx, config->hStream,                                              \
	  (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),      \
	  (config, f, params, extra))                                                     \
	X(cuLaunchCooperativeKernel, s,                                                   \
	  (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
	   unsigned bz, unsigned smem, CUstream s, void **params),                        \
	  (f, gx, gy, gz, bx, by, bz, smem, s, params))

#define WRAP(symbol, ptsz, stream, params, args)                                             \
	static _Atomic(void *) next_##symbol;                                                \
	CUresult symbol params                                                               \
	{                                                                                    \
		__typeof__(symbol) *next = (__typeof__(next))after(&next_##symbol, #symbol); \
		bool captured = capturing(stream, ptsz);                                     \
                                                                                             \
		return tally(next ? next args : 34, captured);                               \
	}
#define WRAP_BOTH(symbol, stream, params, args)   \
	WRAP(symbol, false, stream, params, args) \
	WRAP(symbol##_ptsz, true, stream, params, args)
COUNTED(WRAP_BOTH)

#define WRAP_GRAPH(symbol)                                                                   \
	static _Atomic(void *) next_##symbol;                                                \
	CUresult symbol(CUgraphExec x, CUstream s)                                           \
	{                                                                                    \
		__typeof__(symbol) *next = (__typeof__(next))after(&next_##symbol, #symbol); \
		CUresult result = next ? next(x, s) : 34;                                    \
                                                                                             \
		open_counts();                                                               \
		counts->graphs += result == 0;                                               \
		return result;                                                               \
	}
WRAP_GRAPH(cuGraphLaunch)
WRAP_GRAPH(cuGraphLaunch_ptsz)

static const struct {
	const char *base, *symbol;
	void *ours;
	_Atomic(void *) *next;
} wrapped[] = {
#define ROW(base, symbol) {#base, #symbol, (void *)(uintptr_t)symbol, &next_##symbol},
#define ROWS(symbol, ...) ROW(symbol, symbol) ROW(symbol, symbol##_ptsz)
	COUNTED(ROWS) ROWS(cuGraphLaunch)};

/*
 * cuGetProcAddress: an address that dlsym also gives under one of our names becomes ours, and comes
 * after us from then on.
 */
static void swap(const char *base, void **pfn)
{
	void *driver = NULL;

	for (size_t i = 0; *pfn && i < sizeof(wrapped) / sizeof(wrapped[0]); i++) {
		if (strcmp(wrapped[i].base, base) != 0 || *pfn == wrapped[i].ours)
			continue;
		driver = driver ? driver : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		if (!driver || next_dlsym()(driver, wrapped[i].symbol) != *pfn)
			continue;
		atomic_store(wrapped[i].next, *pfn);
		*pfn = wrapped[i].ours;
		return;
	}
}

static void swap_get(const char *base, void **pfn, int version);

static _Atomic(void *) next_cuGetProcAddress, next_cuGetProcAddress_v2;

CUresult cuGetProcAddress(const char *name, void **pfn, int version, cuuint64_t flags)
{
	__typeof__(cuGetProcAddress) *next =
		(__typeof__(next))after(&next_cuGetProcAddress, "cuGetProcAddress");
	CUresult result = next ? next(name, pfn, version, flags) : 34;

	if (!result && name && pfn) {
		swap(name, pfn);
		swap_get(name, pfn, version);
	}
	return result;
}

CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	__typeof__(cuGetProcAddress_v2) *next =
		(__typeof__(next))after(&next_cuGetProcAddress_v2, "cuGetProcAddress_v2");
	CUresult result = next ? next(name, pfn, version, flags, status) : 34;

	if (!result && name && pfn) {
		swap(name, pfn);
		swap_get(name, pfn, version);
	}
	return result;
}

/* It is also asked for itself. */
static void swap_get(const char *base, void **pfn, int version)
{
	bool v2 = version >= 12000;
	void *ours = v2 ? (void *)(uintptr_t)cuGetProcAddress_v2
			: (void *)(uintptr_t)cuGetProcAddress;

	if (!*pfn || *pfn == ours || strcmp(base, "cuGetProcAddress") != 0)
		return;
	atomic_store(v2 ? &next_cuGetProcAddress_v2 : &next_cuGetProcAddress, *pfn);
	*pfn = ours;
}

/* NULL = not ours. */
static void *mine(void *handle, const char *name)
{
	_Atomic(void *) *slot = NULL;
	void *ours = NULL, *at;

	if (name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return NULL;
	if (strcmp(name, "cuGetProcAddress") == 0) {
		ours = (void *)(uintptr_t)cuGetProcAddress;
		slot = &next_cuGetProcAddress;
	} else if (strcmp(name, "cuGetProcAddress_v2") == 0) {
		ours = (void *)(uintptr_t)cuGetProcAddress_v2;
		slot = &next_cuGetProcAddress_v2;
	}
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]) && !ours; i++)
		if (strcmp(wrapped[i].symbol, name) == 0) {
			ours = wrapped[i].ours;
			slot = wrapped[i].next;
		}
	if (!ours)
		return NULL;
	at = next_dlsym()(handle, name);
	if (!at)
		return NULL;
	if (at != ours)
		atomic_store(slot, at);
	return ours;
}

/* The last call must be a jump, which it is with optimisation: glibc looks at the return address. */
void *dlsym(void *restrict handle, const char *restrict name)
{
	void *ours = mine(handle, name);

	if (ours)
		return ours;
	return next_dlsym()(handle, name);
}
