/* kernel_access_look.c - see kernel_access_look.h. */
#include "kernel_access_look.h"

#include <math.h>
#include <string.h>

#include "arena.h"

#define STEPS_OF_ONE   (UINT64_C(1) << 18) /* of the samples of one kernel */
#define CERTAIN_BLOCKS 1024u /* longer code: nobody asks whether a block is always passed */

const char access_why_sampled[] = "from some warps of the first, a middle and the last block";
const char access_why_aligned[] =
	"pointers among the arguments are taken to be multiples of 256, what else is not known "
	"of an address to be a multiple of 32";
const char access_why_limit[] = "the code is too long to be interpreted";
const char access_why_meeting[] = "how lanes that parted come together again is not known";
const char access_why_called[] = "what is called is not looked at";
static const char why_path[] = "whether every warp comes here is not known";
static const char why_trips[] = "how often a loop around it runs is not known";

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

/* First, middle and last of n, and how many each stands for. Returns how many there are. */
static unsigned spread(uint64_t n, uint64_t at[3], double weight[3])
{
	unsigned k = n < 3 ? (unsigned)n : 3;

	for (unsigned i = 0; i < k; i++) {
		at[i] = i == 0 ? 0 : i + 1 == k ? n - 1 : n / 2;
		weight[i] = k == 3 && i == 1 ? (double)(n - 2) : 1;
	}
	return k;
}

bool access_sample(struct access_reader *k, struct err *e)
{
	const uint32_t *g = k->launch.grid;
	const uint64_t blocks = (uint64_t)g[0] * g[1] * g[2];
	const uint32_t warps = lanes_warps(&k->launch);
	uint64_t at[3], warp[3] = {0};
	double of_block[3], of_warp[3] = {1, 1, 1};
	const unsigned b = spread(blocks, at, of_block);
	const unsigned w = warps <= ACCESS_WARPS_ALL ? warps : spread(warps, warp, of_warp);
	uint64_t steps = 0;

	k->is_all = blocks <= 3 && warps <= ACCESS_WARPS_ALL;
	for (unsigned i = 0; i < b; i++)
		for (unsigned j = 0; j < w; j++) {
			struct access_look *s = &k->samples[k->samples_n];
			const bool is_each = warps <= ACCESS_WARPS_ALL;

			*s = (struct access_look){
				.weight = of_block[i] * (is_each ? 1 : of_warp[j]),
				.warp = {.block = {(uint32_t)(at[i] % g[0]),
						   (uint32_t)(at[i] / g[0] % g[1]),
						   (uint32_t)(at[i] / g[0] / g[1])},
					 .warp = is_each ? j : (uint32_t)warp[j]},
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

	for (uint32_t i = 0; i < k->g.calls_n; i++) {
		const uint32_t block = k->g.block_of[k->g.calls[i].insn];
		const bool is_own = !cfg_is_called(&k->g, block);

		if (k->has_any && is_own && !k->any.r.blocks[block].is_reached)
			continue;
		if (cfg_is_within(&k->g, k->g.calls[i].target))
			k->called |= within;
		else if (k->has_any && is_own &&
			 !isnan(access_times_passed(k, &k->any.r, block, &why)))
			k->called = UINT32_MAX;
		else
			k->called_maybe = UINT32_MAX;
	}
}

/* ------------------------------------------------------------------------------------- how often */

/* What the blocks behind one say of it: where lanes part for certain the warp goes both ways. */
static bool passes_from(const struct access_reader *k, const struct lanes_result *r, uint32_t b)
{
	const struct cfg_block *x = &k->g.blocks[b];
	bool some = false, all = x->successors_n > 0;

	for (uint32_t i = 0; i < x->successors_n; i++) {
		if (i < 64 && !(r->blocks[b].edges >> i & 1))
			continue;
		some |= k->passes[k->g.edges[x->successors + i]];
		all &= k->passes[k->g.edges[x->successors + i]];
	}
	return r->blocks[b].parts ? some : all && !r->blocks[b].may_exit;
}

/* Whether every way from the start to an end, as far as ways may be taken, passes a block. */
static bool always_passed(struct access_reader *k, const struct lanes_result *r, uint32_t block)
{
	bool again = true;

	if (block == 0)
		return true;
	if (k->g.blocks_n > CERTAIN_BLOCKS)
		return false;
	memset(k->passes, 1, k->g.blocks_n);
	while (again) {
		again = false;
		for (uint32_t b = k->g.blocks_n; b-- > 0;) {
			if (b == block || !r->blocks[b].is_reached || !k->passes[b] ||
			    passes_from(k, r, b))
				continue;
			k->passes[b] = 0;
			again = true;
		}
	}
	return k->passes[0];
}

uint64_t access_trips(const struct access_reader *k, const struct lanes_result *r, uint32_t loop)
{
	if (r->trips[loop])
		return r->trips[loop];
	for (uint32_t i = 0; i < k->tiles.n; i++)
		if (k->tiles.at[i].loop == loop)
			return k->tiles.at[i].trips;
	return 1; /* for lanes */
}

/* How often a warp that was looked at passes a block; NAN = not known, and why. */
double access_times_passed(struct access_reader *k, const struct lanes_result *r, uint32_t block,
			   const char **why)
{
	double n = 1;

	if (!r->blocks[block].is_reached)
		return 0;
	*why = why_path;
	for (uint32_t loop = k->g.blocks[block].loop; loop != CFG_NONE;
	     loop = k->g.loops[loop].parent) {
		if (!cfg_in_every_turn(&k->g, block, loop))
			return NAN;
		if (!access_trips(k, r, loop)) {
			*why = why_trips;
			return NAN;
		}
		n *= (double)access_trips(k, r, loop);
		block = k->g.loops[loop].header;
	}
	return always_passed(k, r, block) ? n : NAN;
}

static bool is_taken(const struct access_reader *k, const struct lanes_result *r, uint32_t from,
		     uint32_t to)
{
	const struct cfg_block *x = &k->g.blocks[from];

	for (uint32_t i = 0; i < x->successors_n && r->blocks[from].is_reached; i++)
		if (k->g.edges[x->successors + i] == to &&
		    (i >= 64 || r->blocks[from].edges >> i & 1))
			return true;
	return false;
}

double access_repeated(const struct access_reader *k, const struct lanes_result *r, uint32_t block)
{
	const struct cfg_block *b = &k->g.blocks[block];
	uint32_t groups = 0;
	bool is_certain = !strcmp(sass_op(&k->g.insns[b->first]), "BSYNC");

	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t from = k->g.edges[b->predecessors + i];
		uint32_t loop = k->g.blocks[from].loop;

		if (!is_taken(k, r, from, block) ||
		    (!r->blocks[from].parts && r->blocks[from].lanes == r->blocks[block].lanes))
			continue;
		groups++;
		/* a loop that runs a known number of times is left by all that are in it at once */
		for (; loop != CFG_NONE && !cfg_in_loop(&k->g, block, loop);
		     loop = k->g.loops[loop].parent)
			is_certain &= access_trips(k, r, loop) != 0;
	}
	if (groups < 2)
		return 0;
	return is_certain ? groups - 1 : NAN;
}

struct quantity access_requests(struct access_reader *k, const struct access_place *p)
{
	const uint32_t block = k->g.block_of[p->insn];
	double sum = 0, least = INFINITY, most = 0, n;
	const char *why = why_path;

	if (p->of_any && !p->of_any->is_maybe) {
		n = access_times_passed(k, &k->any.r, block, &why);
		if (!isnan(n))
			return access_derived(n * k->warps);
	}
	if (!k->samples_n)
		return access_unknown(why);
	for (unsigned i = 0; i < k->samples_n; i++) {
		n = 0;
		if (p->of[i]) {
			n = access_times_passed(k, &k->samples[i].r, block, &why);
			if (p->of[i]->is_maybe && n > 0)
				n = NAN;
		}
		if (isnan(n))
			return access_unknown(why);
		sum += n * k->samples[i].weight;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	if (k->is_all)
		return access_derived(sum);
	return access_estimated(sum, least * k->warps, most * k->warps, access_why_sampled);
}
