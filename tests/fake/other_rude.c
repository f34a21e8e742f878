/*
 * other_rude.c - a recorder that breaks the rules, one at a time: the rig is tested with it.
 *
 * Preloaded under the name libkbn.so, so that the stand-in driver takes it for the recorder. RUDE
 * names the rule to break; each must be noticed by the driver or by the comparison of two runs.
 */
#include "client.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

static unsigned launches;

static bool rude(const char *what)
{
	const char *mode = getenv("RUDE");

	return mode && strcmp(mode, what) == 0;
}

static void *real(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
}
#define REAL(symbol) ((__typeof__(symbol) *)real(#symbol))

static void *on_thread(void *unused)
{
	pthread_setname_np(pthread_self(), "kbn-rude");
	(void)unused;
	REAL(cuCtxSynchronize)();
	return NULL;
}

static void late(void)
{
	int version;

	REAL(cuDriverGetVersion)(&version);
}

/* Registered while the library is loaded: runs after the driver's own handler. */
__attribute__((constructor)) static void load(void)
{
	if (rude("late"))
		atexit(late);
}

static void before(CUstream s)
{
	static CUevent event;
	CUdeviceptr at;
	CUcontext c;
	pthread_t t;

	if (rude("stdout") && launches == 3)
		printf("hello\n");
	if (rude("stderr") && launches == 3)
		fprintf(stderr, "hello\n");
	if (rude("memory") && launches == 3)
		REAL(cuMemAlloc_v2)(&at, 4096);
	if (rude("thread") && launches == 3 && !pthread_create(&t, NULL, on_thread, NULL))
		pthread_join(t, NULL);
	if (rude("sync") && launches == 3)
		REAL(cuCtxSynchronize)();
	if (rude("record")) {
		if (!event)
			REAL(cuEventCreate)(&event, 0);
		REAL(cuEventRecord)(event, s);
	}
	if (rude("unrelaxed"))
		REAL(cuEventCreate)(&event, 0);
	if (rude("query")) {
		if (!event)
			REAL(cuEventCreate)(&event, 0);
		REAL(cuEventQuery)(event);
	}
	if (rude("destroyed") && launches == 3) {
		REAL(cuEventCreate)(&event, 0);
		REAL(cuEventDestroy_v2)(event);
		REAL(cuEventRecord)(event, s);
	}
	if (rude("context") && launches == 3) {
		REAL(cuCtxGetCurrent)(&c);
		REAL(cuCtxSetCurrent)(c);
	}
	if (rude("gate")) {
		void *word = NULL;

		if (launches == 3 && !REAL(cuMemHostAlloc)(&word, 64, 3))
			REAL(cuStreamWaitValue32_v2)(s, (CUdeviceptr)(uintptr_t)word, 1, 0);
	}
	if (rude("hang") && launches == 3)
		for (;;)
			usleep(100000);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned smem, CUstream s, void **params,
			void **extra)
{
	CUresult result;

	launches++;
	before(s);
	if (rude("lost") && launches == 5)
		return 0;
	if (rude("grid") && launches == 5)
		gx++;
	if (rude("stream") && launches == 5)
		s = CU_STREAM_PER_THREAD;
	result = REAL(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, smem, s, params, extra);
	if (rude("twice") && launches == 5)
		REAL(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, smem, s, params, extra);
	if (rude("result") && launches == 5)
		result = 1;
	if (rude("errno"))
		errno = 5;
	if (rude("exit") && launches == 5)
		exit(1);
	return result;
}
