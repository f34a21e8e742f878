/*
 * lanes_value.h - what the 32 lanes of a warp hold in one register, as far as code and arguments prove it:
 * a sum of unknown numbers that all lanes share, and an offset of each lane. Equal values have equal ids, so a
 * state of all registers is an array of numbers. Input: sums, products, ids. Knows no instruction.
 *
 * A form is base + sum(coefficient x symbol) + pattern[lane], modulo 2^64. A register holds the lower or the
 * upper half of a form, or nobody knows what. So the two registers of an address are known to belong together,
 * and carries between them need not be.
 */
#ifndef KBN_LANES_VALUE_H
#define KBN_LANES_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keymap.h"
#include "vec.h"

struct arena;

#define LANES       32u
#define LANES_NONE  UINT32_MAX
#define LANES_TERMS 6u

/* Why a value is not known: bits, also of what went into a symbol. */
enum {
	LANES_ARGUMENT = 1u,  /* a kernel argument whose bytes were not given */
	LANES_LOADED = 2u,    /* what a memory holds */
	LANES_OPERATION = 4u, /* an operation that is not modelled */
	LANES_PARTED = 8u,    /* lanes that come together had taken different paths */
	LANES_PLACE = 16u,    /* where the block is in the grid, or the warp in the block */
	LANES_LIMIT = 32u,    /* memory or time was not enough */
	LANES_COMMON = 64u,   /* no reason: an unknown value that is the same in all lanes */
	LANES_ALIGNED =
		128u, /* an address that is no multiple of its access: the device would refuse it */
};

enum lanes_symbol_kind {
	LANES_CONSTANT, /* of a constant bank: `key` is bank << 32 | offset */
	LANES_POSITION, /* of the block or the warp: 0 to `high` */
	LANES_MADE,     /* by instruction `owner`; key: register, or more */
	LANES_JOINED,   /* what register `key` is in front of block `owner` */
	LANES_SIGNED,   /* the lower half of `parent`, sign-extended */
	LANES_UNSIGNED, /* the same, zero-extended */
	LANES_UPPER,    /* the upper half of `parent` */
};

struct lanes_symbol {
	uint8_t kind;
	bool is_pointer;    /* an argument of eight bytes */
	bool has_range;     /* 0 to high */
	uint8_t aligned;    /* LANES_JOINED: it is `parent` plus a multiple of 2^aligned */
	uint8_t step_known; /* LANES_JOINED: grows by `step` each time; 0 = not seen, 1 = so, 2 = no */
	bool is_reentered; /* LANES_JOINED: it did not always begin with `parent` */
	uint32_t owner;    /* instruction or block, LANES_NONE = none */
	uint32_t reasons;
	uint32_t parent; /* form, LANES_NONE = none */
	uint64_t key, high;
	int64_t step;
};

struct lanes_terms {
	uint32_t n;
	uint32_t symbol[LANES_TERMS]; /* ascending */
	uint64_t coefficient[LANES_TERMS];
};

struct lanes_form {
	uint64_t base;
	uint32_t terms, pattern; /* 0 = none, all lanes the same */
	uint32_t is_assumed;     /* provided that an index of 32 bits does not wrap */
};

struct lanes_pattern {
	int64_t at[LANES]; /* at[0] is 0 */
};

/* All that is interned; ids stay good until lanes_values_free(). */
struct lanes_values {
	struct arena *arena;
	VEC(struct lanes_symbol) symbols;
	VEC(struct lanes_terms) terms;
	VEC(struct lanes_pattern) patterns;
	VEC(struct lanes_form) forms;
	VEC(uint32_t) lower; /* of each form: its lower half, LANES_NONE = not asked yet */
	struct keymap symbol_ids, term_ids, pattern_ids, form_ids;
	bool is_full; /* a limit was met: values are unknown from then on */
};

bool lanes_values_init(struct lanes_values *v, struct arena *arena);
void lanes_values_free(struct lanes_values *v);

/* ---- what a register holds */

enum lanes_half { LANES_UNKNOWN, LANES_LOW, LANES_HIGH };

static inline enum lanes_half lanes_half(uint32_t value)
{
	return (enum lanes_half)(value & 3);
}

/* The form, or the reasons of an unknown value. */
static inline uint32_t lanes_of(uint32_t value)
{
	return value >> 2;
}

static inline uint32_t lanes_unknown(uint32_t reasons)
{
	return reasons << 2;
}

/* LANES_NONE in, unknown (LANES_LIMIT) out: forms may fail to be made. */
uint32_t lanes_low(struct lanes_values *v, uint32_t form);
uint32_t lanes_high(struct lanes_values *v, uint32_t form);

/* The same number of 32 bits in all lanes; one number per lane. */
uint32_t lanes_uniform(struct lanes_values *v, uint32_t number);
uint32_t lanes_known(struct lanes_values *v, const uint32_t number[LANES]);

/* Whether the register's 32 lanes are known, and their numbers. */
bool lanes_numbers(const struct lanes_values *v, uint32_t value, uint32_t number[LANES]);
bool lanes_is_number(const struct lanes_values *v, uint32_t value, uint32_t *number);
/* All lanes the same, known or not. */
bool lanes_is_uniform(const struct lanes_values *v, uint32_t value);
/* Reasons of what is not known in it, 0 = nothing. */
uint32_t lanes_reasons(const struct lanes_values *v, uint32_t value);

/* The value as a sum of 32 bits (its id is that of a form), LANES_NONE = it is none. */
uint32_t lanes_sum(struct lanes_values *v, uint32_t value);
/* Both halves as one form of 64 bits, LANES_NONE = they do not belong together. */
uint32_t lanes_pair(struct lanes_values *v, uint32_t low, uint32_t high);
/* A value of 32 bits extended, LANES_NONE = not known. */
uint32_t lanes_extend(struct lanes_values *v, uint32_t value, bool is_signed);

/* ---- forms */

uint32_t lanes_symbol(struct lanes_values *v, const struct lanes_symbol *s);
/* coefficient x symbol alone. */
uint32_t lanes_term(struct lanes_values *v, uint32_t symbol, uint64_t coefficient);
uint32_t lanes_form(struct lanes_values *v, uint64_t base, uint32_t terms, uint32_t pattern,
		    bool is_assumed);
uint32_t lanes_add(struct lanes_values *v, uint32_t a, uint32_t b);
uint32_t lanes_scale(struct lanes_values *v, uint32_t form, uint64_t factor);
/* Product of two forms; LANES_NONE where neither is known and the same in all lanes. */
uint32_t lanes_multiply(struct lanes_values *v, uint32_t a, uint32_t b);
/* The lower 32 bits as a form; equal lower halves have equal ids. */
uint32_t lanes_lower(struct lanes_values *v, uint32_t form);
/* All lanes known: 64 bits each. */
uint32_t lanes_of_numbers(struct lanes_values *v, const uint64_t number[LANES]);
bool lanes_form_numbers(const struct lanes_values *v, uint32_t form, uint64_t number[LANES]);

/* The form without what differs between lanes, and that alone. */
uint32_t lanes_without_pattern(struct lanes_values *v, uint32_t form);

/* A range of what each lane can be as a signed number of 64 bits; false = not bounded. */
bool lanes_range(const struct lanes_values *v, uint32_t form, bool is_32, unsigned lane,
		 int64_t *low, int64_t *high);

/*
 * How far the lowest bits of the shared part (base and symbols) are known: *residue modulo the result, a power
 * of two of at most `most`. With `pointers` arguments of eight bytes count as multiples of 256.
 */
uint64_t lanes_alignment(const struct lanes_values *v, uint32_t form, uint64_t most, bool pointers,
			 uint64_t *residue);

/*
 * The least power of two, at most `most`, so that no lane differs from the others in what is a multiple of it: adding
 * the lanes' offsets carries nothing there. 0 = there is none.
 */
uint64_t lanes_reach(const struct lanes_values *v, uint32_t form, uint64_t most);

/* Whether a symbol that `owner` (instruction) or `block` made is part of the form. */
bool lanes_mentions(const struct lanes_values *v, uint32_t form, uint8_t kind, uint32_t owner);
/* Any symbol for which the callback says so. */
bool lanes_any(const struct lanes_values *v, uint32_t form,
	       bool (*is_such)(const struct lanes_symbol *s, const void *ctx), const void *ctx);
/* Reasons of all symbols of a form. */
uint32_t lanes_form_reasons(const struct lanes_values *v, uint32_t form);

#endif
