/*
 * sass_table.h - the rows of tables/sass.def made ready for one architecture. For sass.c, which reads
 * instructions by them, and sass_text.c, which writes them. The language of the rows: sass_table.c.
 */
#ifndef KBN_SASS_TABLE_H
#define KBN_SASS_TABLE_H

#include "sass.h"

enum sass_item_kind {
	SASS_ITEM_TEXT,   /* always there */
	SASS_ITEM_FLAG,   /* text when a bit is set, or when it is clear */
	SASS_ITEM_CHOICE, /* one text of a list */
	SASS_ITEM_OPEN,   /* [ */
	SASS_ITEM_PLUS,   /* + between the terms of an address */
	SASS_ITEM_CLOSE,  /* ] */
	SASS_ITEM_REG,
	SASS_ITEM_UREG,
	SASS_ITEM_PRED,
	SASS_ITEM_UPRED,
	SASS_ITEM_BARRIER,
	SASS_ITEM_SCOREBOARD,
	SASS_ITEM_HEX,
	SASS_ITEM_SIGNED, /* hexadecimal, with a sign */
	SASS_ITEM_DECIMAL,
	SASS_ITEM_F32,
	SASS_ITEM_F64, /* upper half of a double */
	SASS_ITEM_F16,
	SASS_ITEM_TARGET,
	SASS_ITEM_SPECIAL,
	SASS_ITEM_CLAIM, /* bits that mean nothing in the text */
};

#define SASS_NO_BIT 0xffu
#define SASS_SEGMENTS 6u

struct sass_choice {
	const char *name;
	unsigned width; /* bits */
	const char *const *texts; /* NULL = no such value */
};

struct sass_item {
	uint8_t kind;
	uint8_t width, shift;
	uint8_t at[SASS_SEGMENTS]; /* lowest bit; of a scattered field its bits, the highest first */
	uint8_t scattered;         /* how many, 0 = in one piece */
	uint8_t when_clear;        /* of a flag */
	uint8_t inverse;           /* bit of a ! before a predicate */
	uint8_t minus, bars, tilde, reuse; /* bits of -x, |x|, ~x, x.reuse */
	uint8_t regs;
	uint16_t text_n;
	const char *text;
	const struct sass_choice *choice;
};

struct sass_operand_row {
	uint16_t first, n; /* items */
	bool is_dest, is_optional;
	uint8_t minus, bars, tilde, inverse, reuse; /* around the whole operand */
};

struct sass_unlike { /* bits that must not have this value */
	uint8_t at, width;
	uint32_t value;
};

struct sass_row {
	const char *name; /* base mnemonic */
	uint16_t mods_first, mods_n;
	uint16_t operands_first, operands_n;
	struct sass_word mask, value, claimed;
	struct sass_unlike unlike[4];
	uint8_t unlike_n;
	bool guard_is_uniform;
	int line; /* of sass.def */
};

struct sass_table {
	int sm;
	struct sass_row *rows;
	struct sass_item *items;
	struct sass_operand_row *operands;
	uint16_t by_opcode[8192][2]; /* bits 0-11 and bit 91: first row in order, and how many */
	uint16_t *order;
};

/*
 * The table of an architecture, made at the first request and kept. NULL when there is none, or when a
 * row cannot be understood (said on stderr with its line: the unit tests open every architecture).
 */
const struct sass_table *sass_table(int sm);

uint64_t sass_item_value(const struct sass_item *item, struct sass_word w);

static inline bool sass_bit(struct sass_word w, unsigned at)
{
	return at < 128 && ((at < 64 ? w.lo >> at : w.hi >> (at - 64)) & 1);
}

#endif
