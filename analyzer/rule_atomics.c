/*
 * rule_atomics.c - what atomics say. See advice_case.h; the formulas are explained in
 * analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "access_cost.h"

#define LANES 32.0

/* ------------------------------------------------------------------------------------- atomics */

/*
 * Cycles from one lane's operation to the next at one address, measured on an H200, whose L2 has a clock of its own:
 * 1.46 for integers (1.1 to 1.8 in other runs) and for compare and swap, 3.49 for FP32 and pairs of FP16.
 */
struct atomic_cost {
	double least, most;
};
static const struct atomic_cost of_integers = {1.25, 1.6}, of_floats = {3.1, 3.9},
				of_doubles = {1.25, 3.9};

static const struct atomic_cost *cost_of(const struct metric_site *s)
{
	const char *op = s->op ? s->op : "";

	if (strstr(op, ".F64"))
		return &of_doubles;
	return strstr(op, ".F32") || strstr(op, ".F16") || strstr(op, ".BF16") ? &of_floats
									       : &of_integers;
}

/* Requests that are proved, 0 = none: in other code one thread may do it now and then, as one that fetches work does. */
static double proved(const struct metric_site *s)
{
	const struct quantity *q = &s->requests;

	return !quantity_known(q) ? 0 : isnan(q->low) ? q->value : q->low;
}

/* The atomic that is done most often, or of those of all warps on one address; NULL = none. */
static const struct metric_site *most_done(const struct advice_case *c, bool is_everywhere)
{
	const struct metric_access *a = c->k->access;
	const struct metric_site *most = NULL;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (advice_is_kind(&a->sites[i], "atomic") &&
		    (a->sites[i].is_everywhere || !is_everywhere) &&
		    proved(&a->sites[i]) > (most ? proved(most) : 0))
			most = &a->sites[i];
	return most;
}

static void try_to_reduce(const struct advice_case *c, struct advice_draft *d, double requests)
{
	advice_conflict(
		d,
		"a reduction in the block needs shuffles, a barrier and %d words of shared memory",
		c->occupancy->warps_per_block);
	advice_try(
		d,
		"add up within the warp (shuffles, __reduce_add_sync), then within the block, and let one thread do the atomic",
		advice_text(d, "%.0f atomics in place of %.0f requests, less time", c->blocks,
			    requests),
		"the atomics were hidden: the time is in the loads");
}

static enum advice_outcome one_address(const struct advice_case *c, struct advice_draft *d,
				       const struct metric_site *s)
{
	const struct atomic_cost *cost = cost_of(s);
	const double requests = proved(s), lanes = s->lanes > 0 ? s->lanes : 1,
		     us = requests * lanes / c->clock_mhz;
	double after, low;
	char n[TEXT_NUMBER], each[TEXT_NUMBER];

	/* One lane's per block is what is left of it; a kernel that does that already is not meant. */
	if (requests < 2 * c->blocks)
		return ADVICE_SILENT;
	after = c->blocks / c->clock_mhz;
	advice_evidence(d, "%s: all warps of the launch on one address", advice_site(d, s));
	advice_evidence(d, "%s requests, %s for each block%s", text_count(n, (uint64_t)requests),
			text_ratio(each, requests / c->blocks),
			lanes > 1 ? advice_text(d, ", of %.0f lanes: one after another", lanes)
				  : "");
	if (advice_gain_unit(d, cost->least * us, cost->least * after)) {
		low = d->item.gain_low_pct;
		advice_gain_unit(d, cost->most * us, cost->most * after);
		d->item.gain_low_pct = low;
	} else {
		advice_gain_ratio(d, 0.8, 1.0 / c->occupancy->warps_per_block);
	}
	try_to_reduce(c, d, requests);
	return ADVICE_GIVEN;
}

/*
 * What the L2 does in a cycle at addresses that are spread, measured on an H200: sectors, where lanes have one each; and
 * operations of lanes side by side.
 */
#define ATOMIC_SECTORS     43.0
#define ATOMIC_LANES       126.0
/* Cycles of a request to shared memory, all lanes at one word (the same measurement; 8.5 at random ones). */
#define ATOMIC_SHARED_MOST 36.5
/* Longer than either by the first factor, than both together by the second: nothing else can be what takes the time. */
#define ATOMIC_EXCESS      2.0
#define ATOMIC_SUM         1.5

/* us that everything but the atomics takes at most: issue, sectors, loads one after another. NaN = not known. */
static double others_us(const struct advice_case *c)
{
	const struct metric_mix *m = &c->sass->whole;
	const struct occupancy *o = c->occupancy;
	struct access_cost cost;
	double issue, sectors, waits;

	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	if (!c->sass->trips_known || !(c->hw->arch.partitions > 0) || !(o->waves > 0) ||
	    (m->loads + m->stores > 0 && !(cost.requests > 0)))
		return NAN;
	issue = advice_unit_us(c, m->issued / c->hw->arch.partitions);
	sectors = cost.requests > 0
			  ? advice_unit_us(c, cost.requests / c->warps * cost.total_most *
						      ACCESS_SECTOR_BYTES / ADVICE_REACHED /
						      advice_dram_rate(c))
			  : 0;
	/* each of its loads after the other, in every wave */
	waits = ceil(o->waves) * (m->loads + 1) * ADVICE_DRAM_MOST / c->clock_mhz;
	return fmax(issue, sectors) + waits + ADVICE_FIXED_MOST_US;
}

/* Cycles of the whole GPU for the atomics of a kernel, were their addresses spread. */
static double atomics_spread(const struct advice_case *c, double lanes)
{
	const struct metric_access *a = c->k->access;
	double sectors = 0;

	for (size_t i = 0; i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (advice_is_kind(s, "atomic"))
			sectors += quantity_known(&s->requests)
					   ? s->requests.value *
						     (quantity_known(&s->sectors_per_request)
							      ? s->sectors_per_request.value
							      : fmax(1, s->lanes))
					   : 0;
	}
	return fmax(sectors / ATOMIC_SECTORS, lanes / ATOMIC_LANES);
}

/* Atomics of which it is not known that all meet at one address, in a kernel whose time nothing else explains. */
static enum advice_outcome few_addresses(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_access *a = c->k->access;
	double lanes, spread, others, shared;
	char n[TEXT_NUMBER], us[TEXT_NUMBER], rest[TEXT_NUMBER], all[TEXT_NUMBER];
	const struct metric_site *site = most_done(c, false);

	if (!site || !c->sass || isnan(c->us) || !quantity_known(&a->atomics))
		return ADVICE_SILENT;
	lanes = a->atomics.value;
	spread = atomics_spread(c, lanes) / c->clock_mhz;
	others = others_us(c);
	if (!(c->us > ATOMIC_EXCESS * fmax(spread, others)) ||
	    !(c->us > ATOMIC_SUM * (spread + others)))
		return ADVICE_SILENT;
	shared = advice_unit_us(c, lanes / LANES / c->warps);
	advice_evidence(d, "%s: %s operations%s%s", advice_site(d, site),
			text_count(n, (uint64_t)lanes), site->pattern ? ", of a warp at " : "",
			site->pattern ? site->pattern
			: !quantity_known(&site->sectors_per_request)
				? " at addresses that memory decides"
				: "");
	advice_evidence(
		d,
		"spread over many addresses they take %s, all else at most %s; the kernel takes %s: they meet at few addresses",
		text_us(us, spread), text_us(rest, others), text_us(all, c->us));
	advice_gain(d, 100 * (1 - fmin(1, (spread + others + ATOMIC_SHARED_MOST * shared) / c->us)),
		    100 * (1 - fmin(1, ADVICE_FIXED_LEAST_US / c->us)));
	advice_conflict(
		d,
		"a copy of the words for each block takes shared memory, and is added up at its end");
	advice_try(
		d,
		"give each block, or each warp, a copy in shared memory, and add that to global memory at the end",
		advice_text(d, "fewer than %.0f operations on global memory, less time", lanes),
		"the words are too many for shared memory: sort, or reduce equal ones within the warp (__match_any_sync)");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_atomics(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_site *s = most_done(c, true);

	if (isnan(c->warps) || !c->occupancy || c->occupancy->warps_per_block < 2)
		return ADVICE_SILENT;
	return s && one_address(c, d, s) == ADVICE_GIVEN ? ADVICE_GIVEN : few_addresses(c, d);
}
