/*
 * vec.h - growable array of any type, header only.
 *
 *   VEC(struct thing) things = {0};
 *   struct thing *t = vec_add(&things);     zeroed new last element, NULL when memory has run out
 *   for (size_t i = 0; i < things.n; i++) use(&things.at[i]);
 *   vec_fini(&things);
 *
 * Growing moves the elements: keep indices, not pointers. Sizes are checked for overflow.
 */
#ifndef KBN_VEC_H
#define KBN_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                   \
	struct {                    \
		type *at;           \
		size_t n, capacity; \
	}

/* `at` with room for one element more; NULL (and nothing changed) when that cannot be had. */
static inline void *vec_grow(void *at, size_t n, size_t *capacity, size_t bytes)
{
	size_t want = *capacity ? *capacity : 8, total;
	void *grown;

	if (n < *capacity)
		return at;
	if (*capacity && __builtin_mul_overflow(want, (size_t)2, &want))
		return NULL;
	if (__builtin_mul_overflow(want, bytes, &total))
		return NULL;
	grown = realloc(at, total);
	if (grown)
		*capacity = want;
	return grown;
}

#define vec_add(v)                                                                          \
	({                                                                                  \
		void *grown_ = vec_grow((v)->at, (v)->n, &(v)->capacity, sizeof(*(v)->at)); \
		if (grown_) {                                                               \
			(v)->at = grown_;                                                   \
			memset(&(v)->at[(v)->n++], 0, sizeof(*(v)->at));                    \
		}                                                                           \
		grown_ ? &(v)->at[(v)->n - 1] : NULL;                                       \
	})

#define vec_fini(v)                           \
	do {                                  \
		free((v)->at);                \
		memset((v), 0, sizeof(*(v))); \
	} while (0)

/* Sort by a qsort comparison; an empty array may have no storage at all. */
#define vec_sort(v, compare)                                                 \
	do {                                                                 \
		if ((v)->n)                                                  \
			qsort((v)->at, (v)->n, sizeof(*(v)->at), (compare)); \
	} while (0)

#endif
