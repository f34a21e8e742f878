/*
 * idiom.h - what a kernel is made of that its author may not have meant: arithmetic in double precision on values
 * that were floats just before and become floats again, and a matrix product without matrix instructions.
 * Input: the flow of a function. By where values come from, never by names. Leaves it to others whether it matters.
 */
#ifndef KBN_IDIOM_H
#define KBN_IDIOM_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"

struct arena;

/* Bits of the coordinates of a thread: tid.x, y, z, ctaid.x, y, z. */
#define IDIOM_COORDINATES 6u

struct idioms {
	/*
	 * FP64 operations in code of one loop, or outside of all, which also widens floats to doubles and either
	 * narrows them again or compares them, once for every few operations; of the region with most of them, 0 =
	 * none. A sum kept in double and narrowed at its end is none: somebody meant that. Or: of the region with most
	 * of them in a function in which nobody meant any (idiom_double.h); conversions are then those of the function.
	 */
	uint32_t doubles, widened, narrowed;
	uint32_t doubles_at; /* the first of them, an instruction; CFG_NONE */
	/* Of that region: instructions that have part in doubles, all, and first values of reciprocals and roots. */
	uint32_t doubles_on, doubles_around, doubles_seeds;

	/*
	 * A sum of floats kept in double: of the innermost loop with most of them, FP64 operations on nothing but floats
	 * of that turn and what they were added up to, in a function that narrows in the end. Somebody meant that. 0 = none.
	 */
	uint32_t summed, summed_widened; /* operations; floats that are widened for them */
	uint32_t summed_at;              /* the first of them; CFG_NONE */

	/*
	 * A loop of multiply-adds, of two loaded values each, that makes a matrix product: either the values are
	 * used in several of them on both sides (a tile in registers), or the addresses of the two depend on
	 * different coordinates of the thread (rows and columns) and those of the results on both. 0 sums = none.
	 */
	uint32_t sums;       /* a thread has so many results under way */
	uint32_t multiplies; /* in one turn */
	double uses;         /* of a loaded value, mean */
	/* Coordinates that the one and the other operand depend on; both 0 of a tile in registers. */
	uint8_t rows, columns;
	bool is_staged; /* from shared memory: which coordinates of the block belong to which is not known */
	uint32_t product_at; /* first instruction of the loop; CFG_NONE */

	/*
	 * A loop of other operations of two loaded values each, that makes a table: the addresses of the two depend on
	 * different coordinates, and those of the results on both (sums and minima, distances, bits that differ).
	 * 0 pairs = none.
	 */
	uint32_t pairs;         /* in one turn */
	uint32_t pair_operands; /* loaded registers that they use, each once */
	uint32_t pairs_at;      /* first instruction of the loop; CFG_NONE */
};

/* 0, or -1 when memory has run out. */
int idiom_read(const struct cfg *g, struct arena *scratch, struct idioms *out);

#endif
