/*
 * timing.h - event pairs around sampled launches: pools per context, the gate, the sampler, the
 * harvest. Called by the launch wrappers; the drain thread does the reading.
 */
#ifndef KBN_SHIM_TIMING_H
#define KBN_SHIM_TIMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kbn_cuda.h"
#include "state.h"

struct kbn_context; /* registry.h: one context generation */

/* What the wrapper knows of a launch. */
struct kbn_launch {
	CUstream stream; /* exactly as received */
	bool ptsz;       /* entry point of the per-thread ABI: use the _ptsz event calls */
	bool gate_allowed; /* not cooperative, not a cluster, not a communication kernel, not the first launch */
	/*
	 * The same for a cluster of portable size (2 to 8 blocks): gated only once plain pairs have
	 * failed for this shape. A gate holds the stream, takes nothing on the GPU and opens after
	 * KBN_GATE_NS at the latest, so the blocks of a cluster start together as they would without.
	 */
	bool gate_late;
	bool pdl; /* programmatic attribute 6, 7 or 12 present: never an event on this stream again */
	struct kbn_context *context;
	struct kbn_shape *shape;
	uint64_t ordinal; /* launch number within the shape */
};

enum kbn_time_choice {
	KBN_TIME_SKIP,    /* by sampling: count sampled_out */
	KBN_TIME_UNABLE,  /* cannot be timed: count untimeable */
	KBN_TIME_BRACKET, /* start event is in the stream: launch, then kbn_time_end */
};

struct kbn_bracket {
	void *pair; /* private */
	uint64_t host_start_ns;
	uint64_t self_ns;    /* host time that kbn_time_begin took */
	uint32_t gate_value; /* 0 = not gated */
};

/*
 * Before the real launch, outside capture only. Applies the sampler, then gate and start event.
 * Leaves no trace in the stream unless it returns KBN_TIME_BRACKET.
 */
static inline enum kbn_time_choice kbn_time_begin(struct kbn_thread *t, const struct kbn_launch *l,
						  struct kbn_bracket *b);

/*
 * The whole of kbn_time_begin for a launch that the sampler has left out already, which is most of
 * them: false when it has not, and then kbn_time_begin must decide.
 */
static inline bool kbn_time_left_out(struct kbn_shape *s, bool pdl, enum kbn_time_choice *choice);

/*
 * After the real launch: stop event when it succeeded, opens the gate in any case, hands the pair
 * to the drain thread. Returns true when the launch must be counted as `bracketed`, false when the
 * stop event could not be recorded (count `untimeable`) or the launch failed.
 */
bool kbn_time_end(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b,
		  CUresult launched);

/*
 * Another launch goes into a stream while brackets are open: marks them contended, and their times
 * are counted as starved. To be called right before the real call. Cheap when no bracket is open.
 */
static inline void kbn_time_note_launch(struct kbn_thread *t, const struct kbn_launch *l);
static inline bool kbn_time_any_open(void); /* whether there is anybody to mark */

/* Gates must stay open while another thread is inside a load, free, synchronise or context call. */
void kbn_time_block_enter(void);
void kbn_time_block_leave(void);

/* Stream life, for the legacy-stream rule and PDL marks. `blocking` = created without NON_BLOCKING. */
void kbn_time_stream_created(struct kbn_context *c, CUstream s, bool blocking);
void kbn_time_stream_destroyed(struct kbn_context *c, CUstream s);

/*
 * A context is about to end (before the real destroy/reset/release): harvest what is complete,
 * give the rest up as lost, forget the pool's events. Waits for the drain thread to leave it.
 */
void kbn_time_context_gone(struct kbn_context *c);

/* No launch is timed any more. `why` is noted; NULL = the recording ends. */
void kbn_time_stop(const char *why);

/* In a forked child that records on its own: forget pools, brackets and pairs of the parent. */
void kbn_time_restart(void);

/* Start the drain thread (first launch). Idempotent; failure turns timing off, not recording. */
void kbn_drain_start(void);

/* Have the drain thread look soon, when it sleeps. Nothing before it has been started. Cheap. */
void kbn_drain_wake(void);

/*
 * Exit: stop sampling, poll outstanding pairs until `deadline_ns`, stop the drain
 * thread without joining it unconditionally. Returns the number of pairs left unresolved.
 */
uint32_t kbn_drain_finish(uint64_t deadline_ns);

/* ---- what the inline functions need ---- */

enum kbn_time_mode { KBN_MODE_UNKNOWN, KBN_MODE_ON, KBN_MODE_OFF, KBN_MODE_UNABLE };

#pragma GCC visibility push(hidden)
extern _Atomic uint32_t kbn_time_mode;
extern _Atomic uint32_t kbn_time_open_brackets;
#pragma GCC visibility pop

enum kbn_time_choice kbn_time_begin_slowly(struct kbn_thread *t, const struct kbn_launch *l,
					   struct kbn_bracket *b);
void kbn_time_note_launch_slowly(struct kbn_thread *t, const struct kbn_launch *l);

static inline bool kbn_time_left_out(struct kbn_shape *s, bool pdl, enum kbn_time_choice *choice)
{
	if (!s->skip || pdl)
		return false;
	s->skip--;
	*choice = atomic_load_explicit(&kbn_time_mode, memory_order_relaxed) == KBN_MODE_UNABLE
			  ? KBN_TIME_UNABLE
			  : KBN_TIME_SKIP;
	return true;
}

static inline enum kbn_time_choice kbn_time_begin(struct kbn_thread *t, const struct kbn_launch *l,
						  struct kbn_bracket *b)
{
	enum kbn_time_choice choice;

	b->pair = NULL;
	if (kbn_time_left_out(l->shape, l->pdl, &choice))
		return choice;
	return kbn_time_begin_slowly(t, l, b);
}

static inline bool kbn_time_any_open(void)
{
	return atomic_load_explicit(&kbn_time_open_brackets, memory_order_relaxed) != 0;
}

static inline void kbn_time_note_launch(struct kbn_thread *t, const struct kbn_launch *l)
{
	if (kbn_time_any_open())
		kbn_time_note_launch_slowly(t, l);
}

#endif
