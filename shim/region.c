/*
 * region.c - see region.h. What is mapped has been allocated on disk before: a full disk is a growth
 * that fails, never SIGBUS in the program.
 */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "sys.h"

#define CHUNK_FIRST (64u << 10) /* also the granule: a multiple of every page size in use */
#define CHUNK_MAX   (1u << 20)
#define LOCK_NS     500000000u /* longest wait for another thread's memcpy */
#define NAP_NS      20000u     /* a holder without a processor gets none from a waiter that spins */
#define RETRY_NS    100000000u /* after a failed growth, before the next attempt */

bool kbn_region_lock(struct kbn_region *r)
{
	uint64_t deadline = 0;

	for (unsigned tries = 0; atomic_exchange_explicit(&r->lock, 1, memory_order_acquire);
	     tries++) {
		if (tries < 64)
			continue;
		/* A holder that left by longjmp never unlocks: after a few long waits do not wait again. */
		if (atomic_load_explicit(&r->stuck, memory_order_relaxed) >= 4)
			return false;
		if (!deadline)
			deadline = kbn_clock_ns() + LOCK_NS;
		else if (kbn_clock_ns() > deadline) {
			atomic_fetch_add_explicit(&r->stuck, 1, memory_order_relaxed);
			return false;
		}
		kbn_sleep_ns(NAP_NS);
	}
	return true;
}

void kbn_region_unlock(struct kbn_region *r)
{
	atomic_store_explicit(&r->lock, 0, memory_order_release);
}

static int region_map_more(struct kbn_region *r, int fd, size_t bytes)
{
	void *at;

	if (kbn_file_extend(fd, r->mapped, bytes) < 0)
		return -1;
	if (kbn_fault(KBN_FAULT_WRITE))
		return -1;
	at = mmap(r->base + r->mapped, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		  (off_t)r->mapped);
	if (at == MAP_FAILED) {
		/* The range may have been unmapped on the way and may belong to someone else soon. */
		r->reserved = r->mapped;
		return -1;
	}
	r->mapped += bytes;
	return 0;
}

bool kbn_region_reach(struct kbn_region *r, size_t need)
{
	size_t step = r->mapped < CHUNK_MAX ? r->mapped : CHUNK_MAX;
	size_t least;
	int fd, result, saved;

	if (need <= r->mapped)
		return true;
	if (need > r->reserved || kbn_clock_ns() < r->retry_ns)
		return false;
	least = (need - r->mapped + CHUNK_FIRST - 1) / CHUNK_FIRST * CHUNK_FIRST;
	if (step < least)
		step = least;
	if (step > r->reserved - r->mapped)
		step = r->reserved - r->mapped;
	saved = errno;
	fd = kbn_file_open(r->path, O_RDWR);
	result = fd < 0 ? -1 : region_map_more(r, fd, step);
	if (fd >= 0 && result < 0 && step > least && least <= r->reserved - r->mapped)
		result = region_map_more(r, fd, least);
	if (fd >= 0)
		close(fd);
	errno = saved;
	if (result < 0)
		r->retry_ns = kbn_clock_ns() + RETRY_NS;
	return result == 0;
}

static int region_reserve(struct kbn_region *r, size_t bytes)
{
	bytes = (bytes + CHUNK_FIRST - 1) / CHUNK_FIRST * CHUNK_FIRST;
	/* Under a limit on address space a smaller recording is better than none. */
	for (; bytes >= CHUNK_FIRST; bytes = bytes / 2 / CHUNK_FIRST * CHUNK_FIRST) {
		r->base = kbn_map_memory(bytes, PROT_NONE);
		if (r->base) {
			r->reserved = bytes;
			return 0;
		}
	}
	errno = ENOMEM;
	return -1;
}

int kbn_region_create(struct kbn_region *r, const char *dir, const char *name, size_t cap,
		      const struct kbn_file_header *h)
{
	int fd, result;

	if (!kbn_path_join(r->path, dir, name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (region_reserve(r, cap) < 0)
		return -1;
	fd = kbn_file_open(r->path, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -1;
	result = region_map_more(r, fd, CHUNK_FIRST);
	close(fd);
	if (result < 0)
		return -1;
	memcpy(r->base, h, sizeof(*h));
	r->used = h->header_bytes;
	return 0;
}

void kbn_region_drop(struct kbn_region *r)
{
	if (r->base)
		munmap(r->base, r->reserved > r->mapped ? r->reserved : r->mapped);
	if (r->path[0])
		unlink(r->path);
	memset(r, 0, sizeof(*r));
}
