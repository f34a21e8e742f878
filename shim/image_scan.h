/*
 * image_scan.h - the layout of code images as far as the shim reads it, shared by image_scan.c and
 * image.c. Layout found by dissecting files of the 13.0 tools; no vendor document describes it.
 */
#ifndef KBN_SHIM_IMAGE_SCAN_H
#define KBN_SHIM_IMAGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES_MAX ((size_t)2 << 30) /* no image is larger; guards sums against overflow */

#define ELF_MAGIC       0x464c457fu
#define WRAPPER_MAGIC   0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u

/* Wrapper: magic, version 1 or 2, pointer to a container, v2: NULL-terminated array of containers. */
#define WRAPPER_BYTES 24u

/* Container: magic, u16 version 1, u16 header size, u64 payload bytes; then entries in a row. */
#define CONTAINER_HEADER 16u

/* Entry: 64 bytes (u16 kind, u16 version, u32 header bytes, u64 payload bytes, ...), then payload. */
#define ENTRY_HEADER 64u
#define ENTRY_PTX    1u
#define ENTRY_CUBIN  2u
#define ENTRY_ARCH   0x100000u /* `a`: exactly this SM */
#define ENTRY_FAMILY 0x200000u /* `f`: this SM and later ones of its family */

struct image_entry {
	size_t offset; /* of its header in the container */
	size_t bytes;  /* header and payload */
	unsigned kind; /* ENTRY_* */
	uint32_t sm;
	uint64_t flags;
};

/* The entry at `offset`. False at the end of the container or when it does not lie inside. */
bool kbn_image_entry(const uint8_t *container, size_t bytes, size_t offset, struct image_entry *e);

/* Whether a device of this SM can run the entry (PTX: can compile it). */
bool kbn_image_fits(const struct image_entry *e, int sm);

/* Like kbn_image_select, one kind of entry only; `bytes` is the container's own length. */
long kbn_image_select_kind(const uint8_t *container, size_t bytes, int sm, unsigned kind);

#endif
