/*
 * rule_reuse.c - what is said of values that are loaded again and again where a register, or shared memory, could keep
 * them. See advice_case.h; the formulas are explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "load_unit.h"

/* A unit at so much of its peak has nothing to gain at this level. */
#define NEAR_PEAK_PCT 80.0

static bool is_compute(const struct advice_case *c)
{
	return c->class == CLASS_COMPUTE ||
	       (c->class == CLASS_BALANCED && c->compute_pct > c->memory_pct);
}

static const struct metric_op *op_of(const struct advice_case *c, const char *name)
{
	for (size_t i = 0; c->sass && i < c->sass->ops_n; i++)
		if (!strcmp(c->sass->ops[i].op, name))
			return &c->sass->ops[i];
	return NULL;
}

/* ------------------------------------------------------------------------------------- matrix instructions */

static bool has_matrix_tile(const struct advice_case *c)
{
	return c->sass && c->sass->has_products && c->tile && c->tile->compute_op &&
	       strstr(c->tile->compute_op, "MMA") && strcmp(c->tile->compute_op, "IMMA");
}

static void larger_tile_conflict(const struct advice_case *c, struct advice_draft *d)
{
	struct occupancy o;

	if (c->cliff && advice_occupancy(c, c->k->resources.registers + 32,
					 2 * c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "a tile twice as large, 32 registers more: %s",
				advice_room(d, o.blocks_per_sm));
}

static enum advice_outcome matrix_reuse(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_op *hmma = op_of(c, "HMMA");
	char pct[TEXT_NUMBER], ratio[TEXT_NUMBER];

	if (!is_compute(c))
		return ADVICE_SILENT;
	if (c->compute_pct >= NEAR_PEAK_PCT)
		return advice_against(
			d,
			"the tensor cores are at %s of their peak: nothing is left at this level",
			text_pct(pct, c->compute_pct));
	if (isnan(c->compute_pct))
		advice_evidence(d, "the kernel is compute-bound");
	else
		advice_evidence(d, "compute at %s of its peak", text_pct(pct, c->compute_pct));
	if (hmma && hmma->reducible == 0)
		advice_evidence(
			d,
			"%s: %u instructions, median stall %d, none higher than proved to be needed",
			hmma->op, hmma->n, hmma->stall_median);
	advice_evidence(d, "%llu %s in a turn of the loop at 0x%llx%s%s",
			(unsigned long long)c->tile->compute_ops, c->tile->compute_op,
			(unsigned long long)c->tile->start,
			isnan(c->tile->ratio) ? "" : ", compute/load ratio ",
			isnan(c->tile->ratio) ? "" : text_ratio(ratio, c->tile->ratio));
	/* A part of what is missing to the peak. */
	advice_gain(d, 0.2 * (100 - c->compute_pct), 0.7 * (100 - c->compute_pct));
	larger_tile_conflict(c, d);
	advice_try(
		d,
		"a larger tile in M or N, or a longer K loop per block, so that each loaded value is used more often",
		"the ratio rises, and compute comes nearer to its peak",
		"registers or shared memory now limit the warps: see the conflict");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- multiply-adds */

#define LANES 32.0

/* Four by four sums in a thread are the first step; eight by eight are what registers hold. */
#define SUMS_FIRST     16.0
#define SUMS_MOST      64.0
/* So much longer than all else is the unit that holds up a turn. */
#define BUSIEST        1.2
/* Busy for less of the time, it is hidden. */
#define BUSY_LEAST_PCT 40.0
/* Of loads from global memory those that a shared tile leaves: one for each product, and the other by four words. */
#define STAGED         0.625

/* Cycles of an SM for one turn of one warp. */
struct turn {
	double unit;  /* of the load/store unit */
	double fma;   /* of the multiply-adds */
	double issue; /* of its schedulers */
	double loads; /* instructions among what is issued that a larger tile makes fewer of */
};

static bool turn_of(const struct advice_case *c, const struct load_unit *u, struct turn *t)
{
	const struct metric_mix *m = &c->sass->hot;
	const struct arch *a = &c->hw->arch;

	if (a->partitions <= 0 || a->fp32 <= 0 || a->fp16x2 <= 0)
		return false;
	*t = (struct turn){
		.unit = u->shared + u->global,
		.fma = LANES * fmax(m->fma / a->fp32, 2 * m->halves / a->fp16x2),
		.issue = m->issued / a->partitions,
		.loads = m->loads + m->shared,
	};
	return t->unit >= BUSIEST * fmax(t->fma, t->issue);
}

/* A turn when so much is left of its loads. */
static double turn_with(const struct advice_case *c, const struct turn *t, double left)
{
	return fmax(fmax(left * t->unit, t->fma),
		    t->issue - (1 - left) * t->loads / c->hw->arch.partitions);
}

/* Turns of all warps: by requests that are counted, or by the work that somebody gave; NaN = not known. */
static double turns_of(const struct advice_case *c, const struct load_unit *u, const struct turn *t)
{
	const struct metric_mix *m = &c->sass->hot;
	const double flops = 2 * LANES * (m->fma + 2 * m->halves);

	if (u->launch_hot > 0)
		return u->launch_hot / t->unit;
	return c->k->work_known && c->k->work.flops > 0 && flops > 0
		       ? (double)c->k->work.flops / flops
		       : NAN;
}

/* The product of the hottest loop, in multiply-adds. */
static const struct metric_idioms *product_of(const struct advice_case *c)
{
	const struct metric_idioms *x = c->sass && c->hot ? &c->sass->idioms : NULL;

	return x && x->sums && !c->sass->has_products && x->product_at >= c->hot->start &&
			       x->product_at <= c->hot->end
		       ? x
		       : NULL;
}

static void say_turn(const struct advice_case *c, struct advice_draft *d, const struct load_unit *u,
		     const struct turn *t)
{
	char unit[TEXT_NUMBER], fma[TEXT_NUMBER], issue[TEXT_NUMBER];

	advice_evidence(
		d,
		"a turn of the loop at 0x%llx takes the load/store unit %s cycles (%s), its %u multiply-adds %s, to "
		"issue it %s",
		(unsigned long long)c->hot->start, text_real(unit, t->unit),
		!(u->global > 0)   ? "shared memory"
		: !(u->shared > 0) ? "L1"
				   : "shared memory and L1",
		c->sass->idioms.multiplies, text_real(fma, t->fma), text_real(issue, t->issue));
}

static void more_sums_conflict(const struct advice_case *c, struct advice_draft *d, double sums)
{
	const double operands = 2 * sqrt(sums);
	struct occupancy o;

	if (c->cliff && c->k->resources.registers > 0 &&
	    advice_occupancy(c, c->k->resources.registers + (int)(sums + operands),
			     c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "%.0f sums and their operands take %.0f registers more: %s",
				sums, sums + operands, advice_room(d, o.blocks_per_sm));
	advice_conflict(d, "a thread with %.0f sums leaves fewer threads for the same result",
			sums);
}

static enum advice_outcome register_tile(const struct advice_case *c, struct advice_draft *d,
					 const struct metric_idioms *x)
{
	const bool is_global = !(c->sass->hot.shared > 0);
	/* Each direction that is doubled halves one operand's loads. */
	const double least = x->sums >= 4 ? 0.75 : is_global ? STAGED : 0.5;
	const double sums = x->sums < SUMS_FIRST ? SUMS_FIRST : SUMS_MOST;
	struct load_unit u;
	struct turn t;
	double us, low = 0;
	char pct[TEXT_NUMBER];

	load_unit_read(c->k->access, c->sass, &c->hw->arch, &u);
	if (x->sums >= SUMS_MOST || !turn_of(c, &u, &t))
		return ADVICE_SILENT;
	us = advice_unit_us(c, turns_of(c, &u, &t) * t.unit / c->warps);
	if (100 * us < BUSY_LEAST_PCT * c->us)
		return ADVICE_SILENT;
	if (advice_is_saturated(c) && (!is_compute(c) || c->compute_pct >= NEAR_PEAK_PCT))
		return advice_against(d, "%u multiply-adds for %.0f loads in a turn, but %s",
				      x->multiplies, t.loads, advice_saturation(c));
	say_turn(c, d, &u, &t);
	advice_evidence(d, "%u multiply-adds for %.0f loads in a turn, %u %s under way in a thread",
			x->multiplies, t.loads, x->sums, text_plural(x->sums, "sum", "sums"));
	if (us > 0 && c->us > 0)
		advice_evidence(d, "the load/store unit is busy for %s of the time",
				text_pct(pct, fmin(100, 100 * us / c->us)));
	advice_stalls(d, advice_stall(c, mio_throttle), "MIO throttle");
	if (advice_gain_unit(d, us, us * turn_with(c, &t, least) / t.unit))
		low = d->item.gain_low_pct;
	/* At best all that a turn takes becomes less with it. */
	advice_gain_ratio(d, 1, turn_with(c, &t, sqrt(x->sums / sums)) / t.unit);
	d->item.gain_low_pct = low;
	more_sums_conflict(c, d, sums);
	advice_try(
		d,
		is_global
			? "a tile of both operands in shared memory, and 4 x 4 sums in the registers of "
			  "each thread, so that a loaded value is used several times"
			: "4 x 4 or 8 x 8 sums in the registers of each thread, operands read from shared "
			  "memory 16 bytes at a time",
		"fewer loads for each multiply-add, and time with them until multiply-adds set it",
		"too few warps are left to hide latency: a smaller tile per thread, or more blocks");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_reuse(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_idioms *x = product_of(c);

	return has_matrix_tile(c) ? matrix_reuse(c, d) : x ? register_tile(c, d, x) : ADVICE_SILENT;
}
