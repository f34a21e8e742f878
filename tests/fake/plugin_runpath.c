/*
 * plugin_runpath.c - a plug-in whose own run path leads to another one, opened by its bare name.
 * It works only when the loader sees who asks.
 */
#include "client.h"

#include <dlfcn.h>

void plugin_run(void);
void plugin_run(void)
{
	void *dep = dlopen("plugin_dep.so", RTLD_NOW);

	printf("dependency %s\n", dep ? "open" : dlerror());
	printf("symbol %s\n", dep && dlsym(dep, "dep_symbol") ? "found" : "missing");
}
