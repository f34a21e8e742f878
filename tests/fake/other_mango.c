/*
 * other_mango.c - another interposer, of the kind that overlays draw with: it exports dlsym, passes
 * everything it does not know to the next one, and finds what it wraps through RTLD_NEXT.
 */
#include "other.h"

#include <dlfcn.h>

#ifdef __aarch64__
#define BASE_VERSION "GLIBC_2.17"
#else
#define BASE_VERSION "GLIBC_2.2.5"
#endif

typedef void *(*dlsym_fn)(void *, const char *);

static __typeof__(cuLaunchKernel) *next_launch;

/* glibc's by version, then the next interposer's through it. */
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

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned smem, CUstream s, void **params,
			void **extra)
{
	if (!next_launch)
		next_launch = (__typeof__(next_launch))next_dlsym()(RTLD_NEXT, "cuLaunchKernel");
	launches++;
	return next_launch ? next_launch(f, gx, gy, gz, bx, by, bz, smem, s, params, extra) : 34;
}

void *dlsym(void *handle, const char *name)
{
	if (strcmp(name, "cuLaunchKernel") == 0 && handle != RTLD_NEXT) {
		void *at = next_dlsym()(handle, name);

		if (!at)
			return NULL;
		if (at != (void *)(uintptr_t)cuLaunchKernel)
			next_launch = (__typeof__(next_launch))at;
		return (void *)(uintptr_t)cuLaunchKernel;
	}
	return next_dlsym()(handle, name);
}
