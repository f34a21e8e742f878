/*
 * sass_lives.c - what instructions read and write, and what is live, for comparisons with the life ranges
 * of another disassembler (scripts/sass-lives).
 * usage: sass_lives sm_XX < lines that begin with 32 hex digits      "WRITES < READS ; ROW" a line
 *        sass_lives CUBIN...       "function NAME"; then "ADDRESS WRITES < READS | OCCUPIED" a line
 * Registers: "R4-7 R9 UR4 P0 UP1". ROW: what tells it from others of its opcode. Occupied: live in front or
 * behind, or written. "?" in front of writes: not decoded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "dataflow.h"
#include "golden/tool.h"
#include "sass_table.h"

static void print_class(const char *name, const uint64_t set[4])
{
	for (unsigned i = 0; i < 256; i++) {
		const unsigned first = i;

		while (i < 256 && set[i / 64] >> i % 64 & 1)
			i++;
		if (i > first + 1)
			printf("%s%u-%u ", name, first, i - 1);
		else if (i > first)
			printf("%s%u ", name, first);
	}
}

static void print_set(const struct regset *s)
{
	const uint64_t p[4] = {s->p}, up[4] = {s->up};

	print_class("R", s->r);
	print_class("P", p);
	print_class("UR", s->ur);
	print_class("UP", up);
}

static void print_effects(const struct sass_insn *insn)
{
	struct effects x;

	dataflow_effects(insn, &x);
	printf("%s", insn->is_decoded ? "" : "?");
	print_set(&x.writes);
	printf("< ");
	print_set(&x.reads);
}

/* What tells it from others of its opcode, on any architecture. */
static void print_row(const struct sass_table *t, const struct sass_row *r)
{
	if (r)
		printf("%016llx%016llx", (unsigned long long)r->value.hi,
		       (unsigned long long)r->value.lo);
	for (uint32_t i = 0; r && i < r->mods_n; i++) {
		const struct sass_item *x = &t->items[r->mods_first + i];

		if (x->choice)
			printf(" %s", x->choice->name);
		else
			printf(" %.*s", (int)x->text_n, x->text);
	}
	putchar('\n');
}

static int print_words(int sm)
{
	static char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		struct sass_insn insn;
		struct sass_word w;

		if (!tool_word(line, &w))
			continue;
		sass_decode(sm, w, 0, &insn);
		print_effects(&insn);
		printf("; ");
		print_row(sass_table(sm), insn.row);
	}
	return 0;
}

static void add_behind(const struct cfg *g, const struct regset *live, uint32_t at,
		       struct regset *out)
{
	const struct cfg_block *b = &g->blocks[g->block_of[at]];

	if (at + 1 < b->end)
		regset_add(out, &live[at + 1]);
	else
		for (uint32_t i = 0; i < b->successors_n; i++)
			regset_add(out, &live[g->blocks[g->edges[b->successors + i]].first]);
}

static void print_function(int sm, const struct cubin_function *f)
{
	struct arena *arena = arena_new();
	struct err e = {0};
	struct cfg g;

	if (arena && cfg_build(&g, arena, sm, f, &e) == 0) {
		const struct regset *live = dataflow_live(&g, arena);

		printf("function %s\n", f->name);
		for (uint32_t i = 0; live && i < g.insns_n; i++) {
			struct regset occupied = live[i];
			struct effects x;

			dataflow_effects(&g.insns[i], &x);
			regset_add(&occupied, &x.writes);
			add_behind(&g, live, i, &occupied);
			printf("%x ", i * SASS_BYTES);
			print_effects(&g.insns[i]);
			printf("| ");
			print_set(&occupied);
			putchar('\n');
		}
	}
	arena_free(arena);
}

static bool print_cubin(const struct image *image, const struct cubin *c)
{
	(void)image;
	for (size_t k = 0; k < c->functions_n; k++)
		print_function((int)c->sm, &c->functions[k]);
	return true;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 2 && !strncmp(argv[1], "sm_", 3) && sass_has(atoi(argv[1] + 3)))
		return print_words(atoi(argv[1] + 3));
	if (argc < 2) {
		fprintf(stderr, "usage: sass_lives sm_XX | CUBIN...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		status |= tool_each_cubin(argv[i], print_cubin);
	return status;
}
