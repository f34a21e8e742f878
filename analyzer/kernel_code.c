/* kernel_code.c - see kernel_code.h. */
#include "kernel_code.h"

#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "chain.h"
#include "dataflow.h"
#include "idiom.h"
#include "kernel_mix.h"
#include "kernel_view.h"
#include "sass_work.h"
#include "stall.h"
#include "stall_path.h"
#include "tile_trips.h"

static bool read_ops(struct metric_sass *s, const struct cfg *g, const uint8_t *plan,
		     struct arena *scratch, struct arena *arena, struct err *e)
{
	struct stall_op *found;
	struct metric_op *ops;
	uint32_t n;

	if (stall_ops(g, scratch, plan, &found, &n) != 0 ||
	    !(ops = arena_array(arena, n, sizeof(*ops))))
		return err_set(e, ERR_MEMORY, -1, "no memory for the instructions of a kernel") ==
		       0;
	for (uint32_t i = 0; i < n; i++) {
		const struct stall_op *o = &found[i];

		ops[i] = (struct metric_op){
			arena_string(arena, o->op, SIZE_MAX), o->count, o->minimum, o->median,
			plan ? (int64_t)o->reducible : -1,    o->note};
		if (!ops[i].op)
			return err_set(e, ERR_MEMORY, -1, "no memory for a name") == 0;
	}
	s->ops = ops;
	s->ops_n = n;
	return true;
}

/* Cycles of stall of a loop, those of loops within among them, each instruction once. */
struct loop_stalls {
	int64_t all, saved;
};

static struct loop_stalls *count_stalls(const struct cfg *g, const uint8_t *plan,
					struct arena *scratch)
{
	struct loop_stalls *s = arena_array(scratch, g->loops_n, sizeof(*s));

	for (uint32_t i = 0; s && i < g->insns_n; i++) {
		const unsigned stall = g->insns[i].control.stall;
		uint32_t l = g->blocks[g->block_of[i]].loop;

		for (; l != CFG_NONE; l = g->loops[l].parent) {
			s[l].all += stall;
			s[l].saved += plan ? stall - plan[i] : 0;
		}
	}
	return s;
}

/* Registers of a thread that the code of a loop reads or writes. */
static uint32_t named_registers(const struct cfg *g, uint32_t loop)
{
	struct regset all = {0};

	for (uint32_t b = 0; b < g->blocks_n; b++) {
		if (!cfg_in_loop(g, b, loop))
			continue;
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end; i++) {
			struct effects x;

			dataflow_effects(&g->insns[i], &x);
			if (!x.is_certain)
				return 0;
			regset_add(&all, &x.reads);
			regset_add(&all, &x.writes);
		}
	}
	return regset_registers(&all);
}

static const char *word(const char *s)
{
	return *s ? s : NULL;
}

static bool read_loops(struct metric_sass *s, const struct kernel_view *v, const uint8_t *plan,
		       struct arena *scratch, struct arena *arena, struct err *e)
{
	const struct cfg *g = &v->cfg;
	const struct tiles *tiles = &v->tiles;
	const struct loop_stalls *stalls = count_stalls(g, plan, scratch);
	const struct idiom_divide *divides = idiom_divide_read(g, scratch);
	struct metric_loop *loops;
	const struct tile *main;
	struct chain *chains, straight;

	if (!stalls || !divides || chain_read(g, scratch, &chains, &straight) != 0)
		return err_set(e, ERR_MEMORY, -1, "no memory for the loops of a kernel") == 0;
	s->straight_cycles = straight.cycles;
	s->straight_loads = straight.loads;
	s->straight_all_loads = straight.all_loads;
	s->straight_waits = straight.waits;
	s->straight_issue_cycles = straight.issue;
	main = tile_loop(tiles);
	loops = arena_array(arena, tiles->n, sizeof(*loops));
	for (uint32_t i = 0; loops && i < tiles->n; i++) {
		const struct tile *t = &tiles->at[i];

		loops[i] = (struct metric_loop){
			.start = t->start,
			.end = t->end,
			.depth = t->depth,
			.is_innermost = t->is_innermost,
			.is_main = t == main,
			.is_rare = t->is_rare,
			.trips = t->trips,
			.compute_op = t->compute_op,
			.compute_ops = t->compute_ops,
			.load_ops = t->load_ops,
			.async_copies = t->async_copies,
			.barriers = t->barriers,
			.load_bytes_per_warp = t->unsized_loads || t->load_bytes > INT64_MAX
						       ? -1
						       : (int64_t)t->load_bytes,
			.ratio = t->ratio,
			.ratio_raw = t->ratio_raw,
			.class = word(tile_class_name(t->class)),
			.async_copy = word(tile_async_name(t->async)),
			.why = word(tile_reason_text(t->reason)),
			.recurrence_cycles = chains[t->loop].cycles,
			.recurrence_loads = chains[t->loop].loads,
			.chain_loads = chains[t->loop].chain_loads,
			.turn_loads = chains[t->loop].all_loads,
			.load_waits = chains[t->loop].waits,
			.issue_cycles = chains[t->loop].issue,
			.stall_cycles = stalls[t->loop].all,
			.saved_cycles = plan ? stalls[t->loop].saved : -1,
		};
		if (t->is_innermost)
			loops[i].registers = named_registers(g, t->loop);
		kernel_mix_of_turn(&loops[i].turn, g, tiles, divides, t->loop);
	}
	s->loops = loops;
	s->loops_n = tiles->n;
	kernel_mix_read(s, g, tiles, divides);
	return loops || err_set(e, ERR_MEMORY, -1, "no memory for the loops of a kernel") == 0;
}

/* HADD2.F32 R, -RZ, R.H0_H0 makes a float of a half; HFMA2 R, -RZ, RZ, x moves. */
static bool is_half_arithmetic(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	if (tile_is_op(insn, "HADD2"))
		return !sass_has_modifier(m, SASS_M_F32);
	return (tile_is_op(insn, "HFMA2") || tile_is_op(insn, "HMUL2")) && !tile_is_move(insn);
}

/* HMMA, IMMA, DMMA and their like; HGMMA is of four warps, UTCHMMA of a block. */
static bool is_warp_product(const struct sass_insn *insn)
{
	return !strstr(sass_op(insn), "GMMA") && strncmp(sass_op(insn), "UTC", 3) != 0;
}

/* The types that the kernel computes in: of products the same in all, else not known. */
static void read_types(struct metric_sass *s, const struct cfg *g)
{
	bool differ = false;

	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct sass_insn *insn = &g->insns[i];
		const struct sass_modifiers *m = &g->modifiers[i];
		struct sass_mma p;

		if (*sass_op(insn) != 'H' && !strstr(sass_op(insn), "MMA"))
			continue;
		s->has_halves |= is_half_arithmetic(insn, m);
		if (!sass_mma(insn, m, &p))
			continue;
		differ |= s->has_products && (s->product_type != p.a || s->product_sums != p.d);
		s->has_warp_products = (s->has_warp_products || !s->has_products) &&
				       is_warp_product(insn);
		s->has_products = true;
		s->product_type = p.a;
		s->product_sums = p.d;
	}
	if (differ)
		s->product_type = s->product_sums = SASS_UNKNOWN;
}

/* The loops and the operations, with what is proved of their stalls. */
static bool read_stalls(struct metric_sass *s, const struct kernel_view *v, struct arena *scratch,
			struct arena *arena, struct err *e)
{
	const struct cfg *g = &v->cfg;
	const uint8_t *plan = NULL;

	if (stall_has_table(g->sm) && !(plan = stall_plan(g, scratch)))
		return err_set(e, ERR_MEMORY, -1, "no memory for the stalls of a kernel") == 0;
	s->path = stall_path_read(g, scratch, arena);
	return read_loops(s, v, plan, scratch, arena, e) && read_ops(s, g, plan, scratch, arena, e);
}

static uint64_t offset_of(uint32_t insn)
{
	return insn == CFG_NONE ? 0 : (uint64_t)insn * SASS_BYTES;
}

static bool read_idioms(struct metric_sass *s, const struct cfg *g, struct arena *scratch,
			struct err *e)
{
	struct idioms x;

	if (idiom_read(g, scratch, &x) != 0)
		return err_set(e, ERR_MEMORY, -1, "no memory for the idioms of a kernel") == 0;
	s->idioms = (struct metric_idioms){
		.doubles = x.doubles,
		.widened = x.widened,
		.narrowed = x.narrowed,
		.doubles_at = offset_of(x.doubles_at),
		.doubles_on = x.doubles_on,
		.doubles_around = x.doubles_around,
		.doubles_seeds = x.doubles_seeds,
		.summed = x.summed,
		.summed_widened = x.summed_widened,
		.summed_at = offset_of(x.summed_at),
		.sums = x.sums,
		.multiplies = x.multiplies,
		.uses = x.uses,
		.rows = x.rows,
		.columns = x.columns,
		.is_staged = x.is_staged,
		.product_at = offset_of(x.product_at),
		.pairs = x.pairs,
		.pair_operands = x.pair_operands,
		.pairs_at = offset_of(x.pairs_at),
	};
	return true;
}

const struct metric_sass *kernel_code_read(const struct kernel_view *v, struct arena *arena,
					   struct err *e)
{
	struct arena *scratch = arena_new();
	struct metric_sass *s = arena_alloc(arena, sizeof(*s));
	bool is_good = false;

	if (!scratch || !s) {
		err_set(e, ERR_MEMORY, -1, "no memory for the instructions of a kernel");
	} else {
		s->instructions = v->cfg.insns_n;
		s->undecoded = v->cfg.undecoded;
		read_types(s, &v->cfg);
		is_good = read_stalls(s, v, scratch, arena, e) &&
			  read_idioms(s, &v->cfg, scratch, e);
	}
	arena_free(scratch);
	return is_good ? s : NULL;
}
