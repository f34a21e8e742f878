/*
 * registry.c - modules, libraries, and the kernels behind launch handles.
 *
 * Input: the loads and look-ups that the wrappers saw, and the driver's answers for handles that
 * came by another way. Output: struct kbn_kernel with its KERNEL record, one per (image, symbol),
 * however many handles lead to it. Contexts and devices are in contexts.c.
 */
#include "registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>

#include "hook.h"
#include "kbn_hash.h"
#include "map.h"
#include "settings.h"
#include "state.h"
#include "writer.h"

#define MAX_PARAMS 1024 /* parameters of one kernel that are remembered */

KBN_HOT _Atomic uint64_t kbn_registry_generation = 1;

/* One handle value of a module or library. Counts how often the value was given out. */
struct owner {
	_Atomic uint32_t image;
	_Atomic uint32_t generation; /* odd = loaded now */
};

/* A CUfunction or CUkernel. Only the generation ever changes once it is in the map. */
struct handle {
	struct owner *owner; /* NULL = not known */
	uint32_t image;      /* of the owner then */
	/* of the owner when the handle was given out, or given out again for the same code */
	_Atomic uint32_t generation;
	bool is_cukernel;
	const char *name; /* NULL = not known yet */
	const void *twin; /* the CUkernel that this CUfunction stands for, else NULL */
	_Atomic(struct kbn_kernel *) kernel;
};

KBN_MAP(modules, 1024);
KBN_MAP(libraries, 1024);
KBN_MAP(handles, 16384);
KBN_MAP(kernels, 16384); /* by hash of image and name */
KBN_MAP(named, 16384);   /* by hash of the name: where a library kernel of that name is from */

/* The library that has a kernel of some name; two libraries with the name are no help. */
struct origin {
	struct owner *owner;
	_Atomic uint32_t generation;
	_Atomic bool is_ambiguous;
};

static _Atomic uint32_t kernel_count;

void kbn_registry_changed(void)
{
	atomic_fetch_add_explicit(&kbn_registry_generation, 1, memory_order_release);
}

void kbn_registry_forget(struct kbn_thread *t, uint64_t generation)
{
	memset(t->handles, 0, sizeof(t->handles));
	t->last_stream = t->current = (struct kbn_context_hit){NULL, NULL};
	t->registry_generation = generation;
}

/* ------------------------------------------------------------------------ modules and libraries */

static void owner_loaded(struct kbn_map *map, const void *handle, uint32_t image)
{
	struct owner *o = kbn_map_get(map, handle), *fresh;
	uint32_t g;

	if (!o) {
		fresh = kbn_alloc(sizeof(*fresh));
		if (!fresh)
			return;
		o = kbn_map_add(map, handle, fresh);
	}
	atomic_store(&o->image, image);
	g = atomic_load(&o->generation);
	/* Loaded already: an unload was not seen, or (a library's module) it is the same load. */
	atomic_store(&o->generation, g & 1 ? g + 2 : g + 1);
	kbn_registry_changed();
}

static void owner_gone(struct kbn_map *map, const void *handle)
{
	struct owner *o = kbn_map_get(map, handle);

	if (o && atomic_load(&o->generation) & 1)
		atomic_fetch_add(&o->generation, 1);
	kbn_registry_changed();
}

void kbn_registry_module(CUmodule m, uint32_t image)
{
	owner_loaded(&modules, m, image);
}

void kbn_registry_module_gone(CUmodule m)
{
	owner_gone(&modules, m);
}

void kbn_registry_library(CUlibrary l, uint32_t image)
{
	owner_loaded(&libraries, l, image);
}

void kbn_registry_library_gone(CUlibrary l)
{
	owner_gone(&libraries, l);
}

void kbn_registry_library_module(CUmodule m, CUlibrary l)
{
	const struct owner *library = kbn_map_get(&libraries, l),
			   *module = kbn_map_get(&modules, m);
	const uint32_t image = library ? atomic_load(&library->image) : 0;

	if (!module || atomic_load(&module->image) != image)
		owner_loaded(&modules, m, image);
}

/* --------------------------------------------------------------------------------------- handles */

static const char *copy_name(const char *name)
{
	const size_t n = strlen(name) + 1;
	char *c = kbn_alloc(n);

	return c ? memcpy(c, name, n) : NULL;
}

static bool is_current(const struct handle *h)
{
	return !h->owner || atomic_load(&h->owner->generation) == atomic_load(&h->generation);
}

/* The map knows no NULL, but programs launch it, perhaps again and again. */
static const void *handle_key(const void *value)
{
	static const char null;

	return value ? value : &null;
}

/* Without a name only an entry of the same load can be meant. */
static bool is_same(const struct handle *h, const struct handle *wanted)
{
	if (!wanted->name && atomic_load(&h->generation) != atomic_load(&wanted->generation))
		return false;
	return h->owner == wanted->owner && h->image == wanted->image &&
	       h->is_cukernel == wanted->is_cukernel && h->twin == wanted->twin &&
	       (!wanted->name || (h->name && !strcmp(h->name, wanted->name)));
}

static struct handle *handle_add(const void *value, struct owner *owner, bool is_cukernel,
				 const char *name, const void *twin)
{
	const struct handle wanted = {
		.owner = owner,
		.image = owner ? atomic_load(&owner->image) : 0,
		.generation = owner ? atomic_load(&owner->generation) : 0,
		.is_cukernel = is_cukernel,
		.name = name,
		.twin = twin,
	};
	struct handle *h = kbn_map_get(&handles, handle_key(value));

	/*
	 * Programs ask for the same function again and again, and load the same code again and again,
	 * which mostly gives the same handles.
	 */
	if (h && is_same(h, &wanted)) {
		if (atomic_exchange(&h->generation, wanted.generation) != wanted.generation)
			kbn_registry_changed();
		return h;
	}
	h = kbn_alloc(sizeof(*h));
	if (!h)
		return NULL;
	h->owner = wanted.owner;
	h->image = wanted.image;
	atomic_store(&h->generation, wanted.generation);
	h->is_cukernel = is_cukernel;
	h->name = name ? copy_name(name) : NULL;
	h->twin = twin;
	kbn_map_put(&handles, handle_key(value), h);
	kbn_registry_changed();
	return h;
}

void kbn_registry_function(CUfunction f, CUmodule m, const char *name)
{
	if (f)
		handle_add(f, kbn_map_get(&modules, m), false, name, NULL);
}

static const void *name_key(const char *name)
{
	return (const void *)(uintptr_t)(kbn_hash64(name, strlen(name)) | 1);
}

static void remember_origin(const char *name, struct owner *owner)
{
	struct origin *o = kbn_map_get(&named, name_key(name));

	if (o && o->owner == owner) { /* the same library, loaded again perhaps */
		const uint32_t now = atomic_load(&owner->generation);

		if (atomic_exchange(&o->generation, now) != now)
			atomic_store(&o->is_ambiguous, false);
		return;
	}
	if (o && atomic_load(&o->owner->generation) == o->generation) {
		atomic_store(&o->is_ambiguous, true);
		return;
	}
	o = kbn_alloc(sizeof(*o));
	if (!o)
		return;
	o->owner = owner;
	o->generation = atomic_load(&owner->generation);
	kbn_map_put(&named, name_key(name), o);
}

void kbn_registry_kernel(CUkernel k, CUlibrary l, const char *name)
{
	struct owner *owner = kbn_map_get(&libraries, l);

	if (!k)
		return;
	handle_add(k, owner, true, name, NULL);
	if (owner && name)
		remember_origin(name, owner);
}

void kbn_registry_kernel_function(CUfunction f, CUkernel k)
{
	const struct handle *kernel = kbn_map_get(&handles, k);

	/* Drivers may give the same value out for both: then the kernel's entry says it all. */
	if (f && (const void *)f != (const void *)k)
		handle_add(f, kernel ? kernel->owner : NULL, false, kernel ? kernel->name : NULL,
			   k);
}

/* ------------------------------------------------------------------- asking the driver for facts */

/*
 * Nodes of a graph name a library's kernel by a CUfunction whose module nobody ever saw. The name
 * leads to the library where only one has it.
 */
static struct owner *owner_of(CUmodule m, const char *name)
{
	struct owner *module = kbn_map_get(&modules, m);
	const struct origin *o = name ? kbn_map_get(&named, name_key(name)) : NULL;

	if (module || !o || atomic_load(&o->is_ambiguous) ||
	    atomic_load(&o->owner->generation) != o->generation)
		return module;
	return o->owner;
}

/* A launch handle that no look-up of ours gave out. RELAXED mode. */
static struct handle *ask_handle(CUfunction f)
{
	const char *name = NULL;
	CUmodule m = NULL;
	CUlibrary l = NULL;

	if (real.cuFuncGetModule && real.cuFuncGetModule(&m, f) == CUDA_SUCCESS) {
		if (real.cuFuncGetName && real.cuFuncGetName(&name, f) != CUDA_SUCCESS)
			name = NULL;
		return handle_add(f, owner_of(m, name), false, name ? name : "", NULL);
	}
	if (real.cuKernelGetName && real.cuKernelGetName(&name, (CUkernel)f) == CUDA_SUCCESS) {
		if (!real.cuKernelGetLibrary ||
		    real.cuKernelGetLibrary(&l, (CUkernel)f) != CUDA_SUCCESS)
			l = NULL;
		return handle_add(f, kbn_map_get(&libraries, l), true, name ? name : "", NULL);
	}
	return handle_add(f, NULL, false, "", NULL);
}

/* The name of a handle that came out of an enumeration. */
static const char *name_of(const struct handle *h, CUfunction f)
{
	const char *name = NULL;
	CUresult r = CUDA_ERROR_NOT_FOUND;

	if (h->name)
		return h->name;
	if (h->is_cukernel && real.cuKernelGetName)
		r = real.cuKernelGetName(&name, (CUkernel)f);
	else if (!h->is_cukernel && real.cuFuncGetName)
		r = real.cuFuncGetName(&name, f);
	return r == CUDA_SUCCESS && name ? name : "";
}

/* Device that a CUkernel is asked about: that of the current context. */
static CUdevice current_device(void)
{
	CUdevice d = 0;

	if (!real.cuCtxGetDevice || real.cuCtxGetDevice(&d) != CUDA_SUCCESS)
		d = 0;
	return d;
}

static int32_t attribute(const struct handle *h, CUfunction f, CUdevice d, CUfunction_attribute a)
{
	int v = 0;
	CUresult r = CUDA_ERROR_NOT_FOUND;

	if (h->is_cukernel && real.cuKernelGetAttribute)
		r = real.cuKernelGetAttribute(&v, a, (CUkernel)f, d);
	else if (!h->is_cukernel && real.cuFuncGetAttribute)
		r = real.cuFuncGetAttribute(&v, a, f);
	return r == CUDA_SUCCESS ? v : -1;
}

static CUresult param_info(const struct handle *h, CUfunction f, size_t i, struct kbn_param *p)
{
	size_t offset = 0, bytes = 0;
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (h->is_cukernel && real.cuKernelGetParamInfo)
		r = real.cuKernelGetParamInfo((CUkernel)f, i, &offset, &bytes);
	else if (!h->is_cukernel && real.cuFuncGetParamInfo)
		r = real.cuFuncGetParamInfo(f, i, &offset, &bytes);
	*p = (struct kbn_param){(uint32_t)offset, (uint32_t)bytes};
	return r;
}

/* The table is exact only when the driver said itself where it ends. */
static void ask_params(struct kbn_kernel *k, const struct handle *h, CUfunction f)
{
	struct kbn_param p, *table;
	uint32_t n = 0;
	CUresult r;

	while ((r = param_info(h, f, n, &p)) == CUDA_SUCCESS && n < MAX_PARAMS)
		n++;
	if (r != CUDA_ERROR_INVALID_VALUE)
		return;
	table = n ? kbn_alloc(n * sizeof(*table)) : NULL;
	if (n && !table)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (param_info(h, f, i, &table[i]) != CUDA_SUCCESS)
			return;
		if (table[i].offset + table[i].bytes > k->param_bytes)
			k->param_bytes = table[i].offset + table[i].bytes;
	}
	k->params = table;
	k->param_count = n;
	k->params_known = true;
}

/* --------------------------------------------------------------------------------------- kernels */

static bool contains(const char *name, const char *word)
{
	const size_t n = strlen(word);

	for (; *name; name++)
		if (!strncasecmp(name, word, n))
			return true;
	return false;
}

/* Kernels that wait for other processes: holding one back behind a gate holds back all ranks. */
static bool is_communication(const char *name)
{
	static const char *const words[] = {
		"nccl",       "nvshmem",       "allreduce",      "all_reduce",          "allgather",
		"all_gather", "reducescatter", "reduce_scatter", "cross_device_reduce", "multimem",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (contains(name, words[i]))
			return true;
	return false;
}

static void record_kernel(const struct kbn_kernel *k, const struct handle *h, CUfunction f)
{
	const CUdevice d = h->is_cukernel ? current_device() : 0;
	const size_t name_bytes = strlen(k->name);
	struct kbn_rec_kernel r = {
		.kernel = k->id,
		.image = k->image,
		.registers = attribute(h, f, d, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.static_smem_bytes = attribute(h, f, d, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.local_bytes = attribute(h, f, d, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
		.const_bytes = attribute(h, f, d, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
		.max_threads = attribute(h, f, d, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		.binary_version = attribute(h, f, d, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
		.ptx_version = attribute(h, f, d, CU_FUNC_ATTRIBUTE_PTX_VERSION),
		.max_dyn_smem_bytes =
			attribute(h, f, d, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
		.carveout = attribute(h, f, d, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
		.cluster = {k->cluster[0], k->cluster[1], k->cluster[2]},
		.params = k->param_count,
		.name_bytes = (uint32_t)name_bytes,
		.flags = (k->params_known ? KBN_KERNEL_PARAMS_KNOWN : 0) |
			 (k->is_comm ? KBN_KERNEL_COMM : 0),
	};

	kbn_log_append(KBN_REC_KERNEL, 0,
		       (struct iovec[]){{&r, sizeof(r)},
					{(void *)k->params, k->param_count * sizeof(*k->params)},
					{(void *)k->name, name_bytes}},
		       3);
}

static struct kbn_kernel *kernel_make(const struct handle *h, CUfunction f, uint32_t image,
				      const char *name)
{
	const CUdevice d = h->is_cukernel ? current_device() : 0;
	struct kbn_kernel *k = kbn_alloc(sizeof(*k));

	if (!k)
		return NULL;
	k->image = image;
	k->name = copy_name(name);
	if (!k->name)
		return NULL;
	k->is_cukernel = h->is_cukernel;
	k->is_comm = is_communication(name);
	k->filtered = !kbn_kernel_wanted(name);
	for (int i = 0; i < 3; i++) {
		const int v = attribute(h, f, d, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i);

		k->cluster[i] = v > 0 ? v : 0;
	}
	k->needs_cluster = attribute(h, f, d, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) == 1;
	ask_params(k, h, f);
	return k;
}

/* The kernel of (image, name), made when it is new. Kernels that share a hash go to the next key. */
static struct kbn_kernel *kernel_of(const struct handle *h, CUfunction f)
{
	const uint32_t image = h->owner ? atomic_load(&h->owner->image) : 0;
	const char *name = name_of(h, f);
	uint64_t key = kbn_hash64(name, strlen(name)) ^ image * 0x9e3779b97f4a7c15u;
	struct kbn_kernel *k, *fresh = NULL;

	if (!*name) /* nothing tells nameless kernels apart but their handles */
		key ^= (uint64_t)(uintptr_t)f;
	for (key |= 1;; key += 2) {
		k = kbn_map_get(&kernels, (const void *)(uintptr_t)key);
		if (!k) {
			if (!fresh)
				fresh = kernel_make(h, f, image, name);
			if (!fresh)
				return NULL;
			fresh->id = atomic_fetch_add(&kernel_count, 1) + 1;
			k = kbn_map_add(&kernels, (const void *)(uintptr_t)key, fresh);
			if (k == fresh) {
				record_kernel(k, h, f);
				return k;
			}
		}
		if (k->image == image && !strcmp(k->name, name))
			return k;
	}
}

static struct kbn_kernel *resolve_slowly(CUfunction f)
{
	struct handle *h = kbn_map_get(&handles, handle_key(f));
	struct kbn_kernel *k;

	if (h && !is_current(h))
		h = NULL;
	if (!h)
		h = ask_handle(f);
	if (!h)
		return NULL;
	k = atomic_load(&h->kernel);
	if (k)
		return k;
	k = kernel_of(h, f);
	atomic_store(&h->kernel, k);
	return k;
}

struct kbn_kernel *kbn_registry_resolve(CUfunction f)
{
	struct handle *h = kbn_map_get(&handles, handle_key(f));
	struct kbn_kernel *k = h && is_current(h) ? atomic_load(&h->kernel) : NULL;
	struct kbn_relaxed relaxed;
	int saved_errno;

	if (k)
		return k;
	saved_errno = errno;
	relaxed = kbn_relaxed_enter();
	k = resolve_slowly(f);
	kbn_relaxed_leave(&relaxed);
	errno = saved_errno;
	return k;
}

static _Atomic bool has_greens;

bool kbn_registry_has_home(CUfunction f)
{
	const struct handle *h = kbn_map_get(&handles, handle_key(f));

	return h && h->owner && is_current(h) && (!h->is_cukernel || kbn_registry_single()) &&
	       !atomic_load(&has_greens);
}

void kbn_registry_greens(void)
{
	if (!atomic_exchange(&has_greens, true))
		kbn_registry_changed(); /* threads forget what they took for settled */
}

void kbn_registry_reset(void)
{
	kbn_map_reset(&modules);
	kbn_map_reset(&libraries);
	kbn_map_reset(&handles);
	kbn_map_reset(&kernels);
	kbn_map_reset(&named);
	kbn_contexts_reset();
	atomic_store(&kernel_count, 0);
	kbn_registry_changed();
}
