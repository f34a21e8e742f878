/* kernel_access_look.c - see kernel_access_look.h. */
#include "kernel_access_look.h"

#include <math.h>

#include "arena.h"

#define STEPS_OF_ONE (UINT64_C(1) << 18) /* of the samples of one kernel */

const char access_why_sampled[] = "from some warps of the first, the last and other blocks";
const char access_why_aligned[] =
	"pointers among the arguments are taken to be multiples of 256, what else is not known "
	"of an address to be a multiple of 32";
const char access_why_limit[] = "the code is too long to be interpreted";
const char access_why_meeting[] = "how lanes that parted come together again is not known";
const char access_why_uncounted[] = "how often each warp executes it is not known: all count alike";
const char access_why_called[] = "what is called is not looked at";

/* ------------------------------------------------------------------------------------- words */

const char *access_why(uint32_t reasons)
{
	if (reasons & LANES_LIMIT)
		return access_why_limit;
	if (reasons & LANES_ALIGNED)
		return "its address would be no multiple of its size: with these arguments it is not executed";
	if (reasons & LANES_ARGUMENT)
		return "it depends on arguments that are not known or differ between launches (kbn analyze takes them as --arg)";
	if (reasons & LANES_LOADED)
		return "it depends on what memory holds";
	if (reasons & LANES_PARTED)
		return "it depends on which of several paths the lanes took";
	if (reasons & LANES_PLACE)
		return "it differs between warps";
	return "it depends on an operation that is not modelled";
}

const char *access_why_absent(uint32_t reasons)
{
	if (reasons & LANES_ARGUMENT)
		return "fewer lanes may take part: that depends on arguments that are not known or differ between launches";
	if (reasons & LANES_LOADED)
		return "fewer lanes may take part: that depends on what memory holds";
	return "fewer lanes may take part in some warps";
}

struct quantity access_derived(double value)
{
	return (struct quantity){value, value, value, QUANTITY_DERIVED, QUANTITY_BY_INTERPRETER,
				 NULL};
}

struct quantity access_estimated(double value, double low, double high, const char *why)
{
	return (struct quantity){value, low, high, QUANTITY_ESTIMATED, QUANTITY_BY_INTERPRETER,
				 why};
}

struct quantity access_unknown(const char *why)
{
	struct quantity q = quantity_unknown(why);

	q.by = QUANTITY_BY_INTERPRETER;
	return q;
}

/* ------------------------------------------------------------------------------------- looking */

bool access_look(struct access_reader *k, struct access_look *at, struct err *e)
{
	return lanes_run(k->code, &k->launch, &at->warp, k->scratch, &at->r, e) == 0;
}

/* A warp that is looked at, and how many it stands for. */
struct chosen {
	uint64_t block;
	uint32_t warp;
	double weight;
};

struct plan {
	struct chosen at[ACCESS_SAMPLES];
	unsigned n;
	bool is_all, has_roles_all;
};

/* Of each block these warps, and how many each stands for. */
struct roles {
	uint32_t warp[ACCESS_WARPS], stands_for[ACCESS_WARPS];
	unsigned n;
};

static struct roles all_roles(uint32_t warps)
{
	struct roles r = {.n = warps};

	for (uint32_t i = 0; i < warps; i++) {
		r.warp[i] = i;
		r.stands_for[i] = 1;
	}
	return r;
}

/* The first, the last, and one for all others. */
static struct roles three_roles(uint32_t warps)
{
	struct roles r = {.n = warps < 3 ? warps : 3};

	for (unsigned i = 0; i < r.n; i++) {
		r.warp[i] = i == 0 ? 0 : i + 1 == r.n ? warps - 1 : warps / 2;
		r.stands_for[i] = r.n == 3 && i == 1 ? warps - 2 : 1;
	}
	return r;
}

static struct plan plan_all(uint32_t warps, uint64_t blocks)
{
	struct plan p = {.is_all = true, .has_roles_all = true};

	for (uint64_t b = 0; b < blocks; b++)
		for (uint32_t w = 0; w < warps; w++)
			p.at[p.n++] = (struct chosen){b, w, 1};
	return p;
}

/* Of n parts of `count` one of part i, not at even distances. */
static uint64_t one_of(unsigned i, unsigned n, uint64_t count)
{
	const double golden = 0.6180339887498949, turn = golden * (i + 1);

	return (uint64_t)((i + turn - (double)(uint64_t)turn) * (double)count / n);
}

/*
 * Each role in as many blocks as make `most` looks, every time in another one, so that blocks that differ show; and the
 * first and the last block, of many warps the first and the last.
 */
static struct plan plan_some(const struct roles *r, uint32_t warps, uint64_t blocks, unsigned most)
{
	const bool has_edges = blocks >= 3;
	const uint64_t from = has_edges ? 1 : 0, inner = blocks - 2 * from;
	const unsigned n = r->n < most ? most / r->n * r->n : r->n;
	struct plan p = {.has_roles_all = r->n == warps};

	for (unsigned i = 0; i < n; i++) {
		const unsigned role = i % r->n;
		const bool is_edge = r->n <= ACCESS_WARPS_ALL || role == 0 || role + 1 == r->n;
		const double others = (double)blocks - (has_edges && is_edge ? 2 : 0);

		p.at[p.n++] = (struct chosen){from + one_of(i, n, inner), r->warp[role],
					      r->stands_for[role] * others * r->n / n};
		if (i >= r->n || !has_edges || !is_edge)
			continue;
		p.at[p.n++] = (struct chosen){0, r->warp[role], r->stands_for[role]};
		p.at[p.n++] = (struct chosen){blocks - 1, r->warp[role], r->stands_for[role]};
	}
	return p;
}

static struct plan make_plan(const struct access_reader *k, uint32_t warps, uint64_t blocks)
{
	const uint64_t left = k->l->steps
				      ? *k->l->steps / (k->l->steps_share ? k->l->steps_share : 1)
				      : STEPS_OF_ONE;
	const uint64_t most = left < STEPS_OF_ONE ? left : STEPS_OF_ONE;
	struct roles r = all_roles(warps);
	struct plan p = blocks <= ACCESS_SAMPLES && warps * blocks <= ACCESS_SAMPLES
				? plan_all(warps, blocks)
				: plan_some(&r, warps, blocks, ACCESS_BLOCKS);

	if (!k->has_any || p.n * k->any.r.steps <= most)
		return p;
	r = three_roles(warps);
	return plan_some(&r, warps, blocks, 1);
}

bool access_sample(struct access_reader *k, struct err *e)
{
	const uint32_t *g = k->launch.grid;
	const struct plan p = make_plan(k, lanes_warps(&k->launch), (uint64_t)g[0] * g[1] * g[2]);
	uint64_t steps = 0;

	k->is_all = p.is_all;
	k->has_roles_all = p.has_roles_all;
	for (unsigned i = 0; i < p.n; i++) {
		struct access_look *s = &k->samples[k->samples_n];
		const uint64_t b = p.at[i].block;

		*s = (struct access_look){
			.weight = p.at[i].weight,
			.warp = {.block = {(uint32_t)(b % g[0]), (uint32_t)(b / g[0] % g[1]),
					   (uint32_t)(b / g[0] / g[1])},
				 .warp = p.at[i].warp},
		};
		if (!access_look(k, s, e))
			return false;
		steps += s->r.steps;
		k->samples_n++;
		if (s->r.is_complete && steps <= STEPS_OF_ONE)
			continue;
		k->samples_n = 0; /* all or none */
		k->is_all = false;
		return true;
	}
	if (k->l->steps)
		*k->l->steps -= steps < *k->l->steps ? steps : *k->l->steps;
	return true;
}

/* What a look at one warp may decide: nothing of it is memory's, or an argument's that is not known. */
static bool may_decide(uint32_t reasons)
{
	return reasons & (LANES_PLACE | LANES_OPERATION | LANES_PARTED) &&
	       !(reasons & (LANES_ARGUMENT | LANES_LOADED | LANES_LIMIT));
}

/* Code whose executions are not known for all warps: those of one number in their blocks may all take one way. */
static bool is_uncounted(struct access_reader *k)
{
	const char *why;

	for (uint32_t b = 0; b < k->g.blocks_n; b++)
		if (k->any.r.blocks[b].is_reached && !cfg_is_called(&k->g, b) &&
		    isnan(access_times_passed(k, &k->any, b, &why)))
			return true;
	return false;
}

bool access_needs_samples(struct access_reader *k)
{
	if (!k->has_any || k->any.r.trips_differ || is_uncounted(k))
		return true;
	for (uint32_t i = 0; i < k->any.r.sites_n; i++) {
		const struct lanes_site *s = &k->any.r.sites[i];

		if (s->kind == LANES_BRANCH
			    ? !s->is_known && may_decide(s->reasons)
			    : may_decide((s->is_known ? 0 : s->reasons) | s->absent) || s->is_maybe)
			return true;
	}
	return false;
}

/* What code does that only calls lead to is not among the sites. */
void access_note_calls(struct access_reader *k)
{
	const uint32_t within = lanes_called_kinds(k->code);
	const char *why;

	if (k->has_any)
		k->unseen = lanes_unseen_kinds(k->code, &k->any.r);
	for (unsigned i = 0; i < k->samples_n && !k->has_any; i++)
		k->unseen |= lanes_unseen_kinds(k->code, &k->samples[i].r);
	for (uint32_t i = 0; i < k->g.calls_n; i++) {
		const uint32_t block = k->g.block_of[k->g.calls[i].insn];
		const bool is_own = !cfg_is_called(&k->g, block);

		if (k->has_any && is_own && !k->any.r.blocks[block].is_reached)
			continue;
		if (cfg_is_within(&k->g, k->g.calls[i].target))
			k->called |= within;
		else if (k->has_any && is_own &&
			 !isnan(access_times_passed(k, &k->any, block, &why)))
			k->called = UINT32_MAX;
		else
			k->called_maybe = UINT32_MAX;
	}
}
