/*
 * buf.h - bounds-checked reader of little-endian bytes. All input goes through it: nothing casts a
 * pointer into file data, and no length is used before it was compared with what is there.
 *
 * A buf is a view, passed by value, plus a cursor. A read past the end gives zero and sets `short_read`, which
 * stays set: read a whole structure, then ask buf_ok() once.
 */
#ifndef KBN_BUF_H
#define KBN_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf {
	const uint8_t *data;
	size_t bytes;
	size_t at;       /* cursor, <= bytes */
	uint64_t origin; /* offset of data[0] in the input, for error messages */
	bool short_read;
};

/* A view of `bytes` bytes at `data`, cursor at 0. */
struct buf buf_of(const void *data, size_t bytes);

/*
 * The part [offset, offset + bytes) of b as a view of its own; false (and *part untouched) when it
 * does not lie within b. The sum cannot overflow.
 */
bool buf_part(const struct buf *b, uint64_t offset, uint64_t bytes, struct buf *part);

static inline bool buf_ok(const struct buf *b)
{
	return !b->short_read;
}

static inline size_t buf_left(const struct buf *b)
{
	return b->bytes - b->at;
}

/* Offset of the cursor in the whole input, for errors. */
static inline int64_t buf_where(const struct buf *b)
{
	return (int64_t)(b->origin + b->at);
}

/* Move the cursor to `at`; past the end counts as a short read and leaves it at the end. */
void buf_seek(struct buf *b, uint64_t at);

/* `n` bytes at the cursor, which moves behind them; NULL when fewer are left. */
const uint8_t *buf_take(struct buf *b, uint64_t n);

/* Copy `n` bytes into `out`; all zero when fewer are left. */
void buf_copy(struct buf *b, void *out, size_t n);

uint8_t buf_u8(struct buf *b);
uint16_t buf_u16(struct buf *b);
uint32_t buf_u32(struct buf *b);
uint64_t buf_u64(struct buf *b);

/* A number of seven bits a byte, as DWARF has them; bits above the 64th are lost. */
uint64_t buf_uleb(struct buf *b);
int64_t buf_sleb(struct buf *b);

/* The NUL-terminated string at `offset`, or NULL when it does not end within b. */
const char *buf_string(const struct buf *b, uint64_t offset);

/*
 * The content of a whole regular file in memory of its own (free with free()), so that nothing
 * another process does to the file later can hurt. Fails on more than `limit` bytes.
 */
int buf_load(const char *path, size_t limit, uint8_t **data, size_t *bytes, struct err *e);

#endif
