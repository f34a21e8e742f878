/*
 * sass_rows.c - instructions for the rows of tables/sass_*.def that no example shows: rows that were learnt
 * by sweeps stand for words that no library may hold. Each is made of the row alone; the oracle says whether
 * it is legal, and what it is.
 * usage: sass_rows sm_XX < tests/golden/sass/sm_XX.txt | scripts/sass-oracle text sm_XX
 * Output: "hex 0" a line, some control codes each; on stderr how many rows there are without an example.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void fill(struct sass_word *w, const struct sass_item *x, unsigned *next)
{
	uint64_t v;

	if (!x->width || x->kind == SASS_ITEM_FLAG)
		return;
	v = value_for(x, next);
	for (unsigned i = x->pieces_n; i-- > 0; v >>= x->pieces[i].width)
		sass_set_bits(w, x->pieces[i].at, x->pieces[i].width, v);
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
	char line[1024], half[17] = "";
	struct sass_insn insn;
	struct sass_word w;

	while (fgets(line, sizeof(line), stdin)) {
		memcpy(half, line, 16);
		w.hi = strtoull(half, NULL, 16);
		memcpy(half, line + 16, 16);
		w.lo = strtoull(half, NULL, 16);
		sass_decode(sm, w, 0, &insn);
		if (insn.row)
			shown[insn.row - t->rows] = true;
	}
}

int main(int argc, char **argv)
{
	static bool shown[1 << 16];
	const int sm = argc > 1 && !strncmp(argv[1], "sm_", 3) ? atoi(argv[1] + 3) : 0;
	const struct sass_table *t = sass_table(sm);
	unsigned rows = 0, without = 0;

	if (!t) {
		fprintf(stderr, "usage: sass_rows sm_XX < EXAMPLES\n");
		return 2;
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
