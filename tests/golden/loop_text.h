/*
 * loop_text.h - the loops of one function in the form of tests/golden/loops/EXPECTED, which
 * scripts/build-loops describes: made from struct cfg, to be compared with the reading made from
 * nvdisasm's text. For the unit test and for sass_loops.
 */
#ifndef KBN_LOOP_TEXT_H
#define KBN_LOOP_TEXT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfg.h"

struct loop_count {
	char op[32];
	unsigned n;
};

static int loop_count_compare(const void *a, const void *b)
{
	return strcmp(((const struct loop_count *)a)->op, ((const struct loop_count *)b)->op);
}

/* "FFMA:4 LDG:2" of the instructions of a loop, by what stands before the first dot. */
static void loop_text_counts(FILE *out, const struct cfg *g, uint32_t loop)
{
	struct loop_count counts[512] = {{{0}, 0}};
	size_t n = 0;

	for (uint32_t i = 0; i < g->insns_n; i++) {
		char op[32];
		size_t k = 0;

		if (!cfg_in_loop(g, g->block_of[i], loop))
			continue;
		snprintf(op, sizeof(op), "%s", sass_op(&g->insns[i]));
		op[strcspn(op, ".")] = '\0';
		while (k < n && strcmp(counts[k].op, op))
			k++;
		if (k == n && n < sizeof(counts) / sizeof(*counts))
			memcpy(counts[n++].op, op, sizeof(op));
		if (k < n)
			counts[k].n++;
	}
	qsort(counts, n, sizeof(*counts), loop_count_compare);
	for (size_t k = 0; k < n; k++)
		fprintf(out, "%s%s:%u", k ? " " : "", counts[k].op, counts[k].n);
}

/* Where it jumps back to its head, by offset. */
static void loop_text_backs(FILE *out, const struct cfg *g, uint32_t head)
{
	const char *comma = "";

	for (uint32_t b = 0; b < g->blocks_n; b++)
		for (uint32_t k = 0; k < g->blocks[b].successors_n; k++) {
			if (g->edges[g->blocks[b].successors + k] != head ||
			    !cfg_dominates(g, head, b))
				continue;
			fprintf(out, "%s%x", comma, (g->blocks[b].end - 1) * SASS_BYTES);
			comma = ",";
			break;
		}
}

/* Stretches of code that belong to it, and how many instructions. */
static void loop_text_ranges(FILE *out, const struct cfg *g, uint32_t loop)
{
	uint32_t n = 0;
	bool was_in = false;

	for (uint32_t i = 0; i <= g->insns_n; i++) {
		const bool is_in = i < g->insns_n && cfg_in_loop(g, g->block_of[i], loop);

		if (is_in && !was_in)
			fprintf(out, "%s%x", n ? "," : "", i * SASS_BYTES);
		if (!is_in && was_in)
			fprintf(out, "-%x", (i - 1) * SASS_BYTES);
		was_in = is_in;
		n += is_in;
	}
	fprintf(out, "\t%u", n);
}

/* The loop of that head, by the blocks: CFG_NONE = it heads none. */
static uint32_t loop_text_headed(const struct cfg *g, uint32_t block)
{
	for (uint32_t l = 0; l < g->loops_n; l++)
		if (g->loops[l].header == block)
			return l;
	return CFG_NONE;
}

static void loop_text(FILE *out, const struct cfg *g, const char *cubin, const char *function)
{
	fprintf(out, "%s\t%s\t%u%s\n", cubin, function, g->loops_n,
		g->is_irreducible ? " irreducible" : "");
	for (uint32_t b = 0; b < g->blocks_n; b++) {
		const uint32_t loop = loop_text_headed(g, b);
		const struct cfg_loop *l;

		if (loop == CFG_NONE)
			continue;
		l = &g->loops[loop];
		fprintf(out, "\t%x\t%u\t", g->blocks[b].first * SASS_BYTES, l->depth);
		if (l->parent == CFG_NONE)
			fputs("-\t", out);
		else
			fprintf(out, "%x\t",
				g->blocks[g->loops[l->parent].header].first * SASS_BYTES);
		loop_text_backs(out, g, b);
		putc('\t', out);
		loop_text_ranges(out, g, loop);
		fprintf(out, "\t%s\t",
			l->is_innermost   ? "innermost"
			: l->is_for_lanes ? "lanes"
					  : "-");
		if (l->is_innermost || l->is_for_lanes)
			loop_text_counts(out, g, loop);
		else
			putc('-', out);
		putc('\n', out);
	}
}

#endif
