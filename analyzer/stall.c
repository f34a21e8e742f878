/*
 * stall.c - see stall.h: stalls by operation.
 * Input: a function's instructions. Which stalls nothing needs is stall_slack.c's.
 */
#include "stall.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "sass_table.h"

#define STALLS 16u /* values of the field */

struct note_row {
	int sm_first, sm_last;
	const char *op;
	uint8_t stall;
	const char *text;
};

#define REASON(...)
#define WAIT(...)
#define HOLD(...)
#define FIXED(...)
#define ISSUE(...)
#define KNOWN(...)
#define NOTE(first, last, op, stall, text) {first, last, #op, stall, text},
static const struct note_row note_rows[] = {
#include "tables/latency.def"
};
#undef REASON
#undef WAIT
#undef HOLD
#undef FIXED
#undef ISSUE
#undef KNOWN
#undef NOTE

/* A row for the stall that most of them have. */
static const char *note_of(const struct stall_op *o, int sm)
{
	for (size_t i = 0; i < sizeof(note_rows) / sizeof(*note_rows); i++) {
		const struct note_row *r = &note_rows[i];

		if (sm >= r->sm_first && sm <= r->sm_last && r->stall == o->median &&
		    !strcmp(r->op, o->op))
			return r->text;
	}
	return NULL;
}

/* How many of an operation have each stall. */
struct tally {
	struct stall_op op;
	uint32_t by_stall[STALLS];
};

/* By base mnemonic: what stands behind a dot in the name of a row (HFMA2.MMA) is none of it. NULL: no memory. */
static struct tally *tally_of(struct tally *t, uint32_t *n, const struct sass_row *row,
			      struct arena *arena)
{
	const size_t length = row->base_n;

	for (uint32_t i = 0; i < *n; i++)
		if (!strncmp(t[i].op.op, row->name, length) && !t[i].op.op[length])
			return &t[i];
	t[*n].op.op = arena_string(arena, row->name, length);
	return t[*n].op.op ? &t[(*n)++] : NULL;
}

static void finish(struct tally *t, int sm)
{
	uint32_t below = 0;
	unsigned s = 0;

	while (!t->by_stall[s])
		s++;
	t->op.minimum = (uint8_t)s;
	for (s = 0; below + t->by_stall[s] < (t->op.count + 1) / 2; s++)
		below += t->by_stall[s];
	t->op.median = (uint8_t)s;
	t->op.note = note_of(&t->op, sm);
}

static int by_count(const void *a, const void *b)
{
	const struct stall_op *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->op, y->op);
}

/* Different operations among the instructions are few; room for as many as could be. */
static uint32_t most_ops(const struct cfg *g)
{
	return g->insns_n < SASS_OPCODES ? g->insns_n : SASS_OPCODES;
}

int stall_ops(const struct cfg *g, struct arena *arena, const uint8_t *plan, struct stall_op **out,
	      uint32_t *n)
{
	const struct sass_table *table = sass_table(g->sm);
	struct tally *t = arena_array(arena, most_ops(g), sizeof(*t));
	struct tally **of_row = arena_array(arena, table ? table->rows_n : 0, sizeof(*of_row));

	*n = 0;
	*out = arena_array(arena, most_ops(g), sizeof(**out));
	if (!t || !of_row || !*out)
		return -1;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const uint8_t stall = g->insns[i].control.stall;
		const struct sass_row *row = g->insns[i].row;
		struct tally *o;

		if (!g->insns[i].is_decoded)
			continue;
		o = of_row[row->number];
		if (!o)
			o = of_row[row->number] = tally_of(t, n, row, arena);
		if (!o)
			return -1;
		o->op.count++;
		o->op.cycles += stall;
		o->by_stall[stall]++;
		if (plan && plan[i] < stall) {
			o->op.reducible++;
			o->op.saved += (uint32_t)(stall - plan[i]);
		}
	}
	for (uint32_t i = 0; i < *n; i++) {
		finish(&t[i], g->sm);
		(*out)[i] = t[i].op;
	}
	qsort(*out, *n, sizeof(**out), by_count);
	return 0;
}
