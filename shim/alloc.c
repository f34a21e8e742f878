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
	atomic_store_explicit(&a->used, 64, memory_order_relaxed);
	return a;
}

void *kbn_alloc(size_t bytes)
{
	static _Atomic(struct arena *) current;
	struct arena *a, *fresh;
	int saved = errno;
	size_t at;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > ARENA_CHUNK / 4) {
		fresh = arena_map(bytes + 64);
		errno = saved;
		return fresh ? (char *)fresh + 64 : NULL;
	}
	/* Lock-free: a thread that stops in here holds up nobody, also across a fork. */
	for (;;) {
		a = atomic_load_explicit(&current, memory_order_acquire);
		if (a) {
			at = atomic_fetch_add_explicit(&a->used, bytes, memory_order_relaxed);
			if (at + bytes <= a->bytes)
				return (char *)a + at;
		}
		fresh = arena_map(ARENA_CHUNK);
		errno = saved;
		if (!fresh)
			return NULL;
		if (!atomic_compare_exchange_strong(&current, &a, fresh))
			munmap(fresh, ARENA_CHUNK);
	}
}
