/* access_cost.c - see access_cost.h. */
#include "access_cost.h"

#include <math.h>
#include <string.h>

#define L1_FACTOR 2.0 /* that the L1 takes longer than all else, to be what it costs */
#define L2_SHARE \
	0.25 /* of the L1's bytes a cycle that an SM gets from the L2: a sixth to a half where measured */

static bool is_global(const struct metric_site *s)
{
	return s->kind && (!strcmp(s->kind, "load") || !strcmp(s->kind, "store"));
}

/* Code that no warp comes to as far as is known: the rest of a loop that has none, a case that does not arise. */
static bool is_idle(const struct metric_site *s)
{
	return s->is_unseen && !quantity_known(&s->requests);
}

static const struct metric_loop *hot_loop(const struct metric_sass *sass)
{
	return sass && sass->hot_loop >= 0 && (size_t)sass->hot_loop < sass->loops_n
		       ? &sass->loops[sass->hot_loop]
		       : NULL;
}

static bool is_in(const struct metric_site *s, const struct metric_loop *l)
{
	return l && s->offset >= l->start && s->offset <= l->end;
}

static double excess_of(const struct metric_site *s)
{
	return quantity_known(&s->excess) ? s->excess.value : 0;
}

/* Where nobody looked at neighbours there are none. */
static double own_of(const struct metric_site *s)
{
	return quantity_known(&s->own_excess) ? s->own_excess.value : excess_of(s);
}

/* Bytes a cycle; where nobody has said so those of shared memory, which is the same memory. */
static double l1_bytes(const struct arch *a)
{
	return a->l1_bytes_measured > 0 ? a->l1_bytes_measured
	       : a->l1_bytes > 0        ? a->l1_bytes
					: a->shared_bytes;
}

static double l1_cycles(double sectors, double lines, const struct arch *hw)
{
	return fmax(fmax(1, lines), sectors * ACCESS_SECTOR_BYTES / l1_bytes(hw));
}

static void add(struct access_cost *c, const struct metric_site *s, const struct arch *hw,
		double weight)
{
	const bool is_known = quantity_known(&s->sectors_per_request) && quantity_known(&s->excess);
	const double sectors = is_known ? s->sectors_per_request.value : ACCESS_WORD_SECTORS;
	const double needed = sectors - (is_known ? s->excess.value : 0);

	c->l1 += weight * l1_cycles(sectors, is_known ? s->lines : 0, hw);
	c->l1_ideal += weight * l1_cycles(needed, 0, hw);
	c->l1_least += weight * needed * ACCESS_SECTOR_BYTES / l1_bytes(hw);
	if (is_known && s->kind && !strcmp(s->kind, "store") && s->excess.value > 0) {
		c->stored += weight * own_of(s);
		c->partly += weight * sectors * own_of(s) / s->excess.value;
	}
	c->total += weight * (is_known ? s->sectors_per_request.value : ACCESS_WORD_SECTORS);
	c->total_most += weight * (is_known ? s->sectors_per_request.value : ACCESS_MOST_SECTORS);
	c->excess += weight * (is_known ? s->excess.value : 0);
	c->wasted += weight * (is_known ? own_of(s) : 0);
	if (!is_known)
		return;
	if (!c->worst || excess_of(s) > excess_of(c->worst))
		c->worst = s;
	if (!c->wasteful || own_of(s) > own_of(c->wasteful))
		c->wasteful = s;
}

void access_cost_read(const struct metric_access *a, const struct metric_sass *sass,
		      const struct arch *hw, struct access_cost *out)
{
	const struct metric_loop *hot = hot_loop(sass);
	/* also those that no report lists */
	const size_t n = !a ? 0 : a->sites_all > a->sites_n ? a->sites_all : a->sites_n;
	bool are_counted = true, is_hot = false;
	double weights = 0;

	*out = (struct access_cost){0};
	for (size_t i = 0; i < n; i++) {
		if (!is_global(&a->sites[i]) || is_idle(&a->sites[i]))
			continue;
		are_counted &= quantity_known(&a->sites[i].requests);
		is_hot |= is_in(&a->sites[i], hot);
	}
	for (size_t i = 0; i < n; i++) {
		const struct metric_site *s = &a->sites[i];
		const double weight = are_counted ? s->requests.value : 1;

		if (!is_global(s) || is_idle(s) || !(weight > 0) ||
		    (!are_counted && is_hot && !is_in(s, hot)))
			continue;
		weights += weight;
		add(out, s, hw, weight);
	}
	if (!(weights > 0))
		return;
	out->total /= weights;
	out->total_most /= weights;
	out->excess /= weights;
	out->wasted /= weights;
	out->l1 /= weights;
	out->l1_ideal /= weights;
	out->l1_least /= weights;
	out->stored /= weights;
	out->partly /= weights;
	out->requests = are_counted ? weights : 0;
}

bool access_cost_wastes(const struct access_cost *c)
{
	return c->wasteful && own_of(c->wasteful) >= ACCESS_EXCESS_LEAST_WORST &&
	       c->wasted >= ACCESS_EXCESS_LEAST * c->total_most;
}

bool access_cost_is_l1(const struct access_cost *c, const struct metric_sass *sass,
		       const struct arch_device *hw)
{
	const struct metric_mix *m = !sass ? NULL : hot_loop(sass) ? &sass->hot : &sass->whole;
	const double accesses = m ? m->loads + m->stores : 0;
	const double l1 = l1_bytes(&hw->arch);
	const double l2 = hw->arch.l2_bytes_measured > 0 && hw->sm_count > 0
				  ? hw->arch.l2_bytes_measured / (double)hw->sm_count
				  : l1 * L2_SHARE;
	double cycles, fetch, issue;

	if (!c->worst || !(excess_of(c->worst) >= ACCESS_EXCESS_LEAST_WORST) ||
	    !(c->excess >= ACCESS_EXCESS_LEAST * c->total_most) || !(accesses > 0) || !(l1 > 0) ||
	    hw->arch.partitions <= 0)
		return false;
	fetch = (c->total - c->excess + c->wasted) * ACCESS_SECTOR_BYTES / l2;
	issue = m->issued / hw->arch.partitions / accesses;
	/* products take time of their own, so that only what is moved counts beside them */
	cycles = m->products > 0 ? c->total * ACCESS_SECTOR_BYTES / l1 : c->l1;
	return cycles >= L1_FACTOR * fmax(fetch, issue);
}
