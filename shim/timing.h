/*
 * timing.h - event pairs around sampled launches: pools per context, the gate, the sampler, the
 * harvest. Called by the launch wrappers; the drain thread does the reading.
 */
#ifndef KBN_SHIM_TIMING_H
#define KBN_SHIM_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "kbn_cuda.h"
#include "state.h"

struct kbn_context; /* registry.h: one context generation */

/* What the wrapper knows of a launch. */
struct kbn_launch {
	CUstream stream;        /* exactly as received */
	bool ptsz;              /* entry point of the per-thread ABI: use the _ptsz event calls */
	bool gate_allowed;      /* not cooperative, not cluster-synchronising, not a communication kernel, not first launch */
	bool pdl;               /* programmatic attribute 6, 7 or 12 present: never an event on this stream again */
	struct kbn_context *context;
	struct kbn_shape *shape;
	uint64_t ordinal;       /* launch number within the shape */
};

enum kbn_time_choice {
	KBN_TIME_SKIP,       /* by sampling: count sampled_out */
	KBN_TIME_UNABLE,     /* cannot be timed: count untimeable */
	KBN_TIME_BRACKET,    /* start event is in the stream: launch, then kbn_time_end */
};

struct kbn_bracket {
	void *pair;          /* private */
	uint64_t host_start_ns;
	uint32_t gate_value; /* 0 = not gated */
};

/*
 * Before the real launch, outside capture only. Applies the sampler, then gate and start event.
 * Leaves no trace in the stream unless it returns KBN_TIME_BRACKET.
 */
enum kbn_time_choice kbn_time_begin(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b);

/*
 * After the real launch: stop event when it succeeded, opens the gate in any case, hands the pair
 * to the drain thread. Returns true when the launch must be counted as `bracketed`, false when the
 * stop event could not be recorded (count `untimeable`) or the launch failed.
 */
bool kbn_time_end(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b, CUresult launched);

/* Another launch goes into a stream while brackets are open: marks them contended. Cheap when none is open. */
void kbn_time_note_launch(struct kbn_thread *t, const struct kbn_launch *l);

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

/* Start the drain thread (first launch). Idempotent; failure turns timing off, not recording. */
void kbn_drain_start(void);

/*
 * Exit: stop sampling, poll outstanding pairs and image copies until `deadline_ns`, stop the drain
 * thread without joining it unconditionally. Returns the number of pairs left unresolved.
 */
uint32_t kbn_drain_finish(uint64_t deadline_ns);

#endif
