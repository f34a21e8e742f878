/*
 * pool.h - event pairs of one context generation, and what the streams of the process are known to
 * do. Launching threads take pairs and hand them over; the holder of the harvest lock (the drain
 * thread, or a thread that ends the context) reads the times into the slots.
 */
#ifndef KBN_SHIM_POOL_H
#define KBN_SHIM_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "kbn_cuda.h"
#include "state.h"

#define POOL_FIRST   64u /* pairs of the first batch; each later one doubles the pool */
#define POOL_BATCHES 7u
#define POOL_PAIRS   (POOL_FIRST << (POOL_BATCHES - 1)) /* 4096 */

struct kbn_context;
struct pool;

/* Two events around one launch, and what is needed to judge what they say. */
struct pair {
	CUevent start, stop;
	struct pool *pool;
	struct kbn_slot *slot;
	uint64_t launch;       /* number within the shape */
	uint64_t host_ns;      /* host time from before the first record to after the second */
	uint32_t index;        /* in the pool */
	_Atomic uint32_t next; /* index + 1 of the next in a list, 0 = last */
	bool held;             /* the GPU stood before a gate until both events were queued */
	bool queued;           /* the GPU was busy with earlier work until both were queued */
	_Atomic bool mixed;    /* another launch may stand between the events */
};

struct pool {
	struct pool *next; /* all pools ever made */
	struct kbn_context *context;
	CUcontext handle;
	_Atomic bool dead;        /* context gone or failed: no driver call any more */
	_Atomic bool retired;     /* free to serve another context */
	_Atomic uint32_t harvest; /* lock */
	_Atomic uint32_t open;    /* brackets begun and not yet ended */
	_Atomic uint32_t unread;  /* handed over and not yet resolved */

	struct pair *batch[POOL_BATCHES];
	_Atomic uint32_t batches; /* whose events exist */
	_Atomic uint32_t making;  /* lock */
	_Atomic uint64_t free;    /* tag << 32 | index + 1 */
	_Atomic uint32_t handed;  /* index + 1; pushed by launching threads */
	uint32_t first, last;     /* waiting pairs, oldest first; under the harvest lock */

	_Atomic uint32_t *words; /* gate words, NULL = this context cannot be gated */
	CUdeviceptr words_device;
	_Atomic bool gates_off;
	uint32_t values[KBN_GATE_THREADS]; /* last value of each thread's word */

	_Atomic int32_t blocking; /* streams of the program that the legacy stream waits for */
};

/* The pool of a context, made without any driver call; NULL when it is dead or memory is out. */
struct pool *kbn_pool_of(struct kbn_context *c);

/*
 * A free pair; makes a batch of events when none is left. Driver calls: RELAXED mode, outside
 * capture. NULL when the cap is reached or the driver refused.
 */
struct pair *kbn_pool_take(struct pool *p);
void kbn_pool_give(struct pair *pair);

/* Another thread is about to make pairs, and until then there is none. */
bool kbn_pool_is_being_made(struct pool *p);

/* Both events are recorded: to the drain thread. Returns how many are unread now. */
uint32_t kbn_pool_hand_over(struct pair *pair);

/* Read what has finished in every pool; returns how many pairs are still unread in living pools. */
uint32_t kbn_pool_harvest_all(void);

/* How many pairs are unread in living pools; no driver call. */
uint32_t kbn_pool_unread(void);

/* See kbn_time_context_gone. */
void kbn_pool_context_gone(struct kbn_context *c);

/*
 * What one of our own driver calls says about the future: true = the context (or, with 3 and 4, the
 * process) has failed and its pool is dead now. The program meets the same error on its own call.
 */
bool kbn_pool_failed(struct pool *p, CUresult r);

/* A forked child starts over. */
void kbn_pool_forget_all(void);

/* ---- streams. A key is a stream handle, or for the special ones the context and which it is ---- */

uint64_t kbn_stream_key(const struct kbn_context *c, CUstream s, bool ptsz);
bool kbn_stream_is_legacy(CUstream s, bool ptsz);

/* From now on no event goes into this stream. */
void kbn_stream_mark_pdl(const struct kbn_context *c, uint64_t key);
/* Whether events may go in. False also when the table is full and the stream is not known. */
bool kbn_stream_takes_events(uint64_t key);
/* All streams of a context that has ended. */
void kbn_stream_forget_context(uint32_t context);

#endif
