/*
 * alloc.c - kbn_alloc: memory that is never given back, for whatever lives as long as the process.
 * Not malloc: hooks run while an allocator of the program may be starting or holding its locks.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "sys.h"
#include "writer.h"

#define ARENA_CHUNK (256u << 10)

struct arena {
	size_t bytes;
	_Atomic size_t used;
};

static struct arena *arena_map(size_t bytes)
{
	struct arena *a = kbn_map_memory(bytes, PROT_READ | PROT_WRITE);

	if (!a)
		return NULL;
	a->bytes = bytes;
	atomic_store_explicit(&a->used, sizeof(*a), memory_order_relaxed);
	return a;
}

static void *arena_take(struct arena *a, size_t bytes, size_t align)
{
	size_t used = atomic_load_explicit(&a->used, memory_order_relaxed), at;

	do {
		at = (used + align - 1) & ~(align - 1);
		if (at + bytes > a->bytes)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&a->used, &used, at + bytes, memory_order_relaxed, memory_order_relaxed));
	return (char *)a + at;
}

static void *take(size_t bytes, size_t align)
{
	static _Atomic(struct arena *) current;
	struct arena *a, *fresh;
	int saved = errno;
	void *at;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	if (bytes > ARENA_CHUNK / 4) {
		fresh = arena_map(bytes + align);
		errno = saved;
		return fresh ? (char *)fresh + align : NULL;
	}
	/* Lock-free: a thread that stops in here holds up nobody, also across a fork. */
	for (;;) {
		a = atomic_load_explicit(&current, memory_order_acquire);
		at = a ? arena_take(a, bytes, align) : NULL;
		if (at)
			return at;
		fresh = arena_map(ARENA_CHUNK);
		errno = saved;
		if (!fresh)
			return NULL;
		if (!atomic_compare_exchange_strong(&current, &a, fresh))
			munmap(fresh, ARENA_CHUNK);
	}
}

void *kbn_alloc(size_t bytes)
{
	return take(bytes, 16);
}

void *kbn_alloc_lines(size_t bytes)
{
	return take(bytes, 128);
}
