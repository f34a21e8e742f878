/*
 * tile.c - see tile.h. One pass over the instructions gives what each loop executes itself; then loops,
 * inner ones first, are added to the loops around them as far as their trips are known.
 */
#include "tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "sass_modifier.h"
#include "sass_work.h"
#include "tile_trips.h"

#define LANES 32u
#define WARPS 4u /* of a group that issues a product together */

#define DEPTH_MOST      16u                 /* deeper loops weigh no more */
#define TRIPS_WORK_MOST (UINT64_C(1) << 26) /* loops x instructions: else no trips are looked for */

/* Operations that compute: those of compute.def, then matrix products. */
enum {
#define COMPUTE(op, flops) OP_##op,
#include "tables/compute.def"
#undef COMPUTE
	FMAS,
	BEFORE_PRODUCTS = FMAS - 1,
#define TYPE(...)
#define NARROW(...)
#define ACCESS(...)
#define MMA(op, ...) OP_##op,
#include "tables/sass_work.def"
#undef TYPE
#undef NARROW
#undef ACCESS
#undef MMA
	COMPUTE_OPS,
};

static const struct {
	const char *name;
	unsigned flops; /* of a thread; of products sass_mma() knows */
} compute_ops[COMPUTE_OPS] = {
#define COMPUTE(op, flops) {#op, flops},
#include "tables/compute.def"
#undef COMPUTE
#define TYPE(...)
#define NARROW(...)
#define ACCESS(...)
#define MMA(op, ...) {#op, 0},
#include "tables/sass_work.def"
#undef TYPE
#undef NARROW
#undef ACCESS
#undef MMA
};

/* What an iteration executes: numbers alone, so that a loop within is added, times its trips, in one place. */
enum number {
	OPS,
	GUARDED_OPS = OPS + COMPUTE_OPS,
	FLOPS = GUARDED_OPS + COMPUTE_OPS,
	SHAPELESS = FLOPS + COMPUTE_OPS, /* products of unknown FLOPs */
	LOADS,
	GUARDED_LOADS,
	BYTES,
	UNSIZED,
	COPIES,
	OTHER_LOADS,
	BARRIERS,
	MBARRIER_WAITS,
	CALLS,
	FAR_CALLS, /* out of the function */
	UNDECODED,
	NUMBERS,
};

struct work {
	uint64_t n[NUMBERS];
};

struct nest {
	struct work own, total; /* total: with the loops within */
	uint64_t trips;
	uint32_t latch;  /* nearest block that dominates all that jump back */
	uint32_t parent; /* the nearest loop around it that is not for lanes */
	bool holds_work; /* a loop within computes, loads, or may do so */
	bool holds_tile; /* a loop within computes and loads */
	bool is_open;    /* a loop within that does either runs nobody knows how often */
	uint32_t joined_to;
};

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* ------------------------------------------------------------------------------------- instructions */

bool tile_is_move(const struct sass_insn *insn)
{
	const struct sass_operand *o = insn->operands;

	return insn->operands_n >= 3 && o[1].kind == SASS_REG && o[1].reg == SASS_RZ &&
	       o[2].kind == SASS_REG && o[2].reg == SASS_RZ;
}

static void count_compute(struct work *w, const struct sass_insn *insn,
			  const struct sass_modifiers *m, bool is_guarded)
{
	struct sass_mma mma;
	uint64_t flops;
	unsigned op = 0;

	while (op < COMPUTE_OPS && !tile_is_op(insn, compute_ops[op].name))
		op++;
	if (op == COMPUTE_OPS || (op < FMAS && tile_is_move(insn)))
		return;
	flops = (uint64_t)compute_ops[op].flops * LANES;
	if (op >= FMAS) {
		flops = sass_mma(insn, m, &mma) ? mma.operations : 0;
		if (mma.who == SASS_WARPGROUP)
			flops /= WARPS;
		w->n[SHAPELESS] += flops == 0;
	}
	w->n[OPS + op]++;
	w->n[GUARDED_OPS + op] += is_guarded;
	w->n[FLOPS + op] += flops;
}

static void count_access(struct work *w, const struct sass_insn *insn,
			 const struct sass_modifiers *m, bool is_guarded)
{
	struct sass_access x;

	if (!sass_access(insn, m, &x))
		return;
	if (x.act == SASS_MBARRIER)
		w->n[MBARRIER_WAITS] += sass_has_modifier(m, SASS_M_PHASECHK);
	if (x.act != SASS_LOAD && x.act != SASS_COPY)
		return;
	if (x.from == SASS_GENERIC || x.from == SASS_TEXTURE || x.from == SASS_SURFACE)
		w->n[OTHER_LOADS]++;
	if (x.from != SASS_GLOBAL)
		return;
	w->n[LOADS]++;
	w->n[GUARDED_LOADS] += is_guarded;
	w->n[COPIES] += x.act == SASS_COPY && x.is_async;
	w->n[UNSIZED] += x.bytes == 0;
	w->n[BYTES] += (uint64_t)x.bytes * (x.is_uniform ? 1 : LANES);
}

/* Within the function a call may also be a jump: then it leads to no entry. */
static void count_call(struct work *w, const struct cfg *g, const struct sass_insn *insn)
{
	const int64_t to = cfg_target(insn);
	const bool is_far = to < 0 || to / SASS_BYTES >= g->insns_n;

	w->n[FAR_CALLS] += is_far;
	w->n[CALLS] += is_far || g->blocks[g->block_of[to / SASS_BYTES]].is_entry;
}

static void count_insn(struct work *w, const struct cfg *g, uint32_t i, bool is_guarded)
{
	const struct sass_insn *insn = &g->insns[i];
	const struct sass_modifiers *m = &g->modifiers[i];

	if (!insn->is_decoded) {
		w->n[UNDECODED]++;
		return;
	}
	if (insn->guard == SASS_PT && insn->guard_not)
		return;
	is_guarded |= insn->guard != SASS_PT;
	count_compute(w, insn, m, is_guarded);
	count_access(w, insn, m, is_guarded);
	if (tile_is_op(insn, "BAR"))
		w->n[BARRIERS] += sass_has_modifier(m, SASS_M_SYNC) ||
				  sass_has_modifier(m, SASS_M_RED);
	if (cfg_flow(insn) == CFG_CALL)
		count_call(w, g, insn);
}

/* ------------------------------------------------------------------------------------- loops */

/* The nearest block that dominates both. */
static uint32_t common(const struct cfg *g, uint32_t a, uint32_t b)
{
	while (a != CFG_NONE && !cfg_dominates(g, a, b))
		a = g->blocks[a].idom;
	return a;
}

static uint32_t beyond_lanes(const struct cfg *g, uint32_t l)
{
	while (l != CFG_NONE && g->loops[l].is_for_lanes)
		l = g->loops[l].parent;
	return l;
}

static bool find_latches(const struct cfg *g, struct arena *arena, struct nest *nests)
{
	uint32_t *headed = arena_array(arena, g->blocks_n, sizeof(*headed));

	if (!headed)
		return false;
	memset(headed, 0xff, g->blocks_n * sizeof(*headed));
	for (uint32_t l = 0; l < g->loops_n; l++) {
		headed[g->loops[l].header] = l;
		nests[l].latch = nests[l].joined_to = CFG_NONE;
		nests[l].parent = beyond_lanes(g, g->loops[l].parent);
	}
	for (uint32_t b = 0; b < g->blocks_n; b++)
		for (uint32_t k = 0; k < g->blocks[b].successors_n; k++) {
			const uint32_t to = g->edges[g->blocks[b].successors + k], l = headed[to];

			if (l != CFG_NONE && g->blocks[b].is_reachable && cfg_dominates(g, to, b))
				nests[l].latch = nests[l].latch == CFG_NONE
							 ? b
							 : common(g, nests[l].latch, b);
		}
	return true;
}

/* Not in every iteration. */
static bool may_skip(const struct cfg *g, const struct nest *n, uint32_t block)
{
	return n->latch == CFG_NONE || !cfg_dominates(g, block, n->latch);
}

static void count_loops(const struct cfg *g, struct nest *nests)
{
	for (uint32_t b = 0; b < g->blocks_n; b++) {
		const uint32_t l = beyond_lanes(g, g->blocks[b].loop);
		bool skip;

		if (l == CFG_NONE)
			continue;
		skip = may_skip(g, &nests[l], b);
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end; i++)
			count_insn(&nests[l].own, g, i, skip);
	}
}

static uint64_t sum(const struct work *w, unsigned from, unsigned end)
{
	uint64_t n = 0;

	while (from < end)
		n = add(n, w->n[from++]);
	return n;
}

static bool computes(const struct work *w)
{
	return sum(w, OPS, OPS + COMPUTE_OPS) > 0;
}

static bool loads(const struct work *w)
{
	return w->n[LOADS] || w->n[OTHER_LOADS];
}

/* A loop within, so many times; where it may be skipped, all it holds is guarded. */
static void add_work(struct work *to, struct work from, uint64_t trips, bool is_guarded)
{
	if (is_guarded) {
		for (unsigned k = 0; k < COMPUTE_OPS; k++)
			from.n[GUARDED_OPS + k] = from.n[OPS + k];
		from.n[GUARDED_LOADS] = from.n[LOADS];
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		to->n[i] = add(to->n[i], times(from.n[i], trips));
}

/* Loop l, whose loops within are done, as a part of the one around it. */
static void join_parent(const struct cfg *g, struct nest *nests, uint32_t l)
{
	const struct nest *n = &nests[l];
	struct nest *p = &nests[n->parent];
	const bool works = n->holds_work || computes(&n->own) || loads(&n->own) ||
			   n->own.n[UNDECODED] || n->own.n[FAR_CALLS];

	p->holds_work |= works;
	p->holds_tile |= n->holds_tile || (computes(&n->total) && loads(&n->total));
	p->is_open |= works && (n->is_open || !n->trips);
	if (n->trips)
		add_work(&p->total, n->total, n->trips, may_skip(g, p, g->loops[l].header));
}

/* It loads, a loop within computes, or the other way round; no loop within does both. */
static bool is_joined(const struct nest *n)
{
	return n->holds_work && !n->holds_tile && !n->is_open && computes(&n->total) &&
	       loads(&n->total);
}

static void join_loops(const struct cfg *g, struct nest *nests)
{
	const bool are_few = (uint64_t)g->loops_n * g->insns_n <= TRIPS_WORK_MOST;

	for (uint32_t l = 0; l < g->loops_n; l++) {
		struct nest *n = &nests[l];

		if (g->loops[l].is_for_lanes)
			continue;
		add_work(&n->total, n->own, 1, false);
		if (are_few)
			n->trips = tile_trips(g, l, n->latch);
		if (n->parent != CFG_NONE)
			join_parent(g, nests, l);
	}
	for (uint32_t l = g->loops_n; l-- > 0;) {
		const uint32_t p = nests[l].parent;

		if (p != CFG_NONE && !g->loops[l].is_for_lanes)
			nests[l].joined_to = nests[p].joined_to != CFG_NONE ? nests[p].joined_to
					     : is_joined(&nests[p])         ? p
									    : CFG_NONE;
	}
}

/* ------------------------------------------------------------------------------------- ratios */

/* Which kind of operation the FLOPs are in, and the operation with most of them. */
static void choose_compute(struct tile *t, const struct work *w)
{
	const uint64_t fmas = sum(w, FLOPS, FLOPS + FMAS);
	const uint64_t products = sum(w, FLOPS + FMAS, FLOPS + COMPUTE_OPS);
	const bool is_matrix = w->n[SHAPELESS] || products > fmas;
	const unsigned from = is_matrix ? FMAS : 0, end = is_matrix ? COMPUTE_OPS : FMAS;
	unsigned best = COMPUTE_OPS;

	for (unsigned k = from; k < end; k++)
		if (w->n[OPS + k] && (best == COMPUTE_OPS || w->n[FLOPS + k] > w->n[FLOPS + best]))
			best = k;
	t->is_matrix = is_matrix;
	t->compute_ops = sum(w, OPS + from, OPS + end);
	t->other_ops = sum(w, OPS, OPS + COMPUTE_OPS) - t->compute_ops;
	t->guarded_ops = sum(w, GUARDED_OPS + from, GUARDED_OPS + end);
	t->compute_op = best < COMPUTE_OPS ? compute_ops[best].name : NULL;
	t->flops = w->n[SHAPELESS] ? 0 : is_matrix ? products : fmas;
}

static enum tile_reason reason_of(const struct nest *n, const struct work *w, bool joined)
{
	if (w->n[UNDECODED])
		return TILE_UNDECODED;
	if (w->n[FAR_CALLS])
		return TILE_CALL;
	if (w->n[OTHER_LOADS])
		return TILE_OTHER_LOADS;
	if (!w->n[LOADS])
		return TILE_NO_LOADS;
	if (n->holds_work && !joined)
		return n->holds_tile || !n->is_open ? TILE_OUTER : TILE_TRIPS;
	if (w->n[UNSIZED])
		return TILE_SIZE;
	return w->n[SHAPELESS] ? TILE_SHAPE : TILE_KNOWN;
}

static void set_class(struct tile *t)
{
	static const enum tile_async asyncs[] = {TILE_ASYNC_UNKNOWN, TILE_BENEFICIAL, TILE_NEUTRAL,
						 TILE_DETRIMENTAL};

	if (!isnan(t->ratio))
		t->class = t->ratio > TILE_HIGH_ABOVE  ? TILE_HIGH
			   : t->ratio < TILE_LOW_BELOW ? TILE_LOW
						       : TILE_MEDIUM;
	t->async = t->async_copies ? TILE_IN_USE : asyncs[t->class];
}

static void set_ratio(struct tile *t)
{
	const double units = t->is_matrix ? (double)t->flops / TILE_UNIT_FLOPS
					  : (double)t->compute_ops;

	t->ratio = t->ratio_raw = NAN;
	if (t->reason == TILE_KNOWN || t->reason == TILE_SIZE || t->reason == TILE_SHAPE)
		t->ratio_raw = (double)t->compute_ops / (double)t->load_ops;
	if (t->reason == TILE_KNOWN)
		t->ratio = units / ((double)t->load_bytes / TILE_UNIT_BYTES);
	set_class(t);
}

static void fill_tile(struct tile *t, const struct cfg *g, uint32_t l, const struct nest *n)
{
	const struct cfg_loop *loop = &g->loops[l];
	const bool joined = is_joined(n);
	const struct work *w = joined ? &n->total : &n->own;

	*t = (struct tile){
		.loop = l,
		.start = loop->first * SASS_BYTES,
		.end = loop->last * SASS_BYTES,
		.depth = loop->depth,
		.is_rare = g->blocks[loop->header].is_rare,
		.is_innermost = loop->is_innermost,
		.is_joined = joined,
		.is_whole = joined || !n->holds_work,
		.trips = n->trips,
		.load_ops = w->n[LOADS],
		.guarded_loads = w->n[GUARDED_LOADS],
		.load_bytes = w->n[BYTES],
		.unsized_loads = w->n[UNSIZED],
		.async_copies = w->n[COPIES],
		.other_loads = w->n[OTHER_LOADS],
		.barriers = w->n[BARRIERS],
		.mbarrier_waits = w->n[MBARRIER_WAITS],
		.calls = w->n[CALLS],
		.undecoded = w->n[UNDECODED],
		.reason = reason_of(n, w, joined),
	};
	choose_compute(t, w);
	set_ratio(t);
}

static int compare(const void *a, const void *b)
{
	const struct tile *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->loop < y->loop ? -1 : x->loop > y->loop;
}

/* Loops in nests[].joined_to become tiles; `of` has room for one number a loop. */
static void link_tiles(struct tiles *t, const struct nest *nests, uint32_t *of)
{
	for (uint32_t i = 0; i < t->n; i++)
		of[t->at[i].loop] = i;
	for (uint32_t i = 0; i < t->n; i++) {
		const uint32_t l = nests[t->at[i].loop].joined_to;

		t->at[i].joined_to = l == CFG_NONE ? TILE_NONE : of[l];
	}
}

static bool read_loops(const struct cfg *g, struct arena *arena, struct arena *work,
		       struct tiles *out)
{
	struct nest *nests = arena_array(work, g->loops_n, sizeof(*nests));
	uint32_t *of = arena_array(work, g->loops_n, sizeof(*of));

	out->at = arena_array(arena, g->loops_n, sizeof(*out->at));
	if (!nests || !of || !out->at || !find_latches(g, work, nests))
		return false;
	count_loops(g, nests);
	join_loops(g, nests);
	for (uint32_t l = 0; l < g->loops_n; l++)
		if (!g->loops[l].is_for_lanes)
			fill_tile(&out->at[out->n++], g, l, &nests[l]);
	qsort(out->at, out->n, sizeof(*out->at), compare);
	link_tiles(out, nests, of);
	return true;
}

int tile_read(const struct cfg *g, struct arena *arena, struct tiles *out, struct err *e)
{
	struct tiles t = {NULL, 0};
	struct arena *work = arena_new();
	const bool is_done = work && read_loops(g, arena, work, &t);

	arena_free(work);
	if (!is_done)
		return err_set(e, ERR_MEMORY, -1, "no memory for the loops of a function");
	*out = t;
	return 0;
}

static double weight(const struct tile *t)
{
	double w = (double)t->compute_ops;

	for (uint32_t d = 0; d < t->depth && d < DEPTH_MOST; d++)
		w *= 8;
	return w;
}

const struct tile *tile_loop(const struct tiles *t)
{
	const struct tile *best = NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct tile *x = &t->at[i];

		if (!x->is_rare && x->is_whole && x->joined_to == TILE_NONE && x->compute_ops &&
		    (!best || weight(x) > weight(best)))
			best = x;
	}
	return best;
}

/* ------------------------------------------------------------------------------------- names */

const char *tile_class_name(enum tile_class class)
{
	static const char *const names[] = {"", "low", "medium", "high"};

	return names[class];
}

const char *tile_async_name(enum tile_async async)
{
	static const char *const names[] = {"", "beneficial", "neutral", "detrimental", "in use"};

	return names[async];
}

const char *tile_reason_text(enum tile_reason reason)
{
	static const char *const texts[TILE_REASONS] = {
		[TILE_KNOWN] = "",
		[TILE_UNDECODED] = "an instruction is not decoded",
		[TILE_CALL] = "it calls code outside of the function",
		[TILE_OTHER_LOADS] =
			"bytes of generic, texture or surface loads are not in the code",
		[TILE_NO_LOADS] = "no loads from global memory",
		[TILE_OUTER] = "the loops within it are tiles of their own",
		[TILE_TRIPS] = "a loop within runs a number of times that the code does not prove",
		[TILE_SIZE] = "the size of a bulk or tensor copy is not in the instruction",
		[TILE_SHAPE] = "the shape of a matrix product is in a register",
	};

	return texts[reason];
}
