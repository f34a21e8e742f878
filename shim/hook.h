/*
 * hook.h - the hooked functions as data: wrapper, name and version of each (hooks.def), and the
 * pointers behind them. Serves dlsym and cuGetProcAddress alike. Nothing here allocates or locks
 * apart from the loader's own lock, and nothing touches dlerror.
 */
#ifndef KBN_SHIM_HOOK_H
#define KBN_SHIM_HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kbn_cuda.h"

/* Row numbers of hooks.def. */
enum kbn_row {
#define KBN_HOOK(symbol, base, version, abi, wrapper) KBN_ROW_##symbol,
#include "hooks.def"
#undef KBN_HOOK
	KBN_ROWS
};

/* One pointer per row of hooks.def and calls.def, NULL when there is no such function. */
struct kbn_real {
#define KBN_HOOK(symbol, base, version, abi, wrapper) __typeof__(symbol) *symbol;
#include "hooks.def"
#undef KBN_HOOK
#define KBN_CALL(symbol) __typeof__(symbol) *symbol;
#include "calls.def"
#undef KBN_CALL
};

/*
 * real:       what the program would have reached without us: the driver, or another interposer in
 *             front of it. Valid once kbn_ready() is true. Our own calls go through it too.
 * kbn_driver: the driver itself, for a wrapper that is entered again from inside a real call.
 */
#pragma GCC visibility push(hidden)
extern struct kbn_real real;
extern struct kbn_real kbn_driver;
#pragma GCC visibility pop

enum kbn_abi { KBN_ABI_PLAIN, KBN_ABI_PTSZ, KBN_ABI_PTDS };

enum kbn_group {
	KBN_GROUP_init,
	KBN_GROUP_resolve,
	KBN_GROUP_launch,
	KBN_GROUP_load,
	KBN_GROUP_unload,
	KBN_GROUP_lookup,
	KBN_GROUP_graph,
	KBN_GROUP_capture,
	KBN_GROUP_context,
	KBN_GROUP_stream,
	KBN_GROUP_profiler,
	KBN_GROUP_busy,
	KBN_GROUP_copy,
};

struct kbn_hook {
	const char *symbol; /* exported name */
	const char *base;   /* name for cuGetProcAddress */
	int version;        /* driver API version of this ABI */
	uint8_t abi;        /* enum kbn_abi */
	uint8_t group;      /* enum kbn_group */
	void *wrapper;
	size_t slot; /* offset of its pointer in struct kbn_real */
};

extern const struct kbn_hook kbn_hooks[];
extern const unsigned kbn_hook_count;

/* Row of an exported symbol, NULL when it is not hooked. */
const struct kbn_hook *kbn_hook_find(const char *symbol);

/* Row whose real pointer is `p`; one of that base name first when several symbols share a function. */
const struct kbn_hook *kbn_hook_of_pointer(const void *p, const char *base);

/*
 * Row that the driver would choose for cuGetProcAddress(base, version, flags): the newest ABI not
 * above `version`, the per-thread form when flag 2 asks for it and there is one. NULL = none.
 */
const struct kbn_hook *kbn_hook_of_version(const char *base, int version, cuuint64_t flags);

void *kbn_hook_real(const struct kbn_hook *h);

/*
 * Take `p` as the function behind `h` where none is known yet, or where another interposer stands
 * in front of the driver. True when the wrapper of `h` now leads to `p`.
 */
bool kbn_hook_adopt(const struct kbn_hook *h, void *p);

/*
 * Find the driver in the process and fill `real` and `kbn_driver`, by exported name from its own
 * symbol table. True when there is a driver. Any thread, any number of times.
 */
bool kbn_resolve(void);

/* The driver was closed and loaded elsewhere before it was first used: look again. */
bool kbn_resolve_again(void);

/* Address of `symbol` in the driver's own symbol table, NULL when there is none. */
void *kbn_driver_symbol(const char *symbol);

/* True when `handle`, as dlopen returned it, is the driver's. */
bool kbn_is_driver_handle(const void *handle);

/* KBN_COPIES=on: only then is the copy group handed out by look-ups. Usable before kbn_start. */
bool kbn_copies_wanted(void);

/* False when another copy of this library was preloaded in front of us: only one is to record. */
bool kbn_is_first(void);

/* True when this library stands before libc in the list of loaded objects: preloaded. */
bool kbn_preloaded(void);

/* glibc's dlsym and the next definition behind ours (another interposer's, else glibc's). */
typedef void *(*kbn_dlsym_fn)(void *handle, const char *name);
typedef void *(*kbn_dlvsym_fn)(void *handle, const char *name, const char *version);
kbn_dlsym_fn kbn_next_dlsym(void);
kbn_dlvsym_fn kbn_next_dlvsym(void);

#pragma GCC visibility push(hidden)
extern _Atomic bool kbn_resolved;
#pragma GCC visibility pop

static inline bool kbn_ready(void)
{
	return atomic_load_explicit(&kbn_resolved, memory_order_acquire) || kbn_resolve();
}

/* A wrapper: the exported symbol itself. */
#define KBN_WRAP(symbol) __attribute__((visibility("default"))) CUresult symbol

#define KBN_CALL_OF(table, symbol, ...)                                                          \
	({                                                                                       \
		__typeof__(symbol) *f_ =                                                         \
			kbn_ready() ? __atomic_load_n(&(table).symbol, __ATOMIC_RELAXED) : NULL; \
		f_ ? f_(__VA_ARGS__) : CUDA_ERROR_STUB_LIBRARY;                                  \
	})

/* The real call of a wrapper; 34 when there is nothing behind it. */
#define KBN_REAL(symbol, ...) KBN_CALL_OF(real, symbol, __VA_ARGS__)

/* The same where the driver is known to have been found: while recording. */
#define KBN_FOUND(symbol, ...)                                                            \
	({                                                                                \
		__typeof__(symbol) *f_ = __atomic_load_n(&real.symbol, __ATOMIC_RELAXED); \
		f_ ? f_(__VA_ARGS__) : CUDA_ERROR_STUB_LIBRARY;                           \
	})

/* The real call of a wrapper that was entered from inside another real call. */
#define KBN_PASS(symbol, ...) KBN_CALL_OF(kbn_driver, symbol, __VA_ARGS__)

/*
 * Our own driver calls happen in RELAXED capture mode: in the others even a query from this thread
 * would invalidate the program's capture. leave restores exactly what enter found.
 */
struct kbn_relaxed {
	CUstreamCaptureMode mode;
	bool exchanged;
};

static inline struct kbn_relaxed kbn_relaxed_enter(void)
{
	struct kbn_relaxed r = {CU_STREAM_CAPTURE_MODE_RELAXED, false};

	if (real.cuThreadExchangeStreamCaptureMode)
		r.exchanged = real.cuThreadExchangeStreamCaptureMode(&r.mode) == CUDA_SUCCESS;
	return r;
}

static inline void kbn_relaxed_leave(struct kbn_relaxed *r)
{
	if (r->exchanged)
		real.cuThreadExchangeStreamCaptureMode(&r->mode);
}

#endif
