/*
 * diff.c - see diff.h. Times of a side are medians: of a launch, then of the runs. A change counts when
 * it is beyond the noise of both sides. The run's change is that of its kernel time: of every pair the
 * base's time, times the change of its median and of its launches; what was added and removed as it is.
 */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "diff_parts.h"
#include "text.h"

#define FEW_RUNS  4 /* with fewer the range of their medians says little of how far runs differ */
#define SAME_WORK 0.01 /* launches of kernels that differ by the same factor, within this */
#define MOST      0.9  /* of the time: as good as all kernels */
#define ENOUGH    0.5  /* of the time: less than that says nothing of the run */

/* ---- one side */

static int by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* The median of the finite ones of `n` values (which are sorted), NaN when there is none. */
static double median(double *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(v[i]))
			v[k++] = v[i];
	if (k == 0)
		return NAN;
	qsort(v, k, sizeof(*v), by_value);
	return k % 2 ? v[k / 2] : v[k / 2 - 1] / 2 + v[k / 2] / 2;
}

/* What is known of one kernel on one side. */
struct side_times {
	double median_us, total_us, launches, share_pct;
	double noise_pct;       /* NaN = not known */
	double uncertainty_pct; /* of the first run that has the kernel */
};

/* The range of the runs' medians, us; NaN with fewer than two. */
static double between_runs(const double *medians, size_t n)
{
	double low = INFINITY, high = -INFINITY;
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(medians[i])) {
			low = fmin(low, medians[i]);
			high = fmax(high, medians[i]);
			known++;
		}
	return known > 1 ? high - low : NAN;
}

/* From the fastest launch of one run to its p90, us; the slowest ones are accidents. */
static double within_run(const struct diff_kernel *k)
{
	return k->timed < 2 ? NAN : k->p90_us - fmin(k->min_us, k->median_us);
}

static struct side_times side_times(struct diff_build *b, const struct diff_joined *j,
				    const struct diff_side *side)
{
	struct side_times t = {NAN, NAN, NAN, NAN, NAN, NAN};
	double *v = arena_array(b->arena, j->n + 1, 4 * sizeof(*v));
	double *medians = v, *totals, *launches, *shares, spread = NAN, between;

	if (!v) {
		b->failed = true;
		return t;
	}
	totals = v + j->n;
	launches = totals + j->n;
	shares = launches + j->n;
	for (size_t i = 0; i < j->n; i++) {
		const struct diff_kernel *k = j->in[i];

		medians[i] = k ? k->median_us : NAN;
		totals[i] = k ? k->total_us : NAN;
		launches[i] = k ? k->launches : NAN;
		shares[i] = k ? 100 * k->total_us / side->reports[i].kernel_time_us : NAN;
		if (k && isnan(t.uncertainty_pct))
			t.uncertainty_pct = 100 * k->uncertainty_us / k->median_us;
		if (k && isnan(spread) && isfinite(k->median_us))
			spread = within_run(k);
	}
	t.total_us = median(totals, j->n);
	t.launches = median(launches, j->n);
	t.share_pct = median(shares, j->n);
	between = between_runs(medians, j->n);
	if (isfinite(between))
		spread = j->n < FEW_RUNS ? fmax(between, spread) : between;
	t.median_us = median(medians, j->n);
	if (isfinite(spread))
		t.noise_pct = 100 * spread / t.median_us +
			      (isnan(t.uncertainty_pct) ? 0 : t.uncertainty_pct);
	return t;
}

/* ---- rows */

static double fmax3(double a, double b, double c)
{
	return fmax(a, fmax(b, c));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Noise of a pair; NaN when that of a side is not known, or one has nothing but first launches. */
static double pair_noise(const struct diff_build *b, const struct diff_row *row,
			 const struct side_times t[2])
{
	if (isnan(t[0].noise_pct) || isnan(t[1].noise_pct) ||
	    row->base->warmup_only != row->new->warmup_only)
		return NAN;
	return fmax3(DIFF_NOISE_PCT, b->clock_pct, fmax(t[0].noise_pct, t[1].noise_pct));
}

static enum diff_verdict verdict(double change, double noise)
{
	if (!isfinite(change) || !isfinite(noise))
		return DIFF_INCONCLUSIVE;
	if (fabs(change) <= noise)
		return DIFF_NEUTRAL;
	return change > 0 ? DIFF_REGRESSED : DIFF_IMPROVED;
}

static struct diff_row *add_row(struct diff_build *b)
{
	struct diff_row *row = vec_add(&b->rows);

	if (!row) {
		b->failed = true;
		return NULL;
	}
	*row = (struct diff_row){.base_us = NAN,
				 .new_us = NAN,
				 .base_total_us = NAN,
				 .change_pct = NAN,
				 .noise_pct = NAN,
				 .share_pct = NAN,
				 .effect_pct = NAN,
				 .verdict = DIFF_INCONCLUSIVE};
	return row;
}

/* The time of the kernel in NEW, had it run for as much work as BASE. */
static double new_total(const struct diff_build *b, const struct side_times t[2])
{
	double launches = t[1].launches / t[0].launches, time = t[1].median_us / t[0].median_us;

	if (isfinite(launches) && isfinite(time))
		return t[0].total_us * launches * time / b->work;
	return t[1].total_us / b->work;
}

static void add_pair(struct diff_build *b, const struct diff_joined *base,
		     const struct diff_joined *new)
{
	const struct side_times t[2] = {side_times(b, base, b->side[0]),
					side_times(b, new, b->side[1])};
	struct diff_row *row = add_row(b);

	if (!row)
		return;
	row->base = base->first;
	row->new = new->first;
	row->match = same_text(row->base->code, row->new->code) && row->base->code ? DIFF_BY_CODE
										   : DIFF_BY_NAME;
	row->base_us = t[0].median_us;
	row->new_us = t[1].median_us;
	row->base_total_us = t[0].total_us;
	row->change_pct = 100 * (row->new_us - row->base_us) / row->base_us;
	row->noise_pct = pair_noise(b, row, t);
	row->share_pct = fmax(t[0].share_pct, t[1].share_pct);
	row->effect_pct = new_total(b, t) - t[0].total_us; /* us, until all are there */
	if (isfinite(row->effect_pct)) {
		b->time_us += t[0].total_us;
		b->pairs_us += t[0].total_us;
	}
	if (b->d->comparable)
		row->verdict = verdict(row->change_pct, row->noise_pct);
	b->d->count[row->verdict]++;
	diff_because(b, row, base->level, (const double[2]){t[0].launches, t[1].launches});
}

static void add_single(struct diff_build *b, const struct diff_joined *j, int s)
{
	const struct side_times t = side_times(b, j, b->side[s]);
	struct diff_row *row = add_row(b);

	if (!row)
		return;
	row->match = s ? DIFF_ADDED : DIFF_REMOVED;
	*(s ? &row->new : &row->base) = j->first;
	*(s ? &row->new_us : &row->base_us) = t.median_us;
	row->share_pct = t.share_pct;
	row->effect_pct = s ? t.total_us / b->work : -t.total_us;
	if (!s && isfinite(t.total_us))
		b->time_us += t.total_us;
	*(s ? &b->d->added : &b->d->removed) += 1;
	diff_because_single(b, row, j->ambiguous);
}

/* ---- as much work? */

struct weighted {
	double ratio, weight;
};

/*
 * A run of twice the steps launches everything twice and is no slower for it. The factor between the
 * launches of the pairs when nearly all of the time agrees on one, else 1: then the launches differ
 * because the program does, and count.
 */
static double work_factor(struct diff_build *b, bool *known)
{
	struct diff_list *l = &b->list[0];
	struct weighted *v = arena_array(b->arena, l->n + 1, sizeof(*v));
	double all = 0, sum = 0, agree = 0, middle = NAN;
	size_t n = 0;

	*known = false;
	if (!v) {
		b->failed = true;
		return 1;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct diff_joined *j = &l->at[i];
		struct side_times t[2];

		if (j->level == DIFF_LEVEL_NONE)
			continue;
		t[0] = side_times(b, j, b->side[0]);
		t[1] = side_times(b, &b->list[1].at[j->partner], b->side[1]);
		if (t[0].launches > 0 && t[1].launches > 0 && t[0].total_us > 0)
			v[n++] = (struct weighted){t[1].launches / t[0].launches, t[0].total_us};
	}
	if (n)
		qsort(v, n, sizeof(*v), by_value); /* by ratio, which is its first member */
	for (size_t i = 0; i < n; i++)
		all += v[i].weight;
	for (size_t i = 0; i < n && isnan(middle); i++)
		if ((sum += v[i].weight) >= all / 2)
			middle = v[i].ratio;
	for (size_t i = 0; i < n; i++)
		if (fabs(v[i].ratio - middle) <= SAME_WORK * middle)
			agree += v[i].weight;
	*known = n && agree >= MOST * all && fabs(middle - 1) > SAME_WORK;
	return *known ? middle : 1;
}

/* ---- the run */

/* What has no effect that is known comes last; then by share, name and id. */
static int by_effect(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	const struct diff_kernel *x = a->new ? a->new : a->base, *y = b->new ? b->new : b->base;
	double p = isfinite(a->effect_pct) ? fabs(a->effect_pct) : -1,
	       q = isfinite(b->effect_pct) ? fabs(b->effect_pct) : -1;
	int name;

	if (p != q)
		return p < q ? 1 : -1;
	p = isfinite(a->share_pct) ? a->share_pct : -1;
	q = isfinite(b->share_pct) ? b->share_pct : -1;
	if (p != q)
		return p < q ? 1 : -1;
	name = strcmp(x->short_name, y->short_name);
	return name ? name : strcmp(x->id, y->id);
}

static double share_of(const struct diff_build *b, enum diff_match match)
{
	double sum = 0;

	for (size_t i = 0; i < b->rows.n; i++)
		if (b->rows.at[i].match == match && isfinite(b->rows.at[i].share_pct))
			sum += b->rows.at[i].share_pct;
	return sum;
}

/* Kernel time of a run of BASE, at least that of the kernels that are compared. */
static double base_time(struct diff_build *b)
{
	const struct diff_side *side = b->side[0];
	double *v = arena_array(b->arena, side->n, sizeof(*v)), time;

	if (!v) {
		b->failed = true;
		return NAN;
	}
	for (size_t i = 0; i < side->n; i++)
		v[i] = side->reports[i].kernel_time_us;
	time = median(v, side->n);
	return isfinite(time) ? fmax(time, b->time_us) : b->time_us;
}

/* Effects as shares of the run's time; returns their sum, and in *noise what noise may hide of it. */
static double add_effects(struct diff_build *b, double time, double *noise)
{
	double change = 0;

	*noise = 0;
	for (size_t i = 0; i < b->rows.n; i++) {
		struct diff_row *row = &b->rows.at[i];
		double own = row->base && row->new ? row->base_total_us * row->noise_pct : 0;

		row->effect_pct = time > 0 ? 100 * row->effect_pct / time : NAN;
		if (!isfinite(row->effect_pct))
			continue;
		change += row->effect_pct;
		/* where the noise is not known, the change may be nothing else */
		*noise += isfinite(own) ? own / time : fabs(row->effect_pct);
	}
	return change;
}

/* The run's change. What could not be compared is taken as unchanged, as long as that is the lesser part. */
static void sum_up(struct diff_build *b)
{
	struct quantity *q = &b->d->run_change_pct;
	double time = base_time(b), noise, change = add_effects(b, time, &noise);
	char part[TEXT_NUMBER];

	if (!b->d->comparable)
		*q = quantity_unknown("the two sides cannot be compared");
	else if (!(b->pairs_us > 0) || !isfinite(change) || !isfinite(noise))
		*q = quantity_unknown("no kernel has times on both sides");
	else if (b->time_us < ENOUGH * time)
		*q = quantity_unknown("less than half of the kernel time could be compared");
	else
		*q = (struct quantity){change,           change - noise,     change + noise,
				       QUANTITY_DERIVED, QUANTITY_BY_EVENTS, NULL};
	if (b->d->comparable && b->time_us < MOST * time)
		diff_say(b, "only %s of BASE's kernel time could be compared",
			 text_pct(part, 100 * b->time_us / time));
}

/* Kernels that only one side has, and a different amount of work. */
static void say_missing(struct diff_build *b, bool more_work)
{
	const struct diff *d = b->d;
	char gone[TEXT_NUMBER], more[TEXT_NUMBER];

	if (more_work)
		diff_say(
			b,
			"NEW launched %.3g times as many kernels as BASE: the change of the run is "
			"that for equal launches",
			b->work);
	if (d->removed)
		diff_say(b, "%zu %s of BASE %s not in NEW (%s of BASE's kernel time)", d->removed,
			 text_plural(d->removed, "kernel", "kernels"),
			 text_plural(d->removed, "is", "are"),
			 text_pct(gone, share_of(b, DIFF_REMOVED)));
	if (d->added)
		diff_say(b, "%zu %s of NEW %s not in BASE (%s of NEW's kernel time)", d->added,
			 text_plural(d->added, "kernel", "kernels"),
			 text_plural(d->added, "is", "are"),
			 text_pct(more, share_of(b, DIFF_ADDED)));
}

static void build_rows(struct diff_build *b)
{
	struct diff_list *base = &b->list[0], *new = &b->list[1];
	bool more_work = false;

	b->work = work_factor(b, &more_work);
	for (size_t i = 0; !b->failed && i < base->n; i++)
		if (base->at[i].level != DIFF_LEVEL_NONE)
			add_pair(b, &base->at[i], &new->at[base->at[i].partner]);
		else
			add_single(b, &base->at[i], 0);
	for (size_t i = 0; !b->failed && i < new->n; i++)
		if (new->at[i].level == DIFF_LEVEL_NONE)
			add_single(b, &new->at[i], 1);
	sum_up(b);
	vec_sort(&b->rows, by_effect);
	say_missing(b, more_work);
}

/* Without one pair of times that says something, nothing was compared. */
static void conclude(struct diff_build *b)
{
	struct diff *d = b->d;
	const struct quantity *q = &d->run_change_pct;

	if (d->comparable && !d->count[DIFF_IMPROVED] && !d->count[DIFF_REGRESSED] &&
	    !d->count[DIFF_NEUTRAL]) {
		d->comparable = false;
		diff_say(b,
			 d->count[DIFF_INCONCLUSIVE]
				 ? "no kernel has times on both sides that can be told from noise"
				 : "the two sides have no kernel in common");
	}
	d->verdict = DIFF_INCONCLUSIVE;
	if (d->comparable && quantity_known(q))
		d->verdict = q->low > 0    ? DIFF_REGRESSED
			     : q->high < 0 ? DIFF_IMPROVED
					   : DIFF_NEUTRAL;
}

int diff_build(struct diff *d, struct arena *arena, const struct diff_side *base,
	       const struct diff_side *new, struct err *e)
{
	struct diff built = {.comparable = true};
	struct diff_build b = {.arena = arena, .d = &built, .side = {base, new}};

	b.list[0] = diff_join(arena, base);
	b.list[1] = diff_join(arena, new);
	b.failed = !b.list[0].at || !b.list[1].at || !diff_match(arena, &b.list[0], &b.list[1]);
	if (!b.failed) {
		diff_gate(&b);
		build_rows(&b);
		conclude(&b);
		built.rows = arena_copy(arena, b.rows.at, b.rows.n * sizeof(*b.rows.at));
		built.rows_n = b.rows.n;
		built.why_not =
			arena_copy(arena, b.why_not.at, b.why_not.n * sizeof(*b.why_not.at));
		built.why_not_n = b.why_not.n;
	}
	vec_fini(&b.rows);
	vec_fini(&b.why_not);
	if (b.failed || !built.rows || !built.why_not)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	*d = built;
	return 0;
}

bool diff_row_fails(const struct diff_row *row, double pct)
{
	return row->verdict == DIFF_REGRESSED && row->change_pct > pct &&
	       row->share_pct >= DIFF_SHARE_PCT;
}

bool diff_fails(const struct diff *d, double pct)
{
	if (d->verdict == DIFF_REGRESSED && d->run_change_pct.value > pct)
		return true;
	for (size_t i = 0; i < d->rows_n; i++)
		if (diff_row_fails(&d->rows[i], pct))
			return true;
	return false;
}
