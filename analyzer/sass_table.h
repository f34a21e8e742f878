/*
 * sass_table.h - the rows of tables/sass.def made ready for one architecture. For sass.c, which reads
 * instructions by them, and sass_text.c, which writes them. The language of the rows: tables/sass.def.
 */
#ifndef KBN_SASS_TABLE_H
#define KBN_SASS_TABLE_H

#include "sass.h"

struct arena;

enum sass_item_kind {
	SASS_ITEM_TEXT,      /* always there */
	SASS_ITEM_FLAG,      /* text when the value is 1 */
	SASS_ITEM_CHOICE,    /* one text of a list */
	SASS_ITEM_OPEN,      /* [ of an address */
	SASS_ITEM_OPEN_BANK, /* [ of a constant bank */
	SASS_ITEM_PLUS,      /* + between the terms of an address */
	SASS_ITEM_CLOSE,     /* ] */
	SASS_ITEM_REG,       /* this and all that follow are operands */
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
	SASS_ITEM_TARGET, /* signed, counted from the next instruction */
	SASS_ITEM_SPECIAL,
};

#define SASS_NO_BIT        0xffu
#define SASS_PIECES        8u
#define SASS_UNLIKE        4u
#define SASS_MORE          4u
#define SASS_OPCODES       8192u /* bits 0-11, and bit 91 above them */
#define SASS_SPECIALS      256u
#define SASS_NEVER_NOTHING (-1)

#define SASS_TERM_WORDS 5u

/* A text as words and numbers, see sass_modifier.h. */
struct sass_terms {
	uint8_t words_n, numbers_n;
	uint16_t words[SASS_TERM_WORDS]; /* enum sass_modifier */
	uint16_t numbers[3];
};

/* Texts by the value of a field. */
struct sass_choice {
	const char *name;
	unsigned width;           /* bits */
	const char *const *texts; /* NULL = no such value */
};

/* Numbers of registers by the value of a field. */
struct sass_count {
	const char *name;
	unsigned width;
	const uint8_t *n; /* without the bits behind it */
};

/* Bits around an operand, SASS_NO_BIT = none such. */
struct sass_marks {
	uint8_t inverse, minus, tilde, bars, reuse; /* !x -x ~x |x| x.reuse */
	bool is_plain;                              /* none of them: most have none */
};

struct sass_piece {
	uint8_t at, width; /* bits [at, at + width) */
};

struct sass_item {
	uint8_t kind;     /* enum sass_item_kind */
	uint8_t pieces_n; /* 0 of what has no bits */
	uint8_t width;    /* of all pieces together */
	uint8_t shift;    /* the value is so many bits to the left */
	uint8_t flip; /* exclusive or: 7 = predicate whose bits are inverted, 1 = flag when clear */
	uint8_t regs; /* how many registers, when regs_of does not say it */
	uint8_t regs_at; /* lowest bit of the field that regs_of counts by */
	uint8_t more_n;  /* bits that make it a register more, each; none in all is one */
	uint8_t more[SASS_MORE];
	bool is_counted; /* by one of these: regs alone does not say it */
	bool is_next;    /* register after the one named, but not beyond RZ */
	bool is_kept;    /* in an address, even when it says nothing */
	int16_t nothing; /* value that says nothing (RZ, PT, 0), SASS_NEVER_NOTHING = there is none */
	uint16_t text_n;
	struct sass_piece pieces[SASS_PIECES]; /* the highest bits first */
	struct sass_marks marks;
	const char *text;
	const struct sass_terms *terms; /* of the text; by value, of a choice. NULL = it has none */
	const struct sass_choice *choice;
	const struct sass_count *regs_of;
};

struct sass_operand_row {
	uint32_t first, n;                    /* items */
	bool is_dest, is_optional, is_joined; /* joined: only a space before it */
	bool is_hidden;                       /* read, and not in the text */
	struct sass_marks marks;              /* around the whole operand */
};

struct sass_unlike { /* bits that must not have this value */
	uint8_t at, width;
	uint32_t value;
};

struct sass_row {
	const char *name;    /* base mnemonic */
	uint16_t number;     /* place among the rows of its table */
	uint8_t base_n;      /* characters of the name in front of its first dot */
	uint8_t access, mma; /* rows of tables/sass_work.def: 1 + the first of its name; 0 = none */
	uint32_t mods_first, mods_n;         /* items */
	uint32_t operands_first, operands_n; /* operands */
	struct sass_word mask, value; /* the row fits when the bits of mask have this value, */
	struct sass_unlike unlike[SASS_UNLIKE]; /* and these another one, */
	uint8_t unlike_n;
	uint8_t power_at, power_width; /* and exactly one of these is set; width 0 = not asked */
	bool guard_is_uniform;
	struct sass_word claimed;     /* bits that the row explains */
	struct sass_terms name_terms; /* MMA of HFMA2.MMA */
};

struct sass_rows {
	uint16_t first, n; /* rows; the first that fits counts */
};

struct sass_table {
	int sm;
	struct sass_row *rows;
	uint32_t rows_n;
	struct sass_item *items;
	struct sass_operand_row *operands;
	struct sass_rows by_opcode[SASS_OPCODES]; /* see sass_opcode() */
	struct arena *texts;                      /* of the rows */
	struct sass_choice special;               /* the names of its special registers */
	const char *special_texts[SASS_SPECIALS];
	char special_numbers[SASS_SPECIALS][8];
};

/*
 * The table of an architecture, made at the first request and kept. NULL when there is none, or when a
 * row cannot be understood (said on stderr with its line: the unit tests open every architecture).
 */
const struct sass_table *sass_table(int sm);

/* The value of an item's bits, without sign; 0 of what has none. */
static inline uint64_t sass_item_value(const struct sass_item *item, struct sass_word w)
{
	uint64_t v = sass_bits(w, item->pieces[0].at, item->pieces[0].width);

	for (unsigned i = 1; i < item->pieces_n; i++)
		v = v << item->pieces[i].width |
		    sass_bits(w, item->pieces[i].at, item->pieces[i].width);
	v ^= item->flip;
	if (item->is_next && (int64_t)v != item->nothing)
		v++;
	return v << item->shift;
}

/*
 * An item of an operand is one of the instruction's operands, not a part of one (.H0_H0, [, desc): of the
 * choices those are that stand for themselves.
 */
static inline bool sass_item_is_operand(const struct sass_item *item, struct sass_word w)
{
	const char *text;

	if (item->kind != SASS_ITEM_CHOICE)
		return item->kind >= SASS_ITEM_REG;
	text = item->choice->texts[sass_item_value(item, w)];
	return text && *text && *text != '.';
}

/*
 * The words of a text that begins with a dot, or with x and a number; of another there are none. False
 * when one of them is not in tables/sass_modifier.def.
 */
bool sass_read_terms(const char *s, size_t n, struct sass_terms *out);

/* What sass_work.c knows an operation by: for `access` and `mma` of its rows. */
uint8_t sass_find_access(const char *op);
uint8_t sass_find_mma(const char *op);

/* Its uppermost bit as a sign: of SASS_ITEM_SIGNED and SASS_ITEM_TARGET. */
static inline int64_t sass_item_signed(const struct sass_item *item, uint64_t value)
{
	const uint64_t sign = UINT64_C(1) << (item->width + item->shift - 1);

	return (int64_t)((value ^ sign) - sign);
}

/* Byte offset in the function that a branch leads to. */
static inline int64_t sass_item_target(const struct sass_item *item, uint64_t value,
				       uint64_t address)
{
	return (int64_t)address + SASS_BYTES + sass_item_signed(item, value);
}

/* Bits 0-11, and bit 91 above them. */
static inline unsigned sass_opcode(struct sass_word w)
{
	return (unsigned)(w.lo & 0xfff) | (unsigned)(w.hi >> 27 & 1) << 12;
}

static inline bool sass_bit(struct sass_word w, unsigned at)
{
	return at < 128 && ((at < 64 ? w.lo >> at : w.hi >> (at - 64)) & 1);
}

/* Puts the lowest `width` bits of a value at bit `at`. */
static inline void sass_set_bits(struct sass_word *w, unsigned at, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width && at + i < 128; i++) {
		uint64_t *half = at + i < 64 ? &w->lo : &w->hi;
		const uint64_t bit = UINT64_C(1) << ((at + i) & 63);

		*half = value >> i & 1 ? *half | bit : *half & ~bit;
	}
}

/* The reuse flags in the control code count only when the warp keeps the issue slot (bit 109). */
static inline bool sass_is_reused(struct sass_word w, unsigned at)
{
	return sass_bit(w, at) && (at < 122 || sass_bit(w, 109));
}

#endif
