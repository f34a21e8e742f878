/*
 * cfg_dominators.c - see cfg_dominators.h. The algorithm of Lengauer and Tarjan ("A Fast Algorithm for
 * Finding Dominators in a Flowgraph", 1979) in its simple form. Iterations over the blocks would be
 * shorter, but take the square of the number of blocks where many of them branch to one: a function that
 * checks every access, say.
 *
 * Nodes are blocks by the order in which a search in depth meets them, from 1 on; node 0 is a root above
 * all entries.
 */
#include "cfg_dominators.h"

#include "arena.h"

struct search {
	struct cfg *g;
	uint32_t n;             /* nodes, with the root */
	uint32_t *block, *node; /* block of a node, node of a block */
	uint32_t *parent;       /* in the tree of the search */
	uint32_t *semi;         /* semidominator */
	uint32_t *idom;
	uint32_t *ancestor,
		*best; /* the forest: node above, and that with the least semi on the way there */
	uint32_t *first, *next; /* nodes by their semidominator, in lists; 0 = end */
	uint32_t *stack;
};

static bool take_all(struct search *s, struct arena *arena)
{
	const size_t n = (size_t)s->g->blocks_n + 1;
	uint32_t **const all[] = {&s->block, &s->node,     &s->parent, &s->semi,  &s->idom,
				  &s->stack, &s->ancestor, &s->best,   &s->first, &s->next};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		*all[i] = arena_array(arena, n, sizeof(uint32_t));
		if (!*all[i])
			return false;
	}
	return true;
}

static void meet(struct search *s, uint32_t block, uint32_t parent)
{
	const uint32_t v = s->n++;

	s->g->blocks[block].is_reachable = true;
	s->block[v] = block;
	s->node[block] = v;
	s->parent[v] = parent;
	s->semi[v] = s->best[v] = v;
	s->ancestor[v] = CFG_NONE;
}

/* In depth without recursion: of next[] the number of successors that were looked at. */
static void number_nodes(struct search *s)
{
	struct cfg *g = s->g;

	s->n = 1;
	s->ancestor[0] = CFG_NONE;
	for (uint32_t root = 0; root < g->blocks_n; root++) {
		uint32_t depth = 0;

		if (!g->blocks[root].is_entry || g->blocks[root].is_reachable)
			continue;
		meet(s, root, 0);
		s->stack[depth++] = s->node[root];
		while (depth) {
			const uint32_t v = s->stack[depth - 1];
			const struct cfg_block *x = &g->blocks[s->block[v]];
			uint32_t to;

			if (s->next[v] == x->successors_n) {
				s->next[v] = 0;
				depth--;
				continue;
			}
			to = g->edges[x->successors + s->next[v]++];
			if (!g->blocks[to].is_reachable) {
				meet(s, to, v);
				s->stack[depth++] = s->node[to];
			}
		}
	}
}

/* The node with the least semidominator on the way from v up in the forest; shortens that way. */
static uint32_t eval(struct search *s, uint32_t v)
{
	uint32_t depth = 0;

	if (s->ancestor[v] == CFG_NONE)
		return v;
	for (uint32_t x = v; s->ancestor[s->ancestor[x]] != CFG_NONE; x = s->ancestor[x])
		s->stack[depth++] = x;
	while (depth) {
		const uint32_t x = s->stack[--depth], up = s->ancestor[x];

		if (s->semi[s->best[up]] < s->semi[s->best[x]])
			s->best[x] = s->best[up];
		s->ancestor[x] = s->ancestor[up];
	}
	return s->best[v];
}

static uint32_t semidominator(struct search *s, uint32_t v)
{
	const struct cfg *g = s->g;
	const struct cfg_block *x = &g->blocks[s->block[v]];
	uint32_t least = x->is_entry ? 0 : s->parent[v];

	for (uint32_t i = 0; i < x->predecessors_n; i++) {
		const uint32_t p = s->node[g->edges[x->predecessors + i]];
		const uint32_t semi = p ? s->semi[eval(s, p)] : least; /* 0: not reachable */

		least = semi < least ? semi : least;
	}
	return least;
}

/* Nodes whose semidominator is the parent of v have their dominator on the way from there to v. */
static void settle(struct search *s, uint32_t parent)
{
	while (s->first[parent]) {
		const uint32_t w = s->first[parent], u = eval(s, w);

		s->first[parent] = s->next[w];
		s->idom[w] = s->semi[u] < s->semi[w] ? u : parent;
	}
}

static void find_idoms(struct search *s)
{
	for (uint32_t v = s->n; v-- > 1;) {
		s->semi[v] = semidominator(s, v);
		s->next[v] = s->first[s->semi[v]];
		s->first[s->semi[v]] = v;
		s->ancestor[v] = s->parent[v];
		settle(s, s->parent[v]);
	}
	for (uint32_t v = 1; v < s->n; v++)
		if (s->idom[v] != s->semi[v])
			s->idom[v] = s->idom[s->idom[v]];
}

/* Numbers the tree so that a look at two pairs of numbers says who dominates whom. */
static void number_tree(struct search *s)
{
	uint32_t *size = s->first, *at = s->next; /* of no use any more */

	for (uint32_t v = 0; v < s->n; v++)
		size[v] = 1;
	for (uint32_t v = s->n; v-- > 1;) /* whoever dominates a node has a lower number */
		size[s->idom[v]] += size[v];
	at[0] = 1;
	for (uint32_t v = 1; v < s->n; v++) {
		struct cfg_block *x = &s->g->blocks[s->block[v]];

		x->idom = s->idom[v] ? s->block[s->idom[v]] : CFG_NONE;
		x->tree_first = at[s->idom[v]];
		x->tree_last = x->tree_first + size[v] - 1;
		at[v] = x->tree_first + 1;
		at[s->idom[v]] += size[v];
	}
}

bool cfg_find_dominators(struct cfg *g, struct arena *arena)
{
	struct search s = {.g = g};

	if (!take_all(&s, arena))
		return false;
	number_nodes(&s);
	find_idoms(&s);
	number_tree(&s);
	return true;
}
