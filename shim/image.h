/*
 * image.h - code images: how long one is without reading past it, what a device would run of it,
 * and a copy that is hashed and stored later by the thread that touches files.
 */
#ifndef KBN_SHIM_IMAGE_H
#define KBN_SHIM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kbn_trace.h"

struct kbn_image_source {
	const void *data;  /* what the program gave the driver; NULL when only path is known */
	size_t bytes_hint; /* known size (linker output, file), 0 = find out from the image */
	enum kbn_image_origin origin;
	const char *path; /* file loads, else NULL */
	unsigned jit_options;
	const uint32_t *jit_option; /* CUjit_option values ... */
	void *const *jit_value;     /* ... and their values (low 32 bits are recorded) */
};

/*
 * Capture an image after the driver accepted it. Copies what the devices of this process may run
 * (fat binary: the best entry per compute capability in `sms`, still compressed; cubin and PTX:
 * whole), queues the copy and writes the IMAGE record. Returns the image id (> 0), or 0 when even
 * that failed. An unreadable or unknown image gets an id and a STORED record with the reason.
 */
uint32_t kbn_image_capture(const struct kbn_image_source *source, const int *sms, int sm_count);

/* In a recording of a forked child's own: forget what the parent had queued. Any number of times. */
void kbn_image_begin(void);

/*
 * Hash and store the copy that has waited longest. False when there is none, or when the time for it
 * is over. Called by the thread of filer.h only, or where there is none at the end of the recording.
 */
bool kbn_image_store_next(void);

/* The end: all copies stored, or `deadline_ns` (kbn_now_ns clock). How many are not; none is later. */
unsigned kbn_image_finish(uint64_t deadline_ns);

/*
 * The bytes of an image in memory: its kind and exact length, never reading beyond what its own
 * headers promise. 0, or -1 for an unknown or damaged image. Exposed for tests and fuzzing.
 * A wrapper counts its own 24 bytes: kbn_image_capture follows its pointer. Of containers in a row
 * only the first counts while `limit` is not known (SIZE_MAX). PTX is counted without its NUL.
 */
int kbn_image_extent(const void *data, size_t limit, enum kbn_image_kind *kind, size_t *bytes);

/*
 * Index of the best entry of a fat binary container for an SM (90 for 9.0): same major and highest
 * minor not above; `a` only on exactly that SM, `f` in the family; then the highest PTX not above.
 * Returns the byte offset of the entry header within the container, or -1 when none fits.
 */
long kbn_image_select(const uint8_t *container, size_t bytes, int sm);

/* SM number of a cubin from its ELF header (both numberings), or of PTX from `.target`; 0 = none. */
uint32_t kbn_image_sm(const void *data, size_t bytes, enum kbn_image_kind kind);

#endif
