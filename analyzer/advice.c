/*
 * advice.c - see advice.h: goes through the table, bounds the gains, takes out what contradicts, ranks. What a rule
 * looks at is its own matter (rule_*.c).
 */
#include "advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advice_case.h"
#include "arena.h"

#define PREFIX "KBN-"

/* Less than that of a kernel's time is not worth an experiment. */
#define GAIN_LEAST_PCT 1.0
/* Two expected gains that differ by less have no clear winner. */
#define GAIN_CLOSE_PCT 5.0

enum roof { SAME, FEWER, MOVES };

const struct advice_row advice_rows[ADVICE_N] = {
#define RULE(name, id, title, function, roof, source) {id, title, source},
#include "tables/rules.def"
#undef RULE
};

const struct advice_help advice_helps[ADVICE_N] = {
#define RULE_HELP(name, why, advice) [ADVICE_##name] = {why, advice},
#include "tables/rules_help.def"
#undef RULE_HELP
};

static const struct {
	advice_rule_fn find;
	enum roof roof;
} rules[ADVICE_N] = {
#define RULE(name, id, title, function, roof, source) {function, roof},
#include "tables/rules.def"
#undef RULE
};

#define PAIR(first, second, why)                     \
	{                                            \
		ADVICE_##first, ADVICE_##second, why \
	}
const struct advice_pair advice_pairs[] = {
	PAIR(DEBUG_BUILD, SPILLS,
	     "a debug build keeps its variables in memory: build without -G first"),
	PAIR(DEBUG_BUILD, ILP, "a debug build is not scheduled: build without -G first"),
	PAIR(DEBUG_BUILD, DEPENDENT_LOADS,
	     "a debug build is not scheduled: build without -G first"),
	PAIR(DEBUG_BUILD, BYTES_IN_FLIGHT,
	     "a debug build is not scheduled: build without -G first"),
	PAIR(DEBUG_BUILD, TENSOR_CORES, "build without -G first"),
	PAIR(DEBUG_BUILD, BARRIERS, "build without -G first"),
	PAIR(DEBUG_BUILD, READ_ONCE, "build without -G first"),
	PAIR(ALGORITHM, ASYNC_PIPELINE, "the loads are hidden already"),
	PAIR(ALGORITHM, ASYNC_BENCHMARK, "the loads are hidden already"),
	PAIR(ASYNC_PIPELINE, ASYNC_BENCHMARK, "the ratio is low enough not to ask"),
	PAIR(SHRINK_TILE, ASYNC_PIPELINE,
	     "a second buffer doubles shared memory, of which there is too much already"),
	PAIR(SHRINK_TILE, ASYNC_BENCHMARK,
	     "a second buffer doubles shared memory, of which there is too much already"),
	PAIR(SHRINK_TILE, ABOVE_CLIFF, "it is the same step"),
	PAIR(SHRINK_TILE, REUSE,
	     "a larger tile needs more shared memory, of which there is too much already"),
	PAIR(WARPS_FIRST, ALGORITHM, "with so few warps the loads are not hidden yet"),
	PAIR(COALESCE, FUSE, "the traffic is not at its least: excess sectors first"),
	PAIR(COALESCE, BYTES_IN_FLIGHT, "more accesses of this kind bring more excess sectors"),
	PAIR(ALGORITHM, FUSE,
	     "a loop that computes so much for each load is of no naturally low intensity"),
	PAIR(SPILLS, FUSE, "fused code needs more registers, of which there are too few already"),
	PAIR(FUSE, BYTES_IN_FLIGHT, "the bandwidth is reached"),
	PAIR(FUSE, RAISE_OCCUPANCY, "the bandwidth is reached, with the warps that there are"),
	PAIR(FUSE, PARALLELISM, "the bandwidth is reached, with the blocks that there are"),
	PAIR(FUSE, ASYNC_PIPELINE, "the bandwidth is reached: there is nothing to hide"),
	PAIR(FUSE, ASYNC_BENCHMARK, "the bandwidth is reached: there is nothing to hide"),
	PAIR(FUSE, ABOVE_CLIFF, "the bandwidth is reached, with one block per SM"),
	PAIR(FUSE, TAIL, "the bandwidth is reached, with the tail that there is"),
	PAIR(FUSE, BLOCK_STARTS, "the bandwidth is reached, with the blocks that there are"),
	PAIR(BLOCK_STARTS, RAISE_OCCUPANCY, "blocks start no faster where there is room for more"),
	PAIR(BLOCK_STARTS, TAIL, "blocks start one after the other, in no waves"),
	PAIR(RAISE_OCCUPANCY, REUSE,
	     "a larger tile needs more registers, of which there are too many already"),
	PAIR(RAISE_OCCUPANCY, FFMA_STALLS, "a kernel that waits gains nothing from tighter stalls"),
	PAIR(RAISE_OCCUPANCY, IMMA_STALLS, "a kernel that waits gains nothing from tighter stalls"),
	PAIR(PARALLELISM, TAIL, "below one wave there is no tail"),
	PAIR(PARALLELISM, RAISE_OCCUPANCY, "the grid does not fill the room that there is"),
	PAIR(PARALLELISM, REUSE,
	     "larger tiles make fewer blocks, of which there are too few already"),
	PAIR(PARALLELISM, ABOVE_CLIFF, "the grid does not fill the room that there is"),
	PAIR(PARALLELISM, SHRINK_TILE, "the grid does not fill the room that there is"),
	PAIR(TENSOR_CORES, FFMA_STALLS, "tensor cores leave no FFMA to tighten"),
	PAIR(TENSOR_CORES, ILP, "tensor cores replace the chain"),
	PAIR(ILP, FFMA_STALLS, "in a chain no FFMA is independent"),
	PAIR(DEPENDENT_LOADS, BYTES_IN_FLIGHT, "the next load of a chain has no address yet"),
	PAIR(DEPENDENT_LOADS, ASYNC_PIPELINE, "the next load of a chain has no address yet"),
	PAIR(DEPENDENT_LOADS, ILP, "the arithmetic waits for the loads"),
	PAIR(FP64, FFMA_STALLS, "double precision sets the time"),
};
#undef PAIR
const size_t advice_pairs_n = sizeof(advice_pairs) / sizeof(*advice_pairs);

const struct advice_row *advice_find(const char *id)
{
	if (strncasecmp(id, PREFIX, strlen(PREFIX)) == 0)
		id += strlen(PREFIX);
	for (size_t i = 0; i < ADVICE_N; i++)
		if (strcasecmp(advice_rows[i].id + strlen(PREFIX), id) == 0)
			return &advice_rows[i];
	return NULL;
}

/* ------------------------------------------------------------------------------------- bounds */

struct result {
	enum advice_outcome outcome;
	struct metric_advice item;
	const char *why_not;
	enum advice_id rule;
};

/* The share of the time that the kernel would take at its roof, be it that of issuing what it executes. */
static double roof_pct(const struct advice_case *c, enum roof roof)
{
	const double issue = roof == SAME ? c->issue_pct : NAN;

	return roof == MOVES ? NAN : fmax(c->attained_pct, issue);
}

/* What is left to gain at the very most. */
static double most_pct(const struct advice_case *c, enum roof roof, bool is_fixed_shared)
{
	double most = 100;

	if (!isnan(c->us) && !is_fixed_shared)
		most = fmax(0, 100 * (c->us - ADVICE_FIXED_LEAST_US) / c->us);
	if (!isnan(roof_pct(c, roof)))
		most = fmin(most, fmax(0, 100 - roof_pct(c, roof)));
	return most;
}

/* What is surely left: a roof by data sheet is seldom reached (ADVICE_NEAR_BANDWIDTH_PCT). */
static double sure_pct(const struct advice_case *c, enum roof roof)
{
	if (isnan(roof_pct(c, roof)))
		return 100;
	return fmax(0, 100 * (1 - roof_pct(c, roof) / ADVICE_NEAR_BANDWIDTH_PCT));
}

/* A saving is the difference of two times, each known to a few percent: so much of what is left may be more. */
#define TIMES_SLACK 0.04

/* Rounded to whole percents, outwards, as the formulas carry no more; but not beyond what bounds them. */
static void bound(struct metric_advice *item, double most, double sure)
{
	double high = fmin(item->gain_high_pct, most), low = fmin(item->gain_low_pct, sure);

	low -= TIMES_SLACK * (100 - low);
	high = fmax(high, 0);
	/* nothing saves all of it */
	item->gain_high_pct =
		fmin(ceil(high) < 100 ? ceil(high) : fmin(high, 99.9), floor(10 * most) / 10);
	item->gain_low_pct = fmin(floor(fmax(low, 0)), item->gain_high_pct);
}

static void apply(struct result *r, const struct advice_case *c, enum advice_id rule,
		  bool *no_memory)
{
	struct advice_draft d = {.c = c};

	d.item.id = advice_rows[rule].id;
	d.item.title = advice_rows[rule].title;
	d.item.source = advice_rows[rule].source;
	d.item.share_of_run_pct = c->share_pct;
	r->rule = rule;
	r->outcome = rules[rule].find(c, &d);
	if (r->outcome == ADVICE_GIVEN) {
		bound(&d.item, most_pct(c, rules[rule].roof, d.is_fixed_shared),
		      sure_pct(c, rules[rule].roof));
		if (d.item.evidence_n < 2 || !(d.item.gain_high_pct >= GAIN_LEAST_PCT))
			r->outcome = ADVICE_SILENT;
	}
	r->item = d.item;
	r->why_not = d.why_not;
	*no_memory |= d.no_memory;
}

static void contradict(struct result *results)
{
	for (size_t i = 0; i < advice_pairs_n; i++) {
		const struct advice_pair *p = &advice_pairs[i];

		if (results[p->first].outcome != ADVICE_GIVEN ||
		    results[p->second].outcome != ADVICE_GIVEN)
			continue;
		results[p->second].outcome = ADVICE_RULED_OUT;
		results[p->second].why_not = p->why;
	}
}

/* ------------------------------------------------------------------------------------- ranking */

/* The middle of the range, less a quarter of its width: of two equal ones the surer comes first. */
static double expected(const struct metric_advice *a)
{
	return 0.75 * a->gain_low_pct + 0.25 * a->gain_high_pct;
}

static int by_gain(const void *pa, const void *pb)
{
	const struct metric_advice *a = pa, *b = pb;
	double x = expected(a), y = expected(b);

	return x != y ? (x < y ? 1 : -1) : strcmp(a->id, b->id);
}

/* The change of the one is that of the other. */
static bool are_one_change(const struct metric_advice *a, const struct metric_advice *b)
{
	const char *const x = advice_rows[ADVICE_BYTES_IN_FLIGHT].id,
			  *const y = advice_rows[ADVICE_BLOCK_STARTS].id;

	return (!strcmp(a->id, x) && !strcmp(b->id, y)) || (!strcmp(a->id, y) && !strcmp(b->id, x));
}

/* Which of several to begin with is open: say how to find out, behind them. */
static void add_isolate(const struct advice_case *c, struct metric_advice *items, size_t *n,
			bool *no_memory)
{
	const struct advice_row *row = &advice_rows[ADVICE_ISOLATE];
	struct advice_draft d = {.c = c};
	struct metric_advice *a;

	if (*n < 2 || *n >= ADVICE_ITEMS || are_one_change(&items[0], &items[1]) ||
	    expected(&items[0]) - expected(&items[1]) >= GAIN_CLOSE_PCT)
		return;
	for (size_t i = 0; i < 2; i++)
		advice_evidence(&d, "%s promises %.0f to %.0f%%", items[i].id,
				items[i].gain_low_pct, items[i].gain_high_pct);
	advice_try(&d,
		   advice_text(&d,
			       "a copy of the kernel for each of %s and %s, with that change alone",
			       items[0].id, items[1].id),
		   "one of them saves clearly more than the other",
		   "neither saves time alone: both wait for the same thing, so combine them");
	a = &items[(*n)++];
	*a = d.item;
	a->id = row->id;
	a->title = row->title;
	a->source = row->source;
	a->share_of_run_pct = c->share_pct;
	a->gain_low_pct = fmin(items[0].gain_low_pct, items[1].gain_low_pct);
	a->gain_high_pct = fmax(items[0].gain_high_pct, items[1].gain_high_pct);
	*no_memory |= d.no_memory;
}

/* In the arena, the best first. */
static struct metric_advice *rank(const struct advice_case *c, const struct result *results,
				  size_t *n, bool *no_memory)
{
	struct metric_advice all[ADVICE_N], *items;

	*n = 0;
	for (size_t i = 0; i < ADVICE_N; i++)
		if (results[i].outcome == ADVICE_GIVEN)
			all[(*n)++] = results[i].item;
	qsort(all, *n, sizeof(*all), by_gain);
	if (*n > ADVICE_ITEMS)
		*n = ADVICE_ITEMS;
	add_isolate(c, all, n, no_memory);
	items = arena_copy(c->arena, all, *n * sizeof(*all));
	*no_memory |= !items;
	return items;
}

static struct metric_not_now *leave(const struct advice_case *c, const struct result *results,
				    size_t *n, bool *no_memory)
{
	struct metric_not_now all[ADVICE_NOT_NOW], *items;

	*n = 0;
	for (size_t i = 0; i < ADVICE_N && *n < ADVICE_NOT_NOW; i++)
		if (results[i].outcome == ADVICE_RULED_OUT)
			all[(*n)++] = (struct metric_not_now){
				advice_rows[i].id, advice_rows[i].title, results[i].why_not};
	items = arena_copy(c->arena, all, *n * sizeof(*all));
	*no_memory |= !items;
	return items;
}

int advice_build(struct metric_advices *out, const struct model_kernel *k,
		 const struct arch_device *hw, double share_pct, const struct advice_run *run,
		 struct arena *arena, struct err *e)
{
	struct result results[ADVICE_N];
	struct advice_case c;
	bool no_memory = false;

	*out = (struct metric_advices){0};
	advice_case_init(&c, k, hw, share_pct, run, arena);
	if (c.occupancy && c.occupancy->blocks_per_sm == 0)
		return 0; /* it cannot be launched: there is nothing to make faster */
	for (size_t i = 0; i < ADVICE_N; i++)
		apply(&results[i], &c, (enum advice_id)i, &no_memory);
	contradict(results);
	out->items = rank(&c, results, &out->n, &no_memory);
	out->not_now = leave(&c, results, &out->not_now_n, &no_memory);
	return no_memory ? err_set(e, ERR_MEMORY, -1, "out of memory") : 0;
}

/* Made of the others, once they are there. */
enum advice_outcome rule_isolate(const struct advice_case *c, struct advice_draft *d)
{
	(void)c;
	(void)d;
	return ADVICE_SILENT;
}
