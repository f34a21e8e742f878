/*
 * lanes_barrier.c - where lanes that parted meet again: BSSY notes who is there, BSYNC waits for all of them that are
 * left. Who leaves the kernel in between (EXIT), or the barrier (BREAK), does not come. That is known only when all ways
 * were walked, so it is collected in one walk and used in the next. See lanes.c.
 */
#include <string.h>

#include "arena.h"
#include "lanes_walk.h"

#define OPENED_MIXED UINT32_MAX /* by different BSSY on different ways */

bool lanes_barriers_init(struct lanes_run *run, struct arena *arena)
{
	const uint32_t n = run->c->g->blocks_n;

	run->gone = arena_array(arena, (size_t)n * LANES_BARRIERS + 1, sizeof(*run->gone));
	run->met = arena_array(arena, n, sizeof(*run->met));
	for (uint32_t b = 0; run->met && b < n; b++)
		run->met[b].kept = LANES_ALL;
	return run->gone && run->met;
}

/* The crew decides as one: nobody of those that a barrier waits for stays when it goes. */
static bool is_same(const struct lanes_crew *a, const struct lanes_crew *b)
{
	return a->lanes == b->lanes && a->absent == b->absent && a->is_split == b->is_split;
}

/* Some lanes will not come to a barrier. */
static void leave(struct lanes_run *run, const struct lanes_state *s, unsigned barrier,
		  uint32_t lanes, bool is_whole, uint32_t reasons)
{
	const struct lanes_crew *c = &s->saved[barrier];

	if (!c->lanes || !c->opened || c->opened == OPENED_MIXED ||
	    (is_whole && is_same(&s->crew, c)))
		return;
	run->gone[c->opened].lanes |= lanes;
	run->gone[c->opened].reasons |= reasons | s->crew.absent | LANES_PARTED;
}

void lanes_exit(struct lanes_run *run, const struct lanes_state *s, uint32_t lanes, bool is_whole,
		uint32_t reasons)
{
	for (unsigned b = 0; b < LANES_BARRIERS; b++)
		leave(run, s, b, lanes, is_whole, reasons);
}

static void open_barrier(struct lanes_run *run, struct lanes_state *s, unsigned b, uint32_t i)
{
	uint32_t within = 0;

	for (unsigned k = 0; k < LANES_BARRIERS; k++)
		within |= (uint32_t)(s->saved[k].lanes != 0 && k != b) << k;
	s->saved[b] = s->crew;
	s->saved[b].opened = run->c->g->block_of[i] * LANES_BARRIERS + b + 1;
	s->saved[b].within = within;
}

static void break_barrier(struct lanes_run *run, struct lanes_state *s, unsigned b,
			  const struct sass_insn *insn)
{
	const struct lanes_pred p = lanes_guard(run, s, insn);
	const uint32_t lanes = s->crew.lanes, open = ~p.known & lanes,
		       on = p.value & p.known & lanes;
	const bool is_whole = (!open && (!on || on == lanes)) || (p.is_uniform && open == lanes);

	leave(run, s, b, on | open, is_whole, p.reasons);
}

static void close_barrier(struct lanes_run *run, struct lanes_state *s, unsigned b, uint32_t i)
{
	struct lanes_met *m = &run->met[run->c->g->block_of[i]];
	const struct lanes_crew c = s->saved[b];
	const struct lanes_gone *gone = c.opened && c.opened != OPENED_MIXED ? &run->gone[c.opened]
									     : NULL;

	if (!c.lanes)
		return;
	m->arrived |= s->crew.lanes;
	s->crew = c;
	s->crew.opened = s->crew.within = 0;
	/* others may be on their way by ways that were not walked yet */
	s->crew.lanes &= m->kept | m->arrived;
	m->restored |= s->crew.lanes;
	if (!gone) {
		s->crew.absent |= LANES_PARTED;
	} else {
		if (m->opened != c.opened)
			m->used = gone->lanes;
		m->opened = c.opened;
		m->used &= gone->lanes;
		if (gone->lanes & s->crew.lanes)
			s->crew.absent |= gone->reasons;
	}
	/* what was opened since and left by other ways is over */
	s->saved[b] = (struct lanes_crew){0};
	for (unsigned k = 0; k < LANES_BARRIERS; k++)
		if (s->saved[k].within >> b & 1)
			s->saved[k] = (struct lanes_crew){0};
}

void lanes_step_barrier(struct lanes_run *run, struct lanes_state *s, uint32_t i)
{
	const struct sass_insn *insn = &run->c->g->insns[i];
	unsigned b = LANES_BARRIERS;

	for (unsigned k = 0; k < insn->operands_n; k++)
		if (insn->operands[k].kind == SASS_BARRIER)
			b = insn->operands[k].reg;
	if (b >= LANES_BARRIERS)
		return;
	switch (run->c->insns[i].op) {
	case LANES_OP_BSSY: open_barrier(run, s, b, i); break;
	case LANES_OP_BREAK: break_barrier(run, s, b, insn); break;
	default: close_barrier(run, s, b, i); break;
	}
}

uint32_t lanes_opened_by_both(uint32_t a, uint32_t b)
{
	return a == b || !b ? a : !a ? b : OPENED_MIXED;
}

bool lanes_barriers_changed(struct lanes_run *run, bool may_shrink)
{
	bool is_changed = false;

	for (uint32_t b = 0; b < run->c->g->blocks_n; b++) {
		struct lanes_met *m = &run->met[b];

		if (!m->restored)
			continue;
		if (may_shrink && m->restored & ~m->arrived) {
			m->kept &= m->arrived;
			is_changed = true;
		}
		is_changed |= m->opened &&
			      run->gone[m->opened].lanes & m->kept & m->restored & ~m->used;
		m->arrived = m->restored = m->used = m->opened = 0;
	}
	return is_changed;
}
