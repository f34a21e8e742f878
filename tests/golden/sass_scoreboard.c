/*
 * sass_scoreboard.c - whether control codes and operands fit together: behind an instruction that sets a
 * write barrier, the first one that reads or overwrites its result, or one between, waits for that
 * barrier. Straight-line code only, and not between opposite guards. A wrong barrier field, wait mask or register shows here.
 * usage: sass_scoreboard [-n IMAGES] FILE...      pairs, how many wait, and some that do not;
 *        exit status 1 when less than 99.9 % of an architecture do
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "golden/tool.h"
#include "sass_text.h"

static unsigned long pairs[128], waiting[128], shown, most = ~0ul;

static void show(const struct cfg *g, uint32_t producer, uint32_t consumer, const char *function)
{
	char a[SASS_TEXT_MAX], b[SASS_TEXT_MAX];

	if (shown++ >= 20)
		return;
	sass_text(g->sm, &g->insns[producer], a);
	sass_text(g->sm, &g->insns[consumer], b);
	printf("sm_%d %s 0x%x: %s -> 0x%x: %s\n", g->sm, function, producer * SASS_BYTES, a,
	       consumer * SASS_BYTES, b);
}

/* Under opposite guards: never both for one thread, so neither waits for the other. */
static bool exclude_each_other(const struct sass_insn *a, const struct sass_insn *b)
{
	return a->guard == b->guard && a->guard < SASS_PT && a->guard_not != b->guard_not;
}

static void follow(const struct cfg *g, uint32_t producer, const char *function)
{
	const struct cfg_block *block = &g->blocks[g->block_of[producer]];
	const unsigned barrier = g->insns[producer].control.write_barrier;
	struct effects made, x;
	bool waited = false;

	dataflow_effects(&g->insns[producer], &made);
	for (uint32_t i = producer + 1; i < block->end; i++) {
		waited |= g->insns[i].control.wait >> barrier & 1;
		dataflow_effects(&g->insns[i], &x);
		if (!x.is_certain)
			return;
		regset_add(&x.reads, &x.writes);
		if (!regset_meets(&x.reads, &made.writes) ||
		    exclude_each_other(&g->insns[producer], &g->insns[i]))
			continue;
		pairs[g->sm]++;
		waiting[g->sm] += waited;
		if (!waited)
			show(g, producer, i, function);
		return;
	}
}

static void check(const struct cubin *c, const struct cubin_function *f)
{
	struct arena *arena = arena_new();
	struct err e = {0};
	struct cfg g;

	if (arena && cfg_build(&g, arena, (int)c->sm, f, &e) == 0)
		for (uint32_t i = 0; i < g.insns_n; i++)
			if (g.insns[i].is_decoded && g.insns[i].control.write_barrier < 6)
				follow(&g, i, f->name);
	arena_free(arena);
}

static bool check_cubin(const struct image *image, const struct cubin *c)
{
	for (size_t k = 0; image->index < most && k < c->functions_n; k++)
		check(c, &c->functions[k]);
	return image->index < most;
}

int main(int argc, char **argv)
{
	int first = 1, status = 0;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		most = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		status |= tool_each_cubin(argv[i], check_cubin);
	for (int sm = 0; sm < 128; sm++) {
		if (!pairs[sm])
			continue;
		status |= (double)waiting[sm] < 0.999 * (double)pairs[sm];
		printf("sm_%-4d %9lu pairs, %9lu wait: %.4f%%\n", sm, pairs[sm], waiting[sm],
		       100.0 * (double)waiting[sm] / (double)pairs[sm]);
	}
	return status;
}
