/*
 * rule_reuse.c - what is said of values that are loaded again and again where a register, or shared memory, could keep
 * them. See advice_case.h; the formulas are explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "load_unit.h"

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
	const struct metric_op *hmma = advice_op(c, "HMMA");
	char pct[TEXT_NUMBER], ratio[TEXT_NUMBER];

	if (!advice_is_compute(c))
		return ADVICE_SILENT;
	if (c->compute_pct >= ADVICE_NEAR_PEAK_PCT)
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
/*
 * Of loads from global memory those that a shared tile leaves: one for each product, and the other by four words. Of a window
 * of three to eight words those that two results below each other take.
 */
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
		/* or the busiest of its units, as of minima */
		.issue = fmax(m->issued, c->hot->issue_cycles) / a->partitions,
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

/* What makes a table of rows and columns: a product, or the same of other operations. */
struct table {
	unsigned n;  /* operations of two loaded values in a turn, 0 = there is none */
	double sums; /* results that a thread has under way */
	const char *one, *many;
	const struct metric_overlap *window; /* of shared memory, NULL = it is a table */
};

static bool is_hot(const struct advice_case *c, uint64_t offset)
{
	return offset >= c->hot->start && offset <= c->hot->end;
}

/* Words of shared memory are asked for so often at least, where a thread may keep what several results share. */
#define WINDOW_LEAST 2.5

/* Neighbouring results of the same words of shared memory, with weights that are no loads: a filter. */
static struct table window_of(const struct advice_case *c)
{
	const struct metric_overlap *o = c->k->access ? &c->k->access->shared_overlap : NULL;
	const double operations = c->sass->hot.fma + c->sass->hot.halves;

	if (!o || !o->loads || !o->is_in_loop || !is_hot(c, o->first) ||
	    o->asked < WINDOW_LEAST * o->different || !(operations >= o->loads))
		return (struct table){0};
	return (struct table){(unsigned)operations, 1, "multiply-add", "multiply-adds", o};
}

/* Of the hottest loop. */
static struct table table_of(const struct advice_case *c)
{
	const struct metric_idioms *x = c->sass && c->hot ? &c->sass->idioms : NULL;
	double side;

	if (!x || c->sass->has_products)
		return (struct table){0};
	if (x->sums && is_hot(c, x->product_at))
		return (struct table){x->multiplies, x->sums, "multiply-add", "multiply-adds",
				      NULL};
	if (!x->pairs || !x->pair_operands || !is_hot(c, x->pairs_at))
		return window_of(c);
	/* n by n results use 2 n values n times each */
	side = 2.0 * x->pairs / x->pair_operands;
	return (struct table){x->pairs, fmax(1, side * side), "operation on two loaded values",
			      "operations on two loaded values", NULL};
}

static void say_turn(const struct advice_case *c, struct advice_draft *d, const struct load_unit *u,
		     const struct turn *t, const struct table *x)
{
	char unit[TEXT_NUMBER], fma[TEXT_NUMBER], issue[TEXT_NUMBER];

	const char *where = !(u->global > 0)   ? "shared memory"
			    : !(u->shared > 0) ? "L1"
					       : "shared memory and L1";

	text_real(unit, t->unit);
	text_real(issue, t->issue);
	if (c->sass->idioms.sums)
		advice_evidence(
			d,
			"a turn of the loop at 0x%llx takes the load/store unit %s cycles (%s), its %u multiply-adds %s, "
			"to issue it %s",
			(unsigned long long)c->hot->start, unit, where, x->n,
			text_real(fma, t->fma), issue);
	else
		advice_evidence(
			d,
			"a turn of the loop at 0x%llx takes the load/store unit %s cycles (%s), to issue it %s",
			(unsigned long long)c->hot->start, unit, where, issue);
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
					 const struct table *x)
{
	const bool is_global = !(c->sass->hot.shared > 0);
	/* Each direction that is doubled halves one operand's loads. */
	const double least = x->sums >= 4 ? 0.75 : is_global || x->window ? STAGED : 0.5;
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
	if (advice_is_saturated(c) &&
	    (!advice_is_compute(c) || c->compute_pct >= ADVICE_NEAR_PEAK_PCT))
		return advice_against(d, "%u %s for %.0f loads in a turn, but %s", x->n,
				      text_plural(x->n, x->one, x->many), t.loads,
				      advice_saturation(c));
	say_turn(c, d, &u, &t, x);
	advice_evidence(d, "%u %s for %.0f loads in a turn, %.0f %s under way in a thread", x->n,
			text_plural(x->n, x->one, x->many), t.loads, x->sums,
			advice_plural(round(x->sums), "result", "results"));
	if (x->window)
		advice_evidence(
			d,
			"%u loads from shared memory ask for %u words in a warp and some turns, of which %u are different",
			x->window->loads, x->window->asked, x->window->different);
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
		x->window
			? "several neighbouring results in a thread, below each other: a word is loaded once for all of "
			  "them that want it, and stays in a register"
		: is_global
			? "a tile of both operands in shared memory, and 4 x 4 sums in the registers of "
			  "each thread, so that a loaded value is used several times"
			: "4 x 4 or 8 x 8 sums in the registers of each thread, operands read from shared "
			  "memory 16 bytes at a time",
		"fewer loads for each operation, and time with them until arithmetic sets it",
		"too few warps are left to hide latency: a smaller tile per thread, or more blocks");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_reuse(const struct advice_case *c, struct advice_draft *d)
{
	const struct table x = table_of(c);

	return has_matrix_tile(c) ? matrix_reuse(c, d)
	       : x.n              ? register_tile(c, d, &x)
				  : ADVICE_SILENT;
}

/* ------------------------------------------------------------------------------------- passes */

/* What is left is one pass that reads and writes: streams reach so much of the bandwidth at best, and at worst. */
#define STREAM_BEST  0.9
#define STREAM_WORST 0.65
/* Less of what moves than that is no pass. */
#define AGAIN_LEAST  0.1

/* Bytes of the launch. NaN = not known. */
struct passes {
	double all;                     /* that loads and stores move */
	double again;                   /* of these, what the warp has read before */
	double row;                     /* of that each once */
	unsigned n, accesses;           /* loads of that kind; all loads and stores */
	const struct metric_site *site; /* one of them, NULL = there is none */
};

static bool is_access(const struct metric_site *s)
{
	return s->kind && (!strcmp(s->kind, "load") || !strcmp(s->kind, "store"));
}

static const struct metric_site *site_at(const struct metric_access *a, uint64_t offset)
{
	for (size_t i = 0; i < a->sites_all; i++)
		if (a->sites[i].offset == offset && is_access(&a->sites[i]))
			return &a->sites[i];
	return NULL;
}

static const struct metric_loop *loop_of(const struct advice_case *c, const struct metric_site *s)
{
	for (size_t i = 0; c->sass && i < c->sass->loops_n; i++) {
		const struct metric_loop *l = &c->sass->loops[i];

		if (l->is_innermost && s->offset >= l->start && s->offset <= l->end)
			return l;
	}
	return NULL;
}

/* How often: where that of a loop is not known, as often as the pass before, which went over the same data. */
static double requests_of(const struct advice_case *c, const struct metric_site *s)
{
	const struct metric_access *a = c->k->access;
	const struct metric_loop *l = loop_of(c, s);
	const struct metric_site *first;

	if (quantity_known(&s->requests))
		return s->requests.value;
	for (size_t i = 0; l && i < a->sites_all; i++) {
		const struct metric_site *other = &a->sites[i];

		if (!other->is_again || loop_of(c, other) != l)
			continue;
		first = site_at(a, other->first);
		if (first && loop_of(c, first) != l && quantity_known(&first->requests))
			return first->requests.value;
	}
	return NAN;
}

static double bytes_of(const struct advice_case *c, const struct metric_site *s)
{
	return requests_of(c, s) * (s->lanes > 0 ? s->lanes : LANES) * s->lane_bytes;
}

static bool is_first_of_its_row(const struct metric_access *a, size_t site)
{
	for (size_t i = 0; i < site; i++)
		if (a->sites[i].is_again && a->sites[i].first == a->sites[site].first)
			return false;
	return true;
}

/* In no loop of its own, it may be what few warps come to. */
static bool is_pass(const struct advice_case *c, const struct metric_site *s)
{
	const struct metric_site *first = s->is_again ? site_at(c->k->access, s->first) : NULL;

	return first && (quantity_known(&s->requests) ||
			 (loop_of(c, s) && loop_of(c, s) != loop_of(c, first)));
}

static struct passes passes_of(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	struct passes p = {0};

	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const double bytes = is_access(s) ? bytes_of(c, s) : 0;

		p.accesses += is_access(s);
		p.all += bytes;
		if (!is_access(s) || !is_pass(c, s))
			continue;
		p.n++;
		p.again += bytes;
		p.row += is_first_of_its_row(a, i) ? bytes : 0;
		p.site = p.site && p.site->offset < s->offset ? p.site : s;
	}
	return p;
}

/* Bytes per cycle and SM out of the memory that holds what the resident blocks read between two passes. */
static double pass_rate(const struct advice_case *c, const struct passes *p, double *resident,
			const char **where)
{
	const double fit = c->occupancy ? c->occupancy->blocks_per_sm * c->sm_count : NAN;
	const double l2 = advice_l2_rate(c);

	*resident = p->row / c->blocks * fmin(c->blocks, fit);
	*where = "DRAM";
	if (isnan(l2) || !(*resident <= (double)c->hw->l2_bytes))
		return advice_dram_rate(c);
	*where = "the L2";
	return l2;
}

/* The time of `bytes` at a rate, of the kernel's time; NaN = not known. */
static double share_of_time(const struct advice_case *c, double bytes, double rate)
{
	return advice_unit_us(c, bytes / c->warps / rate) / c->us;
}

static void keep_conflict(const struct advice_case *c, struct advice_draft *d,
			  const struct passes *p)
{
	const double threads = (double)c->k->shape->block[0] * c->k->shape->block[1] *
			       c->k->shape->block[2] * c->blocks;
	const double words = ceil(p->row / threads / 4), bytes = ceil(p->row / c->blocks);
	const int registers = c->k->resources.registers;
	struct occupancy o;

	if (!c->cliff || registers <= 0 || !(words > 0) || !(bytes < 1e9))
		return;
	if (registers + words > c->hw->arch.registers_per_thread)
		advice_conflict(
			d,
			"it would take %.0f registers of each thread, and there are at most %d: more threads for a row",
			words, c->hw->arch.registers_per_thread);
	else if (advice_occupancy(c, registers + (int)words, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "in registers it takes up to %.0f of each thread: %s", words,
				advice_room(d, o.blocks_per_sm));
	if (advice_occupancy(c, registers, c->cliff->smem_per_block_bytes + (int64_t)bytes, &o))
		advice_conflict(d, "in shared memory it takes %.0f bytes of a block: %s", bytes,
				advice_room(d, o.blocks_per_sm));
}

static void say_passes(struct advice_draft *d, const struct passes *p)
{
	char again[TEXT_NUMBER], all[TEXT_NUMBER];
	const struct metric_site *s = p->site;

	advice_evidence(
		d, "%s reads what the load at 0x%llx has read: the same addresses in every turn",
		advice_site(d, s), (unsigned long long)s->first);
	if (isnan(p->all))
		advice_evidence(d, "%u of %u loads and stores read again", p->n, p->accesses);
	else
		advice_evidence(d, "%s of %s that loads and stores move are read again",
				text_bytes(again, (int64_t)p->again),
				text_bytes(all, (int64_t)p->all));
}

static enum advice_outcome read_passes(const struct advice_case *c, struct advice_draft *d,
				       const struct passes *p)
{
	const double unique = p->all - p->again;
	const bool fits = unique <= (double)c->hw->l2_bytes && !isnan(advice_l2_rate(c));
	double left = isnan(p->all) ? 1 - (double)p->n / p->accesses : unique / p->all;
	double rate, resident, stream, low = 0;
	const char *where;
	char size[TEXT_NUMBER];

	if (!(1 - left >= AGAIN_LEAST))
		return ADVICE_SILENT;
	if (advice_is_saturated(c) &&
	    (c->compute_pct >= ADVICE_NEAR_PEAK_PCT || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "%u %s what was read before, but %s", p->n,
				      text_plural(p->n, "load reads", "loads read"),
				      advice_saturation(c));
	say_passes(d, p);
	rate = pass_rate(c, p, &resident, &where);
	if (!isnan(resident))
		advice_evidence(d, "what the resident blocks read between two passes, %s, is in %s",
				text_bytes(size, (int64_t)resident), where);
	/*
	 * At least what the memory takes that has it, if a pass hides a quarter of that; at best what moves is all that
	 * takes time. One pass is left, at the bandwidth that streams reach.
	 */
	stream = share_of_time(c, unique, fits ? advice_l2_rate(c) : advice_dram_rate(c));
	if (!isnan(stream)) {
		left = fmax(left, fmin(1, stream / STREAM_BEST));
		low = fmin(1 - fmin(1, stream / STREAM_WORST),
			   0.75 * share_of_time(c, p->again, rate));
	}
	advice_gain_ratio(d, fmax(left, 1 - low), left);
	keep_conflict(c, d, p);
	advice_try(
		d,
		"keep what a thread reads in registers (a loop of a fixed length over an array, unrolled), or the row in "
		"shared memory, and let later passes use that; or compute in one pass (online softmax, Welford)",
		"load requests fall to those of one pass, time with them",
		"the passes were hidden under other blocks, or registers now limit the warps: see the conflict");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- turns of a loop around */

/* Loads of 16 bytes in place of 4. */
#define WIDE_LEAST 0.25

/* Loads of the hottest loop that are the same in each turn of the loop around it. */
struct each_turn {
	const struct metric_site *site; /* the first of them, NULL = there is none */
	unsigned n;
	double cycles; /* of the load/store unit in a turn */
};

static struct each_turn each_turn_of(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	struct each_turn x = {0};

	for (size_t i = 0; a && c->sass && c->hot && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (!s->is_each_turn || !is_access(s) || !is_hot(c, s->offset))
			continue;
		x.n++;
		x.cycles += load_unit_cycles(s, &c->hw->arch);
		x.site = x.site && x.site->offset < s->offset ? x.site : s;
	}
	return x;
}

static void say_each_turn(const struct advice_case *c, struct advice_draft *d,
			  const struct each_turn *x)
{
	const struct metric_site *s = x->site;
	uint64_t trips = 0;

	for (size_t i = 0; i < c->sass->loops_n; i++)
		if (c->sass->loops[i].start == s->around && !c->sass->loops[i].is_innermost)
			trips = c->sass->loops[i].trips;
	advice_evidence(d, "%s reads the same in each turn of the loop at 0x%llx around it%s",
			advice_site(d, s), (unsigned long long)s->around,
			trips ? advice_text(d, ", of which there are %llu",
					    (unsigned long long)trips)
			      : "");
}

static enum advice_outcome read_each_turn(const struct advice_case *c, struct advice_draft *d,
					  const struct each_turn *x)
{
	const struct metric_mix *m = &c->sass->hot;
	const double partitions = c->hw->arch.partitions;
	const double arithmetic =
		m->fma + m->halves + m->fp64 + m->special + m->shuffles + m->products;
	struct load_unit u;
	struct turn t;
	double before, worst, best, us, low = 0;
	char busy[TEXT_NUMBER], unit[TEXT_NUMBER], issue[TEXT_NUMBER];

	load_unit_read(c->k->access, c->sass, &c->hw->arch, &u);
	turn_of(c, &u, &t);
	before = fmax(t.unit, fmax(t.fma, t.issue));
	worst = fmax(t.unit - x->cycles, fmax(t.fma, t.issue - x->n / partitions));
	/* unrolled as it then is, a loop has constant addresses and loads 16 bytes at a time */
	best = fmax(t.fma,
		    (arithmetic + m->stores + fmax(0, m->loads - x->n) + WIDE_LEAST * m->shared) /
			    partitions);
	best = fmax(best, fmax(0, u.global - x->cycles) + WIDE_LEAST * u.shared);
	us = advice_unit_us(c, turns_of(c, &u, &t) * before / c->warps);
	if (!(partitions > 0) || !(worst < before) || 100 * us < BUSY_LEAST_PCT * c->us)
		return ADVICE_SILENT;
	if (advice_is_saturated(c) &&
	    (c->compute_pct >= ADVICE_NEAR_PEAK_PCT || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "%u %s the same in each turn of the loop around, but %s",
				      x->n, text_plural(x->n, "load reads", "loads read"),
				      advice_saturation(c));
	say_each_turn(c, d, x);
	advice_evidence(
		d,
		"%u of %.0f loads in a turn, which takes the load/store unit %s cycles, to issue it %s",
		x->n, t.loads, text_real(unit, t.unit), text_real(issue, t.issue));
	if (us > 0 && c->us > 0)
		advice_evidence(d, "that is %s of the time",
				text_pct(busy, fmin(100, 100 * us / c->us)));
	advice_stalls(d, advice_stall(c, long_scoreboard), "for loads");
	if (advice_gain_unit(d, us, us * worst / before))
		low = d->item.gain_low_pct;
	/* at best nothing waits any more, and arithmetic sets the time */
	best = us > 0 && us < c->us ? us * best / before / c->us : best / before;
	advice_gain_ratio(d, 1, fmin(1, best));
	d->item.gain_low_pct = low;
	advice_conflict(d,
			"what is kept takes registers of each thread, and its length must be known "
			"when it is compiled; or shared memory");
	advice_try(
		d,
		"load it in front of the loop around, into an array of constant length (unrolled, so that it stays in "
		"registers) or into shared memory; or let the inner loop do several turns of the outer one for each "
		"loaded value",
		"loads in the inner loop are gone, time with them until arithmetic sets it",
		"registers now limit the warps, or spill: see the occupancy");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- neighbours */

/* A word is asked for so often at least, where it is worth a word. */
#define ASKED_LEAST  2.5
/* What is neither arithmetic nor access makes addresses, and so much of it is left, at worst and at best. */
#define REST_MOST    0.5
#define REST_LEAST   0.15
/* Where a thread makes four neighbouring results it loads a quarter for each, and 16 bytes at a time. */
#define SHARED_LEAST 0.25

/* Of several blocks that load the same, a thread makes the results of so many; a unit is then busy for so much of the time. */
#define ALIKE_MOST 8.0
#define ALIKE_FEW  4.0
#define ALIKE_BUSY 0.8
/* Where each load is for so much arithmetic, a thread makes several results of it. */
#define USED_MOST  4.0

/* All that a warp executes (or a turn of its hottest loop), in cycles of an SM: before, and at worst and at best. */
struct tiling {
	double before, worst, best;
	double loads, rest, issued;
	double times;  /* that a warp does */
	bool is_loads; /* loading sets it, not issuing: several results in a row are what helps */
	bool is_alike; /* several blocks load the same */
};

static bool tiling_of(const struct advice_case *c, struct tiling *t)
{
	const struct metric_overlap *o = &c->k->access->overlap;
	const bool is_turn = !c->sass->trips_known && o->is_in_loop && c->hot &&
			     is_hot(c, o->first);
	const struct metric_mix *m = is_turn ? &c->sass->hot : &c->sass->whole;
	const double partitions = c->hw->arch.partitions;
	struct load_unit u;
	double unit, arithmetic, wide, few;

	load_unit_read(c->k->access, c->sass, &c->hw->arch, &u);
	unit = is_turn ? u.shared + u.global : u.launch / c->warps;
	if (!(c->sass->trips_known || is_turn) || !(partitions > 0) || !(unit > 0))
		return false;
	arithmetic = m->fma + m->halves + m->fp64 + m->special + m->shuffles + m->products;
	t->times = is_turn ? u.launch_hot / c->warps / unit : 1;
	if (!(t->times > 0))
		return false;
	t->loads = m->loads;
	t->issued = m->issued;
	t->rest = fmax(0, m->issued - arithmetic - m->loads - m->stores - m->shared);
	t->before = fmax(unit, m->issued / partitions);
	t->is_loads = unit >= BUSIEST * m->issued / partitions;
	t->is_alike = o->blocks >= 2;
	/* what is loaded is used for several results as it is */
	if (arithmetic >= USED_MOST * m->loads)
		return false;
	if (t->is_alike) {
		/* the results of some of these blocks in one thread */
		wide = (t->rest + m->loads) / fmin(o->blocks, ALIKE_MOST);
		few = fmin(o->blocks, ALIKE_FEW);
		t->worst = fmax(unit / few,
				(m->issued - (1 - 1 / few) * (t->rest + m->loads)) / partitions);
		t->best = fmax(unit / fmin(o->blocks, ALIKE_MOST),
			       (arithmetic + m->stores + m->shared + wide) / partitions);
		return true;
	}
	if (t->is_loads) {
		/* at best arithmetic is left */
		wide = SHARED_LEAST * WIDE_LEAST * m->loads;
		t->worst = fmax(SHARED_LEAST * unit, (m->issued - (1 - REST_MOST) * t->rest -
						      (1 - SHARED_LEAST) * m->loads) /
							     partitions);
		t->best = fmax(SHARED_LEAST * unit,
			       (arithmetic + m->stores + m->shared + wide) / partitions);
		return true;
	}
	t->worst = fmax(unit, (m->issued - (1 - REST_MOST) * t->rest) / partitions);
	t->best = fmax(SHARED_LEAST * unit,
		       (m->issued - (1 - REST_LEAST) * t->rest - (1 - SHARED_LEAST) * m->loads) /
			       partitions);
	return true;
}

static void tile_conflict(const struct advice_case *c, struct advice_draft *d,
			  const struct metric_overlap *o)
{
	struct occupancy x;
	int64_t bytes;

	if (!c->cliff || !c->occupancy || c->k->resources.registers <= 0)
		return;
	bytes = 4 * (int64_t)o->different * c->occupancy->warps_per_block;
	if (advice_occupancy(c, c->k->resources.registers, c->cliff->smem_per_block_bytes + bytes,
			     &x))
		advice_conflict(d, "a tile takes up to %lld bytes of shared memory: %s",
				(long long)bytes, advice_room(d, x.blocks_per_sm));
	advice_conflict(
		d, "to fill the tile takes a barrier, and words at its edges are loaded twice");
}

static enum advice_outcome read_neighbours(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_overlap *o = &c->k->access->overlap;
	const double times = (double)o->asked / o->different;
	struct tiling t;
	double us, low = 0;
	char n[TEXT_NUMBER], pct[TEXT_NUMBER];

	if (!tiling_of(c, &t))
		return ADVICE_SILENT;
	us = advice_unit_us(c, t.times * t.before);
	if (100 * us < BUSY_LEAST_PCT * c->us)
		return ADVICE_SILENT;
	if (c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "neighbours load each word %s times, but %s",
				      text_ratio(n, times), advice_saturation(c));
	advice_evidence(
		d,
		"%u %s from 0x%llx on ask for %u words in a warp%s, of which %u are different: each %s times",
		o->loads, text_plural(o->loads, "load", "loads"), (unsigned long long)o->first,
		o->asked, o->is_in_loop ? " and some turns" : "", o->different,
		text_ratio(n, times));
	advice_evidence(d,
			"%.0f of %.0f instructions are loads, and %.0f make addresses and the like",
			t.loads, t.issued, t.rest);
	if (us > 0 && c->us > 0)
		advice_evidence(d, "to issue them, or to load, takes %s of the time",
				text_pct(pct, fmin(100, 100 * us / c->us)));
	if (advice_gain_unit(d, us, us * t.worst / t.before))
		low = d->item.gain_low_pct;
	/* a unit that sets the time is not busy in all of it: with its requests all of it becomes less */
	if (t.is_alike)
		advice_gain_ratio(d, 1,
				  fmin(1, us > 0 ? us * t.best / t.before / ALIKE_BUSY / c->us
						 : t.best / t.before));
	else if (t.is_loads || !advice_gain_unit(d, us, us * t.best / t.before))
		advice_gain_ratio(d, 1, t.best / t.before);
	d->item.gain_low_pct = low;
	if (t.is_alike)
		advice_evidence(
			d,
			"%.0f blocks ask for the same: a number of theirs is in none of these addresses",
			o->blocks);
	if (t.is_loads || t.is_alike)
		advice_conflict(
			d,
			"four results in a thread leave a quarter of the threads, and take registers");
	else
		tile_conflict(c, d, o);
	advice_try(
		d,
		t.is_alike
			? "let a thread make the results of several of these blocks from what it loads once, a sum "
			  "for each in a register"
		: t.is_loads
			? "let a thread make four or more results in a row, and keep what they share in registers, "
			  "loaded 16 bytes at a time (from a tile in shared memory, where rows begin anywhere)"
			: "load what the block needs into shared memory once, with its edges, and read neighbours from there at "
			  "constant offsets; or let a thread make several results in a row, and keep what they share in registers",
		"requests to memory fall to a few for each result, and the instructions that make their addresses",
		"the L1 gave them as fast, and their addresses were cheap: keep the simpler code");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- tables */

/* Issuing sets the time from so much on; below the other it is hidden. At least so much of what falls away is saved. */
#define ISSUE_SETS_PCT   60.0
#define ISSUE_HIDDEN_PCT 40.0
/* Of what is issued: less is no matter. */
#define TABLE_LEAST      0.2

/* A loop that fills shared memory with what all blocks load alike. */
struct filling {
	const struct metric_site *site;
	double bytes; /* of a block */
	double share; /* of all that a warp issues */
};

/* Whether the loop loads nothing but that; how many loads it has. */
static unsigned table_loads(const struct metric_access *a, const struct metric_loop *l,
			    const struct metric_site **first, double *bytes)
{
	unsigned n = 0;
	bool has_shared = false;

	for (size_t i = 0; i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (s->offset < l->start || s->offset > l->end || !s->kind)
			continue;
		has_shared |= !strcmp(s->kind, "shared");
		if (!is_access(s))
			continue;
		if (strcmp(s->kind, "load") || !s->is_of_all_blocks ||
		    !quantity_known(&s->requests))
			return 0;
		*bytes += s->requests.value * (s->lanes > 0 ? s->lanes : LANES) * s->lane_bytes;
		*first = *first && (*first)->offset < s->offset ? *first : s;
		n++;
	}
	return has_shared ? n : 0;
}

static struct filling filling_of(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	struct filling most = {0};

	for (size_t i = 0; a && c->sass && i < c->sass->loops_n; i++) {
		const struct metric_loop *l = &c->sass->loops[i];
		struct filling f = {0};
		double issued;

		if (!l->is_innermost || !table_loads(a, l, &f.site, &f.bytes) ||
		    !quantity_known(&a->warp_instructions))
			continue;
		/* each load once a turn */
		issued = f.site->requests.value * l->issue_cycles;
		f.share = fmin(1, issued / a->warp_instructions.value);
		f.bytes /= c->blocks;
		if (f.share > most.share)
			most = f;
	}
	return most;
}

static enum advice_outcome read_table(const struct advice_case *c, struct advice_draft *d,
				      const struct filling *f)
{
	const double waves = c->occupancy ? c->occupancy->waves : NAN;
	const double left = 1 - f->share * (1 - 1 / waves);
	double set, base;
	char bytes[TEXT_NUMBER], pct[TEXT_NUMBER];

	if (!(waves >= 2) || !(c->issue_pct >= ISSUE_HIDDEN_PCT) || isnan(c->us))
		return ADVICE_SILENT;
	if (c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "all blocks load the same table, but %s",
				      advice_saturation(c));
	advice_evidence(d, "%s: all %.0f blocks load the same %s into shared memory, in %.1f waves",
			advice_site(d, f->site), c->blocks, text_bytes(bytes, (int64_t)f->bytes),
			waves);
	advice_evidence(d, "that loop is %s of what a warp issues", text_pct(pct, 100 * f->share));
	advice_evidence(d, "to issue takes %s of the time", text_pct(pct, c->issue_pct));
	set = fmin(1, (c->issue_pct - ISSUE_HIDDEN_PCT) / (ISSUE_SETS_PCT - ISSUE_HIDDEN_PCT));
	base = c->issue_pct / 100 + set * (1 - c->issue_pct / 100);
	/* the bytes of the problem stay */
	advice_gain_ratio(d, 1 - ADVICE_UNIT_SURE * set * base * (1 - left),
			  fmax(1 - base * (1 - left),
			       isnan(c->memory_pct) ? 0 : c->memory_pct / 100 / STREAM_BEST));
	advice_conflict(d, "fewer blocks with more work wait longer for their slowest warp");
	advice_try(
		d,
		"as many blocks as the SMs hold at a time, a grid-stride loop in each behind the table; or read the table "
		"where it is, if each thread needs a few words of it (__ldg, constant memory)",
		"requests for the table fall to those of the blocks that run at a time, time with them",
		"the work behind the table takes the time: see the loop that follows");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_read_once(const struct advice_case *c, struct advice_draft *d)
{
	const struct passes p = passes_of(c);
	const struct metric_overlap *o = c->k->access ? &c->k->access->overlap : NULL;
	const struct filling f = filling_of(c);
	const struct each_turn x = each_turn_of(c);

	if (x.n && !table_of(c).n && read_each_turn(c, d, &x) != ADVICE_SILENT)
		return d->why_not ? ADVICE_RULED_OUT : ADVICE_GIVEN;
	if (p.n)
		return read_passes(c, d, &p);
	if (f.share >= TABLE_LEAST)
		return read_table(c, d, &f);
	/* a product has a rule of its own (KBN-A012) */
	if (!o || !o->loads || !o->different || o->asked < ASKED_LEAST * o->different || !c->sass ||
	    c->sass->has_products || c->sass->idioms.sums)
		return ADVICE_SILENT;
	return read_neighbours(c, d);
}
