/*
 * sass.h - one machine instruction: 128 bits to a structure. Table-driven (tables/sass.def): what no
 * row explains is not decoded, and says so. Text is made by sass_text.h.
 *
 * Covers sm_70 to sm_121; the control code has the same place in all of them.
 */
#ifndef KBN_SASS_H
#define KBN_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SASS_SM_FIRST 70
#define SASS_SM_LAST  121
#define SASS_BYTES    16u /* of an instruction */
#define SASS_OPERANDS 16u
#define SASS_RZ       255u
#define SASS_PT       7u

struct sass_row;

struct sass_word {
	uint64_t lo, hi; /* bits 0-63 and 64-127 of the little-endian instruction */
};

/* Bits 105-121, and the reuse flags. */
struct sass_control {
	uint8_t stall; /* cycles until the next instruction, 0-15 */
	bool yield;    /* the scheduler may switch to another warp (the bit is clear) */
	uint8_t write_barrier, read_barrier; /* 0-5, 7 = none */
	uint8_t wait;                        /* mask of the barriers waited for */
	uint8_t reuse;                       /* mask of bits 122-124 */
};

enum sass_operand_kind {
	SASS_REG,     /* R0-R254, 255 = RZ */
	SASS_UREG,    /* UR; SASS_RZ = URZ on every architecture */
	SASS_PRED,    /* P0-P6, 7 = PT */
	SASS_UPRED,   /* UP0-UP6, 7 = UPT */
	SASS_BARRIER, /* convergence barrier B0-B15 */
	SASS_SCOREBOARD,
	SASS_IMMEDIATE, /* value: sign-extended where the text shows a sign */
	SASS_FLOAT,     /* value: the bits as they stand in the instruction */
	SASS_TARGET,    /* value: byte offset in the function */
	SASS_SPECIAL,   /* value: index of a special register */
	SASS_CHOICE, /* a word of the text, as the operation of a cache control; value: its number */
};

enum {
	SASS_NEG = 1u,
	SASS_ABS = 2u,
	SASS_NOT = 4u, /* ! of a predicate, ~ of a register */
	SASS_REUSE = 8u,
	SASS_DEST = 16u,       /* written */
	SASS_IN_ADDRESS = 32u, /* a term within brackets */
	SASS_IN_BANK =
		64u, /* names or indexes a constant bank: bank first, then terms of the offset */
};

struct sass_operand {
	uint8_t kind;  /* enum sass_operand_kind */
	uint8_t flags; /* SASS_NEG and so on */
	uint8_t index; /* position in the text, from 0: terms of one address share it */
	uint8_t regs;  /* registers from reg on, 1 where the row says nothing */
	uint16_t reg;
	int64_t value;
};

struct sass_insn {
	struct sass_word word;
	const struct sass_row *row; /* NULL = the opcode is not known */
	struct sass_word unclaimed; /* bits set that the row does not explain: not decoded */
	bool is_decoded;
	uint8_t guard; /* predicate 0-7, 7 = always */
	bool guard_not;
	bool guard_uniform; /* UP, not P */
	uint8_t operands_n;
	uint64_t address; /* byte offset in the function, as given */
	struct sass_control control;
	struct sass_operand operands[SASS_OPERANDS];
};

/* sm: 70 to 121. False when that architecture has no table. Decoders are made once per architecture. */
bool sass_has(int sm);

/* Always fills *insn, with is_decoded false when a bit is set that no row explains. True: decoded. */
bool sass_decode(int sm, struct sass_word word, uint64_t address, struct sass_insn *insn);

static inline struct sass_control sass_control(struct sass_word w);

/* Base mnemonic ("LDG") of a decoded instruction, "" when the opcode is not known. Static. */
const char *sass_op(const struct sass_insn *insn);

/* The instruction at a byte address of code. */
static inline struct sass_word sass_load(const uint8_t *code)
{
	struct sass_word w = {0, 0};

	for (int i = 7; i >= 0; i--) {
		w.lo = w.lo << 8 | code[i];
		w.hi = w.hi << 8 | code[8 + i];
	}
	return w;
}

/* `width` bits (1-64) of the word from bit `at` on. */
static inline uint64_t sass_bits(struct sass_word w, unsigned at, unsigned width)
{
	uint64_t v;

	if (at >= 64)
		v = w.hi >> (at - 64);
	else
		v = w.lo >> at | (at ? w.hi << (64 - at) : 0);
	return width < 64 ? v & ((UINT64_C(1) << width) - 1) : v;
}

static inline struct sass_control sass_control(struct sass_word w)
{
	return (struct sass_control){
		.stall = (uint8_t)sass_bits(w, 105, 4),
		.yield = !sass_bits(w, 109, 1),
		.write_barrier = (uint8_t)sass_bits(w, 110, 3),
		.read_barrier = (uint8_t)sass_bits(w, 113, 3),
		.wait = (uint8_t)sass_bits(w, 116, 6),
		.reuse = (uint8_t)sass_bits(w, 122, 3),
	};
}

#endif
