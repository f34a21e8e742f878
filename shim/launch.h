/*
 * launch.h - one launch on its way through a wrapper: counted on entry, timed when chosen, put into
 * exactly one bin when the driver has answered. Used by the launch and the graph wrappers.
 */
#ifndef KBN_SHIM_LAUNCH_H
#define KBN_SHIM_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kbn_cuda.h"
#include "registry.h"
#include "state.h"
#include "timing.h"

/* Keeps the registers of a rare path out of the prologue of the common one. */
#define KBN_COLD          __attribute__((noinline, cold))
#define KBN_ALWAYS_INLINE inline __attribute__((always_inline))
#define KBN_LIKELY(x)     __builtin_expect(!!(x), 1)

/*
 * What tells one accumulator slot from another. The fields stand in the order they have in struct
 * kbn_slot, from `kernel` on, so that a slot is compared in one go.
 */
struct kbn_shape_key {
	uint32_t kernel;
	uint32_t flags;
	uint32_t context;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dyn_smem_bytes;
};

_Static_assert(offsetof(struct kbn_slot, dyn_smem_bytes) - offsetof(struct kbn_slot, kernel) ==
		       offsetof(struct kbn_shape_key, dyn_smem_bytes),
	       "a shape key is the identity of a slot");

_Static_assert(sizeof(struct kbn_shape_key) % 8 == 4, "words of eight bytes and one of four");

/* Eight bytes at a time, in a straight line: this runs for every launch. */
static inline bool kbn_shape_is(const struct kbn_shape *s, enum kbn_slot_kind kind,
				const struct kbn_shape_key *key)
{
	const struct kbn_slot *slot = s->slot;
	const char *a = (const char *)&slot->kernel, *b = (const char *)key;
	uint64_t x, y;

#pragma GCC unroll 8
	for (size_t i = 0; i + 8 <= sizeof(*key); i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return false;
	}
	return slot->dyn_smem_bytes == key->dyn_smem_bytes && slot->kind == kind;
}

/*
 * The thread's accumulator of a shape, made at first sight; past the cap the overflow slot of the
 * kernel. NULL when there is no slot at all. `kind` is KBN_SLOT_LAUNCH or KBN_SLOT_GRAPH.
 */
struct kbn_shape *kbn_shape_of(struct kbn_thread *t, enum kbn_slot_kind kind,
			       const struct kbn_shape_key *key);

/*
 * Add one to a counter that a sequence counter guards. Other processes read while this thread
 * writes: each store is single, odd before, even after.
 */
static inline void kbn_count(uint32_t *seq, uint64_t *counter)
{
	const uint32_t s = *seq;

	__atomic_store_n(seq, s + 1, __ATOMIC_RELAXED);
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE); /* not before the odd number */
	__atomic_store_n(seq, s + 2, __ATOMIC_RELEASE);
}

static inline void kbn_slot_count(struct kbn_slot *s, uint64_t *counter)
{
	kbn_count(&s->launch_seq, counter);
}

/* Add one to a counter of the thread's own slot, when it has one. */
#define KBN_COUNT(t, counter)                                              \
	do {                                                               \
		struct kbn_thread *t_ = (t);                               \
                                                                           \
		if (t_ && t_->counts)                                      \
			kbn_count(&t_->counts->seq, &t_->counts->counter); \
	} while (0)

enum kbn_capturing { KBN_NOT_CAPTURING, KBN_CAPTURING, KBN_CAPTURE_UNKNOWN };

/*
 * Whether a launch into this stream would be recorded into a graph. Asks the driver, so the handle
 * must be good: a special stream or one that the registry knows.
 */
enum kbn_capturing kbn_capturing(CUstream stream, bool ptsz);

/* Captures that were begun and not ended. A hint: a capture that no hook saw is not in it. */
#pragma GCC visibility push(hidden)
extern _Atomic int kbn_open_captures;
#pragma GCC visibility pop

/* cuProfilerStart / Stop for KBN_WINDOW=profiler. */
void kbn_window(bool open);
bool kbn_window_closed(void); /* launches are left out at present */

/* A launch as a wrapper describes it; the second part is launch.c's own. */
struct kbn_call {
	CUfunction function;
	struct kbn_shape_key key; /* kernel, context and a compiled-in cluster are filled in */
	CUstream stream;
	bool ptsz;
	bool ungated;           /* never behind a gate */
	bool pdl;               /* carries a programmatic attribute: no event near it */
	bool untimed;           /* never timed: one call that launches on several devices */
	void **params, **extra; /* as received */

	struct kbn_thread *thread;
	struct kbn_handle_hit *hit;
	struct kbn_kernel *kernel;
	struct kbn_context *context; /* NULL = not known */
	struct kbn_shape *shape;     /* NULL = not recorded, and counted already */
	uint64_t *bin;               /* where it counts when it succeeds */
	uint32_t param_bytes;        /* copied parameters, 0 = none */
	bool bracketed, captured;
	bool is_late;  /* of an unknown stream: nothing is asked before it succeeded */
	bool is_open;  /* more than counting is left to do after the real call */
	bool is_first; /* of this handle in the thread's cache, into a special stream */
	struct kbn_launch timing;
	struct kbn_bracket bracket;
};

/* Before and after the real call. Both leave errno as they found it. */
void kbn_call_begin(struct kbn_call *c);
void kbn_call_end(struct kbn_call *c, CUresult result);

#endif
