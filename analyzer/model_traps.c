/*
 * model_traps.c - see model_traps.h. A trap is a row of a table: which finding, and the function that says it of a
 * kernel, with figures, or NULL.
 */
#include "model_traps.h"

#include <math.h>
#include <string.h>

#include "access_cost.h"
#include "arena.h"
#include "count.h"
#include "text.h"

#define FIRST_LAUNCH_FACTOR 10 /* a first launch this much slower than the median is worth a word */
#define UNSTEADY_FACTOR     1.5 /* the 90th percentile of the median */
#define UNSTEADY_TIMED      20u
#define BARRIER_CYCLES      30.0 /* assumed of one barrier: tables/latency.def */
#define BARRIERS_LEAST \
	3u /* a tile in shared memory needs two a turn: one before it is read, one behind */
#define DIVERGENCE_LEAST_PCT 20.0
#define UNCOALESCED_LEAST    2.0     /* sectors; one more may be a word across two of them */
#define CONTENDED_FACTOR     2.0     /* requests of a block */
#define DOUBLES_LEAST        4u      /* once, outside of loops: fewer cost nothing */
#define CHAIN_LOADS          4.0     /* outside of loops: two or three are an index of an index */
#define CHAINS_ENOUGH        4.0     /* so many at once are no longer one behind the other */
#define PRODUCT_LEAST        16384.0 /* results: 128 x 128. Smaller ones do not pay for a library */
#define PRODUCT_SIDE         32      /* rows, columns, where coordinates tell */
#define PRODUCT_DEPTH        16u     /* multiply-adds of a sum */
#define PRODUCT_MULTIPLE     8       /* that the sides of tiles of tensor cores divide by */
#define APART_FACTOR         2.0     /* time per byte of two geometries */

struct trap_case {
	const struct model_kernel *k;
	const struct arch_device *hw;
	struct arena *arena;
};

/* What it says of the kernel, NULL = nothing. */
typedef const char *(*trap_fn)(const struct trap_case *c);

static const char *text_of(enum finding finding)
{
	return finding_rows[finding].text;
}

static void add(struct model_kernel *k, enum finding finding, const char *text)
{
	if (k->traps_n < METRIC_FINDINGS && text)
		k->traps[k->traps_n++] = (struct metric_finding){finding_rows[finding].id, text};
}

bool model_has_trap(const struct model_kernel *k, enum finding finding)
{
	for (int i = 0; i < k->traps_n; i++)
		if (!strcmp(k->traps[i].id, finding_rows[finding].id))
			return true;
	return false;
}

/* Near the peak of memory or compute: what holds a warp up does not hold up the kernel. */
static bool is_saturated(const struct model_kernel *k)
{
	return k->roofline.sol_memory_pct.value >= ROOFLINE_SATURATED_PCT ||
	       k->roofline.sol_compute_pct.value >= ROOFLINE_SATURATED_PCT;
}

/* --------------------------------------------------------------------------------- code and times */

static const char *debug(const struct trap_case *c)
{
	return c->k->code.debug_build == 1 ? text_of(FINDING_DEBUG) : NULL;
}

static const char *spills(const struct trap_case *c)
{
	const struct metric_resources *r = &c->k->resources;

	if (r->spill_instructions > 0)
		return text_format(
			c->arena,
			"%d instructions spill registers to local memory (%d bytes per thread)",
			r->spill_instructions, r->local_bytes);
	if (r->local_bytes > 0)
		return text_format(
			c->arena,
			"%d bytes of local memory per thread: spilled registers or arrays indexed at run time",
			r->local_bytes);
	return NULL;
}

static const char *jit(const struct trap_case *c)
{
	return session_is_jit(c->k->shape->kernel->image) ? text_of(FINDING_JIT) : NULL;
}

static const char *first_launch(const struct trap_case *c)
{
	const struct metric_times *t = &c->k->times;
	char first[TEXT_NUMBER];

	if (t->warmup_only || !(t->first > FIRST_LAUNCH_FACTOR * t->median))
		return NULL;
	return text_format(
		c->arena,
		"the first launch took %s, %.0f times the median: it stands apart from the statistics",
		text_us(first, t->first), t->first / t->median);
}

static const char *many_shapes(const struct trap_case *c)
{
	return c->k->shape->overflow ? text_of(FINDING_MANY_SHAPES) : NULL;
}

static const char *above_cliff(const struct trap_case *c)
{
	return c->k->cliff_known && c->k->cliff.above_cliff ? text_of(FINDING_ABOVE_CLIFF) : NULL;
}

static const char *code_differs(const struct trap_case *c)
{
	return c->k->code.mismatch ? text_format(c->arena, "%s: %s", text_of(FINDING_CODE_DIFFERS),
						 c->k->code.mismatch)
				   : NULL;
}

static const char *unsteady(const struct trap_case *c)
{
	const struct metric_times *t = &c->k->times;
	char median[TEXT_NUMBER], p90[TEXT_NUMBER];

	if (t->warmup_only || t->timed < UNSTEADY_TIMED ||
	    !(t->p90 - t->uncertainty > UNSTEADY_FACTOR * (t->median + t->uncertainty)))
		return NULL;
	return text_format(
		c->arena,
		"unsteady: a tenth of the launches take %s and more, %.1f times the median of %s",
		text_us(p90, t->p90), t->p90 / t->median, text_us(median, t->median));
}

static const char *older_code(const struct trap_case *c)
{
	const int sm = c->k->code.sm;

	if (sm <= 0 || sm >= c->hw->arch.sm || session_is_jit(c->k->shape->kernel->image))
		return NULL;
	return text_format(c->arena,
			   "code of sm_%d runs on sm_%d: nothing in it is tuned for this GPU", sm,
			   c->hw->arch.sm);
}

/* ------------------------------------------------------------------------------ lanes of a warp */

/* The site of that kind that wastes most; where there are several lower bounds the first. */
static const struct metric_site *worst(const struct model_kernel *k, const char *const *kinds)
{
	const struct metric_access *a = k->access;

	for (size_t i = 0; a && i < a->sites_all; i++)
		for (const char *const *kind = kinds; *kind; kind++)
			if (!strcmp(a->sites[i].kind, *kind))
				return &a->sites[i];
	return NULL;
}

/* At least: what an interval does not prove is no finding. */
static double least(const struct quantity *q)
{
	return isnan(q->low) ? q->value : q->low;
}

static const char *where(const struct trap_case *c, const struct metric_site *s)
{
	return s->line ? text_format(c->arena, "%s at %s", s->op, s->line)
		       : text_format(c->arena, "%s at 0x%04llx", s->op,
				     (unsigned long long)s->offset);
}

static const char *site_text(const struct trap_case *c, const struct metric_site *s,
			     const char *unit)
{
	const char *at = where(c, s);

	return at ? text_format(c->arena,
				"%s: %.4g %s a request, %.4g of them more than its bytes need%s%s",
				at, s->sectors_per_request.value, unit, s->excess.value,
				s->pattern ? "; " : "", s->pattern ? s->pattern : "")
		  : NULL;
}

/* Of a site so many sectors in excess are half of what it moves and more, and not of one word that lies badly. */
static bool is_half(const struct metric_site *s, const struct quantity *excess)
{
	return s && least(excess) >= UNCOALESCED_LEAST &&
	       least(excess) * 2 >= s->sectors_per_request.value;
}

/* Half of what is moved, and more, is not used; or used by neighbours, and the L1 is what takes the time. */
static const char *uncoalesced(const struct trap_case *c)
{
	const struct metric_sass *sass = c->k->code.sass;
	struct access_cost cost;
	const struct metric_site *s;
	const char *text;

	access_cost_read(c->k->access, sass, &c->hw->arch, &cost);
	s = cost.wasteful;
	if (access_cost_wastes(&cost) &&
	    is_half(s, quantity_known(&s->own_excess) ? &s->own_excess : &s->excess))
		return site_text(c, s, "sectors");
	s = cost.worst;
	if (!s || !is_half(s, &s->excess) || !access_cost_is_l1(&cost, sass, c->hw))
		return NULL;
	text = site_text(c, s, "sectors");
	return text && s->sharers
		       ? text_format(c->arena, "%s; %s use the rest: it costs the L1, not DRAM",
				     text, s->sharers)
		       : text;
}

static const char *bank_conflicts(const struct trap_case *c)
{
	const struct metric_site *s = worst(c->k, (const char *const[]){"shared", NULL});

	return s && quantity_known(&s->excess) && least(&s->excess) >= 1
		       ? site_text(c, s, "wavefronts")
		       : NULL;
}

/* In code that runs so often that it matters: a boundary test parts the lanes of one warp. */
static const char *divergence(const struct trap_case *c)
{
	const struct metric_site *s = worst(c->k, (const char *const[]){"branch", NULL});
	const char *at = s ? where(c, s) : NULL;
	char idle[TEXT_NUMBER];

	if (!at || !(least(&c->k->access->divergence_pct) >= DIVERGENCE_LEAST_PCT))
		return NULL;
	return text_format(c->arena, "lanes idle in %s of the issue slots; they part at %s%s%s",
			   text_pct(idle, c->k->access->divergence_pct.value), at,
			   s->pattern ? ": " : "", s->pattern ? s->pattern : "");
}

/* More than one request a block on one address: what a reduction in the block would leave. */
static const char *atomics(const struct trap_case *c)
{
	const struct metric_access *a = c->k->access;
	const double blocks = (double)count_volume(c->k->shape->grid);

	for (size_t i = 0; a && !c->k->shape->overflow && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const char *at;
		char requests[TEXT_NUMBER];

		if (strcmp(s->kind, "atomic") || !s->is_everywhere ||
		    !(least(&s->requests) >= CONTENDED_FACTOR * blocks))
			continue;
		at = where(c, s);
		return at ? text_format(
				    c->arena,
				    "%s: all warps add to one address, %s requests, %.3g a block",
				    at, text_count(requests, (uint64_t)s->requests.value),
				    s->requests.value / blocks)
			  : NULL;
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------ arithmetic */

static bool is_in_loop(const struct metric_sass *s, uint64_t offset)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (offset >= s->loops[i].start && offset <= s->loops[i].end)
			return true;
	return false;
}

static const char *fp64(const struct trap_case *c)
{
	const struct metric_sass *s = c->k->code.sass;
	const struct arch *a = &c->hw->arch;
	char rate[64] = "";

	if (!s || !s->idioms.doubles ||
	    (s->idioms.doubles < DOUBLES_LEAST && !is_in_loop(s, s->idioms.doubles_at)))
		return NULL;
	if (c->hw->arch_known && a->fp32 > 0 && a->fp64 > 0)
		snprintf(rate, sizeof(rate), "; FP64 runs at 1/%d of the rate of FP32 here",
			 a->fp32 / a->fp64);
	return text_format(
		c->arena,
		"%u FP64 operations on values that were floats just before (%u conversions to double, "
		"%u back), from 0x%04llx on%s",
		s->idioms.doubles, s->idioms.widened, s->idioms.narrowed,
		(unsigned long long)s->idioms.doubles_at, rate);
}

static const struct metric_loop *loop_at(const struct metric_sass *s, uint64_t start)
{
	const struct metric_loop *found = NULL;

	for (size_t i = 0; i < s->loops_n; i++)
		if (s->loops[i].start == start && (!found || s->loops[i].depth > found->depth))
			found = &s->loops[i];
	return found;
}

/* So many values a set of coordinates has in this launch. */
static double extent(const struct session_shape *s, unsigned coordinates)
{
	double n = 1;

	for (unsigned i = 0; i < 3; i++) {
		n *= coordinates >> i & 1 ? s->block[i] : 1;
		n *= coordinates >> (3 + i) & 1 ? s->grid[i] : 1;
	}
	return n;
}

/*
 * Of rows times columns: a row or a column alone makes a vector, whatever the code could do. Of tiles in shared memory the
 * block's sides are known, and that there are more blocks.
 */
static bool is_narrow(const struct session_shape *s, const struct metric_idioms *x)
{
	const double blocks = x->is_staged ? (double)count_volume(s->grid) : 1;

	return (x->rows || x->columns) && (extent(s, x->rows) * blocks < PRODUCT_SIDE ||
					   extent(s, x->columns) * blocks < PRODUCT_SIDE);
}

static double threads_of(const struct session_shape *s)
{
	return (double)count_volume(s->grid) * (double)count_volume(s->block);
}

/* A known problem whose sides tensor cores cannot tile, or nearly nothing of. */
static bool is_irregular(const struct model_kernel *k)
{
	if (!k->work_known || k->work.kind != WORK_GEMM)
		return false;
	for (int i = 0; i < k->work.dims_n; i++)
		if (k->work.dims[i].value % PRODUCT_MULTIPLE)
			return true;
	return false;
}

static bool has_tensor_units(const struct arch *a, const char *op)
{
	return op && *op == 'D' ? a->t_fp64 > 0 : a->t_fp16 > 0;
}

static const char *no_tensor_cores(const struct trap_case *c)
{
	const struct metric_sass *s = c->k->code.sass;
	const struct metric_loop *loop;
	char sums[TEXT_NUMBER];

	if (!s || s->has_products || !s->idioms.multiplies || c->k->shape->overflow ||
	    threads_of(c->k->shape) * s->idioms.sums < PRODUCT_LEAST || is_irregular(c->k) ||
	    is_narrow(c->k->shape, &s->idioms))
		return NULL;
	loop = loop_at(s, s->idioms.product_at);
	if (!loop || !has_tensor_units(&c->hw->arch, loop->compute_op) ||
	    (loop->trips && loop->trips * s->idioms.multiplies / s->idioms.sums < PRODUCT_DEPTH))
		return NULL;
	return text_format(
		c->arena,
		"a matrix product in %s, and no matrix instruction: the loop at 0x%04llx has %u "
		"multiply-adds of two loaded values a turn, into %s %s a thread",
		loop->compute_op ? loop->compute_op : "multiply-adds",
		(unsigned long long)loop->start, s->idioms.multiplies,
		text_count(sums, s->idioms.sums), text_plural(s->idioms.sums, "sum", "sums"));
}

/* ---------------------------------------------------------------------------------------- chains */

/* Of one scheduler, as the grid fills it; NaN = not known. */
static double warps_per_scheduler(const struct trap_case *c)
{
	const struct occupancy *o = &c->k->occupancy;
	double warps;

	if (!c->k->occupancy_known || o->warps_per_sm <= 0 || c->hw->arch.partitions <= 0)
		return NAN;
	warps = o->grid_warps_per_sm >= 0 ? o->grid_warps_per_sm : o->warps_per_sm;
	return fmax(warps / c->hw->arch.partitions, 1);
}

/* Of one block. */
static double block_warps_per_scheduler(const struct trap_case *c)
{
	if (!c->k->occupancy_known || c->hw->arch.partitions <= 0)
		return NAN;
	return fmax((double)c->k->occupancy.warps_per_block / c->hw->arch.partitions, 1);
}

static const char *barriers(const struct trap_case *c)
{
	const struct metric_sass *s = c->k->code.sass;
	const double warps = block_warps_per_scheduler(c);

	for (size_t i = 0; s && i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];
		const double waits = (double)l->barriers * BARRIER_CYCLES;
		const double work = l->issue_cycles * warps;

		if (!l->is_innermost || l->barriers < BARRIERS_LEAST || !(waits > work))
			continue;
		return text_format(
			c->arena,
			"%llu barriers in a turn of the loop at 0x%04llx: about %.0f cycles, and the work "
			"of a block between them issues in about %.0f",
			(unsigned long long)l->barriers, (unsigned long long)l->start, waits, work);
	}
	return NULL;
}

static bool is_chain_of_loads(double chain, double all)
{
	return chain > 0 && all < CHAINS_ENOUGH * chain;
}

static const char *dependent_loads(const struct trap_case *c)
{
	const struct metric_sass *s = c->k->code.sass;

	if (!s || is_saturated(c->k))
		return NULL;
	for (size_t i = 0; i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];

		if (is_chain_of_loads(l->recurrence_loads, l->turn_loads))
			return text_format(
				c->arena,
				"in the loop at 0x%04llx the address of a load needs the load of the "
				"turn before: %.3g of %.3g loads a turn are in one chain",
				(unsigned long long)l->start, l->recurrence_loads, l->turn_loads);
		if (l->chain_loads >= CHAIN_LOADS &&
		    is_chain_of_loads(l->chain_loads, l->turn_loads))
			return text_format(
				c->arena,
				"in a turn of the loop at 0x%04llx %.3g of %.3g loads are in one chain: the "
				"address of each needs the one before",
				(unsigned long long)l->start, l->chain_loads, l->turn_loads);
	}
	if (s->straight_loads < CHAIN_LOADS ||
	    !is_chain_of_loads(s->straight_loads, s->straight_all_loads))
		return NULL;
	return text_format(
		c->arena,
		"%.3g of %.3g loads outside of loops are in one chain: the address of each needs the one "
		"before",
		s->straight_loads, s->straight_all_loads);
}

/* The loop that takes most, as far as code tells: the K-tile, else the one with most to issue. */
static const struct metric_loop *hot_loop(const struct metric_sass *s)
{
	const struct metric_loop *hot = NULL;

	for (size_t i = 0; i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];

		if (l->is_main)
			return l;
		if (l->is_innermost && (!hot || l->issue_cycles > hot->issue_cycles))
			hot = l;
	}
	return hot;
}

static const char *dependent_arithmetic(const struct trap_case *c)
{
	const struct metric_sass *s = c->k->code.sass;
	const struct metric_loop *l = s ? hot_loop(s) : NULL;
	const double warps = warps_per_scheduler(c);

	if (!l || is_saturated(c->k) || l->recurrence_loads > 0 ||
	    !(l->recurrence_cycles > l->issue_cycles * warps) ||
	    (l->trips && (double)l->trips * l->issue_cycles < s->straight_issue_cycles))
		return NULL;
	return text_format(
		c->arena,
		"a turn of the loop at 0x%04llx takes %.0f cycles for its chain of dependent "
		"operations, and issues in about %.0f: the warps of a scheduler (%.3g) fill %.0f%% of it",
		(unsigned long long)l->start, l->recurrence_cycles, l->issue_cycles, warps,
		100 * l->issue_cycles * warps / l->recurrence_cycles);
}

/* ----------------------------------------------------------------------------------------- table */

static const struct {
	enum finding finding;
	trap_fn say;
} traps[] = {
	{FINDING_DEBUG, debug},
	{FINDING_SPILLS, spills},
	{FINDING_JIT, jit},
	{FINDING_FIRST_LAUNCH, first_launch},
	{FINDING_MANY_SHAPES, many_shapes},
	{FINDING_ABOVE_CLIFF, above_cliff},
	{FINDING_CODE_DIFFERS, code_differs},
	{FINDING_UNCOALESCED, uncoalesced},
	{FINDING_BANK_CONFLICTS, bank_conflicts},
	{FINDING_DIVERGENCE, divergence},
	{FINDING_ATOMICS, atomics},
	{FINDING_FP64, fp64},
	{FINDING_NO_TENSOR_CORES, no_tensor_cores},
	{FINDING_BARRIERS, barriers},
	{FINDING_DEPENDENT_LOADS, dependent_loads},
	{FINDING_DEPENDENT_ARITHMETIC, dependent_arithmetic},
	{FINDING_UNSTEADY, unsteady},
	{FINDING_OLDER_CODE, older_code},
};

void model_traps(struct model_kernel *k, const struct arch_device *hw, struct arena *arena)
{
	const struct trap_case c = {k, hw, arena};

	k->traps_n = 0;
	for (size_t i = 0; i < sizeof(traps) / sizeof(*traps); i++)
		add(k, traps[i].finding, traps[i].say(&c));
}

/* ---------------------------------------------------------------------------- several geometries */

/* Bytes per us of one launch; NaN = not known. */
static double speed(const struct model_kernel *k)
{
	return k->roofline.effective_gbps.value;
}

static bool has_class(const struct model_kernel *k)
{
	return k->verdict.class && strcmp(k->verdict.class, "unknown") != 0;
}

static const char *geometry(struct arena *a, const struct session_shape *s)
{
	char grid[TEXT_NUMBER], block[TEXT_NUMBER];

	return text_format(a, "<<<%s, %s>>>", text_count(grid, count_volume(s->grid)),
			   text_count(block, count_volume(s->block)));
}

/* How k differs from another geometry of the same kernel, NULL = it does not. */
static const char *differs(struct arena *a, const struct model_kernel *k,
			   const struct model_kernel *other)
{
	const double here = speed(k), there = speed(other);
	char gbps[TEXT_NUMBER], other_gbps[TEXT_NUMBER];

	if (has_class(k) && has_class(other) && strcmp(k->verdict.class, other->verdict.class))
		return text_format(a, "class %s here and class %s at %s: do not average them",
				   k->verdict.class, other->verdict.class,
				   geometry(a, other->shape));
	if (!(fmax(here, there) > APART_FACTOR * fmin(here, there)) || !(fmin(here, there) > 0))
		return NULL;
	return text_format(a, "%s GB/s here and %s GB/s at %s: do not average them",
			   text_real(gbps, here), text_real(other_gbps, there),
			   geometry(a, other->shape));
}

/* Of the session's kernels; kernels_n = of none of them. */
static size_t kernel_of(const struct session *s, const struct session_shape *shape)
{
	const uintptr_t at = (uintptr_t)shape->kernel, first = (uintptr_t)s->kernels;
	const size_t i = at >= first ? (at - first) / sizeof(*s->kernels) : s->kernels_n;

	return i < s->kernels_n ? i : s->kernels_n;
}

/*
 * Each shape is held against the geometry of its kernel with most launches among those that are known, and that
 * one against the last of the others that differs.
 */
int model_traps_across(struct model_kernel *kernels, const struct session *s)
{
	size_t *most =
		arena_array(s->arena, s->kernels_n + 1, sizeof(*most)); /* 1 + shape, by kernel */

	if (!most)
		return -1;
	for (size_t i = 0; i < s->shapes_n; i++) {
		size_t *m = &most[kernel_of(s, &s->shapes[i])];

		if (has_class(&kernels[i]) &&
		    (!*m || kernels[i].launches > kernels[*m - 1].launches))
			*m = i + 1;
	}
	for (size_t i = 0; i < s->shapes_n; i++) {
		const size_t m = most[kernel_of(s, &s->shapes[i])];
		struct model_kernel *k = &kernels[i], *first = m ? &kernels[m - 1] : NULL;

		if (!first || first->shape->kernel != k->shape->kernel || first == k ||
		    s->shapes[i].device != first->shape->device || s->shapes[i].overflow)
			continue;
		add(k, FINDING_SHAPE_DEPENDENT, differs(s->arena, k, first));
		if (!model_has_trap(first, FINDING_SHAPE_DEPENDENT))
			add(first, FINDING_SHAPE_DEPENDENT, differs(s->arena, first, k));
	}
	return 0;
}
