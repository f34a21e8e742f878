/*
 * arena.c - region memory in blocks, each twice the last one, from 4 to 64 KB; what is large gets one of its own.
 * Input: sizes. Output: zeroed memory that ends with the arena.
 */
#include "arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_FIRST 4096u
#define BLOCK_BYTES 65536u
#define LARGE       (BLOCK_BYTES / 4)
#define ALIGN       16u
#define OBJECT_MAX  (1ull << 36) /* nothing honest is larger, and sums below cannot overflow */

struct block {
	struct block *next;
	size_t used, room; /* of the bytes behind this header */
};

#define HEAD_BYTES ((sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN)

struct arena {
	struct block *blocks; /* the first is the one being filled */
	size_t bytes;
	size_t room; /* of the last block for several, 0 = none yet */
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *a)
{
	struct block *b = a ? a->blocks : NULL;

	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
	free(a);
}

/* Of the next block that several share. */
static size_t next_room(const struct arena *a, size_t bytes)
{
	size_t room = a->room ? 2 * a->room : BLOCK_FIRST;

	while (room < bytes)
		room *= 2;
	return room < BLOCK_BYTES ? room : BLOCK_BYTES;
}

/* A block with at least `bytes` bytes; a large one goes behind the block that is being filled. */
static struct block *block_add(struct arena *a, size_t bytes)
{
	const bool is_large = bytes > LARGE;
	const size_t room = is_large ? bytes : next_room(a, bytes);
	struct block *b;

	b = calloc(1, HEAD_BYTES + room);
	if (!b)
		return NULL;
	b->room = room;
	if (!is_large)
		a->room = room;
	if (is_large && a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct block *b = a->blocks;
	uint8_t *p;

	if (bytes > OBJECT_MAX)
		return NULL;
	bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	if (!b || bytes > b->room - b->used) {
		b = block_add(a, bytes);
		if (!b)
			return NULL;
	}
	p = (uint8_t *)b + HEAD_BYTES + b->used;
	b->used += bytes;
	a->bytes += bytes;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(n, bytes, &total))
		return NULL;
	return arena_alloc(a, total);
}

void *arena_copy(struct arena *a, const void *data, size_t bytes)
{
	void *p = arena_alloc(a, bytes);

	if (p && bytes)
		memcpy(p, data, bytes);
	return p;
}

char *arena_string(struct arena *a, const char *text, size_t n)
{
	size_t length = strnlen(text, n);
	char *p = length < SIZE_MAX ? arena_alloc(a, length + 1) : NULL;

	if (p)
		memcpy(p, text, length);
	return p;
}

size_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}
