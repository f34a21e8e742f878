/*
 * formula.h - arithmetic that people write: whole numbers, decimals, the geometry of a launch (gx gy gz bx by
 * bz), + - * / and parentheses. Exact: values are fractions of two 64-bit numbers, and what these cannot hold
 * is an error, never a rounded figure. Input: text and a geometry. Leaves what a value means to work.h.
 */
#ifndef KBN_FORMULA_H
#define KBN_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* What the six names stand for. */
struct formula_geometry {
	uint32_t grid[3], block[3];
};

/* A place in one line of text, and what errors call it. */
struct formula {
	const char *text; /* need not end with a NUL */
	size_t n, at;
	const struct formula_geometry *geometry; /* NULL = check the notation, compute nothing */
	const char *source;                      /* a file, or an option ("--flops") */
	size_t line;                             /* of the file, from 1; 0 = an option */
	unsigned depth;                          /* of parentheses and signs, set to 0 */
};

/* Lowest terms, denominator at least 1. */
struct formula_value {
	int64_t n, d;
};

/*
 * Read one expression from f->at on; it ends where no operator follows. -1 with ERR_USAGE when the notation is
 * wrong, and, with a geometry, for a division by zero and for what 64 bits cannot hold. Without a geometry the
 * value is 0.
 */
int formula_read(struct formula *f, struct formula_value *out, struct err *e);

/* A value not below 0, rounded to the nearest whole number; `what` names it in the error. */
int formula_read_count(struct formula *f, const char *what, int64_t *out, struct err *e);
/* A whole number of at least 1; without a geometry 1. */
int formula_read_size(struct formula *f, const char *what, int64_t *out, struct err *e);

/* The next character that is no blank, '\0' at the end; f->at stands on it. */
char formula_next(struct formula *f);
/* A word (letters, digits, _) at f->at into `out`, its length; 0 = there is none. A longer one is cut. */
size_t formula_word(struct formula *f, char *out, size_t room);

/* Fill *e with "file:line:column: ..." or "--option, character n: ..." for the place `at`; -1. */
int formula_error(const struct formula *f, size_t at, struct err *e, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
