/*
 * chain_cycle.h - the heaviest cycle of a graph by its mean (Karp 1978). Private to chain*.c. Input: the longest
 * paths of one turn, from each register that is carried around a loop to each.
 */
#ifndef KBN_CHAIN_CYCLE_H
#define KBN_CHAIN_CYCLE_H

#include <stdint.h>

struct arena;

#define CHAIN_NEVER INT32_MIN /* no path */

/*
 * The heaviest mean of a cycle in a graph of n nodes, 0 when it has none, NAN when memory has run out. Node i is
 * register carried[i]; the path from node `from` to it is paths[carried[i] * n + from]. Karp: over the walks of n
 * edges, the least mean of what any of them adds to its own first k edges.
 */
double chain_cycle(const int32_t *paths, const uint16_t *carried, uint32_t n,
		   struct arena *scratch);

#endif
