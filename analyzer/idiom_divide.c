/* idiom_divide.c - see idiom_divide.h. One walk through the code in its order: of each register, which step it is of. */
#include "idiom_divide.h"

#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "sass_modifier.h"
#include "tile_trips.h"

#define CALLED_MOST 256u

enum step {
	NONE,
	SEED,       /* the divisor as a float, its reciprocal, and that a little less */
	RECIPROCAL, /* times 2^32 */
	FAULT,      /* of the reciprocal, times the divisor */
	QUOTIENT,   /* or its negative */
	REST,
};

struct value {
	uint8_t step;      /* enum step */
	uint32_t absolute; /* 1 + the IABS that made it, 0 = none */
};

struct walk {
	const struct cfg *g;
	struct idiom_divide *on;
	struct value at[SASS_RZ + 1u];
};

static const struct sass_operand *operand(const struct sass_insn *insn, unsigned i)
{
	return i < insn->operands_n ? &insn->operands[i] : NULL;
}

/* The k-th that is read, predicates left out; the first of its terms. NULL = there is none. */
static const struct sass_operand *source(const struct sass_insn *insn, unsigned k)
{
	for (unsigned i = 1; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->flags & SASS_DEST || o->kind == SASS_PRED || o->kind == SASS_UPRED ||
		    o->index == o[-1].index)
			continue;
		if (!k--)
			return o;
	}
	return NULL;
}

static bool is_register(const struct sass_operand *o)
{
	return o && o->kind == SASS_REG && o->reg < SASS_RZ && !(o->flags & SASS_IN_ADDRESS);
}

static struct value value_of(const struct walk *w, const struct sass_operand *o)
{
	return is_register(o) ? w->at[o->reg] : (struct value){0};
}

static bool is_zero(const struct sass_operand *o)
{
	return o && o->kind == SASS_REG && o->reg >= SASS_RZ;
}

/* A sum of one value and nothing else, or a move of it: that operand; NULL = it is none. */
static const struct sass_operand *moved(const struct sass_insn *insn)
{
	static const char *const ops[] = {"MOV", "IADD3", "IADD", "VIADD", "IMAD", NULL};
	const struct sass_operand *one = NULL;
	bool is_one = false;

	for (const char *const *op = ops; *op; op++)
		is_one = is_one || tile_is_op(insn, *op);
	for (unsigned i = 1; is_one && i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->flags & SASS_DEST || (o->kind == SASS_REG && o->reg >= SASS_RZ) ||
		    (o->kind != SASS_REG && o->kind != SASS_UREG && !(o->flags & SASS_IN_BANK)))
			continue;
		is_one = !one && o->kind == SASS_REG;
		one = o;
	}
	/* a product of zero */
	return is_one && (!tile_is_op(insn, "IMAD") || one == source(insn, 2)) ? one : NULL;
}

/* A number other than zero has part in it. */
static bool has_number(const struct sass_insn *insn)
{
	/* that of a move names bytes */
	for (unsigned i = 1; !tile_is_op(insn, "MOV") && i < insn->operands_n; i++)
		if (insn->operands[i].kind == SASS_IMMEDIATE && insn->operands[i].value)
			return true;
	return false;
}

static bool is_high(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	return tile_is_op(insn, "IMAD") && sass_has_modifier(m, SASS_M_HI);
}

static void mark(struct walk *w, uint32_t i, struct value v)
{
	w->on[i].parts = (uint8_t)(w->on[i].parts ? w->on[i].parts : 1);
	if (v.absolute)
		w->on[v.absolute - 1].parts = 1;
}

/* The reciprocal: I2F.RP, MUFU.RCP, 2 less, F2I. The step that instruction i makes; NONE = it is none of that. */
static enum step seed_step(struct walk *w, uint32_t i)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct sass_modifiers *m = &w->g->modifiers[i];
	const struct sass_operand *from = source(insn, 0);
	const struct value v = value_of(w, from);

	if (tile_is_op(insn, "I2F"))
		return sass_has_modifier(m, SASS_M_RP) && operand(insn, 0)->regs == 1 ? SEED : NONE;
	if (tile_is_op(insn, "MUFU"))
		return v.step == SEED && sass_has_modifier(m, SASS_M_RCP) ? SEED : NONE;
	if (tile_is_op(insn, "F2I") && v.step == SEED && operand(insn, 0)->regs == 1) {
		w->on[i].is_seed = 1;
		return RECIPROCAL;
	}
	from = moved(insn);
	return value_of(w, from).step == SEED ? SEED : NONE;
}

/* The products: the fault of the reciprocal, which makes it exact, the quotient, and what is left. */
static enum step product_step(struct walk *w, uint32_t i)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct sass_modifiers *m = &w->g->modifiers[i];
	const struct value a = value_of(w, source(insn, 0)), b = value_of(w, source(insn, 1));
	const bool has_reciprocal = a.step == RECIPROCAL || b.step == RECIPROCAL;

	if (!tile_is_op(insn, "IMAD") || moved(insn))
		return NONE;
	if (is_high(insn, m) && has_reciprocal) {
		if (a.step == FAULT || b.step == FAULT)
			return RECIPROCAL;
		if (!is_zero(source(insn, 2)))
			return NONE;
		w->on[i].is_quotient = 1;
		/* the sign takes a comparison, which reads what was there before */
		w->on[i].parts = a.absolute || b.absolute ? 2 : 1;
		return QUOTIENT;
	}
	if (is_high(insn, m) || sass_has_modifier(m, SASS_M_WIDE))
		return NONE;
	if ((has_reciprocal || a.step == FAULT || b.step == FAULT) && is_zero(source(insn, 2)))
		return FAULT;
	return (a.step == QUOTIENT || b.step == QUOTIENT) && !is_zero(source(insn, 2)) ? REST
										       : NONE;
}

/* What comes behind: comparisons, what they correct, the sign, and all ones of a division by zero. */
static enum step correction_step(struct walk *w, uint32_t i, bool *is_part)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct sass_operand *to = operand(insn, 0), *from = moved(insn);
	const struct value before = value_of(w, to);
	const bool is_result = before.step == QUOTIENT || before.step == REST;
	const bool is_guarded = insn->guard != SASS_PT || insn->guard_uniform;
	struct value v = value_of(w, from);

	/* the negative of a reciprocal goes on to its fault, that of a quotient to what is left */
	if (from && !is_guarded && v.step >= RECIPROCAL && !has_number(insn)) {
		*is_part = true;
		return v.step == RECIPROCAL && from->flags & SASS_NEG ? FAULT : (enum step)v.step;
	}
	if (is_guarded && is_result) {
		/* zero as divisor comes last */
		*is_part = true;
		return tile_is_op(insn, "LOP3") ? NONE : (enum step)before.step;
	}
	if (tile_is_op(insn, "SEL"))
		for (unsigned k = 1; k < insn->operands_n; k++) {
			v = value_of(w, operand(insn, k));
			*is_part |= v.step == QUOTIENT || v.step == REST;
		}
	return NONE;
}

/* A comparison of what is left with the divisor. */
static bool is_check(const struct walk *w, const struct sass_insn *insn)
{
	bool is = false;

	for (unsigned k = 0; tile_is_op(insn, "ISETP") && k < insn->operands_n; k++)
		is |= value_of(w, operand(insn, k)).step == REST;
	return is;
}

static void walk_insn(struct walk *w, uint32_t i)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct sass_operand *from = moved(insn);
	struct value next = {0};
	uint16_t written[REGSET_NUMBERS];
	struct effects x;
	bool is_part = is_check(w, insn);
	unsigned n;

	next.step = seed_step(w, i);
	if (!next.step)
		next.step = product_step(w, i);
	is_part |= next.step != NONE;
	if (!next.step)
		next.step = correction_step(w, i, &is_part);
	for (unsigned k = 1; is_part && k < insn->operands_n; k++)
		mark(w, i, value_of(w, operand(insn, k)));
	if (is_part)
		mark(w, i, next);
	if (tile_is_op(insn, "IABS"))
		next.absolute = i + 1;
	else if (from)
		next.absolute = value_of(w, from).absolute;
	dataflow_effects(insn, &x);
	n = regset_list(&x.writes, written);
	for (unsigned k = 0; k < n && written[k] < SASS_RZ; k++)
		w->at[written[k]] = next;
}

/* ------------------------------------------------------------------------------------- functions */

/* Instructions up to the return of a function that makes an integer of a reciprocal in float; 0 = it is none. */
static uint16_t division_at(const struct cfg *g, uint32_t first)
{
	bool is_from = false, has_reciprocal = false, is_to = false;

	for (uint32_t i = first; i < g->insns_n && i - first < CALLED_MOST; i++) {
		const struct sass_insn *insn = &g->insns[i];

		is_from |= tile_is_op(insn, "I2F");
		has_reciprocal |= tile_is_op(insn, "MUFU") &&
				  sass_has_modifier(&g->modifiers[i], SASS_M_RCP);
		is_to |= tile_is_op(insn, "F2I");
		if (cfg_flow(insn) == CFG_RETURN)
			return is_from && has_reciprocal && is_to ? (uint16_t)(i + 1 - first) : 0;
	}
	return 0;
}

static void find_calls(const struct cfg *g, struct idiom_divide *on)
{
	for (uint32_t c = 0; c < g->calls_n; c++)
		if (cfg_is_within(g, g->calls[c].target))
			on[g->calls[c].insn].called =
				division_at(g, (uint32_t)(g->calls[c].target / SASS_BYTES));
}

const struct idiom_divide *idiom_divide_read(const struct cfg *g, struct arena *arena)
{
	struct walk w = {.g = g, .on = arena_array(arena, (size_t)g->insns_n + 1, sizeof(*w.on))};

	if (!w.on)
		return NULL;
	for (uint32_t i = 0; i < g->insns_n; i++)
		if (g->insns[i].is_decoded && g->blocks[g->block_of[i]].is_reachable)
			walk_insn(&w, i);
	find_calls(g, w.on);
	return w.on;
}
