/* kernel_access_look.c - see kernel_access_look.h. */
#include "kernel_access_look.h"

#include <math.h>

#include "arena.h"

#define STEPS_OF_ONE (UINT64_C(1) << 18) /* of the samples of one kernel */
#define STEPS_SHARE  4u /* of those that may still be interpreted, for one kernel at most */

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

/* Which warps are looked at: of each block, of a block between the first and the last, of these two. */
struct plan {
	uint32_t warps, roles[ACCESS_WARPS], stands_for[ACCESS_WARPS];
	unsigned roles_n;
	uint64_t blocks, at[ACCESS_SAMPLES];
	unsigned at_n;
	bool is_all;
};

/* Of two blocks the first is looked at like one between. */
static bool is_edge(const struct plan *p, unsigned block)
{
	return !p->is_all && ((block == 0 && p->at_n > 2) || (block + 1 == p->at_n && p->at_n > 1));
}

/* Of a first or last block with many warps: the first and the last of those. */
static bool is_looked_at(const struct plan *p, unsigned block, unsigned role)
{
	return !is_edge(p, block) || p->roles_n <= ACCESS_WARPS_ALL || role == 0 ||
	       role + 1 == p->roles_n;
}

static unsigned looks(const struct plan *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->at_n; i++)
		for (unsigned j = 0; j < p->roles_n; j++)
			n += is_looked_at(p, i, j);
	return n;
}

/* The first block, `between` of those that follow, spread evenly but not at even distances, and the last. */
static void choose_blocks(struct plan *p, unsigned between)
{
	const double golden = 0.6180339887498949;
	const uint64_t inner = p->blocks < 3 ? 0 : p->blocks - 2;

	p->at[p->at_n++] = 0;
	for (unsigned i = 0; i < between && i < inner; i++) {
		const double turn = golden * (i + 1), in_part = turn - (double)(uint64_t)turn;

		p->at[p->at_n++] =
			inner <= between ? i + 1
					 : 1 + (uint64_t)((i + in_part) * (double)inner / between);
	}
	if (p->blocks > 1)
		p->at[p->at_n++] = p->blocks - 1;
	p->is_all = p->roles_n == p->warps && p->at_n == p->blocks &&
		    p->at_n * p->roles_n <= ACCESS_SAMPLES;
}

static struct plan plan_all_roles(uint32_t warps, uint64_t blocks)
{
	struct plan p = {.warps = warps, .roles_n = warps, .blocks = blocks};

	for (uint32_t i = 0; i < warps; i++) {
		p.roles[i] = i;
		p.stands_for[i] = 1;
	}
	choose_blocks(&p, warps < ACCESS_BLOCKS ? ACCESS_BLOCKS / warps : 1);
	return p;
}

/* Of the warps of a block the first, the last, and one for all others. */
static struct plan plan_three_roles(uint32_t warps, uint64_t blocks)
{
	struct plan p = {.warps = warps, .roles_n = warps < 3 ? warps : 3, .blocks = blocks};

	for (unsigned i = 0; i < p.roles_n; i++) {
		p.roles[i] = i == 0 ? 0 : i + 1 == p.roles_n ? warps - 1 : warps / 2;
		p.stands_for[i] = p.roles_n == 3 && i == 1 ? warps - 2 : 1;
	}
	choose_blocks(&p, 1);
	return p;
}

/* Warps that a look stands for. */
static double weight(const struct plan *p, unsigned block, unsigned role)
{
	unsigned inner = 0, edges = 0;

	for (unsigned i = 0; i < p->at_n; i++) {
		inner += !is_edge(p, i);
		edges += is_edge(p, i) && is_looked_at(p, i, role);
	}
	if (is_edge(p, block))
		return p->stands_for[role];
	return (double)p->stands_for[role] * (double)(p->blocks - edges) / inner;
}

bool access_sample(struct access_reader *k, struct err *e)
{
	const uint32_t *g = k->launch.grid;
	const uint64_t blocks = (uint64_t)g[0] * g[1] * g[2];
	const uint64_t left = k->l->steps ? *k->l->steps / STEPS_SHARE : STEPS_OF_ONE;
	struct plan p = plan_all_roles(lanes_warps(&k->launch), blocks);
	uint64_t steps = 0;

	if (k->has_any && looks(&p) * k->any.r.steps > (left < STEPS_OF_ONE ? left : STEPS_OF_ONE))
		p = plan_three_roles(p.warps, blocks);
	k->is_all = p.is_all;
	for (unsigned i = 0; i < p.at_n; i++)
		for (unsigned j = 0; j < p.roles_n; j++) {
			struct access_look *s = &k->samples[k->samples_n];

			if (!is_looked_at(&p, i, j))
				continue;
			*s = (struct access_look){
				.weight = weight(&p, i, j),
				.warp = {.block = {(uint32_t)(p.at[i] % g[0]),
						   (uint32_t)(p.at[i] / g[0] % g[1]),
						   (uint32_t)(p.at[i] / g[0] / g[1])},
					 .warp = p.roles[j]},
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

bool access_needs_samples(const struct access_reader *k)
{
	if (!k->has_any || k->any.r.trips_differ)
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
