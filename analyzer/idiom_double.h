/*
 * idiom_double.h - private to idiom*.c: whether anybody meant the doubles of a function. C makes a double of a float
 * where its partner is one: a constant without an f, a function of the mathematics in double. Nobody meant it
 * where no double comes from the caller or from memory, none is kept from one turn of a loop to the next, none is
 * stored or handed to another lane, and constants take part all over.
 */
#ifndef KBN_IDIOM_DOUBLE_H
#define KBN_IDIOM_DOUBLE_H

#include <stdint.h>

#include "cfg.h"

struct arena;

/* Conversions to double: +1, from double: -1, else 0. A comparison of doubles counts as one from double. */
int idiom_widens(const struct sass_insn *insn, const struct sass_modifiers *m);

/*
 * For each instruction whether it reads or makes a double, or a part of one; NULL in *on when they are meant, or not
 * all that reaches them is known. 0, or -1 when memory has run out.
 */
int idiom_double_read(const struct cfg *g, struct arena *scratch, const uint8_t **on);

#endif
