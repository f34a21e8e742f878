/*
 * graph.h - what an instantiated graph launches: its kernel nodes, by version.
 */
#ifndef KBN_SHIM_GRAPH_H
#define KBN_SHIM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "kbn_cuda.h"

/* After an instantiation or an update succeeded: walk the kernel nodes of the graph it was made of. */
void kbn_graph_instantiated(CUgraphExec exec, CUgraph graph);
void kbn_graph_updated(CUgraphExec exec, CUgraph graph);

/* One node of `exec` has new parameters, or was switched on or off. */
void kbn_graph_node_changed(CUgraphExec exec, CUgraphNode node,
			    const CUDA_KERNEL_NODE_PARAMS_v2 *params);
void kbn_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);

/* Changed in a way that is not followed: the report will say so. */
void kbn_graph_stale(CUgraphExec exec);

void kbn_graph_destroyed(CUgraphExec exec);

/* Id of the GRAPH record of the present version, written now if it is new; 0 = not known. */
uint32_t kbn_graph_version(CUgraphExec exec);

/* A child that begins its own recording knows nothing of its parent's graphs. */
void kbn_graphs_reset(void);

#endif
