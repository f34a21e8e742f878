/*
 * wrap_module.c - code loads, unloads and look-ups.
 *
 * Input: images, files and linker output that the driver accepted. Output: an image id for each
 * module and library, in the registry; the bytes go to image.c. Gates stay open during a load: it
 * may wait for the device, and a stream held by us would hold it.
 */
#include <stddef.h>
#include <string.h>

#include "frame.h"
#include "hook.h"
#include "image.h"
#include "map.h"
#include "registry.h"
#include "writer.h"

/* ----------------------------------------------------------------------------------------- loads */

struct options {
	unsigned count;
	const uint32_t *names;
	void *const *values;
};

static struct options options_of(unsigned count, const CUjit_option *names, void *const *values)
{
	_Static_assert(sizeof(CUjit_option) == sizeof(uint32_t), "options are recorded as numbers");
	if (!names || !values)
		return (struct options){0};
	return (struct options){count, (const uint32_t *)names, values};
}

static uint32_t capture(const void *data, const char *path, size_t bytes,
			enum kbn_image_origin origin, struct options o)
{
	const struct kbn_image_source source = {
		.data = data,
		.bytes_hint = bytes,
		.origin = origin,
		.path = path,
		.jit_options = o.count,
		.jit_option = o.names,
		.jit_value = o.values,
	};
	const int *sms;
	const int n = kbn_registry_sms(&sms);

	return kbn_image_capture(&source, sms, n);
}

static void module_loaded(const CUmodule *m, const void *data, const char *path, struct options o)
{
	const enum kbn_image_origin origin = path ? KBN_ORIGIN_FILE : KBN_ORIGIN_MODULE;

	if (m && *m)
		kbn_registry_module(*m, capture(data, path, 0, origin, o));
}

static void library_loaded(const CUlibrary *l, const void *data, const char *path, struct options o)
{
	const enum kbn_image_origin origin = path ? KBN_ORIGIN_FILE : KBN_ORIGIN_LIBRARY;

	if (l && *l)
		kbn_registry_library(*l, capture(data, path, 0, origin, o));
}

KBN_WRAP(cuModuleLoad)(CUmodule *m, const char *path)
{
	KBN_FRAMED(cuModuleLoad, KBN_NOTHING, module_loaded(m, NULL, path, (struct options){0}), m,
		   path);
}

KBN_WRAP(cuModuleLoadData)(CUmodule *m, const void *image)
{
	KBN_FRAMED(cuModuleLoadData, KBN_NOTHING,
		   module_loaded(m, image, NULL, (struct options){0}), m, image);
}

KBN_WRAP(cuModuleLoadDataEx)
(CUmodule *m, const void *image, unsigned n, CUjit_option *names, void **values)
{
	KBN_FRAMED(cuModuleLoadDataEx, KBN_NOTHING,
		   module_loaded(m, image, NULL, options_of(n, names, values)), m, image, n, names,
		   values);
}

KBN_WRAP(cuModuleLoadFatBinary)(CUmodule *m, const void *image)
{
	KBN_FRAMED(cuModuleLoadFatBinary, KBN_NOTHING,
		   module_loaded(m, image, NULL, (struct options){0}), m, image);
}

KBN_WRAP(cuLibraryLoadData)
(CUlibrary *l, const void *code, CUjit_option *names, void **values, unsigned n,
 CUlibraryOption *library_names, void **library_values, unsigned library_n)
{
	KBN_FRAMED(cuLibraryLoadData, KBN_NOTHING,
		   library_loaded(l, code, NULL, options_of(n, names, values)), l, code, names,
		   values, n, library_names, library_values, library_n);
}

KBN_WRAP(cuLibraryLoadFromFile)
(CUlibrary *l, const char *path, CUjit_option *names, void **values, unsigned n,
 CUlibraryOption *library_names, void **library_values, unsigned library_n)
{
	KBN_FRAMED(cuLibraryLoadFromFile, KBN_NOTHING,
		   library_loaded(l, NULL, path, options_of(n, names, values)), l, path, names,
		   values, n, library_names, library_values, library_n);
}

/* ---------------------------------------------------------------------------------------- linker */

#define MAX_LINK_OPTIONS 16

/* The options of a link, which the driver takes at its beginning and we record at its end. */
struct link {
	unsigned count;
	uint32_t names[MAX_LINK_OPTIONS];
	void *values[MAX_LINK_OPTIONS];
};

KBN_MAP(links, 64);

static void link_created(unsigned n, const CUjit_option *names, void *const *values,
			 const CUlinkState *state)
{
	struct link *l;

	if (!state || !*state)
		return;
	l = kbn_map_get(&links, *state); /* of a former link with the same handle value */
	if (!l)
		l = kbn_alloc(sizeof(*l));
	if (!l)
		return;
	l->count = names && values ? n : 0;
	if (l->count > MAX_LINK_OPTIONS)
		l->count = MAX_LINK_OPTIONS;
	for (unsigned i = 0; i < l->count; i++) {
		l->names[i] = names[i];
		l->values[i] = values[i];
	}
	kbn_map_put(&links, *state, l);
}

static void link_completed(CUlinkState state, void *const *cubin, const size_t *bytes)
{
	const struct link *l = kbn_map_get(&links, state);
	const struct options o = l ? (struct options){l->count, l->names, l->values}
				   : (struct options){0};

	/* The output belongs to the link state; the program will load it, or a copy, as a module. */
	if (cubin && *cubin && bytes && *bytes)
		capture(*cubin, NULL, *bytes, KBN_ORIGIN_LINKER, o);
}

static void link_destroyed(CUlinkState state)
{
	struct link *l = kbn_map_get(&links, state);

	if (l)
		l->count = 0;
}

#define LINK_CREATE(symbol)                                                                      \
	KBN_WRAP(symbol)(unsigned n, CUjit_option *names, void **values, CUlinkState *state)     \
	{                                                                                        \
		KBN_FRAMED(symbol, KBN_NOTHING, link_created(n, names, values, state), n, names, \
			   values, state);                                                       \
	}

LINK_CREATE(cuLinkCreate)
LINK_CREATE(cuLinkCreate_v2)

#define LINK_ADD_DATA(symbol)                                                                   \
	KBN_WRAP(symbol)                                                                        \
	(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,    \
	 unsigned n, CUjit_option *names, void **values)                                        \
	{                                                                                       \
		KBN_FRAMED(symbol, KBN_NOTHING, KBN_NOTHING, state, type, data, bytes, name, n, \
			   names, values);                                                      \
	}

LINK_ADD_DATA(cuLinkAddData)
LINK_ADD_DATA(cuLinkAddData_v2)

#define LINK_ADD_FILE(symbol)                                                                      \
	KBN_WRAP(symbol)                                                                           \
	(CUlinkState state, CUjitInputType type, const char *path, unsigned n,                     \
	 CUjit_option *names, void **values)                                                       \
	{                                                                                          \
		KBN_FRAMED(symbol, KBN_NOTHING, KBN_NOTHING, state, type, path, n, names, values); \
	}

LINK_ADD_FILE(cuLinkAddFile)
LINK_ADD_FILE(cuLinkAddFile_v2)

KBN_WRAP(cuLinkComplete)(CUlinkState state, void **cubin, size_t *bytes)
{
	KBN_FRAMED(cuLinkComplete, KBN_NOTHING, link_completed(state, cubin, bytes), state, cubin,
		   bytes);
}

KBN_WRAP(cuLinkDestroy)(CUlinkState state)
{
	KBN_FRAMED(cuLinkDestroy, KBN_NOTHING, link_destroyed(state), state);
}

/* --------------------------------------------------------------------------------------- unloads */

/*
 * The handles end before the call: after it another thread may already have been given the same
 * values again. Should the unload fail, the driver is asked about them anew.
 */
KBN_WRAP(cuModuleUnload)(CUmodule m)
{
	KBN_FRAMED(cuModuleUnload, kbn_registry_module_gone(m), KBN_NOTHING, m);
}

KBN_WRAP(cuLibraryUnload)(CUlibrary l)
{
	KBN_FRAMED(cuLibraryUnload, kbn_registry_library_gone(l), KBN_NOTHING, l);
}

/* -------------------------------------------------------------------------------------- look-ups */

KBN_WRAP(cuModuleGetFunction)(CUfunction *f, CUmodule m, const char *name)
{
	KBN_FRAMED(cuModuleGetFunction, KBN_NOTHING, kbn_registry_function(f ? *f : NULL, m, name),
		   f, m, name);
}

KBN_WRAP(cuLibraryGetKernel)(CUkernel *k, CUlibrary l, const char *name)
{
	KBN_FRAMED(cuLibraryGetKernel, KBN_NOTHING, kbn_registry_kernel(k ? *k : NULL, l, name), k,
		   l, name);
}

KBN_WRAP(cuLibraryGetModule)(CUmodule *m, CUlibrary l)
{
	KBN_FRAMED(cuLibraryGetModule, KBN_NOTHING,
		   m && *m ? kbn_registry_library_module(*m, l) : KBN_NOTHING, m, l);
}

KBN_WRAP(cuKernelGetFunction)(CUfunction *f, CUkernel k)
{
	KBN_FRAMED(cuKernelGetFunction, KBN_NOTHING, kbn_registry_kernel_function(f ? *f : NULL, k),
		   f, k);
}

/* How many entries of the program's array the driver filled: all there are, at most `room`. */
static void functions_listed(const CUfunction *list, unsigned room, CUmodule m)
{
	unsigned n = 0;

	if (!list || !real.cuModuleGetFunctionCount || real.cuModuleGetFunctionCount(&n, m))
		return;
	for (unsigned i = 0; i < n && i < room; i++)
		kbn_registry_function(list[i], m, NULL);
}

static void kernels_listed(const CUkernel *list, unsigned room, CUlibrary l)
{
	unsigned n = 0;

	if (!list || !real.cuLibraryGetKernelCount || real.cuLibraryGetKernelCount(&n, l))
		return;
	for (unsigned i = 0; i < n && i < room; i++)
		kbn_registry_kernel(list[i], l, NULL);
}

KBN_WRAP(cuModuleEnumerateFunctions)(CUfunction *list, unsigned room, CUmodule m)
{
	KBN_FRAMED(cuModuleEnumerateFunctions, KBN_NOTHING, functions_listed(list, room, m), list,
		   room, m);
}

KBN_WRAP(cuLibraryEnumerateKernels)(CUkernel *list, unsigned room, CUlibrary l)
{
	KBN_FRAMED(cuLibraryEnumerateKernels, KBN_NOTHING, kernels_listed(list, room, l), list,
		   room, l);
}
