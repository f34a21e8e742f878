/*
 * dataflow.c - see dataflow.h. Liveness by the usual iteration over blocks from the end; definitions by a
 * search backwards from the one place that asks.
 */
#include "dataflow.h"

#include <string.h>

#include "arena.h"

static void add_run(uint64_t set[4], unsigned from, unsigned n)
{
	const unsigned end = from + n < SASS_RZ ? from + n : SASS_RZ;

	while (from < end) {
		const unsigned left = 64 - from % 64, take = end - from < left ? end - from : left;

		set[from / 64] |= UINT64_MAX >> (64 - take) << from % 64;
		from += take;
	}
}

static void add_operand(struct regset *s, const struct sass_operand *o)
{
	switch (o->kind) {
	case SASS_REG: add_run(s->r, o->reg, o->regs); break;
	case SASS_UREG: add_run(s->ur, o->reg, o->regs); break;
	case SASS_PRED: s->p |= (uint8_t)(o->reg < SASS_PT ? 1u << o->reg : 0); break;
	case SASS_UPRED: s->up |= (uint8_t)(o->reg < SASS_PT ? 1u << o->reg : 0); break;
	default: break;
	}
}

/*
 * All predicates as one operand: P2R reads and R2P writes those that its mask names. A mask in a register
 * may name any: they are all read, and none is written for certain.
 */
static void add_predicates(const struct sass_insn *insn, struct effects *x)
{
	static const struct {
		const char *op;
		bool is_written, is_uniform;
	} ops[] = {{"P2R", false, false},
		   {"R2P", true, false},
		   {"UP2UR", false, true},
		   {"UR2UP", true, true}};
	const char *op = sass_op(insn);
	uint8_t mask = 0x7f;
	bool is_known = false;

	if (*op != 'P' && *op != 'R' && *op != 'U')
		return;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		is_known = o->kind == SASS_IMMEDIATE && !(o->flags & SASS_IN_BANK);
		mask = is_known ? o->value & 0x7f : 0x7f;
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		struct regset *s = ops[i].is_written ? &x->writes : &x->reads;

		if (strcmp(op, ops[i].op) || (ops[i].is_written && !is_known))
			continue;
		*(ops[i].is_uniform ? &s->up : &s->p) |= mask;
	}
}

void dataflow_effects(const struct sass_insn *insn, struct effects *out)
{
	memset(&out->reads, 0, sizeof(out->reads));
	memset(&out->writes, 0, sizeof(out->writes));
	out->is_certain = insn->is_decoded;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];
		const bool is_value = !(o->flags & (SASS_IN_ADDRESS | SASS_IN_BANK));

		add_operand(o->flags & SASS_DEST && is_value ? &out->writes : &out->reads, o);
	}
	add_predicates(insn, out);
	if (insn->guard < SASS_PT) {
		if (insn->guard_uniform)
			out->reads.up |= (uint8_t)(1u << insn->guard);
		else
			out->reads.p |= (uint8_t)(1u << insn->guard);
	}
}

bool regset_meets(const struct regset *a, const struct regset *b)
{
	bool meets = (a->p & b->p) || (a->up & b->up);

	for (int i = 0; i < 4; i++)
		meets = meets || (a->r[i] & b->r[i]) || (a->ur[i] & b->ur[i]);
	return meets;
}

void regset_add(struct regset *a, const struct regset *b)
{
	for (int i = 0; i < 4; i++) {
		a->r[i] |= b->r[i];
		a->ur[i] |= b->ur[i];
	}
	a->p |= b->p;
	a->up |= b->up;
}

void regset_remove(struct regset *a, const struct regset *b)
{
	for (int i = 0; i < 4; i++) {
		a->r[i] &= ~b->r[i];
		a->ur[i] &= ~b->ur[i];
	}
	a->p &= (uint8_t)~b->p;
	a->up &= (uint8_t)~b->up;
}

unsigned regset_registers(const struct regset *s)
{
	unsigned n = 0;

	for (int i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(s->r[i]);
	return n;
}

unsigned regset_list(const struct regset *s, uint16_t out[REGSET_NUMBERS])
{
	unsigned n = 0;

	for (unsigned word = 0; word < 8; word++) {
		uint64_t left = word < 4 ? s->r[word] : s->ur[word - 4];

		for (; left; left &= left - 1)
			out[n++] = (uint16_t)(word * 64 + (unsigned)__builtin_ctzll(left));
	}
	for (unsigned left = s->p; left; left &= left - 1)
		out[n++] = (uint16_t)(REGSET_P + (unsigned)__builtin_ctz(left));
	for (unsigned left = s->up; left; left &= left - 1)
		out[n++] = (uint16_t)(REGSET_UP + (unsigned)__builtin_ctz(left));
	return n;
}

/* ------------------------------------------------------------------------------------- liveness */

/* Whether what it writes may also stay as it was. A predicate among its operands does not matter here. */
static bool is_guarded(const struct sass_insn *insn)
{
	return insn->guard != SASS_PT || insn->guard_not;
}

#define GUARDS 32u /* 2n: Pn holds, 2n + 1: it does not; from 16 on: UPn */

/*
 * What is needed in any case, and what only where a guard holds: @P0 MOV R1 and @!P0 MOV R1 together leave
 * nothing of R1 alive, and neither does a write under @P0 that only a read under @P0 follows.
 */
struct needed {
	struct regset always, under[GUARDS];
	uint32_t guards; /* whose sets are not empty */
};

static void need(struct needed *n, const struct sass_insn *insn, bool is_opposite,
		 const struct regset *what)
{
	const unsigned guard = (insn->guard_uniform ? 16u : 0) + 2u * insn->guard +
			       (insn->guard_not != is_opposite);

	if (insn->guard == SASS_PT) {
		if (insn->guard_not == is_opposite)
			regset_add(&n->always, what);
		return;
	}
	regset_add(&n->under[guard], what);
	n->guards |= 1u << guard;
}

static struct regset needed_in_all(const struct needed *n)
{
	struct regset all = n->always;

	for (unsigned i = 0; n->guards >> i; i++)
		if (n->guards >> i & 1)
			regset_add(&all, &n->under[i]);
	return all;
}

/* A predicate gets another value: what was needed under it is needed in any case. */
static void forget(struct needed *n, const struct regset *written)
{
	for (unsigned i = 0; n->guards >> i; i++) {
		if (!(n->guards >> i & 1) ||
		    !((i < 16 ? written->p : written->up) >> (i / 2 % 8) & 1))
			continue;
		regset_add(&n->always, &n->under[i]);
		memset(&n->under[i], 0, sizeof(n->under[i]));
		n->guards &= ~(1u << i);
	}
}

static void provide(struct needed *n, const struct sass_insn *insn, const struct regset *written)
{
	struct regset kept = n->always, moved = n->always;

	regset_remove(&kept, written);
	regset_remove(&moved, &kept);
	n->always = kept;
	for (unsigned i = 0; n->guards >> i; i++)
		if (!is_guarded(insn) ||
		    i == (insn->guard_uniform ? 16u : 0) + 2u * insn->guard + insn->guard_not)
			regset_remove(&n->under[i], written);
	if (is_guarded(insn))
		need(n, insn, true, &moved);
}

struct liveness {
	const struct cfg *g;
	struct regset *live;    /* in front of each instruction */
	struct regset returned; /* what is live behind the calls that lead into the code */
};

static uint32_t callee(const struct cfg *g, const struct sass_insn *call)
{
	const int64_t target = cfg_target(call);

	return target >= 0 && target / SASS_BYTES < g->insns_n ? (uint32_t)(target / SASS_BYTES)
							       : CFG_NONE;
}

/* What is needed in front of an instruction, given what is needed behind it. */
static void step_back(const struct liveness *l, const struct sass_insn *insn, struct needed *n)
{
	const enum cfg_flow flow = cfg_flow(insn);
	struct effects x;

	dataflow_effects(insn, &x);
	forget(n, &x.writes);
	if (x.is_certain)
		provide(n, insn, &x.writes);
	if (flow == CFG_CALL && callee(l->g, insn) != CFG_NONE)
		need(n, insn, false, &l->live[callee(l->g, insn)]);
	if (flow == CFG_RETURN)
		need(n, insn, false, &l->returned);
	if (insn->guard < SASS_PT && insn->guard_uniform)
		n->always.up |= (uint8_t)(1u << insn->guard);
	else if (insn->guard < SASS_PT)
		n->always.p |= (uint8_t)(1u << insn->guard);
	need(n, insn, false, &x.reads);
}

/* Nothing but its guard decides whether it goes where it says, or on. */
static bool is_decided_by_guard(const struct sass_insn *insn)
{
	struct sass_insn bare = *insn;

	bare.guard = SASS_PT;
	bare.guard_not = false;
	return is_guarded(insn) && cfg_flow(insn) != CFG_NEXT && cfg_flow(insn) != CFG_CALL &&
	       cfg_flow(insn) != CFG_INDIRECT && !cfg_is_conditional(&bare);
}

static void needed_at_end(const struct liveness *l, uint32_t block, struct needed *n)
{
	const struct cfg *g = l->g;
	const struct cfg_block *b = &g->blocks[block];
	const struct sass_insn *last = &g->insns[b->end - 1];
	const bool is_branch = cfg_flow(last) == CFG_BRANCH;
	const bool is_decided = is_decided_by_guard(last) && (!is_branch || b->successors_n == 2);

	memset(n, 0, sizeof(*n));
	for (uint32_t i = 0; i < b->successors_n; i++) {
		const uint32_t to = g->edges[b->successors + i];
		const struct regset *live = &l->live[g->blocks[to].first];

		if (is_decided)
			need(n, last, !is_branch || to == block + 1, live);
		else
			regset_add(&n->always, live);
	}
}

/* Who returns to where is not known: every return goes behind every call. */
static void live_behind_calls(struct liveness *l)
{
	for (uint32_t i = 0; i < l->g->calls_n; i++) {
		const uint32_t at = l->g->calls[i].insn;

		if (at + 1 < l->g->insns_n && callee(l->g, &l->g->insns[at]) != CFG_NONE)
			regset_add(&l->returned, &l->live[at + 1]);
	}
}

const struct regset *dataflow_live(const struct cfg *g, struct arena *arena)
{
	struct liveness l = {.g = g, .live = arena_array(arena, g->insns_n, sizeof(*l.live))};
	bool again = l.live && g->insns_n;

	while (again) {
		again = false;
		live_behind_calls(&l);
		for (uint32_t b = g->blocks_n; b-- > 0;) {
			struct needed n;

			needed_at_end(&l, b, &n);
			for (uint32_t i = g->blocks[b].end; i-- > g->blocks[b].first;) {
				struct regset now;

				step_back(&l, &g->insns[i], &n);
				now = needed_in_all(&n);
				again |= memcmp(&l.live[i], &now, sizeof(now)) != 0;
				l.live[i] = now;
			}
		}
	}
	return l.live;
}

/* ---------------------------------------------------------------------------------- definitions */

struct search {
	const struct cfg *g;
	struct arena *arena;
	uint32_t *out;
	unsigned n;
	struct regset *seen; /* of each block: what has been looked for from its end on */
	uint32_t *stack;     /* blocks to be searched, each once */
	bool *is_waiting;
	uint32_t depth;
};

static void found(struct search *s, uint32_t insn)
{
	for (unsigned i = 0; i < s->n && i < DATAFLOW_DEFS; i++)
		if (s->out[i] == insn)
			return;
	if (s->n < DATAFLOW_DEFS)
		s->out[s->n] = insn;
	if (s->n <= DATAFLOW_DEFS)
		s->n++;
}

/* Most searches end in the block where they begin, and need none of this. False: memory has run out. */
static bool has_room(struct search *s)
{
	if (!s->seen) {
		s->seen = arena_array(s->arena, s->g->blocks_n, sizeof(*s->seen));
		s->stack = arena_array(s->arena, s->g->blocks_n, sizeof(*s->stack));
		s->is_waiting = arena_array(s->arena, s->g->blocks_n, sizeof(*s->is_waiting));
	}
	return s->seen && s->stack && s->is_waiting;
}

/* From in front of instruction `at` back to the start of its block. False: memory has run out. */
static bool search_block(struct search *s, uint32_t block, uint32_t at, struct regset want)
{
	const struct cfg_block *b = &s->g->blocks[block];
	const struct regset none = {.p = 0};
	struct effects x;

	for (uint32_t i = at; i-- > b->first;) {
		dataflow_effects(&s->g->insns[i], &x);
		if (x.is_certain && !regset_meets(&x.writes, &want))
			continue;
		found(s, i);
		if (x.is_certain && !is_guarded(&s->g->insns[i]))
			regset_remove(&want, &x.writes);
		if (!memcmp(&want, &none, sizeof(want)))
			return true;
	}
	if (b->is_entry || !b->predecessors_n)
		found(s, CFG_NONE);
	if (!has_room(s))
		return false;
	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t p = s->g->edges[b->predecessors + i];
		struct regset fresh = want;

		regset_remove(&fresh, &s->seen[p]);
		if (!memcmp(&fresh, &none, sizeof(fresh)))
			continue;
		regset_add(&s->seen[p], &fresh);
		if (!s->is_waiting[p])
			s->stack[s->depth++] = p;
		s->is_waiting[p] = true;
	}
	return true;
}

unsigned dataflow_defs(const struct cfg *g, struct arena *arena, uint32_t at,
		       const struct regset *what, uint32_t out[DATAFLOW_DEFS])
{
	struct search s = {.g = g, .arena = arena, .out = out};

	if (at >= g->insns_n || !search_block(&s, g->block_of[at], at, *what))
		return 0;
	while (s.depth) {
		const uint32_t block = s.stack[--s.depth];

		s.is_waiting[block] = false;
		search_block(&s, block, g->blocks[block].end, s.seen[block]);
	}
	return s.n;
}
