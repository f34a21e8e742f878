/* tile.c - see tile.h. One pass over the instructions of each loop, then the ratios. */
#include "tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "sass_work.h"

#define WARP             32u
#define OPERATIONS_UNIT  4096.0 /* of an HMMA.16816 */
#define BYTES_UNIT       512.0  /* of 16 by each lane */
#define HIGH             20.0
#define LOW              5.0
#define WARPS_OF_A_GROUP 4u

/* What the instructions of a loop add up to. */
struct sum {
	struct metric_loop *loop;
	uint32_t products, multiply_adds, undecoded;
	double operations; /* of the products, per warp; NaN = not known */
	double bytes;      /* per warp; NaN = not known */
	bool has_generic;  /* loads of a memory that is not known */
	const char *product_op, *multiply_add_op;
};

static bool is_multiply_add(const char *op)
{
	static const char *const ops[] = {
#define MULTIPLY_ADD(op) #op,
#include "tables/compute.def"
#undef MULTIPLY_ADD
	};
	const size_t n = strcspn(op, ".");

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strlen(ops[i]) == n && !strncmp(ops[i], op, n))
			return true;
	return false;
}

/* HFMA2 R4, -RZ, RZ, 0, 1.5: compilers move constants so. */
static bool is_move(const struct sass_insn *insn)
{
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if ((o->index == 1 || o->index == 2) && o->kind == SASS_REG && o->reg == SASS_RZ)
			return true;
	}
	return false;
}

static void add_product(struct sum *s, const char *op, const struct sass_mma *p)
{
	const double warps = p->who == SASS_WARPGROUP ? WARPS_OF_A_GROUP : 1;

	s->products++;
	s->product_op = op;
	s->operations += p->operations ? p->operations / warps : (double)NAN;
}

static void add_load(struct sum *s, const struct sass_access *a)
{
	if (a->act != SASS_LOAD && a->act != SASS_COPY)
		return;
	s->has_generic |= a->from == SASS_GENERIC;
	if (a->from != SASS_GLOBAL)
		return;
	s->loop->load_ops++;
	s->loop->async_copies += a->is_async;
	s->bytes += a->bytes ? (double)a->bytes * (a->is_uniform ? 1 : WARP) : (double)NAN;
}

static void add(struct sum *s, int sm, const struct sass_insn *insn)
{
	struct sass_modifiers m;
	struct sass_access a;
	struct sass_mma p;

	if (!insn->is_decoded) {
		s->undecoded++;
		return;
	}
	sass_modifiers(sm, insn, &m);
	if (sass_mma(insn, &m, &p)) {
		add_product(s, sass_op(insn), &p);
	} else if (is_multiply_add(sass_op(insn))) {
		if (is_move(insn))
			return;
		s->multiply_adds++;
		s->multiply_add_op = sass_op(insn);
	} else if (!strcmp(sass_op(insn), "BAR") && sass_has_modifier(&m, SASS_M_SYNC)) {
		s->loop->barriers++;
	} else if (sass_access(insn, &m, &a)) {
		add_load(s, &a);
	}
}

/* The loop that an instruction counts for: the innermost around it that is not the compiler's for lanes. */
static uint32_t loop_of(const struct cfg *g, uint32_t block)
{
	uint32_t l = g->blocks[block].loop;

	while (l != CFG_NONE && g->loops[l].is_for_lanes)
		l = g->loops[l].parent;
	return l;
}

static const char *why_unknown(const struct sum *s)
{
	if (s->undecoded)
		return "instructions of the loop are not decoded";
	if (s->has_generic)
		return "a load of the loop may be of global memory or another (LD)";
	if (!s->loop->load_ops)
		return "the loop loads nothing from global memory";
	if (isnan(s->bytes))
		return "how much a bulk or tensor copy of the loop moves is in a register";
	if (isnan(s->operations))
		return "the shape of a matrix product of the loop is in a register";
	return NULL;
}

static void judge(struct metric_loop *l)
{
	static const char *const classes[] = {"low", "medium", "high"};
	static const char *const copies[] = {"beneficial", "neutral", "detrimental"};
	const unsigned i = l->ratio > HIGH ? 2 : l->ratio >= LOW ? 1 : 0;

	l->class = classes[i];
	l->async_copy = l->async_copies ? "in use" : copies[i];
}

static void finish(struct sum *s)
{
	struct metric_loop *l = s->loop;
	const double computing = s->products ? s->operations / OPERATIONS_UNIT : s->multiply_adds;

	l->compute_ops = s->products ? s->products : s->multiply_adds;
	l->compute_op = s->products ? s->product_op : s->multiply_add_op;
	l->load_bytes_per_warp = isnan(s->bytes) ? -1 : (int64_t)s->bytes;
	l->ratio = l->ratio_raw = NAN;
	l->why = why_unknown(s);
	if (!s->undecoded && !s->has_generic && l->load_ops)
		l->ratio_raw = (double)l->compute_ops / l->load_ops;
	if (!l->why) {
		l->ratio = computing / (s->bytes / BYTES_UNIT);
		judge(l);
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct metric_loop *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static uint32_t depth_of(const struct cfg *g, uint32_t l)
{
	uint32_t depth = 0;

	for (; l != CFG_NONE; l = g->loops[l].parent)
		depth += !g->loops[l].is_for_lanes;
	return depth;
}

const struct metric_loop *tile_loops(const struct cfg *g, struct arena *arena, size_t *n)
{
	struct metric_loop *loops = arena_array(arena, g->loops_n, sizeof(*loops));
	struct sum *sums = calloc(g->loops_n ? g->loops_n : 1, sizeof(*sums));

	*n = 0;
	if (!loops || !sums) {
		free(sums);
		return NULL;
	}
	for (uint32_t l = 0; l < g->loops_n; l++) {
		const struct cfg_loop *c = &g->loops[l];

		if (c->is_for_lanes)
			continue;
		sums[l].loop = &loops[(*n)++];
		*sums[l].loop = (struct metric_loop){.start = (uint64_t)c->first * SASS_BYTES,
						     .end = ((uint64_t)c->last + 1) * SASS_BYTES,
						     .depth = depth_of(g, l),
						     .is_innermost = c->is_innermost};
	}
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const uint32_t l = loop_of(g, g->block_of[i]);

		if (l != CFG_NONE)
			add(&sums[l], g->sm, &g->insns[i]);
	}
	for (uint32_t l = 0; l < g->loops_n; l++)
		if (sums[l].loop)
			finish(&sums[l]);
	free(sums);
	qsort(loops, *n, sizeof(*loops), by_offset);
	return loops;
}
