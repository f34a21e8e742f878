/*
 * rule_sum.c - what is said of sums of floats that are kept in double: somebody meant that, and it has a price. See
 * advice_case.h; the formulas are explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>

#include "load_unit.h"

#define LANES       32.0
/* A compensated sum takes so many operations in float for each in double. */
#define COMPENSATED 4.0
/* From so much of the time on the units set it; below the other they are hidden, and nothing is said. */
#define SETS        0.6
#define HIDDEN      0.4

/* Cycles of an SM for a turn of one warp: of FP64 and its conversions, and with all else now, and in float. */
struct summing {
	double unit, before, most, least;
	double turns; /* of a warp, NaN = not known */
};

static bool summing_of(const struct advice_case *c, struct summing *s)
{
	const struct metric_mix *m = &c->sass->hot;
	const struct metric_idioms *x = &c->sass->idioms;
	const struct arch *a = &c->hw->arch;
	struct load_unit u;
	double loads, rest;

	if (!c->hot || x->summed_at < c->hot->start || x->summed_at > c->hot->end || a->fp64 <= 0 ||
	    a->partitions <= 0)
		return false;
	load_unit_read(c->k->access, c->sass, a, &u);
	loads = u.shared + u.global;
	rest = fmax(0, m->issued - x->summed_widened);
	s->unit = LANES *
		  fmax(x->summed / (double)a->fp64, x->summed_widened / advice_wide_conversions(a));
	s->before = fmax(fmax(s->unit, loads), m->issued / a->partitions);
	s->most = fmax(loads, (rest + (COMPENSATED - 1) * x->summed) / a->partitions);
	s->least = fmax(loads, rest / a->partitions);
	s->turns = c->sass->trips_known ? c->sass->whole.fp64 / x->summed
		   : loads > 0          ? u.launch_hot / loads / c->warps
					: NAN;
	return s->most < s->before;
}

enum advice_outcome advice_double_sum(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_idioms *x = &c->sass->idioms;
	const struct arch *a = &c->hw->arch;
	struct summing s;
	double busy, set, base;
	char pct[TEXT_NUMBER], unit[TEXT_NUMBER], rest[TEXT_NUMBER];

	if (!summing_of(c, &s))
		return ADVICE_SILENT;
	busy = fmin(1, advice_unit_us(c, s.turns * s.unit) / c->us);
	/* it is meant: only where it surely is what takes the time */
	if (!(busy >= HIDDEN) || isnan(c->us))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "a sum of floats is kept in double, but %s",
				      advice_saturation(c));
	advice_evidence(
		d,
		"a sum of floats is kept in double: %u operations and %u conversions in a turn of the loop at 0x%llx",
		x->summed, x->summed_widened, (unsigned long long)c->hot->start);
	advice_evidence(
		d, "sm_%d does %d FP64 and %.0f such conversions per SM and cycle, and %d in FP32",
		a->sm, a->fp64, advice_wide_conversions(a), a->fp32);
	advice_evidence(d, "they take %s of the time", text_pct(pct, 100 * busy));
	advice_evidence(d, "a turn takes them %s cycles, and all else %s", text_real(unit, s.unit),
			text_real(rest, s.least));
	set = fmin(1, (busy - HIDDEN) / (SETS - HIDDEN));
	base = busy + set * (1 - busy);
	advice_gain_ratio(d, 1 - ADVICE_UNIT_SURE * set * base * (1 - s.most / s.before),
			  1 - base * (1 - s.least / s.before));
	advice_conflict(
		d,
		"a choice of precision: float keeps 24 bits of the sum, a compensated one nearly as many as double does, "
		"for four operations in place of one");
	advice_try(
		d,
		"add up some tens of addends in float and the totals in double, or compensate the sum in float (Kahan, "
		"Neumaier); compare with the sum in double",
		"conversions and FP64 operations fall to a fraction, the error stays within what is asked for",
		"the addends differ so much in size that nothing but double will do: widen each value once, where several "
		"results use it");
	return ADVICE_GIVEN;
}
