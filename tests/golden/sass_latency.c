/*
 * sass_latency.c - the shortest distances that compilers keep: cycles of stall between an instruction without
 * a scoreboard and the first that reads or overwrites what it wrote, or overwrites what it read; from an
 * instruction to the next; from setting a scoreboard to waiting for it. Straight-line code only.
 * analyzer/tables/latency.def comes from it.
 * usage: sass_latency [-n IMAGES] FILE...
 *        lines: sm, true|output|anti|next|barrier, operation, its register (0-3 of a run, P, U, Q = UP),
 *        other operation, its operand (g = guard, * = unseen) and register of it; count; distances with counts
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "golden/tool.h"

#define NAMES  512u
#define SLOTS  (1u << 20)
#define LENGTH 64u /* longer distances count as this */
#define KINDS  4u  /* R, UR, P, UP */
#define GUARD  14u
#define UNSEEN 15u

enum dependence { TRUE_DEPENDENCE, OUTPUT, ANTI, NEXT, BARRIER };

struct slot {
	uint64_t key; /* 0 = free */
	unsigned long by_distance[LENGTH + 1];
};

struct touch { /* the last instruction that wrote or read a register */
	uint32_t insn, clock, stamp;
	uint8_t part;
};

static char names[NAMES][16];
static unsigned names_n;
static struct slot *slots;
static struct touch written[KINDS][256], read_by[KINDS][256];
static uint32_t stamp;
static unsigned long most = ~0ul;

static unsigned name_of(const struct sass_insn *insn)
{
	char name[16];
	bool wide = false;

	for (unsigned i = 0; i < insn->operands_n; i++)
		wide |= (insn->operands[i].flags & SASS_DEST) &&
			insn->operands[i].kind == SASS_REG && insn->operands[i].regs == 2;
	snprintf(name, sizeof(name), "%.12s%s", sass_op(insn), wide ? "/2" : "");
	for (unsigned i = 0; i < names_n; i++)
		if (!strcmp(names[i], name))
			return i;
	if (names_n == NAMES)
		abort();
	memcpy(names[names_n], name, sizeof(name));
	return names_n++;
}

static void count(int sm, enum dependence d, unsigned from, unsigned part, unsigned to,
		  unsigned operand, unsigned at, uint32_t distance)
{
	const uint64_t key = (uint64_t)sm << 40 | (uint64_t)d << 36 | (uint64_t)from << 26 |
			     (uint64_t)part << 22 | (uint64_t)to << 12 | operand << 4 | at;
	uint32_t h = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 44);

	while (slots[h].key && slots[h].key != key)
		h = (h + 1) % SLOTS;
	slots[h].key = key;
	slots[h].by_distance[distance < LENGTH ? distance : LENGTH]++;
}

static unsigned kind_of(const struct sass_operand *o)
{
	switch (o->kind) {
	case SASS_REG: return o->reg == SASS_RZ ? KINDS : 0;
	case SASS_UREG: return o->reg == SASS_RZ ? KINDS : 1;
	case SASS_PRED: return o->reg == SASS_PT ? KINDS : 2;
	case SASS_UPRED: return o->reg == SASS_PT ? KINDS : 3;
	default: return KINDS;
	}
}

static bool is_written(const struct sass_operand *o)
{
	return (o->flags & SASS_DEST) && !(o->flags & (SASS_IN_ADDRESS | SASS_IN_BANK));
}

static bool exclude_each_other(const struct sass_insn *a, const struct sass_insn *b)
{
	return a->guard == b->guard && a->guard < SASS_PT && a->guard_not != b->guard_not;
}

static unsigned part_of(unsigned kind, unsigned at)
{
	static const unsigned by_kind[KINDS] = {0, 8, 4, 12};

	return kind == 0 || kind == 1 ? by_kind[kind] + (at < 3 ? at : 3) : by_kind[kind];
}

struct place {
	const struct cfg *g;
	uint32_t insn, clock;
};

static void meet(const struct place *p, enum dependence d, const struct touch *t, unsigned operand,
		 unsigned at)
{
	const struct sass_insn *from, *to = &p->g->insns[p->insn];

	if (t->stamp != stamp)
		return;
	from = &p->g->insns[t->insn];
	if (from->control.write_barrier < 6 || (d == ANTI && from->control.read_barrier < 6) ||
	    exclude_each_other(from, to))
		return;
	count(p->g->sm, d, name_of(from), t->part, name_of(to), operand, at, p->clock - t->clock);
}

static void each_register(const struct place *p, bool is_touch)
{
	const struct sass_insn *insn = &p->g->insns[p->insn];

	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];
		const unsigned kind = kind_of(o),
			       runs = o->kind == SASS_PRED || o->kind == SASS_UPRED ? 1 : o->regs;

		for (unsigned r = 0; kind < KINDS && r < runs && o->reg + r < SASS_RZ; r++) {
			struct touch *w = &written[kind][o->reg + r],
				     *x = &read_by[kind][o->reg + r];
			const unsigned index = o->index < 13 ? o->index : 13, at = r < 3 ? r : 3;
			const struct touch now = {p->insn, p->clock, stamp,
						  (uint8_t)part_of(kind, r)};

			if (is_touch)
				*(is_written(o) ? w : x) = now;
			else if (!is_written(o))
				meet(p, TRUE_DEPENDENCE, w, index, at);
			else {
				meet(p, OUTPUT, w, index, at);
				if (x->insn != p->insn)
					meet(p, ANTI, x, index, at);
			}
		}
	}
}

/* The guard, and predicates that are no operands: P2R. */
static void predicates(const struct place *p, bool is_touch)
{
	const struct sass_insn *insn = &p->g->insns[p->insn];
	const unsigned kind = insn->guard_uniform ? 3 : 2;
	const bool has_mask = !strcmp(sass_op(insn), "P2R") || !strcmp(sass_op(insn), "UP2UR");
	const struct touch now = {p->insn, p->clock, stamp, (uint8_t)part_of(kind, 0)};

	for (unsigned i = 0; i < SASS_PT; i++) {
		const unsigned k = has_mask ? (*sass_op(insn) == 'U' ? 3 : 2) : kind;

		if (!has_mask && insn->guard != i)
			continue;
		if (is_touch)
			read_by[k][i] = now;
		else
			meet(p, TRUE_DEPENDENCE, &written[k][i], has_mask ? UNSEEN : GUARD, 0);
	}
}

static void follow_block(const struct cfg *g, const struct cfg_block *b)
{
	uint32_t set_at[6], clock = 0;
	unsigned set_by[6];
	bool is_set[6] = {false};

	stamp++;
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct sass_control c = g->insns[i].control;
		const struct place p = {g, i, clock};

		if (!g->insns[i].is_decoded) {
			stamp++;
			continue;
		}
		for (unsigned n = 0; n < 6; n++) {
			if (is_set[n] && c.wait >> n & 1)
				count(g->sm, BARRIER, set_by[n], 0, name_of(&g->insns[i]), 0, 0,
				      clock - set_at[n]);
			if (c.wait >> n & 1)
				is_set[n] = false;
			if (c.write_barrier != n && c.read_barrier != n)
				continue;
			is_set[n] = true;
			set_at[n] = clock;
			set_by[n] = name_of(&g->insns[i]);
		}
		each_register(&p, false);
		predicates(&p, false);
		each_register(&p, true);
		predicates(&p, true);
		if (i + 1 < b->end)
			count(g->sm, NEXT, name_of(&g->insns[i]), 0, name_of(&g->insns[i + 1]), 0,
			      0, c.stall);
		clock += c.stall;
	}
}

static bool check_cubin(const struct image *image, const struct cubin *c)
{
	for (size_t k = 0; image->index < most && k < c->functions_n; k++) {
		struct arena *arena = arena_new();
		struct err e = {0};
		struct cfg g;

		if (arena && cfg_build(&g, arena, (int)c->sm, &c->functions[k], &e) == 0)
			for (uint32_t b = 0; b < g.blocks_n; b++)
				follow_block(&g, &g.blocks[b]);
		arena_free(arena);
	}
	return image->index < most;
}

static void print(const struct slot *s)
{
	static const char *const kinds[] = {"true", "output", "anti", "next", "barrier"};
	static const char *const parts[] = {"0", "1", "2",  "3",  "P",  "?", "?",
					    "?", "U", "U1", "U2", "U3", "Q"};
	const unsigned operand = s->key >> 4 & 0xff;
	unsigned long n = 0;

	for (unsigned i = 0; i <= LENGTH; i++)
		n += s->by_distance[i];
	printf("%d\t%s\t%s\t%s\t%s\t", (int)(s->key >> 40), kinds[s->key >> 36 & 15],
	       names[s->key >> 26 & 0x3ff], parts[s->key >> 22 & 15], names[s->key >> 12 & 0x3ff]);
	printf(operand == GUARD ? "g" : operand == UNSEEN ? "*" : "%u", operand);
	printf(".%u\t%lu\t", (unsigned)(s->key & 15), n);
	for (unsigned i = 0, shown = 0; i <= LENGTH && shown < 4; i++)
		if (s->by_distance[i] && ++shown)
			printf(" %u:%lu", i, s->by_distance[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	int first = 1, status = 0;

	slots = calloc(SLOTS, sizeof(*slots));
	if (!slots)
		return 1;
	if (argc > 2 && !strcmp(argv[1], "-n")) {
		most = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		status |= tool_each_cubin(argv[i], check_cubin);
	for (uint32_t i = 0; i < SLOTS; i++)
		if (slots[i].key)
			print(&slots[i]);
	return status;
}
