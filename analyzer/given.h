/*
 * given.h - what a user says of a launch that nobody recorded: its arguments and its buffers.
 * Input: the words of the command line. Output: checked values; nothing is computed from them here.
 * Errors are ERR_USAGE, begin with the option and say what it wants.
 */
#ifndef KBN_GIVEN_H
#define KBN_GIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct arena;

/* One kernel argument, as it lies in the parameter block. */
struct given_arg {
	const char *type; /* "i32", ..., "hex" */
	const uint8_t *bytes;
	size_t bytes_n;
};

struct given_allocation {
	uint64_t address, bytes;
};

struct given {
	const struct given_arg *args;
	size_t args_n;
	const uint8_t *params; /* the parameter block as a whole, in place of args */
	size_t params_n;
	const struct given_allocation *allocations;
	size_t allocations_n;
};

/*
 * "TYPE:VALUE" of --arg. TYPE is i8 to i64, u8 to u64, f16, bf16, f32, f64, ptr, or hex, whose VALUE is
 * the bytes in the order of memory. Integers may be hexadecimal (0x10) and must fit; reals are rounded
 * to the nearest value of the type.
 */
int given_arg(struct given_arg *out, const char *word, struct arena *a, struct err *e);

/* Two hexadecimal digits a byte, in the order of memory; `option` is for the error. */
int given_hex(const char *option, const char *word, const uint8_t **bytes, size_t *n,
	      struct arena *a, struct err *e);

/* "ADDR:BYTES" of --alloc. */
int given_allocation(struct given_allocation *out, const char *word, struct err *e);

/* A number above 0 and at most `most` such as 4096, 1.5 or 2e12. */
int given_number(const char *option, const char *word, double most, double *out, struct err *e);

#endif
