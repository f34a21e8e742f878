/*
 * stall_wait.c - see stall.h: which instruction a wait on a scoreboard waits for, and what the waits of a
 * function and of its loops come to for one warp alone.
 * Input: control codes and flow. Times are estimates of tables/latency.def.
 */
#include "stall.h"

#include <string.h>

#include "arena.h"
#include "sass_modifier.h"

#define BARRIERS    6u
#define LOOP_PASSES 2

struct wait_row {
	const char *op;
	enum stall_reason reason;
	unsigned result, read;
};

struct hold_row {
	const char *op;
	enum stall_reason reason;
	unsigned cycles;
};

#define REASON(...)
#define HOLD(...)
#define WAIT(op, reason, result, read) {#op, STALL_##reason, result, read},
#define FIXED(...)
#define ISSUE(...)
#define KNOWN(...)
#define NOTE(...)
static const struct wait_row wait_rows[] = {
#include "tables/latency.def"
};
#undef WAIT
#undef HOLD
#define WAIT(...)
#define HOLD(op, reason, cycles) {#op, STALL_##reason, cycles},
static const struct hold_row hold_rows[] = {
#include "tables/latency.def"
};
#undef REASON
#undef HOLD
#define REASON(name, text) text,
#define HOLD(...)
static const char *const reason_names[] = {
#include "tables/latency.def"
};
#undef REASON
#undef HOLD
#undef WAIT
#undef FIXED
#undef ISSUE
#undef KNOWN
#undef NOTE

const char *stall_reason_name(enum stall_reason reason)
{
	return reason < STALL_REASONS ? reason_names[reason] : "none";
}

struct stall_row stall_wait(const struct sass_insn *insn)
{
	const char *op = sass_op(insn);

	for (size_t i = 0; i < sizeof(wait_rows) / sizeof(*wait_rows); i++)
		if (*wait_rows[i].op == *op && !strcmp(wait_rows[i].op, op))
			return (struct stall_row){wait_rows[i].reason, wait_rows[i].result,
						  wait_rows[i].read};
	return (struct stall_row){STALL_OTHER, 0, 0};
}

static bool is_depbar(const struct sass_insn *insn)
{
	return !strcmp(sass_op(insn), "DEPBAR");
}

/*
 * Barriers that an instruction waits for. DEPBAR.LE SBn, k waits for one until no more than k are under way
 * that set it, and for those of a mask.
 */
static unsigned waits_for(const struct sass_insn *insn, bool until_none)
{
	unsigned mask = insn->control.wait;

	if (!is_depbar(insn))
		return mask;
	mask |= (unsigned)sass_bits(insn->word, 32, 6);
	if (!until_none || !sass_bits(insn->word, 38, 6))
		mask |= 1u << sass_bits(insn->word, 44, 3);
	return mask & ((1u << BARRIERS) - 1);
}

/* --------------------------------------------------------------------------------- who set a barrier */

struct search {
	const struct cfg *g;
	unsigned barrier;
	struct stall_setter *out;
	unsigned n;
	uint32_t *nearest; /* by block: cycles from its end to the wait, CFG_NONE = not seen */
	uint32_t *seen, seen_n;
	uint32_t *stack, depth;
	bool *is_waiting;
};

static bool search_init(struct search *s, const struct cfg *g, struct arena *arena)
{
	s->g = g;
	s->nearest = arena_array(arena, g->blocks_n, sizeof(*s->nearest));
	s->seen = arena_array(arena, g->blocks_n, sizeof(*s->seen));
	s->stack = arena_array(arena, g->blocks_n, sizeof(*s->stack));
	s->is_waiting = arena_array(arena, g->blocks_n, sizeof(*s->is_waiting));
	if (!s->nearest || !s->seen || !s->stack || !s->is_waiting)
		return false;
	memset(s->nearest, 0xff, g->blocks_n * sizeof(*s->nearest));
	return true;
}

static void found(struct search *s, uint32_t insn, bool is_read, uint32_t distance)
{
	for (unsigned i = 0; i < s->n && i < STALL_SETTERS; i++) {
		struct stall_setter *o = &s->out[i];

		if (o->insn != insn || o->is_read != is_read)
			continue;
		if (distance < o->distance)
			o->distance = distance;
		return;
	}
	if (s->n < STALL_SETTERS)
		s->out[s->n] = (struct stall_setter){insn, is_read, distance};
	if (s->n <= STALL_SETTERS)
		s->n++;
}

/* From in front of instruction `at` back to the start of its block, `distance` cycles from the wait. */
static void search_block(struct search *s, uint32_t block, uint32_t at, uint32_t distance)
{
	const struct cfg_block *b = &s->g->blocks[block];

	for (uint32_t i = at; i-- > b->first;) {
		const struct sass_insn *insn = &s->g->insns[i];

		distance += insn->control.stall;
		if (insn->control.write_barrier == s->barrier)
			found(s, i, false, distance);
		if (insn->control.read_barrier == s->barrier)
			found(s, i, true, distance);
		if (waits_for(insn, true) >> s->barrier & 1)
			return;
	}
	for (uint32_t i = 0; i < b->predecessors_n; i++) {
		const uint32_t p = s->g->edges[b->predecessors + i];

		if (s->nearest[p] <= distance)
			continue;
		if (s->nearest[p] == CFG_NONE)
			s->seen[s->seen_n++] = p;
		s->nearest[p] = distance;
		if (!s->is_waiting[p])
			s->stack[s->depth++] = p;
		s->is_waiting[p] = true;
	}
}

/* Leaves s->nearest as search_init made it, at the cost of the blocks that were searched. */
static unsigned search(struct search *s, uint32_t at, unsigned barrier,
		       struct stall_setter out[STALL_SETTERS])
{
	s->barrier = barrier;
	s->out = out;
	s->n = 0;
	search_block(s, s->g->block_of[at], at, 0);
	while (s->depth) {
		const uint32_t block = s->stack[--s->depth];

		s->is_waiting[block] = false;
		search_block(s, block, s->g->blocks[block].end, s->nearest[block]);
	}
	while (s->seen_n)
		s->nearest[s->seen[--s->seen_n]] = CFG_NONE;
	return s->n;
}

unsigned stall_setters(const struct cfg *g, struct arena *arena, uint32_t at, unsigned barrier,
		       struct stall_setter out[STALL_SETTERS])
{
	struct search s = {0};

	if (at >= g->insns_n || barrier >= BARRIERS || !search_init(&s, g, arena))
		return 0;
	return search(&s, at, barrier, out);
}

/* ------------------------------------------------------------------------------------ the picture */

struct line {
	struct search search;
	double *clock; /* when each instruction issues, and the end: the code from first to last */
	enum stall_reason *reason; /* of the wait in front of each, STALL_REASONS = none */
	double *wait;
};

/*
 * Cycles from a setter to the wait: on the shortest path by stalls alone, or by the clock when that is more.
 * The clock runs through the code in its order, and once around the innermost loop with both in it.
 */
static double elapsed(const struct line *l, const struct stall_setter *s, uint32_t at, bool has_all)
{
	const struct cfg *g = l->search.g;
	uint32_t loop = g->blocks[g->block_of[at]].loop;
	double cycles = s->distance, around;

	if (s->insn < at) {
		const double line = l->clock[at] - l->clock[s->insn];

		return line > cycles ? line : cycles;
	}
	while (loop != CFG_NONE && !cfg_in_loop(g, g->block_of[s->insn], loop))
		loop = g->loops[loop].parent;
	if (!has_all || loop == CFG_NONE || at < g->loops[loop].first ||
	    s->insn > g->loops[loop].last)
		return cycles;
	around = l->clock[g->loops[loop].last + 1] - l->clock[s->insn] + l->clock[at] -
		 l->clock[g->loops[loop].first];
	return around > cycles ? around : cycles;
}

/* What is left to wait for at `at`, and whose it is: that of the longest rest, then latency. */
static void wait_at(struct line *l, uint32_t at, bool has_all)
{
	const unsigned mask = waits_for(&l->search.g->insns[at], false);
	struct stall_setter setters[STALL_SETTERS];
	double longest = -1;

	l->reason[at] = STALL_REASONS;
	l->wait[at] = 0;
	for (unsigned b = 0; b < BARRIERS; b++) {
		unsigned n = mask >> b & 1 ? search(&l->search, at, b, setters) : 0;

		n = n < STALL_SETTERS ? n : STALL_SETTERS;
		for (unsigned i = 0; i < n; i++) {
			const struct stall_setter *s = &setters[i];
			const struct stall_row row = stall_wait(&l->search.g->insns[s->insn]);
			const unsigned latency = s->is_read ? row.read : row.result;
			const double rest = latency - elapsed(l, s, at, has_all);

			if (rest > l->wait[at])
				l->wait[at] = rest;
			if (l->reason[at] != STALL_REASONS &&
			    (rest > 0 ? rest : latency / 1e6) <= longest)
				continue;
			longest = rest > 0 ? rest : latency / 1e6;
			l->reason[at] = row.reason;
		}
	}
}

static bool read_line(struct line *l, const struct cfg *g, struct arena *arena)
{
	l->clock = arena_array(arena, (size_t)g->insns_n + 1, sizeof(*l->clock));
	l->reason = arena_array(arena, g->insns_n, sizeof(*l->reason));
	l->wait = arena_array(arena, g->insns_n, sizeof(*l->wait));
	if (!l->clock || !l->reason || !l->wait || !search_init(&l->search, g, arena))
		return false;
	for (int pass = 0; pass < LOOP_PASSES; pass++) {
		double now = 0;

		for (uint32_t i = 0; i < g->insns_n; i++) {
			l->clock[i] = now;
			wait_at(l, i, pass > 0);
			now += l->wait[i];
			l->clock[i] = now;
			now += g->insns[i].control.stall;
		}
		l->clock[g->insns_n] = now;
	}
	return true;
}

/* BAR.ARV says that it has arrived and goes on. */
static bool holds(int sm, const struct sass_insn *insn)
{
	struct sass_modifiers m;

	if (strcmp(sass_op(insn), "BAR"))
		return true;
	sass_modifiers(sm, insn, &m);
	return !sass_has_modifier(&m, SASS_M_ARV);
}

struct stall_row stall_hold(int sm, const struct sass_insn *insn)
{
	const char *op = sass_op(insn);

	for (size_t i = 0; i < sizeof(hold_rows) / sizeof(*hold_rows); i++)
		if (*hold_rows[i].op == *op && !strcmp(hold_rows[i].op, op) && holds(sm, insn))
			return (struct stall_row){hold_rows[i].reason, hold_rows[i].cycles, 0};
	return (struct stall_row){STALL_OTHER, 0, 0};
}

static void add_insn(struct stall_picture *p, const struct line *l, uint32_t at)
{
	const struct sass_insn *insn = &l->search.g->insns[at];
	const unsigned stall = insn->control.stall;
	struct stall_row hold;

	p->insns++;
	p->waits[STALL_SELECTED]++;
	p->cycles[STALL_SELECTED] += 1;
	if (stall > 1) {
		p->waits[STALL_FIXED_WAIT]++;
		p->cycles[STALL_FIXED_WAIT] += stall - 1;
	}
	if (l->reason[at] != STALL_REASONS) {
		p->waits[l->reason[at]]++;
		p->cycles[l->reason[at]] += l->wait[at];
	}
	hold = stall_hold(l->search.g->sm, insn);
	if (hold.result) {
		p->waits[hold.reason]++;
		p->cycles[hold.reason] += hold.result;
	}
}

int stall_pictures(const struct cfg *g, struct arena *arena, struct stall_picture *function,
		   struct stall_picture **loops)
{
	struct line l = {.clock = NULL};

	memset(function, 0, sizeof(*function));
	*loops = arena_array(arena, g->loops_n, sizeof(**loops));
	if (!*loops || !read_line(&l, g, arena))
		return -1;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		uint32_t loop = g->blocks[g->block_of[i]].loop;

		if (!g->blocks[g->block_of[i]].is_reachable)
			continue;
		add_insn(function, &l, i);
		for (; loop != CFG_NONE; loop = g->loops[loop].parent)
			add_insn(&(*loops)[loop], &l, i);
	}
	return 0;
}

enum stall_reason stall_top(const struct stall_picture *p)
{
	enum stall_reason top = STALL_REASONS;

	for (int i = STALL_SELECTED + 1; i < STALL_REASONS; i++)
		if (p->cycles[i] > (top == STALL_REASONS ? 0 : p->cycles[top]))
			top = (enum stall_reason)i;
	return top;
}
