/*
 * made.h - bytes that a test puts together: an image, a line program, an archive. Whoever includes it
 * defines MADE_BYTES first, the room for them; what does not fit fails the test. Little-endian.
 */
#ifndef KBN_MADE_H
#define KBN_MADE_H

#include "kbn_test.h"

struct made {
	uint8_t bytes[MADE_BYTES];
	size_t n;
};

/* At the end; data NULL = zeros. */
static inline void put(struct made *m, const void *data, size_t bytes)
{
	assert_true(bytes <= sizeof(m->bytes) - m->n);
	if (data)
		memcpy(m->bytes + m->n, data, bytes);
	else
		memset(m->bytes + m->n, 0, bytes);
	m->n += bytes;
}

static inline void put_number(struct made *m, uint64_t v, size_t bytes)
{
	put(m, &v, bytes);
}

/* Zeros up to a multiple of `to`. */
static inline void align(struct made *m, size_t to)
{
	put(m, NULL, (to - m->n % to) % to);
}

/* A number in the place of what is there. */
static inline void set(struct made *m, size_t at, uint64_t v, size_t bytes)
{
	assert_true(at + bytes <= m->n);
	memcpy(m->bytes + at, &v, bytes);
}

#endif
