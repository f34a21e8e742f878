/*
 * rule_access.c - what accesses of lanes to global and shared memory say. See advice_case.h; the formulas are explained in
 * analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>

#include "access_cost.h"

/* ------------------------------------------------------------------------------------- sites */

/* Sites of some kinds taken together. Of shared memory read wavefronts for sectors. */
struct sites {
	double total, excess; /* sectors of an average request, and of these not needed */
	double requests;      /* of the launch, 0 = not known */
	const struct metric_site *worst; /* NULL = of none are the lanes known */
};

/*
 * Weighed by requests where all are known, else alike. An access whose lanes nobody knows counts as one without
 * excess, so that what is known of a few is not taken for all.
 */
static struct sites sites_of(const struct advice_case *c, const char *kind, double without)
{
	const struct metric_access *a = c->k->access;
	struct sites all = {0};
	bool are_counted = true;
	double weights = 0;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (advice_is_kind(&a->sites[i], kind))
			are_counted &= quantity_known(&a->sites[i].requests);
	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const double weight = are_counted ? s->requests.value : 1;
		const bool is_known = quantity_known(&s->sectors_per_request) &&
				      quantity_known(&s->excess);

		if (!advice_is_kind(s, kind))
			continue;
		weights += weight;
		all.total += weight * (is_known ? s->sectors_per_request.value : without);
		all.excess += weight * (is_known ? s->excess.value : 0);
		if (is_known && (!all.worst || s->excess.value > all.worst->excess.value))
			all.worst = s;
	}
	if (weights > 0) {
		all.total /= weights;
		all.excess /= weights;
		all.requests = are_counted ? weights : 0;
	}
	return all;
}

static void say_worst(struct advice_draft *d, const struct metric_site *s, const char *what)
{
	char each[TEXT_NUMBER], excess[TEXT_NUMBER];

	advice_evidence(d, "%s: %s %s a request, %s more than needed%s%s", advice_site(d, s),
			text_ratio(each, s->sectors_per_request.value), what,
			text_ratio(excess, s->excess.value), s->pattern ? ", " : "",
			s->pattern ? s->pattern : "");
}

/* Caches keep so much of what is fetched too much until a neighbour asks for it, at best; and of what is stored apart. */
#define CACHED_MOST   (2.0 / 3)
#define CACHED_STORES (1.0 / 3)

/* The share of the time that accesses may take: all of it, but where issuing the code takes longer. */
static double access_share(const struct advice_case *c, double cycles)
{
	const double partitions = c->hw->arch.partitions;
	double issue;

	if (!c->sass || !c->sass->trips_known || !(partitions > 0) || isnan(cycles))
		return 1;
	issue = c->sass->whole.issued / partitions;
	return issue > cycles ? cycles / issue : 1;
}

/* Sectors of an average request before and after, and which of them are the excess that costs. */
struct coalescing {
	double before, after,
		most; /* `most`: before, if those whose lanes are not known take many */
	const struct metric_site *site;
	bool is_l1;       /* neighbours use the excess: the L1 alone gives it more than once */
	bool is_l1_bound; /* the L1 takes longest, whoever uses the excess */
};

/* A unit that is busy so long is what the kernel waits for; so long, it may be; else it is not. */
#define L1_SETS  0.6
#define L1_LEAST 0.4

/* us that the L1 of an SM is busy with the accesses; NaN = not known. */
static double l1_us(const struct advice_case *c, const struct access_cost *cost)
{
	return cost->requests > 0 && c->warps > 0
		       ? advice_unit_us(c, cost->l1 * cost->requests / c->warps)
		       : NAN;
}

static bool coalescing_of(const struct advice_case *c, const struct access_cost *cost,
			  struct coalescing *out)
{
	const double shared = cost->excess - cost->wasted;

	if (access_cost_is_l1(cost, c->sass, c->hw) && !(l1_us(c, cost) < L1_LEAST * c->us) &&
	    !(c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		*out = (struct coalescing){cost->total,           cost->total - cost->excess,
					   cost->total_most,      cost->worst,
					   shared > cost->wasted, true};
	else if (access_cost_wastes(cost))
		*out = (struct coalescing){cost->total - shared,
					   cost->total - cost->excess,
					   cost->total_most - shared,
					   cost->wasteful,
					   false,
					   false};
	else
		return false;
	return true;
}

/* What of the excess the neighbours use. */
static void say_neighbours(struct advice_draft *d, const struct access_cost *cost,
			   const struct coalescing *x)
{
	const double shared = cost->excess - cost->wasted;
	char of[TEXT_NUMBER], more[TEXT_NUMBER], all[TEXT_NUMBER];

	if (x->is_l1)
		advice_evidence(
			d,
			"neighbouring loads or later turns use the rest of the sectors: it costs the L1 requests and "
			"bandwidth, not DRAM");
	else if (shared > 0)
		advice_evidence(d, "neighbours use %s of %s sectors in excess: these are no waste",
				text_ratio(of, shared), text_ratio(all, cost->excess));
	if (cost->total_most > cost->total)
		advice_evidence(d, "%s sectors if accesses whose lanes are not known are scattered",
				text_ratio(more, x->most));
}

/*
 * The share of the time that the accesses may take. Where nobody knows how many there are each of the code counts, as
 * often as what is issued.
 */
static double coalescing_share(const struct advice_case *c, const struct access_cost *cost,
			       const struct coalescing *x)
{
	const struct metric_mix *m = c->sass ? &c->sass->whole : NULL;
	const double cycles = x->is_l1_bound ? cost->l1
					     : x->before * ACCESS_SECTOR_BYTES / advice_l2_rate(c);

	if (cost->requests > 0)
		return c->warps > 0 ? access_share(c, cycles * cost->requests / c->warps) : 1;
	return m && m->loads + m->stores > 0 ? access_share(c, cycles * (m->loads + m->stores)) : 1;
}

static void coalescing_gain(const struct advice_case *c, struct advice_draft *d,
			    const struct access_cost *cost, const struct coalescing *x)
{
	const double share = coalescing_share(c, cost, x), l1 = l1_us(c, cost);
	const double excess = x->before - x->after;
	/* of stores the L1 keeps nothing, and a sector that is written in part is read before it is written */
	const double stored = x->is_l1_bound ? 0 : cost->stored,
		     partly = x->is_l1_bound ? 0 : cost->partly;
	const double kept = CACHED_MOST * (excess - stored) + CACHED_STORES * stored;
	double low;

	advice_gain_ratio(d, 1 - share * (excess - kept) / (x->most - kept),
			  1 - share * (1 - x->after / (x->before + partly)));
	if (!x->is_l1_bound || !(l1 >= L1_SETS * c->us))
		return;
	/* The L1 sets the time: what it does less is saved, wherever the excess comes from. */
	low = d->item.gain_low_pct * fmin(1, l1 / c->us);
	advice_gain_unit(d, l1, l1 * cost->l1_ideal / cost->l1);
	low = fmax(low, d->item.gain_low_pct);
	advice_gain_unit(d, l1, l1 * cost->l1_least / cost->l1);
	d->item.gain_low_pct = low;
}

enum advice_outcome rule_coalesce(const struct advice_case *c, struct advice_draft *d)
{
	struct access_cost cost;
	struct coalescing x;
	char total[TEXT_NUMBER], ideal[TEXT_NUMBER], pct[TEXT_NUMBER];
	double l1;

	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	l1 = l1_us(c, &cost);
	if (!coalescing_of(c, &cost, &x))
		return ADVICE_SILENT;
	text_ratio(total, x.before);
	text_ratio(ideal, x.after);
	if (c->class == CLASS_COMPUTE)
		return advice_against(d, "%s sectors a request where %s would do, but %s", total,
				      ideal, advice_saturation(c));
	advice_evidence(d, "%s sectors of 32 bytes in an average request, %s would do", total,
			ideal);
	say_worst(d, x.site, "sectors");
	say_neighbours(d, &cost, &x);
	if (!x.is_l1 && quantity_known(&c->k->access->wasted_sectors))
		advice_evidence(d, "%s of all sectors are excess that nobody uses",
				text_pct(total, 100 * (x.before - x.after) / x.before));
	if (x.is_l1_bound && l1 > 0 && !isnan(c->us))
		advice_evidence(
			d,
			"%s cycles of the L1 for each, a line of 128 bytes in one: it is busy for %s of the time",
			text_ratio(total, cost.l1), text_pct(pct, fmin(100, 100 * l1 / c->us)));
	coalescing_gain(c, d, &cost, &x);
	advice_conflict(d,
			"a re-layout costs a pass over the data unless its producer writes it so; "
			"transposing through shared memory needs a tile of it");
	advice_try(
		d,
		"let lane i access word i: exchange loop and thread index, structures of arrays, "
		"or a transpose through a shared tile; then 16 bytes per lane",
		advice_text(d, "sectors per request fall from %s to %s",
			    text_ratio(total, cost.total), text_ratio(ideal, x.after)),
		x.is_l1 ? "the L1 was not busy: time was spent elsewhere"
			: "the caches delivered the excess: time was spent elsewhere");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_bank_conflicts(const struct advice_case *c, struct advice_draft *d)
{
	const struct sites s = sites_of(c, "shared", 1);
	/* of a warp: those that are counted, else what is on its way through the code */
	const double shared = s.requests > 0 && c->warps > 0 ? s.requests / c->warps
			      : c->sass                      ? c->sass->whole.shared
							     : 0;
	const double before = shared * s.total, after = shared * (s.total - s.excess);
	char total[TEXT_NUMBER], ideal[TEXT_NUMBER], share_text[TEXT_NUMBER];
	double share;
	bool is_counted;

	if (!s.worst || s.worst->excess.value < ACCESS_EXCESS_LEAST_WORST ||
	    s.excess < ACCESS_EXCESS_LEAST * s.total || !(shared > 0))
		return ADVICE_SILENT;
	if (c->class == CLASS_COMPUTE ||
	    (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "%s wavefronts a request where %s would do, but %s",
				      text_ratio(total, s.total),
				      text_ratio(ideal, s.total - s.excess), advice_saturation(c));
	advice_evidence(d, "%s wavefronts in an average request to shared memory, %s would do",
			text_ratio(total, s.total), text_ratio(ideal, s.total - s.excess));
	say_worst(d, s.worst, "wavefronts");
	share = access_share(c, before);
	is_counted = s.requests > 0 || (c->sass && c->sass->trips_known);
	if (is_counted && !isnan(c->us) && !isnan(advice_unit_us(c, before)))
		advice_evidence(d, "shared memory is busy for %s of the time",
				text_pct(share_text,
					 fmin(100, 100 * advice_unit_us(c, before) / c->us)));
	/* One wavefront a cycle: the time of the unit where it is known, else its share by instructions. */
	if (!is_counted ||
	    !advice_gain_unit(d, advice_unit_us(c, before), advice_unit_us(c, after)))
		advice_gain_ratio(d, 1 - 0.6 * share * s.excess / s.total,
				  1 - share * s.excess / s.total);
	advice_stalls(d, advice_stall(c, mio_throttle), "MIO throttle");
	advice_conflict(d, "padding takes shared memory: one word per row of a tile");
	if (c->cliff && c->cliff->to_cliff_bytes >= 0)
		advice_conflict(d, "%lld bytes may be added before %s",
				(long long)c->cliff->to_cliff_bytes,
				c->cliff->blocks_per_sm > 1 ? "an SM holds one block fewer"
							    : "the kernel cannot be launched");
	advice_try(d,
		   "pad each row by one word, or swizzle: exchange columns by the row's low bits",
		   advice_text(d, "wavefronts per request fall from %s to %s",
			       text_ratio(total, s.total), text_ratio(ideal, s.total - s.excess)),
		   "shared memory was hidden under other waits");
	return ADVICE_GIVEN;
}
