/*
 * kernel_access_unit.c - what is surely executed, and for how long that keeps the pipes of a scheduler busy. Nothing of
 * what is called counts, nor of what is not known to be executed. See kernel_access_look.h.
 */
#include <math.h>
#include <string.h>

#include "arch.h"
#include "arena.h"
#include "kernel_access_look.h"
#include "stall_path.h"

#define CACHED 256u /* rows whose pipe is remembered */
#define ROW    8u   /* bytes that two of them are apart at least */

enum { ISSUE = STALL_PIPE_NONE, UNITS = STALL_PIPE_XU + 1 };

/* Cycles of each unit in one pass of a block. */
struct cost {
	double of[UNITS];
};

struct known_pipe {
	const void *row;
	uint8_t pipe;
	double cycles;
};

/* What a guard may keep from being executed is issued, but may keep no pipe busy. */
static struct cost cost_of(const struct cfg *g, const struct cfg_block *b, const struct arch *a,
			   struct known_pipe *cache)
{
	struct cost c = {{0}};

	c.of[ISSUE] = b->end - b->first;
	for (uint32_t i = b->first; a && i < b->end; i++) {
		const struct sass_insn *insn = &g->insns[i];
		struct known_pipe *k = &cache[(uintptr_t)insn->row / ROW % CACHED];

		if (!insn->is_decoded || cfg_is_conditional(insn))
			continue;
		if (k->row != insn->row) {
			k->pipe = (uint8_t)stall_pipe_of(a, insn, &k->cycles);
			k->row = insn->row;
		}
		if (k->pipe != STALL_PIPE_NONE)
			c.of[k->pipe] += k->cycles;
	}
	return c;
}

static struct cost of_look(struct access_reader *k, const struct cost *blocks,
			   struct access_look *at)
{
	struct cost sum = {{0}};

	for (uint32_t b = 0; b < k->g.blocks_n; b++) {
		double n;

		if (!at->r.blocks[b].is_reached || cfg_is_called(&k->g, b))
			continue;
		n = access_times_least(k, at, b);
		for (unsigned u = 0; u < UNITS && n > 0; u++)
			sum.of[u] += n * blocks[b].of[u];
	}
	return sum;
}

/* Of all warps, by all at once or by some of them. */
static bool of_launch(struct access_reader *k, const struct arch *a, struct cost *out)
{
	struct cost *blocks = arena_array(k->scratch, k->g.blocks_n, sizeof(*blocks));
	struct access_tally t[UNITS] = {{.is_weight_known = true}};
	struct known_pipe cache[CACHED] = {{NULL, 0, 0}};

	if (!blocks)
		return false;
	memset(out, 0, sizeof(*out));
	for (uint32_t b = 0; b < k->g.blocks_n; b++)
		blocks[b] = cost_of(&k->g, &k->g.blocks[b], a, cache);
	if (k->has_any)
		*out = of_look(k, blocks, &k->any);
	for (unsigned u = 0; u < UNITS; u++)
		out->of[u] *= k->warps;
	for (unsigned i = 0; i < k->samples_n; i++) {
		const struct cost one = of_look(k, blocks, &k->samples[i]);

		for (unsigned u = 0; u < UNITS; u++) {
			t[u].is_weight_known = true;
			t[u].value[i] = t[u].low[i] = t[u].high[i] = one.of[u];
			t[u].weight[i] = k->samples[i].weight;
		}
	}
	for (unsigned u = 0; u < UNITS && k->samples_n; u++) {
		const struct access_mean m = access_mean(k, &t[u], 0, INFINITY);

		out->of[u] = fmax(out->of[u], m.low * m.weight);
	}
	return true;
}

bool access_units(struct access_reader *k, struct metric_access *out)
{
	const struct arch *a = arch_find(k->g.sm, NULL);
	struct cost all;

	if (!of_launch(k, a, &all))
		return false;
	if (!quantity_known(&out->warp_instructions))
		out->warp_instructions.low = all.of[ISSUE];
	for (unsigned u = ISSUE + 1; u < UNITS; u++)
		if (all.of[u] > out->pipe_cycles) {
			out->pipe_cycles = all.of[u];
			out->pipe = stall_pipe_name((enum stall_pipe)u);
		}
	return true;
}
