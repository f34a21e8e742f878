/*
 * stream.c - what is known of the program's streams: blocking or not, and whether a programmatic
 * (PDL) launch was seen. Input: stream life and PDL launches. A fixed table that is read without a
 * lock; a stream that finds no place in it is not timed.
 */
#include "pool.h"

#include <stddef.h>

#include "registry.h"
#include "timing.h"

#define STREAMS  4096u /* a power of two */
#define PROBES   64u
#define BLOCKING 1u
#define PDL      2u
#define REMOVED  1u /* a key that no stream has */

static struct {
	_Atomic uint64_t key; /* 0 = never used */
	_Atomic uint32_t flags;
	_Atomic uint32_t context;
} streams[STREAMS];
static _Atomic bool overflowed;

bool kbn_stream_is_legacy(CUstream s, bool ptsz)
{
	return s == CU_STREAM_LEGACY || (!s && !ptsz);
}

uint64_t kbn_stream_key(const struct kbn_context *c, CUstream s, bool ptsz)
{
	uint64_t handle = (uint64_t)(uintptr_t)s;

	if (!handle)
		handle = ptsz ? 2 : 1;
	/* Legacy and per-thread streams are one per context; real handles never have the top bit. */
	return handle > 2 ? handle : 1ull << 63 | (uint64_t)c->id << 2 | handle;
}

static uint32_t home(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (STREAMS - 1);
}

static int find(uint64_t key)
{
	uint32_t at = home(key);

	for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & (STREAMS - 1)) {
		uint64_t there = atomic_load_explicit(&streams[at].key, memory_order_acquire);

		if (there == key)
			return (int)at;
		if (!there)
			break;
	}
	return -1;
}

/* Set flags of a stream, known or new. */
static void put(uint64_t key, uint32_t context, uint32_t flags)
{
	int known = find(key);
	uint32_t at = home(key);

	if (known >= 0) {
		atomic_fetch_or(&streams[known].flags, flags);
		return;
	}
	for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & (STREAMS - 1)) {
		uint64_t there = atomic_load(&streams[at].key);

		if (there > REMOVED ||
		    !atomic_compare_exchange_strong(&streams[at].key, &there, REMOVED + 1))
			continue;
		/* The place is ours; nobody finds it before it has its key. */
		atomic_store(&streams[at].flags, flags);
		atomic_store(&streams[at].context, context);
		atomic_store_explicit(&streams[at].key, key, memory_order_release);
		return;
	}
	atomic_store(&overflowed, true);
}

/* Forget a stream, also where two threads entered it at once; returns its flags. */
static uint32_t take_out(uint64_t key)
{
	uint32_t flags = 0;
	int at;

	while ((at = find(key)) >= 0) {
		flags |= atomic_load(&streams[at].flags);
		atomic_store(&streams[at].key, REMOVED);
	}
	return flags;
}

void kbn_stream_mark_pdl(const struct kbn_context *c, uint64_t key)
{
	int at = find(key);

	if (at < 0 || !(atomic_load_explicit(&streams[at].flags, memory_order_relaxed) & PDL))
		put(key, c->id, PDL);
}

bool kbn_stream_takes_events(uint64_t key)
{
	int at = find(key);

	if (at < 0)
		return !atomic_load_explicit(&overflowed, memory_order_relaxed);
	return !(atomic_load_explicit(&streams[at].flags, memory_order_relaxed) & PDL);
}

void kbn_time_stream_created(struct kbn_context *c, CUstream s, bool blocking)
{
	struct pool *p = c ? kbn_pool_of(c) : NULL;
	uint64_t key;

	if (!c)
		return;
	key = kbn_stream_key(c, s, false);
	take_out(key); /* a handle that was used before means nothing now */
	put(key, c->id, blocking ? BLOCKING : 0);
	if (p && blocking)
		atomic_fetch_add(&p->blocking, 1);
}

void kbn_time_stream_destroyed(struct kbn_context *c, CUstream s)
{
	struct pool *p = c ? kbn_pool_of(c) : NULL;

	if (c && take_out(kbn_stream_key(c, s, false)) & BLOCKING && p)
		atomic_fetch_sub(&p->blocking, 1);
}

void kbn_stream_forget_context(uint32_t context)
{
	for (uint32_t i = 0; i < STREAMS; i++)
		if (atomic_load(&streams[i].key) > REMOVED + 1 &&
		    atomic_load(&streams[i].context) == context)
			atomic_store(&streams[i].key, REMOVED);
}
