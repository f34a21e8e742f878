/*
 * sass_table.h - the rows of tables/sass.def made ready for one architecture. For sass.c, which reads
 * instructions by them, and sass_text.c, which writes them. The language of the rows: sass_table.c.
 */
#ifndef KBN_SASS_TABLE_H
#define KBN_SASS_TABLE_H

#include "sass.h"

struct arena;

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
	SASS_ITEM_BF16,
	SASS_ITEM_TARGET,
	SASS_ITEM_ABSOLUTE,
	SASS_ITEM_SPECIAL,
};

#define SASS_NO_BIT   0xffu
#define SASS_SEGMENTS 8u

struct sass_choice {
	const char *name;
	unsigned width;           /* bits */
	const char *const *texts; /* NULL = no such value */
};

/* Bits around an operand, SASS_NO_BIT = none such. */
struct sass_marks {
	uint8_t inverse, minus, tilde, bars, reuse; /* !x -x ~x |x| x.reuse */
	bool is_plain;                              /* none of them: most have none */
};

struct sass_item {
	uint8_t kind;
	uint8_t width, shift;
	uint8_t low_width; /* of a second piece, from at[1] on: the lower bits; part of width */
	uint8_t at[SASS_SEGMENTS]; /* lowest bit; of a scattered field its bits, the highest first */
	uint8_t scattered;         /* how many, 0 = in one piece */
	uint8_t when_clear;        /* of a flag */
	bool has_low_byte;         /* of a branch: bits 16-23, from sm_90 on */
	bool is_in_bytes;          /* of a target: not in units of four bytes */
	struct sass_marks marks;
	uint8_t regs; /* how many registers; when regs_of is set, the bit where the choice begins */
	bool is_complement; /* of a predicate: 7 - value */
	bool is_next;       /* of a uniform register: value + 1, but not beyond URZ */
	bool is_kept;       /* in an address, even when it says nothing */
	bool has_nothing;   /* left out when it is `nothing`, not when it is 0 */
	uint16_t nothing;
	const struct sass_choice *regs_of;
	uint16_t text_n;
	const char *text;
	const struct sass_choice *choice;
};

struct sass_operand_row {
	uint16_t first, n;                    /* items */
	bool is_dest, is_optional, is_joined; /* joined: only a space before it */
	struct sass_marks marks;              /* around the whole operand */
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
	uint8_t power_at, power_width; /* one of these bits is set; width 0 = no such condition */
	bool guard_is_uniform;
	int line; /* of sass.def */
};

struct sass_table {
	int sm;
	struct sass_row *rows;
	struct sass_item *items;
	struct sass_operand_row *operands;
	struct arena *texts;        /* of the rows */
	struct sass_choice special; /* the names of its special registers */
	const char *special_texts[256];
	char special_others[256][8];
	uint16_t by_opcode[8192][2]; /* bits 0-11 and bit 91: first row in order, and how many */
	uint16_t *order;
};

/*
 * The table of an architecture, made at the first request and kept. NULL when there is none, or when a
 * row cannot be understood (said on stderr with its line: the unit tests open every architecture).
 */
const struct sass_table *sass_table(int sm);

static inline uint64_t sass_item_value(const struct sass_item *item, struct sass_word w)
{
	uint64_t v = 0;

	if (!item->scattered) {
		v = sass_bits(w, item->at[0], item->width - item->low_width) ^
		    (item->is_complement ? 7u : 0u);
		if (item->low_width)
			v = v << item->low_width | sass_bits(w, item->at[1], item->low_width);
		if (item->is_next && v < (UINT64_C(1) << item->width) - 1)
			v++;
		return v << item->shift;
	}
	for (unsigned i = 0; i < item->scattered; i++)
		v = v << 1 | sass_bits(w, item->at[i], 1);
	return v;
}

/* Bytes that a branch goes, or the address that it goes to. */
int64_t sass_item_distance(const struct sass_item *item, struct sass_word w);

/* Byte offset in the function that a branch leads to. */
static inline int64_t sass_item_target(const struct sass_item *item, const struct sass_insn *insn)
{
	return (int64_t)insn->address + SASS_BYTES + sass_item_distance(item, insn->word);
}

/* Bits 0-11, and bit 91 above them. */
static inline unsigned sass_opcode(struct sass_word w)
{
	return (unsigned)(w.lo & 0xfff) | (unsigned)(w.hi >> 27 & 1) << 12;
}

static inline int64_t sass_sign_extend(uint64_t v, unsigned width)
{
	const uint64_t sign = UINT64_C(1) << (width - 1);

	return (int64_t)((v ^ sign) - sign);
}

static inline bool sass_bit(struct sass_word w, unsigned at)
{
	return at < 128 && ((at < 64 ? w.lo >> at : w.hi >> (at - 64)) & 1);
}

/* The reuse flags in the control code count only when the warp keeps the issue slot (bit 109). */
static inline bool sass_is_reused(struct sass_word w, unsigned at)
{
	return sass_bit(w, at) && (at < 122 || sass_bit(w, 109));
}

#endif
