/*
 * idiom_double.c - see idiom_double.h. By the flow of what a register may hold, over blocks until nothing changes; a
 * return leads behind every call of its function, of which the registers that it does not write keep what they held.
 */
#include "idiom_double.h"

#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "sass_modifier.h"
#include "sass_work.h"
#include "tile.h"
#include "tile_trips.h"

/* What a register may hold, bits of a set. */
enum {
	GIVEN = 1u,    /* a double of the caller's, or nobody knows */
	TABLE = 2u,    /* an address within the module: the tables of functions */
	WIDE = 4u,     /* a double, or a half of one, that was a float or an integer */
	COMPUTED = 8u, /* one that arithmetic made */
	NUMBER = 16u,  /* a constant of the code */
};

#define DOUBLE (WIDE | COMPUTED)

/* Banks of constants: 0 holds the arguments, 3 what the program keeps there, 4 addresses within the module. */
#define BANK_ARGUMENTS 0
#define BANK_PROGRAM   3
#define BANK_ADDRESSES 4

#define WORD_BYTES     8u
/* Of the operations so many at least have a constant, or a sum of floats in double is meant. */
#define CONSTANTS_EACH 8u

struct state {
	uint8_t at[REGSET_P]; /* R, then UR */
};

/* What is called within the code. */
struct callee {
	uint32_t entry;
	uint8_t *has; /* of each block */
	struct regset writes;
	struct state returned;
};

struct reader {
	const struct cfg *g;
	struct state *in, *out; /* of each block */
	struct callee *callees;
	uint32_t callees_n;
	uint8_t *on; /* of each instruction */
	uint32_t operations, constants;
	bool is_meant;
};

static bool is_operation(const struct sass_insn *insn)
{
	return tile_is_op(insn, "DFMA") || tile_is_op(insn, "DMUL") || tile_is_op(insn, "DADD");
}

static bool is_among(const struct sass_insn *insn, const char *const *ops)
{
	for (; *ops; ops++)
		if (tile_is_op(insn, *ops))
			return true;
	return false;
}

int idiom_widens(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	const struct sass_operand *to = insn->operands_n ? &insn->operands[0] : NULL;
	const bool is_64 = sass_has_modifier(m, SASS_M_F64);

	if (tile_is_op(insn, "DSETP"))
		return -1;
	if (!to || !is_64)
		return 0;
	if (tile_is_op(insn, "I2F")) /* of 64 bits: within functions of the mathematics */
		return insn->operands_n > 1 && insn->operands[1].regs == 1;
	if (tile_is_op(insn, "F2I"))
		return -1;
	/* F2F between registers of another width */
	if (tile_is_op(insn, "F2F") && insn->operands_n > 1 && insn->operands[1].regs != to->regs)
		return to->regs == 2 ? 1 : -1;
	return 0;
}

/* The bank of constants that an operand begins to name, -1 = it is none. */
static int bank_of(const struct sass_operand *o)
{
	return o->flags & SASS_IN_BANK && o->kind == SASS_IMMEDIATE ? (int)o->value : -1;
}

static uint8_t of_bank(int bank)
{
	return bank == BANK_ARGUMENTS || bank == BANK_PROGRAM ? GIVEN
	       : bank == BANK_ADDRESSES                       ? TABLE
							      : NUMBER;
}

static uint8_t held(const struct state *s, const struct sass_operand *o)
{
	const unsigned first = o->kind == SASS_UREG ? REGSET_UR : 0;
	uint8_t all = 0;

	if (o->kind != SASS_REG && o->kind != SASS_UREG)
		return 0;
	for (unsigned k = 0; k < o->regs && o->reg + k < SASS_RZ; k++)
		all |= s->at[first + o->reg + k];
	return all;
}

/* What its values hold, addresses and results left out; `address`: what the registers of its addresses do. */
static uint8_t sources(const struct state *s, const struct sass_insn *insn, uint8_t *address)
{
	uint8_t all = 0;
	int last = -1;

	*address = 0;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->flags & SASS_IN_BANK) {
			/* c[bank][offset]: the first of the terms is the bank */
			if (last != o->index && bank_of(o) >= 0)
				all |= of_bank(bank_of(o));
			last = o->index;
		} else if (o->flags & SASS_IN_ADDRESS) {
			/* not the descriptor, which is in UR */
			*address |= o->kind == SASS_REG ? held(s, o) : 0;
		} else if (!(o->flags & SASS_DEST)) {
			all |= held(s, o);
			if ((o->kind == SASS_IMMEDIATE || o->kind == SASS_F64 ||
			     o->kind == SASS_F32 || o->kind == SASS_F16) &&
			    o->value)
				all |= NUMBER;
		}
	}
	return all;
}

/* Arithmetic in float, and of bits: what it makes is no double. */
static bool makes_no_double(const struct sass_insn *insn)
{
	static const char *const ops[] = {"FADD",   "FMUL", "FFMA", "FMNMX", "FADD2", "FMUL2",
					  "FFMA2",  "F2FP", "I2FP", "FSET",  "HADD2", "HMUL2",
					  "HMNMX2", "FCHK", "FRND", "S2R",   "S2UR",  "FLO",
					  "POPC",   "VOTE", NULL};

	return is_among(insn, ops);
}

/* Of a constant: floats have theirs in the instruction that needs them. */
static bool is_move(const struct sass_insn *insn)
{
	return tile_is_op(insn, "MOV") || tile_is_op(insn, "UMOV") || tile_is_move(insn) ||
	       (tile_is_op(insn, "IMAD") && insn->operands_n > 2 &&
		insn->operands[1].kind == SASS_REG && insn->operands[1].reg == SASS_RZ);
}

/* What it makes out of memory, or leaves in it. */
static uint8_t access(struct reader *r, const struct sass_insn *insn, const struct sass_access *x,
		      uint8_t values, uint8_t address)
{
	const bool is_wide = x->bytes >= WORD_BYTES;
	const bool is_local = x->from == SASS_LOCAL || x->to == SASS_LOCAL;

	(void)insn;
	if (is_local) /* what was put aside */
		return is_wide ? DOUBLE : 0;
	if (x->act != SASS_LOAD && is_wide && values & DOUBLE)
		r->is_meant = true;
	if (x->act == SASS_LOAD && x->from == SASS_CONSTANT)
		return values;
	if (!is_wide)
		return 0;
	return address & TABLE && !(address & GIVEN) ? NUMBER : GIVEN;
}

static uint8_t makes(struct reader *r, const struct state *s, uint32_t i)
{
	const struct sass_insn *insn = &r->g->insns[i];
	const struct sass_modifiers *m = &r->g->modifiers[i];
	struct sass_access x;
	uint8_t address;
	const uint8_t values = sources(s, insn, &address);
	const int widens = idiom_widens(insn, m);

	r->on[i] |= (values & DOUBLE) || is_operation(insn) || widens != 0 ||
		    (values == NUMBER && is_move(insn));
	if (is_operation(insn)) {
		r->is_meant |= (values & GIVEN) != 0;
		return COMPUTED | (values & GIVEN);
	}
	if (widens)
		return widens > 0 ? WIDE : 0;
	if (sass_access(insn, m, &x))
		return access(r, insn, &x, values, address);
	if (tile_is_op(insn, "SHFL"))
		r->is_meant |= (values & DOUBLE) != 0;
	return makes_no_double(insn) ? 0 : values;
}

/*
 * Of the old value behind a write under a guard. Where arithmetic in double makes the new one, readers under the same
 * guard follow, and others had been given their double in front of it.
 */
static uint8_t outlives(const struct sass_insn *insn, uint8_t made, uint8_t old)
{
	if (insn->guard == SASS_PT)
		return 0;
	return made & DOUBLE ? (uint8_t)(old & ~GIVEN) : old;
}

static void step(struct reader *r, struct state *s, uint32_t i)
{
	const struct sass_insn *insn = &r->g->insns[i];
	uint16_t written[REGSET_NUMBERS];
	struct effects x;
	uint8_t made;

	if (!insn->is_decoded) {
		memset(s->at, GIVEN, sizeof(s->at));
		return;
	}
	made = makes(r, s, i);
	dataflow_effects(insn, &x);
	for (unsigned k = 0, n = regset_list(&x.writes, written); k < n && written[k] < REGSET_P;
	     k++)
		s->at[written[k]] = (uint8_t)(made | outlives(insn, made, s->at[written[k]]));
}

/* Whether anything is new in `to`. */
static bool join(struct state *to, const struct state *from)
{
	bool is_new = false;

	for (unsigned i = 0; i < REGSET_P; i++) {
		is_new |= (from->at[i] & ~to->at[i]) != 0;
		to->at[i] |= from->at[i];
	}
	return is_new;
}

static struct callee *callee_of(struct reader *r, int64_t target)
{
	for (uint32_t i = 0; i < r->callees_n && cfg_is_within(r->g, target); i++)
		if (r->callees[i].entry == r->g->block_of[target / SASS_BYTES])
			return &r->callees[i];
	return NULL;
}

static bool is_elsewhere(const struct cfg *g, const struct sass_insn *insn)
{
	return cfg_flow(insn) == CFG_CALL && !cfg_is_within(g, cfg_target(insn));
}

/* What its own blocks write, and whether one of them calls what nobody knows. */
static void find_blocks(struct reader *r, struct callee *f, uint32_t *stack)
{
	uint32_t depth = 0;

	f->has[f->entry] = 1;
	for (stack[depth++] = f->entry; depth;) {
		const struct cfg_block *b = &r->g->blocks[stack[--depth]];

		for (uint32_t i = b->first; i < b->end; i++) {
			const struct sass_insn *insn = &r->g->insns[i];
			struct effects x;

			dataflow_effects(insn, &x);
			regset_add(&f->writes, &x.writes);
			if (!insn->is_decoded || is_elsewhere(r->g, insn))
				memset(&f->writes, 0xff, sizeof(f->writes));
		}
		for (uint32_t i = 0; i < b->successors_n; i++) {
			const uint32_t to = r->g->edges[b->successors + i];

			if (!f->has[to])
				stack[depth++] = to;
			f->has[to] = 1;
		}
	}
}

/* What a function writes by those that it calls. */
static bool add_inner(struct reader *r, struct callee *f)
{
	const struct regset before = f->writes;

	for (uint32_t i = 0; i < r->g->calls_n; i++) {
		const struct callee *inner = callee_of(r, r->g->calls[i].target);

		if (inner && f->has[r->g->block_of[r->g->calls[i].insn]])
			regset_add(&f->writes, &inner->writes);
	}
	return memcmp(&before, &f->writes, sizeof(before)) != 0;
}

/* False = no memory. */
static bool find_callees(struct reader *r, struct arena *scratch)
{
	const struct cfg *g = r->g;
	uint32_t *stack = arena_array(scratch, g->blocks_n, sizeof(*stack));
	bool again = true;

	r->callees = arena_array(scratch, g->calls_n + 1, sizeof(*r->callees));
	if (!r->callees || !stack)
		return false;
	for (uint32_t i = 0; i < g->calls_n; i++) {
		const int64_t target = g->calls[i].target;
		struct callee *f = &r->callees[r->callees_n];

		if (!cfg_is_within(g, target) || callee_of(r, target))
			continue; /* another kernel's, or one more call of it */
		f->entry = g->block_of[target / SASS_BYTES];
		f->has = arena_array(scratch, g->blocks_n, 1);
		if (!f->has)
			return false;
		r->callees_n++;
	}
	for (uint32_t i = 0; i < r->callees_n; i++)
		find_blocks(r, &r->callees[i], stack);
	while (again) {
		again = false;
		for (uint32_t i = 0; i < r->callees_n; i++)
			again |= add_inner(r, &r->callees[i]);
	}
	return true;
}

/* Behind a call: its registers are what the function leaves in them, from wherever it was called. */
static void take_results(const struct callee *f, struct state *s)
{
	uint16_t written[REGSET_NUMBERS];

	for (unsigned k = 0, n = regset_list(&f->writes, written); k < n && written[k] < REGSET_P;
	     k++)
		s->at[written[k]] = f->returned.at[written[k]];
}

static bool follow(struct reader *r, uint32_t block)
{
	const struct cfg *g = r->g;
	const struct cfg_block *b = &g->blocks[block];
	const struct sass_insn *last = &g->insns[b->end - 1];
	struct state s = r->in[block];
	bool is_new = false;

	for (uint32_t i = b->first; i < b->end; i++) {
		struct callee *f;

		step(r, &s, i);
		if (cfg_flow(&g->insns[i]) != CFG_CALL)
			continue;
		f = callee_of(r, cfg_target(&g->insns[i]));
		if (!f) {
			if (is_elsewhere(g, &g->insns[i]))
				memset(s.at, GIVEN, sizeof(s.at));
			continue;
		}
		is_new |= join(&r->in[f->entry], &s);
		take_results(f, &s);
	}
	r->out[block] = s;
	for (uint32_t i = 0; cfg_flow(last) == CFG_RETURN && i < r->callees_n; i++)
		if (r->callees[i].has[block])
			is_new |= join(&r->callees[i].returned, &s);
	for (uint32_t i = 0; i < b->successors_n; i++)
		is_new |= join(&r->in[g->edges[b->successors + i]], &s);
	return is_new;
}

/* Whether a loop both computes in double with a register and writes it. */
static bool is_kept(const struct cfg *g, uint32_t loop, const struct regset *one)
{
	bool is_read = false, is_written = false;

	for (uint32_t b = g->block_of[g->loops[loop].first];
	     b < g->blocks_n && g->blocks[b].first <= g->loops[loop].last; b++)
		for (uint32_t i = g->blocks[b].first;
		     cfg_in_loop(g, b, loop) && i < g->blocks[b].end; i++) {
			struct effects x;

			dataflow_effects(&g->insns[i], &x);
			is_written |= regset_meets(&x.writes, one);
			is_read |= is_operation(&g->insns[i]) && regset_meets(&x.reads, one);
		}
	return is_read && is_written;
}

/* A double that a loop computes and needs in its next turn. */
static bool is_carried(const struct reader *r, const struct regset *live, uint32_t loop)
{
	const struct cfg *g = r->g;
	const uint32_t header = g->loops[loop].header;
	const struct cfg_block *b = &g->blocks[header];
	uint16_t numbers[REGSET_NUMBERS];
	const unsigned n = regset_list(&live[b->first], numbers);

	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t from = g->edges[b->predecessors + i];

		if (!cfg_in_loop(g, from, loop))
			continue;
		/* both halves of it */
		for (unsigned k = 0; k + 1 < n && numbers[k + 1] < REGSET_UR; k++) {
			const uint16_t low = numbers[k];
			struct regset one = {.p = 0};

			one.r[low / 64] = UINT64_C(1) << low % 64;
			if (low % 2 == 0 && numbers[k + 1] == low + 1 &&
			    r->out[from].at[low] & r->out[from].at[low + 1] & COMPUTED &&
			    is_kept(g, loop, &one))
				return true;
		}
	}
	return false;
}

static bool has_doubles(const struct cfg *g)
{
	bool computes = false, widens = false;

	for (uint32_t i = 0; i < g->insns_n; i++) {
		computes |= is_operation(&g->insns[i]);
		widens |= idiom_widens(&g->insns[i], &g->modifiers[i]) > 0;
	}
	return computes && widens;
}

/* Operations, and those of them that a constant takes part in. */
static void count(struct reader *r)
{
	for (uint32_t b = 0; b < r->g->blocks_n; b++) {
		struct state s = r->in[b];

		for (uint32_t i = r->g->blocks[b].first;
		     r->g->blocks[b].is_reachable && i < r->g->blocks[b].end; i++) {
			uint8_t address;

			if (is_operation(&r->g->insns[i])) {
				r->operations++;
				r->constants += (sources(&s, &r->g->insns[i], &address) & NUMBER) !=
						0;
			}
			step(r, &s, i);
		}
	}
}

int idiom_double_read(const struct cfg *g, struct arena *scratch, const uint8_t **on)
{
	struct reader r = {.g = g};
	const struct regset *live;
	bool again = true;

	*on = NULL;
	if (!g->is_complete || !has_doubles(g))
		return 0;
	r.in = arena_array(scratch, g->blocks_n, sizeof(*r.in));
	r.out = arena_array(scratch, g->blocks_n, sizeof(*r.out));
	r.on = arena_array(scratch, g->insns_n, sizeof(*r.on));
	live = dataflow_live(g, scratch);
	if (!r.in || !r.out || !r.on || !live || !find_callees(&r, scratch))
		return -1;
	while (again && !r.is_meant) {
		again = false;
		for (uint32_t b = 0; b < g->blocks_n; b++)
			if (g->blocks[b].is_reachable)
				again |= follow(&r, b);
	}
	for (uint32_t l = 0; !r.is_meant && l < g->loops_n; l++)
		r.is_meant = is_carried(&r, live, l);
	if (!r.is_meant)
		count(&r);
	if (!r.is_meant && r.constants * CONSTANTS_EACH >= r.operations)
		*on = r.on;
	return 0;
}
