/* kernel_access_count.c - how often code is executed, and what samples say of all warps. See kernel_access_look.h. */
#include <math.h>
#include <string.h>

#include "arena.h"
#include "kernel_access_look.h"

#define CERTAIN_BLOCKS 1024u /* longer code: nobody asks whether a block is always passed */
#define UNSEEN         3.0 /* of n samples that are alike so many may be unlike, as access_mean() says */

static const char why_path[] = "whether every warp comes here is not known";
static const char why_trips[] = "how often a loop around it runs is not known";
const char access_why_unseen[] = "no warp that was looked at comes here";

/* ------------------------------------------------------------------------------------- one warp */

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

static double times_passed(struct access_reader *k, const struct lanes_result *r, uint32_t block,
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
		/* the one turn of a loop may end early: by a way out that others of its turns would not have */
		if (access_trips(k, r, loop) > 1)
			block = k->g.loops[loop].header;
	}
	return always_passed(k, r, block) ? n : NAN;
}

double access_times_passed(struct access_reader *k, struct access_look *at, uint32_t block,
			   const char **why)
{
	struct access_times *t;

	if (!at->times)
		at->times = arena_array(k->scratch, k->g.blocks_n, sizeof(*at->times));
	if (!at->times) {
		k->no_memory = true;
		return NAN;
	}
	t = &at->times[block];
	if (!t->is_known) {
		t->n = times_passed(k, &at->r, block, &t->why);
		t->is_known = true;
	}
	if (isnan(t->n))
		*why = t->why;
	return t->n;
}

double access_times_least(struct access_reader *k, struct access_look *at, uint32_t block)
{
	const char *why;
	double n = access_times_passed(k, at, block, &why);
	bool is_in_every_turn = true;

	if (!isnan(n))
		return n;
	if (!always_passed(k, &at->r, block))
		return 0;
	n = 1;
	for (uint32_t loop = k->g.blocks[block].loop; loop != CFG_NONE && is_in_every_turn;
	     loop = k->g.loops[loop].parent) {
		is_in_every_turn = cfg_in_every_turn(&k->g, block, loop);
		if (is_in_every_turn && access_trips(k, &at->r, loop))
			n *= (double)access_trips(k, &at->r, loop);
		block = k->g.loops[loop].header;
	}
	return n;
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

/* By how many groups, one after another, lanes leave a loop; 0 = not known. */
static uint32_t leavings(const struct access_reader *k, const struct lanes_result *r, uint32_t loop)
{
	if (r->trips[loop])
		return r->leavings[loop];
	/* what the code alone decides is the same for all lanes */
	return access_trips(k, r, loop) != 0;
}

/* By how many groups lanes come from one block to another; 0 = not known. */
static uint32_t arrivals(const struct access_reader *k, const struct lanes_result *r, uint32_t from,
			 uint32_t to)
{
	uint32_t groups = 1;

	for (uint32_t loop = k->g.blocks[from].loop;
	     loop != CFG_NONE && !cfg_in_loop(&k->g, to, loop); loop = k->g.loops[loop].parent) {
		const uint32_t n = leavings(k, r, loop);

		if (n != 1 && groups != 1)
			return 0;
		groups *= n;
	}
	return groups;
}

/* Whether a warp that passes a block goes on to another for certain, with some of its lanes at least. */
static bool goes_to(const struct access_reader *k, const struct lanes_result *r, uint32_t from,
		    uint32_t to)
{
	const uint32_t loop = k->g.blocks[from].loop;

	if (r->blocks[from].parts)
		return true;
	/* who leaves a loop after a known number of turns leaves it once */
	if (loop != CFG_NONE && !cfg_in_loop(&k->g, to, loop))
		return true;
	return !r->blocks[from].may_exit && __builtin_popcountll(r->blocks[from].edges) == 1;
}

/* Instructions of a block that each group executes by itself: the meeting, or all that is left. NAN = not known. */
static double repeated_of(const struct access_reader *k, const struct cfg_block *b)
{
	if (!strcmp(sass_op(&k->g.insns[b->first]), "BSYNC"))
		return 1;
	if (b->successors_n)
		return NAN;
	for (uint32_t i = b->first; i < b->end; i++)
		if (!strcmp(sass_op(&k->g.insns[i]), "WARPSYNC")) /* they meet here, or some do */
			return NAN;
	return b->end - b->first;
}

double access_repeated(struct access_reader *k, struct access_look *at, uint32_t block)
{
	const struct lanes_result *r = &at->r;
	const struct cfg_block *b = &k->g.blocks[block];
	uint32_t groups = 0;
	bool is_certain = true;
	const char *why;

	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t from = k->g.edges[b->predecessors + i];
		const uint32_t n = arrivals(k, r, from, block);

		if (!is_taken(k, r, from, block) ||
		    ((n == 1 || (n == 0 && !r->blocks[from].absent)) && !r->blocks[from].parts &&
		     r->blocks[from].lanes == r->blocks[block].lanes))
			continue;
		groups += n ? n : 2;
		is_certain &= n != 0 && goes_to(k, r, from, block) &&
			      !isnan(access_times_passed(k, at, from, &why));
	}
	if (groups < 2)
		return 0;
	return is_certain ? (groups - 1) * repeated_of(k, b) : NAN;
}

/* ------------------------------------------------------------------------------------- all warps */

/* Warps of one number within their blocks. */
struct role {
	double low, high, weight;
};

struct access_mean access_mean(const struct access_reader *k, const struct access_tally *t,
			       double floor, double ceiling)
{
	struct access_mean m = {0};
	struct role roles[ACCESS_WARPS] = {{0}};
	double least = INFINITY, most = -INFINITY;
	unsigned n = 0;

	for (unsigned i = 0; i < k->samples_n; i++) {
		struct role *r = &roles[k->samples[i].warp.warp];

		if (isnan(t->value[i]) || !(t->weight[i] > 0))
			continue;
		n++;
		least = fmin(least, t->low[i]);
		most = fmax(most, t->high[i]);
		r->low = r->weight > 0 ? fmin(r->low, t->low[i]) : t->low[i];
		r->high = r->weight > 0 ? fmax(r->high, t->high[i]) : t->high[i];
		r->weight += t->weight[i];
		m.weight += t->weight[i];
		m.value += t->weight[i] * t->value[i];
	}
	if (!n)
		return (struct access_mean){0};
	for (unsigned i = 0; i < ACCESS_WARPS; i++) {
		m.low += roles[i].weight * roles[i].low;
		m.high += roles[i].weight * roles[i].high;
	}
	m.value /= m.weight;
	m.low = t->is_weight_known ? m.low / m.weight : least;
	m.high = t->is_weight_known ? m.high / m.weight : most;
	if (!k->is_all) {
		m.low -= fmin(1, UNSEEN / n) * fmax(0, m.low - floor);
		m.high += fmin(1, UNSEEN / n) * fmax(0, ceiling - m.high);
	}
	return m;
}

/* How often a warp at most passes a block, as far as all turns of the loops around it go; NAN = not known. */
static double times_at_most(const struct access_reader *k, uint32_t block)
{
	double n = k->has_any ? 1 : NAN;

	for (uint32_t loop = k->g.blocks[block].loop; loop != CFG_NONE && k->has_any;
	     loop = k->g.loops[loop].parent) {
		const uint64_t trips = access_trips(k, &k->any.r, loop);

		n *= trips ? (double)trips : NAN;
	}
	return n;
}

/* Lanes that parted and did not meet make a request for each group of them; what each lane does counts once. */
static bool are_groups_open(const struct access_reader *k, const struct access_look *at,
			    const struct access_place *p, bool by_lane)
{
	return !by_lane && at->r.blocks[k->g.block_of[p->insn]].is_apart;
}

/* Of sample i at a place; NAN = not known, and why. */
static double requests_of(struct access_reader *k, const struct access_place *p, unsigned i,
			  bool by_lane, const char **why)
{
	double n;

	if (!p->of[i])
		return 0;
	if (are_groups_open(k, &k->samples[i], p, by_lane)) {
		*why = access_why_meeting;
		return NAN;
	}
	n = access_times_passed(k, &k->samples[i], k->g.block_of[p->insn], why);
	if (p->of[i]->is_maybe && n > 0) {
		*why = why_path;
		return NAN;
	}
	return n;
}

void access_weigh(struct access_reader *k, const struct access_place *p, struct access_tally *t)
{
	const char *why;

	t->is_weight_known = true;
	for (unsigned i = 0; i < k->samples_n; i++) {
		t->weight[i] = requests_of(k, p, i, false, &why) * k->samples[i].weight;
		t->is_weight_known &= !isnan(t->weight[i]);
	}
	for (unsigned i = 0; i < k->samples_n && !t->is_weight_known; i++)
		t->weight[i] = p->of[i] ? k->samples[i].weight : 0;
}

/* Requests at a place, or each lane of them. */
static struct quantity count(struct access_reader *k, const struct access_place *p, bool by_lane)
{
	const uint32_t block = k->g.block_of[p->insn];
	const char *why = why_path;
	struct access_tally t = {.is_weight_known = true};
	struct access_mean m;
	double most = times_at_most(k, block), seen = 0;
	uint32_t absent = 0;

	if (p->of_any && are_groups_open(k, &k->any, p, by_lane)) {
		why = access_why_meeting;
	} else if (p->of_any && !p->of_any->is_maybe) {
		const double n = access_times_passed(k, &k->any, block, &why) * k->warps,
			     lanes = by_lane ? __builtin_popcount(p->of_any->lanes) : 1;

		if (!isnan(n) && (!by_lane || !p->of_any->absent || !(n > 0)))
			return access_derived(n * lanes);
		if (!isnan(n) && !k->samples_n)
			return access_estimated(n * lanes, n, n * lanes,
						access_why_absent(p->of_any->absent));
	}
	if (!k->samples_n)
		return access_unknown(why);
	for (unsigned i = 0; i < k->samples_n; i++) {
		const struct lanes_site *s = p->of[i];
		const double n = requests_of(k, p, i, by_lane, &why),
			     lanes = by_lane && s ? __builtin_popcount(s->lanes) : 1;

		if (isnan(n))
			return access_unknown(why);
		t.value[i] = t.high[i] = n * lanes;
		t.low[i] = s && s->absent ? n : n * lanes;
		t.weight[i] = k->samples[i].weight;
		absent |= s && n > 0 ? s->absent : 0;
		seen = fmax(seen, t.high[i]);
	}
	if (!(seen > 0) && (isnan(most) || !k->has_roles_all) && !k->is_all)
		return access_unknown(access_why_unseen);
	m = access_mean(k, &t, 0, fmax(seen, by_lane ? 32 * most : most));
	if (k->is_all && !(by_lane && absent))
		return access_derived(m.value * m.weight);
	return access_estimated(m.value * m.weight, m.low * m.weight, m.high * m.weight,
				by_lane && absent ? access_why_absent(absent) : access_why_sampled);
}

struct quantity access_requests(struct access_reader *k, const struct access_place *p)
{
	return count(k, p, false);
}

struct quantity access_lanes(struct access_reader *k, const struct access_place *p)
{
	return count(k, p, true);
}
