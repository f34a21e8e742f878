/*
 * pattern.h - extended regular expressions for KBN_KERNELS: does a name match, yes or no.
 *
 * Not regexec: that needs 12 KB of stack, memory of the program's allocator and a lock, in the
 * middle of a launch that may come from a fiber of 16 KB.
 */
#ifndef KBN_SHIM_PATTERN_H
#define KBN_SHIM_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define KBN_PATTERN_STEPS 1024u /* a repetition {n} counts n times */
#define KBN_PATTERN_SETS  64u   /* bracket expressions and classes */

struct kbn_pattern_step {
	uint8_t op;    /* enum in pattern.c */
	uint8_t value; /* character, or index of a set */
	int16_t a, b;  /* where a fork leads, a jump by `a` alone; relative to the step */
};

struct kbn_pattern {
	uint32_t steps, sets;
	struct kbn_pattern_step step[KBN_PATTERN_STEPS];
	uint64_t set[KBN_PATTERN_SETS][4]; /* a bit for each byte value */
};

/*
 * Compile POSIX extended syntax as regcomp takes it in the C locale, with \w \W \s \S \b \B \< \>
 * but without back-references, collating elements and equivalence classes. False when the text is
 * malformed, or too long or too deep for the tables. Under 2 KB of stack, no allocation.
 */
bool kbn_pattern_compile(struct kbn_pattern *p, const char *text);

/* Whether the expression matches anywhere in `name`. Time is at most length times steps. */
bool kbn_pattern_matches(const struct kbn_pattern *p, const char *name);

#endif
