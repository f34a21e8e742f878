/*
 * rule_divide.c - what is said of integer divisions by values that are no constants of the code. See advice_case.h; the
 * formulas are explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>

/*
 * In place of a division: a mask, or a comparison and a subtraction; a multiplication by the reciprocal that the caller
 * worked out, its shift, and what is left.
 */
#define CHEAP_LEAST    2.0
#define CHEAP_MOST     5.0
/* First values of a reciprocal take three instructions of the unit for special functions, which has 16 lanes. */
#define SEED_SPECIAL   3.0
#define SPECIAL_CYCLES 2.0
/* From so much of the time on issuing sets it; below the other nobody can tell, and nothing is said. */
#define SETS_PCT       60.0
#define HIDDEN_PCT     40.0
/* Of what is issued: less is not worth a word. */
#define PART_LEAST     0.1
#define PART_UNTIMED   0.3

/* What a warp issues, in cycles of an SM: now, and without the divisions at the most and the least. */
struct dividing {
	double divisions, part, issued; /* instructions */
	double called;                  /* of these in functions that are called */
	double before, most, least;
	double busy_pct; /* of the time */
};

static double cycles(const struct advice_case *c, double issued, double special)
{
	return fmax(issued / c->hw->arch.partitions, SPECIAL_CYCLES * special);
}

/* The mix to look at: all of the code where its loops are counted, else a turn. */
static const struct metric_mix *mix_of(const struct advice_case *c)
{
	return !c->sass ? NULL : c->sass->trips_known || !c->hot ? &c->sass->whole : &c->sass->hot;
}

static bool dividing_of(const struct advice_case *c, struct dividing *d)
{
	const struct metric_mix *m = mix_of(c);
	const double issue = c->k->roofline.issue_pct.low;
	double special, seeds;

	if (!m || !(c->hw->arch.partitions > 0) || !(m->divisions + m->divide_calls > 0))
		return false;
	/* functions of 64 bits have a shorter way for small numbers beside the call: which is taken is not known */
	d->divisions = fmax(m->divisions, m->divide_calls);
	d->called = m->divisions >= m->divide_calls ? 0 : m->divide_called;
	d->issued = m->issued + d->called;
	d->part = fmin(m->dividing + d->called, d->issued);
	seeds = SEED_SPECIAL * fmax(m->divide_seeds, d->called > 0 ? m->divide_calls : 0);
	special = fmax(m->special - m->divide_seeds, 0);
	d->before = cycles(c, d->issued, special + seeds);
	d->most = cycles(c, d->issued - d->part + CHEAP_MOST * d->divisions, special);
	d->least = cycles(c, d->issued - d->part + CHEAP_LEAST * d->divisions, special);
	/* where the special functions take longer than to issue, they are busy for more of the time */
	d->busy_pct = NAN;
	if (issue <= 100)
		d->busy_pct = fmin(100, issue * d->before * c->hw->arch.partitions / d->issued);
	return d->part >= PART_LEAST * d->issued && d->most < d->before;
}

static void say_dividing(const struct advice_case *c, struct advice_draft *d,
			 const struct dividing *x)
{
	const struct metric_mix *m = mix_of(c);
	char pct[TEXT_NUMBER];

	if (m == &c->sass->hot)
		advice_evidence(
			d,
			"%.0f %s of integers by no constant in a turn of the loop at 0x%llx: %.0f of its %.0f instructions",
			x->divisions, advice_plural(x->divisions, "division", "divisions"),
			(unsigned long long)c->hot->start, x->part, x->issued);
	else
		advice_evidence(
			d,
			"a warp makes %.0f %s of integers by no constant: %.0f of the %.0f instructions on its way",
			x->divisions, advice_plural(x->divisions, "division", "divisions"), x->part,
			x->issued);
	if (m->divide_seeds > 0)
		advice_evidence(
			d,
			"%.0f of them %s a reciprocal first: I2F, MUFU and F2I, at 16 lanes a cycle",
			m->divide_seeds, advice_plural(m->divide_seeds, "works out", "work out"));
	if (!isnan(x->busy_pct))
		advice_evidence(d,
				"to issue, or the unit for special functions, takes %s of the time",
				text_pct(pct, x->busy_pct));
	else
		advice_evidence(d, "a division takes %.1f instructions, %.0f to %.0f would do",
				x->part / x->divisions, CHEAP_LEAST, CHEAP_MOST);
}

enum advice_outcome rule_divisions(const struct advice_case *c, struct advice_draft *d)
{
	struct dividing x;
	double set, base;

	if (!dividing_of(c, &x) || x.busy_pct < HIDDEN_PCT)
		return ADVICE_SILENT;
	/* whether issuing sets the time is not known: only where there is no time, of a loop, and of much of it */
	if (isnan(x.busy_pct) && (!isnan(c->us) || !c->hot || x.part < PART_UNTIMED * x.issued))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY)
		return advice_against(
			d, "%.0f of %.0f instructions divide integers by no constant, but %s",
			x.part, x.issued, advice_saturation(c));
	say_dividing(c, d, &x);
	if (isnan(x.busy_pct)) {
		advice_gain_ratio(d, 1, x.least / x.before);
	} else {
		/* What sets the time is not busy in all of it: the rest falls with its work. */
		set = fmin(1, (x.busy_pct - HIDDEN_PCT) / (SETS_PCT - HIDDEN_PCT));
		base = x.busy_pct / 100 + set * (1 - x.busy_pct / 100);
		advice_gain(d, 100 * ADVICE_UNIT_SURE * set * base * (1 - x.most / x.before),
			    100 * base * (1 - x.least / x.before));
	}
	advice_conflict(
		d,
		"what replaces a division holds under a condition: a step smaller than the divisor, a power of two, "
		"or a divisor that is known before the launch");
	advice_try(
		d,
		"an index that moves on: add its step and subtract the divisor where it gets too large; a power of two: "
		"mask and shift; a divisor that all share: multiply by its reciprocal, worked out on the host (as "
		"cuda::fast_mod_div does), or make it a template parameter; 32 bits in place of 64",
		"no I2F and MUFU for integers, fewer instructions per result",
		"the index feeds loads that the kernel waits for: see their stalls");
	return ADVICE_GIVEN;
}
