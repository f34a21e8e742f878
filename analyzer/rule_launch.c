/*
 * rule_launch.c - what grid, block, resources, build and the launch itself say. See advice_case.h; the formulas are
 * explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "count.h"

/* A tail that wastes less is not worth another grid. */
#define TAIL_WASTE_LEAST_PCT 10.0

/* ------------------------------------------------------------------------------------- grid */

/* Operands and branches make a chain of a loop take a little longer than its latencies. */
#define CHAIN_SLACK 1.15

/*
 * What a warp that has a scheduler for itself still takes: work that is one chain gets no faster by being spread, once no
 * other warp is in its way. Of a loop without loads; a loop with loads can be split.
 */
static double chain_share(const struct advice_case *c)
{
	const struct metric_loop *l = c->hot;
	const double warps = c->resident / c->hw->arch.partitions;

	if (!l || !(l->recurrence_cycles > 0) || !(l->issue_cycles > 0) || !(warps > 1) ||
	    c->sass->hot.loads + c->sass->hot.copies > 0)
		return 0;
	return fmin(1, CHAIN_SLACK * fmax(l->recurrence_cycles, l->issue_cycles) /
			       (warps * l->issue_cycles));
}

/* Fewer blocks than SMs: some never work. */
static void few_blocks(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	char waves[TEXT_NUMBER], pct[TEXT_NUMBER];

	advice_evidence(d, "%.0f %s for %.0f SMs: %.0f never work", c->blocks,
			advice_plural(c->blocks, "block", "blocks"), c->sm_count,
			c->sm_count - c->blocks);
	advice_evidence(d, "%s waves: %s of the room for warps is used",
			text_ratio(waves, o->waves), text_pct(pct, 100 * o->waves));
	/*
	 * At least the idle SMs share the work. At most all the room for warps does where most SMs idle, as then
	 * latency sets the time; else as many warps as hide it.
	 */
	advice_gain_ratio(d, fmax(c->blocks / c->sm_count, chain_share(c)),
			  c->blocks < c->sm_count / 2
				  ? o->waves
				  : c->blocks / c->sm_count *
					    fmin(1, c->resident / o->enough_warps_at));
}

/* Every SM works, on fewer warps than hide latency. */
static void few_warps(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	const double ratio = c->resident / o->enough_warps_at;
	char waves[TEXT_NUMBER];

	advice_evidence(d, "the grid puts %.0f %s on an SM; from %d on latency counts as hidden%s",
			c->resident, advice_plural(c->resident, "warp", "warps"),
			o->enough_warps_at, o->enough_is_published ? "" : " (a rule of thumb)");
	advice_evidence(d, "%s waves: there is room for %d warps per SM",
			text_ratio(waves, o->waves), o->warps_per_sm);
	/* Latency-bound throughput grows with the warps; half of that where it is bound a little. */
	advice_gain_ratio(d, (1 + ratio) / 2, ratio);
}

/* Whether issuing the code of the resident warps takes as long as its longest chain: then more warps bring nothing. */
static bool issues_enough(const struct advice_case *c)
{
	const struct metric_loop *l = c->hot;
	const double schedulers = c->hw->arch.partitions;

	return l && schedulers > 0 && l->recurrence_loads == 0 &&
	       fmax(1, c->resident / schedulers) * l->issue_cycles >= l->recurrence_cycles &&
	       c->sass->hot.loads + c->sass->hot.shared + c->sass->hot.copies == 0;
}

enum advice_outcome rule_parallelism(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	char waves[TEXT_NUMBER];

	if (!o || !(o->waves < 1) || isnan(c->blocks) || isnan(c->sm_count) || isnan(c->resident))
		return ADVICE_SILENT;
	if (advice_is_saturated(c))
		return advice_against(d, "%s waves, but %s: the blocks that there are suffice",
				      text_ratio(waves, o->waves), advice_saturation(c));
	if (c->blocks < c->sm_count)
		few_blocks(c, d);
	else if (c->resident >= o->enough_warps_at)
		return ADVICE_SILENT;
	else if (issues_enough(c))
		return advice_against(
			d,
			"the grid puts only %.0f %s on an SM, but in the hottest loop a turn takes %.0f cycles to issue, and its longest chain %.0f: the pipes are busy",
			c->resident, advice_plural(c->resident, "warp", "warps"),
			c->hot->issue_cycles, c->hot->recurrence_cycles);
	else
		few_warps(c, d);
	advice_conflict(d,
			"smaller tiles load more for the same work; splitting a sum needs a second "
			"pass or atomics, and changes the order of rounding");
	advice_try(
		d,
		advice_text(
			d,
			"at least %.0f blocks of this size (%.0f SMs x %d per SM), or split each block's work",
			c->sm_count * o->blocks_per_sm, c->sm_count, o->blocks_per_sm),
		"time falls in proportion to the waves, up to one",
		"the work is too small for this GPU: run independent kernels beside it, or enlarge the batch");
	return ADVICE_GIVEN;
}

/*
 * How long the last wave takes, of a full one. The fewer blocks on an SM have all of it: they are done in their share
 * of the time, but no faster than so few warps, which wait for themselves, let it be.
 */
#define TAIL_WARPS 3.0  /* times as many as hide latency issue as fast as a full SM */
#define TAIL_SLACK 1.25 /* blocks are of unequal length */
#define TAIL_ALONE 0.85 /* few SMs run at a higher clock, and have L2 and memory to themselves */
#define TAIL_PARTS \
	4.0 /* blocks of a fourth are what surely can be had: the busiest SM then has one of these more */

static void last_wave(const struct occupancy *o, double *least, double *most)
{
	const double full = o->blocks_per_sm, blocks = ceil(full * o->last_wave_pct / 100 - 1e-9);
	const double waiting = TAIL_WARPS * o->enough_warps_at / o->warps_per_sm;

	*least = fmin(1, fmax(1, blocks) / full);
	*most = fmin(1, fmax(TAIL_SLACK * *least, waiting));
}

/* Waves that the same work takes in smaller blocks, which do not come out even either. */
static double even_waves(const struct occupancy *o)
{
	const double parts = TAIL_PARTS * o->blocks_per_sm;

	return ceil(o->waves * parts - 1e-9) / parts;
}

enum advice_outcome rule_tail(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	char waves[TEXT_NUMBER], full[TEXT_NUMBER], waste[TEXT_NUMBER];
	double whole, least, most;

	if (!o || !(o->waves > 1) || !(o->last_wave_pct < 100) || o->blocks_per_sm <= 0 ||
	    !(o->tail_waste_pct >= TAIL_WASTE_LEAST_PCT))
		return ADVICE_SILENT;
	text_ratio(waves, o->waves);
	text_pct(waste, o->tail_waste_pct);
	if (c->attained_pct >= ADVICE_NEAR_PEAK_PCT)
		return advice_against(d, "%s waves would waste %s of the SM time, but %s", waves,
				      waste, advice_saturation(c));
	last_wave(o, &least, &most);
	whole = floor(o->waves);
	advice_evidence(d, "%s waves: the last is %s full", waves,
			text_pct(full, o->last_wave_pct));
	advice_evidence(d, "%s of the SM time idles when all blocks take equally long", waste);
	advice_gain_ratio(d, fmin(1, even_waves(o) / (whole + TAIL_ALONE * least)),
			  o->waves / (whole + most));
	advice_try(
		d,
		advice_text(
			d,
			"a grid of a multiple of %.0f blocks (%.0f SMs x %d per SM), smaller blocks, or a "
			"persistent kernel of one wave that takes its work from a counter",
			c->sm_count * o->blocks_per_sm, c->sm_count, o->blocks_per_sm),
		"the same work in less time, with a last wave that is full",
		"blocks take unequal time, or one left alone on an SM is done at once: balance the work between blocks");
	return ADVICE_GIVEN;
}

/* Once blocks no longer set the time, kernels that do little for each byte reach so much of the bandwidth. */
#define FREED_LEAST 0.65
#define FREED_MOST  0.9
/* A fourth of the blocks are worth asking for; to a fourth falls what starting them takes. */
#define FEWER       4.0

/* us that all warps need to issue what they execute; 0 = not known. */
static double issue_us(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	const double slots = c->sm_count * c->hw->arch.partitions * c->clock_mhz;

	return a && quantity_known(&a->warp_instructions) && slots > 0
		       ? a->warp_instructions.value / slots
		       : 0;
}

enum advice_outcome rule_block_starts(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	const double pct = roofline_starts_pct(c->hw, o, c->blocks, c->us);
	const double start = arch_start_us(c->hw, c->blocks);
	/* The L2 gives at least what DRAM would. */
	const double slow = advice_bytes_us(c, c->fits_l2 ? FREED_MOST : FREED_LEAST, false),
		     fast = advice_bytes_us(c, FREED_MOST, true);
	char n[TEXT_NUMBER], us[TEXT_NUMBER], now[TEXT_NUMBER], most[TEXT_NUMBER];
	double after;

	if (!(pct >= ROOFLINE_STARTS_PCT) || isnan(c->sm_count))
		return ADVICE_SILENT;
	if (c->class == CLASS_COMPUTE ||
	    (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "starting %.0f blocks takes %s at least, but %s",
				      c->blocks, text_us(us, start), advice_saturation(c));
	text_us(us, c->us);
	advice_evidence(
		d,
		"%s blocks in %s: %s start per us, and %s is the most that was measured, whatever they do",
		text_count(n, (uint64_t)c->blocks), us, text_real(now, c->blocks / c->us),
		text_real(most, c->blocks / start));
	advice_evidence(
		d,
		"an SM has room for %d blocks of %d %s, and gets one every %.0f cycles: each must end by then in %.0f",
		o->blocks_per_sm, o->warps_per_block, o->warps_per_block == 1 ? "warp" : "warps",
		start / c->blocks * c->sm_count * c->clock_mhz,
		start / c->blocks * c->sm_count * c->clock_mhz * o->blocks_per_sm);
	if (!isnan(slow))
		advice_evidence(d, "its bytes take %s at the bandwidth of DRAM",
				text_us(us, slow * (c->fits_l2 ? FREED_MOST : FREED_LEAST)));
	/* What is left: the bytes, at worst what is issued now as well, and the starts of a fourth of the blocks. */
	after = isnan(slow) ? c->us : fmax(slow, fmax(issue_us(c), start / FEWER));
	advice_gain_ratio(d, fmin(1, after / c->us), fmin(1, isnan(fast) ? 0 : fast / c->us));
	advice_conflict(
		d,
		"larger blocks wait longer for their slowest warp, and leave more of an SM idle at the end");
	advice_try(
		d,
		advice_text(
			d,
			"at most %s blocks: larger ones, several elements per thread (16 bytes per lane), or a loop over a grid of a few waves",
			text_count(n, (uint64_t)(c->blocks / FEWER))),
		"time falls with the blocks, until memory or arithmetic is busy",
		"the work of a block grew as fast as the blocks became fewer: look at what its warps wait for");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- room on an SM */

static int64_t smem_of(const struct advice_case *c)
{
	const int known = c->k->resources.static_smem_bytes;

	return known < 0 ? -1 : (int64_t)known + c->k->shape->dyn_smem_bytes;
}

/* The most registers per thread with which an SM holds at least `warps`, by steps of 8; 0 = none. */
static int registers_for(const struct advice_case *c, int warps, struct occupancy *o)
{
	for (int r = c->k->resources.registers - 1; r >= 16; r--)
		if (r % 8 == 0 && advice_occupancy(c, r, smem_of(c), o) && o->warps_per_sm >= warps)
			return r;
	return 0;
}

static int64_t smem_for(const struct advice_case *c, int warps, struct occupancy *o)
{
	for (int k = c->occupancy->blocks_per_sm + 1; k <= c->hw->arch.blocks_per_sm; k++) {
		const int64_t bytes = smem_usable(&c->hw->arch, k);

		if (bytes > 0 && bytes < smem_of(c) &&
		    advice_occupancy(c, c->k->resources.registers, bytes, o) &&
		    o->warps_per_sm >= warps)
			return bytes;
	}
	return 0;
}

static void fewer_registers(const struct advice_case *c, struct advice_draft *d, int warps)
{
	const int now = c->k->resources.registers;
	struct occupancy o;
	const int r = registers_for(c, warps, &o);

	if (!r) {
		advice_try(d, "smaller blocks, or a kernel of fewer registers",
			   "more warps per SM, less time", "warps were not what was missing");
		return;
	}
	advice_conflict(
		d,
		"%d registers fewer per thread: what stays live in more than %d goes to local memory",
		now - r, r);
	advice_try(
		d,
		advice_text(d, "__launch_bounds__ or -maxrregcount for %d registers (%d now)", r,
			    now),
		advice_text(
			d,
			"%d blocks and %d warps per SM (%d and %d now), no LDL or STL, less time",
			o.blocks_per_sm, o.warps_per_sm, c->occupancy->blocks_per_sm,
			c->occupancy->warps_per_sm),
		"spills cost more than the warps bring: split the kernel, or give each warp more loads in flight");
}

static void less_smem(const struct advice_case *c, struct advice_draft *d, int warps)
{
	struct occupancy o;
	const int64_t bytes = smem_for(c, warps, &o);
	char now[TEXT_NUMBER], then[TEXT_NUMBER];

	if (!bytes) {
		advice_try(d, "a smaller tile", "more blocks per SM, less time",
			   "warps were not what was missing");
		return;
	}
	advice_conflict(d, "a tile of %s in place of %s loads more for the same work",
			text_count(then, (uint64_t)bytes), text_count(now, (uint64_t)smem_of(c)));
	advice_try(
		d,
		advice_text(
			d,
			"at most %s bytes of shared memory per block (%s now), or more warps per block on the same bytes",
			then, now),
		advice_text(d, "%d blocks and %d warps per SM (%d and %d now), less time",
			    o.blocks_per_sm, o.warps_per_sm, c->occupancy->blocks_per_sm,
			    c->occupancy->warps_per_sm),
		"the smaller tile loads more than the warps bring: raise the work per warp instead");
}

/* What limits the blocks of an SM, where that is registers or shared memory. */
static const char *limit_of(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;

	return advice_text(d, "%s limit it to %d %s",
			   o->limiter == LIMIT_SMEM ? "bytes of shared memory" : "registers",
			   o->blocks_per_sm, advice_plural(o->blocks_per_sm, "block", "blocks"));
}

/* What to do about that limit for so many warps on an SM. */
static void room_for(const struct advice_case *c, struct advice_draft *d, int warps)
{
	if (c->occupancy->limiter == LIMIT_SMEM)
		less_smem(c, d, warps);
	else
		fewer_registers(c, d, warps);
}

/*
 * Memory counts as saturated from 60% on, and streams reach 75% or more. Between the two it lacks warps where those that
 * there are have fewer bytes in flight than bandwidth x latency, or do not load all of the time, as those that go
 * through shared memory.
 */
static bool lacks_warps(const struct advice_case *c)
{
	const struct metric_mix *m = !c->sass ? NULL : c->hot ? &c->sass->hot : &c->sass->whole;

	return c->occupancy && c->occupancy->enough_warps == 0 && c->class == CLASS_MEMORY &&
	       !c->fits_l2 && c->memory_pct < ADVICE_NEAR_BANDWIDTH_PCT && m &&
	       c->sass->whole.loads > 0 && c->sass->whole.copies == 0 &&
	       (c->sass->whole.shared > 0 || c->resident * (m->load_bytes + m->store_bytes) <
						     ADVICE_DRAM_MOST * advice_dram_rate(c));
}

/* Warps that bring bytes in flight need a tenth more at least to be worth their registers. */
#define WARPS_WORTH 1.1
/* Of what more warps promise so much is surely saved: registers that are saved are spilled, or computed again. */
#define WARPS_SURE  0.75

/*
 * Whether that many registers do for the code that streams. Those of a loop are what it names; of a kernel without loops
 * all are taken to be needed, but where the most of it is for few warps.
 */
static bool suffices(const struct advice_case *c, int registers)
{
	if (c->hot)
		return c->hot->registers > 0 && (int)c->hot->registers <= registers;
	return advice_is_partly_sure(c);
}

/*
 * Code that streams waits for its loads with any number of warps below bandwidth x latency, however many hide the
 * latency of other code. How many of them there will be is what fits.
 */
static bool fits(const struct advice_case *c, double wanted, int *warps)
{
	const struct occupancy *o = c->occupancy;
	struct occupancy then = {0};

	wanted = isnan(wanted) ? NAN : fmin(wanted, c->sm_warps); /* the grid has no more */
	if ((o->limiter != LIMIT_REGISTERS && o->limiter != LIMIT_SMEM) || !(o->waves >= 1) ||
	    !(wanted >= WARPS_WORTH * o->warps_per_sm))
		return false;
	for (*warps = (int)wanted; *warps > o->warps_per_sm; --*warps) {
		const int registers =
			o->limiter == LIMIT_REGISTERS ? registers_for(c, *warps, &then) : 0;

		if (registers > 0 ? suffices(c, registers)
				  : o->limiter == LIMIT_SMEM && smem_for(c, *warps, &then) > 0)
			return *warps >= WARPS_WORTH * o->warps_per_sm;
	}
	return false;
}

static bool streams(const struct advice_case *c, int *warps)
{
	return fits(c, advice_warps_wanted(c), warps);
}

static enum advice_outcome warps_for_bytes(const struct advice_case *c, struct advice_draft *d,
					   int warps)
{
	const struct occupancy *o = c->occupancy;
	const double ratio = (double)o->warps_per_sm / warps;
	char pct[TEXT_NUMBER];

	advice_evidence(d, "%d warps per SM, and %s", o->warps_per_sm, limit_of(c, d));
	advice_evidence(
		d,
		"the code streams: its loads wait for nothing but their turn, and from %.0f warps on bytes enough are in flight for DRAM",
		advice_warps_wanted(c));
	if (!isnan(c->memory_pct))
		advice_evidence(d, "memory at %s of its peak, where streams reach %.0f%% or more",
				text_pct(pct, c->memory_pct), ADVICE_NEAR_BANDWIDTH_PCT);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	advice_gain_ratio(d, 1 - WARPS_SURE * (1 - ratio), ratio);
	room_for(c, d, warps);
	return ADVICE_GIVEN;
}

/* Of what more warps promise, where they wait for other things between their loads: barriers, shared memory. */
#define WARPS_LEAST         0.6
/* The most of the bandwidth by data sheet that streams reach. */
#define WARPS_BANDWIDTH_PCT 92.0

/*
 * Latency-bound code loads too little at a time with these warps, even if all of them always did: whatever else it waits
 * for, more of them wait at the same time, until a unit is busy.
 */
static bool loads_little(const struct advice_case *c, int *warps)
{
	double wanted;

	if (isnan(advice_flight(c, &wanted)) || !fits(c, wanted, warps))
		return false;
	/* two blocks in place of one are what KBN-A017 asks for */
	return !c->cliff || !c->cliff->above_cliff || *warps > 2 * c->occupancy->warps_per_sm;
}

static enum advice_outcome warps_for_loads(const struct advice_case *c, struct advice_draft *d,
					   int warps)
{
	const struct occupancy *o = c->occupancy;
	const double ratio = (double)o->warps_per_sm / warps;
	const double memory = isnan(c->memory_pct) ? 0 : c->memory_pct / WARPS_BANDWIDTH_PCT;
	const double issue = isnan(c->issue_pct) ? 0 : c->issue_pct / 100;
	const double best = fmin(1, fmax(ratio, fmax(memory, issue)));
	double wanted;
	char has[TEXT_NUMBER], wants[TEXT_NUMBER], pct[TEXT_NUMBER];

	advice_evidence(d, "%d warps per SM, and %s", o->warps_per_sm, limit_of(c, d));
	advice_evidence(
		d,
		"between two waits they load %s at most, and DRAM delivers %s in a latency of %.0f cycles",
		text_bytes(has, (int64_t)advice_flight(c, &wanted)),
		text_bytes(wants, (int64_t)(ADVICE_DRAM_LEAST * advice_dram_rate(c))),
		ADVICE_DRAM_LEAST);
	if (!isnan(c->memory_pct))
		advice_evidence(d, "memory at %s of its peak", text_pct(pct, c->memory_pct));
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	advice_gain_ratio(d, 1 - WARPS_LEAST * (1 - best), best);
	room_for(c, d, warps);
	return ADVICE_GIVEN;
}

enum advice_outcome rule_raise_occupancy(const struct advice_case *c, struct advice_draft *d)
{
	const struct occupancy *o = c->occupancy;
	const bool lacks = lacks_warps(c);
	const bool is_saturated = advice_is_saturated(c) && !lacks;
	char pct[TEXT_NUMBER];
	double ratio;
	int warps;

	if (!o || o->warps_per_sm <= 0 || o->limiter < 0)
		return ADVICE_SILENT;
	text_pct(pct, o->pct);
	if (o->pct < 50 && is_saturated)
		return advice_against(d, "occupancy %s, but %s: more warps would wait for it too",
				      pct, advice_saturation(c));
	if (o->pct < 50 && c->class == CLASS_LATENCY && streams(c, &warps))
		return warps_for_bytes(c, d, warps);
	if (o->pct < 50 && c->class == CLASS_LATENCY && o->enough_warps == 1 &&
	    loads_little(c, &warps))
		return warps_for_loads(c, d, warps);
	if (o->pct < 50 && c->class == CLASS_LATENCY && o->enough_warps == 1)
		return advice_against(
			d,
			"occupancy %s, but %d warps per SM are above the %d from which latency "
			"counts as hidden: look for what they wait for",
			pct, o->warps_per_sm, o->enough_warps_at);
	if (is_saturated || (c->class != CLASS_LATENCY && !lacks && !advice_waits(c)) ||
	    o->enough_warps != 0 || (o->limiter != LIMIT_REGISTERS && o->limiter != LIMIT_SMEM))
		return ADVICE_SILENT;
	ratio = (double)o->warps_per_sm / o->enough_warps_at;
	advice_evidence(d, "%d warps per SM, from %d on latency counts as hidden%s",
			o->warps_per_sm, o->enough_warps_at,
			o->enough_is_published ? "" : " (a rule of thumb)");
	advice_evidence(d, "%s per SM", limit_of(c, d));
	if (lacks)
		advice_evidence(d, "memory at %s of its peak, where streams reach %.0f%% or more",
				text_pct(pct, c->memory_pct), ADVICE_NEAR_BANDWIDTH_PCT);
	else if (c->class != CLASS_LATENCY)
		advice_evidence(
			d,
			"a turn of the hottest loop takes %.0f cycles to issue and waits for a load, which takes %.0f or more",
			c->hot->issue_cycles, ADVICE_L2_LEAST);
	/* Latency-bound throughput grows with the warps, until they are enough. */
	advice_gain_ratio(d, (1 + ratio) / 2, ratio);
	room_for(c, d, o->enough_warps_at);
	return ADVICE_GIVEN;
}

enum advice_outcome rule_above_cliff(const struct advice_case *c, struct advice_draft *d)
{
	const struct smem_cliff *s = c->cliff;
	const bool has_barriers = c->sass && c->hot && c->sass->hot.barriers > 0;
	char bytes[TEXT_NUMBER], less[TEXT_NUMBER];
	struct occupancy o;
	int64_t below;

	if (!s || !s->above_cliff || !c->occupancy || s->to_next_step_bytes <= 0 ||
	    !(c->blocks > c->sm_count))
		return ADVICE_SILENT;
	if (fmax(c->memory_pct, c->compute_pct) >= ADVICE_NEAR_PEAK_PCT)
		return advice_against(d, "one block per SM by shared memory alone, but %s with it",
				      advice_saturation(c));
	below = s->smem_per_block_bytes - s->to_next_step_bytes;
	text_count(bytes, (uint64_t)s->smem_per_block_bytes);
	advice_evidence(d, "%s bytes of shared memory per block leave room for one block per SM",
			bytes);
	advice_evidence(d, "registers, warps and blocks would allow two: %s less",
			s->to_next_step_bytes == 1
				? "1 byte"
				: advice_text(d, "%s bytes",
					      text_count(less, (uint64_t)s->to_next_step_bytes)));
	if (has_barriers)
		advice_evidence(
			d,
			"%.0f %s in a turn of the hottest loop: an SM with one block idles at each",
			c->sass->hot.barriers,
			advice_plural(c->sass->hot.barriers, "barrier", "barriers"));
	/*
	 * Two blocks at a time need between half of the time, where latency sets it, and nearly all, where a unit
	 * does. With one block at barriers nothing covers the wait.
	 */
	advice_gain(d, has_barriers ? 25 : 5, 50);
	if (advice_occupancy(c, c->k->resources.registers, below, &o))
		advice_conflict(d, "at %lld bytes: %s", (long long)below,
				advice_room(d, o.blocks_per_sm));
	advice_conflict(d, "a smaller tile loads more for the same work");
	advice_try(
		d,
		advice_text(d, "at most %lld bytes of shared memory per block", (long long)below),
		"two blocks per SM, and less time",
		"the tile's reuse is worth more than a second block: keep it, and raise the work per byte (larger K, more registers)");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- launch and build */

/* Host time of one launch: 3.6 to 4.6 us on the machine of the H200. */
#define LAUNCH_HOST_US  4.0
#define LAUNCH_LEAST    32
#define LAUNCH_BUSY_PCT 80.0

/*
 * No longer than what every kernel takes, or hardly longer with SMs that have no block: then the launches themselves
 * are the time, whatever else keeps the GPU busy.
 */
static bool is_short(const struct advice_case *c)
{
	return c->k->launches >= LAUNCH_LEAST &&
	       (c->us < ADVICE_FIXED_MOST_US ||
		(c->us < 2 * ADVICE_FIXED_MOST_US && c->blocks < c->sm_count));
}

/*
 * Of a launch's time, what its work takes at best where others are done with it: a part of what is issued, as what stays
 * on the chip needs no addresses, loads and stores. Where nobody knows what is issued, more.
 */
#define JOINED_ISSUED 0.25
#define JOINED_OPEN   0.1

static double least_of_launch(const struct advice_case *c)
{
	return c->issue_pct > 0 ? fmin(JOINED_OPEN, JOINED_ISSUED * c->issue_pct / 100)
				: JOINED_OPEN;
}

enum advice_outcome rule_launch(const struct advice_case *c, struct advice_draft *d)
{
	const bool is_bound = c->k->verdict.launch_bound || c->class == CLASS_LAUNCH;
	char us[TEXT_NUMBER], n[TEXT_NUMBER], busy[TEXT_NUMBER];
	double room, sms;

	if (isnan(c->us) || (!is_bound && !is_short(c)))
		return ADVICE_SILENT;
	text_us(us, c->us);
	advice_evidence(d, "%s a launch, %s %s", us, text_count(n, c->k->launches),
			text_plural(c->k->launches, "launch", "launches"));
	if (is_bound)
		advice_evidence(d, "it is shorter than the gap to the next launch");
	else
		advice_evidence(
			d,
			"an empty kernel takes %.1f us, one that loads and stores once up to %.0f",
			ADVICE_FIXED_LEAST_US, ADVICE_FIXED_MOST_US);
	if (!is_bound && c->run->busy_pct < LAUNCH_BUSY_PCT)
		advice_evidence(
			d,
			"kernels ran in at most %s of the recorded time: the GPU waits for the host, "
			"to which a launch costs about %.0f us",
			text_pct(busy, c->run->busy_pct), LAUNCH_HOST_US);
	if (c->blocks < c->sm_count)
		advice_evidence(d, "%.0f %s of each launch for %.0f SMs", c->blocks,
				advice_plural(c->blocks, "block", "blocks"), c->sm_count);
	/*
	 * Launches that are joined share the fixed part, and fill the SMs that one alone leaves idle. The gaps that go
	 * with them are not this kernel's time.
	 */
	room = c->occupancy && c->occupancy->waves < 1 ? c->occupancy->waves : 1;
	sms = c->blocks < c->sm_count ? c->blocks / c->sm_count : 1;
	d->is_fixed_shared = true;
	advice_gain(d, 100 * (1 - sms * fmax(0, c->us - ADVICE_FIXED_LEAST_US) / c->us),
		    100 * (1 - room * fmax(least_of_launch(c),
					   (c->us - ADVICE_FIXED_MOST_US) / c->us)));
	advice_conflict(
		d,
		"a graph has fixed shapes and pointers; a larger batch needs memory and adds latency");
	advice_try(
		d,
		"capture the sequence into a CUDA graph, fuse it with its neighbours, or process more per launch",
		"busy share of the run rises, the run gets shorter",
		"the host waits for something else: look at synchronisations and copies");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_debug_build(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_sass *x = c->sass;
	uint32_t moves = 0;

	if (c->k->code.debug_build != 1)
		return ADVICE_SILENT;
	for (size_t i = 0; x && i < x->ops_n; i++)
		if (!strcmp(x->ops[i].op, "MOV") || !strcmp(x->ops[i].op, "LDL") ||
		    !strcmp(x->ops[i].op, "STL"))
			moves += x->ops[i].n;
	advice_evidence(d, "the code was compiled with -G: nothing is inlined or scheduled");
	if (x)
		advice_evidence(d, "%u of its %u instructions only move values (MOV, LDL, STL)",
				moves, x->instructions);
	else
		advice_evidence(d, "%d registers, %d bytes of local memory per thread",
				c->k->resources.registers, c->k->resources.local_bytes);
	/* Code without optimisation takes several times as long: 33 times in the pair that was measured. */
	advice_gain_ratio(d, 1 / 4.0, 1 / 50.0);
	advice_try(d, "compile without -G; -lineinfo keeps source lines at full speed",
		   "the trap is gone, and the kernel takes a fraction of the time",
		   "the build system adds -G elsewhere");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_jit(const struct advice_case *c, struct advice_draft *d)
{
	const struct session_image *image = c->k->shape->kernel ? c->k->shape->kernel->image : NULL;
	const int sm = c->hw->arch.sm;
	char first[TEXT_NUMBER], median[TEXT_NUMBER];

	/* Code for this architecture that is made at run time (Triton, NVRTC) is meant to be so. */
	if (!session_is_jit(image) || !image->sm || sm <= 0 || (int)image->sm >= sm)
		return ADVICE_SILENT;
	advice_evidence(d, "the program brings PTX for sm_%u, the device is sm_%d", image->sm, sm);
	if (!isnan(c->k->times.first) && !isnan(c->us))
		advice_evidence(d, "first launch %s, median %s", text_us(first, c->k->times.first),
				text_us(median, c->us));
	else
		advice_evidence(d, "the driver compiles it when it is loaded");
	/* What the compiler knows of the newer architecture; the start of the program gains more. */
	advice_gain(d, 0, 10);
	advice_try(d,
		   advice_text(d, "add -gencode arch=compute_%d,code=sm_%d to the build", sm, sm),
		   "no compilation at the start; a different code hash in the report",
		   "the kernel's own time does not depend on it: leave it at the faster start");
	return ADVICE_GIVEN;
}

/* Of the run, not of a kernel: see advice_of_run(). */
enum advice_outcome rule_host(const struct advice_case *c, struct advice_draft *d)
{
	(void)c;
	(void)d;
	return ADVICE_SILENT;
}

bool advice_of_run(struct metric_advice *out, const struct advice_run *run, struct arena *arena)
{
	const struct advice_row *row = &advice_rows[ADVICE_HOST];
	const struct advice_case c = {.arena = arena};
	struct advice_draft d = {.c = &c};
	char busy[TEXT_NUMBER], idle[TEXT_NUMBER];

	if (!(run->busy_pct < LAUNCH_BUSY_PCT))
		return false;
	text_pct(busy, run->busy_pct);
	advice_evidence(&d, "kernels ran in at most %s of the recorded time", busy);
	advice_evidence(&d, "in the other %s or more no kernel can get faster",
			text_pct(idle, 100 - run->busy_pct));
	advice_try(
		&d, "larger batches, CUDA graphs, asynchronous copies, fewer synchronisations",
		"the busy share rises and the program ends sooner",
		"most of the run is start-up: record a longer one, or the part that matters (--window profiler)");
	*out = d.item;
	out->id = row->id;
	out->title = row->title;
	out->source = row->source;
	out->gain_low_pct = out->gain_high_pct = out->share_of_run_pct = NAN;
	return !d.no_memory;
}
