/*
 * fuzz_cfg.c - any bytes as the code of a function: blocks tile it, edges agree in both directions,
 * dominators and loops are what their names say; and what is read of its chains and idioms is in bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "arena.h"
#include "cfg.h"
#include "chain.h"
#include "idiom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static int holds_edge(const struct cfg *g, uint32_t first, uint32_t n, uint32_t block)
{
	for (uint32_t i = 0; i < n; i++)
		if (g->edges[first + i] == block)
			return 1;
	return 0;
}

static void check_block(const struct cfg *g, uint32_t b)
{
	const struct cfg_block *x = &g->blocks[b];

	check(x->first < x->end && x->end <= g->insns_n);
	check(b == 0 ? x->first == 0 : x->first == g->blocks[b - 1].end);
	for (uint32_t i = x->first; i < x->end; i++)
		check(g->block_of[i] == b);
	for (uint32_t i = 0; i < x->successors_n; i++) {
		const uint32_t to = g->edges[x->successors + i];

		check(to < g->blocks_n);
		check(holds_edge(g, g->blocks[to].predecessors, g->blocks[to].predecessors_n, b));
		check(!x->is_reachable || g->blocks[to].is_reachable);
	}
	check(x->idom == CFG_NONE || (x->idom < g->blocks_n && g->blocks[x->idom].is_reachable));
	check(x->loop == CFG_NONE || (x->loop < g->loops_n && x->is_reachable));
	if (x->loop != CFG_NONE)
		check(cfg_dominates(g, g->loops[x->loop].header, b));
}

static void check_chain(const struct chain *c)
{
	check(!(c->cycles < 0) && !(c->loads < 0) && !(c->loads > c->all_loads));
	check(!(c->issue < 0));
}

static void check_readings(const struct cfg *g, struct arena *arena)
{
	struct chain *loops, straight;
	struct idioms x;

	check(chain_read(g, arena, &loops, &straight) == 0);
	check_chain(&straight);
	for (uint32_t l = 0; l < g->loops_n; l++)
		check_chain(&loops[l]);
	check(idiom_read(g, arena, &x) == 0);
	check(!x.doubles || x.doubles_at < g->insns_n);
	check(!x.multiplies || (x.product_at < g->insns_n && x.sums && x.sums <= x.multiplies));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int sms[] = {75, 80, 90, 100, 120};
	struct arena *arena = arena_new();
	struct cubin_function f = {0};
	struct err e = {0};
	struct cfg g;

	if (!arena || !size || size > 1 << 16) {
		arena_free(arena);
		return 0;
	}
	f.code = buf_of(data + 1, size - 1);
	if (cfg_build(&g, arena, sms[data[0] % 5], &f, &e) < 0) {
		check(e.code != ERR_NONE && e.text[0]);
		arena_free(arena);
		return 0;
	}
	check(!g.insns_n || (g.blocks_n && g.blocks[g.blocks_n - 1].end == g.insns_n));
	for (uint32_t b = 0; b < g.blocks_n; b++)
		check_block(&g, b);
	for (uint32_t l = 0; l < g.loops_n; l++) {
		const struct cfg_loop *x = &g.loops[l];

		check(x->header < g.blocks_n && x->depth >= 1 && x->blocks_n >= 1);
		check(cfg_in_loop(&g, x->header, l) && x->first <= x->last && x->last < g.insns_n);
		check(!x->is_for_lanes || !x->is_innermost);
		check(x->parent == CFG_NONE || !g.loops[x->parent].is_for_lanes);
		check(x->parent == CFG_NONE || g.loops[x->parent].depth + 1 == x->depth);
	}
	check_readings(&g, arena);
	arena_free(arena);
	return 0;
}
