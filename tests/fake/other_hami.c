/*
 * other_hami.c - another interposer, of the kind that limits device memory: it catches dlsym for
 * names beginning with "cu", serves its own functions, and asks glibc for the real dlsym by version.
 */
#include "other.h"

#include <dlfcn.h>

#ifdef __aarch64__
#define BASE_VERSION "GLIBC_2.17"
#else
#define BASE_VERSION "GLIBC_2.2.5"
#endif

static void *(*real_dlsym(void))(void *, const char *)
{
	static void *(*found)(void *, const char *);

	if (!found) {
		void *at = dlvsym(RTLD_NEXT, "dlsym", BASE_VERSION);

		memcpy(&found, &at, sizeof(found));
	}
	return found;
}

/* Straight from the driver, past everybody else: so these tools do it. */
static void *real(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return driver ? real_dlsym()(driver, name) : NULL;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned smem, CUstream s, void **params,
			void **extra)
{
	static __typeof__(cuLaunchKernel) *next;

	if (!next)
		next = (__typeof__(next))real("cuLaunchKernel");
	launches++;
	return next ? next(f, gx, gy, gz, bx, by, bz, smem, s, params, extra) : 34;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	__typeof__(cuMemAlloc_v2) *next = (__typeof__(next))real("cuMemAlloc_v2");

	/* The limit that a program must keep meeting. */
	return bytes > (1u << 30) ? 2 : next ? next(out, bytes) : 34;
}

void *dlsym(void *handle, const char *name)
{
	if (name[0] == 'c' && name[1] == 'u') {
		if (strcmp(name, "cuLaunchKernel") == 0)
			return (void *)(uintptr_t)cuLaunchKernel;
		if (strcmp(name, "cuMemAlloc_v2") == 0)
			return (void *)(uintptr_t)cuMemAlloc_v2;
	}
	return real_dlsym()(handle, name);
}
