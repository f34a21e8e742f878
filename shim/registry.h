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

struct kbn_param { uint32_t offset, bytes; };

struct kbn_kernel {            /* one (image, symbol); lives for the process */
	uint32_t id;               /* of its KERNEL record, > 0 */
	uint32_t image;
	bool is_cukernel;          /* the handle is a CUkernel: ask the cuKernel* family */
	bool filtered;             /* left out by KBN_KERNELS */
	bool is_comm;
	bool params_known;
	uint32_t param_count, param_bytes;
	const struct kbn_param *params;
	const char *name;
	_Atomic uint64_t launches; /* for KBN_SKIP / KBN_COUNT; only touched when one is set */
};

struct kbn_context {           /* one generation of a CUcontext */
	CUcontext handle;
	uint32_t id;               /* of its CONTEXT record */
	uint32_t device;           /* our device id */
	CUdevice ordinal;
	_Atomic bool dead;         /* destroyed, reset, or ended with a sticky error */
	_Atomic(void *) timing;    /* pool, owned by timing.c; NULL = not made yet */
};

extern _Atomic uint64_t kbn_registry_generation; /* grows whenever a handle may have changed meaning */

/* Modules and libraries. The image id may be 0. */
void kbn_registry_module(CUmodule m, uint32_t image);
void kbn_registry_module_gone(CUmodule m);
void kbn_registry_library(CUlibrary l, uint32_t image);
void kbn_registry_library_gone(CUlibrary l);

/* Look-ups the program makes. Names are copied. */
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

/* The context a launch into `stream` belongs to; writes its CONTEXT and DEVICE record at first sight. NULL = unknown. */
struct kbn_context *kbn_registry_context(CUstream stream, bool ptsz);
void kbn_registry_context_gone(CUcontext c);

/* Distinct compute capabilities of the process's devices, as SM numbers; count returned. */
int kbn_registry_sms(const int **sms);

#endif
