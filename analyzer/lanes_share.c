/*
 * lanes_share.c - sectors that several accesses of a warp use together. An access may touch sectors of which it needs
 * a part, and its neighbours in the same stretch of code, or the same one in the next turns of a loop, use the rest:
 * the L1 then fetches them once for all. Input: the sites of lanes_site.c with the forms of their addresses. Output:
 * of each site's sectors those that nobody uses. That a sector stays in the L1 so long is left to others to weigh.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "lanes_walk.h"

#define ENTRIES_MOST 16384u /* sectors of one group in all turns that are looked at */
#define TURNS_MOST   32u    /* until a sector is passed, in steps of a byte */

/* ------------------------------------------------------------------------------------- turns of a loop */

/* The loop whose turns a way back to its header begins; CFG_NONE = it is no way back. */
static uint32_t turned(const struct cfg *g, uint32_t block, uint32_t to)
{
	const uint32_t loop = g->blocks[to].loop;

	return loop != CFG_NONE && g->loops[loop].header == to && cfg_in_loop(g, block, loop)
		       ? loop
		       : CFG_NONE;
}

/* What a symbol grows by in one turn, by the register that it stands for; false = that is no number. */
static bool grows_by(struct lanes_walk *w, uint32_t symbol, uint64_t *step)
{
	struct lanes_values *v = &w->run.v;
	const uint64_t key = v->symbols.at[symbol].key;
	const uint32_t value = *lanes_cell(&w->run, &w->now, (uint32_t)key);
	const bool is_upper = key >> 32;
	uint32_t d;

	if (lanes_half(value) != (is_upper ? LANES_HIGH : LANES_LOW))
		return false;
	d = lanes_add(v, lanes_of(value), lanes_term(v, symbol, UINT64_MAX));
	if (d == LANES_NONE || v->forms.at[d].terms)
		return false;
	*step = v->forms.at[d].base;
	if (!is_upper)
		*step = (uint64_t)(int64_t)(int32_t)*step;
	return true;
}

void lanes_note_turn(struct lanes_walk *w, uint32_t block, uint32_t to)
{
	const uint32_t loop = turned(w->g, block, to);

	if (loop == CFG_NONE || w->g->loops[loop].is_for_lanes)
		return;
	for (uint32_t i = 0; i < w->growths_n; i++) {
		const struct lanes_symbol *s = &w->run.v.symbols.at[i];
		struct lanes_growth *x = &w->growths[i];
		uint64_t step = 0;

		if (s->kind != LANES_JOINED || s->owner != to)
			continue;
		if (!grows_by(w, i, &step) || (x->is_known && x->step != step))
			x->is_open = true;
		x->is_known = true;
		x->step = step;
	}
}

/* What a form grows by in a turn of a loop; false = not known. */
static bool step_of(const struct lanes_walk *w, uint32_t form, uint32_t loop, unsigned depth,
		    uint64_t *step)
{
	const struct lanes_values *v = &w->run.v;
	const struct lanes_terms *t = &v->terms.at[v->forms.at[form].terms];

	*step = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct lanes_symbol *s = &v->symbols.at[t->symbol[i]];
		uint64_t inner = 0;

		if (s->kind == LANES_SIGNED || s->kind == LANES_UNSIGNED) {
			if (!depth || !step_of(w, s->parent, loop, depth - 1, &inner))
				return false;
			inner = (uint64_t)(int64_t)(int32_t)inner;
		} else if (s->kind == LANES_JOINED && s->owner == w->g->loops[loop].header) {
			const uint32_t at = t->symbol[i];

			if (at >= w->growths_n || !w->growths[at].is_known ||
			    w->growths[at].is_open)
				return false;
			inner = w->growths[at].step;
		} else if (s->kind == LANES_JOINED || s->kind == LANES_MADE) {
			const uint32_t block = s->kind == LANES_JOINED ? s->owner
								       : w->g->block_of[s->owner];

			if (cfg_in_loop(w->g, block, loop))
				return false;
		} else if (s->kind == LANES_UPPER) {
			return false;
		}
		*step += t->coefficient[i] * inner;
	}
	return true;
}

/* ------------------------------------------------------------------------------------- stretches of code */

/* The first block of those that a warp executes one after the other, in one loop, with no way in or out between. */
static uint32_t stretch_of(const struct cfg *g, uint32_t block)
{
	for (unsigned i = 0; i < 64; i++) {
		const struct cfg_block *b = &g->blocks[block];
		uint32_t before;

		if (b->predecessors_n != 1 || b->is_entry)
			return block;
		before = g->edges[b->predecessors];
		if (g->blocks[before].successors_n != 1 || g->blocks[before].loop != b->loop ||
		    before >= block)
			return block;
		block = before;
	}
	return block;
}

/* ------------------------------------------------------------------------------------- sectors */

/* A sector, the bytes of it that are used, and by how many requests. */
struct sector {
	int64_t at;
	uint32_t bytes, requests; /* 0 requests = room for one */
};

/* Sites whose addresses differ by numbers. */
struct group {
	struct lanes_site **at;
	unsigned n;
	const struct lanes_form *first;
	int64_t start; /* where the first one's shared part may begin in a sector */
	struct sector *table;
	uint32_t size; /* a power of two */
};

static struct sector *find(const struct group *g, int64_t at)
{
	uint32_t i = (uint32_t)((uint64_t)at * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (g->size - 1);

	while (g->table[i].requests && g->table[i].at != at)
		i = (i + 1) & (g->size - 1);
	return &g->table[i];
}

/* The sectors of one request `by` bytes away, each once. Returns how many; `out` has room for two a lane. */
static unsigned sectors_of(const struct lanes_values *v, const struct group *g,
			   const struct lanes_site *s, int64_t by, struct sector *out)
{
	const struct lanes_form *f = &v->forms.at[s->form];
	const int64_t *at = v->patterns.at[f->pattern].at;
	const uint64_t start = (uint64_t)g->start + f->base - g->first->base + (uint64_t)by;
	unsigned n = 0;

	for (unsigned lane = 0; lane < LANES; lane++) {
		int64_t a = (int64_t)(start + (uint64_t)at[lane]);
		unsigned left = s->bytes;

		while (s->lanes >> lane & 1 && left) {
			const unsigned offset = (unsigned)(a & (LANES_SECTOR - 1));
			const unsigned here = left < LANES_SECTOR - offset ? left
									   : LANES_SECTOR - offset;
			const uint32_t mask = (uint32_t)(((UINT64_C(1) << here) - 1) << offset);
			const int64_t sector = a >> 5;
			unsigned k = n;

			/* a neighbour's most often */
			while (k && out[k - 1].at != sector)
				k--;
			if (!k) {
				out[n] = (struct sector){.at = sector};
				k = ++n;
			}
			out[k - 1].bytes |= mask;
			a = (int64_t)((uint64_t)a + here);
			left -= here;
		}
	}
	return n;
}

static void put(const struct lanes_values *v, const struct group *g, const struct lanes_site *s,
		int64_t by)
{
	struct sector some[2 * LANES];
	const unsigned n = sectors_of(v, g, s, by, some);

	for (unsigned i = 0; i < n; i++) {
		struct sector *x = find(g, some[i].at);

		x->at = some[i].at;
		x->bytes |= some[i].bytes;
		x->requests++;
	}
}

/* Of the sectors that a request touches what nobody uses, each for one of those who touch it. */
static double not_used(const struct lanes_values *v, const struct group *g,
		       const struct lanes_site *s)
{
	struct sector some[2 * LANES];
	const unsigned n = sectors_of(v, g, s, 0, some);
	const double excess = s->value > s->ideal ? s->value - s->ideal : 0;
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct sector *x = find(g, some[i].at);
		const int unused = (int)LANES_SECTOR - __builtin_popcount(x->bytes);

		sum += (double)unused / LANES_SECTOR / x->requests;
	}
	return sum < excess ? sum : excess;
}

/* Fills the table with the requests of all turns from `before` ones earlier to as many later. */
static bool fill(struct lanes_walk *w, struct group *g, unsigned turns, int64_t step)
{
	const uint64_t most = 2u * LANES * (uint64_t)g->n * (2u * turns + 1);
	uint32_t size = 64;

	while (size < 2 * most)
		size *= 2;
	if (most > ENTRIES_MOST)
		return false;
	if (!w->sectors)
		w->sectors = arena_array(w->arena, 4 * ENTRIES_MOST, sizeof(*w->sectors));
	if (!w->sectors)
		return false;
	g->table = w->sectors;
	g->size = size;
	memset(g->table, 0, size * sizeof(*g->table));
	for (unsigned i = 0; i < g->n; i++)
		for (int64_t t = -(int64_t)turns; t <= (int64_t)turns; t++)
			put(&w->run.v, g, g->at[i], t * step);
	return true;
}

/* ------------------------------------------------------------------------------------- groups */

static bool is_sure(const struct lanes_site *s)
{
	return !s->absent && !s->is_maybe;
}

/* Turns after which a sector is passed; 0 = it is not known, or each turn has others. */
static unsigned turns_of(const struct lanes_walk *w, const struct lanes_site *s, int64_t *step)
{
	const uint32_t block = w->g->block_of[s->insn], loop = w->g->blocks[block].loop;
	uint64_t by;

	if (loop == CFG_NONE || w->g->loops[loop].is_for_lanes ||
	    !cfg_in_every_turn(w->g, block, loop) || !step_of(w, s->form, loop, 2, &by))
		return 0;
	*step = (int64_t)by;
	if (!by || *step >= (int64_t)LANES_SECTOR || *step <= -(int64_t)LANES_SECTOR)
		return 0;
	return (unsigned)((LANES_SECTOR + (unsigned)llabs(*step) - 1) / (unsigned)llabs(*step)) - 1;
}

static void share(struct lanes_walk *w, struct group *g)
{
	struct lanes_values *v = &w->run.v;
	int64_t step = 0;
	const unsigned turns = turns_of(w, g->at[0], &step);
	uint64_t start;
	bool is_sure_all = true;
	const uint64_t known = lanes_alignment(v, g->at[0]->form, LANES_SECTOR, false, &start);

	lanes_alignment(v, g->at[0]->form, LANES_SECTOR, true, &start);
	g->start = (int64_t)start;
	for (unsigned i = 0; i < g->n; i++)
		is_sure_all &= is_sure(g->at[i]);
	if (g->n > 1 && fill(w, g, 0, 0))
		for (unsigned i = 0; i < g->n; i++) {
			g->at[i]->own = (float)not_used(v, g, g->at[i]);
			g->at[i]->is_own_open = !is_sure_all;
		}
	for (unsigned i = 0; i < g->n; i++) {
		g->at[i]->own_later = g->at[i]->own;
		g->at[i]->is_own_assumed = known < LANES_SECTOR;
		/* the turns come by every start that there may be */
		g->at[i]->is_later_assumed = known < LANES_SECTOR &&
					     (!turns || LANES_SECTOR % (uint64_t)llabs(step) ||
					      known < (uint64_t)llabs(step));
	}
	if (turns && turns < TURNS_MOST && fill(w, g, turns, step))
		for (unsigned i = 0; i < g->n; i++) {
			g->at[i]->own_later = (float)not_used(v, g, g->at[i]);
			g->at[i]->turns = (uint8_t)(turns + 1);
			g->at[i]->is_own_open = !is_sure_all;
		}
}

static bool is_of_global(const struct lanes_site *s)
{
	return (s->kind == LANES_LOAD || s->kind == LANES_STORE) && s->is_known;
}

/* Sites with equal keys are of one kind, in one stretch, from one unknown start. */
struct keyed {
	uint32_t terms, stretch, kind;
	struct lanes_site *site;
};

static int by_key(const void *va, const void *vb)
{
	const struct keyed *a = va, *b = vb;

	if (a->terms != b->terms)
		return a->terms < b->terms ? -1 : 1;
	if (a->stretch != b->stretch)
		return a->stretch < b->stretch ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static bool is_same(const struct keyed *a, const struct keyed *b)
{
	return a->terms == b->terms && a->stretch == b->stretch && a->kind == b->kind;
}

void lanes_share(struct lanes_walk *w)
{
	struct lanes_result *r = w->out;
	struct keyed *keyed = arena_array(w->arena, r->sites_n + 1, sizeof(*keyed));
	struct lanes_site **at = arena_array(w->arena, r->sites_n + 1, sizeof(struct lanes_site *));
	uint32_t n = 0;

	if (!keyed || !at) {
		w->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < r->sites_n; i++) {
		struct lanes_site *s = &r->sites[i];

		if (!is_of_global(s))
			continue;
		s->own = s->own_later = s->value > s->ideal ? (float)(s->value - s->ideal) : 0;
		s->turns = 1;
		keyed[n++] = (struct keyed){w->run.v.forms.at[s->form].terms,
					    stretch_of(w->g, w->g->block_of[s->insn]), s->kind, s};
	}
	qsort(keyed, n, sizeof(*keyed), by_key);
	for (uint32_t i = 0, end; i < n; i = end) {
		struct group g = {.at = at, .first = &w->run.v.forms.at[keyed[i].site->form]};
		bool has_excess = false;

		for (end = i; end < n && is_same(&keyed[i], &keyed[end]); end++) {
			at[g.n++] = keyed[end].site;
			has_excess |= keyed[end].site->own > 0;
		}
		if (has_excess)
			share(w, &g);
	}
}
