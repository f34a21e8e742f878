/*
 * sass.c - see sass.h. Input: the rows of sass_table.h. Output: operands and modifiers as the row of the
 * instruction lists them; bits that no row explains are kept apart.
 */
#include "sass.h"

#include <stdlib.h>
#include <string.h>

#include "sass_table.h"

bool sass_has(int sm)
{
	return sass_table(sm) != NULL;
}

const char *sass_op(const struct sass_insn *insn)
{
	return insn->row ? insn->row->name : "";
}

static bool matches(const struct sass_row *r, struct sass_word w)
{
	if ((w.lo & r->mask.lo) != r->value.lo || (w.hi & r->mask.hi) != r->value.hi)
		return false;
	for (unsigned i = 0; i < r->unlike_n; i++)
		if (sass_bits(w, r->unlike[i].at, r->unlike[i].width) == r->unlike[i].value)
			return false;
	if (r->power_width) {
		const uint64_t v = sass_bits(w, r->power_at, r->power_width);

		return v && !(v & (v - 1));
	}
	return true;
}

static const uint8_t operand_kinds[] = {
	[SASS_ITEM_CHOICE] = SASS_CHOICE,
	[SASS_ITEM_REG] = SASS_REG,
	[SASS_ITEM_UREG] = SASS_UREG,
	[SASS_ITEM_PRED] = SASS_PRED,
	[SASS_ITEM_UPRED] = SASS_UPRED,
	[SASS_ITEM_BARRIER] = SASS_BARRIER,
	[SASS_ITEM_SCOREBOARD] = SASS_SCOREBOARD,
	[SASS_ITEM_HEX] = SASS_IMMEDIATE,
	[SASS_ITEM_SIGNED] = SASS_IMMEDIATE,
	[SASS_ITEM_DECIMAL] = SASS_IMMEDIATE,
	[SASS_ITEM_F32] = SASS_FLOAT,
	[SASS_ITEM_F64] = SASS_FLOAT,
	[SASS_ITEM_F16] = SASS_FLOAT,
	[SASS_ITEM_BF16] = SASS_FLOAT,
	[SASS_ITEM_TARGET] = SASS_TARGET,
	[SASS_ITEM_SPECIAL] = SASS_SPECIAL,
	[SASS_ITEM_ABSOLUTE] = SASS_IMMEDIATE,
};

static uint8_t registers_of(const struct sass_item *item, struct sass_word w)
{
	const char *n = item->regs_of->texts[sass_bits(w, item->regs, item->regs_of->width)];

	return n ? (uint8_t)atoi(n) : 1;
}

/* What the bits around an operand say of it. */
static uint8_t flags_of(const struct sass_marks *m, struct sass_word w)
{
	uint8_t flags = 0;

	if (m->is_plain)
		return 0;
	if (sass_bit(w, m->minus))
		flags |= SASS_NEG;
	if (sass_bit(w, m->bars))
		flags |= SASS_ABS;
	if (sass_bit(w, m->tilde) || sass_bit(w, m->inverse))
		flags |= SASS_NOT;
	if (sass_is_reused(w, m->reuse))
		flags |= SASS_REUSE;
	return flags;
}

static void add_operand(struct sass_insn *insn, const struct sass_item *item,
			const struct sass_operand_row *o, uint8_t index, uint8_t flags)
{
	const struct sass_word w = insn->word;
	struct sass_operand *out;
	uint64_t v = sass_item_value(item, w);

	if (insn->operands_n == SASS_OPERANDS)
		return;
	out = &insn->operands[insn->operands_n++];
	*out = (struct sass_operand){.kind = operand_kinds[item->kind],
				     .flags = flags,
				     .index = index,
				     .regs = item->regs};
	out->flags |= flags_of(&item->marks, w) | flags_of(&o->marks, w);
	if (item->regs_of)
		out->regs = registers_of(item, w);
	if (item->kind == SASS_ITEM_UREG && item->width == 6 && v == 63)
		v = SASS_RZ;
	if (item->kind == SASS_ITEM_TARGET)
		out->value = sass_item_target(item, insn);
	else if (item->kind == SASS_ITEM_ABSOLUTE)
		out->value = sass_item_distance(item, w);
	else if (item->kind == SASS_ITEM_SIGNED)
		out->value = sass_sign_extend(v, item->width + item->shift);
	else
		out->value = (int64_t)v;
	out->reg = (uint16_t)v;
}

/* A choice that is an operand, not a modifier of one (.H0_H0). */
static bool is_word(const struct sass_item *item, struct sass_word w)
{
	const char *text = item->kind == SASS_ITEM_CHOICE
				   ? item->choice->texts[sass_item_value(item, w)]
				   : NULL;

	return text && *text && *text != '.';
}

/* False when a choice has no such value. */
static bool read_operands(const struct sass_table *t, struct sass_insn *insn)
{
	const struct sass_row *row = insn->row;
	bool good = true;

	for (unsigned i = 0; i < row->mods_n; i++) {
		const struct sass_item *item = &t->items[row->mods_first + i];

		if (item->kind == SASS_ITEM_CHOICE &&
		    !item->choice->texts[sass_item_value(item, insn->word)])
			good = false;
	}
	for (unsigned i = 0; i < row->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[row->operands_first + i];
		uint8_t flags = o->is_dest ? SASS_DEST : 0;
		bool is_bank = false;

		for (unsigned k = 0; k < o->n; k++) {
			const struct sass_item *item = &t->items[o->first + k];

			if (item->kind == SASS_ITEM_TEXT && item->text[0] == 'c')
				is_bank = true;
			else if (item->kind == SASS_ITEM_OPEN)
				flags |= is_bank ? SASS_IN_BANK : SASS_IN_ADDRESS;
			else if (item->kind == SASS_ITEM_CHOICE &&
				 !item->choice->texts[sass_item_value(item, insn->word)])
				good = false;
			if (item->kind < sizeof(operand_kinds) &&
			    (is_word(item, insn->word) || item->kind >= SASS_ITEM_REG))
				add_operand(insn, item, o, (uint8_t)i, flags);
		}
	}
	return good;
}

bool sass_decode(int sm, struct sass_word w, uint64_t address, struct sass_insn *insn)
{
	const struct sass_table *t = sass_table(sm);
	const uint16_t *rows;
	bool good;

	memset(insn, 0, offsetof(struct sass_insn, operands));
	insn->word = w;
	insn->address = address;
	insn->control = sass_control(w);
	insn->guard = (uint8_t)sass_bits(w, 12, 3);
	insn->guard_not = sass_bits(w, 15, 1);
	insn->unclaimed = w;
	if (!t)
		return false;
	rows = t->by_opcode[sass_opcode(w)];
	for (unsigned i = 0; i < rows[1] && !insn->row; i++) {
		const struct sass_row *r = &t->rows[t->order[rows[0] + i]];

		if (matches(r, w))
			insn->row = r;
	}
	if (!insn->row)
		return false;
	insn->guard_uniform = insn->row->guard_is_uniform;
	insn->unclaimed.lo = w.lo & ~insn->row->claimed.lo;
	insn->unclaimed.hi = w.hi & ~insn->row->claimed.hi;
	good = read_operands(t, insn);
	insn->is_decoded = good && !insn->unclaimed.lo && !insn->unclaimed.hi;
	return insn->is_decoded;
}
