/* kernel_mix.c - see kernel_mix.h. */
#include "kernel_mix.h"

#include <string.h>

#include "sass_work.h"
#include "tile_trips.h"

#define LANES 32.0

/* Operations that one unit executes, by the field of struct metric_mix that counts them. */
static const struct {
	const char *op;
	size_t field;
	double each;
} units[] = {
#define UNIT(op, field, each)                                \
	{                                                    \
		op, offsetof(struct metric_mix, field), each \
	}
	UNIT("FFMA", fma, 1),       UNIT("FMUL", fma, 1),     UNIT("FADD", fma, 1),
	UNIT("FFMA2", fma, 2),      UNIT("FMUL2", fma, 2),    UNIT("FADD2", fma, 2),
	UNIT("DFMA", fp64, 1),      UNIT("DADD", fp64, 1),    UNIT("DMUL", fp64, 1),
	UNIT("DSETP", fp64, 1),     UNIT("MUFU", special, 1), UNIT("SHFL", shuffles, 1),
	UNIT("REDUX", shuffles, 1),
#undef UNIT
};

static double *field_of(struct metric_mix *m, size_t offset)
{
	return (double *)((char *)m + offset);
}

static void add_unit(struct metric_mix *m, const struct sass_insn *insn, double weight)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (tile_is_op(insn, units[i].op))
			*field_of(m, units[i].field) += weight * units[i].each;
}

/* Between types, moves left out: F2F, and HADD2.F32, which makes a float of a half. */
static void add_conversion(struct metric_mix *m, const struct sass_insn *insn,
			   const struct sass_modifiers *words, double weight)
{
	if (tile_is_op(insn, "F2F")) {
		const bool is_64 = sass_has_modifier(words, SASS_M_F64);

		if (is_64 && words->own && words->at[0].word == SASS_M_F64)
			m->widened += weight;
		else if (is_64)
			m->narrowed += weight;
		else
			m->from_halves += weight;
	} else if (tile_is_op(insn, "HADD2")) {
		*(sass_has_modifier(words, SASS_M_F32) ? &m->from_halves : &m->halves) += weight;
	} else if ((tile_is_op(insn, "HFMA2") || tile_is_op(insn, "HMUL2")) &&
		   !tile_is_move(insn)) {
		m->halves += weight;
	}
}

static void add_access(struct metric_mix *m, const struct sass_access *a, double weight)
{
	const bool from_global = a->from == SASS_GLOBAL || a->from == SASS_GENERIC;
	const bool to_global = a->to == SASS_GLOBAL || a->to == SASS_GENERIC;
	const double bytes = weight * a->bytes * (a->is_uniform ? 1 : LANES);

	switch (a->act) {
	case SASS_LOAD:
		if (from_global) {
			m->loads += weight;
			m->load_bytes += bytes;
		}
		break;
	case SASS_STORE:
		if (to_global) {
			m->stores += weight;
			m->store_bytes += bytes;
		}
		break;
	case SASS_COPY:
		m->copies += from_global ? weight : 0;
		m->load_bytes += from_global ? bytes : 0;
		break;
	case SASS_ATOMIC:
	case SASS_REDUCTION: m->atomics += from_global ? weight : 0; break;
	default: return;
	}
	if (a->from == SASS_SHARED || a->to == SASS_SHARED)
		m->shared += weight;
	if (a->from == SASS_LOCAL || a->to == SASS_LOCAL) {
		m->local += weight;
		m->local_bytes += bytes;
		m->local_store_bytes += a->to == SASS_LOCAL ? bytes : 0;
	}
}

static void add_division(struct metric_mix *m, const struct idiom_divide *d, double weight)
{
	m->divisions += d->is_quotient ? weight : 0;
	m->dividing += weight * d->parts;
	m->divide_seeds += d->is_seed ? weight : 0;
	m->divide_calls += d->called ? weight : 0;
	m->divide_called += weight * d->called;
}

static void add(struct metric_mix *m, const struct cfg *g, uint32_t at,
		const struct idiom_divide *d, double weight)
{
	const struct sass_insn *insn = &g->insns[at];
	const struct sass_modifiers *words = &g->modifiers[at];
	struct sass_access access;
	struct sass_mma product;

	m->issued += weight;
	if (!insn->is_decoded)
		return;
	add_division(m, d, weight);
	add_unit(m, insn, weight);
	add_conversion(m, insn, words, weight);
	if (sass_access(insn, words, &access))
		add_access(m, &access, weight);
	if (sass_mma(insn, words, &product))
		m->products += weight;
	if (tile_is_op(insn, "BAR"))
		m->barriers += weight;
}

/* The compiler's alignment behind the last jump is never executed, and code for rare values nearly never. */
static bool is_left_out(const struct cfg *g, uint32_t at)
{
	const struct cfg_block *b = &g->blocks[g->block_of[at]];

	return !b->is_reachable || b->is_rare || tile_is_op(&g->insns[at], "NOP");
}

/* How often a loop runs whenever it is entered; those of lanes, which are no tiles, once. */
static double trips_of(const struct tiles *tiles, uint32_t loop, bool *is_known)
{
	for (uint32_t i = 0; i < tiles->n; i++) {
		if (tiles->at[i].loop != loop)
			continue;
		if (tiles->at[i].trips)
			return (double)tiles->at[i].trips;
		*is_known = false;
		return METRIC_ASSUMED_TRIPS;
	}
	return 1;
}

static double weight_of(const struct cfg *g, const struct tiles *tiles, uint32_t loop,
			bool *is_known)
{
	double weight = 1;

	for (; loop != CFG_NONE; loop = g->loops[loop].parent)
		weight *= trips_of(tiles, loop, is_known);
	return weight;
}

/* Of the loops with none within, the one in which most is issued; CFG_NONE = there is none. */
static uint32_t hottest(const struct cfg *g, const struct tiles *tiles, uint32_t *tile)
{
	uint32_t best = CFG_NONE;
	double most = 0;
	bool ignored = true;

	for (uint32_t i = 0; i < tiles->n; i++) {
		uint32_t loop = tiles->at[i].loop;
		double issued = weight_of(g, tiles, loop, &ignored) * g->loops[loop].insns_n;

		if (tiles->at[i].is_innermost && !tiles->at[i].is_rare && issued > most) {
			most = issued;
			best = loop;
			*tile = i;
		}
	}
	return best;
}

void kernel_mix_of_turn(struct metric_mix *m, const struct cfg *g, const struct tiles *tiles,
			const struct idiom_divide *divides, uint32_t loop)
{
	bool ignored = true;

	for (uint32_t b = 0; b < g->blocks_n; b++) {
		uint32_t within = g->blocks[b].loop;
		double weight = 1;

		if (!cfg_in_loop(g, b, loop))
			continue;
		for (; within != loop && within != CFG_NONE; within = g->loops[within].parent)
			weight *= trips_of(tiles, within, &ignored);
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end; i++)
			if (!is_left_out(g, i))
				add(m, g, i, &divides[i], weight);
	}
}

void kernel_mix_read(struct metric_sass *s, const struct cfg *g, const struct tiles *tiles,
		     const struct idiom_divide *divides)
{
	uint32_t tile = 0, hot = hottest(g, tiles, &tile), last = CFG_NONE;
	double weight = 1;

	s->trips_known = true;
	s->hot_loop = hot == CFG_NONE ? -1 : (int64_t)tile;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		uint32_t block = g->block_of[i];

		if (is_left_out(g, i))
			continue;
		if (block != last)
			weight = weight_of(g, tiles, g->blocks[block].loop, &s->trips_known);
		last = block;
		add(&s->whole, g, i, &divides[i], weight);
	}
	if (hot != CFG_NONE)
		kernel_mix_of_turn(&s->hot, g, tiles, divides, hot);
}
