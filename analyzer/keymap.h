/*
 * keymap.h - from a key of some bytes to a 32-bit number (usually an index). Keys are copied.
 * Open addressing over XXH3, so that hostile ids cost no more than honest ones.
 */
#ifndef KBN_KEYMAP_H
#define KBN_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

struct arena;

#define KEYMAP_NONE UINT32_MAX /* the value of a key that was only just added */

struct keymap_cell {
	const void *key; /* NULL = empty */
	uint32_t bytes, value;
	uint64_t hash;
};

struct keymap {
	struct keymap_cell *cells;
	size_t n, capacity; /* capacity is 0 or a power of two */
};

/*
 * The value of `key`, added as KEYMAP_NONE when it is new (its bytes are copied into `arena`). The
 * pointer is good until the next call. NULL when memory has run out.
 */
uint32_t *keymap_put(struct keymap *m, struct arena *arena, const void *key, uint32_t bytes);

/* The value of `key`, or KEYMAP_NONE. */
uint32_t keymap_get(const struct keymap *m, const void *key, uint32_t bytes);

/* Free the table; the copied keys belong to the arena. */
void keymap_fini(struct keymap *m);

#endif
