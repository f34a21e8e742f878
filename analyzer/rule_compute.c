/*
 * rule_compute.c - what arithmetic, matrix products, barriers and branches say. See advice_case.h; the formulas are
 * explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "sass.h"
#include "stall_path.h"

#define LANES 32.0

static void say_compute(const struct advice_case *c, struct advice_draft *d)
{
	char pct[TEXT_NUMBER];

	if (isnan(c->compute_pct))
		advice_evidence(d, "the kernel is compute-bound");
	else
		advice_evidence(d, "compute at %s of its peak", text_pct(pct, c->compute_pct));
}

/* ------------------------------------------------------------------------------------- double precision */

/* Of the instructions that have part in doubles the same code in float has so many, by ptxas 13.0 for sm_90. */
#define FLOATS_LEAST \
	0.15 /* functions of the mathematics: 0.05 to 0.3; a constant without its f: 0.3 to 0.5 */
#define FUNCTIONS_LEAST 0.05
#define FUNCTION_LEAST  32u /* operations of one such function, at least */
#define FLOATS_MOST     0.5
#define DIVIDED_LEAST   0.3 /* divisions and roots: 0.4 to 0.75 */
#define DIVIDED_MOST    0.75
#define DIVIDED_EACH    16u /* operations for each of them, where they are most of it */
/* From so much of the time on the units set it; below the other nobody can tell. */
#define DOUBLES_SET     0.6
#define DOUBLES_HIDDEN  0.2

/* Cycles of a warp in the code with the doubles: now, and at the least and the most in float. */
struct precision {
	double unit, before, least, most;
};

/* Once, outside of loops, fewer cost nothing. */
#define DOUBLES_LEAST 4u

static bool is_in_loop(const struct metric_sass *s, uint64_t offset)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (offset >= s->loops[i].start && offset <= s->loops[i].end)
			return true;
	return false;
}

static struct precision precision_of(const struct advice_case *c)
{
	const struct metric_idioms *x = &c->sass->idioms;
	const struct arch *a = &c->hw->arch;
	const bool is_divided = x->doubles_seeds * DIVIDED_EACH >= x->doubles;
	const double rest = (double)x->doubles_around - x->doubles_on;
	const double fewest = is_divided                     ? DIVIDED_LEAST
			      : x->doubles >= FUNCTION_LEAST ? FUNCTIONS_LEAST
							     : FLOATS_LEAST;
	const double most = is_divided ? DIVIDED_MOST : FLOATS_MOST;
	const struct metric_mix *m = &c->sass->whole;
	/* Conversions are of the function where a region has none of one kind. */
	const double converts = fmin(x->widened + x->narrowed, m->widened + m->narrowed);
	struct precision p;

	p.unit = fmax(LANES * x->doubles / a->fp64,
		      LANES * (converts + x->doubles_seeds) / advice_wide_conversions(a));
	p.before = fmax(p.unit, (double)x->doubles_around / a->partitions);
	p.least = (rest + fewest * x->doubles_on) / a->partitions;
	p.most = (rest + most * x->doubles_on) / a->partitions;
	return p;
}

/* What the loops make of it: how often the code with the doubles runs, on average. */
static double runs_of(const struct advice_case *c)
{
	return c->sass->trips_known ? c->sass->whole.fp64 / c->sass->idioms.doubles : NAN;
}

static void gain_of_floats(const struct advice_case *c, struct advice_draft *d,
			   const struct precision *p)
{
	const struct metric_idioms *x = &c->sass->idioms;
	const bool is_hot = !c->hot ||
			    (x->doubles_at >= c->hot->start && x->doubles_at <= c->hot->end);
	const double us = c->us, now = advice_unit_us(c, runs_of(c) * p->before);
	double set, base;

	if (isnan(us) || isnan(now)) {
		/* The code alone: what else a kernel spends its time on is not known. */
		d->is_fixed_shared = false;
		advice_gain_ratio(
			d, is_hot ? 1 - ADVICE_UNIT_SURE * (1 - fmin(1, p->most / p->before)) : 1,
			fmin(1, p->least / p->before));
		return;
	}
	set = fmin(1, fmax(0, (now / us - DOUBLES_HIDDEN) / (DOUBLES_SET - DOUBLES_HIDDEN)));
	/* Units that set the time are not busy in all of it: it falls with their work. */
	base = fmin(now, us) + set * fmax(0, us - now);
	advice_gain(d,
		    100 * ADVICE_UNIT_SURE * set *
			    fmax(0, fmin(now, us) - advice_unit_us(c, runs_of(c) * p->most)) / us,
		    100 * fmax(0, base - advice_unit_us(c, runs_of(c) * p->least)) / us);
}

enum advice_outcome rule_fp64(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_idioms *x = c->sass ? &c->sass->idioms : NULL;
	const struct arch *a = &c->hw->arch;
	struct precision p;
	double us;
	char busy[TEXT_NUMBER];

	if (x && !x->doubles && x->summed)
		return advice_double_sum(c, d);
	if (!x || !x->doubles || a->fp64 <= 0 || a->fp32 <= 0 || a->partitions <= 0 ||
	    (x->doubles < DOUBLES_LEAST && !is_in_loop(c->sass, x->doubles_at)))
		return ADVICE_SILENT;
	p = precision_of(c);
	if (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "%u double operations on floats, but %s", x->doubles,
				      advice_saturation(c));
	advice_evidence(
		d, "%u double operations at 0x%llx on floats: %u conversions to double and %u back",
		x->doubles, (unsigned long long)x->doubles_at, x->widened, x->narrowed);
	advice_evidence(
		d, "sm_%d does %d FP64 and %.0f such conversions per SM and cycle, and %d in FP32",
		a->sm, a->fp64, advice_wide_conversions(a), a->fp32);
	us = advice_unit_us(c, runs_of(c) * p.unit);
	if (!isnan(c->us) && !isnan(us))
		advice_evidence(d, "they take %s of the time",
				text_pct(busy, fmin(100, 100 * us / c->us)));
	advice_evidence(d, "%u of the %u instructions around have part in doubles", x->doubles_on,
			x->doubles_around);
	gain_of_floats(c, d, &p);
	advice_conflict(d,
			"float keeps 24 bits where double keeps 53: the result must tolerate that");
	advice_try(
		d,
		"write constants as 1.0f, call sinf and the like, and keep intermediate values float",
		"no DADD, DMUL, DFMA, F2F in the mix, less time",
		"the conversions come from a library call or from a variable that is meant to be double");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- chains */

/* A chain outside of loops that is worth a word: as long as some loads. */
#define STRAIGHT_LEAST 1000.0
/* Of a load in such a chain, as chain.h assumes it. */
#define STRAIGHT_LOAD  400.0
/* A chain takes so much longer than its latencies at most: clocks, and what starts and ends a kernel. */
#define CHAIN_SLACK    1.25
/* From so much of the time on the chain sets it; below the other other things do. */
#define CHAIN_SETS     0.8
#define CHAIN_HIDDEN   0.4
/* Issuing takes that much longer than its slots at worst: of one warp on a scheduler, whose every wait is seen; of many. */
#define ISSUE_ALONE    1.5
#define ISSUE_MANY     1.2

/* A chain of arithmetic, in a turn of the hottest loop or in code without loops, and what issues it. */
struct arithmetic {
	double cycles, issue;
	double times; /* that a warp goes through it, NaN = not known */
};

static bool arithmetic_of(const struct advice_case *c, struct arithmetic *out)
{
	const struct metric_sass *s = c->sass;
	const struct metric_loop *l = c->hot;

	if (s && !s->loops_n) {
		/* once through, the loads may well be the time */
		if (isnan(c->us))
			return false;
		*out = (struct arithmetic){s->straight_cycles - STRAIGHT_LOAD * s->straight_loads,
					   s->straight_issue_cycles, 1};
		return out->cycles >= STRAIGHT_LEAST && out->issue > 0 && s->whole.local <= 0;
	}
	/* What waits for memory in every turn is not held up by the chain of its arithmetic. */
	if (!l || !(l->recurrence_cycles > 0) || !(l->issue_cycles > 0) ||
	    l->recurrence_loads > 0 || s->hot.loads + s->hot.copies + s->hot.local > 0)
		return false;
	*out = (struct arithmetic){l->recurrence_cycles, l->issue_cycles,
				   l->trips > 0 && l->depth == 1 ? (double)l->trips : c->hot_turns};
	return true;
}

/* Of the time, as far as it is known. */
static double share_of(const struct advice_case *c, const struct arithmetic *x)
{
	const double waves = c->occupancy && c->occupancy->waves > 1 ? ceil(c->occupancy->waves)
								     : 1;
	const double share = x->cycles * x->times * waves / c->clock_mhz / c->us;

	return isnan(share) ? 1 : fmin(1, share);
}

/* ------------------------------------------------------------------------------------- leaders */

/* A loop of fewer of the warps than that is for a leader of the block, and the others wait for it. */
#define LEADERS_MOST 0.25
#define LEADER_SHARE 0.1
/* Without it a block is done sooner by so much at least: a tree over its lanes takes some steps too. */
#define LEADER_SURE  0.75
/* What is left moves bytes at so much of the bandwidth. */
#define LEFT_BEST    0.9
#define LEFT_WORST   0.65

/* Loops between two barriers that few warps of each block run. */
struct leaders {
	const struct metric_loop *loop; /* that which takes longest, NULL = there is none */
	double cycles;                  /* of a block, of all such chains */
	double turns;                   /* of that one, */
	double part;                    /* and of the warps how many run it */
};

/* Where the code between two barriers, in which a loop lies, begins and ends; false where it is not between two. */
static bool between_barriers(const struct metric_sass *s, const struct metric_loop *l,
			     uint64_t *first, uint64_t *last)
{
	*first = 0;
	*last = UINT64_MAX;
	for (uint32_t i = 0; s->path && i < s->path->n; i++) {
		const uint64_t at = (uint64_t)s->path->steps[i].insn * SASS_BYTES;

		if (!s->path->steps[i].is_block_wide)
			continue;
		if (at >= l->start && at <= l->end)
			return false;
		if (at < l->start && at > *first)
			*first = at;
		if (at > l->end && at < *last)
			*last = at;
	}
	return *first > 0 && *last < UINT64_MAX;
}

/* Others have a loop of their own meanwhile. */
static bool is_alone(const struct metric_sass *s, const struct metric_loop *l, uint64_t first,
		     uint64_t last)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (&s->loops[i] != l && s->loops[i].start > first && s->loops[i].end < last)
			return false;
	return true;
}

/* Whether one lane alone makes its accesses: then it is the leader's, however often it turns. */
static bool is_of_one_lane(const struct advice_case *c, const struct metric_loop *l)
{
	const struct metric_access *a = c->k->access;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (a->sites[i].offset >= l->start && a->sites[i].offset <= l->end &&
		    strcmp(a->sites[i].kind, "branch") != 0 && a->sites[i].lanes == 1)
			return true;
	return false;
}

static struct leaders leaders_of(const struct advice_case *c)
{
	const struct metric_sass *s = c->sass;
	struct leaders x = {0};
	double most = 0;

	for (size_t i = 0; s && i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];
		const double all = advice_loop_turns(c, l);
		const double turns = l->trips               ? (double)l->trips
				     : is_of_one_lane(c, l) ? all * c->warps / c->blocks
							    : NAN;
		const double part = all / turns;
		const double blocks = fmin(1, part * c->warps / c->blocks);
		const double cycles = blocks * l->recurrence_cycles * turns;
		uint64_t first, last;

		if (l->depth != 1 || !l->is_innermost || l->is_rare || l->barriers ||
		    !(part > 0 && part <= LEADERS_MOST) || !(cycles > 0) ||
		    !between_barriers(s, l, &first, &last) || !is_alone(s, l, first, last))
			continue;
		x.cycles += cycles;
		if (cycles > most) {
			most = cycles;
			x.loop = l;
			x.turns = turns;
			x.part = part;
		}
	}
	return x;
}

static double leaders_share(const struct advice_case *c, const struct leaders *x)
{
	const double waves = c->occupancy ? fmax(1, c->occupancy->waves) : NAN;

	return x->cycles * waves / c->clock_mhz / c->us;
}

static enum advice_outcome leader(const struct advice_case *c, struct advice_draft *d,
				  const struct leaders *x)
{
	const double share = fmin(1, leaders_share(c, x));
	const double best = advice_bytes_us(c, LEFT_BEST, true) / c->us;
	const double worst = advice_bytes_us(c, LEFT_WORST, false) / c->us;
	char chain[TEXT_NUMBER], pct[TEXT_NUMBER], cycles[TEXT_NUMBER];

	if (advice_is_saturated(c))
		return advice_against(
			d, "few warps of a block run the loop at 0x%llx while others wait, but %s",
			(unsigned long long)x->loop->start, advice_saturation(c));
	advice_evidence(
		d,
		"between two barriers %.0f of the %d warps of a block run the loop at 0x%llx, and the others wait",
		fmax(1, round(x->part * c->occupancy->warps_per_block)),
		c->occupancy->warps_per_block, (unsigned long long)x->loop->start);
	advice_evidence(d, "its longest chain takes %s cycles a turn, %.0f %s",
			text_real(chain, x->loop->recurrence_cycles), x->turns,
			advice_plural(round(x->turns), "turn", "turns"));
	advice_evidence(d,
			"such chains take each block %s cycles, %s of the time by their latencies",
			text_real(cycles, x->cycles), text_pct(pct, 100 * share));
	/* Memory keeps up with blocks that are done sooner until it is at its bandwidth. */
	advice_gain_ratio(d, isnan(worst) ? 1 : fmax(1 - LEADER_SURE * share, fmin(1, worst)),
			  fmax(1 - fmin(1, CHAIN_SLACK * share), isnan(best) ? 0 : fmin(1, best)));
	advice_conflict(d, "a sum over the lanes rounds in another order, and takes shuffles");
	advice_try(
		d,
		"let all lanes take a part: warps reduce by shuffles (__shfl_down_sync) and leave one word each, which "
		"the first warp reduces",
		"the loop is gone, and blocks meet at the barrier sooner",
		"other blocks on the SM filled the wait: look at what they wait for");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_ilp(const struct advice_case *c, struct advice_draft *d)
{
	const double partitions = c->hw->arch.partitions;
	const struct leaders few = leaders_of(c);
	struct arithmetic x;
	double warps, issue, ratio, share, sure, slack;
	char chain[TEXT_NUMBER], turn[TEXT_NUMBER], pct[TEXT_NUMBER];

	if (few.loop && leaders_share(c, &few) >= LEADER_SHARE)
		return leader(c, d, &few);
	if (isnan(c->resident) || !(partitions > 0) || !arithmetic_of(c, &x))
		return ADVICE_SILENT;
	warps = fmax(1, c->resident / partitions);
	issue = warps * x.issue;
	if (issue >= x.cycles)
		return ADVICE_SILENT;
	if (c->class == CLASS_COMPUTE || c->class == CLASS_MEMORY || c->class == CLASS_BALANCED)
		return advice_against(d, "the chain %s takes %s cycles, but %s",
				      c->sass->loops_n ? "of a turn" : "through the code",
				      text_real(chain, x.cycles), advice_saturation(c));
	ratio = issue / x.cycles;
	share = share_of(c, &x);
	sure = fmin(1, fmax(0, (share - CHAIN_HIDDEN) / (CHAIN_SETS - CHAIN_HIDDEN)));
	text_real(chain, x.cycles);
	if (c->sass->loops_n)
		advice_evidence(
			d, "the longest chain through a turn of the loop at 0x%llx takes %s cycles",
			(unsigned long long)c->hot->start, chain);
	else
		advice_evidence(d,
				"the longest chain of arithmetic through the code takes %s cycles",
				chain);
	advice_evidence(d, "to issue %s takes %s cycles, of %.1f warps on each scheduler %s",
			c->sass->loops_n ? "a turn" : "the code", text_real(turn, x.issue), warps,
			text_real(chain, issue));
	if (share < 1)
		advice_evidence(d, "by its latencies the chain takes %s of the time",
				text_pct(pct, 100 * share));
	advice_stalls(d, advice_stall(c, wait), "wait for an earlier instruction");
	slack = fmax(ISSUE_MANY, 1 + (ISSUE_ALONE - 1) / warps);
	advice_gain_ratio(d, 1 - sure * (1 - fmin(1, slack * ratio)),
			  1 - fmin(1, CHAIN_SLACK * share) * (1 - ratio));
	advice_conflict(d, "several accumulators take registers and round in another order");
	advice_try(d,
		   advice_text(d, "%.0f independent accumulators, added at the end; or more warps",
			       fmin(8, fmax(2, ceil(1 / ratio)))),
		   "time falls until issuing takes as long as the chain",
		   "the compiler joined them again, or a unit is busy: see the mix");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- tensor cores */

/* Of the tensor peak, what a first version reaches and what a good one does. */
#define TENSOR_FIRST       0.15
#define TENSOR_GOOD        0.5
/* Fewer multiply-adds than that: no tile of a matrix instruction to fill. */
#define TENSOR_LEAST_FLOPS 1e8

/* Sums of a tile with which products are fed from shared memory; fewer tiles than SMs leave SMs idle. */
#define TENSOR_TILE (128.0 * 128.0)

/*
 * A tile over so long a row and column takes as long at the tensor peak as to load the first operands, store the
 * results and start the block: 2,000 cycles of an H200, which a first version hides under nothing.
 */
#define TENSOR_DEPTH 256.0
#define TENSOR_SHORT 0.5

/* How much of the time a first version computes at all: 1 where nobody knows how long the rows and columns are. */
static double tensor_depth(const struct advice_case *c)
{
	const struct metric_idioms *x = &c->sass->idioms;
	const bool is_hot = c->hot && x->product_at >= c->hot->start &&
			    x->product_at <= c->hot->end;
	const double turns = !is_hot             ? NAN
			     : c->hot->trips > 0 ? (double)c->hot->trips
						 : c->hot_turns;
	const double depth = turns * x->multiplies / x->sums;

	return depth > 0 ? depth / (depth + TENSOR_DEPTH) : 1;
}

/* The part of the SMs that a product of this size keeps busy at least. */
static double tensor_fill(const struct advice_case *c)
{
	const double tiles = c->warps * LANES * c->sass->idioms.sums / TENSOR_TILE;

	return isnan(tiles) || isnan(c->sm_count) ? 1 : fmin(1, tiles / c->sm_count);
}

static int tensor_peak(const struct advice_case *c, const char **type)
{
	const bool has_halves = c->sass && (c->sass->whole.from_halves > 0 || c->sass->has_halves);

	*type = has_halves ? "FP16 or BF16 with FP32 sums" : "TF32, which keeps 11 bits of a float";
	return has_halves ? PEAK_FP16_TENSOR_FP32ACC : PEAK_TF32_TENSOR;
}

/* FLOP/s in units of 1e12 that the kernel does now, at most; from its work, else from its mix at full issue. */
static double flops_now(const struct advice_case *c)
{
	const struct metric_mix *m = c->hot ? &c->sass->hot : &c->sass->whole;
	const double share = fmin(1, (m->fma + 2 * m->halves) / m->issued);

	if (c->k->work_known && quantity_known(&c->k->roofline.effective_gflops))
		return c->k->roofline.effective_gflops.value / 1e3;
	return share * c->hw->peaks[PEAK_FP32];
}

enum advice_outcome rule_tensor_cores(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_idioms *x = c->sass ? &c->sass->idioms : NULL;
	const struct roofline *r = &c->k->roofline;
	double now, peak, memory = 0, depth;
	const char *type;
	char number[TEXT_NUMBER];
	bool is_known_small;

	if (!x || !x->sums || c->sass->has_products)
		return ADVICE_SILENT;
	peak = c->hw->peaks[tensor_peak(c, &type)];
	now = flops_now(c);
	if (!(peak > 0) || !(now > 0))
		return ADVICE_SILENT;
	is_known_small = c->k->work.flops > 0 && (double)c->k->work.flops < TENSOR_LEAST_FLOPS;
	if (is_known_small || (c->us > 0 && c->us < 2 * ADVICE_FIXED_MOST_US))
		return advice_against(
			d, "a product of this size is over before matrix instructions pay");
	if (c->class == CLASS_MEMORY || c->class == CLASS_LATENCY)
		return advice_against(
			d, "a matrix product in plain multiply-adds, but %s",
			c->class == CLASS_MEMORY
				? advice_saturation(c)
				: "latency-bound: neither multiply-adds nor tensor cores set its time yet");
	advice_evidence(
		d,
		"a matrix product in plain multiply-adds at 0x%llx: %u %s under way in a thread, %u %s in a turn",
		(unsigned long long)x->product_at, x->sums, text_plural(x->sums, "sum", "sums"),
		x->multiplies, text_plural(x->multiplies, "multiply-add", "multiply-adds"));
	advice_evidence(d, "no matrix instruction; at most %s TFLOPS now, the tensor cores have %s",
			text_real(number, now), advice_text(d, "%.4g", peak));
	/* The bytes stay: what memory needs is a bound of its own. */
	if (c->k->work_known && quantity_known(&r->sol_memory_pct))
		memory = r->sol_memory_pct.value / 100;
	depth = tensor_depth(c);
	if (depth <= TENSOR_SHORT)
		advice_evidence(
			d,
			"a sum has %.0f terms: in so few, loading and storing take as long as computing",
			round(TENSOR_DEPTH * depth / (1 - depth)));
	advice_gain_ratio(d,
			  fmin(1, fmax(memory / LEFT_WORST,
				       now / (TENSOR_FIRST * depth * tensor_fill(c) * peak))),
			  fmin(1, fmax(memory / LEFT_BEST, now / (TENSOR_GOOD * peak))));
	advice_conflict(d, "%s: the result must tolerate it; fragments take registers", type);
	advice_try(
		d,
		"mma.sync or wgmma (WMMA, CUTLASS, or a call of cuBLAS), operands staged in shared memory",
		"HMMA or HGMMA in the inner loop, and a fraction of the time",
		"the loop now waits for its operands: stage them in shared memory");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- stall codes */

static enum advice_outcome stalls(const struct advice_case *c, struct advice_draft *d,
				  const struct metric_op *op, double gain)
{
	const struct metric_loop *l = c->hot;
	char n[TEXT_NUMBER];

	if (c->class == CLASS_LATENCY || c->class == CLASS_MEMORY)
		return advice_against(d,
				      "%lld of %u stalls of %s could be lower, but the kernel %s",
				      (long long)op->reducible, op->n, op->op,
				      c->class == CLASS_MEMORY
					      ? "waits for memory"
					      : "waits for other things (latency-bound)");
	if (!advice_is_compute(c) || c->compute_pct >= ADVICE_NEAR_PEAK_PCT)
		return ADVICE_SILENT;
	say_compute(c, d);
	advice_evidence(d, "%lld of %s stalls of %s are higher than anything needs, median %d",
			(long long)op->reducible, text_count(n, op->n), op->op, op->stall_median);
	/* Never more than the cycles that the proof takes off the loop, nor than the pipe's peak allows. */
	if (l && l->stall_cycles > 0 && l->saved_cycles >= 0) {
		advice_evidence(
			d,
			"%lld of the %lld stall cycles in a turn of the hottest loop are not needed",
			(long long)l->saved_cycles, (long long)l->stall_cycles);
		gain = fmin(gain, 100.0 * (double)l->saved_cycles / (double)l->stall_cycles);
	}
	advice_gain(d, 0, fmin(gain, 100 - c->compute_pct));
	advice_conflict(
		d,
		"patched machine code is for this cubin alone: it must be made again after every build");
	advice_try(d,
		   advice_text(d, "lower the stall counts of those %s in the cubin's control codes",
			       op->op),
		   "bit-identical results, slightly less time",
		   "other warps filled the gaps already");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_ffma_stalls(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_op *op = advice_op(c, "FFMA");
	const double part = c->sass && c->sass->whole.issued > 0
				    ? c->sass->whole.fma / c->sass->whole.issued
				    : 0;

	if (!op || op->reducible <= 0 || part < 0.25)
		return ADVICE_SILENT;
	/* Three cycles of four, in the part of the code that they are. */
	return stalls(c, d, op, 75 * part * (double)op->reducible / op->n);
}

enum advice_outcome rule_imma_stalls(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_op *op = advice_op(c, "IMMA");

	if (!op || op->reducible <= 0)
		return ADVICE_SILENT;
	/* Published for sm_86: 15 to 20% more throughput, of all at once. */
	return stalls(c, d, op, 17 * (double)op->reducible / op->n);
}

/* ------------------------------------------------------------------------------------- barriers, branches */

/* Fewer instructions between two barriers than that: the warps of a block spend their time meeting. */
#define BARRIER_CODE    64.0
/*
 * Measured on an H200, blocks of 1 to 32 warps, 1 to 64 warps on an SM (19 to 82 cycles for one block, 140 for 64 warps
 * in 2 to 8 blocks): a barrier takes its block some cycles and more for each warp; all blocks of an SM together some for
 * each warp, unless others compute meanwhile.
 */
#define BARRIER_ALONE   17.0
#define BARRIER_WARP    2.0
#define BARRIER_SM_WARP 2.2
/* With a round trip through shared memory behind it (the same measurement; tables/latency.def). */
#define BARRIER_SHARED  25.0

static double barrier_least(const struct advice_case *c)
{
	return BARRIER_ALONE + BARRIER_WARP * c->occupancy->warps_per_block;
}

static double barrier_most(const struct advice_case *c)
{
	return fmax(barrier_least(c) + BARRIER_SHARED,
		    isnan(c->resident) ? 0 : BARRIER_SM_WARP * c->resident);
}

/* Cycles of a turn: from the time where one loop that is counted takes it all, else from its parts. */
static double turn_cycles(const struct advice_case *c)
{
	const struct metric_mix *m = &c->sass->hot;
	double by_parts = m->barriers * barrier_most(c) + m->issued +
			  (m->loads + m->copies > 0 ? ADVICE_DRAM_LEAST : 0);

	if (c->us > ADVICE_FIXED_MOST_US && c->hot->trips > 0 && c->hot->depth == 1 &&
	    c->occupancy->waves > 0 && !isnan(c->clock_mhz))
		return fmax((c->us - ADVICE_FIXED_MOST_US) * c->clock_mhz / (double)c->hot->trips /
				    ceil(c->occupancy->waves),
			    m->barriers * barrier_least(c));
	return by_parts;
}

enum advice_outcome rule_barriers(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_mix *m = c->sass && c->hot ? &c->sass->hot : NULL;
	double turn, less;

	if (!m || m->barriers < 2 || m->issued >= BARRIER_CODE * m->barriers || !c->occupancy ||
	    c->occupancy->warps_per_block < 2 || m->products > 0)
		return ADVICE_SILENT;
	if (advice_is_saturated(c))
		return advice_against(d, "%.0f barriers in a turn of %.0f instructions, but %s",
				      m->barriers, m->issued, advice_saturation(c));
	advice_evidence(d, "%.0f barriers in a turn of the loop at 0x%llx", m->barriers,
			(unsigned long long)c->hot->start);
	advice_evidence(d, "%.0f instructions in that turn: one barrier for every %.0f", m->issued,
			m->issued / m->barriers);
	advice_stalls(d, advice_stall(c, barrier), "barrier");
	/* All but one of them fall away. */
	less = m->barriers - 1;
	turn = turn_cycles(c);
	advice_gain_ratio(d, 1 - fmin(1, less * barrier_least(c) / turn),
			  1 - fmin(1, less * barrier_most(c) / turn));
	advice_conflict(d, "two buffers in turn take twice the shared memory");
	if (c->cliff && c->cliff->smem_per_block_bytes > 0)
		advice_conflict(d, "twice %lld bytes: %s",
				(long long)c->cliff->smem_per_block_bytes,
				advice_room(d, c->cliff->double_buffer_blocks_per_sm));
	advice_try(
		d,
		"two buffers in turn need one barrier per turn; what a warp shares with itself needs __syncwarp; do more per turn",
		"fewer BAR in the loop, less time",
		"the warps waited for something else, and met at the barrier");
	return ADVICE_GIVEN;
}

#define DIVERGENCE_LEAST_PCT 10.0

/* Instructions of the sides may be slower than the rest by so much. */
#define SIDE_SLACK 1.1

/* A branch on which lanes part, with what its sides issue of all that a warp issues. */
struct parting {
	const struct metric_site *site;
	double sides;     /* share of both together */
	double low, high; /* of that, what warps of one mind would not issue */
};

/*
 * A warp whose lanes part issues both sides; sorted by path, a share of the warps as large as the share of the lanes
 * issues one, the others the other. Which of the two is the longer one is not known.
 */
static struct parting parting_of(const struct advice_case *c, const struct metric_site *s)
{
	const double taken = s->lanes / LANES, less = s->excess.value, more = s->excess.high;
	const double times = quantity_known(&s->requests) ? s->requests.value / c->warps : 1;
	const double a = ((1 - taken) * less + taken * more) / (less + more);
	const double b = ((1 - taken) * more + taken * less) / (less + more);

	return (struct parting){s, fmin(1, times * (less + more) / c->sass->whole.issued),
				fmin(a, b), fmax(a, b)};
}

/* That which costs most; .site NULL = none that is known. */
static struct parting worst_parting(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	struct parting worst = {0};

	for (size_t i = 0; a && c->sass && c->warps > 0 && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		struct parting p;

		if (strcmp(s->kind, "branch") || !(s->lanes > 0) || !(s->lanes < LANES) ||
		    !quantity_known(&s->excess) || !(s->excess.value > 0) ||
		    !(s->excess.high >= s->excess.value))
			continue;
		p = parting_of(c, s);
		if (!worst.site || p.sides * p.low > worst.sides * worst.low)
			worst = p;
	}
	return worst;
}

static void say_parting(struct advice_draft *d, const struct parting *p)
{
	const struct metric_site *s = p->site;
	char pct[TEXT_NUMBER];

	advice_evidence(d, "%s parts the lanes of a warp: %.0f of %.0f take it", advice_site(d, s),
			s->lanes, LANES);
	advice_evidence(
		d, "its sides have %.0f and %.0f instructions, together %s of what a warp issues",
		s->excess.value, s->excess.high, text_pct(pct, 100 * p->sides));
}

enum advice_outcome rule_divergence(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_access *a = c->k->access;
	const struct parting p = worst_parting(c);
	double low = p.sides * p.low, high = p.sides * p.high;
	char pct[TEXT_NUMBER];

	if (a && quantity_known(&a->divergence_pct) && a->divergence_pct.value / 100 > high) {
		high = a->divergence_pct.value / 100;
		low = fmax(low, isnan(a->divergence_pct.low) ? 0 : a->divergence_pct.low / 100);
	}
	if (!(100 * high >= DIVERGENCE_LEAST_PCT))
		return ADVICE_SILENT;
	text_pct(pct, 100 * high);
	if (c->class == CLASS_MEMORY)
		return advice_against(
			d, "lanes part, at the cost of up to %s of what is issued, but %s", pct,
			advice_saturation(c));
	if (p.site)
		say_parting(d, &p);
	if (quantity_known(&a->divergence_pct))
		advice_evidence(d, "lanes idle in %s of the issue slots",
				text_pct(pct, a->divergence_pct.value));
	advice_evidence(d, "up to %s of what is issued is for lanes that idle",
			text_pct(pct, 100 * high));
	/* Other waits, and code of a side that is seldom executed, may hide a part. */
	advice_gain_ratio(d, 1 - 0.7 * low, 1 - fmin(1, SIDE_SLACK * high));
	advice_conflict(d, "sorting work by path costs a pass, and may spread what lanes access");
	advice_try(
		d,
		"decide by warp in place of by lane (threadIdx.x / 32), sort the work by path, or compute both and select where short",
		"fewer instructions executed per result, less time",
		"the paths were short, or the compiler predicated them already");
	return ADVICE_GIVEN;
}
