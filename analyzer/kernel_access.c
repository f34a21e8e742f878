/* kernel_access.c - see kernel_access.h. */
#include "kernel_access.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "count.h"
#include "kernel_access_look.h"
#include "kernel_view.h"
#include "sass_text.h"
#include "text.h"

#define SITES_MOST 64u /* that are kept, those with the most excess */

static const char why_copied[] =
	"a copy writes shared memory as its data arrive: its words are taken to be there at once";
static const char why_words[] =
	"indices are taken not to wrap, and what is not known of an address to be a multiple of 4";

static const char why_fetched[] =
	"which lanes of a copy share a sector that they fetch is not established where these are not neighbours";

/* What stands behind a site that is assumed. */
static const char *why_assumed(const struct lanes_site *s)
{
	if (s->is_second)
		return why_copied;
	if (s->kind == LANES_SHARED || s->is_shared)
		return why_words;
	return s->is_copy && s->low == s->value ? why_fetched : access_why_aligned;
}

/* ------------------------------------------------------------------------------------- sites */

static struct access_place *place_of(struct access_reader *k, const struct lanes_site *s)
{
	for (uint32_t i = 0; i < k->places_n; i++)
		if (k->places[i].insn == s->insn && k->places[i].is_second == s->is_second)
			return &k->places[i];
	return NULL;
}

/* Sites come in the order of the code: the place is at most a little ahead. */
static struct access_place *next_place(struct access_reader *k, const struct lanes_site *s,
				       uint32_t *from)
{
	while (*from < k->places_n &&
	       (k->places[*from].insn < s->insn ||
		(k->places[*from].insn == s->insn && k->places[*from].is_second < s->is_second)))
		++*from;
	if (*from < k->places_n && k->places[*from].insn == s->insn &&
	    k->places[*from].is_second == s->is_second)
		return &k->places[*from];
	return place_of(k, s);
}

static int by_place(const void *va, const void *vb)
{
	const struct access_place *a = va, *b = vb;

	if (a->insn != b->insn)
		return a->insn < b->insn ? -1 : 1;
	return (int)a->is_second - (int)b->is_second;
}

/* All sites that some look has, in the order of the code. */
static bool gather(struct access_reader *k)
{
	size_t room = k->has_any ? k->any.r.sites_n : 0;
	uint32_t n = 0;

	for (unsigned i = 0; i < k->samples_n; i++)
		room += k->samples[i].r.sites_n;
	k->places = arena_array(k->scratch, room + 1, sizeof(*k->places));
	if (!k->places)
		return false;
	for (uint32_t i = 0; k->has_any && i < k->any.r.sites_n; i++)
		k->places[n++] = (struct access_place){.insn = k->any.r.sites[i].insn,
						       .is_second = k->any.r.sites[i].is_second};
	/* what no warp at all does, no single one does */
	for (unsigned s = 0; s < k->samples_n && !k->has_any; s++)
		for (uint32_t i = 0; i < k->samples[s].r.sites_n; i++)
			k->places[n++] = (struct access_place){
				.insn = k->samples[s].r.sites[i].insn,
				.is_second = k->samples[s].r.sites[i].is_second};
	qsort(k->places, n, sizeof(*k->places), by_place);
	for (uint32_t i = 0; i < n; i++)
		if (!i || by_place(&k->places[i], &k->places[k->places_n - 1]))
			k->places[k->places_n++] = k->places[i];
	for (uint32_t i = 0, at = 0; k->has_any && i < k->any.r.sites_n; i++)
		next_place(k, &k->any.r.sites[i], &at)->of_any = &k->any.r.sites[i];
	for (unsigned s = 0; s < k->samples_n; s++)
		for (uint32_t i = 0, at = 0; i < k->samples[s].r.sites_n; i++) {
			struct access_place *p = next_place(k, &k->samples[s].r.sites[i], &at);

			if (p)
				p->of[s] = &k->samples[s].r.sites[i];
		}
	return true;
}

static const struct lanes_site *first_of(const struct access_reader *k,
					 const struct access_place *p)
{
	const struct lanes_site *s = p->of_any;

	for (unsigned i = 0; i < k->samples_n; i++)
		if (p->of[i] && (!s || (!s->is_known && p->of[i]->is_known)))
			s = p->of[i];
	return s;
}

/* Mean of the samples that come here, by how often they do; false = one of them is not known. */
static bool mean_of(struct access_reader *k, const struct access_place *p, struct quantity *each,
		    struct quantity *excess)
{
	struct access_tally of, over;
	struct access_mean m, x;
	double most = 0, most_over = 0;
	bool is_exact = true;
	uint32_t absent = 0;
	const char *why;

	access_weigh(k, p, &of);
	over = of;
	for (unsigned i = 0; i < k->samples_n; i++) {
		const struct lanes_site *s = p->of[i];

		of.value[i] = over.value[i] = NAN;
		if (!s)
			continue;
		if (!s->is_known)
			return false;
		is_exact &= !s->is_assumed;
		absent |= s->absent;
		of.value[i] = s->value;
		of.low[i] = s->absent ? 1 : s->low;
		of.high[i] = s->high;
		over.value[i] = s->value - s->ideal;
		over.low[i] = s->absent ? 0 : s->low - s->ideal;
		over.high[i] = s->high - s->ideal;
		most = fmax(most, of.high[i]);
		most_over = fmax(most_over, over.high[i]);
	}
	m = access_mean(k, &of, 1, most);
	x = access_mean(k, &over, 0, most_over);
	if (!(m.weight > 0))
		return false;
	if (k->is_all && is_exact && !absent && (of.is_weight_known || m.low == m.high)) {
		*each = access_derived(m.value);
		*excess = access_derived(x.value);
		return true;
	}
	why = absent      ? access_why_absent(absent)
	      : !is_exact ? why_assumed(first_of(k, p))
	      : k->is_all ? access_why_uncounted
			  : access_why_sampled;
	*each = access_estimated(m.value, m.low, m.high, why);
	*excess = access_estimated(x.value, x.low, x.high, why);
	return true;
}

static void figure(struct access_reader *k, const struct access_place *p, struct quantity *each,
		   struct quantity *excess)
{
	const struct lanes_site *s = p->of_any;

	if (s && s->is_known && !s->absent) {
		const double ideal = s->ideal;

		*each = s->is_assumed ? access_estimated(s->value, s->low, s->high, why_assumed(s))
				      : access_derived(s->value);
		*excess = s->is_assumed ? access_estimated(s->value - ideal, s->low - ideal,
							   s->high - ideal, why_assumed(s))
					: access_derived(s->value - ideal);
		return;
	}
	if (mean_of(k, p, each, excess))
		return;
	if (!s || !s->is_known) {
		s = s ? s : first_of(k, p);
		*each = *excess = access_unknown(access_why(s ? s->reasons : LANES_OPERATION));
		return;
	}
	*each = access_estimated(s->value, 1, s->high, access_why_absent(s->absent));
	*excess = access_estimated(s->value - s->ideal, 0, s->high - s->ideal, each->why);
}

static const char *line_of(const struct access_reader *k, uint32_t offset)
{
	const uint32_t function = (uint32_t)(k->l->function - k->l->cubin->functions);
	const struct line_row *row = k->l->lines ? line_table_find(k->l->lines, function, offset)
						 : NULL;
	const struct line_file *file;
	const char *text;

	if (!row || row->file == LINE_NONE || !row->line)
		return NULL;
	file = &k->l->lines->files[row->file];
	text = text_format(k->arena, "%s%s%s:%u", file->directory, *file->directory ? "/" : "",
			   file->name, row->line);
	return text ? text_utf8(k->arena, text, NULL) : NULL;
}

static const char *const kinds[] = {"load", "store", "shared", "atomic", "branch"};

/* Instructions of the block and of those that only it leads to: one side of a branch. */
static double side(const struct cfg *g, uint32_t branch, uint32_t block)
{
	double n = 0;

	if (!cfg_dominates(g, branch, block) || g->blocks[block].predecessors_n != 1)
		return 0;
	for (uint32_t b = 0; b < g->blocks_n; b++)
		if (g->blocks[b].is_reachable && cfg_dominates(g, block, b))
			n += g->blocks[b].end - g->blocks[b].first;
	return n;
}

/* A branch on which lanes part costs the shorter of its sides, in instructions. */
static bool branch_site(struct access_reader *k, const struct access_place *p,
			const struct lanes_site *s, struct metric_site *out)
{
	const struct cfg_block *b = &k->g.blocks[k->g.block_of[p->insn]];
	const unsigned on = (unsigned)__builtin_popcount(s->lanes);
	double sides[2];

	if (!s->is_known || cfg_flow(&k->g.insns[p->insn]) != CFG_BRANCH || b->successors_n != 2)
		return false;
	for (unsigned i = 0; i < 2; i++)
		sides[i] = side(&k->g, k->g.block_of[p->insn], k->g.edges[b->successors + i]);
	out->sectors_per_request = out->own_excess = access_unknown("it is no access");
	out->lanes = on;
	out->excess = access_estimated(fmin(sides[0], sides[1]), 0, fmax(sides[0], sides[1]),
				       "instructions of the shorter side, each once");
	out->pattern = text_format(k->arena, "%u of %u lanes take it", on,
				   (unsigned)__builtin_popcount(k->g.blocks_n && k->has_any
									? k->any.r.warp
									: k->samples[0].r.warp));
	return out->pattern != NULL;
}

/* A load that leaves no sector where a neighbour would find it. */
static bool passes_l1(const char *op)
{
	return strstr(op, ".BYPASS") || strstr(op, ".STRONG.GPU") || strstr(op, ".STRONG.SYS") ||
	       strstr(op, ".MMIO");
}

static void note_again(const struct access_reader *k, const struct access_place *p,
		       struct metric_site *out)
{
	for (uint32_t i = 0; i < k->again_n; i++)
		if (k->again[i].insn == p->insn && k->again[i].loop != CFG_NONE) {
			out->is_each_turn = true;
			out->around = (uint64_t)k->g.loops[k->again[i].loop].first * SASS_BYTES;
		} else if (k->again[i].insn == p->insn) {
			out->is_again = true;
			out->first = (uint64_t)k->again[i].first * SASS_BYTES;
		}
}

static bool make_site(struct access_reader *k, const struct access_place *p,
		      struct metric_site *out)
{
	const struct lanes_site *s = first_of(k, p);
	struct quantity lanes;
	char text[SASS_TEXT_MAX];

	if (!s)
		return false;
	*out = (struct metric_site){
		.offset = (uint64_t)p->insn * SASS_BYTES,
		.kind = kinds[s->kind],
		.requests = access_requests(k, p),
		.line = line_of(k, p->insn * SASS_BYTES),
	};
	sass_mnemonic(k->g.sm, &k->g.insns[p->insn], text);
	out->op = arena_string(k->arena, text, SIZE_MAX);
	k->no_memory |= !out->op;
	if (s->kind == LANES_BRANCH)
		return branch_site(k, p, s, out);
	lanes = access_lanes(k, p);
	if (quantity_known(&lanes) && out->requests.value > 0)
		out->lanes = lanes.value / out->requests.value;
	figure(k, p, &out->sectors_per_request, &out->excess);
	out->own_excess = access_unknown("only global memory has sectors");
	if (s->kind == LANES_LOAD && passes_l1(text)) {
		out->own_excess = out->excess;
	} else if (s->kind == LANES_LOAD || s->kind == LANES_STORE) {
		out->own_excess = access_own_excess(k, p, &out->excess);
		out->sharers = access_sharers(p, k->samples_n);
	}
	out->is_unseen = out->requests.why == access_why_unseen && k->has_roles_all;
	out->lines = s->is_known ? s->lines : 0;
	out->is_everywhere = s->is_known && s->is_everywhere;
	out->is_of_all_blocks = s->is_known && s->is_of_all_blocks;
	out->lane_bytes = s->bytes;
	if (s->kind == LANES_LOAD)
		note_again(k, p, out);
	if (s->is_known && *s->pattern)
		out->pattern = arena_string(k->arena, s->pattern, SIZE_MAX);
	return true;
}

static double excess_of(const struct metric_site *s)
{
	return quantity_known(&s->excess) ? s->excess.value : -1;
}

/* Accesses before branches, whose excess counts something else. */
static int by_excess(const void *va, const void *vb)
{
	const struct metric_site *a = va, *b = vb;
	const int branch_a = !strcmp(a->kind, "branch"), branch_b = !strcmp(b->kind, "branch");

	if (branch_a != branch_b)
		return branch_a - branch_b;
	if (excess_of(a) != excess_of(b))
		return excess_of(a) < excess_of(b) ? 1 : -1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* ------------------------------------------------------------------------------------- in all */

static const char why_unseen[] = "copies of whole blocks are not among the accesses of lanes";
static const char why_undecoded[] =
	"an instruction of the code is not decoded, or it has too many accesses";

/* An end is not known where what is called may add to it. */
static struct quantity with_calls(const struct access_reader *k, struct quantity q, uint32_t which)
{
	if (k->called & which || (k->called_maybe & which && !quantity_known(&q)))
		return access_unknown(access_why_called);
	if (k->called_maybe & which && q.label == QUANTITY_DERIVED)
		return access_estimated(q.value, q.low, NAN, access_why_called);
	return q;
}

static void weaken(struct quantity *sum, const struct quantity *q)
{
	if (q->label != QUANTITY_ESTIMATED)
		return;
	sum->label = QUANTITY_ESTIMATED;
	if (!sum->why)
		sum->why = q->why;
}

static bool is_kind(const struct metric_site *s, const char *kind)
{
	return !strcmp(s->kind, kind);
}

#define MEAN_STEPS 8u /* each exact for the split of the one before; few sites change sides */

/* The least, or the most, that a mean over requests can be where their numbers have a range; `at` = by their values. */
static double end_of_mean(const struct metric_access *a, const char *kind, double at, bool is_low)
{
	for (unsigned step = 0; step < MEAN_STEPS; step++) {
		double sum = 0, weights = 0;

		for (size_t i = 0; i < a->sites_n; i++) {
			const struct metric_site *s = &a->sites[i];
			const struct quantity *each = &s->sectors_per_request, *n = &s->requests;
			const double end = is_low ? each->low : each->high;
			const double w = (is_low ? end < at : end > at) ? n->high : n->low;

			if (!is_kind(s, kind))
				continue;
			sum += w * end;
			weights += w;
		}
		if (!(weights > 0))
			return at;
		at = is_low ? fmin(at, sum / weights) : fmax(at, sum / weights);
	}
	return at;
}

/* Of an average request of a kind: where all are alike their counts do not matter. */
static struct quantity per_request(struct access_reader *k, const struct metric_access *a,
				   const char *kind)
{
	struct quantity sum = access_derived(0);
	double weights = 0, low = INFINITY, high = 0;
	bool are_counted = true;
	unsigned n = 0, open = 0;
	const char *why = NULL;

	sum.low = sum.high = 0;
	for (size_t i = 0; i < a->sites_n; i++) {
		const struct metric_site *s = &a->sites[i];

		if (!is_kind(s, kind))
			continue;
		n++;
		are_counted &= quantity_known(&s->requests);
		if (quantity_known(&s->sectors_per_request))
			continue;
		open++;
		why = why ? why : s->sectors_per_request.why;
	}
	if (!n)
		return access_unknown("there is none");
	if (open) {
		const char *text =
			text_format(k->arena, "of %u of %u such instructions %s", open, n, why);

		return access_unknown(text ? text : why);
	}
	for (size_t i = 0; i < a->sites_n; i++) {
		const struct metric_site *s = &a->sites[i];
		const double w = are_counted ? s->requests.value : 1;

		if (!is_kind(s, kind))
			continue;
		weights += w;
		sum.value += w * s->sectors_per_request.value;
		sum.low += w * s->sectors_per_request.low;
		sum.high += w * s->sectors_per_request.high;
		low = fmin(low, s->sectors_per_request.low);
		high = fmax(high, s->sectors_per_request.high);
		weaken(&sum, &s->sectors_per_request);
		if (are_counted)
			weaken(&sum, &s->requests);
	}
	if (!(weights > 0))
		return access_unknown("no warp that was looked at comes to one");
	sum.value /= weights;
	sum.low /= weights;
	sum.high /= weights;
	if (are_counted) {
		sum.low = end_of_mean(a, kind, sum.low, true);
		sum.high = end_of_mean(a, kind, sum.high, false);
	}
	if (low == high) {
		sum.label = QUANTITY_DERIVED;
		for (size_t i = 0; i < a->sites_n; i++)
			if (is_kind(&a->sites[i], kind))
				weaken(&sum, &a->sites[i].sectors_per_request);
	} else if (!are_counted && n > 1) {
		sum.label = QUANTITY_ESTIMATED;
		sum.why = "how often each instruction is executed is not known: all count alike";
		sum.low = low;
		sum.high = high;
	}
	return sum;
}

/* Excess sectors of all loads and stores of the launch, or those of them that no neighbour uses. */
static struct quantity excess_sectors(const struct metric_access *a, bool own)
{
	struct quantity sum = access_derived(0);
	bool any = false;

	for (size_t i = 0; i < a->sites_n; i++) {
		const struct metric_site *s = &a->sites[i];
		const struct quantity *e;

		if (!is_kind(s, "load") && !is_kind(s, "store"))
			continue;
		e = own ? &s->own_excess : &s->excess;
		any = true;
		if (!quantity_known(e))
			return access_unknown(e->why);
		if (e->high == 0) {
			weaken(&sum, e);
			continue; /* however often it is executed */
		}
		if (!quantity_known(&s->requests))
			return access_unknown(s->requests.why);
		sum.value += s->requests.value * e->value;
		sum.low += s->requests.low * e->low;
		sum.high += s->requests.high * e->high;
		weaken(&sum, e);
		weaken(&sum, &s->requests);
	}
	return any ? sum : access_unknown("it neither loads nor stores in global memory");
}

/* Of a kind, what one lane does in a request times the lanes; generic addresses have no bytes. */
static struct quantity by_lane(struct access_reader *k, const struct metric_access *a,
			       const char *kind, bool in_bytes)
{
	struct quantity sum = access_derived(0);

	for (size_t i = 0; i < a->sites_n; i++) {
		const struct metric_site *s = &a->sites[i];
		const struct lanes_site of = {.insn = (uint32_t)(s->offset / SASS_BYTES)};
		const struct access_place *p = is_kind(s, kind) ? place_of(k, &of) : NULL;
		const struct lanes_site *site = p ? first_of(k, p) : NULL;
		struct quantity lanes;
		double each;

		if (!site)
			continue;
		lanes = access_lanes(k, p);
		if (!quantity_known(&lanes))
			return access_unknown(lanes.why);
		if (in_bytes && !site->bytes)
			return access_unknown("of generic addresses the memory is not known");
		each = in_bytes ? site->bytes : 1;
		sum.value += lanes.value * each;
		sum.low += lanes.low * each;
		sum.high += lanes.high * each;
		weaken(&sum, &lanes);
	}
	return sum;
}

/* Of one look; NAN = how often some of it is executed is not known, and why. */
static double instructions_of(struct access_reader *k, struct access_look *at, const char **why)
{
	const struct lanes_result *r = &at->r;
	double sum = 0;

	for (uint32_t b = 0; b < k->g.blocks_n; b++) {
		double more;

		if (!r->blocks[b].is_reached)
			continue;
		more = access_repeated(k, at, b);
		if (isnan(more))
			*why = access_why_meeting;
		else
			more = (more + k->g.blocks[b].end - k->g.blocks[b].first) *
			       access_times_passed(k, at, b, why);
		sum += more;
	}
	for (uint32_t i = 0; i < k->g.calls_n; i++)
		if (r->blocks[k->g.block_of[k->g.calls[i].insn]].is_reached) {
			*why = access_why_called;
			return NAN;
		}
	return sum;
}

static struct quantity warp_instructions(struct access_reader *k)
{
	const char *why = NULL;
	const double sum = k->has_any ? instructions_of(k, &k->any, &why) : NAN;
	struct access_tally t = {.is_weight_known = true};
	struct access_mean m;
	double most = 0;

	if (!isnan(sum))
		return access_derived(sum * k->warps);
	if (!k->samples_n)
		return access_unknown(why);
	for (unsigned i = 0; i < k->samples_n; i++) {
		t.value[i] = t.low[i] = t.high[i] = instructions_of(k, &k->samples[i], &why);
		t.weight[i] = k->samples[i].weight;
		if (isnan(t.value[i]))
			return access_unknown(why);
		most = fmax(most, t.value[i]);
	}
	m = access_mean(k, &t, 1, most);
	return k->is_all ? access_derived(m.value * m.weight)
			 : access_estimated(m.value * m.weight, m.low * m.weight, m.high * m.weight,
					    access_why_sampled);
}

/* Lanes that wait while others of their warp execute, in instructions. */
struct idling {
	double idle, all; /* of code that is executed a known number of times */
	double least,
		most; /* share in blocks of which that is not known; least > most = there are none */
	uint32_t absent;
};

static void add_idle(struct access_reader *k, struct access_look *at, struct idling *sum)
{
	const double lanes = __builtin_popcount(at->r.warp);

	for (uint32_t b = 0; b < k->g.blocks_n; b++) {
		const struct lanes_block *r = &at->r.blocks[b];
		const double idle = lanes - __builtin_popcount(r->lanes);
		const double more = access_repeated(k, at, b);
		const char *why;
		double n;

		if (!r->is_reached || !(lanes > 0))
			continue;
		sum->absent |= r->absent;
		n = access_times_passed(k, at, b, &why);
		if (isnan(more))
			sum->most = fmax(sum->most, 1 - 1 / lanes);
		if (isnan(n) || isnan(more)) {
			sum->least = fmin(sum->least, idle / lanes);
			sum->most = fmax(sum->most, idle / lanes);
			continue;
		}
		n *= at->weight;
		sum->idle +=
			n * (more * lanes + idle * (k->g.blocks[b].end - k->g.blocks[b].first));
		sum->all += n * lanes * (more + k->g.blocks[b].end - k->g.blocks[b].first);
	}
	for (uint32_t i = 0; i < k->g.calls_n; i++) {
		/* of those that call, perhaps not all are on their way in what is called */
		const struct lanes_block *r = &at->r.blocks[k->g.block_of[k->g.calls[i].insn]];

		if (!r->is_reached || !(lanes > 0))
			continue;
		sum->least = fmin(sum->least, 1 - __builtin_popcount(r->lanes) / lanes);
		sum->most = fmax(sum->most, 1 - 1 / lanes);
	}
}

static struct quantity divergence(struct access_reader *k)
{
	struct idling sum = {.least = INFINITY, .most = -INFINITY};
	const char *why = "how often some of the code is executed is not known";
	bool is_proof = k->has_any;
	double share, low, high, fewest = INFINITY;

	if (k->has_any)
		add_idle(k, &k->any, &sum);
	if (k->samples_n && (!k->has_any || sum.absent)) {
		sum = (struct idling){.least = INFINITY, .most = -INFINITY};
		for (unsigned i = 0; i < k->samples_n; i++) {
			const double idle = sum.idle, all = sum.all;

			add_idle(k, &k->samples[i], &sum);
			if (sum.all > all)
				fewest = fmin(fewest, (sum.idle - idle) / (sum.all - all));
		}
		is_proof = k->is_all;
	}
	if (!(sum.all > 0) && sum.least > sum.most)
		return access_unknown(access_why_limit);
	share = sum.all > 0 ? sum.idle / sum.all : sum.least;
	low = 100 * fmin(share, sum.least);
	high = 100 * fmax(share, sum.most);
	if (low == high && !is_proof)
		why = access_why_sampled;
	if (!is_proof) {
		low = fmin(low, 100 * fewest);
		high = NAN;
	}
	if (sum.absent) {
		why = access_why_absent(sum.absent);
		high = NAN;
		if (!(low > 0))
			return access_unknown(why);
	}
	return low == high ? access_derived(low) : access_estimated(100 * share, low, high, why);
}

/* ------------------------------------------------------------------------------------- the door */

static bool read_overlap(struct access_reader *k, enum lanes_again_of of,
			 struct metric_overlap *out, struct err *e)
{
	struct lanes_overlap x;

	if (lanes_overlap(k->code, &k->launch, of, &x, e) != 0)
		return false;
	*out = (struct metric_overlap){.loads = x.loads,
				       .blocks = (double)x.blocks,
				       .first = (uint64_t)x.first * SASS_BYTES,
				       .is_in_loop = x.loop != CFG_NONE,
				       .asked = x.asked,
				       .different = x.different};
	return true;
}

/* Times that looking for what is loaded again goes through the code. */
#define PASSES_AGAIN 6u

/* Takes so many from the steps that are left, where these are limited; false = they are fewer. */
static bool spend(const struct access_reader *k, uint64_t steps)
{
	if (!k->l->again_steps)
		return true;
	if (*k->l->again_steps < steps)
		return false;
	*k->l->again_steps -= steps;
	return true;
}

static bool read_again(struct access_reader *k, struct metric_access *out, struct err *e)
{
	return !spend(k, (uint64_t)PASSES_AGAIN * k->g.insns_n) ||
	       (read_overlap(k, LANES_OF_GLOBAL, &out->overlap, e) &&
		read_overlap(k, LANES_OF_SHARED, &out->shared_overlap, e) &&
		lanes_again(k->code, &k->launch, k->scratch, &k->again, &k->again_n, e) == 0);
}

static bool read_all(struct access_reader *k, struct metric_access *out, struct err *e)
{
	struct metric_site *sites;

	k->passes = arena_array(k->scratch, k->g.blocks_n, 1);
	if (!k->passes)
		return err_set(e, ERR_MEMORY, -1, "no memory for the accesses of a kernel") == 0;
	k->any.warp.is_any = true;
	k->any.weight = 1;
	if (lanes_can_be_any(&k->launch)) {
		if (!access_look(k, &k->any, e))
			return false;
		k->has_any = k->any.r.is_complete;
		if (!k->has_any)
			return true; /* too long for one, too long for several */
	}
	if (access_needs_samples(k) && (!k->l->steps || *k->l->steps) && !access_sample(k, e))
		return false;
	if (!k->has_any && !k->samples_n)
		return true;
	if (!read_again(k, out, e))
		return false;
	if (!gather(k))
		return err_set(e, ERR_MEMORY, -1, "no memory for the accesses of a kernel") == 0;
	sites = arena_array(k->arena, k->places_n, sizeof(*sites));
	if (!sites)
		return err_set(e, ERR_MEMORY, -1, "no memory for the accesses of a kernel") == 0;
	for (uint32_t i = 0; i < k->places_n; i++)
		out->sites_n += make_site(k, &k->places[i], &sites[out->sites_n]);
	qsort(sites, out->sites_n, sizeof(*sites), by_excess);
	out->sites = sites;
	return !k->no_memory;
}

/* Of all lanes; it says nothing of what is moved without them. */
static struct quantity all_by_lane(struct access_reader *k, const struct metric_access *a,
				   const char *kind, bool of_bytes, uint32_t which)
{
	if (k->unseen & which)
		return access_unknown(why_unseen);
	return with_calls(k, by_lane(k, a, kind, of_bytes), which);
}

static void forget_sums(struct metric_access *out, const char *why)
{
	out->sectors_per_request_load = out->sectors_per_request_store = out->excess_sectors =
		out->wasted_sectors = out->shared_wavefronts_per_request = out->atomics =
			out->divergence_pct = out->global_load_bytes = out->global_store_bytes =
				out->warp_instructions = access_unknown(why);
}

static void sum_up(struct access_reader *k, struct metric_access *out)
{
	if (!k->has_any && !k->samples_n) {
		forget_sums(out, access_why_limit);
		return;
	}
	access_note_calls(k);
	if (k->unseen == UINT32_MAX) {
		forget_sums(out, why_undecoded);
		return;
	}
	out->sectors_per_request_load =
		with_calls(k, per_request(k, out, "load"), 1u << LANES_LOAD);
	out->sectors_per_request_store =
		with_calls(k, per_request(k, out, "store"), 1u << LANES_STORE);
	out->shared_wavefronts_per_request =
		with_calls(k, per_request(k, out, "shared"), 1u << LANES_SHARED);
	out->excess_sectors =
		with_calls(k, excess_sectors(out, false), 1u << LANES_LOAD | 1u << LANES_STORE);
	out->wasted_sectors =
		with_calls(k, excess_sectors(out, true), 1u << LANES_LOAD | 1u << LANES_STORE);
	out->atomics = all_by_lane(k, out, "atomic", false, 1u << LANES_ATOMIC);
	out->divergence_pct = divergence(k);
	out->global_load_bytes = all_by_lane(k, out, "load", true, 1u << LANES_LOAD);
	out->global_store_bytes = all_by_lane(k, out, "store", true, 1u << LANES_STORE);
	out->warp_instructions = warp_instructions(k);
	k->no_memory |= !access_units(k, out);
}

const struct metric_access *kernel_access_read(const struct kernel_access_launch *l,
					       struct arena *arena, struct err *e)
{
	struct metric_access *out = arena_alloc(arena, sizeof(*out));
	struct arena *scratch = arena_new();
	struct access_reader *k = scratch ? arena_alloc(scratch, sizeof(*k)) : NULL;
	bool is_good = false;

	if (!out || !k) {
		err_set(e, ERR_MEMORY, -1, "no memory for the accesses of a kernel");
	} else {
		*k = (struct access_reader){.l = l, .arena = arena, .scratch = scratch};
		k->launch = (struct lanes_launch){.function = l->function,
						  .params = l->params,
						  .known = l->known,
						  .params_n = l->params_n};
		memcpy(k->launch.grid, l->grid, sizeof(l->grid));
		memcpy(k->launch.block, l->block, sizeof(l->block));
		memcpy(k->launch.cluster, l->cluster, sizeof(l->cluster));
		k->warps = (double)lanes_warps(&k->launch) * (double)count_volume(l->grid);
		k->g = l->view->cfg;
		k->tiles = l->view->tiles;
		k->code = lanes_code_new(&k->g, scratch);
		is_good = k->code ? read_all(k, out, e)
				  : err_set(e, ERR_MEMORY, -1, "no memory") == 0;
		if (is_good) {
			sum_up(k, out);
			is_good = !k->no_memory || err_set(e, ERR_MEMORY, -1, "no memory") == 0;
			out->sites_all = out->sites_n;
			if (out->sites_n > SITES_MOST)
				out->sites_n = SITES_MOST;
		}
	}
	arena_free(scratch);
	return is_good ? out : NULL;
}
