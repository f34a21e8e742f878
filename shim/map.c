/*
 * map.c - chains of nodes that are never freed, so that a reader may stand on any of them.
 *
 * Writers take a spin lock for the few instructions of a change; it is never held across a driver
 * call. A reader sees a node's key, its value, and the same key again: then the value was that key's.
 */
#include "map.h"

#include <sched.h>
#include <stddef.h>

#include "writer.h"

static uint32_t bucket_of(const struct kbn_map *m, const void *key)
{
	const uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32) & m->mask;
}

static void lock(struct kbn_map *m)
{
	while (atomic_exchange_explicit(&m->lock, 1, memory_order_acquire))
		sched_yield();
}

static void unlock(struct kbn_map *m)
{
	atomic_store_explicit(&m->lock, 0, memory_order_release);
}

static struct kbn_map_node *find(const struct kbn_map *m, const void *key)
{
	struct kbn_map_node *n =
		atomic_load_explicit(&m->buckets[bucket_of(m, key)], memory_order_acquire);

	while (n && atomic_load_explicit(&n->key, memory_order_acquire) != key)
		n = n->next;
	return n;
}

void *kbn_map_get(const struct kbn_map *m, const void *key)
{
	struct kbn_map_node *n;
	void *value;

	if (!key)
		return NULL;
	do {
		n = find(m, key);
		if (!n)
			return NULL;
		value = atomic_load_explicit(&n->value, memory_order_acquire);
	} while (atomic_load_explicit(&n->key, memory_order_acquire) != key);
	return value;
}

/* Under the lock: a node for a key that is not there. A free one of the same chain goes first. */
static void insert(struct kbn_map *m, const void *key, void *value)
{
	_Atomic(struct kbn_map_node *) *bucket = &m->buckets[bucket_of(m, key)];
	struct kbn_map_node *n = atomic_load(bucket);

	while (n && atomic_load(&n->key))
		n = n->next;
	if (n) {
		atomic_store(&n->value, value);
		atomic_store(&n->key, key);
		return;
	}
	n = kbn_alloc(sizeof(*n));
	if (!n)
		return;
	atomic_store(&n->value, value);
	atomic_store(&n->key, key);
	n->next = atomic_load(bucket);
	atomic_store(bucket, n);
}

static void *put(struct kbn_map *m, const void *key, void *value, int replace)
{
	struct kbn_map_node *n;
	void *former = NULL;

	if (!key)
		return NULL;
	lock(m);
	n = find(m, key);
	if (n) {
		former = atomic_load(&n->value);
		if (replace)
			atomic_store(&n->value, value);
	} else {
		insert(m, key, value);
	}
	unlock(m);
	return former;
}

void *kbn_map_put(struct kbn_map *m, const void *key, void *value)
{
	return put(m, key, value, 1);
}

void *kbn_map_add(struct kbn_map *m, const void *key, void *value)
{
	void *former = put(m, key, value, 0);

	return former ? former : value;
}

void *kbn_map_take(struct kbn_map *m, const void *key)
{
	struct kbn_map_node *n;
	void *value = NULL;

	if (!key)
		return NULL;
	lock(m);
	n = find(m, key);
	if (n) {
		value = atomic_load(&n->value);
		atomic_store(&n->key, NULL);
	}
	unlock(m);
	return value;
}

void kbn_map_reset(struct kbn_map *m)
{
	for (uint32_t i = 0; i <= m->mask; i++)
		atomic_store(&m->buckets[i], NULL);
	atomic_store(&m->lock, 0);
}

void kbn_map_each(const struct kbn_map *m, void (*f)(const void *key, void *value, void *arg),
		  void *arg)
{
	for (uint32_t i = 0; i <= m->mask; i++)
		for (struct kbn_map_node *n = atomic_load(&m->buckets[i]); n; n = n->next) {
			const void *key = atomic_load(&n->key);

			if (key)
				f(key, atomic_load(&n->value), arg);
		}
}
