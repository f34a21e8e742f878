/*
 * region.h - a mapped file that grows inside a reserved range of addresses, so that pointers into it
 * stay good. Knows nothing of what the file holds beyond its header.
 */
#ifndef KBN_SHIM_REGION_H
#define KBN_SHIM_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filer.h"
#include "files.h"
#include "kbn_trace.h"

struct kbn_region {
	uint8_t *base;
	size_t used; /* the header at first; moved by the owner under the lock */
	/* Written by the thread that touches files. */
	_Atomic size_t reserved, mapped;
	_Atomic uint64_t retry_ns; /* no growth before this time */
	struct kbn_job grow;
	_Atomic size_t wanted; /* so many bytes are to be mapped */
	_Atomic uint32_t lock;
	_Atomic uint32_t stuck; /* waits that ended without the lock */
	int fd;                 /* in the table of the thread of filer.h; 0 = open by path */
	char path[KBN_PATH_ROOM];
};

/*
 * Make dir/name, at most `cap` bytes long, with `h` at its front and the first chunk mapped. 0, or -1
 * with errno; kbn_region_drop() then undoes what was done.
 */
int kbn_region_create(struct kbn_region *r, const char *dir, const char *name, size_t cap,
		      const struct kbn_file_header *h);

/* Have it open from now on; on the thread of filer.h, when that has a table of its own. */
void kbn_region_keep_open(struct kbn_region *r);

/* Unmap, delete the file, forget. */
void kbn_region_drop(struct kbn_region *r);

/*
 * Take the lock, with `bytes` more bytes usable behind `used` and `keep` left behind those. Bounded
 * wait; false when the lock or the room could not be had. The lock is not held while the file grows.
 * Keeps errno.
 */
bool kbn_region_lock(struct kbn_region *r, size_t bytes, size_t keep);

/* Also has the file grow in time for what comes next. */
void kbn_region_unlock(struct kbn_region *r);

#endif
