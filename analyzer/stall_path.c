/*
 * stall_path.c - see stall_path.h. The way is walked with fewer and fewer turns of the loops until it fits;
 * what a turn that was walked stands for is the weight of its steps.
 */
#include "stall_path.h"

#include <math.h>
#include <string.h>

#include "arch.h"
#include "arena.h"
#include "dataflow.h"
#include "sass_work.h"
#include "tile_trips.h"

#define LANES     32u
#define GROUP     4u   /* warps of a group */
#define LINE      128u /* bytes that the L1, or shared memory, hands over at once */
#define CALLS     16u  /* deep */
#define RECENT    48u  /* loads back that count as just before */
#define SECTOR    32
#define SHARED_OP 4u /* cycles of a shuffle, or of anything of SHARED without bytes */
#define ATOMS_OP  8u
#define SHORTEST  4u   /* of an access: an SM takes one a cycle */
#define HEAVIEST  1e15 /* nested loops of that many turns do not end */
#define ONCE \
	1u /* turns of a loop that the compiler made for its lanes, or that asks again and again */
#define SPIN      24u /* instructions of a loop that asks a barrier again, at most */
#define LADDER    2u  /* ways to one place that are passed by: then it is taken */
#define PLACES    16u /* that are remembered so */
/*
 * Products of a single warp reach so much of the rate of warp groups where there are such: 62.9% on average on
 * an H800, published by others.
 */
#define OF_GROUPS 0.63

struct unit {
	const char *op;
	enum stall_pipe pipe;
};

#define PIPE(...)
#define UNIT(op, pipe) {#op, STALL_PIPE_##pipe},
static const struct unit units[] = {
#include "tables/pipe.def"
};
#undef PIPE
#undef UNIT

/* Threads per SM and clock of a pipe; 0 = its work decides. */
static int rate_of(const struct arch *a, enum stall_pipe pipe)
{
	switch (pipe) {
	case STALL_PIPE_FMA: return a->fp32;
	case STALL_PIPE_IMAD: return a->int_mad;
	case STALL_PIPE_ALU: return a->int_add;
	case STALL_PIPE_HALF: return a->fp16x2 / 2;
	case STALL_PIPE_FP64: return a->fp64;
	case STALL_PIPE_XU: return a->special;
	default: return 0;
	}
}

struct touched {
	uint32_t reg, version;
	int64_t sector;
};

struct walk {
	const struct cfg *g;
	const struct arch *arch;
	const uint64_t *trips; /* of each loop, */
	const bool *is_known;  /* or STALL_TURNS; */
	const bool *is_once;   /* it turns once, whatever is written there */
	struct {
		uint32_t block, n;
	} passed[PLACES];           /* the last places passed by */
	uint32_t *turns;            /* that this walk has made of each since it was entered */
	uint32_t most;              /* turns that are walked */
	struct stall_step *by_insn; /* those that were met: is_read */
	bool *is_read;
	struct stall_step *steps;
	uint32_t n;
	uint32_t back[CALLS], depth; /* instructions to return to */
	uint32_t version[SASS_RZ];   /* step that wrote a register */
	struct touched recent[RECENT];
	uint32_t recent_n;
	uint32_t *to_product; /* of each block: blocks to the nearest with a matrix product, */
	uint32_t *to_loop;    /* and to the nearest in a loop */
	uint32_t sums;        /* registers of products of warp groups */
	bool has_product;     /* there was one on the way, */
	bool has_loop;        /* or a loop */
	struct stall_path path;
};

/* ------------------------------------------------------------------------------------------- a step */

static enum stall_pipe pipe_of(const struct sass_insn *insn)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (tile_is_op(insn, units[i].op))
			return units[i].pipe;
	return STALL_PIPE_NONE;
}

enum stall_pipe stall_pipe_of(const struct arch *a, const struct sass_insn *insn, double *cycles)
{
	const enum stall_pipe pipe = pipe_of(insn);
	const int rate = rate_of(a, pipe);

	*cycles = rate > 0 ? LANES * (double)a->partitions / rate : 0;
	return rate > 0 ? pipe : STALL_PIPE_NONE;
}

const char *stall_pipe_name(enum stall_pipe pipe)
{
#define PIPE(name, rate) #name,
#define UNIT(...)
	static const char *const names[] = {
#include "tables/pipe.def"
	};
#undef PIPE
#undef UNIT

	return names[pipe];
}

static uint16_t at_most(double cycles)
{
	return cycles < 1 ? 1 : cycles > 60000 ? 60000 : (uint16_t)cycles;
}

/* Multiply-adds of a scheduler's tensor core in a cycle, by the type of A. */
static double tensor_rate(const struct arch *a, const struct sass_mma *p)
{
	const unsigned bits = sass_type_bits((enum sass_type)p->a);
	int per_sm = a->t_fp16;

	if (p->a == SASS_TYPE_F64)
		per_sm = a->t_fp64;
	else if (bits == 32)
		per_sm = a->t_tf32;
	else if (bits == 8)
		per_sm = p->a == SASS_TYPE_S8 || p->a == SASS_TYPE_U8 ? a->t_int8 : a->t_fp8;
	else if (bits == 4)
		per_sm = a->t_int4 > 0 ? a->t_int4 : a->t_fp4;
	return per_sm > 0 ? (double)per_sm / a->partitions : 0;
}

static uint16_t tensor_cycles(const struct walk *w, const struct sass_insn *insn,
			      const struct sass_modifiers *m)
{
	struct sass_mma p;
	double rate;

	if (!sass_mma(insn, m, &p) || !p.operations || !(rate = tensor_rate(w->arch, &p)))
		return 1;
	if (p.who == SASS_WARP && w->arch->sm == 90)
		rate *= OF_GROUPS;
	return at_most(p.operations / 2.0 / rate / (p.who == SASS_WARPGROUP ? GROUP : 1));
}

/*
 * Rows and columns of the operands that a product needs new: what a warp group sums up in its registers is a tile
 * that is made of several products, and as nearly square as can be.
 */
static double rows(const struct walk *w, const struct sass_mma *p)
{
	const double tile = (double)w->sums * LANES * GROUP, part = (double)p->m * p->n;

	return tile > part ? 2 * sqrt(tile) * part / tile : p->m + p->n;
}

/* Registers in which a function's products of warp groups sum up. */
static uint32_t count_sums(const struct cfg *g)
{
	struct regset all = {.p = 0};
	struct effects x;

	for (uint32_t i = 0; i < g->insns_n; i++) {
		if (!strstr(sass_op(&g->insns[i]), "GMMA"))
			continue;
		if (!tile_is_op(&g->insns[i], "HGMMA") && !tile_is_op(&g->insns[i], "IGMMA") &&
		    !tile_is_op(&g->insns[i], "QGMMA"))
			continue;
		dataflow_effects(&g->insns[i], &x);
		regset_add(&all, &x.writes);
	}
	return regset_registers(&all);
}

/* Products of a warp group, and who waits for them. */
static void read_group(const struct walk *w, const struct sass_insn *insn,
		       const struct sass_modifiers *m, struct stall_step *s)
{
	struct sass_mma p;

	if (sass_mma(insn, m, &p) && p.who == SASS_WARPGROUP) {
		const double bits = sass_type_bits((enum sass_type)p.a);

		s->group = STALL_STARTS;
		s->streamed = at_most(fmin(p.m + p.n, rows(w, &p)) * p.k * bits / 8 / GROUP);
	} else if (tile_is_op(insn, "WARPGROUP")) {
		const bool is_all = sass_has_modifier(m, SASS_M_DEPBAR) &&
				    !sass_bits(insn->word, 72, 3);

		s->hold = 0;
		s->group = sass_has_modifier(m, SASS_M_WAIT) ? STALL_NO_GROUP
			   : is_all                          ? STALL_WAITS_ALL
							     : STALL_WAITS_EARLIER;
	}
	s->is_mbarrier = tile_is_op(insn, "SYNCS") && sass_has_modifier(m, SASS_M_PHASECHK);
}

static uint16_t pipe_cycles(const struct walk *w, const struct sass_insn *insn,
			    const struct sass_modifiers *m, const struct stall_step *s)
{
	const int rate = rate_of(w->arch, (enum stall_pipe)s->pipe);
	const double partitions = w->arch->partitions;
	const double moved = s->bytes * LANES * partitions / LINE;

	if (s->pipe == STALL_PIPE_NONE)
		return 0;
	if (s->pipe == STALL_PIPE_TENSOR)
		return tensor_cycles(w, insn, m);
	if (tile_is_op(insn, "ATOMS"))
		return ATOMS_OP;
	if (s->pipe == STALL_PIPE_SHARED)
		return at_most(moved > SHARED_OP ? moved : SHARED_OP);
	if (s->pipe == STALL_PIPE_GLOBAL)
		return at_most(moved > SHORTEST ? moved : SHORTEST);
	return rate > 0 ? at_most(LANES * partitions / rate) : 1;
}

static void add_recent(struct walk *w, struct stall_step *s, const struct touched *t)
{
	for (uint32_t i = 0; i < w->recent_n && i < RECENT; i++)
		if (!memcmp(&w->recent[i], t, sizeof(*t)))
			s->is_again = true;
	if (!s->is_again)
		w->recent[w->recent_n++ % RECENT] = *t;
}

/* The same register, not written since, and an offset in the same 32 bytes: what was there is still in the L1. */
static void look_back(struct walk *w, const struct sass_insn *insn, struct stall_step *s)
{
	struct touched t;

	memset(&t, 0, sizeof(t));
	t.reg = SASS_RZ;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (!(o->flags & SASS_IN_ADDRESS))
			continue;
		if (o->kind == SASS_REG && o->reg < SASS_RZ) {
			t.reg = o->reg;
			t.version = w->version[o->reg];
		} else if (o->kind == SASS_IMMEDIATE) {
			t.sector = o->value / SECTOR;
		}
	}
	if (t.reg != SASS_RZ)
		add_recent(w, s, &t);
}

static void note_writes(struct walk *w, const struct sass_insn *insn)
{
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->kind != SASS_REG || !(o->flags & SASS_DEST) || (o->flags & SASS_IN_ADDRESS))
			continue;
		for (unsigned r = 0; r < o->regs && o->reg + r < SASS_RZ; r++)
			w->version[o->reg + r] = w->n + 1;
	}
}

static void read_waits(const struct sass_insn *insn, struct stall_step *s)
{
	const struct sass_control c = insn->control;

	s->stall = c.stall;
	s->waits = c.wait;
	s->write_barrier = c.write_barrier < 6 ? c.write_barrier : STALL_NO_BAR;
	s->read_barrier = c.read_barrier < 6 ? c.read_barrier : STALL_NO_BAR;
	s->pending_of = STALL_NO_BAR;
	if (!tile_is_op(insn, "DEPBAR"))
		return;
	s->waits |= (uint8_t)sass_bits(insn->word, 32, 6);
	if (sass_bits(insn->word, 47, 1)) {
		s->pending_of = (uint8_t)sass_bits(insn->word, 44, 3);
		s->pending = (uint8_t)sass_bits(insn->word, 38, 6);
	}
}

static double weight_of(const struct walk *w, uint32_t block)
{
	double weight = 1;
	uint32_t l = w->g->blocks[block].loop;

	for (; l != CFG_NONE; l = w->g->loops[l].parent)
		if (w->trips[l] > w->most && !w->is_once[l])
			weight *= (double)w->trips[l] / w->most;
	return weight < HEAVIEST ? weight : HEAVIEST;
}

static bool is_guessed(const struct walk *w, uint32_t block)
{
	uint32_t l = w->g->blocks[block].loop;

	while (l != CFG_NONE && (w->is_known[l] || w->is_once[l]))
		l = w->g->loops[l].parent;
	return l != CFG_NONE;
}

/* Between two questions to a barrier that says yes at once, as the way has it, nobody sleeps. */
static bool is_asking_again(const struct walk *w, uint32_t at)
{
	const uint32_t l = w->g->blocks[w->g->block_of[at]].loop;

	return l != CFG_NONE && w->is_once[l] && tile_is_op(&w->g->insns[at], "NANOSLEEP");
}

/* What is the same whenever an instruction is met. */
static void read_step(struct walk *w, uint32_t at, struct stall_step *s)
{
	const struct sass_insn *insn = &w->g->insns[at];
	const struct stall_row wait = stall_wait(insn), hold = stall_hold(w->g->sm, insn);
	const struct sass_modifiers *m = &w->g->modifiers[at];
	struct sass_access a;

	s->insn = at;
	read_waits(insn, s);
	s->pipe = (uint8_t)pipe_of(insn);
	s->reason = (uint8_t)wait.reason;
	s->result = (uint16_t)wait.result;
	s->read = (uint16_t)wait.read;
	s->hold = (uint16_t)hold.result;
	s->hold_reason = (uint8_t)hold.reason;
	if (is_asking_again(w, at))
		s->hold = 0;
	s->is_block_wide = hold.result && tile_is_op(insn, "BAR");
	s->is_exit = cfg_flow(insn) == CFG_EXIT && !cfg_is_conditional(insn);
	if (sass_access(insn, m, &a)) {
		s->bytes = a.bytes > 255 ? 255 : (uint8_t)a.bytes;
		s->access = a.act == SASS_STORE || a.act == SASS_REDUCTION ? STALL_STORES
									   : STALL_LOADS;
		s->is_local = a.from == SASS_LOCAL || a.to == SASS_LOCAL;
		s->is_atomic = a.act == SASS_ATOMIC;
	}
	s->cycles = pipe_cycles(w, insn, m, s);
	read_group(w, insn, m, s);
}

static void add_step(struct walk *w, uint32_t at, double weight, bool guessed)
{
	const struct sass_insn *insn = &w->g->insns[at];
	struct stall_step *s = &w->steps[w->n];

	if (!w->is_read[at])
		read_step(w, at, &w->by_insn[at]);
	w->is_read[at] = true;
	*s = w->by_insn[at];
	s->weight = (float)weight;
	s->is_guessed = guessed;
	if (s->pipe == STALL_PIPE_GLOBAL && s->access == STALL_LOADS && !s->is_atomic)
		look_back(w, insn, s);
	if (s->pipe == STALL_PIPE_GLOBAL && !s->is_local && !s->is_again)
		w->path.bytes[s->is_guessed] += (double)s->bytes * LANES * (double)s->weight;
	note_writes(w, insn);
	w->has_product |= s->pipe == STALL_PIPE_TENSOR;
	w->n++;
}

/* ------------------------------------------------------------------------------------------ the way */

/* Code that is for rare cases: for rare values, it calls a function, or has nowhere to go on. */
static bool is_rare(const struct cfg *g, uint32_t block)
{
	const struct cfg_block *b = &g->blocks[block];
	const enum cfg_flow flow = cfg_flow(&g->insns[b->end - 1]);

	return b->is_rare || flow == CFG_CALL ||
	       (!b->successors_n && flow != CFG_EXIT && flow != CFG_RETURN);
}

/* Of the innermost loop around a block that one of its ways leaves, or CFG_NONE. */
static uint32_t loop_left(const struct walk *w, uint32_t block, uint32_t a, uint32_t b)
{
	uint32_t l = w->g->blocks[block].loop;

	while (l != CFG_NONE && cfg_in_loop(w->g, a, l) && cfg_in_loop(w->g, b, l))
		l = w->g->loops[l].parent;
	return l;
}

static uint32_t turns_of(const struct walk *w, uint32_t loop)
{
	const uint64_t trips = w->is_once[loop] ? ONCE : w->trips[loop];

	return trips < w->most ? (uint32_t)trips : w->most;
}

/*
 * Whether a place was passed by often enough: copies of a loop's body, or of a step of an index, that each may
 * end it go to one place, and few of them run.
 */
static bool is_ladder(struct walk *w, uint32_t block)
{
	const uint32_t slot = block % PLACES;

	if (w->passed[slot].block != block)
		w->passed[slot].n = 0;
	w->passed[slot].block = block;
	if (w->passed[slot].n++ < LADDER)
		return false;
	w->passed[slot].n = 0;
	return true;
}

/* Of a conditional branch: to a, or on to b. */
static uint32_t choose(struct walk *w, uint32_t block, uint32_t a, uint32_t b)
{
	const uint32_t loop = loop_left(w, block, a, b);
	bool is_a_in, go_on;

	if (w->g->blocks[a].is_rare != w->g->blocks[b].is_rare)
		return w->g->blocks[a].is_rare ? b : a;
	if (!w->has_product && w->to_product[a] != w->to_product[b])
		return w->to_product[a] < w->to_product[b] ? a : b;
	if (loop == CFG_NONE || (!cfg_in_loop(w->g, a, loop) && !cfg_in_loop(w->g, b, loop))) {
		w->path.has_guess = true;
		if (is_rare(w->g, b) && !is_rare(w->g, a))
			return a;
		if (!w->has_loop && (w->to_loop[a] == CFG_NONE) != (w->to_loop[b] == CFG_NONE))
			return w->to_loop[a] == CFG_NONE ? b : a;
		return !is_rare(w->g, a) && is_ladder(w, a) ? a : b;
	}
	is_a_in = cfg_in_loop(w->g, a, loop);
	go_on = w->turns[loop] < turns_of(w, loop);
	return is_a_in == go_on ? a : b;
}

static void enter(struct walk *w, uint32_t from, uint32_t to)
{
	for (uint32_t l = 0; l < w->g->loops_n; l++) {
		if (w->g->loops[l].header != to)
			continue;
		w->has_loop |= !w->is_once[l];
		w->turns[l] = from != CFG_NONE && cfg_in_loop(w->g, from, l) ? w->turns[l] + 1 : 1;
	}
}

/* The instruction behind a block's end, CFG_NONE = the way ends. */
static uint32_t follow(struct walk *w, uint32_t block)
{
	const struct cfg *g = w->g;
	const struct cfg_block *b = &g->blocks[block];
	const struct sass_insn *last = &g->insns[b->end - 1];
	const enum cfg_flow flow = cfg_flow(last);
	const int64_t target = cfg_target(last);
	uint32_t next;

	if (flow == CFG_CALL && b->end < g->insns_n) {
		if (target >= 0 && target / SASS_BYTES < g->insns_n && w->depth < CALLS) {
			w->back[w->depth++] = b->end;
			return (uint32_t)(target / SASS_BYTES);
		}
		w->path.has_calls_out = true;
		return b->end;
	}
	if (flow == CFG_RETURN && !cfg_is_conditional(last))
		return w->depth ? w->back[--w->depth] : CFG_NONE;
	if (!b->successors_n)
		return CFG_NONE;
	next = g->edges[b->successors];
	if (b->successors_n > 2)
		w->path.has_guess = true;
	else if (b->successors_n == 2)
		next = choose(w, block, next, g->edges[b->successors + 1]);
	enter(w, block, next);
	return g->blocks[next].first;
}

/* False: it did not fit. */
static bool walk(struct walk *w)
{
	uint32_t at = 0;

	w->n = w->depth = w->recent_n = 0;
	w->has_product = w->has_loop = false;
	memset(w->version, 0, sizeof(w->version));
	memset(w->recent, 0, sizeof(w->recent));
	memset(w->passed, 0, sizeof(w->passed));
	memset(&w->path, 0, sizeof(w->path));
	enter(w, CFG_NONE, w->g->block_of[0]);
	while (at != CFG_NONE) {
		const uint32_t block = w->g->block_of[at];
		const double weight = weight_of(w, block);
		const bool guessed = is_guessed(w, block);

		for (; at < w->g->blocks[block].end; at++) {
			if (w->n == STALL_STEPS)
				return false;
			add_step(w, at, weight, guessed);
		}
		at = follow(w, block);
	}
	w->path.is_whole = w->n && w->steps[w->n - 1].is_exit;
	return true;
}

/* Nearest block that dominates all that jump back. */
static uint32_t latch_of(const struct cfg *g, uint32_t loop)
{
	const struct cfg_block *h = &g->blocks[g->loops[loop].header];
	uint32_t latch = CFG_NONE;

	for (uint32_t i = 0; i < h->predecessors_n; i++) {
		const uint32_t p = g->edges[h->predecessors + i];

		if (!cfg_in_loop(g, p, loop))
			continue;
		if (latch == CFG_NONE)
			latch = p;
		while (latch != CFG_NONE && !cfg_dominates(g, latch, p))
			latch = g->blocks[latch].idom;
	}
	return latch;
}

/* A loop that asks a barrier in shared memory until it says yes: the wait is in the first question. */
static bool is_spin(const struct cfg *g, uint32_t loop)
{
	const struct cfg_loop *l = &g->loops[loop];

	if (!l->is_innermost || l->insns_n > SPIN)
		return false;
	for (uint32_t i = l->first; i <= l->last; i++)
		if (tile_is_op(&g->insns[i], "SYNCS"))
			return true;
	return false;
}

/* False: memory has run out. */
static bool find_trips(struct walk *w, struct arena *scratch)
{
	uint64_t *trips = arena_array(scratch, w->g->loops_n, sizeof(*trips));
	bool *is_known = arena_array(scratch, w->g->loops_n, sizeof(*is_known));
	bool *is_once = arena_array(scratch, w->g->loops_n, sizeof(*is_once));

	w->trips = trips;
	w->is_known = is_known;
	w->is_once = is_once;
	if (!trips || !is_known || !is_once)
		return false;
	for (uint32_t l = 0; l < w->g->loops_n; l++) {
		const uint32_t latch = latch_of(w->g, l);

		trips[l] = latch == CFG_NONE ? 0 : tile_trips(w->g, l, latch);
		is_known[l] = trips[l] != 0;
		is_once[l] = w->g->loops[l].is_for_lanes || is_spin(w->g, l);
		if (!trips[l])
			trips[l] = STALL_TURNS;
	}
	return true;
}

/*
 * Of each block the fewest blocks to one that `is_wanted`, CFG_NONE = it leads to none. NULL: memory has run out.
 */
static uint32_t *distances(const struct walk *w, bool (*is_wanted)(const struct walk *, uint32_t),
			   struct arena *scratch)
{
	const struct cfg *g = w->g;
	uint32_t *queue = arena_array(scratch, g->blocks_n, sizeof(*queue)), from = 0, to = 0;
	uint32_t *out = arena_array(scratch, g->blocks_n, sizeof(*out));

	if (!queue || !out)
		return NULL;
	memset(out, 0xff, g->blocks_n * sizeof(*out));
	for (uint32_t b = 0; b < g->blocks_n; b++)
		if (is_wanted(w, b)) {
			out[b] = 0;
			queue[to++] = b;
		}
	for (; from < to; from++)
		for (uint32_t i = 0; i < g->blocks[queue[from]].predecessors_n; i++) {
			const uint32_t p = g->edges[g->blocks[queue[from]].predecessors + i];

			if (out[p] != CFG_NONE)
				continue;
			out[p] = out[queue[from]] + 1;
			queue[to++] = p;
		}
	return out;
}

static bool has_products(const struct walk *w, uint32_t block)
{
	const struct cfg_block *b = &w->g->blocks[block];

	for (uint32_t i = b->first; i < b->end; i++)
		if (strstr(sass_op(&w->g->insns[i]), "MMA") &&
		    pipe_of(&w->g->insns[i]) == STALL_PIPE_TENSOR)
			return true;
	return false;
}

static bool is_in_loop(const struct walk *w, uint32_t block)
{
	const uint32_t l = w->g->blocks[block].loop;

	return l != CFG_NONE && !w->is_once[l];
}

const struct stall_path *stall_path_read(const struct cfg *g, struct arena *scratch,
					 struct arena *arena)
{
	static const uint32_t turns[] = {64, 16, 6, 3, 2};
	struct stall_path *path = arena_alloc(arena, sizeof(*path));
	struct walk w = {.g = g, .arch = arch_find(g->sm, NULL)};

	w.turns = arena_array(scratch, g->loops_n, sizeof(*w.turns));
	w.steps = arena_array(scratch, STALL_STEPS, sizeof(*w.steps));
	w.by_insn = arena_array(scratch, g->insns_n, sizeof(*w.by_insn));
	w.is_read = arena_array(scratch, g->insns_n, sizeof(*w.is_read));
	if (!path || !w.arch || !find_trips(&w, scratch) ||
	    !(w.to_product = distances(&w, has_products, scratch)) ||
	    !(w.to_loop = distances(&w, is_in_loop, scratch)) || !w.turns || !w.steps ||
	    !w.by_insn || !w.is_read || !g->insns_n)
		return NULL;
	w.sums = count_sums(g);
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		w.most = turns[i];
		if (walk(&w))
			break;
	}
	*path = w.path;
	path->n = w.n;
	for (uint32_t i = 0; i < w.n; i++)
		path->has_guess |= w.steps[i].is_guessed;
	path->steps = arena_copy(arena, w.steps, w.n * sizeof(*w.steps));
	return path->steps ? path : NULL;
}
