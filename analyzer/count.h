/*
 * count.h - sums and products of counts out of a recording. A damaged one may hold any number: what
 * does not fit stays at the end of the scale, so that it cannot wrap into a small one.
 */
#ifndef KBN_COUNT_H
#define KBN_COUNT_H

#include <stdint.h>

/* a + b, at most UINT64_MAX. */
static inline uint64_t count_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* a * b, at most UINT64_MAX. */
static inline uint64_t count_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Blocks of a grid, threads of a block: x * y * z, at most UINT64_MAX. */
static inline uint64_t count_volume(const uint32_t v[3])
{
	return count_product((uint64_t)v[0] * v[1], v[2]);
}

/* For fields that are an int: at most INT32_MAX. */
static inline int count_int(uint64_t n)
{
	return n < INT32_MAX ? (int)n : INT32_MAX;
}

#endif
