/*
 * fake_init.c - the life of the driver: cuInit, injection, addresses, errors, the end.
 */
#include "fake_cuda.h"
#include "fake_names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How the recorder knows that times are simulated. */
extern const int kbn_stand_in_driver;
const int kbn_stand_in_driver = 1;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t init_pid;
static _Atomic unsigned profiler_on;

/* The driver's own exit handler, registered while cuInit runs. */
static void end(void)
{
	if (getpid() != init_pid)
		return;
	atomic_fetch_or(&fake_slow, FAKE_SLOW_DEAD);
	if (fake_counts->violations && !fake_option("FAKE_LENIENT"))
		_exit(FAKE_STATUS);
}

static void inject(void)
{
	const char *path = fake_option("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void *entry = library ? dlsym(library, "InitializeInjection") : NULL;
	int (*initialize)(void);

	if (!entry)
		return;
	memcpy(&initialize, &entry, sizeof(initialize));
	initialize();
	fake_find_kbn();
}

FAKE_API(cuInit, unsigned int flags)
{
	FAKE_BEGIN_EARLY(cuInit);
	int result = 0;

	if (flags)
		FAKE_END(1, "flags=%u", flags);
	pthread_mutex_lock(&init_lock);
	if (init_pid && init_pid != getpid()) {
		result = 3; /* a forked child of a process that has initialised */
	} else if (!init_pid) {
		if (fake_option("FAKE_NO_DEVICE")) {
			result = 100;
		} else {
			init_pid = getpid();
			fake_device_init();
			fake_log_init();
			atexit(end);
			inject();
		}
	}
	pthread_mutex_unlock(&init_lock);
	FAKE_END(result, "flags=%u", flags);
}

FAKE_API(cuDriverGetVersion, int *version)
{
	FAKE_BEGIN_EARLY(cuDriverGetVersion);
	if (!version)
		FAKE_END(1, "NULL");
	*version = FAKE_DRIVER_VERSION;
	FAKE_END(0, "-> %d", *version);
}

static int get_proc(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
	if (!symbol || !pfn || version > FAKE_DRIVER_VERSION || flags > 2)
		return 1;
	*pfn = fake_names_find(symbol, version, flags, status);
	return 0;
}

FAKE_API(cuGetProcAddress, const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	FAKE_BEGIN_EARLY(cuGetProcAddress);
	int status = 0;
	int result = get_proc(symbol, pfn, version, flags, &status);

	FAKE_END(result, "%s %d %d -> %d", symbol, version, (int)flags, status);
}

FAKE_API(cuGetProcAddress_v2, const char *symbol, void **pfn, int version, cuuint64_t flags,
	 CUdriverProcAddressQueryResult *status)
{
	FAKE_BEGIN_EARLY(cuGetProcAddress_v2);
	int found = 0;
	int result = get_proc(symbol, pfn, version, flags, &found);

	if (!result && status)
		*status = (CUdriverProcAddressQueryResult)found;
	FAKE_END(result, "%s %d %d -> %d", symbol, version, (int)flags, found);
}

/*
 * A private table: its size first, then slots. Runtimes up to 11.x load their code through one like
 * this, so that no exported function ever sees it.
 */
static int private_function(CUfunction *out, const void *image, const char *name)
{
	CUmodule m;
	CUresult result = cuModuleLoadData(&m, image);

	return (int)(result ? result : cuModuleGetFunction(out, m, name));
}

FAKE_API(cuGetExportTable, const void **table, const CUuuid *id)
{
	static uintptr_t slots[4] = {sizeof(slots)};
	FAKE_BEGIN_EARLY(cuGetExportTable);

	if (!table || !id)
		FAKE_END(1, "NULL");
	slots[1] = (uintptr_t)private_function;
	*table = slots;
	FAKE_END(0, "%02x%02x%02x%02x", (unsigned char)id->bytes[0], (unsigned char)id->bytes[1],
		 (unsigned char)id->bytes[2], (unsigned char)id->bytes[3]);
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

CUresult cuGetErrorName(CUresult code, const char **out);
CUresult cuGetErrorName(CUresult code, const char **out)
{
	*out = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == (int)code)
			*out = errors[i].name;
	return *out ? 0 : 1;
}

CUresult cuGetErrorString(CUresult code, const char **out);
CUresult cuGetErrorString(CUresult code, const char **out)
{
	*out = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == (int)code)
			*out = errors[i].text;
	return *out ? 0 : 1;
}

FAKE_API(cuProfilerStart, void)
{
	FAKE_BEGIN(cuProfilerStart);
	atomic_store(&profiler_on, 1);
	FAKE_END(0, "-");
}

FAKE_API(cuProfilerStop, void)
{
	FAKE_BEGIN(cuProfilerStop);
	atomic_store(&profiler_on, 0);
	FAKE_END(0, "-");
}
