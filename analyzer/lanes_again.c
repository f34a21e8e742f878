/* lanes_again.c - see lanes_again.h. */
#include "lanes_again.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "lanes_step.h"

#define ACCESSES_MOST 512u
#define LOADS_MOST    128u /* to be compared with each other */

/* A load or a store of the memory that is looked at, on the way through the code. */
struct passed {
	uint32_t insn, block, loop;
	uint32_t form,
		step; /* of its address in the first turn; what the second adds, form 0 = no loop */
	uint16_t bytes;
	bool is_store;
	uint32_t outer; /* the loop around its own in whose next turn the first address is the same; or CFG_NONE */
	uint64_t start, unit; /* of all that its loop loads at even distances: see stream_of() */
	bool is_stream;       /* `unit` is a number of bytes, else a form */
};

struct way {
	struct lanes_run run;
	const struct cfg *g;
	enum lanes_again_of of;
	struct lanes_state now;
	struct passed *at;
	uint32_t n;
	uint32_t around;  /* the loop whose second turn it is */
	uint32_t *last;   /* of each loop: its last block in the order of the code */
	uint8_t *reached; /* of each block: a mark */
};

static bool is_global(const struct sass_access *a)
{
	return !a->is_uniform && a->bytes &&
	       ((a->act == SASS_LOAD && a->from == SASS_GLOBAL) ||
		((a->act == SASS_STORE || a->act == SASS_ATOMIC || a->act == SASS_REDUCTION) &&
		 a->to == SASS_GLOBAL));
}

static bool is_looked_at(const struct sass_access *a, enum lanes_again_of of)
{
	if (of == LANES_OF_GLOBAL)
		return is_global(a);
	return !a->is_uniform && a->bytes && a->act == SASS_LOAD && a->from == SASS_SHARED;
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

/* Which time a loop is gone through; AROUND: the second time of one that holds others, its number in `around`. */
enum turn { FIRST, SECOND, AROUND };

struct inside {
	const struct cfg *g;
	uint32_t loop;
};

/* Made anew in each turn of a loop, under the same name. */
static bool is_made_inside(const struct lanes_symbol *s, const void *ctx)
{
	const struct inside *x = ctx;

	return s->kind == LANES_MADE && s->owner < x->g->insns_n &&
	       cfg_in_loop(x->g, x->g->block_of[s->owner], x->loop);
}

/* Whether its first address is the same in the second turn of the loop around. */
static void compare_turns(struct way *w, struct passed *p, uint32_t form)
{
	const struct inside x = {w->g, w->around};

	if (p->outer == CFG_NONE && form == p->form && form != LANES_NONE && p->loop != w->around &&
	    !lanes_any(&w->run.v, form, is_made_inside, &x))
		p->outer = w->around;
}

static void pass_access(struct way *w, uint32_t i, enum turn turn)
{
	const struct lanes_access *a = &w->run.c->accesses[w->run.c->insns[i].access - 1];
	uint32_t reasons = 0, form;

	if (!is_looked_at(&a->access, w->of) || is_watched(&w->g->modifiers[i]))
		return;
	form = lanes_address(&w->run, &w->now, a, 0, true, &reasons);
	if (turn == FIRST) {
		if (w->n < ACCESSES_MOST)
			w->at[w->n++] = (struct passed){
				.insn = i,
				.block = w->g->block_of[i],
				.loop = loop_of(w->g, w->g->block_of[i]),
				.form = form,
				.bytes = (uint16_t)a->access.bytes,
				.is_store = a->access.act != SASS_LOAD,
				.outer = CFG_NONE,
			};
		return;
	}
	for (uint32_t k = w->n; k-- > 0;) {
		struct passed *p = &w->at[k];

		if (p->insn != i)
			continue;
		if (turn == AROUND) {
			compare_turns(w, p, form);
			break;
		}
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

static void pass_block(struct way *w, uint32_t block, enum turn turn)
{
	const struct cfg_block *b = &w->g->blocks[block];

	w->now.crew = (struct lanes_crew){.lanes = w->run.lanes};
	for (uint32_t i = b->first; i < b->end; i++) {
		if (w->run.c->insns[i].access)
			pass_access(w, i, turn);
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

static void pass_loop(struct way *w, uint32_t loop, enum turn turn)
{
	for (uint32_t b = 0; b < w->g->blocks_n; b++)
		if (is_passed(w, b) && cfg_in_loop(w->g, b, loop)) {
			w->reached[b] = 1;
			pass_block(w, b, turn);
		}
}

static void find_last(struct way *w)
{
	for (uint32_t b = 0; b < w->g->blocks_n; b++)
		for (uint32_t l = w->g->blocks[b].loop; is_passed(w, b) && l != CFG_NONE;
		     l = w->g->loops[l].parent)
			w->last[l] = b;
}

/* Loops that hold others and end with a block, the inner first: their second turn. */
static void pass_around(struct way *w, uint32_t block)
{
	for (uint32_t l = w->g->blocks[block].loop; l != CFG_NONE; l = w->g->loops[l].parent) {
		if (w->g->loops[l].is_innermost || w->g->loops[l].is_for_lanes ||
		    w->last[l] != block)
			continue;
		w->around = l;
		pass_loop(w, l, AROUND);
	}
}

static void pass_all(struct way *w)
{
	find_last(w);
	for (uint32_t b = 0; b < w->g->blocks_n; b++) {
		const uint32_t loop = loop_of(w->g, b);

		if (!is_passed(w, b) || w->reached[b])
			continue;
		if (loop == CFG_NONE || !w->g->loops[loop].is_innermost) {
			pass_block(w, b, FIRST);
			pass_around(w, b);
			continue;
		}
		pass_loop(w, loop, FIRST);
		pass_loop(w, loop, SECOND);
		pass_around(w, w->last[loop]);
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

/* One word for all lanes is an argument in memory; what stands still while a loop turns is tried again. */
static bool is_still(const struct way *w, const struct passed *p)
{
	const bool turns = p->loop != CFG_NONE && w->g->loops[p->loop].is_innermost;

	return !p->step && (turns || !form_of(w, p->form)->pattern);
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

/* In no loop the compiler keeps what it may: only a barrier makes it load again; else these are different ways. */
static bool are_passes(const struct way *w, const struct passed *a, const struct passed *b)
{
	if (a->loop != b->loop)
		return true;
	for (uint32_t i = a->insn; a->loop == CFG_NONE && i < b->insn; i++)
		if (!strcmp(sass_op(&w->g->insns[i]), "BAR"))
			return true;
	return false;
}

static bool is_again(struct way *w, const struct passed *a, const struct passed *b)
{
	return are_passes(w, a, b) && a->start == b->start && a->unit == b->unit &&
	       a->is_stream == b->is_stream && are_alike(w, a, b) &&
	       (a->block == b->block || leads_to(w, a->block, b->block)) &&
	       !may_have_changed(w, a, b);
}

/*
 * In each turn of a loop around: all lanes of different words, as one word for all is cheap to ask for, and nothing in that loop
 * stores there.
 */
static bool is_each_turn(const struct way *w, const struct passed *p)
{
	struct passed from = *p, to = *p;

	if (p->outer == CFG_NONE || !form_of(w, p->form)->pattern)
		return false;
	from.insn = w->g->loops[p->outer].first;
	to.insn = w->g->loops[p->outer].last;
	/* whose memory it is is not known: any store may go there */
	for (uint32_t i = 0; !pointer_of(w, p->form) && i < w->n; i++)
		if (w->at[i].is_store && w->at[i].insn >= from.insn && w->at[i].insn <= to.insn)
			return false;
	return !may_have_changed(w, &from, &to);
}

static uint32_t compare(struct way *w, struct lanes_again *out)
{
	uint32_t n = 0, loads = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		struct passed *p = &w->at[i];

		if (p->is_store)
			continue;
		if (p->form == LANES_NONE || p->step == LANES_NONE || is_still(w, p) ||
		    ++loads > LOADS_MOST) {
			p->form = LANES_NONE;
			continue;
		}
		if (is_each_turn(w, p)) {
			out[n++] = (struct lanes_again){p->insn, p->insn, p->outer};
			continue;
		}
		stream_of(w, p);
		for (uint32_t k = 0; k < i; k++)
			if (!w->at[k].is_store && w->at[k].form != LANES_NONE &&
			    is_again(w, &w->at[k], p)) {
				out[n++] = (struct lanes_again){p->insn, w->at[k].insn, CFG_NONE};
				break;
			}
	}
	return n;
}

static unsigned loads_of(const struct lanes_code *c, enum lanes_again_of of)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->accesses_n; i++)
		n += is_looked_at(&c->accesses[i].access, of) &&
		     c->accesses[i].access.act == SASS_LOAD;
	return n;
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
	w->last = arena_array(scratch, c->g->loops_n + 1, sizeof(*w->last));
	w->reached = arena_array(scratch, c->g->blocks_n, 1);
	return w->run.has_made && w->at && w->last && w->reached &&
	       lanes_values_init(&w->run.v, scratch);
}

/* Goes through the code once; NULL when memory has run out. */
static struct way *go(const struct lanes_code *c, const struct lanes_launch *l,
		      const struct lanes_warp *warp, enum lanes_again_of of, struct arena *scratch)
{
	struct way *w = scratch ? arena_alloc(scratch, sizeof(*w)) : NULL;

	if (!w || !prepare(w, c, l, scratch))
		return NULL;
	w->run.warp = *warp;
	w->of = of;
	lanes_start(&w->run, &w->now);
	pass_all(w);
	if (w->run.v.is_full)
		w->n = 0;
	return w;
}

static void leave(struct way *w, struct arena *scratch)
{
	if (w)
		lanes_values_free(&w->run.v);
	arena_free(scratch);
}

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "no memory for the passes of a kernel");
}

static bool has_threads(const struct lanes_launch *l)
{
	return l->block[0] && l->block[1] && l->block[2];
}

int lanes_again(const struct lanes_code *c, const struct lanes_launch *l, struct arena *arena,
		struct lanes_again **out, uint32_t *n, struct err *e)
{
	const struct lanes_warp any = {.is_any = true}, some = some_warp(l);
	struct arena *scratch;
	struct way *w;
	bool is_good;

	*out = NULL;
	*n = 0;
	if (loads_of(c, LANES_OF_GLOBAL) < 2 || !has_threads(l))
		return 0;
	scratch = arena_new();
	w = go(c, l, lanes_can_be_any(l) ? &any : &some, LANES_OF_GLOBAL, scratch);
	*out = arena_array(arena, ACCESSES_MOST, sizeof(**out));
	is_good = w && *out;
	if (is_good)
		*n = compare(w, *out);
	leave(w, scratch);
	return is_good ? 0 : no_memory(e);
}

/* ------------------------------------------------------------------------------------- neighbours */

#define WORDS_MOST 8192u /* that are asked for */
#define TURNS_SEEN 8u    /* of a loop */
#define LOADS_FEW  3u    /* in no loop: fewer have no neighbours to speak of */

struct word {
	uint32_t terms; /* what is not known of the address */
	int64_t at;
};

struct words {
	struct word *at;
	uint32_t n, asked;
};

static int by_word(const void *va, const void *vb)
{
	const struct word *a = va, *b = vb;

	if (a->terms != b->terms)
		return a->terms < b->terms ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Each word once. */
static uint32_t unite(struct word *at, uint32_t n)
{
	uint32_t out = 0;

	qsort(at, n, sizeof(*at), by_word);
	for (uint32_t i = 0; i < n; i++)
		if (!i || by_word(&at[i], &at[out - 1]))
			at[out++] = at[i];
	return out;
}

/* One request, `by` bytes behind the first turn's. False = there is no room for it. */
static bool ask(const struct way *w, struct words *x, const struct passed *p, uint64_t by)
{
	const struct lanes_form *f = form_of(w, p->form);
	const int64_t *lane = w->run.v.patterns.at[f->pattern].at;
	const uint32_t before = x->n, words = (p->bytes + 3u) / 4u;

	if (x->n + LANES * words > WORDS_MOST)
		return false;
	for (unsigned i = 0; i < LANES; i++)
		for (uint32_t k = 0; w->run.lanes >> i & 1 && k < words; k++)
			x->at[x->n++] = (struct word){
				f->terms, (int64_t)((f->base + (uint64_t)lane[i] + by) >> 2) + k};
	x->n = before + unite(x->at + before, x->n - before);
	x->asked += x->n - before;
	return true;
}

/* Another load asks for just that: one way or the other through the code, or a copy of it that the compiler made. */
static bool is_twin(const struct way *w, const struct passed *p)
{
	for (const struct passed *q = w->at; q < p; q++)
		if (!q->is_store && q->loop == p->loop && q->form == p->form && q->step == p->step)
			return true;
	return false;
}

/* All loads of one loop, in some turns of it where it goes on by a number. */
static void ask_all(const struct way *w, uint32_t loop, struct word *room,
		    struct lanes_overlap *out)
{
	struct words x = {.at = room};

	*out = (struct lanes_overlap){.loop = loop};
	for (uint32_t i = 0; i < w->n; i++) {
		const struct passed *p = &w->at[i];
		const struct lanes_form *step;
		unsigned turns;

		if (p->is_store || p->loop != loop || p->form == LANES_NONE ||
		    p->step == LANES_NONE || is_still(w, p) || is_twin(w, p))
			continue;
		step = form_of(w, p->step);
		turns = p->step && !step->terms && !step->pattern ? TURNS_SEEN : 1;
		for (unsigned t = 0; t < turns; t++)
			if (!ask(w, &x, p, t * step->base))
				break;
		out->first = out->loads++ ? out->first : p->insn;
	}
	if (loop == CFG_NONE && out->loads < LOADS_FEW)
		*out = (struct lanes_overlap){.loop = loop};
	else
		out->asked = x.asked;
	out->different = out->asked ? unite(x.at, x.n) : 0;
}

/* Both at the same distance from the same arguments. */
static bool are_same(const struct way *a, uint32_t form_a, const struct way *b, uint32_t form_b)
{
	const struct lanes_form *x = form_of(a, form_a), *y = form_of(b, form_b);
	const struct lanes_terms *s = &a->run.v.terms.at[x->terms];
	const struct lanes_terms *t = &b->run.v.terms.at[y->terms];

	if (x->base != y->base || s->n != t->n ||
	    memcmp(a->run.v.patterns.at[x->pattern].at, b->run.v.patterns.at[y->pattern].at,
		   sizeof(a->run.v.patterns.at[x->pattern].at)) != 0)
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct lanes_symbol *p = &a->run.v.symbols.at[s->symbol[i]];
		const struct lanes_symbol *q = &b->run.v.symbols.at[t->symbol[i]];

		if (p->kind != LANES_CONSTANT || q->kind != LANES_CONSTANT || p->key != q->key ||
		    s->coefficient[i] != t->coefficient[i])
			return false;
	}
	return true;
}

/* Whether all loads of one loop are the same on both ways. */
static bool load_the_same(const struct way *a, const struct way *b, uint32_t loop)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct passed *p = &a->at[i], *q = &b->at[i];

		if (p->is_store || p->loop != loop)
			continue;
		if (p->insn != q->insn || p->form == LANES_NONE || q->form == LANES_NONE ||
		    !are_same(a, p->form, b, q->form))
			return false;
	}
	return true;
}

/* Blocks of which only one number differs, which is in no address. False = no memory. */
static bool count_blocks(const struct way *w, const struct lanes_code *c,
			 const struct lanes_launch *l, struct lanes_overlap *out)
{
	out->blocks = 1;
	for (unsigned i = 0; i < 3; i++) {
		struct lanes_warp other = w->run.warp;
		struct arena *scratch;
		struct way *way;

		if (l->grid[i] < 2)
			continue;
		other.block[i] = (other.block[i] + 1) % l->grid[i];
		scratch = arena_new();
		way = go(c, l, &other, w->of, scratch);
		if (way && load_the_same(w, way, out->loop))
			out->blocks *= l->grid[i];
		leave(way, scratch);
		if (!way)
			return false;
	}
	return true;
}

int lanes_overlap(const struct lanes_code *c, const struct lanes_launch *l, enum lanes_again_of of,
		  struct lanes_overlap *out, struct err *e)
{
	const struct lanes_warp some = some_warp(l);
	struct arena *scratch;
	struct word *room;
	struct way *w;
	bool is_good;

	*out = (struct lanes_overlap){.loop = CFG_NONE};
	if (!loads_of(c, of) || !has_threads(l))
		return 0;
	scratch = arena_new();
	w = go(c, l, &some, of, scratch);
	room = w ? arena_array(scratch, WORDS_MOST, sizeof(*room)) : NULL;
	for (uint32_t loop = 0; room && loop <= c->g->loops_n; loop++) {
		struct lanes_overlap x;

		ask_all(w, loop < c->g->loops_n ? loop : CFG_NONE, room, &x);
		if (x.asked - x.different > out->asked - out->different)
			*out = x;
	}
	is_good = room && (!out->loads || of != LANES_OF_GLOBAL || count_blocks(w, c, l, out));
	leave(w, scratch);
	return is_good ? 0 : no_memory(e);
}
