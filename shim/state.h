/*
 * state.h - whether and how this process records: start once, settings, fork, off switch, and the
 * per-thread state of launching threads.
 */
#ifndef KBN_SHIM_STATE_H
#define KBN_SHIM_STATE_H

/* Variables that every launch reads: together in one or two cache lines, cold in a real program. */
#define KBN_HOT __attribute__((section("kbn_hot"), aligned(8)))

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
	uint32_t slot_cap;
	uint32_t exit_wait_ms, seal_wait_ms;
	int params; /* 0 off, 1 scalars, 2 full */
	bool window_profiler, copies, quiet, defer;
	int rank, world, local_rank; /* from the launcher's variables, -1 = none */
};
#pragma GCC visibility push(hidden)
extern struct kbn_settings kbn_settings;
extern bool kbn_selects; /* any of filter, skip, count, window is set */
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
 * The guard is the frame of the outermost wrapper. A longjmp out of a real call (from a signal handler)
 * leaves it behind. It is void when we are not below it, when its place on the stack holds something
 * else by now, or when more calls came under it than one driver call makes. The launch that was left, and
 * those that passed through under a guard that turns out to be void, count as dropped: no loss is
 * silent.
 */
static inline bool kbn_enter(void);
static inline bool kbn_enter_launch(void); /* the same for a launch that is counted as seen */
static inline void kbn_leave(void);
static inline bool kbn_inside(void);

/*
 * In a wrapper, after its real call: the guard is still its own. It is not when a signal handler on a
 * stack that lies above ours has called the driver meanwhile. To that call our guard was void, and the
 * launch has been counted as dropped: it must not be counted once more.
 */
static inline bool kbn_is_guard(void);

/* A launch wrapper that was told to pass through says so. */
static inline void kbn_passed_launch(void);

/* ---- per-thread state of launching threads; owned by its thread, recycled when it ends ---- */

/*
 * What a launch asks for, apart from function and stream. Written and compared in words of eight
 * bytes only: a processor that has just stored two halves makes a load of the whole wait until both
 * have left for the cache, and behind a launch that is a long time.
 */
struct kbn_asked {
	uint32_t flags; /* enum kbn_slot_flag */
	uint32_t grid[3], block[3];
	uint32_t cluster[3]; /* 0,0,0 = none asked for */
	uint32_t dyn_smem_bytes, reserved;
};

/*
 * Private state of one slot, beside the mapped slot. In a real program all of it is cold when a
 * launch comes: two lines side by side, and of the mapped slot only the counters.
 */
struct kbn_shape {
	struct kbn_slot *slot;
	uint64_t launches;    /* of any outcome that ran, for ordinals */
	uint64_t params_next; /* launch whose parameters are to be taken, see params.h */
	uint32_t skip;        /* launches to leave untimed before the sampler is asked again */
	uint32_t sampled;     /* brackets issued so far */

	/*
	 * How it was launched last, with success: the same needs no search while no handle has changed
	 * its meaning.
	 */
	const void *function, *stream;
	uint64_t generation; /* of handles; 0 = search */
	struct kbn_context *context;
	struct kbn_asked asked;

	uint32_t index; /* of the slot in slots.kbn */
	uint32_t hash;
	uint32_t deadlines; /* gates of this shape that the deadline opened */
};
_Static_assert(sizeof(struct kbn_shape) == 128 && offsetof(struct kbn_shape, asked) == 64,
	       "two cache lines");

#define KBN_HANDLE_HITS 64u
#define KBN_RECENT_BITS 10 /* 1,024 pairs of shapes that are found without a search of the table */

struct kbn_context_hit { /* what a thread remembers of a handle's context; both NULL = nothing */
	const void *handle;
	struct kbn_context *context;
};

struct kbn_thread {
	struct kbn_thread_slot *counts;     /* mapped; NULL when no slot could be had */
	uint32_t busy;                      /* 1 = may call the driver for us, see kbn_busy_enter */
	uint32_t id;                        /* 0, 1, ...; index of its gate word */
	uint64_t registry_generation;       /* the handles below are valid for this generation */
	struct kbn_context_hit last_stream; /* none of the special ones */
	struct kbn_context_hit current;     /* the context that was current last */
	struct kbn_shape **shapes; /* open-addressing table, capacity a power of two; NULL = free */
	uint32_t shapes_used, shapes_cap;
	uint8_t *params; /* KBN_PARAM_BYTES of scratch for params.c; NULL = not made yet */
	uint32_t random; /* state of timing.c's generator, not 0 */
	uint32_t owner;  /* kernel's id of the thread that has it, 0 = free; stored atomically */
	struct kbn_thread *next; /* all states ever made */
	void *timing;            /* ring of open brackets, owned by timing.c */
	struct kbn_handle_hit {
		const void *handle;
		struct kbn_kernel *kernel;
		struct kbn_context *home; /* of a CUfunction that ran in it; NULL = not known */
	} handles[KBN_HANDLE_HITS];       /* direct-mapped */
	struct kbn_shape *recent[1u << KBN_RECENT_BITS][2]; /* see launch.c; NULL = none */
};

/*
 * The calling thread's state, made at first use; NULL when it cannot be had (count as dropped).
 * A state is recycled when its thread has ended: the destructor only marks it free.
 */
static inline struct kbn_thread *kbn_self(void);

/*
 * Around the bookkeeping of a launch, in which driver calls of our own are made: false when the
 * recording has ended, and then there must be none. The exiting thread ends the recording, makes
 * every processor see that, and waits for threads that came in before. Not around the real call.
 */
static inline bool kbn_busy_enter(struct kbn_thread *t);
static inline void kbn_busy_leave(struct kbn_thread *t);

/* ---- what the inline functions above need ---- */

/* BY_PID: the kernel did not take the request to wipe the page at fork, so the pid is compared. */
enum kbn_live_word { KBN_LIVE = 1, KBN_LIVE_BY_PID = 2 };

/* Initial-exec TLS: an injected library has about 1.5 KB of it for all its variables. One line. */
struct kbn_tls {
	uintptr_t frame;  /* of the outermost wrapper, 0 = outside */
	uintptr_t caller; /* return address in that frame: it is there while the wrapper runs */
	struct kbn_thread *self;
	uint32_t epoch; /* recording that `self` belongs to, 0 = there is no `self` */
	struct kbn_passed {
		uint32_t calls;
		uint16_t launches;
		uint16_t own; /* 1 = the guard itself is that of a launch */
	} passed;             /* straight through under this guard */
} __attribute__((aligned(64)));
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

static inline uint32_t kbn_live_now(void)
{
	return __atomic_load_n(__atomic_load_n(&kbn_live, __ATOMIC_RELAXED), __ATOMIC_ACQUIRE);
}

static inline bool kbn_recording(void)
{
	const uint32_t live = kbn_live_now();

	return live == KBN_LIVE || (live && kbn_recording_by_pid());
}

static inline bool kbn_busy_enter(struct kbn_thread *t)
{
	__atomic_store_n(&t->busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the processor's part is the exiting thread's */
	return kbn_recording();
}

static inline void kbn_busy_leave(struct kbn_thread *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* Whether the guard above us is still that of a running wrapper. */
bool kbn_guard_holds(void);

/* There is a guard: false when it holds. Else it is void, and what passed under it is counted. */
bool kbn_enter_again(uintptr_t frame);

static inline __attribute__((always_inline)) bool kbn_inside(void)
{
	return (uintptr_t)__builtin_frame_address(0) < kbn_tls.frame && kbn_guard_holds();
}

/* The two words at a frame address are the caller's frame and the return address. */
static inline __attribute__((always_inline)) bool kbn_enter_as(uint16_t own)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (__builtin_expect(kbn_tls.frame != 0, 0) && !kbn_enter_again(frame))
		return false;
	kbn_tls.caller = ((const uintptr_t *)frame)[1];
	kbn_tls.passed = (struct kbn_passed){0, 0, own};
	kbn_tls.frame = frame;
	return true;
}

static inline __attribute__((always_inline)) bool kbn_enter(void)
{
	return kbn_enter_as(0);
}

static inline __attribute__((always_inline)) bool kbn_enter_launch(void)
{
	return kbn_enter_as(1);
}

static inline __attribute__((always_inline)) bool kbn_is_guard(void)
{
	return kbn_tls.frame == (uintptr_t)__builtin_frame_address(0);
}

static inline __attribute__((always_inline)) void kbn_leave(void)
{
	kbn_tls.frame = 0;
}

/*
 * For `return f(...)` after kbn_enter: keeps f from being jumped to. Such a call has taken the frame
 * that is the guard off the stack, on aarch64 at least, and what passes under it looks like a program's.
 */
#define KBN_KEEP_FRAME(result) __asm__ volatile("" : "+r"(result))

static inline void kbn_passed_launch(void)
{
	kbn_tls.passed.launches++;
}

#endif
