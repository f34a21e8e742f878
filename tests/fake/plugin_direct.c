/*
 * plugin_direct.c - a plug-in that is linked with the driver, which comes into the process with it.
 */
#include "client.h"

void plugin_run(void);
void plugin_run(void)
{
	struct make_buffer image = client_cubin();
	CUcontext c;
	CUmodule m;
	CUfunction f;

	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&c, 0));
	DO(cuCtxSetCurrent(c));
	DO(cuModuleLoadData(&m, image.at));
	DO(cuModuleGetFunction(&f, m, "k_none_5us"));
	for (int i = 0; i < 30; i++)
		OK(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	DO(cuCtxSynchronize());
}
