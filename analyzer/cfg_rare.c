/*
 * cfg_rare.c - see cfg_rare.h. Functions of libraries have a short way for ordinary values and a long one for the ends
 * of their range: huge arguments, infinities, what is no number, values too small for all their bits.
 */
#include "cfg_rare.h"

#include <math.h>
#include <string.h>

#include "sass_modifier.h"

/* From here on, and below its inverse squared, a magnitude that is compared with is one that few values have. */
#define LARGE 65536.0
#define SMALL 1e-18

/* Of a comparison with such a magnitude: what it says of values beyond. */
enum beyond { NOTHING, IS_TRUE, IS_FALSE };

static bool is_any(const struct sass_modifiers *m, const enum sass_modifier *words)
{
	for (; *words != SASS_M_NONE; words++)
		if (sass_has_modifier(m, *words))
			return true;
	return false;
}

/* The number that an operand is; NaN = it is in a register or a bank. */
static double number_of(const struct sass_operand *o)
{
	const uint64_t half = (uint64_t)o->value << 32;
	const uint32_t bits = (uint32_t)o->value;
	float f;
	double d;

	if (o->kind == SASS_F32) {
		memcpy(&f, &bits, sizeof(f));
		return f;
	}
	memcpy(&d, &half, sizeof(d));
	return o->kind == SASS_F64 ? d : NAN;
}

/* FSETP.GE.AND P0, PT, |R0|, 105615, PT, and nothing besides. */
static enum beyond compared(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	static const enum sass_modifier above[] = {SASS_M_GT, SASS_M_GE, SASS_M_GTU, SASS_M_GEU,
						   SASS_M_NONE},
					below[] = {SASS_M_LT, SASS_M_LE, SASS_M_LTU, SASS_M_LEU,
						   SASS_M_NONE},
					same[] = {SASS_M_EQ, SASS_M_EQU, SASS_M_NAN, SASS_M_NONE},
					other[] = {SASS_M_NE, SASS_M_NEU, SASS_M_NUM, SASS_M_NONE};
	const struct sass_operand *o = insn->operands;
	double c;

	if (insn->operands_n != 5 || !sass_has_modifier(m, SASS_M_AND) || o[4].kind != SASS_PRED ||
	    o[4].reg != SASS_PT || (o[4].flags & SASS_NOT))
		return NOTHING;
	c = fabs(number_of(&o[3]));
	if (sass_has_modifier(m, SASS_M_NAN) || isinf(c))
		return is_any(m, same) || is_any(m, above)    ? IS_TRUE
		       : is_any(m, other) || is_any(m, below) ? IS_FALSE
							      : NOTHING;
	if (!(o[2].flags & SASS_ABS) || !(c >= LARGE || (c > 0 && c <= SMALL)))
		return NOTHING;
	if (is_any(m, above))
		return c >= LARGE ? IS_TRUE : IS_FALSE;
	if (is_any(m, below))
		return c >= LARGE ? IS_FALSE : IS_TRUE;
	return NOTHING;
}

/*
 * Roots and reciprocals compare the exponent as a number: ISETP.GT.U32.AND P0, PT, R4, 0x727fffff, PT. These are the
 * limits that the compiler has for it.
 */
static enum beyond compared_bits(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	static const struct {
		uint32_t limit;
		enum sass_modifier relation;
		enum beyond beyond;
	} limits[] = {
		{0x727fffff, SASS_M_GT, IS_TRUE},  /* sqrtf */
		{0x01ffffff, SASS_M_GT, IS_FALSE}, /* 1 / float */
		{0x7ca00000, SASS_M_GE, IS_TRUE},  /* sqrt */
	};
	const struct sass_operand *o = insn->operands;

	if (insn->operands_n < 5 || !sass_has_modifier(m, SASS_M_U32) ||
	    o[3].kind != SASS_IMMEDIATE)
		return NOTHING;
	for (unsigned i = 4; i < insn->operands_n; i++)
		if (o[i].kind == SASS_PRED && (o[i].reg != SASS_PT || (o[i].flags & SASS_NOT)))
			return NOTHING;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if ((uint32_t)o[3].value == limits[i].limit &&
		    sass_has_modifier(m, limits[i].relation))
			return limits[i].beyond;
	return NOTHING;
}

/* FCHK says of a division that its short way would be wrong. */
static enum beyond beyond_of(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	if (!insn->is_decoded || insn->guard != SASS_PT)
		return NOTHING;
	if (!strcmp(sass_op(insn), "FCHK"))
		return IS_TRUE;
	if (!strcmp(sass_op(insn), "ISETP"))
		return compared_bits(insn, m);
	return !strcmp(sass_op(insn), "FSETP") || !strcmp(sass_op(insn), "DSETP")
		       ? compared(insn, m)
		       : NOTHING;
}

static bool writes_predicate(const struct sass_insn *insn, unsigned p)
{
	for (unsigned i = 0; i < insn->operands_n; i++)
		if (insn->operands[i].kind == SASS_PRED && insn->operands[i].reg == p &&
		    (insn->operands[i].flags & SASS_DEST))
			return true;
	return false;
}

/* The block to which values beyond go from the end of block b; CFG_NONE = it is no such branch. */
static uint32_t beyond_from(const struct cfg *g, const struct cfg_block *b)
{
	const struct sass_insn *branch = &g->insns[b->end - 1];
	uint32_t i = b->end - 1;
	enum beyond beyond;

	if (b->successors_n != 2 || cfg_flow(branch) != CFG_BRANCH || branch->guard == SASS_PT ||
	    branch->guard_uniform)
		return CFG_NONE;
	while (i > b->first && !writes_predicate(&g->insns[i - 1], branch->guard))
		i--;
	if (i == b->first || g->insns[i - 1].operands[0].reg != branch->guard)
		return CFG_NONE;
	beyond = beyond_of(&g->insns[i - 1], &g->modifiers[i - 1]);
	if (beyond == NOTHING)
		return CFG_NONE;
	return g->edges[b->successors + ((beyond == IS_TRUE) == branch->guard_not)];
}

static bool mark_below(struct cfg *g, uint32_t top)
{
	bool is_new = false;

	for (uint32_t i = 0; i < g->blocks_n; i++)
		if (!g->blocks[i].is_rare && g->blocks[i].is_reachable && cfg_dominates(g, top, i))
			is_new = g->blocks[i].is_rare = true;
	return is_new;
}

/* All ways there, calls among them, come from such code. */
static bool is_reached_rarely(const struct cfg *g, uint32_t block)
{
	const struct cfg_block *b = &g->blocks[block];
	const int64_t at = (int64_t)b->first * SASS_BYTES;
	bool is_reached = false;

	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t from = g->edges[b->predecessors + i];

		if (!g->blocks[from].is_reachable || cfg_dominates(g, block, from))
			continue;
		is_reached = true;
		if (!g->blocks[from].is_rare)
			return false;
	}
	for (uint32_t i = 0; b->is_entry && i < g->calls_n; i++) {
		if (g->calls[i].target != at)
			continue;
		is_reached = true;
		if (!g->blocks[g->block_of[g->calls[i].insn]].is_rare)
			return false;
	}
	return is_reached && block > 0;
}

void cfg_find_rare(struct cfg *g)
{
	bool again = false;

	for (uint32_t i = 0; i < g->blocks_n; i++) {
		const uint32_t to = g->blocks[i].is_reachable ? beyond_from(g, &g->blocks[i])
							      : CFG_NONE;

		/* with other ways there it is where the long and the short one meet */
		if (to != CFG_NONE && g->blocks[to].predecessors_n == 1 && !g->blocks[to].is_rare)
			again |= mark_below(g, to);
	}
	while (again) {
		again = false;
		for (uint32_t i = 0; i < g->blocks_n; i++)
			if (!g->blocks[i].is_rare && g->blocks[i].is_reachable &&
			    is_reached_rarely(g, i))
				again |= mark_below(g, i);
	}
}
