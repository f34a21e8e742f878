/*
 * made_fatbin.h - fat binaries that a test puts together. See made.h for MADE_BYTES.
 */
#ifndef KBN_MADE_FATBIN_H
#define KBN_MADE_FATBIN_H

#include <zstd.h>

#include "fatbin.h"
#include "made.h"

/* A container with one entry; `flags` as in the format, 0x8000 packs with zstd. */
static inline void put_container(struct made *m, uint16_t kind, uint32_t sm, uint64_t flags,
				 const void *data, size_t bytes)
{
	uint8_t *packed = malloc(ZSTD_compressBound(bytes));
	size_t n = flags & 0x8000 ? ZSTD_compress(packed, ZSTD_compressBound(bytes), data, bytes, 1)
				  : bytes;
	size_t padded = (n + 7) / 8 * 8;

	put_number(m, FATBIN_MAGIC | (1ull | 16 << 16) << 32, 8);
	put_number(m, 64 + padded, 8);
	put_number(m, kind | 0x0101 << 16 | 64ull << 32, 8);
	put_number(m, padded, 8);
	put_number(m, flags & 0x8000 ? n : 0, 8);
	put_number(m, 8 << 16 | (uint64_t)sm << 32, 8);
	put_number(m, 0, 8);
	put_number(m, flags | 0x11, 8);
	put_number(m, 0, 8);
	put_number(m, flags & 0x8000 ? bytes : 0, 8);
	put(m, flags & 0x8000 ? packed : data, n);
	put(m, NULL, padded - n);
	free(packed);
}

#endif
