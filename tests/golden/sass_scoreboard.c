/*
 * sass_scoreboard.c - whether control codes and operands fit together: behind an instruction that sets a
 * write barrier, the first one that reads or overwrites its result, or one between, waits for that
 * barrier. Straight-line code only. A wrong barrier field, wait mask or register shows here.
 * usage: sass_scoreboard CUBIN...        prints pairs, how many wait, and some that do not
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cubin.h"
#include "dataflow.h"
#include "sass_text.h"

static unsigned long pairs, waiting, shown;

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
		if (!regset_meets(&x.reads, &made.writes))
			continue;
		pairs++;
		waiting += waited;
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

	if (arena && cfg_build(&g, arena, (int)c->sm, f->code, f->branches, f->branches_n, &e) == 0)
		for (uint32_t i = 0; i < g.insns_n; i++)
			if (g.insns[i].is_decoded && g.insns[i].control.write_barrier < 6)
				follow(&g, i, f->name);
	arena_free(arena);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct err e = {0};
		struct cubin c;
		uint8_t *data;
		size_t bytes;

		if (buf_load(argv[i], (size_t)1 << 30, &data, &bytes, &e) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], e.text);
			return 1;
		}
		if (cubin_open(&c, buf_of(data, bytes), &e) == 0) {
			for (size_t k = 0; k < c.functions_n; k++)
				check(&c, &c.functions[k]);
			cubin_close(&c);
		}
		free(data);
	}
	printf("%lu pairs, %lu wait: %.4f%%\n", pairs, waiting, pairs ? 100.0 * (double)waiting / (double)pairs : 100);
	return pairs && (double)waiting < 0.999 * (double)pairs;
}
