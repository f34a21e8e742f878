/*
 * kernel_access_waste.c - of excess sectors those that no neighbour uses. See kernel_access_look.h. The L1 keeps what is
 * loaded; what is stored it passes on, one instruction's sectors at a time, whoever writes the rest of them (measured on
 * an H200: eight words stored by eight instructions, 32 bytes a lane, take 4 to 9 times as long as side by side).
 */
#include <math.h>
#include <string.h>

#include "kernel_access_look.h"

static const char why_turns[] =
	"provided that the loop around it turns as often as it takes to pass a sector";
static const char why_few[] = "the loop around it ends before a sector is passed";
static const char why_open[] = "neighbours that use the rest may not be executed";

static void guess(struct quantity *q, double low, double high, const char *why)
{
	q->label = QUANTITY_ESTIMATED;
	q->low = fmin(q->low, low);
	q->high = fmax(q->high, high);
	q->why = q->why ? q->why : why;
}

/* Fewer turns than a sector takes: what is left of it counts once for all of them, or of two where it begins in one. */
static struct quantity few_turns(const struct lanes_site *s, double trips)
{
	return access_estimated(fmax(s->own_later, s->own / trips), s->own_later,
				fmin(s->own, fmax(s->own_later, 2 * s->own / trips)), why_few);
}

/* Of one look. */
static struct quantity own_of(const struct access_reader *k, const struct lanes_result *r,
			      const struct lanes_site *s)
{
	const uint32_t loop = k->g.blocks[k->g.block_of[s->insn]].loop;
	const uint64_t trips = loop == CFG_NONE ? 1 : access_trips(k, r, loop);
	const bool is_turned = s->turns > 1 && s->own_later < s->own;
	const bool is_passed = is_turned && (!trips || trips >= s->turns);
	const double excess = s->value - s->ideal;
	struct quantity q = access_derived(is_passed ? s->own_later : s->own);

	if (is_passed && !trips)
		guess(&q, s->own_later, s->is_own_assumed ? excess : s->own, why_turns);
	else if (is_turned && !is_passed)
		q = few_turns(s, (double)trips);
	if (s->is_own_open)
		guess(&q, q.value, excess, why_open);
	/* another start parts the sectors otherwise, and neighbours with them */
	if (q.value < excess && (is_passed ? s->is_later_assumed : s->is_own_assumed && !is_turned))
		guess(&q, 0, s->high - s->ideal, access_why_aligned);
	else if (s->is_assumed)
		guess(&q, q.value < excess ? q.low : s->low - s->ideal,
		      q.value < excess ? q.high : s->high - s->ideal, access_why_aligned);
	if (s->absent)
		guess(&q, 0, s->high - s->ideal, access_why_absent(s->absent));
	return q;
}

/* Mean of the looks at single warps; false = one of them is not known. */
static bool mean_own(struct access_reader *k, const struct access_place *p, struct quantity *out)
{
	struct access_tally t;
	struct access_mean m;
	double most = 0;
	const char *why = NULL;

	access_weigh(k, p, &t);
	for (unsigned i = 0; i < k->samples_n; i++) {
		struct quantity q;

		t.value[i] = NAN;
		if (!p->of[i])
			continue;
		if (!p->of[i]->is_known)
			return false;
		q = own_of(k, &k->samples[i].r, p->of[i]);
		t.value[i] = q.value;
		t.low[i] = q.low;
		t.high[i] = q.high;
		most = fmax(most, q.high);
		if (q.label == QUANTITY_ESTIMATED)
			why = why ? why : q.why;
	}
	m = access_mean(k, &t, 0, most);
	if (!(m.weight > 0))
		return false;
	if (!t.is_weight_known && m.low < m.high)
		why = why ? why : access_why_uncounted;
	*out = why || !k->is_all
		       ? access_estimated(m.value, m.low, m.high, why ? why : access_why_sampled)
		       : access_derived(m.value);
	return true;
}

static bool first_is_store(const struct access_place *p, unsigned samples_n)
{
	const struct lanes_site *s = p->of_any;

	for (unsigned i = 0; i < samples_n && !s; i++)
		s = p->of[i];
	return s && s->kind == LANES_STORE;
}

struct quantity access_own_excess(struct access_reader *k, const struct access_place *p,
				  const struct quantity *excess)
{
	const struct lanes_site *s = p->of_any;
	struct quantity out;

	if (!quantity_known(excess) || first_is_store(p, k->samples_n))
		return *excess;
	if (s && s->is_known && !s->absent)
		return own_of(k, &k->any.r, s);
	if (mean_own(k, p, &out))
		return out;
	return s && s->is_known ? own_of(k, &k->any.r, s) : *excess;
}

const char *access_sharers(const struct access_place *p, unsigned samples_n)
{
	const struct lanes_site *s = p->of_any;

	for (unsigned i = 0; i < samples_n; i++)
		if (p->of[i] && (!s || !s->is_known))
			s = p->of[i];
	if (!s || !s->is_known || s->kind == LANES_STORE || !(s->own_later < s->value - s->ideal))
		return NULL;
	return s->own_later < s->own ? "turns of the loop" : "neighbouring instructions";
}
