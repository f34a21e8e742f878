/*
 * sass_rows.c - instructions for the rows of tables/sass_*.def that no example shows: rows that were learnt
 * by sweeps stand for words that no library may hold. Each is made of the row alone; the oracle says whether
 * it is legal, and what it is.
 * usage: sass_rows sm_XX < tests/golden/sass/sm_XX.txt | scripts/sass-oracle text sm_XX
 *        sass_rows -a sm_XX < the same, or a corpus | scripts/sass-lives effects sm_XX
 * Output: "hex 0" a line, some control codes each; on stderr how many rows there are without an example.
 * -a: every row, with each choice and flag of its modifiers once, and each different word that is read,
 *     with registers far apart and predicates of their own: what is read and written can be told apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/tool.h"
#include "sass_table.h"

/* A value that is unlike that of its neighbours, and that an instruction may well have. */
static uint64_t value_for(const struct sass_item *x, unsigned *next)
{
	uint64_t v = 0;

	switch (x->kind) {
	case SASS_ITEM_REG:
	case SASS_ITEM_UREG: return *next += 4;
	case SASS_ITEM_PRED:
	case SASS_ITEM_UPRED: return 7u ^ x->flip;
	case SASS_ITEM_CHOICE:
		while (v + 1 < UINT64_C(1) << x->choice->width && !x->choice->texts[v])
			v++;
		return v;
	case SASS_ITEM_F32: return 0x3f800000;
	case SASS_ITEM_F64: return 0x3ff00000;
	case SASS_ITEM_F16:
	case SASS_ITEM_BF16: return 0x3c00;
	case SASS_ITEM_SPECIAL: return 33;
	default: return x->width > 3 ? 4 : 0;
	}
}

static void put(struct sass_word *w, const struct sass_item *x, uint64_t v)
{
	for (unsigned i = x->pieces_n; i-- > 0; v >>= x->pieces[i].width)
		sass_set_bits(w, x->pieces[i].at, x->pieces[i].width, v);
}

static void fill(struct sass_word *w, const struct sass_item *x, unsigned *next)
{
	if (x->width && x->kind != SASS_ITEM_FLAG)
		put(w, x, value_for(x, next));
}

/* Stall and barriers decide what is legal: without a barrier, and setting one. */
static struct sass_word make(const struct sass_table *t, const struct sass_row *r, unsigned stall,
			     unsigned barrier)
{
	struct sass_word w = {0, 0};
	unsigned next = 0;

	sass_set_bits(&w, 12, 3, SASS_PT);
	sass_set_bits(&w, 105, 5, stall | 16);
	sass_set_bits(&w, 110, 3, barrier);
	sass_set_bits(&w, 113, 3, 7);
	for (unsigned i = 0; i < r->mods_n; i++)
		fill(&w, &t->items[r->mods_first + i], &next);
	for (unsigned i = 0; i < r->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[r->operands_first + i];

		for (unsigned k = 0; k < o->n; k++)
			fill(&w, &t->items[o->first + k], &next);
	}
	w.lo = (w.lo & ~r->mask.lo) | r->value.lo;
	w.hi = (w.hi & ~r->mask.hi) | r->value.hi;
	return w;
}

static void mark_shown(int sm, const struct sass_table *t, bool *shown)
{
	char line[1024];
	struct sass_insn insn;
	struct sass_word w;

	while (fgets(line, sizeof(line), stdin)) {
		if (!tool_word(line, &w))
			continue;
		sass_decode(sm, w, 0, &insn);
		if (insn.row)
			shown[insn.row - t->rows] = true;
	}
}

/* ------------------------------------------------------- registers that can be told from each other */

#define SEEN_MAX (1u << 20)

struct places { /* the next free register of each kind */
	unsigned r_dest, r, ur_dest, ur, p_dest, p, up_dest, up;
};

static void place(struct sass_word *w, const struct sass_item *x, bool is_dest, struct places *n)
{
	unsigned v;

	switch (x->kind) {
	case SASS_ITEM_REG:
		v = is_dest ? n->r_dest : n->r;
		*(is_dest ? &n->r_dest : &n->r) += is_dest ? 128 : 8;
		break;
	case SASS_ITEM_UREG:
		v = is_dest ? n->ur_dest : n->ur;
		*(is_dest ? &n->ur_dest : &n->ur) += is_dest ? 4 : 8;
		break;
	case SASS_ITEM_PRED: v = is_dest ? n->p_dest++ : n->p++; break;
	case SASS_ITEM_UPRED: v = is_dest ? n->up_dest++ : n->up++; break;
	default: return;
	}
	put(w, x, v ^ x->flip);
}

static struct sass_word spread(const struct sass_table *t, const struct sass_row *r,
			       struct sass_word w)
{
	struct places n = {64, 8, 4, 16, 0, 2, 0, 2};

	sass_set_bits(&w, 12, 4, SASS_PT);
	for (unsigned i = 0; i < r->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[r->operands_first + i];

		for (unsigned k = 0; k < o->n; k++)
			place(&w, &t->items[o->first + k], o->is_dest, &n);
	}
	w.lo = (w.lo & ~r->mask.lo) | r->value.lo;
	w.hi = (w.hi & ~r->mask.hi) | r->value.hi;
	return w;
}

/* Where a word is, or has its place. */
static struct sass_word *find(struct sass_word w)
{
	static struct sass_word seen[SEEN_MAX];
	const uint64_t h = (w.lo ^ w.hi * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
	uint64_t i = h >> 44;

	while ((seen[i].lo || seen[i].hi) && (seen[i].lo != w.lo || seen[i].hi != w.hi))
		i = (i + 1) % SEEN_MAX;
	return &seen[i];
}

/* Of words that are known to be legal, one whatever its control code; of others, one with each. */
static void print_once(int sm, const struct sass_row *r, struct sass_word w, bool is_legal)
{
	struct sass_word bare = w;
	struct sass_insn insn;

	if (!sass_decode(sm, w, 0, &insn) || insn.row != r)
		return;
	sass_set_bits(&bare, 105, 17, 0);
	if (find(bare)->lo || find(w)->lo)
		return;
	*find(w) = w;
	if (is_legal)
		*find(bare) = bare;
	printf("%016llx%016llx 0\n", (unsigned long long)w.hi, (unsigned long long)w.lo);
}

/* The word, and with another value of this choice or flag. */
static void print_others(int sm, const struct sass_table *t, const struct sass_row *r,
			 struct sass_word w, const struct sass_item *x)
{
	const bool is_choice = x->kind == SASS_ITEM_CHOICE;
	const unsigned values = is_choice ? 1u << x->choice->width : 2;

	if (!is_choice && x->kind != SASS_ITEM_FLAG)
		return;
	for (unsigned v = 0; v < values; v++) {
		if (is_choice && !x->choice->texts[v])
			continue;
		put(&w, x, v);
		print_once(sm, r, spread(t, r, w), false);
	}
}

static void print_row(int sm, const struct sass_table *t, const struct sass_row *r,
		      struct sass_word w)
{
	print_once(sm, r, spread(t, r, w), false);
	for (unsigned i = 0; i < r->mods_n; i++)
		print_others(sm, t, r, w, &t->items[r->mods_first + i]);
	for (unsigned i = 0; i < r->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[r->operands_first + i];

		for (unsigned k = 0; k < o->n; k++)
			print_others(sm, t, r, w, &t->items[o->first + k]);
	}
}

/* What is read, with immediates, banks and offsets of no account: one word of a kind is enough. */
static struct sass_word without_numbers(const struct sass_table *t, const struct sass_row *r,
					struct sass_word w)
{
	for (unsigned i = 0; i < r->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[r->operands_first + i];

		for (unsigned k = 0; k < o->n; k++) {
			const struct sass_item *x = &t->items[o->first + k];

			if (x->kind >= SASS_ITEM_HEX && x->kind != SASS_ITEM_SPECIAL &&
			    x->width >= 14)
				put(&w, x, 0);
		}
	}
	sass_set_bits(&w, 122, 3, 0);
	sass_set_bits(&w, 116, 6, 0);
	return w;
}

static void print_all(int sm, const struct sass_table *t)
{
	char line[4096];
	struct sass_insn insn;
	struct sass_word w;

	while (fgets(line, sizeof(line), stdin)) {
		if (!tool_word(line, &w))
			continue;
		if (sass_decode(sm, w, 0, &insn))
			print_once(sm, insn.row,
				   spread(t, insn.row, without_numbers(t, insn.row, w)), true);
	}
	for (unsigned op = 0; op < SASS_OPCODES; op++)
		for (unsigned i = 0; i < t->by_opcode[op].n; i++)
			for (unsigned k = 0; k < 4; k++) {
				const struct sass_row *r = &t->rows[t->by_opcode[op].first + i];

				print_row(sm, t, r, make(t, r, k & 1 ? 1 : 5, k & 2 ? 0 : 7));
			}
}

int main(int argc, char **argv)
{
	static bool shown[1 << 16];
	const bool all = argc > 1 && !strcmp(argv[1], "-a");
	const char *arch = argc > 1 + all ? argv[1 + all] : "";
	const int sm = !strncmp(arch, "sm_", 3) ? atoi(arch + 3) : 0;
	const struct sass_table *t = sass_table(sm);
	unsigned rows = 0, without = 0;

	if (!t) {
		fprintf(stderr, "usage: sass_rows [-a] sm_XX < EXAMPLES\n");
		return 2;
	}
	if (all) {
		print_all(sm, t);
		return 0;
	}
	mark_shown(sm, t, shown);
	for (unsigned op = 0; op < SASS_OPCODES; op++)
		for (unsigned i = 0; i < t->by_opcode[op].n; i++, rows++) {
			const unsigned row = t->by_opcode[op].first + i;

			without += !shown[row];
			for (unsigned k = 0; !shown[row] && k < 4; k++) {
				const struct sass_word w =
					make(t, &t->rows[row], k & 1 ? 1 : 5, k & 2 ? 0 : 7);
				struct sass_insn insn;

				if (sass_decode(sm, w, 0, &insn) && insn.row == &t->rows[row])
					printf("%016llx%016llx 0\n", (unsigned long long)w.hi,
					       (unsigned long long)w.lo);
			}
		}
	fprintf(stderr, "sm_%d: %u of %u rows without an example\n", sm, without, rows);
	return 0;
}
