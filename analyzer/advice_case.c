/* advice_case.c - see advice_case.h. */
#include "advice_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "count.h"
#include "load_unit.h"

/* ------------------------------------------------------------------------------------- readings */

static enum advice_class class_of(const char *word)
{
	static const struct {
		const char *word;
		enum advice_class class;
	} words[] = {
		{"memory", CLASS_MEMORY},     {"compute", CLASS_COMPUTE},
		{"balanced", CLASS_BALANCED}, {"latency", CLASS_LATENCY},
		{"launch", CLASS_LAUNCH},
	};

	for (size_t i = 0; word && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i].word))
			return words[i].class;
	return CLASS_UNKNOWN;
}

static double value_or_nan(bool is_known, const struct quantity *q)
{
	return is_known && quantity_known(q) ? q->value : NAN;
}

/* How often a warp runs through a loop in all, as the code says it, guesses included. */
static double turns_by_code(const struct metric_sass *s, const struct metric_loop *l)
{
	double turns = 1;

	for (size_t i = 0; i < s->loops_n; i++)
		if (s->loops[i].start <= l->start && l->end <= s->loops[i].end)
			turns *= s->loops[i].trips ? (double)s->loops[i].trips
						   : METRIC_ASSUMED_TRIPS;
	return turns;
}

double advice_loop_turns(const struct advice_case *c, const struct metric_loop *l)
{
	const struct metric_access *a = c->k->access;
	double turns = NAN;

	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (s->offset >= l->start && s->offset <= l->end && s->kind &&
		    strcmp(s->kind, "branch") != 0 && quantity_known(&s->requests))
			turns = fmax(turns, s->requests.value / c->warps);
	}
	return turns;
}

/* A loop with a unit that is surely busy for so much of the time is the hottest, however often others may run. */
#define SURELY_HOT 0.5

/* Of the kernel's time, what the load/store unit or issuing takes for a loop, as far as the lanes count it. */
static double busy_by_lanes(const struct advice_case *c, const struct metric_loop *l)
{
	const struct metric_access *a = c->k->access;
	double unit = 0;

	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (s->offset >= l->start && s->offset <= l->end && s->kind &&
		    (!strcmp(s->kind, "shared") || !strcmp(s->kind, "load") ||
		     !strcmp(s->kind, "store")) &&
		    quantity_known(&s->requests))
			unit += s->requests.value / c->warps * load_unit_cycles(s, &c->hw->arch);
	}
	unit = fmax(unit, advice_loop_turns(c, l) * l->turn.issued / c->hw->arch.partitions);
	return advice_unit_us(c, unit) / c->us;
}

/*
 * How often a loop runs the code often leaves open, and the arguments of the launch decide it: then another one than
 * by its guesses may be the hottest.
 */
static void find_hot_of_launch(struct advice_case *c)
{
	const struct metric_sass *s = c->sass;
	const struct metric_loop *best = NULL;
	struct metric_sass *own;
	double most = 0;

	for (size_t i = 0; s && i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];
		const double by_lanes = advice_loop_turns(c, l);
		const double issued = isnan(by_lanes) ? turns_by_code(s, l) * l->turn.issued
				      : busy_by_lanes(c, l) >= SURELY_HOT
					      ? INFINITY
					      : by_lanes * l->turn.issued;

		if (l->is_innermost && !l->is_rare && issued > most) {
			most = issued;
			best = l;
		}
	}
	c->hot_turns = c->hot ? advice_loop_turns(c, best ? best : c->hot) : NAN;
	if (!best || !c->hot || best == c->hot || !(own = arena_alloc(c->arena, sizeof(*own))))
		return;
	*own = *s;
	own->hot_loop = best - s->loops;
	own->hot = best->turn;
	if (!c->tile->is_main)
		c->tile = best;
	c->hot = best;
	c->sass = own;
}

/* The loop that the ratio is of, else the one in which most is issued. */
static void find_loops(struct advice_case *c)
{
	const struct metric_sass *s = c->sass;

	if (!s)
		return;
	for (size_t i = 0; i < s->loops_n; i++)
		if (s->loops[i].is_main)
			c->tile = &s->loops[i];
	if (s->hot_loop >= 0 && (size_t)s->hot_loop < s->loops_n)
		c->hot = &s->loops[s->hot_loop];
	if (!c->tile)
		c->tile = c->hot;
}

static void find_grid(struct advice_case *c)
{
	const struct session_shape *s = c->k->shape;
	const struct occupancy *o = c->occupancy;

	c->blocks = c->warps = c->sm_warps = c->resident = NAN;
	if (s->overflow || !o || o->warps_per_block <= 0)
		return;
	c->blocks = (double)count_volume(s->grid);
	c->warps = c->blocks * o->warps_per_block;
	c->sm_warps = fmax(c->blocks / c->sm_count, 1) * o->warps_per_block;
	if (o->grid_warps_per_sm > 0)
		c->resident = o->grid_warps_per_sm;
	else if (o->warps_per_sm > 0)
		c->resident = o->warps_per_sm;
}

/* The class that the readings carry: data that fits the L2 may never have been at the bandwidth of DRAM. */
static void find_l2(struct advice_case *c)
{
	const struct work *w = &c->k->work;
	const double l2 = (double)c->hw->arch.l2_bytes_measured * c->clock_mhz / 1e3;

	c->dram_pct = c->memory_pct;
	c->fits_l2 = c->k->work_known && w->bytes > 0 && w->bytes <= c->hw->l2_bytes;
	if (!c->fits_l2 || isnan(c->memory_pct) || !(l2 > 0))
		return;
	c->memory_pct *= fmin(1, c->hw->dram_gbps / l2);
	c->attained_pct = fmax(value_or_nan(true, &c->k->roofline.flops_pct), c->memory_pct);
	if (c->memory_pct >= ROOFLINE_SATURATED_PCT)
		return;
	if (c->class == CLASS_MEMORY)
		c->class = CLASS_UNKNOWN;
	else if (c->class == CLASS_BALANCED)
		c->class = CLASS_COMPUTE;
}

void advice_case_init(struct advice_case *c, const struct model_kernel *k,
		      const struct arch_device *hw, double share_pct, const struct advice_run *run,
		      struct arena *arena)
{
	const struct roofline *r = &k->roofline;
	const uint32_t green = k->shape->green_sm_count;

	*c = (struct advice_case){.k = k, .hw = hw, .run = run, .arena = arena};
	c->share_pct = share_pct;
	c->class = class_of(k->verdict.class);
	c->occupancy = k->occupancy_known ? &k->occupancy : NULL;
	c->cliff = k->cliff_known ? &k->cliff : NULL;
	c->sass = k->code.sass && !k->code.sass->undecoded ? k->code.sass : NULL;
	c->us = !run->no_times && k->times.median > 0 ? k->times.median : NAN;
	c->sm_count = green ? (double)green : hw->sm_count > 0 ? hw->sm_count : NAN;
	c->clock_mhz = hw->clock_mhz > 0 ? hw->clock_mhz : NAN;
	/* Shares that carry no class are one-sided, or contradict what the hardware can do. */
	c->attained_pct = value_or_nan(c->class != CLASS_UNKNOWN, &r->attained_pct);
	c->compute_pct = value_or_nan(c->class != CLASS_UNKNOWN, &r->sol_compute_pct);
	c->memory_pct = value_or_nan(c->class != CLASS_UNKNOWN, &r->sol_memory_pct);
	c->issue_pct = fmax(r->issue_pct.low, r->pipe_pct);
	if (c->issue_pct > 100)
		c->issue_pct = NAN;
	find_l2(c);
	find_loops(c);
	find_grid(c);
	find_hot_of_launch(c);
}

bool advice_is_saturated(const struct advice_case *c)
{
	return c->class == CLASS_MEMORY || c->class == CLASS_COMPUTE || c->class == CLASS_BALANCED;
}

bool advice_is_compute(const struct advice_case *c)
{
	return c->class == CLASS_COMPUTE ||
	       (c->class == CLASS_BALANCED && c->compute_pct > c->memory_pct);
}

const char *advice_saturation(const struct advice_case *c)
{
	const bool is_memory = c->class == CLASS_MEMORY ||
			       (c->class == CLASS_BALANCED && c->memory_pct >= c->compute_pct);
	const double pct = is_memory ? c->memory_pct : c->compute_pct;
	char text[TEXT_NUMBER];
	const char *s;

	if (!advice_is_saturated(c))
		return "";
	if (isnan(pct))
		return is_memory ? "memory is the limit" : "compute is the limit";
	s = text_format(c->arena, "%s is at %s of its peak", is_memory ? "memory" : "compute",
			text_pct(text, pct));
	return s ? s : "";
}

double advice_unit_us(const struct advice_case *c, double per_warp)
{
	return c->sm_warps * per_warp / c->clock_mhz;
}

double advice_dram_rate(const struct advice_case *c)
{
	return c->hw->dram_gbps * 1e3 / c->clock_mhz / c->sm_count;
}

double advice_l1_rate(const struct advice_case *c)
{
	const struct arch *a = &c->hw->arch;
	const int bytes = a->l1_bytes_measured > 0 ? a->l1_bytes_measured : a->l1_bytes;

	return bytes > 0 ? bytes : NAN;
}

const struct metric_op *advice_op(const struct advice_case *c, const char *name)
{
	for (size_t i = 0; c->sass && i < c->sass->ops_n; i++)
		if (!strcmp(c->sass->ops[i].op, name))
			return &c->sass->ops[i];
	return NULL;
}

bool advice_is_kind(const struct metric_site *s, const char *kind)
{
	return s->kind && !strcmp(s->kind, kind);
}

double advice_l2_rate(const struct advice_case *c)
{
	const int bytes = c->hw->arch.l2_bytes_measured;

	return bytes > 0 ? fmax(bytes / c->sm_count, advice_dram_rate(c)) : NAN;
}

static double known(const struct quantity *q)
{
	return quantity_known(q) ? q->value : 0;
}

double advice_bytes_us(const struct advice_case *c, double share, bool is_best)
{
	const struct metric_access *a = c->k->access;
	const bool is_stated = c->k->work_known && c->k->work.bytes > 0;
	const double bytes = is_stated ? (double)c->k->work.bytes
			     : a ? known(&a->global_load_bytes) + known(&a->global_store_bytes)
				 : 0;
	const double rate = is_best && (c->fits_l2 || !is_stated) ? advice_l2_rate(c)
								  : advice_dram_rate(c);

	return bytes > 0 ? bytes / c->sm_count / (share * rate) / c->clock_mhz : NAN;
}

#define LANES        32.0
#define SECTOR_BYTES 32.0

bool advice_waits(const struct advice_case *c)
{
	const struct metric_mix *m = c->sass ? &c->sass->hot : NULL;
	const double partitions = c->hw->arch.partitions;
	double bytes;

	if (!m || !c->hot || !(m->loads > 0) || m->copies > 0 || m->products > 0 ||
	    isnan(c->resident) || !(partitions > 0))
		return false;
	bytes = fmax(m->load_bytes, m->loads * LANES * SECTOR_BYTES);
	return fmax(1, c->resident / partitions) * c->hot->issue_cycles < ADVICE_L2_LEAST &&
	       c->resident * bytes / ADVICE_DRAM_LEAST < advice_dram_rate(c);
}

bool advice_occupancy(const struct advice_case *c, int registers, int64_t smem_bytes,
		      struct occupancy *out)
{
	const struct session_shape *s = c->k->shape;
	const struct occupancy_input in = {
		.registers = registers,
		.uses_syscalls = c->k->code.uses_syscalls == 1,
		.block_threads = count_int(count_volume(s->block)),
		.static_smem_bytes = smem_bytes,
		.barriers = c->k->code.barriers,
		.carveout = s->kernel ? s->kernel->carveout : -1,
		.grid_blocks = count_volume(s->grid),
		.sm_count = isnan(c->sm_count) ? -1 : (int)c->sm_count,
	};

	if (!c->occupancy || !c->hw->arch_known || registers < 0 || smem_bytes < 0)
		return false;
	occupancy_compute(out, &c->hw->arch, &in);
	return out->blocks_per_sm >= 0;
}

/* ------------------------------------------------------------------------------------- items */

/* "1 blocks per SM" is what a format makes of a count that happens to be one: takes the plural's s away. */
static void make_singular(char *text)
{
	static const char *const nouns[] = {"blocks",    "warps",       "bytes", "barriers",
					    "registers", "loads",       "sums",  "operations",
					    "launches",  "instructions"};

	for (char *at = text; (at = strstr(at, "1 ")); at += 2) {
		if (at > text && at[-1] != ' ' && at[-1] != '(')
			continue; /* the end of 21 or 0.1 */
		for (size_t i = 0; i < sizeof(nouns) / sizeof(*nouns); i++) {
			const size_t n = strlen(nouns[i]);
			const size_t cut = !strcmp(nouns[i], "launches") ? 2 : 1;
			char *end = at + 2 + n;

			if (strncmp(at + 2, nouns[i], n) != 0 || (*end >= 'a' && *end <= 'z'))
				continue;
			memmove(end - cut, end, strlen(end) + 1);
			break;
		}
	}
}

const char *advice_text(struct advice_draft *d, const char *format, ...)
{
	va_list args, again;
	char *text;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	text = n < 0 ? NULL : arena_alloc(d->c->arena, (size_t)n + 1);
	if (text) {
		vsnprintf(text, (size_t)n + 1, format, again);
		make_singular(text);
	}
	va_end(again);
	va_end(args);
	d->no_memory |= !text;
	return text ? text : "";
}

const char *advice_site(struct advice_draft *d, const struct metric_site *s)
{
	const unsigned long long at = s->offset;

	return s->line ? advice_text(d, "%s at 0x%llx (%s)", s->op, at, s->line)
		       : advice_text(d, "%s at 0x%llx", s->op, at);
}

const char *advice_room(struct advice_draft *d, int blocks)
{
	const struct occupancy *o = d->c->occupancy;

	if (blocks <= 0)
		return "no block fits on an SM, it cannot be launched so";
	return advice_text(d, "%d blocks and %d warps per SM (%d now)", blocks,
			   blocks * o->warps_per_block, o->warps_per_sm);
}

void advice_add_evidence(struct advice_draft *d, const char *text)
{
	if (d->item.evidence_n < METRIC_EVIDENCE)
		d->item.evidence[d->item.evidence_n++] = text;
}

#define STALLS_LEAST_PCT 20.0

void advice_stalls(struct advice_draft *d, const struct quantity *share, const char *name)
{
	char pct[TEXT_NUMBER];

	if (share && quantity_known(share) && share->value >= STALLS_LEAST_PCT)
		advice_evidence(d, "%s of the stalls are %s (%s)", text_pct(pct, share->value),
				name, quantity_label_names[share->label]);
}

void advice_add_conflict(struct advice_draft *d, const char *text)
{
	if (d->item.conflicts_n < METRIC_CONFLICTS)
		d->item.conflicts[d->item.conflicts_n++] = text;
}

void advice_gain(struct advice_draft *d, double low, double high)
{
	d->item.gain_low_pct = low;
	d->item.gain_high_pct = high;
}

void advice_gain_ratio(struct advice_draft *d, double worst, double best)
{
	const double us = d->c->us;
	double least = 0, most = 1; /* without a time it may all be the part that stays */

	if (!isnan(us)) {
		least = fmax(us - ADVICE_FIXED_MOST_US, 0) / us;
		most = fmax(us - ADVICE_FIXED_LEAST_US, 0) / us;
	}
	advice_gain(d, 100 * (1 - worst) * least, 100 * (1 - best) * most);
}

/* Clocks fall under load, so the work of a unit takes up to a tenth longer than at the clock that is known. */
#define CLOCK_SLACK 1.1
/* A unit busy for that share of the time sets it; below the other nobody can tell. */
#define UNIT_SETS   0.6
#define UNIT_HIDDEN 0.2

bool advice_gain_unit(struct advice_draft *d, double before, double after)
{
	const double us = d->c->us, busy = before / us;
	double high, sure;

	if (!(before > after) || isnan(busy))
		return false;
	high = CLOCK_SLACK * (fmin(before, us) - after * fmin(1, 1 / busy)) / us;
	sure = ADVICE_UNIT_SURE *
	       fmin(1, fmax(0, (busy - UNIT_HIDDEN) / (UNIT_SETS - UNIT_HIDDEN)));
	advice_gain(d, 100 * sure * high / CLOCK_SLACK, 100 * high);
	return true;
}

void advice_try(struct advice_draft *d, const char *change, const char *expect,
		const char *otherwise)
{
	d->item.change = change;
	d->item.expect = expect;
	d->item.otherwise = otherwise;
}
