/*
 * arena.h - region memory: many small objects that live and die together.
 * Everything is zeroed and aligned to 16 bytes; nothing is freed one by one.
 */
#ifndef KBN_ARENA_H
#define KBN_ARENA_H

#include <stddef.h>

struct arena;

/* A new empty arena, NULL when memory has run out. Free with arena_free (NULL is fine). */
struct arena *arena_new(void);
void arena_free(struct arena *a);

/* `bytes` zeroed bytes (a valid pointer also for 0); NULL when memory has run out. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Room for `n` objects of `bytes` bytes; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t bytes);

/* A copy of `bytes` bytes at `data`. */
void *arena_copy(struct arena *a, const void *data, size_t bytes);

/* The first `n` bytes at `text`, or up to its NUL when that comes first, as a string of its own. */
char *arena_string(struct arena *a, const char *text, size_t n);

/* Bytes handed out so far. */
size_t arena_bytes(const struct arena *a);

#endif
