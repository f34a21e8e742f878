/*
 * idiom_divide.h - integer divisions and remainders by what is no constant of the code. No GPU has an instruction for
 * them: of 32 bits it is a reciprocal in float, made exact, and a quotient of it, which is corrected; of other widths a
 * function that the compiler brings along. Input: the flow of a function. By where values come from. Leaves to others
 * how often they are done and what that costs.
 */
#ifndef KBN_IDIOM_DIVIDE_H
#define KBN_IDIOM_DIVIDE_H

#include <stdint.h>

#include "cfg.h"

struct arena;

struct idiom_divide {
	uint8_t parts;       /* it has part in a division; 2 = and stands for one more that has */
	uint8_t is_quotient; /* a division of 32 bits: that which makes its quotient */
	uint8_t is_seed; /* ends the first value of a reciprocal; where it is known before, a loop does without */
	uint16_t called; /* a call of such a function, of so many instructions; 0 = none */
};

/* One for each instruction, in the arena; NULL when memory has run out. */
const struct idiom_divide *idiom_divide_read(const struct cfg *g, struct arena *arena);

#endif
