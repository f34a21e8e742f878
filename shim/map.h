/*
 * map.h - handle → pointer, read without a lock. Entries come and go with the handles of the
 * driver, which gives the same value out again; an entry that was removed is used for the next one.
 */
#ifndef KBN_SHIM_MAP_H
#define KBN_SHIM_MAP_H

#include <stdatomic.h>
#include <stdint.h>

struct kbn_map_node {
	_Atomic(const void *) key; /* NULL = free for use */
	_Atomic(void *) value;
	struct kbn_map_node *next; /* never changes */
};

struct kbn_map {
	_Atomic(struct kbn_map_node *) *buckets;
	uint32_t mask;         /* buckets - 1, a power of two less one */
	_Atomic uint32_t lock; /* writers only, held for a few instructions */
};

/* Defines a static map; `count` is a power of two. */
#define KBN_MAP(name, count)                                         \
	static _Atomic(struct kbn_map_node *) name##_buckets[count]; \
	static struct kbn_map name = {name##_buckets, (count)-1, 0}

/* The value of a key, NULL when there is none. */
void *kbn_map_get(const struct kbn_map *m, const void *key);

/* Set the value; the former value, or NULL. Nothing happens when memory has run out. */
void *kbn_map_put(struct kbn_map *m, const void *key, void *value);

/* Set the value unless the key has one. What the key has now; `value` itself when it was set. */
void *kbn_map_add(struct kbn_map *m, const void *key, void *value);

/* Remove the key; the value it had, or NULL. */
void *kbn_map_take(struct kbn_map *m, const void *key);

/* Forget everything, for a forked child that begins anew. No other thread may be in the map. */
void kbn_map_reset(struct kbn_map *m);

/* Call `f` for each entry. Entries that change meanwhile may be seen or not. */
void kbn_map_each(const struct kbn_map *m, void (*f)(const void *key, void *value, void *arg),
		  void *arg);

#endif
