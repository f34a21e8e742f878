/*
 * tile_trips.c - see tile_trips.h. Every step asks dataflow_defs() for all definitions that may arrive;
 * what is not of the expected form, or has more of them, ends the proof. The iterations are then counted
 * one by one, so that the wrap of 32 bits and every comparison are what the machine does.
 */
#include "tile_trips.h"

#include "arena.h"
#include "dataflow.h"
#include "sass_modifier.h"

#define COPIES 4 /* moves between a constant and its use */

struct proof {
	const struct cfg *g;
	struct arena *arena;
	uint32_t loop, latch;
	uint32_t exit;    /* block with the only way out */
	uint32_t compare; /* instruction that decides */
	bool stays_if_true, is_unsigned;
	enum sass_modifier relation;
	bool counter_first;          /* else: constant, relation, counter */
	uint32_t bound, first, step; /* what the counter is compared with, its first value there */
};

static bool is_plain(const struct sass_insn *insn)
{
	return insn->is_decoded && insn->guard == SASS_PT && !insn->guard_not;
}

/* Zero registers, immediates. */
static bool literal(const struct sass_operand *o, uint32_t *value)
{
	if (o->flags & ~SASS_REUSE)
		return false;
	*value = o->kind == SASS_IMMEDIATE ? (uint32_t)o->value : 0;
	return o->kind == SASS_IMMEDIATE ||
	       ((o->kind == SASS_REG || o->kind == SASS_UREG) && o->reg == SASS_RZ);
}

static bool is_register(const struct sass_operand *o)
{
	return (o->kind == SASS_REG || o->kind == SASS_UREG) && o->reg < SASS_RZ && o->regs == 1 &&
	       !(o->flags & ~(SASS_REUSE | SASS_DEST));
}

static bool same_register(const struct sass_operand *a, const struct sass_operand *b)
{
	return a->kind == b->kind && a->reg == b->reg;
}

static struct regset set_of(const struct sass_operand *o)
{
	struct regset s = {0};

	switch (o->kind) {
	case SASS_REG: s.r[o->reg / 64] = UINT64_C(1) << o->reg % 64; break;
	case SASS_UREG: s.ur[o->reg / 64] = UINT64_C(1) << o->reg % 64; break;
	case SASS_PRED: s.p = (uint8_t)(1u << o->reg); break;
	default: s.up = (uint8_t)(1u << o->reg); break;
	}
	return s;
}

static unsigned defs_of(const struct proof *p, uint32_t at, const struct sass_operand *o,
			uint32_t out[DATAFLOW_DEFS])
{
	const struct regset s = set_of(o);

	return dataflow_defs(p->g, p->arena, at, &s, out);
}

/* ------------------------------------------------------------------------------------- constants */

/* Of MOV: all bytes. */
static bool is_whole_mask(const struct sass_operand *o)
{
	return o->kind == SASS_IMMEDIATE && o->value == 0xf;
}

/* What a move copies, NULL = it is no move. */
static const struct sass_operand *moved(const struct sass_insn *insn,
					const struct sass_modifiers *m)
{
	const struct sass_operand *x = insn->operands;
	uint32_t a, b;

	if ((tile_is_op(insn, "MOV") || tile_is_op(insn, "UMOV")) && m->n == 0)
		return insn->operands_n == 2 || (insn->operands_n == 3 && is_whole_mask(&x[2]))
			       ? &x[1]
			       : NULL;
	if (tile_is_op(insn, "IMAD") && insn->operands_n >= 4 && sass_has_modifier(m, SASS_M_MOV) &&
	    literal(&x[1], &a) && a == 0 && literal(&x[2], &b) && b == 0)
		return &x[3];
	return NULL;
}

/* HFMA2 R, -RZ, RZ, high, low: how the compiler moves a number through another pipe. */
static bool half_move(const struct sass_insn *insn, uint32_t *value)
{
	const struct sass_operand *o = insn->operands;

	if (insn->operands_n != 4 || o[1].kind != SASS_REG || o[1].reg != SASS_RZ ||
	    o[2].kind != SASS_REG || o[2].reg != SASS_RZ || o[3].kind != SASS_F16 || o[3].regs != 2)
		return false;
	*value = (uint32_t)o[3].value;
	/* -0 * 0 + x is x, but for NaN and -0 */
	for (int i = 0; i < 32; i += 16)
		if ((*value >> i & 0x7c00) == 0x7c00 || (*value >> i & 0xffff) == 0x8000)
			return false;
	return true;
}

static bool constant(const struct proof *p, uint32_t at, const struct sass_operand *o, int copies,
		     uint32_t *value);

/* What instruction d puts into the register of `o`. */
static bool constant_of(const struct proof *p, uint32_t d, const struct sass_operand *o, int copies,
			uint32_t *value)
{
	const struct sass_insn *insn = &p->g->insns[d];
	const struct sass_operand *x = insn->operands;
	const struct sass_operand *from;
	const struct sass_modifiers *m = &p->g->modifiers[d];

	if (!is_plain(insn) || !insn->operands_n || !(x[0].flags & SASS_DEST) ||
	    x[0].kind != o->kind)
		return false;
	if (tile_is_op(insn, "CS2R") && insn->operands_n == 2) {
		*value = 0;
		return x[1].kind == SASS_SPECIAL && x[1].value == SASS_RZ;
	}
	if (!same_register(&x[0], o) || x[0].regs != 1)
		return false;
	if (tile_is_op(insn, "HFMA2"))
		return half_move(insn, value);
	from = moved(insn, m);
	return from && constant(p, d, from, copies - 1, value);
}

/* What an operand of instruction `at` is whenever it is read. */
static bool constant(const struct proof *p, uint32_t at, const struct sass_operand *o, int copies,
		     uint32_t *value)
{
	uint32_t defs[DATAFLOW_DEFS];

	if (literal(o, value))
		return true;
	return copies > 0 && is_register(o) && defs_of(p, at, o, defs) == 1 &&
	       defs[0] != CFG_NONE && constant_of(p, defs[0], o, copies, value);
}

/* ------------------------------------------------------------------------------------- the way out */

static bool is_inside(const struct proof *p, uint32_t block)
{
	return cfg_in_loop(p->g, block, p->loop);
}

/* Done once in every iteration. */
static bool is_steady(const struct proof *p, uint32_t insn)
{
	const uint32_t block = p->g->block_of[insn];

	return p->g->blocks[block].loop == p->loop && cfg_dominates(p->g, block, p->latch);
}

static bool leaves(const struct proof *p, uint32_t block)
{
	const struct cfg_block *b = &p->g->blocks[block];
	const enum cfg_flow flow = cfg_flow(&p->g->insns[b->end - 1]);

	for (uint32_t k = 0; k < b->successors_n; k++)
		if (!is_inside(p, p->g->edges[b->successors + k]))
			return true;
	return flow != CFG_NEXT && flow != CFG_BRANCH;
}

/* One block leaves, by a branch, and in every iteration it is asked. */
static bool find_exit(struct proof *p)
{
	const struct cfg_block *b;

	p->exit = CFG_NONE;
	for (uint32_t i = 0; i < p->g->blocks_n; i++) {
		if (!is_inside(p, i) || !leaves(p, i))
			continue;
		if (p->exit != CFG_NONE)
			return false;
		p->exit = i;
	}
	if (p->exit == CFG_NONE)
		return false;
	b = &p->g->blocks[p->exit];
	if (!is_steady(p, b->end - 1) || b->successors_n != 2 ||
	    cfg_flow(&p->g->insns[b->end - 1]) != CFG_BRANCH)
		return false;
	p->stays_if_true = is_inside(p, p->g->edges[b->successors]);
	return p->stays_if_true != is_inside(p, p->g->edges[b->successors + 1]);
}

/* The predicate by which a branch is taken: its guard or the one among its operands. */
static bool find_predicate(struct proof *p, struct sass_operand *out)
{
	const struct sass_insn *insn = &p->g->insns[p->g->blocks[p->exit].end - 1];
	unsigned n = 0;

	if (!insn->is_decoded || !tile_is_op(insn, "BRA"))
		return false;
	if (insn->guard != SASS_PT) {
		*out = (struct sass_operand){.kind = insn->guard_uniform ? SASS_UPRED : SASS_PRED,
					     .reg = insn->guard,
					     .flags = insn->guard_not ? SASS_NOT : 0};
		n++;
	} else if (insn->guard_not) {
		return false;
	}
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->kind == SASS_TARGET)
			continue;
		if (o->kind != SASS_PRED && o->kind != SASS_UPRED)
			return false;
		if (o->reg == SASS_PT && !(o->flags & SASS_NOT))
			continue;
		*out = *o;
		n++;
	}
	if (n != 1 || out->reg >= SASS_PT)
		return false;
	if (out->flags & SASS_NOT)
		p->stays_if_true = !p->stays_if_true;
	return true;
}

/* ------------------------------------------------------------------------------------- the counter */

/* The relation of ISETP.NE.U32.AND P0, PT, R4, 0x10, PT, and nothing besides. */
static bool read_relation(struct proof *p)
{
	const struct sass_modifiers *m = &p->g->modifiers[p->compare];

	p->relation = SASS_M_NONE;
	for (unsigned i = 0; i < m->n; i++)
		switch (m->at[i].word) {
		case SASS_M_EQ:
		case SASS_M_NE:
		case SASS_M_LT:
		case SASS_M_LE:
		case SASS_M_GT:
		case SASS_M_GE: p->relation = (enum sass_modifier)m->at[i].word; break;
		case SASS_M_U32: p->is_unsigned = true; break;
		case SASS_M_AND: break;
		default: return false;
		}
	return p->relation != SASS_M_NONE && sass_has_modifier(m, SASS_M_AND);
}

/*
 * PLOP3.LUT P1, PT, PT, PT, UP0, 0x80, 0x0 and the like: the one source that is not constant, with SASS_NOT
 * in its flags when the result is its opposite. The table's bit 4a + 2b + c is the result.
 */
static bool logic_copy(const struct sass_insn *insn, struct sass_operand *out)
{
	const struct sass_operand *o = insn->operands;
	unsigned one = 0, zero = 0, unknown = 0;

	if (insn->operands_n != 7 || o[1].reg != SASS_PT || o[5].kind != SASS_IMMEDIATE)
		return false;
	for (unsigned i = 2; i < 5; i++) {
		const bool is_not = o[i].flags & SASS_NOT, is_constant = o[i].reg == SASS_PT;

		if (o[i].kind != SASS_PRED && o[i].kind != SASS_UPRED)
			return false;
		if (!is_constant) {
			*out = o[i];
			unknown++;
		}
		one = one << 1 | !is_not;
		zero = zero << 1 | (is_constant ? !is_not : is_not);
	}
	one = o[5].value >> one & 1;
	zero = o[5].value >> zero & 1;
	out->flags = one ? 0 : SASS_NOT;
	return unknown == 1 && one != zero;
}

/* The instruction that writes the predicate which instruction `at` reads; copies of it are passed over. */
static bool find_writer(struct proof *p, uint32_t at, struct sass_operand *predicate)
{
	uint32_t defs[DATAFLOW_DEFS];
	const struct sass_insn *insn;

	for (int i = 0; i < COPIES; i++) {
		if (defs_of(p, at, predicate, defs) != 1 || defs[0] == CFG_NONE)
			return false;
		at = p->compare = defs[0];
		insn = &p->g->insns[at];
		if (!is_plain(insn) || !is_steady(p, at) || insn->operands_n < 5 ||
		    !same_register(&insn->operands[0], predicate))
			return false;
		if (!tile_is_op(insn, "PLOP3") && !tile_is_op(insn, "UPLOP3"))
			return true;
		if (!logic_copy(insn, predicate))
			return false;
		if (predicate->flags & SASS_NOT)
			p->stays_if_true = !p->stays_if_true;
	}
	return false;
}

/* The comparison that writes the predicate; *counter is the operand of it that is no constant. */
static bool find_compare(struct proof *p, struct sass_operand *predicate,
			 const struct sass_operand **counter)
{
	const struct sass_insn *insn;
	const struct sass_operand *o;

	if (!find_writer(p, p->g->blocks[p->exit].end - 1, predicate))
		return false;
	insn = &p->g->insns[p->compare];
	o = insn->operands;
	/* up to sm_75 with the predicate of .EX, which read_relation() excludes */
	if (!(tile_is_op(insn, "ISETP") || tile_is_op(insn, "UISETP")) || insn->operands_n > 6 ||
	    !read_relation(p))
		return false;
	if (o[1].reg != SASS_PT || o[4].reg != SASS_PT ||
	    (o[4].kind != SASS_PRED && o[4].kind != SASS_UPRED) || o[4].flags & SASS_NOT)
		return false;
	p->counter_first = constant(p, p->compare, &o[3], COPIES, &p->bound);
	if (!p->counter_first && !constant(p, p->compare, &o[2], COPIES, &p->bound))
		return false;
	*counter = p->counter_first ? &o[2] : &o[3];
	return is_register(*counter);
}

/* The register to which an addition without carry adds immediates, whose sum goes to *sum. */
static const struct sass_operand *added(const struct sass_insn *insn,
					const struct sass_modifiers *m, uint32_t *sum)
{
	static const char *const ops[] = {"IADD3", "UIADD3", "VIADD", "IADD", "UIADD", NULL};
	const struct sass_operand *found = NULL;
	unsigned k = 0;

	while (ops[k] && !tile_is_op(insn, ops[k]))
		k++;
	if (!ops[k] || m->n)
		return NULL;
	for (unsigned i = 1; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];
		uint32_t value;

		if (o->kind == SASS_PRED || o->kind == SASS_UPRED) {
			if (!(o->flags & SASS_DEST) && o->reg != SASS_PT)
				return NULL;
		} else if (literal(o, &value)) {
			*sum += value;
		} else if (is_register(o) && !(o->flags & SASS_DEST) && !found) {
			found = o;
		} else {
			return NULL;
		}
	}
	return found;
}

/* A register in an iteration: what `reg` was when the iteration began, and `offset` more. */
struct linear {
	struct sass_operand reg;
	uint32_t offset;
	uint32_t within, before; /* instructions that write reg: in the loop, and in front of it */
};

/* In front of instruction d is x->reg now what d leaves in it, but for the offset. */
static bool follow(const struct proof *p, uint32_t d, struct linear *x)
{
	const struct sass_insn *insn = &p->g->insns[d];
	const struct sass_operand *from;
	const struct sass_modifiers *m = &p->g->modifiers[d];

	if (!is_plain(insn) || !is_steady(p, d) || !insn->operands_n ||
	    !is_register(&insn->operands[0]) || !(insn->operands[0].flags & SASS_DEST) ||
	    !same_register(&insn->operands[0], &x->reg))
		return false;
	from = moved(insn, m);
	if (!from)
		from = added(insn, m, &x->offset);
	if (!from || !is_register(from))
		return false;
	x->reg = *from;
	return true;
}

/*
 * x->reg as instruction `at` finds it, led back to the beginning of the iteration: that is where what is
 * written in the loop meets what was written in front of it.
 */
static bool resolve(const struct proof *p, uint32_t at, struct linear *x)
{
	uint32_t defs[DATAFLOW_DEFS];

	for (int i = 0; i < COPIES; i++) {
		const unsigned n = defs_of(p, at, &x->reg, defs);

		if (n < 1 || n > 2 || defs[0] == CFG_NONE || (n == 2 && defs[1] == CFG_NONE))
			return false;
		if (n == 2) {
			const bool first = is_inside(p, p->g->block_of[defs[0]]);

			x->within = defs[!first];
			x->before = defs[first];
			return first != is_inside(p, p->g->block_of[defs[1]]);
		}
		if (!follow(p, defs[0], x))
			return false;
		at = defs[0];
	}
	return false;
}

static bool find_counter(struct proof *p, const struct sass_operand *counter)
{
	struct linear seen = {.reg = *counter}, next;

	if (!resolve(p, p->compare, &seen))
		return false;
	next = (struct linear){.reg = seen.reg};
	if (!follow(p, seen.within, &next) || !resolve(p, seen.within, &next) ||
	    !same_register(&next.reg, &seen.reg) || next.within != seen.within ||
	    next.before != seen.before ||
	    !constant_of(p, seen.before, &seen.reg, COPIES, &p->first))
		return false;
	p->first += seen.offset;
	p->step = next.offset;
	return true;
}

/* ------------------------------------------------------------------------------------- the count */

static bool compares(const struct proof *p, uint32_t counter)
{
	const uint32_t flip = p->is_unsigned ? 0 : UINT32_C(1) << 31;
	const uint32_t a = (p->counter_first ? counter : p->bound) ^ flip;
	const uint32_t b = (p->counter_first ? p->bound : counter) ^ flip;

	switch (p->relation) {
	case SASS_M_EQ: return a == b;
	case SASS_M_NE: return a != b;
	case SASS_M_LT: return a < b;
	case SASS_M_LE: return a <= b;
	case SASS_M_GT: return a > b;
	default: return a >= b;
	}
}

static uint64_t count(const struct proof *p)
{
	uint32_t counter = p->first;

	for (uint64_t n = 1; n <= TILE_TRIPS_MOST; n++, counter += p->step)
		if (compares(p, counter) != p->stays_if_true)
			return n;
	return 0;
}

uint64_t tile_trips(const struct cfg *g, uint32_t l, uint32_t latch)
{
	struct proof p = {.g = g, .arena = arena_new(), .loop = l, .latch = latch};
	const struct sass_operand *counter;
	struct sass_operand predicate;
	uint64_t n = 0;

	if (p.arena && latch != CFG_NONE && g->is_complete && !g->is_irreducible && find_exit(&p) &&
	    find_predicate(&p, &predicate) && find_compare(&p, &predicate, &counter) &&
	    find_counter(&p, counter))
		n = count(&p);
	arena_free(p.arena);
	return n;
}
