/*
 * fake_module.c - modules, libraries, functions, kernels and the linker.
 *
 * A function belongs to a context, a kernel to none; a kernel is accepted where a launch wants a
 * function, but not by the calls that ask about functions, as measured on a device.
 */
#include "fake_cuda.h"
#include "make_cubin.h"

#include <stdlib.h>
#include <string.h>

#define PACKED_NAMES 256 /* most kernels of an image whose names we cannot read */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- modules ---- */

static struct fake_module *module_new(struct fake_call *call, struct fake_context *c,
				      struct fake_image *image, struct fake_library *library)
{
	struct fake_module *m = fake_new(FAKE_MODULE, sizeof(*m), call);

	m->context = c;
	m->generation = c->generation;
	m->library = library;
	m->image = image;
	return m;
}

static int load(struct fake_call *call, CUmodule *out, const void *data, const char *path)
{
	int result = fake_unsafe(call);
	struct fake_context *c = result ? NULL : fake_current_ok(call, &result);
	struct fake_image *image;

	if (!c || !out)
		return result ? result : 1;
	if (fake_ours(call))
		fake_violation(call, "the recorder loads code");
	image = calloc(1, sizeof(*image));
	result = path ? fake_image_read_file(path, c->device->sm, image)
		      : fake_image_read(data, c->device->sm, image);
	if (result) {
		free(image);
		return result;
	}
	*out = (CUmodule)module_new(call, c, image, NULL);
	return 0;
}

FAKE_SINGLE(cuModuleLoad, (CUmodule * out, const char *path), load(&call, out, NULL, path),
	    "%s -> %s", path, FAKE_MADE(out, n1))
FAKE_SINGLE(cuModuleLoadData, (CUmodule * out, const void *data), load(&call, out, data, NULL),
	    "-> %s", FAKE_MADE(out, n1))
FAKE_SINGLE(cuModuleLoadDataEx,
	    (CUmodule * out, const void *data, unsigned n, CUjit_option *options, void **values),
	    load(&call, out, data, NULL), "%u %d %d -> %s", n, options != NULL, values != NULL,
	    FAKE_MADE(out, n1))
FAKE_SINGLE(cuModuleLoadFatBinary, (CUmodule * out, const void *data), load(&call, out, data, NULL),
	    "-> %s", FAKE_MADE(out, n1))

static struct fake_module *module(struct fake_call *call, CUmodule handle)
{
	struct fake_module *m = fake_need(call, handle, FAKE_MODULE);

	return m && m->generation == m->context->generation ? m : NULL;
}

static int unload(struct fake_call *call, CUmodule handle)
{
	struct fake_module *m = module(call, handle);
	int result = fake_unsafe(call);

	if (!m || m->library)
		return result ? result : 400;
	pthread_mutex_lock(&lock);
	for (struct fake_function *f = m->functions; f; f = f->next)
		fake_free(f);
	pthread_mutex_unlock(&lock);
	fake_free(m);
	return 0;
}

FAKE_SINGLE(cuModuleUnload, (CUmodule handle), unload(&call, handle), "%s", fake_name(handle, n1))

/* The entry of a name; a packed image accepts any. */
static struct fake_entry *entry(struct fake_image *image, const char *name)
{
	struct fake_entry *e = fake_image_entry(image, name);

	if (!e && image->any_name) {
		/* Functions point at entries: these must not move. */
		if (!image->entry)
			image->entry = calloc(PACKED_NAMES, sizeof(*e));
		if (image->entries == PACKED_NAMES)
			return NULL;
		e = &image->entry[image->entries++];
		*e = (struct fake_entry){.name = strdup(name),
					 .registers = 32,
					 .max_threads = 1024,
					 .duration_ns = fake_duration(name),
					 .counter = fake_count_row(name)};
	}
	return e;
}

static struct fake_function *function_of(struct fake_call *call, struct fake_module *m,
					 struct fake_entry *e)
{
	struct fake_function *f;

	pthread_mutex_lock(&lock);
	for (f = m->functions; f; f = f->next)
		if (f->entry == e)
			break;
	if (!f) {
		f = fake_new(FAKE_FUNCTION, sizeof(*f), call);
		f->module = m;
		f->entry = e;
		f->max_dynamic = 49152 - e->static_smem_bytes;
		f->carveout = -1;
		f->next = m->functions;
		m->functions = f;
	}
	pthread_mutex_unlock(&lock);
	return f;
}

static int get_function(struct fake_call *call, CUfunction *out, CUmodule handle, const char *name)
{
	struct fake_module *m = module(call, handle);
	struct fake_entry *e = m && name ? entry(m->image, name) : NULL;

	if (!out || !name || !m)
		return m ? 1 : 400;
	if (!e)
		return 500;
	*out = (CUfunction)function_of(call, m, e);
	return 0;
}

FAKE_SINGLE(cuModuleGetFunction, (CUfunction * out, CUmodule handle, const char *name),
	    get_function(&call, out, handle, name), "%s %s -> %s", fake_name(handle, n1), name,
	    FAKE_MADE(out, n2))

static int function_count(struct fake_call *call, unsigned *out, CUmodule handle)
{
	struct fake_module *m = module(call, handle);

	if (m)
		*out = m->image->entries;
	return m ? 0 : 400;
}

FAKE_SINGLE(cuModuleGetFunctionCount, (unsigned *out, CUmodule handle),
	    function_count(&call, out, handle), "%s", fake_name(handle, n1))

static int enumerate_functions(struct fake_call *call, CUfunction *out, unsigned n, CUmodule handle)
{
	struct fake_module *m = module(call, handle);

	for (unsigned i = 0; m && i < n && i < m->image->entries; i++)
		out[i] = (CUfunction)function_of(call, m, &m->image->entry[i]);
	return m ? 0 : 400;
}

FAKE_SINGLE(cuModuleEnumerateFunctions, (CUfunction * out, unsigned n, CUmodule handle),
	    enumerate_functions(&call, out, n, handle), "%u %s", n, fake_name(handle, n1))

FAKE_SINGLE(cuModuleGetGlobal_v2,
	    (CUdeviceptr * out, size_t *bytes, CUmodule handle, const char *name),
	    module(&call, handle) ? 500 : 400, "%s %d %d", name, out != NULL, bytes != NULL)

/* ---- libraries ---- */

static int library_load(struct fake_call *call, CUlibrary *out, const void *data, const char *path)
{
	int result = fake_unsafe(call);
	struct fake_library *l;

	if (result || !out)
		return result ? result : 1;
	if (fake_ours(call))
		fake_violation(call, "the recorder loads code");
	l = fake_new(FAKE_LIBRARY, sizeof(*l), call);
	result = path ? fake_image_read_file(path, fake_devices[0].sm, &l->image)
		      : fake_image_read(data, fake_devices[0].sm, &l->image);
	if (result) {
		fake_free(l);
		return result;
	}
	*out = (CUlibrary)l;
	return 0;
}

FAKE_SINGLE(cuLibraryLoadData,
	    (CUlibrary * out, const void *data, CUjit_option *jit, void **jit_values, unsigned jits,
	     CUlibraryOption *options, void **values, unsigned n),
	    library_load(&call, out, data, NULL), "%u %u %d%d%d%d -> %s", jits, n, jit != NULL,
	    jit_values != NULL, options != NULL, values != NULL, FAKE_MADE(out, n1))
FAKE_SINGLE(cuLibraryLoadFromFile,
	    (CUlibrary * out, const char *path, CUjit_option *jit, void **jit_values, unsigned jits,
	     CUlibraryOption *options, void **values, unsigned n),
	    library_load(&call, out, NULL, path), "%s %u %u %d%d%d%d -> %s", path, jits, n,
	    jit != NULL, jit_values != NULL, options != NULL, values != NULL, FAKE_MADE(out, n1))

/* Modules that were loaded for it stay in their contexts' lists; kernels become invalid. */
static int library_unload(struct fake_call *call, CUlibrary handle)
{
	struct fake_library *l = fake_need(call, handle, FAKE_LIBRARY);

	if (!l)
		return 400;
	pthread_mutex_lock(&lock);
	for (struct fake_kernel *k = l->kernels; k; k = k->next)
		fake_free(k);
	pthread_mutex_unlock(&lock);
	fake_free(l);
	return 0;
}

FAKE_SINGLE(cuLibraryUnload, (CUlibrary handle), library_unload(&call, handle), "%s",
	    fake_name(handle, n1))

static struct fake_kernel *kernel_of(struct fake_call *call, struct fake_library *l,
				     struct fake_entry *e)
{
	struct fake_kernel *k;

	pthread_mutex_lock(&lock);
	for (k = l->kernels; k; k = k->next)
		if (k->entry == e)
			break;
	if (!k) {
		k = fake_new(FAKE_KERNEL, sizeof(*k), call);
		k->library = l;
		k->entry = e;
		k->max_dynamic = 49152 - e->static_smem_bytes;
		k->next = l->kernels;
		l->kernels = k;
	}
	pthread_mutex_unlock(&lock);
	return k;
}

static int get_kernel(struct fake_call *call, CUkernel *out, CUlibrary handle, const char *name)
{
	struct fake_library *l = fake_need(call, handle, FAKE_LIBRARY);
	struct fake_entry *e = l && name ? entry(&l->image, name) : NULL;

	if (!l || !e)
		return !l ? 400 : 500;
	*out = (CUkernel)kernel_of(call, l, e);
	return 0;
}

FAKE_SINGLE(cuLibraryGetKernel, (CUkernel * out, CUlibrary handle, const char *name),
	    get_kernel(&call, out, handle, name), "%s %s -> %s", fake_name(handle, n1), name,
	    FAKE_MADE(out, n2))

static int kernel_count(struct fake_call *call, unsigned *out, CUlibrary handle)
{
	struct fake_library *l = fake_need(call, handle, FAKE_LIBRARY);

	if (l)
		*out = l->image.entries;
	return l ? 0 : 400;
}

FAKE_SINGLE(cuLibraryGetKernelCount, (unsigned *out, CUlibrary handle),
	    kernel_count(&call, out, handle), "%s", fake_name(handle, n1))

static int enumerate_kernels(struct fake_call *call, CUkernel *out, unsigned n, CUlibrary handle)
{
	struct fake_library *l = fake_need(call, handle, FAKE_LIBRARY);

	for (unsigned i = 0; l && i < n && i < l->image.entries; i++)
		out[i] = (CUkernel)kernel_of(call, l, &l->image.entry[i]);
	return l ? 0 : 400;
}

FAKE_SINGLE(cuLibraryEnumerateKernels, (CUkernel * out, unsigned n, CUlibrary handle),
	    enumerate_kernels(&call, out, n, handle), "%u %s", n, fake_name(handle, n1))

/* The module of a library in a context, loaded at first use. */
static struct fake_module *module_of(struct fake_call *call, struct fake_library *l,
				     struct fake_context *c)
{
	struct fake_module *m;

	pthread_mutex_lock(&lock);
	for (m = c->modules; m; m = m->next)
		if (m->library == l)
			break;
	if (!m) {
		m = module_new(call, c, &l->image, l);
		m->next = c->modules;
		c->modules = m;
	}
	pthread_mutex_unlock(&lock);
	return m;
}

static int library_module(struct fake_call *call, CUmodule *out, CUlibrary handle)
{
	int result;
	struct fake_library *l = fake_need(call, handle, FAKE_LIBRARY);
	struct fake_context *c = fake_current_ok(call, &result);

	if (!l || !c)
		return l ? result : 400;
	*out = (CUmodule)module_of(call, l, c);
	return 0;
}

FAKE_SINGLE(cuLibraryGetModule, (CUmodule * out, CUlibrary handle),
	    library_module(&call, out, handle), "%s -> %s", fake_name(handle, n1),
	    FAKE_MADE(out, n2))
FAKE_SINGLE(cuLibraryGetUnifiedFunction, (void **out, CUlibrary handle, const char *name),
	    fake_need(&call, handle, FAKE_LIBRARY) ? 500 : 400, "%d %s", out != NULL, name)

static int kernel_function(struct fake_call *call, CUfunction *out, CUkernel handle)
{
	int result;
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);
	struct fake_context *c = fake_current_ok(call, &result);
	struct fake_function *f;

	if (!k || !c)
		return k ? result : 400;
	f = function_of(call, module_of(call, k->library, c), k->entry);
	f->kernel = k;
	*out = (CUfunction)f;
	return 0;
}

FAKE_SINGLE(cuKernelGetFunction, (CUfunction * out, CUkernel handle),
	    kernel_function(&call, out, handle), "%s -> %s", fake_name(handle, n1),
	    FAKE_MADE(out, n2))

/* ---- facts of functions and kernels ---- */

static struct fake_function *function(CUfunction handle)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);

	return f && f->module->generation == f->module->context->generation ? f : NULL;
}

static int kernel_library(CUlibrary *out, CUkernel handle)
{
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);

	if (k)
		*out = (CUlibrary)k->library;
	return k ? 0 : 400;
}

static int kernel_name(const char **out, CUkernel handle)
{
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);

	if (k)
		*out = k->entry->name;
	return k ? 0 : 400;
}

static int function_module(CUmodule *out, CUfunction handle)
{
	struct fake_function *f = function(handle);

	if (f)
		*out = (CUmodule)f->module;
	return f ? 0 : 400;
}

static int function_name(const char **out, CUfunction handle)
{
	struct fake_function *f = function(handle);

	if (f)
		*out = f->entry->name;
	return f ? 0 : 400;
}

static int loaded(CUfunctionLoadingState *out, CUfunction handle)
{
	if (function(handle))
		*out = CU_FUNCTION_LOADING_STATE_LOADED;
	return function(handle) ? 0 : 400;
}

FAKE_SINGLE(cuKernelGetLibrary, (CUlibrary * out, CUkernel handle), kernel_library(out, handle),
	    "%s", fake_name(handle, n1))
FAKE_SINGLE(cuKernelGetName, (const char **out, CUkernel handle), kernel_name(out, handle), "%s",
	    fake_name(handle, n1))
FAKE_SINGLE(cuFuncGetModule, (CUmodule * out, CUfunction handle), function_module(out, handle),
	    "%s", fake_name(handle, n1))
FAKE_SINGLE(cuFuncGetName, (const char **out, CUfunction handle), function_name(out, handle), "%s",
	    fake_name(handle, n1))
FAKE_SINGLE(cuFuncIsLoaded, (CUfunctionLoadingState * out, CUfunction handle), loaded(out, handle),
	    "%s", fake_name(handle, n1))

static int param_info(const struct fake_entry *e, size_t index, size_t *offset, size_t *bytes)
{
	if (!e)
		return 400;
	if (!e->params_known)
		return 801;
	if (index >= e->param_count)
		return 1;
	*offset = e->params[index].offset;
	if (bytes)
		*bytes = e->params[index].bytes;
	return 0;
}

static const struct fake_entry *entry_of_function(CUfunction handle)
{
	struct fake_function *f = function(handle);

	return f ? f->entry : NULL;
}

static const struct fake_entry *entry_of_kernel(CUkernel handle)
{
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);

	return k ? k->entry : NULL;
}

FAKE_SINGLE(cuFuncGetParamInfo, (CUfunction handle, size_t index, size_t *offset, size_t *bytes),
	    param_info(entry_of_function(handle), index, offset, bytes), "%s %zu",
	    fake_name(handle, n1), index)
FAKE_SINGLE(cuKernelGetParamInfo, (CUkernel handle, size_t index, size_t *offset, size_t *bytes),
	    param_info(entry_of_kernel(handle), index, offset, bytes), "%s %zu",
	    fake_name(handle, n1), index)

static int attribute(int *out, CUfunction_attribute a, const struct fake_entry *e, int sm,
		     int max_dynamic, int carveout)
{
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *out = e->max_threads; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *out = e->static_smem_bytes; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *out = e->const_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *out = e->local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *out = e->registers; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *out = sm; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *out = max_dynamic; break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *out = carveout; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*out = e->cluster[a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	default:
		if ((int)a < 0 || (int)a > 15)
			return 1;
		*out = 0;
	}
	return 0;
}

static int function_attribute(int *out, CUfunction_attribute a, CUfunction handle)
{
	struct fake_function *f = function(handle);

	return f ? attribute(out, a, f->entry, f->module->context->device->sm, f->max_dynamic,
			     f->carveout)
		 : 400;
}

static int kernel_attribute(int *out, CUfunction_attribute a, CUkernel handle, CUdevice device)
{
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);

	if (device < 0 || device >= fake_device_count)
		return 101;
	return k ? attribute(out, a, k->entry, fake_devices[device].sm, k->max_dynamic, -1) : 400;
}

static int set_attribute(struct fake_call *call, CUfunction handle, CUfunction_attribute a,
			 int value)
{
	struct fake_function *f = function(handle);

	if (fake_ours(call))
		fake_violation(call, "the recorder changes a function");
	if (f && a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		f->max_dynamic = value;
	if (f && a == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		f->carveout = value;
	return f ? (value > 232448 ? 1 : 0) : 400;
}

static int set_kernel_attribute(CUfunction_attribute a, int value, CUkernel handle)
{
	struct fake_kernel *k = fake_get(handle, FAKE_KERNEL);

	if (k && a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		k->max_dynamic = value;
	return k ? 0 : 400;
}

FAKE_SINGLE(cuFuncGetAttribute, (int *out, CUfunction_attribute a, CUfunction handle),
	    function_attribute(out, a, handle), "%d %s", (int)a, fake_name(handle, n1))
FAKE_SINGLE(cuKernelGetAttribute,
	    (int *out, CUfunction_attribute a, CUkernel handle, CUdevice device),
	    kernel_attribute(out, a, handle, device), "%d %s", (int)a, fake_name(handle, n1))
FAKE_SINGLE(cuFuncSetAttribute, (CUfunction handle, CUfunction_attribute a, int value),
	    set_attribute(&call, handle, a, value), "%s %d %d", fake_name(handle, n1), (int)a,
	    value)
FAKE_SINGLE(cuKernelSetAttribute,
	    (CUfunction_attribute a, int value, CUkernel handle, CUdevice device),
	    set_kernel_attribute(a, value, handle), "%s %d %d %d", fake_name(handle, n1), (int)a,
	    value, device)

/* ---- the linker: all its inputs' kernels in one new cubin, which it owns ---- */

struct fake_link {
	struct fake_object object;
	struct fake_image image;
	struct make_buffer output;
};

static int link_create(struct fake_call *call, CUlinkState *out)
{
	if (fake_ours(call))
		fake_violation(call, "the recorder links code");
	*out = (CUlinkState)(void *)fake_new(FAKE_LINK, sizeof(struct fake_link), call);
	return 0;
}

static int link_add(struct fake_call *call, CUlinkState handle, const void *data, const char *path)
{
	struct fake_link *l = fake_need(call, handle, FAKE_LINK);
	struct fake_image more;
	int result;

	if (!l)
		return 400;
	result = path ? fake_image_read_file(path, fake_devices[0].sm, &more)
		      : fake_image_read(data, fake_devices[0].sm, &more);
	if (result)
		return result;
	l->image.entry =
		realloc(l->image.entry, (l->image.entries + more.entries) * sizeof(*more.entry));
	memcpy(l->image.entry + l->image.entries, more.entry, more.entries * sizeof(*more.entry));
	l->image.entries += more.entries;
	return 0;
}

static int link_complete(struct fake_call *call, CUlinkState handle, void **out, size_t *bytes)
{
	struct fake_link *l = fake_need(call, handle, FAKE_LINK);
	struct make_kernel *kernels;

	if (!l)
		return 400;
	kernels = calloc(l->image.entries + 1, sizeof(*kernels));
	for (uint32_t i = 0; i < l->image.entries; i++)
		kernels[i] = (struct make_kernel){.name = l->image.entry[i].name,
						  .params = l->image.entry[i].param_count};
	l->output = make_cubin(fake_devices[0].sm, kernels, l->image.entries, 256);
	free(kernels);
	*out = l->output.at;
	if (bytes)
		*bytes = l->output.bytes;
	return 0;
}

static int link_destroy(struct fake_call *call, CUlinkState handle)
{
	struct fake_link *l = fake_need(call, handle, FAKE_LINK);

	if (!l)
		return 400;
	/* Whoever still looks at the output sees that it has gone. */
	if (l->output.at)
		memset(l->output.at, 0xdd, l->output.bytes);
	free(l->output.at);
	fake_free(l);
	return 0;
}

#define LINK_CREATE(symbol)                                                                       \
	FAKE_SINGLE(symbol, (unsigned n, CUjit_option *options, void **values, CUlinkState *out), \
		    link_create(&call, out), "%u %d%d -> %s", n, options != NULL, values != NULL, \
		    FAKE_MADE(out, n1))
#define LINK_ADD(symbol)                                                                  \
	FAKE_SINGLE(symbol,                                                               \
		    (CUlinkState handle, CUjitInputType type, void *data, size_t bytes,   \
		     const char *name, unsigned n, CUjit_option *options, void **values), \
		    link_add(&call, handle, data, NULL), "%s %d %zu %s %u %d%d",          \
		    fake_name(handle, n1), (int)type, bytes, name ? name : "-", n,        \
		    options != NULL, values != NULL)
#define LINK_FILE(symbol)                                                                   \
	FAKE_SINGLE(symbol,                                                                 \
		    (CUlinkState handle, CUjitInputType type, const char *path, unsigned n, \
		     CUjit_option *options, void **values),                                 \
		    link_add(&call, handle, NULL, path), "%s %d %s %u %d%d",                \
		    fake_name(handle, n1), (int)type, path, n, options != NULL, values != NULL)

LINK_CREATE(cuLinkCreate)
LINK_CREATE(cuLinkCreate_v2)
LINK_ADD(cuLinkAddData)
LINK_ADD(cuLinkAddData_v2)
LINK_FILE(cuLinkAddFile)
LINK_FILE(cuLinkAddFile_v2)
FAKE_SINGLE(cuLinkComplete, (CUlinkState handle, void **out, size_t *bytes),
	    link_complete(&call, handle, out, bytes), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuLinkDestroy, (CUlinkState handle), link_destroy(&call, handle), "%s",
	    fake_name(handle, n1))
