/*
 * sass.h - one machine instruction: 128 bits to a structure. Table-driven (tables/sass.def): what no
 * row explains is not decoded, and says so. The words behind the operation and its operands (.WIDE, .H0_H0)
 * are sass_modifier.h's, memory and matrices sass_work.h's, and text is sass_text.h's.
 *
 * Covers sm_70 to sm_121; the control code has the same place in all of them. What is known was learnt
 * from the texts of NVIDIA's disassembler (tests/golden/README.md); no document of NVIDIA states it.
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

/* Bits 105-121, and the reuse flags. Barriers are the warp's six scoreboards. */
struct sass_control {
	uint8_t stall; /* cycles until the next instruction of the warp may issue, 0-15 */
	bool yield;    /* the scheduler may switch to another warp (the bit is clear) */
	uint8_t write_barrier, read_barrier; /* in use until written, until read: 0-5, 7 = none */
	uint8_t wait;                        /* bit n: waits until barrier n is not in use */
	uint8_t reuse;                       /* bit n: source n stays in the cache of operands */
};

/* Of the first six kinds `reg` counts and `value` is the same number, of the others `value` alone. */
enum sass_operand_kind {
	SASS_REG,        /* R0-R254, SASS_RZ = RZ */
	SASS_UREG,       /* UR; SASS_RZ = URZ on every architecture */
	SASS_PRED,       /* P0-P6, SASS_PT = PT */
	SASS_UPRED,      /* UP0-UP6, SASS_PT = UPT */
	SASS_BARRIER,    /* convergence barrier B0-B15 */
	SASS_SCOREBOARD, /* SB0-SB5 of the control code, as DEPBAR names them */
	SASS_IMMEDIATE,  /* sign-extended where the text shows a sign; offsets are bytes */
	SASS_F32,        /* the bits of a float, */
	SASS_F64,        /* the upper half of a double; the lower is 0, */
	SASS_F16,    /* a half; or two, with regs 2: the upper 16 bits are the first of the text, */
	SASS_BF16,   /* the same of bfloat16 */
	SASS_TARGET, /* of a branch: byte offset in the function */
	SASS_SPECIAL, /* index of a special register (tables/sass_special.def) */
	SASS_CHOICE,  /* a word of the text, as the dimensions of a texture: its number */
};

/* IN_ADDRESS: [R4+0x10], and a descriptor in front; IN_BANK: c[bank][terms of the offset]. Both are read. */
enum {
	SASS_NEG = 1u,   /* -x */
	SASS_ABS = 2u,   /* |x|; with SASS_NEG -|x| */
	SASS_NOT = 4u,   /* !x of a predicate, ~x of a register */
	SASS_REUSE = 8u, /* x.reuse */
	SASS_DEST = 16u, /* written */
	SASS_IN_ADDRESS = 32u,
	SASS_IN_BANK = 64u,
};

/*
 * Operands are in the order of the text, also those that it leaves out as they say nothing (RZ, PT, 0).
 * An operand of several items, [R4.64+UR6+0x10] or c[0x0][0x210], is as many of these with one index.
 * Behind them: registers that are read and that the text never shows, as the descriptor of LDG on sm_80.
 * Not here: PR, all predicates at once (P2R, R2P).
 */
struct sass_operand {
	uint8_t kind;  /* enum sass_operand_kind */
	uint8_t flags; /* SASS_NEG and so on */
	uint8_t index; /* of the operand, from 0; terms of one address share it */
	uint8_t regs;  /* so many registers from reg on: 2 of a 64-bit value, also when reg is RZ */
	uint16_t reg;
	int64_t value;
};

struct sass_insn {
	struct sass_word word;
	const struct sass_row *row; /* NULL = the opcode is not known */
	struct sass_word unclaimed; /* bits set that the row does not explain: not decoded */
	bool is_decoded;
	uint8_t guard;      /* @P0: done only where the predicate is true; SASS_PT = always */
	bool guard_not;     /* @!P0; with SASS_PT never */
	bool guard_uniform; /* UP, not P */
	uint8_t operands_n;
	uint64_t address; /* byte offset in the function, as given */
	struct sass_control control;
	struct sass_operand operands[SASS_OPERANDS];
};

/*
 * Whether instructions of an architecture (90 = sm_90) can be read. Its table is made at the first
 * question and kept, here and in sass_decode: not from two threads at once.
 */
bool sass_has(int sm);

/*
 * Fills *insn in any case; address: byte offset in the function. False, and is_decoded false: the
 * architecture or the opcode is not known (row is NULL), a bit is set that the row does not explain
 * (unclaimed) or a field has a value without a name; operands are what could be read.
 */
bool sass_decode(int sm, struct sass_word word, uint64_t address, struct sass_insn *insn);

static inline struct sass_control sass_control(struct sass_word w);

/* Base mnemonic ("LDG" of LDG.E.64), "" when the opcode is not known. Lives as long as the program. */
const char *sass_op(const struct sass_insn *insn);

/* The 16 bytes at `code` as an instruction. */
static inline struct sass_word sass_load(const uint8_t *code)
{
	struct sass_word w = {0, 0};

	for (int i = 7; i >= 0; i--) {
		w.lo = w.lo << 8 | code[i];
		w.hi = w.hi << 8 | code[8 + i];
	}
	return w;
}

/* `width` bits (0-64) of the word from bit `at` (0-127) on, none beyond bit 127. */
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
