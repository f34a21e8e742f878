/* chain_cycle.c - see chain_cycle.h. */
#include "chain_cycle.h"

#include <math.h>
#include <stdbool.h>

#include "arena.h"

/* Of a graph of registers: [first[to], first[to + 1]) are the edges into one. Most have few. */
struct edge {
	uint32_t from;
	int32_t weight;
};

struct graph {
	uint32_t n, *first;
	struct edge *edges;
};

/* paths[register * n + from]; false: memory has run out */
static bool find_edges(struct graph *g, const int32_t *paths, const uint16_t *carried,
		       struct arena *scratch)
{
	uint32_t edges_n = 0;

	g->first = arena_array(scratch, g->n + 1u, sizeof(*g->first));
	g->edges = arena_array(scratch, (size_t)g->n * g->n, sizeof(*g->edges));
	if (!g->first || !g->edges)
		return false;
	for (uint32_t to = 0; to < g->n; to++) {
		const int32_t *into = &paths[(size_t)carried[to] * g->n];

		for (uint32_t from = 0; from < g->n; from++)
			if (into[from] != CHAIN_NEVER)
				g->edges[edges_n++] = (struct edge){from, into[from]};
		g->first[to + 1] = edges_n;
	}
	return true;
}

/* Of a walk one edge longer than `before`, to each node. */
static void walk_on(const struct graph *g, const int64_t *before, int64_t *after)
{
	for (uint32_t to = 0; to < g->n; to++) {
		int64_t best = INT64_MIN;

		for (uint32_t i = g->first[to]; i < g->first[to + 1]; i++) {
			const struct edge *e = &g->edges[i];

			if (before[e->from] != INT64_MIN && before[e->from] + e->weight > best)
				best = before[e->from] + e->weight;
		}
		after[to] = best;
	}
}

double chain_cycle(const int32_t *paths, const uint16_t *carried, uint32_t n, struct arena *scratch)
{
	int64_t *walk = arena_array(scratch, (size_t)(n + 1) * n, sizeof(*walk));
	struct graph g = {.n = n};
	double heaviest = 0;

	if (!walk || !find_edges(&g, paths, carried, scratch))
		return NAN;
	for (uint32_t k = 1; k <= n; k++)
		walk_on(&g, &walk[(size_t)(k - 1) * n], &walk[(size_t)k * n]);
	for (uint32_t to = 0; to < n; to++) {
		const int64_t all = walk[(size_t)n * n + to];
		double least = INFINITY;

		for (uint32_t k = 0; all != INT64_MIN && k < n; k++)
			if (walk[(size_t)k * n + to] != INT64_MIN)
				least = fmin(least,
					     (double)(all - walk[(size_t)k * n + to]) / (n - k));
		if (isfinite(least))
			heaviest = fmax(heaviest, least);
	}
	return heaviest;
}
