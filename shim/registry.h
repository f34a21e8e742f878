/*
 * registry.h - driver handle → our id. Handles are reused by the driver, so every entry carries a
 * generation; readers take no lock.
 */
#ifndef KBN_SHIM_REGISTRY_H
#define KBN_SHIM_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kbn_cuda.h"
#include "state.h"

struct kbn_param {
	uint32_t offset, bytes;
};

struct kbn_kernel {  /* one (image, symbol); lives for the process */
	uint32_t id; /* of its KERNEL record, > 0 */
	uint32_t image;
	bool is_cukernel; /* the handle is a CUkernel: ask the cuKernel* family */
	bool filtered;    /* left out by KBN_KERNELS */
	bool is_comm;
	bool params_known;
	uint32_t param_count, param_bytes;
	const struct kbn_param *params;
	const char *name;
	int cluster[3];            /* compiled-in cluster shape, 0 = none */
	bool needs_cluster;        /* must be launched with a cluster shape */
	_Atomic bool launched;     /* has run once: until then code may still be loading */
	_Atomic uint64_t launches; /* for KBN_SKIP / KBN_COUNT; only touched when one is set */
};

struct kbn_context { /* one generation of a CUcontext */
	CUcontext handle;
	uint32_t id;     /* of its CONTEXT record */
	uint32_t device; /* our device id */
	CUdevice ordinal;
	_Atomic bool dead;      /* destroyed, reset, or ended with a sticky error */
	_Atomic(void *) timing; /* pool, owned by timing.c; NULL = not made yet */
};

#pragma GCC visibility push(hidden)
extern _Atomic uint64_t
	kbn_registry_generation; /* grows whenever a handle may have changed meaning */
#pragma GCC visibility pop

/* A handle may have changed its meaning: threads forget what they remember by handle. */
void kbn_registry_changed(void);

/* Modules and libraries. The image id may be 0. The second form: the module of a loaded library. */
void kbn_registry_module(CUmodule m, uint32_t image);
void kbn_registry_library_module(CUmodule m, CUlibrary l);
void kbn_registry_module_gone(CUmodule m);
void kbn_registry_library(CUlibrary l, uint32_t image);
void kbn_registry_library_gone(CUlibrary l);

/* Look-ups the program makes. Names are copied; NULL = ask the driver at the first launch. */
void kbn_registry_function(CUfunction f, CUmodule m, const char *name);
void kbn_registry_kernel(CUkernel k, CUlibrary l, const char *name);
void kbn_registry_kernel_function(CUfunction f, CUkernel k);

/*
 * The kernel behind a launch handle. Unknown handles are asked about once (name, module, library;
 * in RELAXED capture mode) and then kept. The KERNEL record is written when an entry is first
 * returned. Never NULL while recording: a handle that nothing is known of becomes a nameless
 * kernel; NULL only when memory has run out.
 */
struct kbn_kernel *kbn_registry_resolve(CUfunction f);

/*
 * The context a launch into `stream` belongs to; its CONTEXT and DEVICE record is written at first
 * sight. NULL = not known: no context is current, or nobody saw the stream being created, in which
 * case the driver is not asked either, for the handle may be no stream at all.
 */
struct kbn_context *kbn_registry_context(CUstream stream, bool ptsz);

/* The same for a thread that has just been refreshed. Inline for a stream launched into again. */
static inline struct kbn_context *kbn_registry_context_of(struct kbn_thread *t, CUstream stream);

/*
 * Whether a launch handle is known to work in one context only: a CUfunction; in a process that has
 * had but one context, a CUkernel too, which is what the CUDA runtime launches. Not where there are
 * green contexts, which share the functions of their parent.
 */
bool kbn_registry_has_home(CUfunction f);

/*
 * A context was created, or retained for the first time, or is in use. From the second one on, single
 * is false, and threads forget what they took for settled.
 */
void kbn_registry_context_made(CUcontext c);
bool kbn_registry_single(void);

/* A green context was created. */
void kbn_registry_greens(void);

/* Drop what the thread remembers of handles, when any handle may have changed its meaning. */
void kbn_registry_forget(struct kbn_thread *t, uint64_t generation);

static inline void kbn_registry_refresh(struct kbn_thread *t)
{
	const uint64_t g = atomic_load_explicit(&kbn_registry_generation, memory_order_acquire);

	if (t->registry_generation != g)
		kbn_registry_forget(t, g);
}

/* The special streams 0, 1, 2 belong to the current context, in either ABI. */
static inline bool kbn_stream_is_special(CUstream stream)
{
	return (uintptr_t)stream <= 2;
}

struct kbn_context *kbn_registry_current(struct kbn_thread *t);
struct kbn_context *kbn_registry_context_search(struct kbn_thread *t, CUstream stream);

static inline struct kbn_context *kbn_registry_context_of(struct kbn_thread *t, CUstream stream)
{
	if (kbn_stream_is_special(stream))
		return kbn_registry_current(t);
	if (t->last_stream.handle == (const void *)stream)
		return t->last_stream.context;
	return kbn_registry_context_search(t, stream);
}

/* Stream life. The handle is good: the driver has just returned it or has taken a launch into it. */
struct kbn_context *kbn_registry_stream(CUstream stream);
void kbn_registry_stream_gone(CUstream stream);

void kbn_registry_context_gone(CUcontext c);

/* The present generation of a context; NULL when nothing was launched in it. Makes no entry. */
struct kbn_context *kbn_registry_find_context(CUcontext c);

/* Which context a green context stands for, learned when a stream of it was seen. */
void kbn_registry_green(CUgreenCtx green, CUcontext c);
CUcontext kbn_registry_green_context(CUgreenCtx green);

/* Our id of a device; writes its DEVICE record at first sight. */
uint32_t kbn_registry_device(CUdevice ordinal);

/*
 * The result of a driver call of our own. A sticky error ends what we do in that context, quietly:
 * the program meets the same error by its own call. True when the error is of that kind.
 */
bool kbn_registry_error(struct kbn_context *c, CUresult result);

/* A child that begins its own recording knows nothing of its parent's handles. */
void kbn_registry_reset(void);
void kbn_contexts_reset(void); /* part of it */

/* Distinct compute capabilities of the process's devices, as SM numbers; count returned. */
int kbn_registry_sms(const int **sms);

#endif
