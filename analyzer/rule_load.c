/*
 * rule_load.c - what loads say that wait: one chain of them, or too few bytes in flight; and what nothing waits for. See advice_case.h; the formulas are explained in
 * analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "access_cost.h"

#define LANES 32.0

/* ------------------------------------------------------------------------------------- latency of loads */

#define CHAIN_LEAST 4.0 /* loads in one chain outside of loops that are worth a word */
#define CHAINS      8.0 /* that a thread could follow at once */
/* Sectors here and there, more than the L2 holds, come at that part of DRAM's bandwidth: 0.49 measured on an H200. */
#define SCATTERED   0.5

/*
 * Loads of one chain in a turn. One that begins anew with each turn is as long as all together: the turn's end
 * waits for it, as instructions are issued in order.
 */
static double turn_chain(const struct metric_loop *l)
{
	return l->chain_loads >= CHAIN_LEAST ? fmax(l->chain_loads, l->recurrence_loads)
					     : l->recurrence_loads;
}

/* Loads of one chain that a warp follows in all, and of all chains; false = there is none. */
static bool load_chain(const struct advice_case *c, double *chain, double *all, bool *is_counted)
{
	const struct metric_sass *s = c->sass;
	const struct metric_loop *l = c->hot;

	if (!s)
		return false;
	if (l && turn_chain(l) >= 1 && l->turn_loads < 2 * turn_chain(l)) {
		*is_counted = l->trips > 0 && l->depth == 1;
		*chain = turn_chain(l) * (*is_counted ? (double)l->trips : 1);
		*all = l->turn_loads * (*is_counted ? (double)l->trips : 1);
		return true;
	}
	*is_counted = true;
	*chain = s->straight_loads;
	*all = s->straight_all_loads;
	return (!l || s->hot.loads == 0) && s->straight_loads >= CHAIN_LEAST &&
	       s->straight_all_loads < 2 * s->straight_loads;
}

/* A load whose address is just there takes so many cycles at most: DRAM, and pages that no table is at hand for. */
#define CHAINED_MOST (1.5 * ADVICE_DRAM_MOST)

/* Of all the time what a chain may take: it is followed once for each wave of blocks. */
static double chain_us(const struct advice_case *c, double chain)
{
	const double waves = c->occupancy && c->occupancy->waves > 1 ? ceil(c->occupancy->waves)
								     : 1;
	const double us = chain * CHAINED_MOST * waves / c->clock_mhz;

	return isnan(us) ? INFINITY : us;
}

/* Whether the data is known to be more than the L2 holds. */
static bool is_beyond_l2(const struct advice_case *c)
{
	return c->k->work_known && c->hw->l2_bytes > 0 && c->k->work.bytes > c->hw->l2_bytes;
}

static bool fits_l1(const struct advice_case *c)
{
	return c->k->work_known && c->k->work.bytes > 0 &&
	       c->k->work.bytes <= c->hw->arch.l1_kb * 1024.0 * c->sm_count;
}

/*
 * Whether the L1 gives what the chain loads, or much of it: the data fits there, or a load takes less than the latency of
 * the L2.
 */
static bool is_of_l1(const struct advice_case *c, double chain)
{
	const double waves = c->occupancy && c->occupancy->waves > 1 ? ceil(c->occupancy->waves)
								     : 1;

	return fits_l1(c) || c->us * c->clock_mhz / (chain * waves) < ADVICE_L2_LEAST;
}

/* Bytes per cycle and SM out of the nearest memory that may hold what a chain loads. */
static double nearest_rate(const struct advice_case *c, double chain)
{
	if (is_beyond_l2(c))
		return advice_dram_rate(c);
	return is_of_l1(c, chain) && advice_l1_rate(c) > 0 ? advice_l1_rate(c) : advice_l2_rate(c);
}

/* And at worst, of that bandwidth what such loads reach. */
static double farthest_rate(const struct advice_case *c, double bytes)
{
	if (c->k->work_known && c->fits_l2)
		return ADVICE_REACHED * advice_l2_rate(c);
	return advice_dram_rate(c) *
	       (c->warps * bytes > (double)c->hw->l2_bytes ? SCATTERED : ADVICE_REACHED);
}

enum advice_outcome rule_dependent_loads(const struct advice_case *c, struct advice_draft *d)
{
	double chain, all, bytes, best = 1 / CHAINS, worst = 0.5, each, share;
	bool is_counted;
	char us[TEXT_NUMBER];

	if (!load_chain(c, &chain, &all, &is_counted) || isnan(c->resident))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY || c->class == CLASS_COMPUTE)
		return advice_against(d, "loads wait for loads, but %s: other warps cover it",
				      advice_saturation(c));
	/* Where the addresses come from memory each lane fetches a sector of its own; a cache line at best serves four. */
	bytes = LANES * ACCESS_SECTOR_BYTES;
	if (is_counted && !isnan(c->us)) {
		each = advice_unit_us(c, all * bytes);
		best = fmax(best, each / nearest_rate(c, chain) / ADVICE_REACHED / c->us);
		worst = fmax(worst, each / farthest_rate(c, all * bytes) / c->us);
		share = fmin(1, chain_us(c, chain) / c->us);
		best = 1 - share * (1 - best);
		worst = 1 - share * (1 - fmin(1, worst));
	} else {
		/* Little: what the resident warps have in flight, of what each memory delivers in its latency. */
		best = fmax(best, c->resident * bytes / ADVICE_L2_MOST / advice_l2_rate(c));
		worst = fmax(worst, c->resident * bytes / ADVICE_DRAM_LEAST / advice_dram_rate(c));
	}
	if (isnan(best) || isnan(worst) || best >= 1)
		return ADVICE_SILENT;
	if (is_counted)
		advice_evidence(
			d, "a chain of %.0f loads, each of whose address the one before brings",
			chain);
	else if (c->hot->recurrence_loads >= 1)
		advice_evidence(
			d,
			"in each turn of the hottest loop the address comes from the turn before");
	else
		advice_evidence(
			d,
			"in a turn of the hottest loop %.0f loads follow one another: each brings the address of the next",
			chain);
	advice_evidence(d, "%.0f of %.0f loads%s are in that chain: %s in flight per thread", chain,
			all, is_counted ? "" : " of a turn",
			all < 2 * chain ? "one load" : "few loads");
	if (is_counted && !isnan(c->us))
		advice_evidence(d, "%s for each load of the chain, if the kernel does nothing else",
				text_us(us, c->us / chain));
	if (is_counted && !isnan(c->us) && !is_beyond_l2(c) && is_of_l1(c, chain))
		advice_evidence(
			d, "the L1 gives much of it: %s",
			fits_l1(c)
				? "an SM's share of the data fits there"
				: advice_text(d,
					      "that is less than the %.0f cycles that the L2 takes",
					      ADVICE_L2_LEAST));
	advice_gain_ratio(d, fmin(1, worst), best);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	advice_conflict(d, "each chain more takes registers for its address and value");
	advice_try(
		d,
		"let a thread follow several chains (2, 4, 8), or replace pointers by an array that can be read in order",
		"time falls nearly by the number of chains, until the memory is busy",
		"the memory is busy already: make the data smaller, or sort the accesses");
	return ADVICE_GIVEN;
}

/* What a warp moves and executes in a turn. */
struct stream_turn {
	double bytes, issued;
	double chain; /* times that it waits for loads, at least once */
};

/*
 * Code that streams: loads that wait for nothing but their turn, and little else. `sure` is what every warp does; on
 * a way that nobody knows who takes lies the rest of `all`.
 */
struct stream {
	const struct metric_mix *m;
	bool is_whole; /* no loop: the kernel is the turn, and the next block of its SM the next one */
	struct stream_turn sure, all;
	double resident, warps; /* on an SM, and of one scheduler */
};

#define STREAM_WAVES 2.0

static bool has_loops(const struct metric_sass *s)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (!s->loops[i].is_rare)
			return true;
	return false;
}

/* Of the code outside of loops what all warps surely do; false = not known, or it is all of it. */
static bool sure_turn(const struct advice_case *c, struct stream_turn *out)
{
	const struct metric_access *a = c->k->access;
	double bytes = 0, loads = 0, least;
	bool is_all = true;

	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const bool is_load = advice_is_kind(s, "load");
		double most = s->lane_bytes * LANES;

		if (!is_load && !advice_is_kind(s, "store"))
			continue;
		if (!quantity_known(&s->requests)) {
			is_all = false;
			continue;
		}
		if (quantity_known(&s->sectors_per_request))
			most = fmin(most, s->sectors_per_request.value * ACCESS_SECTOR_BYTES);
		bytes += most * s->requests.value / c->warps;
		loads += is_load && s->requests.value > 0;
	}
	least = a && a->warp_instructions.low > 0 ? a->warp_instructions.low / c->warps : 0;
	if (is_all || !(bytes > 0) || !(loads > 0))
		return false;
	*out = (struct stream_turn){bytes, least, fmin(out->chain, loads)};
	return true;
}

/* The hottest loop; where there is none the whole kernel. */
static bool stream_of(const struct advice_case *c, struct stream *out)
{
	const struct metric_sass *s = c->sass;
	const struct metric_mix *m = !s ? NULL : c->hot ? &s->hot : &s->whole;
	const double partitions = c->hw->arch.partitions;

	if (!m || !(m->loads > 0) || !(m->load_bytes > 0) || m->copies > 0 || m->shared > 0 ||
	    m->barriers > 0 || m->products > 0 || m->local > 0 || m->atomics > 0 ||
	    isnan(c->resident) || !(partitions > 0))
		return false;
	if (c->hot ? c->hot->recurrence_loads > 0 : has_loops(s))
		return false;
	/* All that a grid moves may be in flight at once. */
	if (!c->hot && !(c->occupancy && c->occupancy->waves >= STREAM_WAVES))
		return false;
	*out = (struct stream){.m = m,
			       .is_whole = !c->hot,
			       .all = {m->load_bytes + m->store_bytes, m->issued, 1},
			       .resident = c->resident,
			       .warps = fmax(1, c->resident / partitions)};
	/* Issued in order, a load behind the use of another one waits for it, whether or not it needs it. */
	out->all.chain = fmax(1, out->is_whole ? fmax(s->straight_loads, s->straight_waits)
					       : c->hot->load_waits);
	out->sure = out->all;
	/* Were all of it executed by all warps, it would take longer than the kernel does: few of them take that way. */
	if (out->is_whole && sure_turn(c, &out->sure) &&
	    advice_unit_us(c, m->issued / partitions) > c->us)
		out->all = out->sure;
	return !isnan(out->all.chain);
}

/* Cycles in which a scheduler issues a turn for all its warps. */
static double issue_of(const struct stream *s, const struct stream_turn *t)
{
	return s->warps * t->issued;
}

/*
 * What the resident warps move in a turn, of what a memory delivers meanwhile. A turn takes the latency of its loads and
 * the time in which a scheduler issues it for all its warps.
 */
static double in_flight(const struct stream *s, const struct stream_turn *t, double latency,
			double rate)
{
	return s->resident * t->bytes / (t->chain * latency + issue_of(s, t)) / rate;
}

/* At best: blocks of a kernel without loops start one by one, so that while one waits all others issue. */
static double in_flight_best(const struct stream *s, const struct stream_turn *t, double latency,
			     double rate)
{
	const double wait = t->chain * latency;
	const double turn = s->is_whole ? fmax(wait + t->issued, issue_of(s, t))
					: wait + issue_of(s, t);

	return s->resident * t->bytes / turn / rate;
}

static double least_of_turn(const struct advice_case *c, const struct stream *s,
			    const struct stream_turn *t)
{
	return fmin(in_flight(s, t, ADVICE_DRAM_MOST, advice_dram_rate(c)),
		    in_flight(s, t, ADVICE_L2_MOST, advice_l2_rate(c)));
}

static double flight_least(const struct advice_case *c, const struct stream *s)
{
	return fmin(least_of_turn(c, s, &s->sure), least_of_turn(c, s, &s->all));
}

static double most_of_turn(const struct advice_case *c, const struct stream *s,
			   const struct stream_turn *t)
{
	return fmax(in_flight_best(s, t, ADVICE_DRAM_LEAST, advice_dram_rate(c)),
		    in_flight_best(s, t, ADVICE_L2_LEAST, advice_l2_rate(c)));
}

static double flight_most(const struct advice_case *c, const struct stream *s)
{
	return fmax(most_of_turn(c, s, &s->sure), most_of_turn(c, s, &s->all));
}

/* Of the bandwidth that the bytes in flight allow, a kernel that waits for them reaches at least so much. */
#define FLIGHT_REACHED 0.5

/* Percent of the bandwidth, of the L2 where the data lies there, that the bytes in flight allow at least. */
static double allowed_pct(const struct advice_case *c, const struct stream *s)
{
	const double latency = c->fits_l2 ? ADVICE_L2_MOST : ADVICE_DRAM_MOST;
	const double rate = c->fits_l2 ? advice_l2_rate(c) : advice_dram_rate(c);

	return 100 * fmin(1, fmin(in_flight(s, &s->sure, latency, rate),
				  in_flight(s, &s->all, latency, rate)));
}

static bool waits_elsewhere(const struct advice_case *c, const struct stream *s)
{
	const double sms = fmin(1, c->blocks / c->sm_count);

	return c->us > 2 * ADVICE_FIXED_MOST_US &&
	       c->memory_pct < FLIGHT_REACHED * allowed_pct(c, s) * sms;
}

/* Of the bandwidth by data sheet the best streams reach so much (an H200: 90.5%). */
#define STREAMS_MOST_PCT 92.0

/* Whether too few bytes in flight are what it waits for, as far as is known; the share of the bandwidth that they allow. */
static bool lacks_bytes(const struct advice_case *c, const struct stream *s, double *least,
			double *most)
{
	*least = flight_least(c, s);
	*most = flight_most(c, s);
	return !isnan(*least) && !isnan(*most) && *least < ADVICE_REACHED &&
	       issue_of(s, &s->sure) <= ADVICE_DRAM_MOST &&
	       /* Whether it is enough depends on the latency, and no time says that something is missing. */
	       !(s->is_whole && *most >= 1 && isnan(c->memory_pct));
}

double advice_warps_wanted(const struct advice_case *c)
{
	double least, most, latency;
	struct stream s;

	if (!stream_of(c, &s) || !lacks_bytes(c, &s, &least, &most) || most >= 1 ||
	    waits_elsewhere(c, &s) || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return NAN;
	latency = s.sure.chain * ADVICE_DRAM_MOST;
	return fmin(c->hw->arch.warps_per_sm,
		    ceil(latency * advice_dram_rate(c) / fmax(s.sure.bytes, s.all.bytes)));
}

/* Of the code outside of loops nobody counts bytes: a load brings so many to a warp at most. */
#define LOAD_MOST (16 * LANES)

/* Bytes that a warp has in flight at most, in whatever code: what it loads between two waits. NaN = not known. */
static double flight_of_warp(const struct metric_sass *s)
{
	double most = s->straight_all_loads > 0
			      ? LOAD_MOST * s->straight_all_loads / fmax(1, s->straight_waits)
			      : 0;

	if (isnan(s->straight_all_loads) || isnan(s->straight_waits))
		return NAN;
	for (size_t i = 0; i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];

		if (l->is_rare || (l->load_ops == 0 && l->async_copies == 0))
			continue;
		if (l->async_copies > 0 || l->load_bytes_per_warp < 0 ||
		    (l->is_innermost && isnan(l->load_waits)))
			return NAN;
		most = fmax(most, (double)l->load_bytes_per_warp /
					  (l->is_innermost ? fmax(1, l->load_waits) : 1));
	}
	return most;
}

double advice_flight(const struct advice_case *c, double *wanted)
{
	const double each = c->sass && !c->sass->has_products ? flight_of_warp(c->sass) : NAN;
	const double least =
		fmin(ADVICE_DRAM_LEAST * advice_dram_rate(c), ADVICE_L2_LEAST * advice_l2_rate(c));
	struct access_cost cost;

	if (!(each > 0) || !(c->resident * each < least))
		return NAN;
	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	if (access_cost_wastes(&cost))
		return NAN;
	*wanted =
		fmin(c->hw->arch.warps_per_sm, ceil(ADVICE_DRAM_MOST * advice_dram_rate(c) / each));
	return c->resident * each;
}

/* What would have to be in flight: more than is, of the memory that is farther from it. */
static void say_wanted(const struct advice_case *c, const struct stream *s, struct advice_draft *d)
{
	const struct stream_turn *t = &s->sure;
	const double has = s->resident * t->bytes;
	const double wants = ADVICE_DRAM_MOST * advice_dram_rate(c);
	const bool is_l2 = in_flight(s, t, ADVICE_L2_MOST, advice_l2_rate(c)) <
			   in_flight(s, t, ADVICE_DRAM_MOST, advice_dram_rate(c));
	const double latency = is_l2 ? ADVICE_L2_MOST : ADVICE_DRAM_MOST;
	const double turn = t->chain * latency + issue_of(s, t);
	char text[TEXT_NUMBER];

	if (has < wants) {
		advice_evidence(
			d,
			"DRAM at a latency of %.0f cycles needs %s per SM in flight to be busy (bandwidth x latency)",
			ADVICE_DRAM_MOST, text_bytes(text, (int64_t)wants));
		return;
	}
	advice_evidence(
		d,
		"%s delivers %s to an SM in the %.0f cycles that a turn takes (a latency of %.0f, and issue for all warps)",
		is_l2 ? "the L2" : "DRAM",
		text_bytes(text,
			   (int64_t)(turn * (is_l2 ? advice_l2_rate(c) : advice_dram_rate(c)))),
		turn, t->chain * latency);
}

/* Much of the code is for some warps. */
static bool is_part(const struct stream *s)
{
	return s->sure.bytes < s->m->load_bytes + s->m->store_bytes;
}

bool advice_is_partly_sure(const struct advice_case *c)
{
	struct stream s;

	return stream_of(c, &s) && is_part(&s);
}

static void say_in_flight(const struct advice_case *c, struct advice_draft *d,
			  const struct stream *s)
{
	const double bytes = s->sure.bytes;
	char has[TEXT_NUMBER];

	text_bytes(has, (int64_t)(c->resident * bytes));
	if (is_part(s))
		advice_evidence(
			d,
			"a warp surely moves %.0f bytes, the rest of the code %s; %.0f warps on an SM: %s in flight",
			bytes,
			s->all.bytes > bytes ? "those that come there"
					     : "few of them, or it would take longer to issue",
			c->resident, has);
	else if (s->is_whole)
		advice_evidence(d,
				"a warp moves %.0f bytes in all; %.0f warps on an SM: %s in flight",
				bytes, c->resident, has);
	else
		advice_evidence(
			d,
			"a turn of the hottest loop moves %.0f bytes per warp; %.0f warps on an SM: %s in flight",
			bytes, c->resident, has);
	if (!s->is_whole && s->sure.chain > 1)
		advice_evidence(
			d,
			"but not at once: in a turn a warp waits %.0f times for loads, as it uses one before it issues the next",
			s->sure.chain);
	say_wanted(c, s, d);
}

enum advice_outcome rule_bytes_in_flight(const struct advice_case *c, struct advice_draft *d)
{
	struct stream s;
	struct occupancy o;
	double least, most;
	char pct[TEXT_NUMBER], allowed[TEXT_NUMBER];

	if (!stream_of(c, &s) || c->class == CLASS_COMPUTE || c->class == CLASS_BALANCED ||
	    !lacks_bytes(c, &s, &least, &most))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "%.0f bytes %s are few, but %s", s.sure.bytes,
				      s.is_whole ? "a warp" : "a turn and warp",
				      advice_saturation(c));
	if (waits_elsewhere(c, &s))
		return advice_against(
			d,
			"%.0f bytes %s allow %s or more of the bandwidth%s, but it is at %s: the kernel waits for something else",
			s.sure.bytes, s.is_whole ? "a warp" : "a turn and warp",
			text_pct(allowed, allowed_pct(c, &s)), c->fits_l2 ? " of the L2" : "",
			text_pct(pct, c->memory_pct));
	say_in_flight(c, d, &s);
	if (!isnan(c->memory_pct))
		advice_evidence(d, "memory at %s of its peak", text_pct(pct, c->memory_pct));
	if (c->occupancy && c->occupancy->limiter == LIMIT_BLOCKS)
		advice_evidence(
			d,
			"an SM holds at most %d blocks of any size: larger ones bring more than %d of its %d warps",
			c->hw->arch.blocks_per_sm, c->occupancy->warps_per_sm,
			c->hw->arch.warps_per_sm);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	/* What DRAM delivers of data that no cache holds is measured, and what it can deliver at best. */
	if (is_beyond_l2(c) && c->memory_pct > 0)
		least = c->memory_pct / STREAMS_MOST_PCT;
	advice_gain_ratio(d, fmin(1, fmax(most, least)), fmin(1, least));
	advice_conflict(d,
			"values in flight take registers: 4 per thread for each load of 16 bytes");
	if (c->cliff && c->occupancy && c->occupancy->limiter == LIMIT_REGISTERS &&
	    advice_occupancy(c, c->k->resources.registers + 4, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "registers limit the warps already: with 4 more %s",
				advice_room(d, o.blocks_per_sm));
	advice_try(
		d,
		s.is_whole
			? "16 bytes per lane (float4, uint4), several elements per thread whose loads come first, more warps"
		: s.sure.chain > 1
			? "load several elements into registers before the first is used or anything is stored (__restrict__ lets the compiler do so), more warps"
			: "16 bytes per lane (float4), several independent loads per turn (unroll by 4), more warps",
		"bandwidth rises with the bytes in flight, up to the peak",
		s.is_whole ? "the memory is busy already, or the kernel waits for something else"
			   : "the memory is busy already, or the loop waits for something else");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- at the limit */

enum advice_outcome rule_fuse(const struct advice_case *c, struct advice_draft *d)
{
	const struct roofline *r = &c->k->roofline;
	char pct[TEXT_NUMBER], intensity[TEXT_NUMBER], balance[TEXT_NUMBER];
	struct occupancy o;
	struct stream s;

	if (c->class == CLASS_COMPUTE || c->class == CLASS_LATENCY || !c->k->work_known ||
	    !(c->dram_pct >= ADVICE_NEAR_BANDWIDTH_PCT) || !quantity_known(&r->intensity) ||
	    !(r->intensity.value == 0 || r->intensity.value < r->balance))
		return ADVICE_SILENT;
	/* The L2 can do more than DRAM: its limit is reached only where bytes enough are known to be in flight. */
	if (c->fits_l2 && !(stream_of(c, &s) && flight_least(c, &s) >= ADVICE_REACHED))
		return ADVICE_SILENT;
	advice_evidence(d, "%s of the DRAM bandwidth: %s", text_pct(pct, c->dram_pct),
			c->fits_l2 ? "near the limit, or above it by the L2, which the data fits"
				   : "near the limit");
	advice_evidence(d, "intensity %s FLOP/B%s%s",
			r->intensity.value == 0 ? "0" : text_ratio(intensity, r->intensity.value),
			isnan(r->balance) ? "" : ", balance ",
			isnan(r->balance) ? "" : text_ratio(balance, r->balance));
	/* One of at least two streams less, or half of the bytes. */
	advice_gain(d, 25, 50);
	if (c->cliff && c->k->resources.registers > 0 &&
	    advice_occupancy(c, c->k->resources.registers + 16, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "fused code needs the registers of both: with 16 more %s",
				advice_room(d, o.blocks_per_sm));
	advice_conflict(
		d,
		"what the neighbour shares between threads needs shared memory and barriers, and a fused sum rounds in another order");
	advice_conflict(
		d,
		"a smaller type: FP16 keeps 11 bits (about 1e-3 of the value), BF16 8 (about 4e-3); the result must tolerate that");
	advice_try(
		d,
		"compute the neighbour's result where the value is in a register, so that it is not written and read again; or store it in half the bytes",
		"bytes of the two together fall by a third to a half, time with them",
		"the neighbour found the data in the L2: nothing was saved");
	return ADVICE_GIVEN;
}
