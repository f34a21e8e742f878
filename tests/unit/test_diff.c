/*
 * test_diff.c - which kernels are paired, what counts as a change, what ends a comparison; on reports
 * made by hand.
 */
#include "kbn_test.h"

#include <math.h>
#include <time.h>

#include "arena.h"
#include "diff.h"
#include "diff_render.h"
#include "text.h"

#define MOST 600

/* A report of `n` kernels, each of 10 us, 100 launches, all of them timed. */
struct made {
	struct diff_report report;
	struct diff_device device;
	struct diff_kernel kernels[MOST];
	char id[MOST][24], name[MOST][24];
	double whole_us; /* kernel time of the run, 0 = of these kernels */
};

static void add_up(struct made *m)
{
	m->report.kernel_time_us = 0;
	for (size_t i = 0; i < m->report.kernels_n; i++) {
		struct diff_kernel *k = &m->kernels[i];

		k->total_us = k->median_us * k->launches;
		if (isfinite(k->total_us))
			m->report.kernel_time_us += k->total_us;
	}
	if (m->whole_us > 0)
		m->report.kernel_time_us = m->whole_us;
}

static struct made *make(size_t n)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->device = (struct diff_device){"NVIDIA H200", "sm_90", 132, 1980, NAN};
	for (size_t i = 0; i < n; i++) {
		snprintf(m->id[i], sizeof(m->id[i]), "%016zx", i);
		snprintf(m->name[i], sizeof(m->name[i]), "kernel_%zu", i);
		m->kernels[i] = (struct diff_kernel){
			.id = m->id[i],
			.name = m->name[i],
			.demangled = m->name[i],
			.short_name = m->name[i],
			.code = "c0de",
			.grid = {(int64_t)i + 1, 1, 1},
			.block = {256, 1, 1},
			.cluster = {1, 1, 1},
			.launches = 100,
			.timed = 100,
			.median_us = 10,
			.p90_us = 10.1,
			.min_us = 10,
			.uncertainty_us = 0.05,
			.method = "gated-events",
			.registers = 32,
			.occupancy_pct = 100,
		};
	}
	m->report = (struct diff_report){
		.path = "made.json",
		.driver = "580.1",
		.arguments = "--n 1",
		.processes = 1,
		.devices = &m->device,
		.devices_n = 1,
		.kernels = m->kernels,
		.kernels_n = n,
		.kernels_all = (double)n,
	};
	add_up(m);
	return m;
}

/* Another kernel code gets another id, as it would. */
static void other_code(struct made *m, size_t i, const char *code)
{
	m->kernels[i].code = code;
	m->id[i][0] = 'f';
}

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct diff compare_all(struct made *const *base, size_t base_n, struct made *const *new,
			       size_t new_n)
{
	struct diff_report r[2][8];
	struct diff_side side[2] = {{r[0], base_n}, {r[1], new_n}};
	struct diff_report *kept = arena_alloc(arena, sizeof(r));
	struct diff d;

	for (size_t i = 0; i < base_n; i++) {
		add_up(base[i]);
		r[0][i] = base[i]->report;
	}
	for (size_t i = 0; i < new_n; i++) {
		add_up(new[i]);
		r[1][i] = new[i]->report;
	}
	memcpy(kept, r, sizeof(r));
	side[0].reports = kept;
	side[1].reports = kept + 8;
	assert_int_equal(diff_build(&d, arena, &side[0], &side[1], NULL), 0);
	return d;
}

static struct diff compare(struct made *base, struct made *new)
{
	return compare_all(&base, 1, &new, 1);
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->rows_n; i++) {
		const struct diff_kernel *k = d->rows[i].new ? d->rows[i].new : d->rows[i].base;

		if (strcmp(k->short_name, name) == 0)
			return &d->rows[i];
	}
	fail_msg("no row of %s", name);
	return NULL;
}

static bool says(const char *const *list, size_t n, const char *part)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(list[i], part))
			return true;
	return false;
}

#define WHY_NOT(d, part) assert_true(says((d)->why_not, (d)->why_not_n, part))
#define BECAUSE(r, part) assert_true(says((r)->because, (r)->because_n, part))

/* ---- verdicts */

static void test_identical(void **state)
{
	struct made *a = make(3), *b = make(3);
	struct diff d = compare(a, b);

	(void)state;
	assert_true(d.comparable);
	assert_int_equal(d.why_not_n, 0);
	assert_int_equal(d.verdict, DIFF_NEUTRAL);
	assert_int_equal(d.count[DIFF_NEUTRAL], 3);
	assert_true(d.run_change_pct.value == 0);
	assert_true(d.run_change_pct.low < 0 && d.run_change_pct.high > 0);
	assert_int_equal(d.rows[0].match, DIFF_BY_CODE);
	assert_int_equal(d.rows[0].because_n, 0);
	assert_false(diff_fails(&d, 0));
	free(a);
	free(b);
}

static void test_one_slower(void **state)
{
	struct made *a = make(3), *b = make(3);
	struct diff d;

	(void)state;
	b->kernels[1].median_us = 11;
	b->kernels[1].p90_us = 11.1;
	b->kernels[1].min_us = 11;
	d = compare(a, b);
	assert_string_equal(d.rows[0].new->short_name, "kernel_1");
	assert_int_equal(d.rows[0].verdict, DIFF_REGRESSED);
	assert_float_equal(d.rows[0].change_pct, 10, 1e-9);
	assert_float_equal(d.rows[0].effect_pct, 10.0 / 3, 1e-9);
	assert_float_equal(d.run_change_pct.value, 10.0 / 3, 1e-9);
	/* 2% of noise everywhere are 2% of the run */
	assert_float_equal(d.run_change_pct.low, 10.0 / 3 - 2, 1e-9);
	assert_int_equal(d.verdict, DIFF_REGRESSED);
	assert_true(diff_fails(&d, 5));
	assert_false(diff_fails(&d, 10));
	free(a);
	free(b);
}

static void test_faster(void **state)
{
	struct made *a = make(2), *b = make(2);
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		b->kernels[i].median_us = b->kernels[i].p90_us = b->kernels[i].min_us = 8;
	d = compare(a, b);
	assert_int_equal(d.verdict, DIFF_IMPROVED);
	assert_int_equal(d.count[DIFF_IMPROVED], 2);
	assert_float_equal(d.run_change_pct.value, -20, 1e-9);
	assert_false(diff_fails(&d, 0));
	free(a);
	free(b);
}

/* Just below and just above the 2% that is never called a change. */
static void test_floor(void **state)
{
	struct made *a = make(1), *b = make(1);

	(void)state;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 10.19;
	assert_int_equal(compare(a, b).rows[0].verdict, DIFF_NEUTRAL);
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 10.21;
	assert_int_equal(compare(a, b).rows[0].verdict, DIFF_REGRESSED);
	free(a);
	free(b);
}

static void test_noise_within(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 11;
	a->kernels[0].p90_us = 11.5;
	d = compare(a, b);
	assert_float_equal(d.rows[0].noise_pct, 15 + 0.5, 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	a->kernels[0].p90_us = 10;
	a->kernels[0].uncertainty_us = 1.2;
	d = compare(a, b);
	assert_float_equal(d.rows[0].noise_pct, 12, 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	free(a);
	free(b);
}

/* Launches that were faster than the median belong to the spread as those that were slower. */
static void test_noise_below(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 12;
	d = compare(a, b);
	assert_int_equal(d.rows[0].verdict, DIFF_REGRESSED);
	b->kernels[0].min_us = 9.6;
	d = compare(a, b);
	assert_float_equal(d.rows[0].noise_pct, 20 + 5.0 / 12, 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	free(a);
	free(b);
}

/* The spread of several runs takes the place of that within one, whether it is more or less: of four or more. */
static void test_noise_between(void **state)
{
	static const double base_us[] = {10, 8.5, 12, 10}, new_us[] = {11, 11.4, 11.2, 11.2};
	struct made *a[4], *b[4];
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		a[i] = make(1);
		b[i] = make(1);
		a[i]->kernels[0].median_us = base_us[i];
		a[i]->kernels[0].p90_us = 99;
		b[i]->kernels[0].median_us = new_us[i];
	}
	d = compare_all(a, 4, b, 4);
	assert_int_equal(d.rows_n, 1);
	assert_float_equal(d.rows[0].base_us, 10, 1e-9);
	assert_float_equal(d.rows[0].new_us, 11.2, 1e-9);
	assert_float_equal(d.rows[0].noise_pct, 35 + 0.5, 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	/* steady runs make the same change one */
	a[1]->kernels[0].median_us = 9.9;
	a[2]->kernels[0].median_us = 10.1;
	d = compare_all(a, 4, b, 4);
	assert_float_equal(d.rows[0].noise_pct, 100 * (0.4 / 11.2 + 0.05 / 11), 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_REGRESSED);
	/* of three the range says little: then what is within one counts too */
	d = compare_all(a, 3, b, 4);
	assert_float_equal(d.rows[0].noise_pct, 890 + 0.5, 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	/* how far one time may be off comes on top */
	b[0]->kernels[0].uncertainty_us = 2.24;
	d = compare_all(a, 4, b, 4);
	assert_float_equal(d.rows[0].noise_pct, 100 * (0.4 / 11.2 + 2.24 / 11), 1e-9);
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL);
	for (size_t i = 0; i < 4; i++) {
		free(a[i]);
		free(b[i]);
	}
}

static void test_no_noise_known(void **state)
{
	struct made *a = make(2), *b = make(2);
	struct diff d;

	(void)state;
	b->kernels[0].timed = 1;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 30;
	d = compare(a, b);
	assert_int_equal(row_of(&d, "kernel_0")->verdict, DIFF_INCONCLUSIVE);
	assert_true(isnan(row_of(&d, "kernel_0")->noise_pct));
	BECAUSE(row_of(&d, "kernel_0"), "timed once in NEW");
	/* it is in the run's change, and so is that it may be nothing */
	assert_float_equal(d.run_change_pct.value, 100, 1e-9);
	assert_true(d.run_change_pct.low < 0);
	assert_int_equal(d.verdict, DIFF_NEUTRAL);
	assert_false(diff_fails(&d, 5));
	free(a);
	free(b);
}

static void test_warmup_against_steady(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->kernels[0].warmup_only = true;
	d = compare(a, b);
	assert_int_equal(d.rows[0].verdict, DIFF_INCONCLUSIVE);
	BECAUSE(&d.rows[0], "only first launches were timed in NEW");
	a->kernels[0].warmup_only = true;
	assert_int_equal(compare(a, b).rows[0].verdict, DIFF_NEUTRAL);
	free(a);
	free(b);
}

static void test_no_times(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->kernels[0].median_us = NAN;
	d = compare(a, b);
	assert_false(d.comparable);
	assert_int_equal(d.verdict, DIFF_INCONCLUSIVE);
	assert_true(isnan(d.rows[0].change_pct) && isnan(d.rows[0].effect_pct));
	BECAUSE(&d.rows[0], "no time in NEW");
	WHY_NOT(&d, "no kernel has times on both sides");
	a->kernels[0].median_us = NAN;
	d = compare(a, b);
	BECAUSE(&d.rows[0], "no time on either side");
	free(a);
	free(b);
}

/* Small kernels do not fail a check, however much they change. */
static void test_share(void **state)
{
	struct made *a = make(2), *b = make(2);
	struct diff d;

	(void)state;
	a->kernels[0].launches = b->kernels[0].launches = 100000;
	b->kernels[1].median_us = b->kernels[1].p90_us = b->kernels[1].min_us = 50;
	d = compare(a, b);
	assert_int_equal(row_of(&d, "kernel_1")->verdict, DIFF_REGRESSED);
	assert_true(row_of(&d, "kernel_1")->share_pct < DIFF_SHARE_PCT);
	assert_false(diff_fails(&d, 5));
	/* share is that of the side where it is larger: 0.1% of BASE, but 1.3% of NEW */
	b->kernels[1].median_us = b->kernels[1].p90_us = b->kernels[1].min_us = 130;
	d = compare(a, b);
	assert_true(diff_fails(&d, 5));
	free(a);
	free(b);
}

/* ---- the run */

static void test_twice_the_steps(void **state)
{
	struct made *a = make(3), *b = make(3);
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		b->kernels[i].launches = 200;
	d = compare(a, b);
	assert_true(d.run_change_pct.value == 0);
	assert_int_equal(d.verdict, DIFF_NEUTRAL);
	WHY_NOT(&d, "2 times as many");
	BECAUSE(&d.rows[0], "launches 100 \xe2\x86\x92 200");
	/* one kernel alone that is launched more often is the program's doing */
	b->kernels[0].launches = b->kernels[1].launches = 100;
	d = compare(a, b);
	assert_float_equal(d.run_change_pct.value, 100.0 / 3, 1e-9);
	assert_int_equal(d.verdict, DIFF_REGRESSED);
	assert_int_equal(d.why_not_n, 0);
	/* nor do two thirds of the time speak for all */
	b->kernels[1].launches = 200;
	d = compare(a, b);
	assert_float_equal(d.run_change_pct.value, 200.0 / 3, 1e-4);
	assert_int_equal(d.why_not_n, 0);
	/* one among many does not keep the rest from being the same work */
	free(a);
	free(b);
	a = make(20);
	b = make(20);
	for (size_t i = 1; i < 20; i++)
		b->kernels[i].launches = 200;
	d = compare(a, b);
	WHY_NOT(&d, "2 times as many");
	assert_float_equal(d.run_change_pct.value, -2.5, 1e-6);
	free(a);
	free(b);
}

/* A report of a few kernels: effects are still those on the run, and the run is not judged by little. */
static void test_part_of_the_run(void **state)
{
	struct made *a = make(10), *b = make(10);
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		a->kernels[i].median_us = i < 8 ? 10 : NAN;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 20;
	a->whole_us = b->whole_us = 10000;
	d = compare(a, b);
	assert_float_equal(d.run_change_pct.value, 10, 1e-9);
	WHY_NOT(&d, "only 80% of BASE's kernel time could be compared");
	for (size_t i = 0; i < 10; i++)
		a->kernels[i].median_us = i < 4 ? 10 : NAN;
	d = compare(a, b);
	assert_true(d.comparable);
	assert_false(quantity_known(&d.run_change_pct));
	assert_int_equal(d.verdict, DIFF_INCONCLUSIVE);
	assert_int_equal(row_of(&d, "kernel_0")->verdict, DIFF_REGRESSED);
	assert_float_equal(row_of(&d, "kernel_0")->effect_pct, 10, 1e-9);
	assert_true(diff_fails(&d, 5));
	free(a);
	free(b);
}

/* Two kernels made into one: no pair changes, and the run does. */
static void test_fused(void **state)
{
	struct made *a = make(4), *b = make(4);
	struct diff d;

	(void)state;
	b->report.kernels_n = 3;
	other_code(b, 2, "bbbb");
	b->kernels[2].name = b->kernels[2].short_name = "fused";
	b->kernels[2].grid[0] = 77;
	d = compare(a, b);
	assert_int_equal(d.added, 1);
	assert_int_equal(d.removed, 2);
	assert_float_equal(d.run_change_pct.value, -25, 1e-9);
	assert_int_equal(d.verdict, DIFF_IMPROVED);
	assert_int_equal(row_of(&d, "fused")->match, DIFF_ADDED);
	assert_null(row_of(&d, "fused")->base);
	assert_int_equal(row_of(&d, "kernel_3")->match, DIFF_REMOVED);
	assert_null(row_of(&d, "kernel_3")->new);
	WHY_NOT(&d, "2 kernels of BASE are not in NEW (50% of BASE's kernel time)");
	WHY_NOT(&d, "1 kernel of NEW is not in BASE");
	free(a);
	free(b);
}

static void test_order(void **state)
{
	struct made *a = make(3), *b = make(3);
	struct diff d;

	(void)state;
	a->kernels[2].launches = b->kernels[2].launches = 1000;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 15; /* + 500 us */
	b->kernels[2].median_us = b->kernels[2].p90_us = b->kernels[2].min_us = 9;  /* - 1000 us */
	d = compare(a, b);
	assert_string_equal(d.rows[0].new->name, "kernel_2");
	assert_string_equal(d.rows[1].new->name, "kernel_0");
	assert_string_equal(d.rows[2].new->name, "kernel_1");
	free(a);
	free(b);
}

/* ---- pairs */

static void test_same_name_other_code(void **state)
{
	struct made *a = make(2), *b = make(2);
	const struct diff_row *r;
	struct diff d;

	(void)state;
	other_code(b, 1, "beef");
	b->kernels[1].registers = 64;
	b->kernels[1].occupancy_pct = 50;
	b->kernels[1].local_bytes = 16;
	a->kernels[1].static_smem_bytes = 100000;
	b->kernels[1].static_smem_bytes = 100001;
	b->kernels[1].median_us = b->kernels[1].p90_us = b->kernels[1].min_us = 14;
	d = compare(a, b);
	r = row_of(&d, "kernel_1");
	assert_int_equal(d.rows_n, 2);
	assert_int_equal(r->match, DIFF_BY_NAME);
	assert_int_equal(r->verdict, DIFF_REGRESSED);
	BECAUSE(r, "code c0de \xe2\x86\x92 beef");
	BECAUSE(r, "registers 32 \xe2\x86\x92 64");
	BECAUSE(r, "occupancy 100% \xe2\x86\x92 50%");
	BECAUSE(r, "local memory 0 B \xe2\x86\x92 16 B");
	BECAUSE(r, "static shared memory 100000 B \xe2\x86\x92 100001 B");
	assert_int_equal(r->because_n, 5);
	free(a);
	free(b);
}

static void test_renamed(void **state)
{
	struct made *a = make(2), *b = make(2);
	const struct diff_row *r;
	struct diff d;

	(void)state;
	b->kernels[1].name = b->kernels[1].short_name = "other";
	b->id[1][0] = 'e';
	d = compare(a, b);
	r = row_of(&d, "other");
	assert_int_equal(d.rows_n, 2);
	assert_int_equal(r->match, DIFF_BY_CODE);
	assert_string_equal(r->base->name, "kernel_1");
	BECAUSE(r, "matched by code and geometry");
	BECAUSE(r, "name kernel_1 \xe2\x86\x92 other");
	/* code that is not known proves nothing */
	a->kernels[1].code = b->kernels[1].code = NULL;
	d = compare(a, b);
	assert_int_equal(d.added + d.removed, 2);
	free(a);
	free(b);
}

static void test_name_alone(void **state)
{
	struct made *a = make(2), *b = make(2);
	const struct diff_row *r;
	struct diff d;

	(void)state;
	other_code(b, 1, "beef");
	b->kernels[1].grid[0] = 999;
	b->kernels[1].dyn_smem_bytes = 49152;
	d = compare(a, b);
	r = row_of(&d, "kernel_1");
	assert_int_equal(r->match, DIFF_BY_NAME);
	BECAUSE(r, "matched by name alone");
	BECAUSE(r, "grid 2,1,1 \xe2\x86\x92 999,1,1");
	BECAUSE(r, "shared memory 0 B \xe2\x86\x92 48 KB");
	/* with two of the name on one side, which it is cannot be told */
	a->kernels[0].name = a->kernels[0].short_name = a->kernels[1].name;
	b->kernels[0].name = b->kernels[0].short_name = b->kernels[1].name;
	d = compare(a, b);
	assert_int_equal(d.rows_n, 3);
	assert_int_equal(d.added, 1);
	assert_int_equal(d.removed, 1);
	for (size_t i = 0; i < 3; i++)
		if (d.rows[i].match >= DIFF_ADDED)
			BECAUSE(&d.rows[i], "several");
	free(a);
	free(b);
}

/* The same id twice, as only a damaged report has it, pairs nothing and breaks nothing. */
static void test_id_twice(void **state)
{
	struct made *a = make(2), *b = make(2);
	struct diff d;

	(void)state;
	a->kernels[1] = a->kernels[0];
	d = compare(a, b);
	assert_int_equal(d.removed, 2);
	assert_int_equal(d.added, 2);
	assert_false(d.comparable);
	free(a);
	free(b);
}

static void test_device_apart(void **state)
{
	struct made *a = make(2), *b = make(2);
	struct diff d;

	(void)state;
	for (int s = 0; s < 2; s++) {
		struct made *m = s ? b : a;

		m->kernels[1] = m->kernels[0];
		m->kernels[1].device = 1;
	}
	b->kernels[1].median_us = b->kernels[1].p90_us = b->kernels[1].min_us = 20;
	d = compare(a, b);
	assert_int_equal(d.rows_n, 2);
	assert_int_equal(d.rows[0].new->device, 1);
	assert_int_equal(d.rows[0].verdict, DIFF_REGRESSED);
	assert_int_equal(d.rows[1].verdict, DIFF_NEUTRAL);
	free(a);
	free(b);
}

/* A kernel that only some runs of a side have, and one whose code is another in each run. */
static void test_runs_joined(void **state)
{
	struct made *a[2] = {make(2), make(1)}, *b[2] = {make(2), make(2)};
	struct diff d;

	(void)state;
	other_code(b[0], 0, "aaaa");
	other_code(b[1], 0, "bbbb");
	b[1]->id[0][0] = 'd';
	d = compare_all(a, 2, b, 2);
	assert_int_equal(d.rows_n, 2);
	assert_int_equal(row_of(&d, "kernel_0")->match, DIFF_BY_NAME);
	assert_int_equal(row_of(&d, "kernel_1")->match, DIFF_BY_CODE);
	for (size_t i = 0; i < 2; i++) {
		free(a[i]);
		free(b[i]);
	}
}

/* ---- may they be compared */

static void test_other_device(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->device.name = "NVIDIA A100";
	b->kernels[0].median_us = 20;
	d = compare(a, b);
	assert_false(d.comparable);
	assert_int_equal(d.verdict, DIFF_INCONCLUSIVE);
	assert_int_equal(d.rows[0].verdict, DIFF_INCONCLUSIVE);
	assert_false(quantity_known(&d.run_change_pct));
	assert_false(diff_fails(&d, 5));
	WHY_NOT(&d, "NVIDIA A100");
	/* a slice of the same device is another one */
	b->device = a->device;
	b->device.sm_count = 16;
	assert_false(compare(a, b).comparable);
	/* two that nobody knows are not known to be the same */
	a->device.name = b->device.name = "";
	b->device.sm_count = a->device.sm_count;
	assert_false(compare(a, b).comparable);
	free(a);
	free(b);
}

static void test_weakened(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->report.driver = "590.2";
	b->report.arguments = "--n 2";
	b->report.processes = 8;
	b->report.running = true;
	b->report.kernels_all = 40;
	d = compare(a, b);
	assert_true(d.comparable);
	WHY_NOT(&d, "the driver differs: 580.1");
	WHY_NOT(&d, "arguments of the program differ: --n 1 in made.json, --n 2");
	WHY_NOT(&d, "8 in made.json");
	WHY_NOT(&d, "still runs");
	WHY_NOT(&d, "lists 1 of 40 kernels");
	assert_int_equal(d.why_not_n, 5);
	free(a);
	free(b);
}

static void test_clocks(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 11;
	b->device.clock_mhz = 1930; /* 2.6% */
	d = compare(a, b);
	assert_int_equal(d.why_not_n, 0);
	assert_int_equal(d.rows[0].verdict, DIFF_REGRESSED);
	b->device.clock_mhz = 1700;
	d = compare(a, b);
	WHY_NOT(&d, "nominal clock is 1980 MHz");
	assert_int_equal(d.rows[0].verdict, DIFF_NEUTRAL); /* it may be the clock */
	/* as observed, where both are */
	a->device.observed_clock_mhz = b->device.observed_clock_mhz = 1500;
	assert_int_equal(compare(a, b).why_not_n, 0);
	b->device.observed_clock_mhz = 1200;
	d = compare(a, b);
	WHY_NOT(&d, "observed clock is 1500 MHz");
	assert_float_equal(d.rows[0].noise_pct, 25, 1e-9);
	free(a);
	free(b);
}

static void test_stand_in(void **state)
{
	struct made *a = make(1), *b = make(1);
	struct diff d;

	(void)state;
	a->report.simulated = true;
	d = compare(a, b);
	assert_false(d.comparable);
	WHY_NOT(&d, "made up by a stand-in driver, those of");
	b->report.simulated = true;
	d = compare(a, b);
	assert_true(d.comparable);
	WHY_NOT(&d, "all times are made up");
	free(a);
	free(b);
}

static void test_nothing_in_common(void **state)
{
	struct made *a = make(1), *b = make(0);
	struct diff d = compare(a, b);

	(void)state;
	assert_false(d.comparable);
	WHY_NOT(&d, "no kernel in common");
	assert_int_equal(compare(b, b).verdict, DIFF_INCONCLUSIVE);
	free(a);
	free(b);
}

/* A method that changed has another error: the larger one counts, beside the spread. */
static void test_method(void **state)
{
	struct made *a[2] = {make(1), make(1)}, *b[2] = {make(1), make(1)};
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		b[i]->kernels[0].method = "events";
		b[i]->kernels[0].uncertainty_us = 2;
		b[i]->kernels[0].median_us = 11;
	}
	d = compare_all(a, 2, b, 2);
	BECAUSE(&d.rows[0], "timed by gated-events");
	assert_float_equal(d.rows[0].noise_pct, 100 * (2.0 + 0.1) / 11, 1e-9);
	for (size_t i = 0; i < 2; i++) {
		free(a[i]);
		free(b[i]);
	}
}

/* ---- size and text */

static void test_many(void **state)
{
	struct made *a = make(MOST), *b = make(MOST);
	struct timespec from, to;
	struct diff d;

	(void)state;
	b->kernels[77].median_us = b->kernels[77].p90_us = b->kernels[77].min_us = 20;
	clock_gettime(CLOCK_MONOTONIC, &from);
	d = compare(a, b);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_int_equal(d.rows_n, MOST);
	assert_int_equal(d.count[DIFF_REGRESSED], 1);
	assert_true((double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec) <
		    1);
	free(a);
	free(b);
}

/* No line of the table is wider than the terminal; names are cut, whatever the width. */
static void test_width(void **state)
{
	static const int widths[] = {40, 60, 80, 100, 200};
	struct made *a = make(5), *b = make(5);
	struct diff d;

	(void)state;
	b->kernels[0].median_us = b->kernels[0].p90_us = b->kernels[0].min_us = 12345.6;
	b->kernels[1].short_name =
		"a_name_\xc3\xa4_that_is_longer_than_any_terminal_would_like_it_to_be";
	b->kernels[1].registers = 255;
	d = compare(a, b);
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		char *out = NULL, *line, *rest;
		size_t bytes;
		FILE *f = open_memstream(&out, &bytes);

		diff_text(&d, 5, widths[w], f);
		fclose(f);
		for (line = strtok_r(out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			if (text_columns(line) > (size_t)widths[w])
				fail_msg("%d: %s", widths[w], line);
		free(out);
	}
	free(a);
	free(b);
}

/* Rows of one short name: the text says what tells them apart. */
static void test_alike(void **state)
{
	struct made *a = make(3), *b = make(3);
	char *out = NULL;
	size_t bytes;
	FILE *f = open_memstream(&out, &bytes);
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		a->kernels[i].short_name = b->kernels[i].short_name = "tile";
	a->kernels[2].demangled = b->kernels[2].demangled = "tile<int>(int)";
	a->kernels[0].demangled = b->kernels[0].demangled = "tile<float>(float)";
	a->kernels[1].demangled = b->kernels[1].demangled = "tile<float>(float)";
	d = compare(a, b);
	diff_text(&d, 5, 100, f);
	fclose(f);
	assert_non_null(strstr(out, "tile<int>(int)"));
	assert_non_null(strstr(out, "tile<float>(float); grid 1,1,1 block 256,1,1"));
	assert_non_null(strstr(out, "tile<float>(float); grid 2,1,1 block 256,1,1"));
	free(out);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identical),
		cmocka_unit_test(test_one_slower),
		cmocka_unit_test(test_faster),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_noise_within),
		cmocka_unit_test(test_noise_below),
		cmocka_unit_test(test_noise_between),
		cmocka_unit_test(test_no_noise_known),
		cmocka_unit_test(test_warmup_against_steady),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_twice_the_steps),
		cmocka_unit_test(test_part_of_the_run),
		cmocka_unit_test(test_fused),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_same_name_other_code),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_name_alone),
		cmocka_unit_test(test_id_twice),
		cmocka_unit_test(test_device_apart),
		cmocka_unit_test(test_runs_joined),
		cmocka_unit_test(test_other_device),
		cmocka_unit_test(test_weakened),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_stand_in),
		cmocka_unit_test(test_nothing_in_common),
		cmocka_unit_test(test_method),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_alike),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
