/* kernel_code.c - see kernel_code.h. */
#include "kernel_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "sass_work.h"
#include "tile.h"

#define STALLS 16u

/* Instructions of one operation, by their stall count. */
struct tally {
	const char *op;
	uint32_t n, by_stall[STALLS];
};

static int by_frequency(const void *a, const void *b)
{
	const struct metric_op *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->op, y->op);
}

/* The base of HADD2.F32 and HFMA2.MMA is what stands before the dot. */
static size_t base_length(const char *op)
{
	return strcspn(op, ".");
}

static struct tally *tally_of(struct tally *tallies, size_t *n, const char *op)
{
	const size_t length = base_length(op);

	for (size_t i = 0; i < *n; i++)
		if (base_length(tallies[i].op) == length && !strncmp(tallies[i].op, op, length))
			return &tallies[i];
	tallies[*n].op = op;
	return &tallies[(*n)++];
}

static int median_stall(const struct tally *t)
{
	uint32_t seen = 0;
	int stall = 0;

	for (; stall < (int)STALLS - 1; stall++) {
		seen += t->by_stall[stall];
		if (2 * (uint64_t)seen >= t->n)
			break;
	}
	return stall;
}

static int least_stall(const struct tally *t)
{
	int stall = 0;

	while (stall < (int)STALLS - 1 && !t->by_stall[stall])
		stall++;
	return stall;
}

static bool count_ops(struct metric_sass *s, const struct cfg *g, struct arena *scratch,
		      struct arena *arena)
{
	struct tally *tallies = arena_array(scratch, g->insns_n, sizeof(*tallies));
	struct metric_op *ops;
	size_t n = 0;

	for (uint32_t i = 0; tallies && i < g->insns_n; i++)
		if (g->insns[i].is_decoded) {
			struct tally *t = tally_of(tallies, &n, sass_op(&g->insns[i]));

			t->n++;
			t->by_stall[g->insns[i].control.stall]++;
		}
	ops = tallies ? arena_array(arena, n, sizeof(*ops)) : NULL;
	if (!ops)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct tally *t = &tallies[i];
		const char *op = arena_string(arena, t->op, base_length(t->op));

		if (!op)
			return false;
		ops[i] = (struct metric_op){op, t->n, least_stall(t), median_stall(t), -1};
	}
	qsort(ops, n, sizeof(*ops), by_frequency);
	s->ops = ops;
	s->ops_n = n;
	return true;
}

static const char *word(const char *s)
{
	return *s ? s : NULL;
}

static bool read_loops(struct metric_sass *s, const struct cfg *g, struct arena *scratch,
		       struct arena *arena, struct err *e)
{
	struct metric_loop *loops;
	const struct tile *main;
	struct tiles tiles;

	if (tile_read(g, scratch, &tiles, e) != 0)
		return false;
	main = tile_loop(&tiles);
	loops = arena_array(arena, tiles.n, sizeof(*loops));
	for (uint32_t i = 0; loops && i < tiles.n; i++) {
		const struct tile *t = &tiles.at[i];

		loops[i] = (struct metric_loop){
			.start = t->start,
			.end = t->end,
			.depth = t->depth,
			.is_innermost = t->is_innermost,
			.is_main = t == main,
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
		};
	}
	s->loops = loops;
	s->loops_n = tiles.n;
	return loops || err_set(e, ERR_MEMORY, -1, "no memory for the loops of a kernel") == 0;
}

/* The same in all products, else not known. */
static void read_products(struct metric_sass *s, const struct cfg *g)
{
	bool differ = false;

	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct sass_insn *insn = &g->insns[i];
		struct sass_modifiers m;
		struct sass_mma p;

		if (!strstr(sass_op(insn), "MMA"))
			continue;
		sass_modifiers(g->sm, insn, &m);
		if (!sass_mma(insn, &m, &p))
			continue;
		differ |= s->has_products && (s->product_type != p.a || s->product_sums != p.d);
		s->has_products = true;
		s->product_type = p.a;
		s->product_sums = p.d;
	}
	if (differ)
		s->product_type = s->product_sums = SASS_UNKNOWN;
}

const struct metric_sass *kernel_code_read(int sm, const struct cubin_function *f,
					   struct arena *arena, struct err *e)
{
	struct arena *scratch = arena_new();
	struct metric_sass *s = arena_alloc(arena, sizeof(*s));
	struct cfg g;
	int failed = -1;

	if (!scratch || !s) {
		err_set(e, ERR_MEMORY, -1, "no memory for the instructions of a kernel");
	} else if (cfg_build(&g, scratch, sm, f, e) == 0) {
		s->instructions = g.insns_n;
		s->undecoded = g.undecoded;
		read_products(s, &g);
		failed = !read_loops(s, &g, scratch, arena, e) ? -1
			 : count_ops(s, &g, scratch, arena)
				 ? 0
				 : err_set(e, ERR_MEMORY, -1,
					   "no memory for the instructions of a kernel");
	}
	arena_free(scratch);
	return failed ? NULL : s;
}
