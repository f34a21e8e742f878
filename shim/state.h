/*
 * state.h - whether and how this process records: start once, settings, fork, off switch, and the
 * per-thread state of launching threads.
 */
#ifndef KBN_SHIM_STATE_H
#define KBN_SHIM_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kbn_env.h"
#include "kbn_trace.h"

struct kbn_slot;

/* Parsed settings; read-only after kbn_start. Texts point into the environment block's copy. */
struct kbn_settings {
	const char *text[KBN_ENV_N]; /* the raw values, defaults filled in */
	enum kbn_timing timing;
	uint32_t budget_ppm;
	uint64_t skip, count;
	uint32_t slot_cap;
	uint32_t exit_wait_ms, seal_wait_ms;
	int params;              /* 0 off, 1 scalars, 2 full */
	bool window_profiler, copies, quiet, defer;
	int rank, world, local_rank; /* from the launcher's variables, -1 = none */
};
extern struct kbn_settings kbn_settings;

/*
 * Called by the cuInit wrapper after each success. The first call in a process (or in a forked
 * child that initialises CUDA itself) reads the settings, opens the writer, records process and
 * devices and registers the exit handler. Never fails towards the caller.
 */
void kbn_start(void);

/* True while this process records. False before cuInit, when off, and in a forked child. Cheap. */
bool kbn_recording(void);

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
 */
bool kbn_enter(void);
void kbn_leave(void);

/* ---- per-thread state of launching threads; owned by its thread, recycled when it ends ---- */

struct kbn_shape {       /* private accelerator state of one slot, beside the mapped slot */
	struct kbn_slot *slot;
	uint32_t index;      /* of the slot in slots.kbn */
	uint32_t hash;
	uint64_t launches;   /* of any outcome that ran, for ordinals */
	uint32_t skip;       /* launches to leave untimed before the sampler is asked again */
	uint32_t sampled;    /* brackets issued so far */
	uint32_t params_taken;
	uint32_t deadlines;  /* gates of this shape that the deadline opened */
};

struct kbn_thread {
	uint32_t id;                     /* 0, 1, ...; index of its gate word */
	struct kbn_thread_slot *counts;  /* mapped; NULL when no slot could be had */
	struct kbn_shape *shapes;        /* open-addressing table, capacity a power of two */
	uint32_t shapes_used, shapes_cap;
	struct kbn_shape *last;          /* hit cache */
	uint64_t registry_generation;    /* handle cache is valid for this generation */
	const void *last_handle;
	struct kbn_kernel *last_kernel;
	/* sampler: see timing.c */
	uint64_t budget_clock_ns;
	int64_t credit_ns;
	uint32_t random;
	struct kbn_thread *next_free;
	void *timing;                    /* ring of open brackets, owned by timing.c */
};

/* The calling thread's state, made at first use; NULL when it cannot be had (count as dropped). */
struct kbn_thread *kbn_self(void);

#endif
