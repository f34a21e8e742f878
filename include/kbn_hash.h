/*
 * kbn_hash.h - content hashes, the same on both sides (XXH3, header-only use of xxHash).
 */
#ifndef KBN_HASH_H
#define KBN_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* 64-bit hash of `bytes` bytes. */
static inline uint64_t kbn_hash64(const void *data, size_t bytes)
{
	return XXH3_64bits(data, bytes);
}

/* 128-bit content hash of a code image, big-endian (canonical) in out[16]; its hex names the file. */
static inline void kbn_hash128(const void *data, size_t bytes, uint8_t out[16])
{
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, XXH3_128bits(data, bytes));
	for (int i = 0; i < 16; i++)
		out[i] = c.digest[i];
}

#endif
