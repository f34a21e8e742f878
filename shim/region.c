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
#define AHEAD       (32u << 10) /* with less than this behind `used` the file grows */
#define LOCK_NS     500000000u /* longest wait for another thread's memcpy, or for the file to grow */
#define NAP_NS      20000u     /* a holder without a processor gets none from a waiter that spins */
#define RETRY_NS    100000000u /* after a failed growth, before the next attempt */

static bool lock(struct kbn_region *r)
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

static void unlock(struct kbn_region *r)
{
	atomic_store_explicit(&r->lock, 0, memory_order_release);
}

/* ---------------------------------------------------------------------------------------- growth */

static int region_map_more(struct kbn_region *r, int fd, size_t bytes)
{
	const size_t mapped = atomic_load(&r->mapped);

	if (kbn_file_extend(fd, mapped, bytes) < 0)
		return -1;
	if (kbn_fault(KBN_FAULT_WRITE))
		return -1;
	if (!kbn_fd_map(fd, r->base + mapped, bytes, mapped)) {
		/* The range may have been unmapped on the way and may belong to someone else soon. */
		atomic_store(&r->reserved, mapped);
		return -1;
	}
	atomic_store(&r->mapped, mapped + bytes);
	return 0;
}

void kbn_region_keep_open(struct kbn_region *r)
{
	const int fd = r->path[0] ? kbn_file_open(r->path, O_RDWR) : -1;

	r->fd = fd < 0 ? 0 : fd;
}

static void grow(struct kbn_job *job)
{
	struct kbn_region *r =
		(struct kbn_region *)((char *)job - offsetof(struct kbn_region, grow));
	const size_t mapped = atomic_load(&r->mapped), want = atomic_load(&r->wanted);
	const size_t room = atomic_load(&r->reserved) - mapped;
	size_t step = mapped < CHUNK_MAX ? mapped : CHUNK_MAX, least;
	const int kept = kbn_filer_is_here() ? r->fd : 0;
	int fd, result;

	if (want <= mapped)
		return; /* another request has been faster */
	least = (want - mapped + CHUNK_FIRST - 1) / CHUNK_FIRST * CHUNK_FIRST;
	if (step < least)
		step = least;
	if (step > room)
		step = room;
	fd = kept ? kept : kbn_file_open(r->path, O_RDWR);
	result = fd < 0 ? -1 : region_map_more(r, fd, step);
	if (fd >= 0 && result < 0 && step > least && least <= atomic_load(&r->reserved) - mapped)
		result = region_map_more(r, fd, least);
	if (fd >= 0 && !kept)
		kbn_fd_close(fd);
	if (result < 0)
		atomic_store(&r->retry_ns, kbn_clock_ns() + RETRY_NS);
}

/* That `need` bytes are to be mapped; false when the last attempt has failed just now. */
static bool want(struct kbn_region *r, size_t need)
{
	size_t now = atomic_load(&r->wanted);

	while (now < need && !atomic_compare_exchange_weak(&r->wanted, &now, need))
		;
	return !atomic_load(&r->retry_ns) || kbn_clock_ns() >= atomic_load(&r->retry_ns);
}

bool kbn_region_lock(struct kbn_region *r, size_t bytes, size_t keep)
{
	while (lock(r)) {
		const size_t need = r->used + bytes;
		const bool fits = need + keep <= atomic_load(&r->reserved);

		if (fits && need <= atomic_load(&r->mapped))
			return true;
		unlock(r);
		if (!fits || !want(r, need) || !kbn_filer_do(&r->grow, LOCK_NS))
			return false;
	}
	return false;
}

void kbn_region_unlock(struct kbn_region *r)
{
	const size_t ahead = r->used + AHEAD;
	const bool low = ahead > atomic_load(&r->mapped) && ahead <= atomic_load(&r->reserved);

	unlock(r);
	if (low && want(r, ahead))
		kbn_filer_post(&r->grow);
}

static int region_reserve(struct kbn_region *r, size_t bytes)
{
	bytes = (bytes + CHUNK_FIRST - 1) / CHUNK_FIRST * CHUNK_FIRST;
	/* Under a limit on address space a smaller recording is better than none. */
	for (; bytes >= CHUNK_FIRST; bytes = bytes / 2 / CHUNK_FIRST * CHUNK_FIRST) {
		r->base = kbn_map_memory(bytes, PROT_NONE);
		if (r->base) {
			atomic_store(&r->reserved, bytes);
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

	r->grow.run = grow;
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
	kbn_fd_close(fd);
	if (result < 0)
		return -1;
	memcpy(r->base, h, sizeof(*h));
	r->used = h->header_bytes;
	return 0;
}

void kbn_region_drop(struct kbn_region *r)
{
	const size_t reserved = atomic_load(&r->reserved), mapped = atomic_load(&r->mapped);

	if (r->base)
		munmap(r->base, reserved > mapped ? reserved : mapped);
	if (r->path[0])
		unlink(r->path);
	memset(r, 0, sizeof(*r));
}
