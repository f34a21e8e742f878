/*
 * plugin_local.c - a plug-in opened with RTLD_LOCAL, for app_doors: what it finds through the
 * pseudo handles depends on it being the caller.
 */
#include "client.h"

#include <dlfcn.h>

const char *plugin_private(void);
const char *plugin_private(void)
{
	return "private";
}

const char *shared_name(void);
const char *shared_name(void)
{
	return "plug-in";
}

void plugin_run(void);
void plugin_run(void)
{
	void *driver;
	__typeof__(cuInit) *init;

	/* Found only because the search begins with the scope of the caller. */
	printf("own symbol %s\n", dlsym(RTLD_DEFAULT, "plugin_private") ? "found" : "missing");
	printf("driver %s\n", dlsym(RTLD_DEFAULT, "cuInit") ? "found" : "missing");
	printf("next %s\n", dlsym(RTLD_NEXT, "shared_name") ? "found" : "missing");
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	init = (__typeof__(cuInit) *)dlsym(driver, "cuInit");
	DO(init(0));
}
