/*
 * lanes.c - see lanes.h. Blocks are interpreted until nothing changes any more. Where two ways meet, values that
 * agree in what lanes differ by keep that, and what lanes share becomes a symbol of the place; only where lanes of
 * one warp may come by both ways does it matter which lane came by which.
 */
#include "lanes.h"

#include <string.h>

#include "arena.h"
#include "lanes_walk.h"

#define STEPS_LEAST (UINT64_C(1) << 20) /* instructions in all, and 64 for each of the code */
#define BLOCKS_MOST 8192u
#define ROUNDS_MOST 8u

/* ------------------------------------------------------------------------------------- branching */

/* Whether the way to `to` leaves the innermost loop of a block. */
static bool leaves_loop(const struct cfg *g, uint32_t block, uint32_t to)
{
	return g->blocks[block].loop != CFG_NONE && !cfg_in_loop(g, to, g->blocks[block].loop);
}

struct leaving {
	const struct cfg *g;
	uint32_t from, to;
};

/* Made in a loop that is left, where lanes leave in different iterations. */
static bool is_of_loop(const struct lanes_symbol *s, const void *ctx)
{
	const struct leaving *l = ctx;
	uint32_t block, loop;

	if (s->owner == LANES_NONE)
		return false;
	block = s->kind == LANES_JOINED ? s->owner : l->g->block_of[s->owner];
	for (loop = l->g->blocks[l->from].loop; loop != CFG_NONE; loop = l->g->loops[loop].parent)
		if (!cfg_in_loop(l->g, l->to, loop) && cfg_in_loop(l->g, block, loop))
			return true;
	return false;
}

static void forget_loop(struct lanes_walk *w, struct lanes_state *s, uint32_t from, uint32_t to)
{
	const struct leaving l = {w->g, from, to};
	const unsigned n = lanes_cells(&w->run);

	for (unsigned q = 0; q < n; q++) {
		uint32_t *c = lanes_cell(&w->run, s, q);

		if (lanes_half(*c) != LANES_UNKNOWN && w->run.v.forms.at[lanes_of(*c)].terms &&
		    lanes_any(&w->run.v, lanes_of(*c), is_of_loop, &l))
			*c = lanes_unknown(lanes_reasons(&w->run.v, *c) | LANES_PARTED);
	}
	lanes_drop_slots(&w->run, s, is_of_loop, &l);
	for (unsigned i = 0; i < LANES_PREDS; i++) {
		lanes_plain(&s->p[i]);
		lanes_plain(&s->up[i]);
		if (s->p[i].known != LANES_ALL)
			s->p[i].is_uniform = false;
	}
}

/* Some lanes go to a successor. */
static void go(struct lanes_walk *w, uint32_t block, uint32_t edge, const struct lanes_crew *crew,
	       bool is_divergent)
{
	const uint32_t to = w->g->edges[w->g->blocks[block].successors + edge];
	const struct lanes_crew kept = w->now.crew;

	if (!crew->lanes)
		return;
	w->places[block].edges |= UINT64_C(1) << (edge & 63);
	if (w->out) {
		lanes_note_turn(w, block, to);
		return;
	}
	if (is_divergent && leaves_loop(w->g, block, to)) {
		w->left = w->now;
		w->left.crew = *crew;
		forget_loop(w, &w->left, block, to);
		lanes_arrive(w, block, to, &w->left);
		return;
	}
	if (w->trips && leaves_loop(w->g, block, to) && w->trips[w->g->blocks[block].loop]) {
		w->left = w->now;
		w->left.crew = *crew;
		lanes_leave_loop(w, &w->left, w->g->blocks[block].loop);
		lanes_arrive(w, block, to, &w->left);
		return;
	}
	w->now.crew = *crew;
	lanes_arrive(w, block, to, &w->now);
	w->now.crew = kept;
}

/* Whether a branch is taken, by all that decides: its guard, predicates among its operands, who is there. */
static struct lanes_pred taken(struct lanes_walk *w, uint32_t i)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct lanes_insn *x = &w->run.c->insns[i];
	struct lanes_pred p = lanes_guard(&w->run, &w->now, insn);
	const struct lanes_pred open = lanes_open(true, LANES_OPERATION);

	for (unsigned k = 0; k < x->sources_n; k++) {
		const uint8_t kind = x->source[k].kind;
		struct lanes_pred q;

		if (kind != LANES_ARG_PRED && kind != LANES_ARG_UPRED)
			continue;
		q = lanes_read_pred(&w->run, &w->now, &x->source[k]);
		p = lanes_and(&p, &q);
	}
	if (x->relation == SASS_M_DIV || x->relation == SASS_M_CONV) {
		/* asks whether all lanes of a mask are here: a warp that never parted has no other lanes */
		struct lanes_pred q = open;

		if (!w->now.crew.is_split && !w->now.crew.absent) {
			q.known = LANES_ALL;
			q.value = x->relation == SASS_M_CONV ? LANES_ALL : 0;
		}
		p = lanes_and(&p, &q);
	}
	return p;
}

static void note_branch(struct lanes_walk *w, uint32_t i, const struct lanes_pred *p)
{
	const uint32_t lanes = w->now.crew.lanes, open = ~p->known & lanes;
	const uint32_t on = p->value & p->known & lanes, off = ~p->value & p->known & lanes;
	struct lanes_site *s;

	if (!w->out || w->out->sites_n >= w->room ||
	    !((on && off) || (open && !(p->is_uniform && open == lanes))))
		return;
	s = &w->out->sites[w->out->sites_n++];
	*s = (struct lanes_site){
		.insn = i,
		.kind = LANES_BRANCH,
		.is_reached = true,
		.is_known = on && off && !open && !w->now.crew.absent,
		.reasons = open ? p->reasons : w->now.crew.absent,
		.lanes = on,
	};
}

/* The last instruction of a block decides where its lanes go. */
static void branch(struct lanes_walk *w, uint32_t block, uint32_t i)
{
	const struct cfg_block *b = &w->g->blocks[block];
	const enum cfg_flow flow = cfg_flow(&w->g->insns[i]);
	const struct lanes_pred p = taken(w, i);
	const struct lanes_crew all = w->now.crew;
	const uint32_t open = ~p.known & all.lanes;
	const uint32_t on = p.value & p.known & all.lanes, off = ~p.value & p.known & all.lanes;
	/* the warp decides as one */
	const bool is_whole = (!open && (!on || !off)) || (p.is_uniform && open == all.lanes) ||
			      flow == CFG_INDIRECT;
	const bool is_exit = flow == CFG_EXIT || flow == CFG_RETURN;
	const uint32_t last = b->successors_n ? b->successors_n - 1 : 0;
	const bool falls = b->successors_n && cfg_is_conditional(&w->g->insns[i]);
	struct lanes_crew to = all, on_way = all;
	bool one_leaves = false;

	if (flow == CFG_BRANCH || flow == CFG_EXIT)
		note_branch(w, i, &p);
	if (w->out)
		w->out->blocks[block].parts = flow == CFG_BRANCH && on && off && !all.absent;
	if (w->out && flow == CFG_BRANCH)
		lanes_count_trips(w, block, &p);
	if (!is_whole) {
		to.lanes = on | open;
		on_way.lanes = off | open;
		if (open && (on || (!p.is_uniform && (open & (open - 1)))))
			to.absent |= p.reasons | LANES_OPERATION;
		if (open && (off || (!p.is_uniform && (open & (open - 1)))))
			on_way.absent |= p.reasons | LANES_OPERATION;
	} else if (!open) {
		to.lanes = on;
		on_way.lanes = off;
	}
	if (is_exit) {
		if (flow == CFG_EXIT)
			lanes_exit(&w->run, &w->now, on | open, is_whole, p.reasons);
		if (flow == CFG_EXIT && w->out)
			w->out->blocks[block].may_exit = (on | open) && (!off || all.absent);
		if (flow == CFG_RETURN)
			for (uint32_t k = 0; k + falls < b->successors_n; k++)
				go(w, block, k, &to, !is_whole);
		/* who has left does not come back */
		if (falls)
			go(w, block, last, &on_way, false);
		return;
	}
	if (!is_whole && b->successors_n == 2) {
		const uint32_t *e = &w->g->edges[b->successors];

		one_leaves = leaves_loop(w->g, block, e[0]) != leaves_loop(w->g, block, e[1]);
	}
	for (uint32_t k = 0; k < b->successors_n; k++) {
		const uint32_t next = w->g->edges[b->successors + k];
		const bool is_fall = falls && k == last && b->successors_n > 1;
		struct lanes_crew crew = is_fall ? on_way : to;

		if (!is_whole && b->successors_n == 1)
			crew = all;
		else if (!is_whole && !(one_leaves && !leaves_loop(w->g, block, next)))
			crew.is_split = 2 * i + 2 + is_fall;
		crew.is_apart |= one_leaves && leaves_loop(w->g, block, next);
		go(w, block, k, &crew, !is_whole || all.is_split == LANES_SPLIT_MIXED);
	}
}

/* ------------------------------------------------------------------------------------- looking */

static uint8_t kind_of(const struct sass_access *a, bool is_second)
{
	if (a->act == SASS_ATOMIC || a->act == SASS_REDUCTION)
		return LANES_ATOMIC;
	if (a->act == SASS_COPY)
		return is_second ? LANES_SHARED : LANES_LOAD;
	if (a->from == SASS_SHARED || a->to == SASS_SHARED)
		return LANES_SHARED;
	return a->act == SASS_STORE ? LANES_STORE : LANES_LOAD;
}

/* Accesses by lanes to global and shared memory. */
static bool is_looked_at(const struct sass_access *a)
{
	const uint8_t memory = a->act == SASS_STORE ? a->to : a->from;

	if (a->is_uniform || !a->bytes)
		return false;
	if (a->act == SASS_REDUCTION)
		return a->to == SASS_GLOBAL || a->to == SASS_SHARED;
	if (a->act != SASS_LOAD && a->act != SASS_STORE && a->act != SASS_ATOMIC &&
	    a->act != SASS_COPY)
		return false;
	return memory == SASS_GLOBAL || memory == SASS_SHARED || memory == SASS_GENERIC;
}

uint32_t lanes_called_kinds(const struct lanes_code *c)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < c->accesses_n && c->g->calls_n; i++) {
		const struct sass_access *a = &c->accesses[i].access;

		if (!cfg_is_called(c->g, c->g->block_of[c->accesses[i].insn]) || !is_looked_at(a))
			continue;
		kinds |= 1u << kind_of(a, false);
		if (a->act == SASS_COPY)
			kinds |= 1u << kind_of(a, true);
	}
	return kinds;
}

/* What an access that is not looked at moves in global memory, or may. */
static uint32_t unseen(const struct sass_access *a)
{
	const bool is_read = a->from == SASS_GLOBAL || a->from == SASS_GENERIC;
	const bool is_written = a->to == SASS_GLOBAL || a->to == SASS_GENERIC;

	switch (a->act) {
	case SASS_ATOMIC:
	case SASS_REDUCTION: return 1u << LANES_ATOMIC;
	case SASS_LOAD:
	case SASS_STORE:
	case SASS_COPY: return is_read << LANES_LOAD | is_written << LANES_STORE;
	default: return 0;
	}
}

uint32_t lanes_unseen_kinds(const struct lanes_code *c, const struct lanes_result *r)
{
	uint32_t kinds = 0;

	for (uint32_t b = 0; b < c->g->blocks_n; b++) {
		if (!r->blocks[b].is_reached)
			continue;
		for (uint32_t i = c->g->blocks[b].first; i < c->g->blocks[b].end; i++) {
			const uint16_t access = c->insns[i].access;

			if (!c->g->insns[i].is_decoded || c->are_accesses_cut)
				return UINT32_MAX;
			if (access && !is_looked_at(&c->accesses[access - 1].access))
				kinds |= unseen(&c->accesses[access - 1].access);
		}
	}
	return kinds;
}

/* Which lanes of a copy read: those that a predicate among its operands says no of write zeros only. */
static struct lanes_pred reading(const struct lanes_walk *w, uint32_t i, struct lanes_pred p)
{
	const struct lanes_insn *x = &w->run.c->insns[i];

	for (unsigned k = 0; k < x->sources_n; k++) {
		struct lanes_pred q;

		if (x->source[k].kind != LANES_ARG_PRED && x->source[k].kind != LANES_ARG_UPRED)
			continue;
		q = lanes_read_pred(&w->run, &w->now, &x->source[k]);
		p = lanes_and(&p, &q);
	}
	return p;
}

static void look(struct lanes_walk *w, const struct lanes_access *a, bool is_second)
{
	const struct lanes_crew *crew = &w->now.crew;
	const struct lanes_pred guard = lanes_guard(&w->run, &w->now, &w->g->insns[a->insn]);
	const struct lanes_pred p =
		a->access.act == SASS_COPY && !is_second ? reading(w, a->insn, guard) : guard;
	const uint32_t on = p.value & p.known & crew->lanes, open = ~p.known & crew->lanes;
	const bool is_generic = a->access.from == SASS_GENERIC || a->access.to == SASS_GENERIC;
	struct lanes_site *s;

	if (!(on | open) || w->out->sites_n >= w->room)
		return;
	s = &w->out->sites[w->out->sites_n++];
	*s = (struct lanes_site){
		.insn = a->insn,
		.kind = kind_of(&a->access, is_second),
		.is_shared = a->access.from == SASS_SHARED ||
			     (is_second && a->access.to == SASS_SHARED),
		.is_copy = a->access.act == SASS_COPY,
		.is_second = is_second,
		.is_reached = true,
		.lanes = on | open,
		.absent = crew->absent,
		/* of those that are told to, none may be there */
		.is_maybe = !on || (crew->absent && on != crew->lanes),
	};
	if (open && (on || (!p.is_uniform && (open & (open - 1)))))
		s->absent |= p.reasons | LANES_OPERATION;
	if (is_generic)
		s->reasons = LANES_OPERATION;
	else
		lanes_measure(&w->run, &w->now, a, is_second, s);
}

static void run_block(struct lanes_walk *w, uint32_t block)
{
	const struct cfg_block *b = &w->g->blocks[block];

	w->now = *w->places[block].in;
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct lanes_insn *x = &w->run.c->insns[i];

		if (w->out && x->access) {
			const struct lanes_access *a = &w->run.c->accesses[x->access - 1];

			if (is_looked_at(&a->access))
				look(w, a, false);
			if (a->access.act == SASS_COPY && is_looked_at(&a->access))
				look(w, a, true);
		}
		if (i + 1 < b->end || cfg_flow(&w->g->insns[i]) == CFG_NEXT ||
		    x->op == LANES_OP_CALL)
			lanes_step(&w->run, &w->now, i);
		if (w->out && i == b->first) { /* lanes that meet do so first of all */
			w->out->blocks[block].lanes = w->now.crew.lanes;
			w->out->blocks[block].absent = w->now.crew.absent;
			w->out->blocks[block].is_apart = w->now.crew.is_apart;
		}
	}
	w->steps += b->end - b->first;
	if (cfg_flow(&w->g->insns[b->end - 1]) != CFG_NEXT) {
		branch(w, block, b->end - 1);
		return;
	}
	for (uint32_t k = 0; k < b->successors_n; k++)
		go(w, block, k, &w->now.crew, w->now.crew.is_split == LANES_SPLIT_MIXED);
}

/* Until nothing changes. */
static void walk_once(struct lanes_walk *w)
{
	const uint64_t most = STEPS_LEAST + 64 * (uint64_t)w->g->insns_n;
	bool again = true;

	while (again && !w->no_memory && !w->is_over) {
		again = false;
		for (uint32_t b = 0; b < w->g->blocks_n && !w->no_memory && !w->is_over; b++) {
			struct lanes_place *p = &w->places[b];

			if (!p->is_waiting)
				continue;
			p->is_waiting = false;
			p->visits++;
			again = true;
			run_block(w, b);
			w->is_over = w->steps > most || w->run.v.is_full;
		}
	}
}

static void begin_again(struct lanes_walk *w)
{
	for (uint32_t b = 0; b < w->g->blocks_n; b++)
		w->places[b] = (struct lanes_place){.spare = w->places[b].in ? w->places[b].in
									     : w->places[b].spare};
	memset(w->run.has_made, 0, w->g->insns_n);
}

/*
 * Begun again when a symbol turned out to be less aligned than it was taken to be, or lanes that were taken to meet others
 * may have left before; it stays so.
 */
static void walk(struct lanes_walk *w)
{
	for (unsigned round = 0; round < ROUNDS_MOST; round++) {
		w->is_stale = false;
		lanes_start(&w->run, &w->now);
		lanes_arrive(w, CFG_NONE, 0, &w->now);
		walk_once(w);
		if (w->is_over || w->no_memory)
			return;
		w->is_stale |= lanes_barriers_changed(&w->run, round < ROUNDS_MOST / 2);
		if (!w->is_stale)
			return;
		begin_again(w);
	}
	w->is_over = true;
}

static void look_at_all(struct lanes_walk *w, struct lanes_result *out)
{
	w->out = out;
	out->sites_n = 0;
	out->trips_differ = false;
	memset(out->blocks, 0, w->g->blocks_n * sizeof(*out->blocks));
	w->growths_n = (uint32_t)w->run.v.symbols.n;
	w->growths = arena_array(w->arena, w->growths_n + 1, sizeof(*w->growths));
	w->no_memory |= !w->growths;
	if (w->no_memory)
		return;
	for (uint32_t b = 0; b < w->g->blocks_n; b++) {
		const struct lanes_place *p = &w->places[b];
		struct lanes_block *r = &out->blocks[b];

		if (!p->in)
			continue;
		w->places[b].edges = 0;
		run_block(w, b);
		r->is_reached = true;
		r->edges = p->edges;
	}
	lanes_share(w);
}

/* A loop that nobody comes back to runs once. */
static void note_single_turns(const struct lanes_walk *w, struct lanes_result *out)
{
	for (uint32_t l = 0; l < w->g->loops_n; l++) {
		const uint32_t header = w->g->loops[l].header;
		const struct cfg_block *b = &w->g->blocks[header];
		bool comes_back = false;

		for (uint32_t i = 0; i < b->predecessors_n; i++) {
			const uint32_t from = w->g->edges[b->predecessors + i];
			const struct cfg_block *x = &w->g->blocks[from];

			for (uint32_t k = 0; k < x->successors_n && cfg_in_loop(w->g, from, l); k++)
				comes_back |= w->g->edges[x->successors + k] == header &&
					      (k >= 64 || out->blocks[from].edges >> k & 1);
		}
		if (out->blocks[header].is_reached && !comes_back)
			out->trips[l] = out->leavings[l] = 1;
	}
}

/* Where loops run a known number of times, once more: behind them their counters are known. */
static void walk_behind_loops(struct lanes_walk *w, struct lanes_result *out)
{
	bool is_useful = false;

	for (uint32_t l = 0; l < w->g->loops_n; l++)
		is_useful |= out->trips[l] > 1;
	if (!is_useful)
		return;
	w->trips = arena_copy(w->arena, out->trips, w->g->loops_n * sizeof(*out->trips));
	w->no_memory |= !w->trips;
	if (!w->trips)
		return;
	w->out = NULL;
	begin_again(w);
	lanes_values_free(&w->run.v);
	w->no_memory |= !lanes_values_init(&w->run.v, w->arena);
	walk(w);
	if (w->is_over || w->no_memory)
		return;
	look_at_all(w, out);
	note_single_turns(w, out);
}

/* ------------------------------------------------------------------------------------- all of it */

struct lanes_code *lanes_code_new(const struct cfg *g, struct arena *arena)
{
	struct lanes_code *c = arena_alloc(arena, sizeof(*c));

	return c && lanes_code_read(c, g, arena) ? c : NULL;
}

bool lanes_can_be_any(const struct lanes_launch *l)
{
	const uint32_t *b = l->block;

	if (!b[0] || !b[1] || !b[2])
		return false;
	return b[0] % LANES == 0 || (LANES % b[0] == 0 && b[1] % (LANES / b[0]) == 0);
}

uint32_t lanes_warps(const struct lanes_launch *l)
{
	const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	return (uint32_t)((threads + LANES - 1) / LANES);
}

uint32_t lanes_registers(const struct cfg *g)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < g->insns_n; i++)
		for (unsigned k = 0; k < g->insns[i].operands_n; k++) {
			const struct sass_operand *o = &g->insns[i].operands[k];

			if (o->kind == SASS_REG && o->reg != SASS_RZ && o->reg + o->regs > most)
				most = o->reg + o->regs;
		}
	return most + 1 < SASS_RZ ? most + 1 : SASS_RZ;
}

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "no memory for the lanes of a warp");
}

static bool prepare(struct lanes_walk *w, const struct lanes_code *c, const struct lanes_launch *l,
		    const struct lanes_warp *warp, struct arena *scratch)
{
	w->g = c->g;
	w->arena = scratch;
	w->places = arena_array(scratch, c->g->blocks_n, sizeof(*w->places));
	w->run.c = c;
	w->run.launch = l;
	w->run.warp = *warp;
	w->run.registers = lanes_registers(c->g);
	w->run.has_made = arena_array(scratch, c->g->insns_n, 1);
	return w->places && w->run.has_made && lanes_barriers_init(&w->run, scratch) &&
	       lanes_values_init(&w->run.v, scratch);
}

int lanes_run(const struct lanes_code *c, const struct lanes_launch *l,
	      const struct lanes_warp *warp, struct arena *arena, struct lanes_result *out,
	      struct err *e)
{
	struct arena *scratch = arena_new();
	struct lanes_walk *w = scratch ? arena_alloc(scratch, sizeof(*w)) : NULL;
	int r = -1;

	memset(out, 0, sizeof(*out));
	out->blocks = arena_array(arena, c->g->blocks_n, sizeof(*out->blocks));
	out->trips = arena_array(arena, c->g->loops_n, sizeof(*out->trips));
	out->leavings = arena_array(arena, c->g->loops_n, sizeof(*out->leavings));
	if (!w || !out->blocks || !out->trips || !out->leavings ||
	    !prepare(w, c, l, warp, scratch)) {
		no_memory(e);
	} else if (c->g->blocks_n > BLOCKS_MOST || !c->g->insns_n) {
		r = 0;
	} else {
		walk(w);
		out->warp = w->run.lanes;
		/* two of an instruction, and a branch at the end of a block */
		w->room = 2 * c->accesses_n + c->g->blocks_n;
		out->sites = arena_array(arena, w->room, sizeof(*out->sites));
		w->no_memory |= !out->sites;
		if (!w->is_over && !w->no_memory) {
			out->is_complete = true;
			look_at_all(w, out);
			note_single_turns(w, out);
			walk_behind_loops(w, out);
			out->is_complete = !w->run.v.is_full && !w->is_over;
		}
		out->steps = w->steps;
		r = w->no_memory ? no_memory(e) : 0;
	}
	if (w)
		lanes_values_free(&w->run.v);
	arena_free(scratch);
	return r;
}
