/*
 * stall_slack.c - see stall.h: which stalls nothing needs. A pair of instructions that share a register must
 * stay as many cycles apart as tables/latency.def says; a stall between them may go no lower than that.
 * Input: control codes and effects. Within one basic block only: at its edges, and near what is not known,
 * everything stays as it is. That is what "proved" means here, so every doubt is for the stall.
 */
#include "stall.h"

#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "sass_modifier.h"
#include "sass_table.h"

#define LONGEST 11u /* stalls beyond it have other rules of encoding: left alone */
#define SETTLE  10u /* cycles from setting a scoreboard to waiting for it */
#define READ    6u  /* cycles until a fixed-latency operation has read its registers */
#define QUEUE   8u  /* between two that go through the memory queue: MUFU, the slowest, keep 8 */
/*
 * Cycles from a wait to what reads predicates or uniform registers. These are looked at before operands are:
 * a guard that a DSETP wrote stands 8 cycles and more behind the wait for it, other code keeps up to 20.
 */
#define GUARDED 20u

enum role { OTHER, USED, NEXT, UNKNOWN };

struct fixed_row {
	int sm_first, sm_last;
	const char *op;
	unsigned result, memory, predicate;
};

struct issue_row {
	int sm_first, sm_last;
	const char *op;
	unsigned cycles;
};

struct known_row {
	const char *op;
	enum role role;
};

#define REASON(...)
#define WAIT(...)
#define HOLD(...)
#define NOTE(...)
#define ISSUE(...)
#define KNOWN(...)
#define FIXED(first, last, op, result, memory, predicate) \
	{first, last, #op, result, memory, predicate},
static const struct fixed_row fixed_rows[] = {
#include "tables/latency.def"
};
#undef FIXED
#undef ISSUE
#define FIXED(...)
#define ISSUE(first, last, op, cycles) {first, last, #op, cycles},
static const struct issue_row issue_rows[] = {
#include "tables/latency.def"
};
#undef ISSUE
#undef KNOWN
#define ISSUE(...)
#define KNOWN(op, role) {#op, role},
static const struct known_row known_rows[] = {
#include "tables/latency.def"
};
#undef REASON
#undef WAIT
#undef HOLD
#undef NOTE
#undef ISSUE
#undef KNOWN
#undef FIXED

#define ROWS(rows) (sizeof(rows) / sizeof(*(rows)))

/* What the tables say of an operation. */
struct known {
	const struct fixed_row *fixed; /* NULL = no row */
	unsigned issue;                /* 0 = no row */
	enum role role;
	bool is_read;
};

/* And of an instruction, and its registers. */
struct about {
	struct effects x;
	const struct fixed_row *fixed;
	unsigned issue;
	enum role role;
};

struct slack {
	const struct cfg *g;
	struct known *known; /* of each row of the instruction table, when it was met */
	struct about *about; /* of each instruction */
	uint8_t *stall;
};

/*
 * sm_120 and later: what works on 64 bits at once keeps its unit longer than these tables know, double
 * precision and its conversions longer still.
 */
static bool is_slow_there(int sm, const struct sass_insn *insn)
{
	struct sass_modifiers m;

	if (sm < 120)
		return false;
	sass_modifiers(sm, insn, &m);
	return *sass_op(insn) == 'D' || sass_has_modifier(&m, SASS_M_F64) ||
	       sass_has_modifier(&m, SASS_M_64) || sass_has_modifier(&m, SASS_M_S64) ||
	       sass_has_modifier(&m, SASS_M_U64);
}

static void learn(struct known *k, const char *op, int sm)
{
	for (size_t i = 0; i < ROWS(fixed_rows); i++)
		if (sm >= fixed_rows[i].sm_first && sm <= fixed_rows[i].sm_last &&
		    !strcmp(fixed_rows[i].op, op))
			k->fixed = &fixed_rows[i];
	for (size_t i = 0; i < ROWS(issue_rows); i++)
		if (sm >= issue_rows[i].sm_first && sm <= issue_rows[i].sm_last &&
		    !strcmp(issue_rows[i].op, op))
			k->issue = issue_rows[i].cycles;
	k->role = k->fixed ? NEXT : UNKNOWN;
	for (size_t i = 0; !k->fixed && i < ROWS(known_rows); i++)
		if (!strcmp(known_rows[i].op, op))
			k->role = known_rows[i].role;
	k->is_read = true;
}

static void look_up(const struct slack *s, const struct sass_insn *insn, struct about *a)
{
	struct known *k = insn->row ? &s->known[insn->row->number] : NULL;

	dataflow_effects(insn, &a->x);
	a->role = UNKNOWN;
	if (!k)
		return;
	if (!k->is_read)
		learn(k, insn->row->name, s->g->sm);
	a->fixed = k->fixed;
	a->issue = k->issue;
	if (insn->is_decoded && !is_slow_there(s->g->sm, insn))
		a->role = k->role;
}

static bool slack_init(struct slack *s, const struct cfg *g, struct arena *arena)
{
	const struct sass_table *t = sass_table(g->sm);

	s->g = g;
	s->known = arena_array(arena, t ? t->rows_n : 0, sizeof(*s->known));
	s->about = arena_array(arena, g->insns_n, sizeof(*s->about));
	s->stall = arena_array(arena, g->insns_n, sizeof(*s->stall));
	if (!s->known || !s->about || !s->stall)
		return false;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		look_up(s, &g->insns[i], &s->about[i]);
		s->stall[i] = g->insns[i].control.stall;
	}
	return true;
}

/* Barriers that an instruction sets, as a mask. */
static unsigned sets(const struct sass_insn *insn)
{
	return ((1u << insn->control.write_barrier | 1u << insn->control.read_barrier)) & 0x3f;
}

/* Whether `user` finds, or replaces, what `maker` writes: in registers, in predicates. */
static bool meets_result(const struct about *maker, const struct about *user, bool *is_predicate)
{
	struct regset touched = user->x.reads, both = maker->x.writes;

	regset_add(&touched, &user->x.writes);
	*is_predicate = (both.p & touched.p) || (both.up & touched.up);
	return regset_meets(&both, &touched);
}

/* Until the result of a fixed-latency operation is there for that user. */
static unsigned latency(const struct fixed_row *row, const struct about *user, bool is_predicate)
{
	if (is_predicate)
		return row->predicate;
	return user->fixed ? row->result : row->memory;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static bool reads_early(const struct regset *r)
{
	return r->p || r->up || r->ur[0] || r->ur[1] || r->ur[2] || r->ur[3];
}

/*
 * Cycles that `user` must stay behind `maker`; `waited`: barriers that `user` and those between wait for.
 * The result of an operation with a write barrier is there when that has been waited for, and then all that it
 * read has been read, too.
 */
static unsigned needed(const struct slack *s, uint32_t maker, uint32_t user, unsigned waited)
{
	const struct about *m = &s->about[maker], *u = &s->about[user];
	const struct sass_insn *insn = &s->g->insns[maker];
	const unsigned written = insn->control.write_barrier, read = insn->control.read_barrier;
	const bool is_result_awaited = written < 6 && waited >> written & 1;
	const bool is_source_awaited = is_result_awaited || (read < 6 && waited >> read & 1);
	const bool is_fixed = m->fixed && !sets(insn) && u->role != OTHER;
	const bool is_early = insn->control.wait && reads_early(&u->x.reads);
	unsigned need = 0;
	bool is_predicate;

	if (!is_result_awaited && meets_result(m, u, &is_predicate))
		need = is_fixed ? latency(m->fixed, u, is_predicate) : STALL_EDGE;
	if (!is_source_awaited && regset_meets(&m->x.reads, &u->x.writes))
		need = larger(need, is_fixed ? READ : STALL_EDGE);
	if (is_early)
		need = larger(need, GUARDED);
	if (!m->fixed && !u->fixed)
		need = larger(need, m->role == OTHER || u->role == OTHER ? STALL_EDGE : QUEUE);
	if (s->g->insns[user].control.wait & sets(insn))
		need = larger(need, SETTLE);
	return need;
}

/* What must be between an instruction and the end of its block, where anything may follow. */
static unsigned needed_at_end(const struct slack *s, uint32_t maker)
{
	const struct about *a = &s->about[maker];
	const struct regset none = {.p = 0};
	const struct sass_control c = s->g->insns[maker].control;
	const bool is_written = memcmp(&a->x.writes, &none, sizeof(none)) != 0;
	const bool is_read = memcmp(&a->x.reads, &none, sizeof(none)) != 0;

	if ((is_written && c.write_barrier > 5) || (is_read && c.read_barrier > 5))
		return STALL_EDGE;
	return sets(&s->g->insns[maker]) ? SETTLE : 0;
}

/* The stall that `at` needs so that `need` cycles are between, when the others make `others`. */
static unsigned more_than(unsigned least, unsigned need, unsigned others)
{
	return need > others && need - others > least ? need - others : least;
}

/*
 * For all that follows on `at` and may need what `maker` did; `before`: cycles from it to `at`. UINT32_MAX:
 * something follows whose effects are not known.
 */
static unsigned least_for(const struct slack *s, uint32_t maker, uint32_t at, unsigned before,
			  unsigned least)
{
	const uint32_t end = s->g->blocks[s->g->block_of[at]].end;
	unsigned waited = 0, others = before;

	for (uint32_t i = maker + 1; i <= at; i++)
		waited |= s->g->insns[i].control.wait;
	for (uint32_t i = at + 1; i < end; i++) {
		if (others >= STALL_EDGE)
			return least;
		if (s->about[i].role == UNKNOWN || !s->stall[i])
			return UINT32_MAX;
		waited |= s->g->insns[i].control.wait;
		least = more_than(least, needed(s, maker, i, waited), others);
		others += s->stall[i];
	}
	return more_than(least, needed_at_end(s, maker), others);
}

static bool may_be_lowered(const struct slack *s, uint32_t at)
{
	const struct cfg_block *b = &s->g->blocks[s->g->block_of[at]];
	const struct sass_insn *insn = &s->g->insns[at];
	const struct about *a = &s->about[at];

	return insn->is_decoded && a->issue && a->fixed && !sets(insn) && at + 1 < b->end &&
	       b->is_reachable && s->g->is_complete && s->about[at + 1].role == NEXT &&
	       insn->control.stall > a->issue && insn->control.stall <= LONGEST;
}

static uint8_t least(const struct slack *s, uint32_t at)
{
	const struct cfg_block *b = &s->g->blocks[s->g->block_of[at]];
	unsigned stall = s->about[at].issue, before = 0;

	if (!may_be_lowered(s, at))
		return s->stall[at];
	for (uint32_t i = at;; i--) {
		if (s->about[i].role == UNKNOWN || !s->stall[i])
			return s->stall[at];
		before += i < at ? s->stall[i] : 0;
		if (before >= STALL_EDGE)
			break;
		stall = least_for(s, i, at, before, stall);
		if (stall >= s->stall[at])
			return s->stall[at];
		if (i == b->first) /* what came before it is not known */
			return s->stall[at];
	}
	return (uint8_t)stall;
}

bool stall_has_table(int sm)
{
	for (size_t i = 0; i < ROWS(fixed_rows); i++)
		if (sm >= fixed_rows[i].sm_first && sm <= fixed_rows[i].sm_last)
			return true;
	return false;
}

uint8_t stall_least(const struct cfg *g, struct arena *arena, uint32_t at)
{
	struct slack s;

	if (at >= g->insns_n)
		return 0;
	return slack_init(&s, g, arena) ? least(&s, at) : g->insns[at].control.stall;
}

uint8_t *stall_plan(const struct cfg *g, struct arena *arena)
{
	struct slack s;

	if (!slack_init(&s, g, arena))
		return NULL;
	for (uint32_t i = 0; i < g->insns_n; i++)
		s.stall[i] = least(&s, i);
	return s.stall;
}
