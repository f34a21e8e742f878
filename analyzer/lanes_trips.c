/*
 * lanes_trips.c - how often a loop runs: its counter begins with a value that is known, or has a range, grows by a number
 * each time, and is compared with a number at the only way out. With arguments that is most loops; tile_trips.h
 * has those that the code alone decides.
 */
#include "lanes_walk.h"

#define TRIPS_WORK_MOST (UINT64_C(1) << 22) /* loops x blocks: else nobody looks for ways out */

/* What a loop's end compares: lanes stay in it while `counter` has the relation to `bound`. */
struct condition {
	uint32_t symbol;  /* of the counter, LANES_JOINED */
	uint32_t counter; /* form of 32 bits; the symbol is what it was at the loop's beginning */
	int64_t bound, step;
	enum sass_modifier relation;
	bool is_unsigned;
};

static bool stays(const struct cfg *g, uint32_t loop, uint32_t block)
{
	return cfg_in_loop(g, block, loop);
}

/* The block is the only one that leaves its loop, and is passed in every turn. */
static bool is_only_exit(const struct lanes_walk *w, uint32_t block, uint32_t loop)
{
	const struct cfg *g = w->g;
	const struct cfg_block *header = &g->blocks[g->loops[loop].header];

	if ((uint64_t)g->loops_n * g->blocks_n > TRIPS_WORK_MOST)
		return false;
	for (uint32_t b = 0; b < g->blocks_n; b++) {
		const struct cfg_block *x = &g->blocks[b];
		const enum cfg_flow flow = cfg_flow(&g->insns[x->end - 1]);

		if (b == block || !w->places[b].in || !stays(g, loop, b))
			continue;
		if (flow != CFG_NEXT && flow != CFG_BRANCH && flow != CFG_CALL)
			return false;
		for (uint32_t i = 0; i < x->successors_n; i++)
			if (!stays(g, loop, g->edges[x->successors + i]))
				return false;
	}
	for (uint32_t i = 0; i < header->predecessors_n; i++) {
		const uint32_t from = g->edges[header->predecessors + i];

		if (stays(g, loop, from) && !cfg_dominates(g, block, from))
			return false;
	}
	return true;
}

static enum sass_modifier opposite(enum sass_modifier relation)
{
	switch (relation) {
	case SASS_M_LT: return SASS_M_GE;
	case SASS_M_GE: return SASS_M_LT;
	case SASS_M_LE: return SASS_M_GT;
	case SASS_M_GT: return SASS_M_LE;
	case SASS_M_EQ: return SASS_M_NE;
	case SASS_M_NE: return SASS_M_EQ;
	default: return SASS_M_NONE;
	}
}

static enum sass_modifier turned_around(enum sass_modifier relation)
{
	switch (relation) {
	case SASS_M_LT: return SASS_M_GT;
	case SASS_M_GT: return SASS_M_LT;
	case SASS_M_LE: return SASS_M_GE;
	case SASS_M_GE: return SASS_M_LE;
	default: return relation;
	}
}

/* A counter and its bound among two values; `c->relation` is that of the first to the second. */
static bool read_condition(struct lanes_walk *w, const uint32_t value[2], uint32_t header,
			   struct condition *c)
{
	struct lanes_values *v = &w->run.v;

	for (unsigned k = 0; k < 2; k++) {
		const uint32_t form = lanes_sum(v, value[k]);
		const struct lanes_terms *t;
		uint32_t number;

		if (form == LANES_NONE || !lanes_is_number(v, value[!k], &number))
			continue;
		t = &v->terms.at[v->forms.at[form].terms];
		for (uint32_t i = 0; i < t->n; i++) {
			const struct lanes_symbol *s = &v->symbols.at[t->symbol[i]];

			if (s->kind != LANES_JOINED || s->owner != header || t->coefficient[i] != 1)
				continue;
			c->symbol = t->symbol[i];
			c->counter = form;
			c->bound = c->is_unsigned ? (int64_t)number : (int32_t)number;
			c->step = s->step;
			if (k)
				c->relation = turned_around(c->relation);
			return s->step_known == 1 && !s->is_reentered && s->step;
		}
	}
	return false;
}

/* Turns of a loop whose counter is `first` when it is compared first; 0 = not known. */
static uint64_t turns(const struct condition *c, int64_t first)
{
	const int64_t least = c->is_unsigned ? 0 : INT32_MIN,
		      most = c->is_unsigned ? UINT32_MAX : INT32_MAX;
	const int64_t up = c->step > 0 ? c->step : -c->step;
	/* so that the counter grows towards the bound */
	int64_t gap = c->step > 0 ? c->bound - first : first - c->bound, n, last;

	switch (c->relation) {
	case SASS_M_LT:
	case SASS_M_GT:
		if ((c->relation == SASS_M_LT) != (c->step > 0))
			return 0;
		n = gap > 0 ? (gap + up - 1) / up : 0;
		break;
	case SASS_M_LE:
	case SASS_M_GE:
		if ((c->relation == SASS_M_LE) != (c->step > 0))
			return 0;
		n = gap >= 0 ? gap / up + 1 : 0;
		break;
	case SASS_M_NE:
		if (gap < 0 || gap % up)
			return 0;
		n = gap / up;
		break;
	default: return 0;
	}
	last = first + c->step * n;
	return first < least || first > most || last < least || last > most ? 0 : (uint64_t)n + 1;
}

/* How many different numbers there are, in those of a set of lanes. */
static uint8_t count_different(const uint64_t *n, uint32_t lanes)
{
	uint8_t different = 0;

	for (unsigned i = 0; i < LANES; i++) {
		bool is_new = lanes >> i & 1;

		for (unsigned k = 0; k < i && is_new; k++)
			is_new = !(lanes >> k & 1) || n[k] != n[i];
		different += is_new;
	}
	return different;
}

void lanes_count_trips(struct lanes_walk *w, uint32_t block, const struct lanes_pred *p)
{
	const struct cfg *g = w->g;
	const struct cfg_block *b = &g->blocks[block];
	const uint32_t loop = b->loop, lanes = w->now.crew.lanes;
	struct lanes_values *v = &w->run.v;
	struct condition c = {.is_unsigned = p->is_unsigned};
	uint64_t fewest = 0, most = 0, of_lane[LANES] = {0};
	uint32_t first;
	bool stays_if_true, are_exact = true;

	if (loop == CFG_NONE || b->successors_n != 2 || p->compared[0] == LANES_NONE ||
	    g->is_irreducible || !g->is_complete)
		return;
	stays_if_true = stays(g, loop, g->edges[b->successors]);
	if (stays_if_true == stays(g, loop, g->edges[b->successors + 1]) ||
	    !is_only_exit(w, block, loop))
		return;
	c.relation = (enum sass_modifier)p->relation;
	if (stays_if_true == (bool)p->is_opposite)
		c.relation = opposite(c.relation);
	if (!read_condition(w, p->compared, g->loops[loop].header, &c))
		return;
	first = lanes_add(v, c.counter, lanes_term(v, c.symbol, UINT64_MAX));
	first = lanes_lower(v, lanes_add(v, first, v->symbols.at[c.symbol].parent));
	if (first == LANES_NONE)
		return;
	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;
		uint64_t n[2];

		if (!(lanes >> i & 1))
			continue;
		if (!lanes_range(v, first, true, i, &low, &high))
			return;
		n[0] = turns(&c, low);
		n[1] = turns(&c, high);
		if (!n[0] || !n[1] || (c.relation == SASS_M_NE && low != high))
			return;
		fewest = (n[0] < n[1] ? n[0] : n[1]) > fewest ? (n[0] < n[1] ? n[0] : n[1])
							      : fewest;
		most = (n[0] > n[1] ? n[0] : n[1]) > most ? (n[0] > n[1] ? n[0] : n[1]) : most;
		are_exact &= n[0] == n[1];
		of_lane[i] = n[0];
	}
	if (fewest == most) {
		w->out->trips[loop] = most;
		w->out->leavings[loop] = are_exact ? count_different(of_lane, lanes) : 0;
	} else {
		w->out->trips_differ = true;
	}
}

/* ------------------------------------------------------------------------------------- behind a loop */

static uint32_t last_form(struct lanes_walk *w, uint32_t form, uint32_t header,
			  uint64_t turns_before)
{
	struct lanes_values *v = &w->run.v;
	const struct lanes_terms t = v->terms.at[v->forms.at[form].terms];

	for (uint32_t i = 0; i < t.n && form != LANES_NONE; i++) {
		const struct lanes_symbol s = v->symbols.at[t.symbol[i]];
		uint32_t last;

		if (s.kind != LANES_JOINED || s.owner != header || s.step_known != 1 ||
		    s.is_reentered)
			continue;
		last = lanes_add(v, s.parent,
				 lanes_form(v, turns_before * (uint64_t)s.step, 0, 0, false));
		form = lanes_add(v, form, lanes_term(v, t.symbol[i], -t.coefficient[i]));
		form = lanes_add(v, form, lanes_scale(v, last, t.coefficient[i]));
	}
	return form;
}

void lanes_leave_loop(struct lanes_walk *w, struct lanes_state *s, uint32_t loop)
{
	const uint32_t header = w->g->loops[loop].header;
	const unsigned n = lanes_cells(&w->run);

	for (unsigned q = 0; q < n; q++) {
		uint32_t *c = lanes_cell(&w->run, s, q), form;

		/* of 64 bits the step is not known to be that of the lower half alone */
		if (lanes_half(*c) != LANES_LOW || !w->run.v.forms.at[lanes_of(*c)].terms)
			continue;
		form = last_form(w, lanes_of(*c), header, w->trips[loop] - 1);
		if (form != LANES_NONE)
			*c = lanes_low(&w->run.v, form);
	}
}
