/*
 * report_advice.c - what to do first, of each kernel and of the run: has advice.h look at the kernels, and puts those
 * experiments in front that save most of the run.
 */
#include "report_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"

#define RUN_ITEMS     10
/* Less than that of all kernel time is not where to begin. */
#define RUN_LEAST_PCT 0.5

/* Nothing is made of times that are not, or perhaps not, those of a GPU. */
static bool is_real(const struct builder *b)
{
	return !b->r->simulated && !b->r->reality_unknown;
}

static struct advice_run run_of(const struct builder *b)
{
	const struct quantity *busy = &b->m->totals.busy_pct;

	return (struct advice_run){
		.busy_pct = is_real(b) && quantity_known(busy) && isfinite(busy->high) ? busy->high
										       : NAN,
		.no_times = !is_real(b),
	};
}

void report_advise(struct builder *b, struct report_kernel *k, const struct model_kernel *m)
{
	const struct advice_run run = run_of(b);

	if (advice_build(&k->advice, m, &b->m->devices[k->device].hw, k->share_pct, &run, b->arena,
			 NULL) != 0)
		b->failed = true;
}

static double expected(const struct report_advice *a)
{
	return 0.75 * a->gain_low_pct + 0.25 * a->gain_high_pct;
}

/* The run itself first; then by what is saved of it, and in the order of the kernels. */
static int by_saving(const void *pa, const void *pb)
{
	const struct report_advice *a = pa, *b = pb;
	double x, y;

	if (!a->kernel || !b->kernel)
		return !b->kernel - !a->kernel;
	x = expected(a);
	y = expected(b);
	if (x != y)
		return x < y ? 1 : -1;
	return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static void add_host(struct builder *b, struct report_advice *list, size_t *n)
{
	struct metric_advice *host = report_must(b, arena_alloc(b->arena, sizeof(*host)));
	const struct advice_run run = run_of(b);

	if (host && advice_of_run(host, &run, b->arena))
		list[(*n)++] = (struct report_advice){NULL, host, NAN, NAN};
}

/* Of each kernel the first item, with what it saves of all kernel time. */
void report_advice(struct builder *b)
{
	struct report *r = b->r;
	struct report_advice *list =
		report_must(b, arena_array(b->arena, r->kernels_n + 1, sizeof(*list)));
	size_t n = 0;

	if (!list)
		return;
	add_host(b, list, &n);
	for (size_t i = 0; i < r->kernels_n; i++) {
		const struct report_kernel *k = &r->kernels[i];
		const struct metric_advice *a = k->advice.items;
		const double share = k->share_pct / 100;

		if (!k->advice.n || !(a->gain_high_pct * share >= RUN_LEAST_PCT))
			continue;
		list[n++] = (struct report_advice){k, a, a->gain_low_pct * share,
						   a->gain_high_pct * share};
	}
	qsort(list, n, sizeof(*list), by_saving);
	/* an order may come of made-up times, a saving may not */
	for (size_t i = 0; i < n && !is_real(b); i++)
		list[i].gain_low_pct = list[i].gain_high_pct = NAN;
	r->advice = list;
	r->advice_n = n < RUN_ITEMS ? n : RUN_ITEMS;
}
