/*
 * fuzz_stall.c - stalls that may be lowered, the way of a warp and many warps on it, on code that nobody compiled.
 * Input: a byte for the architecture, one for the geometry, then instructions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "stall_sim.h"

#define check(x) ((x) ? (void)0 : (fprintf(stderr, "%s\n", #x), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plan(const struct cfg *g, struct arena *arena)
{
	const uint8_t *plan = stall_plan(g, arena);

	for (uint32_t i = 0; plan && i < g->insns_n; i++) {
		check(plan[i] <= g->insns[i].control.stall);
		check(plan[i] || !g->insns[i].control.stall);
	}
}

static void check_run(const struct stall_path *p, unsigned geometry, struct arena *arena)
{
	const struct stall_sm sm = {
		.warps = 1 + geometry % 4 * (1 + geometry / 4 % 4),
		.block_warps = 1 + geometry / 4 % 4,
		.schedulers = 1 + geometry / 16 % 4,
		.blocks = 1 + geometry,
		.bytes_per_cycle = geometry & 1 ? 0.001 : 20,
		.latency = geometry & 2 ? 5 : 700,
		.shared_by = 1,
		.is_local_in_l1 = geometry & 4,
	};
	struct stall_shares s;

	if (!stall_sim(p, &sm, arena, &s))
		return;
	for (int r = 0; r < STALL_REASONS; r++)
		for (int i = 0; i < 2; i++)
			check(isfinite(s.cycles[i][r]) && s.cycles[i][r] >= 0);
	check(s.issued > 0 && s.work > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int sms[] = {75, 80, 90, 100, 120};
	struct arena *arena = arena_new();
	struct cubin_function f = {0};
	const struct stall_path *p;
	struct err e = {0};
	struct cfg g;

	if (arena && size > 2 && size < 1 << 15) {
		f.code = buf_of(data + 2, size - 2);
		if (cfg_build(&g, arena, sms[data[0] % 5], &f, &e) == 0) {
			check_plan(&g, arena);
			p = stall_path_read(&g, arena, arena);
			for (uint32_t i = 0; p && i < p->n; i++)
				check(p->steps[i].insn < g.insns_n && p->steps[i].weight > 0);
			if (p && p->n)
				check_run(p, data[1], arena);
		}
	}
	arena_free(arena);
	return 0;
}
