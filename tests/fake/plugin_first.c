/*
 * plugin_first.c - one of two preloaded libraries that define the same name and ask for the next one.
 */
#include <dlfcn.h>
#include <string.h>

const char *shared_name(void);
const char *shared_name(void)
{
	return "first";
}

const char *first_next(void);
const char *first_next(void)
{
	void *next = dlsym(RTLD_NEXT, "shared_name");
	const char *(*name)(void);

	if (!next)
		return "nothing";
	memcpy(&name, &next, sizeof(name));
	return name();
}
