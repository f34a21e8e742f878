/*
 * state.h - whether and how this process records: start once, settings, fork, off switch, and the
 * per-thread state of launching threads.
 */
#ifndef KBN_SHIM_STATE_H
#define KBN_SHIM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kbn_env.h"
#include "kbn_trace.h"

struct kbn_slot;
struct kbn_kernel;
struct kbn_context;

/* Parsed settings; read-only after kbn_start. Texts point into the environment block's copy. */
struct kbn_settings {
	const char *text[KBN_ENV_N]; /* the raw values, defaults filled in */
	enum kbn_timing timing;
	uint32_t budget_ppm;
	uint64_t skip, count;
	bool selects; /* any of filter, skip, count, window is set */
	uint32_t slot_cap;
	uint32_t exit_wait_ms, seal_wait_ms;
	int params; /* 0 off, 1 scalars, 2 full */
	bool window_profiler, copies, quiet, defer;
	int rank, world, local_rank; /* from the launcher's variables, -1 = none */
};
#pragma GCC visibility push(hidden)
extern struct kbn_settings kbn_settings;
#pragma GCC visibility pop

/*
 * Called by the cuInit wrapper after each success. The first call in a process (or in a forked
 * child that initialises CUDA itself) reads the settings, opens the writer, records process and
 * devices and registers the exit handler. Never fails towards the caller.
 */
void kbn_start(void);

/*
 * True while this process records. False before cuInit, when off, and in a forked child. Cheap: one
 * word in a page that the kernel wipes at fork.
 */
static inline bool kbn_recording(void);

/*
 * Turn recording off for the rest of the process: one line on stderr (unless quiet), a note in the
 * log if there is one. Safe from any hook, any number of times; only the first speaks.
 */
void kbn_off(const char *why);

/* Nanoseconds of CLOCK_MONOTONIC since the recording started. */
uint64_t kbn_now_ns(void);

/*
 * Recursion guard. kbn_enter returns false when this thread is already inside kbn or inside a real
 * driver call made through us: the wrapper must then pass straight through, and not call leave.
 * The guard is the frame of the outermost wrapper. Its callees lie below it, so a guard above
 * which (or at which) we are now was left behind by a longjmp out of a signal handler: void.
 */
static inline bool kbn_enter(void);
static inline void kbn_leave(void);
static inline bool kbn_inside(void);

/* ---- per-thread state of launching threads; owned by its thread, recycled when it ends ---- */

struct kbn_shape { /* private accelerator state of one slot, beside the mapped slot */
	struct kbn_slot *slot;
	uint32_t index; /* of the slot in slots.kbn */
	uint32_t hash;
	uint64_t launches;    /* of any outcome that ran, for ordinals */
	uint32_t skip;        /* launches to leave untimed before the sampler is asked again */
	uint32_t sampled;     /* brackets issued so far */
	uint64_t params_next; /* launch whose parameters are to be taken, see params.h */
	struct kbn_kernel *kernel;
	uint32_t deadlines; /* gates of this shape that the deadline opened */
};

#define KBN_HANDLE_HITS 64u
#define KBN_RECENT_BITS 9 /* 512 shapes that are found without a search of the table */

struct kbn_context_hit { /* what a thread remembers of a handle's context; both NULL = nothing */
	const void *handle;
	struct kbn_context *context;
};

struct kbn_thread {
	uint32_t id;                        /* 0, 1, ...; index of its gate word */
	struct kbn_thread_slot *counts;     /* mapped; NULL when no slot could be had */
	uint64_t registry_generation;       /* the handles below are valid for this generation */
	struct kbn_context_hit last_stream; /* none of the special ones */
	struct kbn_context_hit current;     /* the context that was current last */
	struct kbn_shape **shapes; /* open-addressing table, capacity a power of two; NULL = free */
	uint32_t shapes_used, shapes_cap;
	uint8_t *params;         /* KBN_PARAM_BYTES of scratch for params.c; NULL = not made yet */
	uint32_t random;         /* state of timing.c's generator, not 0 */
	uint32_t in_use;         /* 1 while a thread owns it, stored atomically */
	struct kbn_thread *next; /* all states ever made */
	void *timing;            /* ring of open brackets, owned by timing.c */
	struct kbn_handle_hit {
		const void *handle;
		struct kbn_kernel *kernel;
	} handles[KBN_HANDLE_HITS]; /* direct-mapped */
	struct kbn_shape
		*recent[1u << KBN_RECENT_BITS]; /* direct-mapped, see launch.c; NULL = none */
};

/*
 * The calling thread's state, made at first use; NULL when it cannot be had (count as dropped).
 * A state is recycled when its thread has ended: the destructor only marks it free.
 */
static inline struct kbn_thread *kbn_self(void);

/* ---- what the inline functions above need ---- */

/* BY_PID: the kernel did not take the request to wipe the page at fork, so the pid is compared. */
enum kbn_live_word { KBN_LIVE = 1, KBN_LIVE_BY_PID = 2 };

/* Initial-exec TLS: an injected library has about 1.5 KB of it for all its variables. */
struct kbn_tls {
	uintptr_t frame; /* of the outermost wrapper, 0 = outside */
	struct kbn_thread *self;
	uint32_t epoch; /* recording that `self` belongs to, 0 = there is no `self` */
};
#pragma GCC visibility push(hidden)
extern __thread struct kbn_tls kbn_tls;

extern uint32_t kbn_epoch; /* recordings begun in this address space */
struct kbn_thread *kbn_thread_begin(void);

static inline struct kbn_thread *kbn_self(void)
{
	if (__builtin_expect(kbn_tls.epoch == kbn_epoch, 1))
		return kbn_tls.self;
	return kbn_thread_begin();
}

extern const volatile uint32_t *kbn_live; /* enum kbn_live_word; 0 = not recording */
#pragma GCC visibility pop
bool kbn_recording_by_pid(void);

static inline bool kbn_recording(void)
{
	const uint32_t live =
		__atomic_load_n(__atomic_load_n(&kbn_live, __ATOMIC_RELAXED), __ATOMIC_ACQUIRE);

	return live == KBN_LIVE || (live && kbn_recording_by_pid());
}

static inline __attribute__((always_inline)) bool kbn_inside(void)
{
	return (uintptr_t)__builtin_frame_address(0) < kbn_tls.frame;
}

static inline __attribute__((always_inline)) bool kbn_enter(void)
{
	if (kbn_inside())
		return false;
	kbn_tls.frame = (uintptr_t)__builtin_frame_address(0);
	return true;
}

static inline __attribute__((always_inline)) void kbn_leave(void)
{
	kbn_tls.frame = 0;
}

#endif
