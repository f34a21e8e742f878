/*
 * plugin_constructor.c - launches from an ELF constructor, while the loader's lock is held.
 */
#include "client.h"

__attribute__((constructor)) static void load(void)
{
	struct make_buffer image = client_cubin();
	CUcontext c;
	CUmodule m;
	CUfunction f;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) ||
	    cuModuleLoadData(&m, image.at) || cuModuleGetFunction(&f, m, "k_none_5us"))
		return;
	for (int i = 0; i < 20; i++)
		cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
	free(image.at);
}
