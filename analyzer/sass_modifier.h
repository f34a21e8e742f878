/*
 * sass_modifier.h - the words of an instruction that are no operation and no operand: modifiers of the
 * mnemonic (WIDE and U32 of IMAD.WIDE.U32) and of operands (H0_H0 of R4.H0_H0, X4 of R4.X4, 64 of R2.64).
 * As numbers of tables/sass_modifier.def, so that nobody compares text.
 */
#ifndef KBN_SASS_MODIFIER_H
#define KBN_SASS_MODIFIER_H

#include "sass.h"

/* SASS_M_WIDE, SASS_M_128 and so on. */
enum sass_modifier {
	SASS_M_NONE,
#define MODIFIER(word) SASS_M_##word,
#define SHAPE(...)
#include "tables/sass_modifier.def"
#undef MODIFIER
#undef SHAPE
	SASS_M_END,
};

#define SASS_MODIFIERS  24u
#define SASS_NUMBERS    3u
#define SASS_NO_OPERAND 255u

struct sass_modifiers {
	uint8_t n;   /* in all */
	uint8_t own; /* the first so many are the mnemonic's, in its order */
	uint8_t numbers_n;
	uint16_t numbers[SASS_NUMBERS]; /* of a shape: 16, 8, 16 of HMMA.16816; 4 of LDTM.x4 */
	struct {
		uint16_t word;   /* enum sass_modifier */
		uint8_t operand; /* index in insn->operands, SASS_NO_OPERAND = of the mnemonic */
	} at[SASS_MODIFIERS];
};

/* Those that the text of what sass_decode() filled has; none without a row. */
void sass_modifiers(int sm, const struct sass_insn *insn, struct sass_modifiers *out);

/* Whether the mnemonic, or operand insn->operands[operand], has the word. */
bool sass_has_modifier(const struct sass_modifiers *m, enum sass_modifier word);
bool sass_operand_has(const struct sass_modifiers *m, unsigned operand, enum sass_modifier word);

/* "WIDE"; "" of SASS_M_NONE and of what is none. */
const char *sass_modifier_name(enum sass_modifier word);

#endif
