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
/* Side by side: what every launch runs. */
#define KBN_HOT_CODE      __attribute__((hot, section(".text.hot")))
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

static inline uint64_t kbn_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* Stored in words of eight bytes, see struct kbn_asked. */
static inline void kbn_ask(struct kbn_asked *a, uint32_t flags, const uint32_t grid[3],
			   const uint32_t block[3], const uint32_t cluster[3], uint32_t smem)
{
	const uint64_t words[] = {kbn_pair(flags, grid[0]),         kbn_pair(grid[1], grid[2]),
				  kbn_pair(block[0], block[1]),     kbn_pair(block[2], cluster[0]),
				  kbn_pair(cluster[1], cluster[2]), smem};

	_Static_assert(sizeof(words) == sizeof(*a), "all of it");
	memcpy(a, words, sizeof(words));
}

static inline bool kbn_asked_is(const struct kbn_asked *a, const struct kbn_asked *b)
{
	uint64_t x, y;

#pragma GCC unroll 8
	for (size_t i = 0; i < sizeof(*a); i += 8) {
		memcpy(&x, (const char *)a + i, 8);
		memcpy(&y, (const char *)b + i, 8);
		if (x != y)
			return false;
	}
	return true;
}

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
 * It is the overflow slot of the kernel although the cap is not reached: the file could not grow just
 * then, and the next launch of this kind may have a slot of its own.
 */
bool kbn_shape_may_improve(const struct kbn_shape *s);

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
	CUstream stream;
	struct kbn_asked asked;
	bool ptsz;
	bool ungated;           /* never behind a gate */
	bool pdl;               /* carries a programmatic attribute: no event near it */
	bool untimed;           /* never timed: one call that launches on several devices */
	void **params, **extra; /* as received */

	struct kbn_thread *thread;
	struct kbn_handle_hit *hit;
	struct kbn_shape_key key; /* when there was a search: asked, kernel, context, cluster */
	struct kbn_kernel *kernel;
	struct kbn_context *context; /* NULL = not known */
	struct kbn_shape *shape;     /* NULL = not recorded, and counted already */
	uint64_t *bin;               /* where it counts when it succeeds */
	uint32_t param_bytes;        /* copied parameters, 0 = none */
	bool bracketed, captured;
	bool is_late;    /* of an unknown stream: nothing is asked before it succeeded */
	bool is_open;    /* more than counting is left to do after the real call */
	bool is_first;   /* of this handle in the thread's cache, into a special stream */
	uintptr_t guard; /* kbn_tls.frame before the real call */
	struct kbn_launch timing;
	struct kbn_bracket bracket;
};

/* Before and after the real call. Both leave errno as they found it. */
void kbn_call_begin(struct kbn_call *c);
void kbn_call_end(struct kbn_call *c, CUresult result);

/*
 * The launch that is like an earlier one of this thread and needs nothing but counting, which is most
 * of them: its shape, seen and taken off the sampler's countdown; NULL = kbn_call_begin has to look.
 * Without attributes. Nothing is stored before all is known, and only registers are compared.
 * kbn_again_end tells the driver's answer.
 *
 * In a program that does anything between two launches this code, too, comes cold from the second
 * cache: it is kept short and in one piece.
 */
static KBN_ALWAYS_INLINE struct kbn_shape *kbn_again(CUfunction f, uint32_t gx, uint32_t gy,
						     uint32_t gz, uint32_t bx, uint32_t by,
						     uint32_t bz, uint32_t smem, CUstream stream);
static KBN_ALWAYS_INLINE void kbn_again_end(struct kbn_shape *s, CUresult result);

/* ---- what they need ---- */

/* Where the thread keeps the two shapes launched last of those with this function and grid.x. */
static KBN_ALWAYS_INLINE struct kbn_shape **kbn_recent(struct kbn_thread *t, const void *function,
						       uint32_t grid_x)
{
	const uint64_t both = (uintptr_t)function ^ (uint64_t)grid_x << 48;

	return t->recent[both * 0x9e3779b97f4a7c15u >> (64 - KBN_RECENT_BITS)];
}

/*
 * A single store, without the sequence counter: no other field has to agree with it. The slot's own
 * stores come after it, with release order, so a reader of the slot finds the launch here as well.
 */
static KBN_ALWAYS_INLINE void kbn_count_seen(struct kbn_thread_slot *s)
{
	__atomic_store_n(&s->seen, s->seen + 1, __ATOMIC_RELAXED);
}

/* The launch was refused, or the context has ended: counts it as failed. */
void kbn_launch_failed(struct kbn_shape *s, struct kbn_context *context, CUresult result);

/* Something is going on that more than the sampler's countdown has to know of. */
static KBN_ALWAYS_INLINE bool kbn_is_unusual(void)
{
	return (unsigned)atomic_load_explicit(&kbn_open_captures, memory_order_relaxed) |
	       atomic_load_explicit(&kbn_time_open_brackets, memory_order_relaxed) | kbn_selects |
	       (atomic_load_explicit(&kbn_time_mode, memory_order_relaxed) == KBN_MODE_UNABLE);
}

static KBN_ALWAYS_INLINE struct kbn_shape *kbn_again(CUfunction f, uint32_t gx, uint32_t gy,
						     uint32_t gz, uint32_t bx, uint32_t by,
						     uint32_t bz, uint32_t smem, CUstream stream)
{
	struct kbn_thread *t =
		kbn_tls.self; /* of an earlier recording: has shapes of an earlier one */
	struct kbn_shape *s;

	if (!KBN_LIKELY(t && kbn_live_now() == KBN_LIVE))
		return NULL;
	s = kbn_recent(t, f, gx)[0];
	if (!KBN_LIKELY(s && s->function == (const void *)f && s->stream == (const void *)stream &&
			s->generation == atomic_load_explicit(&kbn_registry_generation,
							      memory_order_acquire)))
		return NULL;
	if (!KBN_LIKELY(s->asked.grid[0] == gx && s->asked.grid[1] == gy &&
			s->asked.grid[2] == gz && s->asked.block[0] == bx &&
			s->asked.block[1] == by && s->asked.block[2] == bz &&
			s->asked.dyn_smem_bytes == smem && !s->asked.flags && !s->asked.cluster[0]))
		return NULL;
	if (!KBN_LIKELY(!kbn_is_unusual() && s->launches < s->params_next && s->skip))
		return NULL;
	s->skip--;
	kbn_count_seen(t->counts);
	return s;
}

static KBN_ALWAYS_INLINE void kbn_again_end(struct kbn_shape *s, CUresult result)
{
	if (!KBN_LIKELY(result == CUDA_SUCCESS)) {
		kbn_launch_failed(s, s->context, result);
		return;
	}
	kbn_slot_count(s->slot, &s->slot->sampled_out);
	s->launches++;
}

#endif
