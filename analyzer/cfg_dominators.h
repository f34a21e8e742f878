/*
 * cfg_dominators.h - who dominates whom in a control flow graph; for cfg.c.
 */
#ifndef KBN_CFG_DOMINATORS_H
#define KBN_CFG_DOMINATORS_H

#include <stdbool.h>

#include "cfg.h"

/*
 * Of a graph with blocks, edges and entries fills is_reachable, idom and the numbers in the tree of
 * dominators. In m log n steps whatever the graph, m edges and n blocks. False when memory has run out.
 */
bool cfg_find_dominators(struct cfg *g, struct arena *arena);

#endif
