/*
 * keymap.c - hash table of byte strings, linear probing, at most half full.
 * Input: keys. Output: a number per distinct key. Never forgets a key.
 */
#include "keymap.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "kbn_hash.h"

static struct keymap_cell *find(const struct keymap *m, uint64_t hash, const void *key,
				uint32_t bytes)
{
	size_t mask = m->capacity - 1, i = (size_t)hash & mask;

	for (;; i = (i + 1) & mask) {
		struct keymap_cell *c = &m->cells[i];

		if (!c->key ||
		    (c->hash == hash && c->bytes == bytes && !memcmp(c->key, key, bytes)))
			return c;
	}
}

static int grow(struct keymap *m)
{
	struct keymap wider = {.n = m->n, .capacity = m->capacity ? m->capacity * 2 : 64};

	wider.cells = calloc(wider.capacity, sizeof(*wider.cells));
	if (!wider.cells)
		return -1;
	for (size_t i = 0; i < m->capacity; i++) {
		const struct keymap_cell *c = &m->cells[i];

		if (c->key)
			*find(&wider, c->hash, c->key, c->bytes) = *c;
	}
	free(m->cells);
	*m = wider;
	return 0;
}

uint32_t *keymap_put(struct keymap *m, struct arena *arena, const void *key, uint32_t bytes)
{
	uint64_t hash = kbn_hash64(key, bytes);
	struct keymap_cell *c;

	if (m->n * 2 >= m->capacity && grow(m) < 0)
		return NULL;
	c = find(m, hash, key, bytes);
	if (!c->key) {
		const void *copy = arena_copy(arena, key, bytes);

		if (!copy)
			return NULL;
		*c = (struct keymap_cell){
			.key = copy, .bytes = bytes, .value = KEYMAP_NONE, .hash = hash};
		m->n++;
	}
	return &c->value;
}

uint32_t keymap_get(const struct keymap *m, const void *key, uint32_t bytes)
{
	const struct keymap_cell *c = m->capacity ? find(m, kbn_hash64(key, bytes), key, bytes)
						  : NULL;

	return c && c->key ? c->value : KEYMAP_NONE;
}

void keymap_fini(struct keymap *m)
{
	free(m->cells);
	*m = (struct keymap){0};
}
