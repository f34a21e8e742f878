/*
 * lanes_code.h - instructions made ready for lanes_step.c: what each does as one of a few operations, its
 * operands as those that it writes and those that it reads. Private to lanes*.c.
 */
#ifndef KBN_LANES_CODE_H
#define KBN_LANES_CODE_H

#include "cfg.h"
#include "dataflow.h"
#include "sass_modifier.h"
#include "sass_work.h"

struct arena;

enum lanes_op {
	LANES_OP_OTHER,    /* nobody knows what it makes of its lanes */
	LANES_OP_LANEWISE, /* each lane by itself: of equal lanes equal lanes */
	LANES_OP_MOV,
	LANES_OP_MAD,
	LANES_OP_MAD_WIDE,
	LANES_OP_MAD_HI,
	LANES_OP_ADD, /* two or three terms, carries */
	LANES_OP_LEA,
	LANES_OP_LOP3,
	LANES_OP_SHF,
	LANES_OP_PRMT,
	LANES_OP_SGXT,
	LANES_OP_BMSK,
	LANES_OP_SEL,
	LANES_OP_MNMX,
	LANES_OP_ABS,
	LANES_OP_SETP,
	LANES_OP_PLOP3,
	LANES_OP_SPECIAL,
	LANES_OP_CONSTANT, /* a load from a constant bank */
	LANES_OP_TO_UNIFORM,
	LANES_OP_FLO,
	LANES_OP_POPC,
	LANES_OP_BREV,
	LANES_OP_VOTE,
	LANES_OP_SHFL,
	LANES_OP_ELECT,
	LANES_OP_HALF_MOVE,
	LANES_OP_I2F, /* these three as the compiler divides integers by them */
	LANES_OP_RCP,
	LANES_OP_F2I,
	LANES_OP_LOAD,
	LANES_OP_BSSY,
	LANES_OP_BSYNC,
	LANES_OP_BREAK,
	LANES_OP_WARPSYNC,
	LANES_OP_CALL,    /* and comes back */
	LANES_OP_NOTHING, /* writes no register */
};

enum lanes_arg_kind {
	LANES_ARG_NONE,
	LANES_ARG_REG,
	LANES_ARG_UREG,
	LANES_ARG_PRED,
	LANES_ARG_UPRED,
	LANES_ARG_NUMBER,
	LANES_ARG_BANK,
	LANES_ARG_SPECIAL,
};

struct lanes_arg {
	uint8_t kind, flags; /* SASS_NEG and so on */
	uint8_t regs, bank;
	uint16_t reg;
	uint8_t index_kind; /* of a bank: register that is added to the offset, LANES_ARG_NONE = none */
	uint8_t index;
	int64_t value; /* number, offset in the bank, special register */
};

#define LANES_DESTS   3u
#define LANES_SOURCES 8u

struct lanes_insn {
	uint8_t op; /* enum lanes_op */
	uint8_t dests_n, sources_n;
	bool is_x, is_high, is_unsigned, is_signed_upper, is_right, is_wrapped, is_64;
	uint16_t relation, logic; /* enum sass_modifier; of BRA: DIV, CONV, ANY */
	uint16_t access;          /* index + 1 in the accesses, 0 = none */
	struct lanes_arg dest[LANES_DESTS], source[LANES_SOURCES];
};

struct lanes_access {
	uint32_t insn;
	struct sass_access access;
	uint8_t scale[2]; /* the register of an address counts so many bytes */
	uint8_t matrices; /* LDSM, STSM: so many rows of eight lanes' addresses; else 0 */
};

struct lanes_code {
	const struct cfg *g;
	struct lanes_insn *insns;
	struct lanes_access *accesses;
	uint32_t accesses_n;
	bool are_accesses_cut;       /* there are more */
	uint8_t is_address[32];      /* bit n: Rn and Rn+1 are an address somewhere */
	struct regset *loop_writes;  /* of each loop, with those within */
	struct regset called_writes; /* by what is called, wherever it is */
};

/* False when memory has run out. */
bool lanes_code_read(struct lanes_code *c, const struct cfg *g, struct arena *arena);

#endif
