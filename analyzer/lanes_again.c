/* lanes_again.c - see lanes_again.h. */
#include "lanes_again.h"

#include <string.h>

#include "arena.h"
#include "lanes_step.h"

#define ACCESSES_MOST 512u
#define LOADS_MOST    128u /* to be compared with each other */

/* A load or a store of global memory on the way through the code. */
struct passed {
	uint32_t insn, block, loop;
	uint32_t form,
		step; /* of its address in the first turn; what the second adds, form 0 = no loop */
	uint16_t bytes;
	bool is_store;
	uint64_t start, unit; /* of all that its loop loads at even distances: see stream_of() */
	bool is_stream;       /* `unit` is a number of bytes, else a form */
};

struct way {
	struct lanes_run run;
	const struct cfg *g;
	struct lanes_state now;
	struct passed *at;
	uint32_t n;
	uint8_t *reached; /* of each block: a mark */
};

static bool is_global(const struct sass_access *a)
{
	return !a->is_uniform && a->bytes &&
	       ((a->act == SASS_LOAD && a->from == SASS_GLOBAL) ||
		((a->act == SASS_STORE || a->act == SASS_ATOMIC || a->act == SASS_REDUCTION) &&
		 a->to == SASS_GLOBAL));
}

/* Around a block, those of lanes left out. */
static uint32_t loop_of(const struct cfg *g, uint32_t block)
{
	uint32_t loop = g->blocks[block].loop;

	while (loop != CFG_NONE && g->loops[loop].is_for_lanes)
		loop = g->loops[loop].parent;
	return loop;
}

/* Its words may have been changed by others at any time: it is loaded to see that. */
static bool is_watched(const struct sass_modifiers *m)
{
	return sass_has_modifier(m, SASS_M_STRONG);
}

static void pass_access(struct way *w, uint32_t i, bool is_second)
{
	const struct lanes_access *a = &w->run.c->accesses[w->run.c->insns[i].access - 1];
	uint32_t reasons = 0, form;

	if (!is_global(&a->access) || is_watched(&w->g->modifiers[i]))
		return;
	form = lanes_address(&w->run, &w->now, a, 0, true, &reasons);
	if (!is_second) {
		if (w->n < ACCESSES_MOST)
			w->at[w->n++] = (struct passed){
				.insn = i,
				.block = w->g->block_of[i],
				.loop = loop_of(w->g, w->g->block_of[i]),
				.form = form,
				.bytes = (uint16_t)a->access.bytes,
				.is_store = a->access.act != SASS_LOAD,
			};
		return;
	}
	for (uint32_t k = w->n; k-- > 0;) {
		struct passed *p = &w->at[k];

		if (p->insn != i)
			continue;
		p->step = p->form == LANES_NONE || form == LANES_NONE
				  ? LANES_NONE
				  : lanes_add(&w->run.v, form,
					      lanes_scale(&w->run.v, p->form, UINT64_MAX));
		break;
	}
}

/* Who waits for whom, which does not matter where all go the whole way. */
static bool is_meeting(const struct lanes_insn *x)
{
	return x->op == LANES_OP_BSSY || x->op == LANES_OP_BSYNC || x->op == LANES_OP_BREAK ||
	       x->op == LANES_OP_WARPSYNC;
}

static void pass_block(struct way *w, uint32_t block, bool is_second)
{
	const struct cfg_block *b = &w->g->blocks[block];

	w->now.crew = (struct lanes_crew){.lanes = w->run.lanes};
	for (uint32_t i = b->first; i < b->end; i++) {
		if (w->run.c->insns[i].access)
			pass_access(w, i, is_second);
		if (!is_meeting(&w->run.c->insns[i]) &&
		    (i + 1 < b->end || cfg_flow(&w->g->insns[i]) == CFG_NEXT ||
		     w->run.c->insns[i].op == LANES_OP_CALL))
			lanes_step(&w->run, &w->now, i);
	}
}

static bool is_passed(const struct way *w, uint32_t block)
{
	return w->g->blocks[block].is_reachable && !cfg_is_called(w->g, block);
}

static void pass_loop(struct way *w, uint32_t loop, bool is_second)
{
	for (uint32_t b = 0; b < w->g->blocks_n; b++)
		if (is_passed(w, b) && cfg_in_loop(w->g, b, loop)) {
			w->reached[b] = 1;
			pass_block(w, b, is_second);
		}
}

static void pass_all(struct way *w)
{
	for (uint32_t b = 0; b < w->g->blocks_n; b++) {
		const uint32_t loop = loop_of(w->g, b);

		if (!is_passed(w, b) || w->reached[b])
			continue;
		if (loop == CFG_NONE || !w->g->loops[loop].is_innermost) {
			pass_block(w, b, false);
			continue;
		}
		pass_loop(w, loop, false);
		pass_loop(w, loop, true);
	}
}

/* ------------------------------------------------------------------------------------- streams */

static const struct lanes_form *form_of(const struct way *w, uint32_t form)
{
	return &w->run.v.forms.at[form];
}

static bool are_alike(const struct way *w, const struct passed *a, const struct passed *b)
{
	return a->bytes == b->bytes && form_of(w, a->form)->terms == form_of(w, b->form)->terms &&
	       form_of(w, a->form)->pattern == form_of(w, b->form)->pattern;
}

/*
 * A loop that the compiler unrolled loads at several even distances in a turn and goes on by all of them: the same data
 * as the loop that it was, begun at the lowest.
 */
static void stream_of(const struct way *w, struct passed *p)
{
	const struct lanes_form *step = form_of(w, p->step);
	int64_t lowest = 0, turn = (int64_t)step->base;
	uint64_t n = 0;
	bool is_even;

	p->start = form_of(w, p->form)->base;
	p->unit = p->step;
	if (p->loop == CFG_NONE || step->terms || step->pattern || turn == 0)
		return;
	p->is_stream = true;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct passed *q = &w->at[i];
		int64_t d;

		if (q->is_store || q->loop != p->loop || q->step != p->step || !are_alike(w, p, q))
			continue;
		d = (int64_t)(form_of(w, q->form)->base - form_of(w, p->form)->base);
		lowest = d < lowest ? d : lowest;
		n++;
	}
	is_even = n && (uint64_t)turn % n == 0;
	p->unit = is_even ? (uint64_t)turn / n : (uint64_t)turn;
	for (uint32_t i = 0; i < w->n && is_even; i++) {
		const struct passed *q = &w->at[i];

		if (q->is_store || q->loop != p->loop || q->step != p->step || !are_alike(w, p, q))
			continue;
		is_even = ((int64_t)(form_of(w, q->form)->base - form_of(w, p->form)->base) -
			   lowest) %
				  (int64_t)p->unit ==
			  0;
	}
	if (is_even)
		p->start += (uint64_t)lowest;
	else
		p->unit = (uint64_t)turn;
}

/* One word for all lanes, in every turn: an argument in memory, no row. */
static bool is_word(const struct way *w, const struct passed *p)
{
	return !form_of(w, p->form)->pattern && !p->step;
}

/* ------------------------------------------------------------------------------------- again */

/* Whether a warp that was in block `from` may come to block `to` without going back. */
static bool leads_to(struct way *w, uint32_t from, uint32_t to)
{
	memset(w->reached, 0, w->g->blocks_n);
	w->reached[from] = 1;
	for (uint32_t b = from; b <= to && b < w->g->blocks_n; b++) {
		const struct cfg_block *x = &w->g->blocks[b];

		for (uint32_t i = 0; w->reached[b] && i < x->successors_n; i++)
			w->reached[w->g->edges[x->successors + i]] |=
				w->g->edges[x->successors + i] > b;
	}
	return w->reached[to];
}

static uint64_t pointer_of(const struct way *w, uint32_t form)
{
	const struct lanes_values *v = &w->run.v;
	const struct lanes_terms *t = &v->terms.at[v->forms.at[form].terms];

	for (uint32_t i = 0; i < t->n; i++)
		if (v->symbols.at[t->symbol[i]].is_pointer)
			return 1 + t->symbol[i];
	return 0;
}

/* Something between the two may have written there: it is loaded to see that. */
static bool may_have_changed(const struct way *w, const struct passed *a, const struct passed *b)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct passed *s = &w->at[i];

		if (!s->is_store || s->insn < a->insn || s->insn > b->insn)
			continue;
		if (s->form == LANES_NONE || s->form == a->form || s->form == b->form ||
		    (pointer_of(w, a->form) && pointer_of(w, s->form) == pointer_of(w, a->form)))
			return true;
	}
	return false;
}

static bool is_again(struct way *w, const struct passed *a, const struct passed *b)
{
	return (a->loop != b->loop || a->loop == CFG_NONE) && a->start == b->start &&
	       a->unit == b->unit && a->is_stream == b->is_stream && are_alike(w, a, b) &&
	       (a->block == b->block || leads_to(w, a->block, b->block)) &&
	       !may_have_changed(w, a, b);
}

static uint32_t compare(struct way *w, struct lanes_again *out)
{
	uint32_t n = 0, loads = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		struct passed *p = &w->at[i];

		if (p->is_store)
			continue;
		if (p->form == LANES_NONE || p->step == LANES_NONE || is_word(w, p) ||
		    ++loads > LOADS_MOST) {
			p->form = LANES_NONE;
			continue;
		}
		stream_of(w, p);
		for (uint32_t k = 0; k < i; k++)
			if (!w->at[k].is_store && w->at[k].form != LANES_NONE &&
			    is_again(w, &w->at[k], p)) {
				out[n++] = (struct lanes_again){p->insn, w->at[k].insn};
				break;
			}
	}
	return n;
}

static bool has_two_loads(const struct lanes_code *c)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->accesses_n; i++)
		n += is_global(&c->accesses[i].access) && c->accesses[i].access.act == SASS_LOAD;
	return n > 1;
}

/* A block and a warp of it whose numbers differ from each other and from 0, as far as there are such. */
static struct lanes_warp some_warp(const struct lanes_launch *l)
{
	struct lanes_warp w = {.warp = lanes_warps(l) / 2};

	for (unsigned i = 0; i < 3; i++)
		w.block[i] = (uint32_t)((uint64_t)l->grid[i] * (i + 1) / (i + 3));
	return w;
}

static bool prepare(struct way *w, const struct lanes_code *c, const struct lanes_launch *l,
		    struct arena *scratch)
{
	w->g = c->g;
	w->run.c = c;
	w->run.launch = l;
	w->run.registers = lanes_registers(c->g);
	w->run.has_made = arena_array(scratch, c->g->insns_n, 1);
	w->at = arena_array(scratch, ACCESSES_MOST, sizeof(*w->at));
	w->reached = arena_array(scratch, c->g->blocks_n, 1);
	return w->run.has_made && w->at && w->reached && lanes_values_init(&w->run.v, scratch);
}

int lanes_again(const struct lanes_code *c, const struct lanes_launch *l, struct arena *arena,
		struct lanes_again **out, uint32_t *n, struct err *e)
{
	struct arena *scratch;
	struct way *w;
	bool is_good;

	*out = NULL;
	*n = 0;
	if (!has_two_loads(c) || !l->block[0] || !l->block[1] || !l->block[2])
		return 0;
	scratch = arena_new();
	w = scratch ? arena_alloc(scratch, sizeof(*w)) : NULL;
	*out = arena_array(arena, ACCESSES_MOST, sizeof(**out));
	is_good = w && *out && prepare(w, c, l, scratch);
	if (is_good) {
		w->run.warp = lanes_can_be_any(l) ? (struct lanes_warp){.is_any = true}
						  : some_warp(l);
		lanes_start(&w->run, &w->now);
		pass_all(w);
		if (!w->run.v.is_full)
			*n = compare(w, *out);
	}
	if (w)
		lanes_values_free(&w->run.v);
	arena_free(scratch);
	return is_good ? 0 : err_set(e, ERR_MEMORY, -1, "no memory for the passes of a kernel");
}
