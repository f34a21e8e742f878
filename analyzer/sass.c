/*
 * sass.c - see sass.h. Input: the rows of sass_table.h. Output: operands and modifiers as the row of the
 * instruction lists them; bits that no row explains are kept apart.
 */
#include "sass.h"

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
	[SASS_ITEM_F32] = SASS_F32,
	[SASS_ITEM_F64] = SASS_F64,
	[SASS_ITEM_F16] = SASS_F16,
	[SASS_ITEM_BF16] = SASS_BF16,
	[SASS_ITEM_TARGET] = SASS_TARGET,
	[SASS_ITEM_SPECIAL] = SASS_SPECIAL,
};

static uint8_t registers_of(const struct sass_item *item, struct sass_word w)
{
	uint8_t n = item->regs;

	if (!item->is_counted)
		return n;
	if (item->regs_of)
		n = item->regs_of->n[sass_bits(w, item->regs_at, item->regs_of->width)];
	for (unsigned i = 0; i < item->more_n; i++)
		n += sass_bit(w, item->more[i]);
	return n ? n : 1;
}

/* What the bits around an operand say of it. */
static inline uint8_t flags_of(const struct sass_marks *m, struct sass_word w)
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

static int64_t value_of(const struct sass_item *item, uint64_t v, uint64_t address)
{
	switch (item->kind) {
	case SASS_ITEM_TARGET: return sass_item_target(item, v, address);
	case SASS_ITEM_SIGNED: return sass_item_signed(item, v);
	default: return (int64_t)v;
	}
}

/* flags: of the place where the item stands. */
static void add_operand(struct sass_insn *insn, const struct sass_item *item, uint8_t index,
			uint8_t flags)
{
	const struct sass_word w = insn->word;
	uint64_t v = sass_item_value(item, w);

	if (insn->operands_n == SASS_OPERANDS)
		return;
	if (item->kind == SASS_ITEM_UREG && (int64_t)v == item->nothing)
		v = SASS_RZ;
	insn->operands[insn->operands_n++] =
		(struct sass_operand){.kind = operand_kinds[item->kind],
				      .flags = flags | flags_of(&item->marks, w),
				      .index = index,
				      .regs = registers_of(item, w),
				      .reg = (uint16_t)v,
				      .value = value_of(item, v, insn->address)};
}

/* The text of a choice, NULL when it has no such value. */
static const char *chosen(const struct sass_item *item, struct sass_word w)
{
	return item->choice->texts[sass_item_value(item, w)];
}

/* False when a choice has no such value. */
static bool check_modifiers(const struct sass_table *t, const struct sass_insn *insn)
{
	const struct sass_item *item = &t->items[insn->row->mods_first];

	for (const struct sass_item *end = item + insn->row->mods_n; item < end; item++)
		if (item->kind == SASS_ITEM_CHOICE && !chosen(item, insn->word))
			return false;
	return true;
}

/* The same. */
static bool read_operand(const struct sass_table *t, struct sass_insn *insn, unsigned index)
{
	const struct sass_operand_row *o = &t->operands[insn->row->operands_first + index];
	const struct sass_item *item = &t->items[o->first], *end = item + o->n;
	uint8_t flags = (o->is_dest ? SASS_DEST : 0) | flags_of(&o->marks, insn->word);
	bool good = true;

	for (; item < end; item++) {
		if (item->kind == SASS_ITEM_CHOICE) {
			good = good && chosen(item, insn->word);
		} else if (item->kind == SASS_ITEM_OPEN) {
			flags |= SASS_IN_ADDRESS;
		} else if (item->kind == SASS_ITEM_OPEN_BANK) {
			flags |= SASS_IN_BANK;
		}
		if (sass_item_is_operand(item, insn->word))
			add_operand(insn, item, (uint8_t)index, flags);
	}
	return good;
}

static const struct sass_row *find_row(const struct sass_table *t, struct sass_word w)
{
	const struct sass_rows of = t->by_opcode[sass_opcode(w)];

	for (unsigned i = 0; i < of.n; i++)
		if (matches(&t->rows[of.first + i], w))
			return &t->rows[of.first + i];
	return NULL;
}

bool sass_decode(int sm, struct sass_word w, uint64_t address, struct sass_insn *insn)
{
	const struct sass_table *t = sass_table(sm);
	bool good;

	memset(insn, 0, offsetof(struct sass_insn, operands));
	insn->word = w;
	insn->address = address;
	insn->control = sass_control(w);
	insn->guard = (uint8_t)sass_bits(w, 12, 3);
	insn->guard_not = sass_bits(w, 15, 1);
	insn->unclaimed = w;
	insn->row = t ? find_row(t, w) : NULL;
	if (!insn->row)
		return false;
	insn->guard_uniform = insn->row->guard_is_uniform;
	insn->unclaimed.lo = w.lo & ~insn->row->claimed.lo;
	insn->unclaimed.hi = w.hi & ~insn->row->claimed.hi;
	good = check_modifiers(t, insn);
	for (unsigned i = 0; i < insn->row->operands_n; i++)
		good &= read_operand(t, insn, i);
	insn->is_decoded = good && !insn->unclaimed.lo && !insn->unclaimed.hi;
	return insn->is_decoded;
}
