/*
 * shape.c - the accumulators of a thread: a private table from shape to mapped slot.
 *
 * The table belongs to one thread, so nothing in it is locked. Entries are never removed; the table
 * doubles out of the arena and leaves the old one behind, which costs as much again in the end.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "launch.h"
#include "writer.h"

#define FIRST_CAPACITY 64u

/*
 * Cheap, since it runs for every launch that the thread's recent shapes do not have: a multiplication
 * by the golden ratio per eight bytes. A product's low bits know only low bits; the fold at the end lets
 * every bit of the key reach those that choose the place.
 */
static KBN_ALWAYS_INLINE uint32_t hash_of(enum kbn_slot_kind kind, const struct kbn_shape_key *key)
{
	const uint64_t ratio = 0x9e3779b97f4a7c15u;
	uint64_t h = (uint64_t)kind << 32 | key->dyn_smem_bytes, word;

#pragma GCC unroll 8
	for (size_t i = 0; i + 8 <= sizeof(*key); i += 8) {
		memcpy(&word, (const char *)key + i, 8);
		h = h * ratio + word;
	}
	h *= ratio;
	return (uint32_t)((h ^ h >> 32) * ratio >> 32);
}

/* Place of the shape in the table, or of the free entry where it belongs. Needs one free entry. */
static KBN_ALWAYS_INLINE struct kbn_shape **place(struct kbn_shape **table, uint32_t capacity,
						  uint32_t hash, enum kbn_slot_kind kind,
						  const struct kbn_shape_key *key)
{
	uint32_t i = hash & (capacity - 1);

	while (table[i] && (table[i]->hash != hash || !kbn_shape_is(table[i], kind, key)))
		i = (i + 1) & (capacity - 1);
	return &table[i];
}

static bool grow(struct kbn_thread *t)
{
	const uint32_t capacity = t->shapes_cap ? t->shapes_cap * 2 : FIRST_CAPACITY;
	struct kbn_shape **table = kbn_alloc(capacity * sizeof(*table));
	uint32_t at;

	if (!table)
		return false;
	for (uint32_t i = 0; i < t->shapes_cap; i++) {
		if (!t->shapes[i])
			continue;
		for (at = t->shapes[i]->hash & (capacity - 1); table[at];)
			at = (at + 1) & (capacity - 1);
		table[at] = t->shapes[i];
	}
	t->shapes = table;
	t->shapes_cap = capacity;
	return true;
}

/* A mapped slot with its identity, visible to readers from the last store on. */
static struct kbn_slot *slot_make(const struct kbn_thread *t, enum kbn_slot_kind kind,
				  const struct kbn_shape_key *key, bool reserve, uint32_t *index)
{
	struct kbn_slot *s = kbn_slot_new(reserve, index);

	if (!s)
		return NULL;
	s->thread = t->id;
	memcpy(&s->kernel, key, sizeof(*key));
	__atomic_store_n(&s->kind, kind, __ATOMIC_RELEASE);
	return s;
}

static struct kbn_shape *shape_add(struct kbn_thread *t, enum kbn_slot_kind kind,
				   const struct kbn_shape_key *key, bool reserve)
{
	const uint32_t hash = hash_of(kind, key);
	struct kbn_shape *s;
	struct kbn_slot *slot;
	uint32_t index;

	if ((t->shapes_used + 1) * 4 > t->shapes_cap * 3 && !grow(t))
		return NULL;
	slot = slot_make(t, kind, key, reserve, &index);
	s = slot ? kbn_alloc_lines(sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	s->slot = slot;
	s->index = index;
	s->hash = hash;
	*place(t->shapes, t->shapes_cap, hash, kind, key) = s;
	t->shapes_used++;
	return s;
}

static KBN_ALWAYS_INLINE struct kbn_shape *find(struct kbn_thread *t, enum kbn_slot_kind kind,
						const struct kbn_shape_key *key)
{
	if (!t->shapes_cap)
		return NULL;
	return *place(t->shapes, t->shapes_cap, hash_of(kind, key), kind, key);
}

bool kbn_shape_may_improve(const struct kbn_shape *s)
{
	const struct kbn_slots_header *h = kbn_writer_header();

	return (s->slot->flags & KBN_SLOT_OVERFLOW) &&
	       __atomic_load_n(&h->slots, __ATOMIC_RELAXED) < h->slot_cap;
}

/* Half of what lies past the cap is gone. */
static bool reserve_is_scarce(void)
{
	const struct kbn_slots_header *h = kbn_writer_header();

	return h && __atomic_load_n(&h->slots, __ATOMIC_RELAXED) >=
			    h->slot_cap + (uint64_t)h->slot_cap / 16;
}

/*
 * Past the cap, and while the file cannot grow: all further shapes of a kernel share a slot that tells
 * no geometry, and in the end not even the context, for a program may make contexts without number.
 */
static struct kbn_shape *overflow(struct kbn_thread *t, enum kbn_slot_kind kind,
				  const struct kbn_shape_key *key)
{
	struct kbn_shape_key all = {
		.kernel = key->kernel, .context = key->context, .flags = KBN_SLOT_OVERFLOW};
	struct kbn_shape *s = find(t, kind, &all);

	if (!s && !reserve_is_scarce())
		s = shape_add(t, kind, &all, true);
	if (s)
		return s;
	all.context = UINT32_MAX;
	s = find(t, kind, &all);
	return s ? s : shape_add(t, kind, &all, true);
}

static __attribute__((noinline)) struct kbn_shape *shape_new(struct kbn_thread *t,
							     enum kbn_slot_kind kind,
							     const struct kbn_shape_key *key)
{
	const int saved_errno = errno;
	struct kbn_shape *s = shape_add(t, kind, key, false);

	if (!s)
		s = overflow(t, kind, key);
	errno = saved_errno;
	return s;
}

struct kbn_shape *kbn_shape_of(struct kbn_thread *t, enum kbn_slot_kind kind,
			       const struct kbn_shape_key *key)
{
	struct kbn_shape *s = find(t, kind, key);

	return s ? s : shape_new(t, kind, key);
}
