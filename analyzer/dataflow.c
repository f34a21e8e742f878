/*
 * dataflow.c - see dataflow.h. Liveness by the usual iteration over blocks from the end; definitions by a
 * search backwards from the one place that asks.
 */
#include "dataflow.h"

#include <string.h>

#include "arena.h"

static void add_run(uint64_t set[4], unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n && i < SASS_RZ; i++)
		set[i / 64] |= UINT64_C(1) << i % 64;
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

void dataflow_effects(const struct sass_insn *insn, struct effects *out)
{
	memset(out, 0, sizeof(*out));
	out->is_certain = insn->is_decoded;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];
		const bool is_value = !(o->flags & (SASS_IN_ADDRESS | SASS_IN_BANK));

		add_operand(o->flags & SASS_DEST && is_value ? &out->writes : &out->reads, o);
	}
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

/* ------------------------------------------------------------------------------------- liveness */

/* What is live in front of an instruction, given what is live behind it. */
static void step_back(const struct sass_insn *insn, struct regset *live)
{
	struct effects x;

	dataflow_effects(insn, &x);
	if (x.is_certain && !cfg_is_conditional(insn))
		regset_remove(live, &x.writes);
	regset_add(live, &x.reads);
}

static void live_at_end(const struct cfg *g, const struct regset *live, uint32_t block,
			struct regset *out)
{
	const struct cfg_block *b = &g->blocks[block];

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < b->successors_n; i++)
		regset_add(out, &live[g->blocks[g->edges[b->successors + i]].first]);
}

const struct regset *dataflow_live(const struct cfg *g, struct arena *arena)
{
	struct regset *live = arena_array(arena, g->insns_n, sizeof(*live));
	bool again = live && g->insns_n;

	while (again) {
		again = false;
		for (uint32_t b = g->blocks_n; b-- > 0;) {
			const struct regset before = live[g->blocks[b].first];
			struct regset now;

			live_at_end(g, live, b, &now);
			for (uint32_t i = g->blocks[b].end; i-- > g->blocks[b].first;) {
				step_back(&g->insns[i], &now);
				live[i] = now;
			}
			again |= memcmp(&before, &now, sizeof(now)) != 0;
		}
	}
	return live;
}

/* ---------------------------------------------------------------------------------- definitions */

struct search {
	const struct cfg *g;
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

/* From in front of instruction `at` back to the start of its block. */
static void search_block(struct search *s, uint32_t block, uint32_t at, struct regset want)
{
	const struct cfg_block *b = &s->g->blocks[block];
	const struct regset none = {.p = 0};
	struct effects x;

	for (uint32_t i = at; i-- > b->first;) {
		dataflow_effects(&s->g->insns[i], &x);
		if (x.is_certain && !regset_meets(&x.writes, &want))
			continue;
		found(s, i);
		if (x.is_certain && !cfg_is_conditional(&s->g->insns[i]))
			regset_remove(&want, &x.writes);
		if (!memcmp(&want, &none, sizeof(want)))
			return;
	}
	if (b->is_entry || !b->predecessors_n)
		found(s, CFG_NONE);
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
}

unsigned dataflow_defs(const struct cfg *g, struct arena *arena, uint32_t at,
		       const struct regset *what, uint32_t out[DATAFLOW_DEFS])
{
	struct search s = {.g = g, .out = out};

	s.seen = arena_array(arena, g->blocks_n, sizeof(*s.seen));
	s.stack = arena_array(arena, g->blocks_n, sizeof(*s.stack));
	s.is_waiting = arena_array(arena, g->blocks_n, sizeof(*s.is_waiting));
	if (!s.seen || !s.stack || !s.is_waiting || at >= g->insns_n)
		return 0;
	search_block(&s, g->block_of[at], at, *what);
	while (s.depth) {
		const uint32_t block = s.stack[--s.depth];

		s.is_waiting[block] = false;
		search_block(&s, block, g->blocks[block].end, s.seen[block]);
	}
	return s.n;
}
