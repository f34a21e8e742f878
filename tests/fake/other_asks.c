/*
 * other_asks.c - another interposer, of the kind that keeps order: before each launch it waits for the
 * device, with a call that goes to whoever exports that name first.
 */
#include "other.h"

#include <dlfcn.h>

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned smem, CUstream s, void **params,
			void **extra)
{
	__typeof__(cuLaunchKernel) *next =
		(__typeof__(next))(uintptr_t)dlsym(RTLD_NEXT, "cuLaunchKernel");

	launches++;
	cuCtxSynchronize();
	return next ? next(f, gx, gy, gz, bx, by, bz, smem, s, params, extra) : 34;
}
