/*
 * wrap_graph.c - graphs: instantiation, changes, launches.
 *
 * A launch of a graph counts once in the slot of its version; the analyzer multiplies the nodes.
 * Graph launches are not timed here.
 */
#include <stddef.h>

#include "frame.h"
#include "graph.h"
#include "hook.h"
#include "launch.h"

/* ---------------------------------------------------------------------------------- instantiation */

static void instantiated(const CUgraphExec *exec, CUgraph graph)
{
	if (exec && *exec)
		kbn_graph_instantiated(*exec, graph);
}

#define INSTANTIATE(symbol)                                                                    \
	KBN_WRAP(symbol)                                                                       \
	(CUgraphExec * exec, CUgraph graph, CUgraphNode * error, char *log, size_t bytes)      \
	{                                                                                      \
		KBN_FRAMED(symbol, KBN_NOTHING, instantiated(exec, graph), exec, graph, error, \
			   log, bytes);                                                        \
	}

INSTANTIATE(cuGraphInstantiate)
INSTANTIATE(cuGraphInstantiate_v2)

KBN_WRAP(cuGraphInstantiateWithFlags)(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	KBN_FRAMED(cuGraphInstantiateWithFlags, KBN_NOTHING, instantiated(exec, graph), exec, graph,
		   flags);
}

#define INSTANTIATE_WITH_PARAMS(symbol)                                                        \
	KBN_WRAP(symbol)(CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS * p) \
	{                                                                                      \
		KBN_FRAMED(symbol, KBN_NOTHING, instantiated(exec, graph), exec, graph, p);    \
	}

INSTANTIATE_WITH_PARAMS(cuGraphInstantiateWithParams)
INSTANTIATE_WITH_PARAMS(cuGraphInstantiateWithParams_ptsz)

KBN_WRAP(cuGraphExecDestroy)(CUgraphExec exec)
{
	KBN_FRAMED(cuGraphExecDestroy, kbn_graph_destroyed(exec), KBN_NOTHING, exec);
}

/* ---------------------------------------------------------------------------------------- changes */

KBN_WRAP(cuGraphExecUpdate)
(CUgraphExec exec, CUgraph graph, CUgraphNode *error, CUgraphExecUpdateResult *why)
{
	KBN_FRAMED(cuGraphExecUpdate, KBN_NOTHING, kbn_graph_updated(exec, graph), exec, graph,
		   error, why);
}

KBN_WRAP(cuGraphExecUpdate_v2)(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	KBN_FRAMED(cuGraphExecUpdate_v2, KBN_NOTHING, kbn_graph_updated(exec, graph), exec, graph,
		   info);
}

/* The old structure is the beginning of the new one, which also knows CUkernels. */
static CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = p->func,
		.gridDimX = p->gridDimX,
		.gridDimY = p->gridDimY,
		.gridDimZ = p->gridDimZ,
		.blockDimX = p->blockDimX,
		.blockDimY = p->blockDimY,
		.blockDimZ = p->blockDimZ,
		.sharedMemBytes = p->sharedMemBytes,
	};
}

static void old_node_changed(CUgraphExec exec, CUgraphNode node,
			     const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	const CUDA_KERNEL_NODE_PARAMS_v2 wide = widen(p);

	kbn_graph_node_changed(exec, node, &wide);
}

KBN_WRAP(cuGraphExecKernelNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	KBN_FRAMED(cuGraphExecKernelNodeSetParams, KBN_NOTHING, old_node_changed(exec, node, p),
		   exec, node, p);
}

KBN_WRAP(cuGraphExecKernelNodeSetParams_v2)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	KBN_FRAMED(cuGraphExecKernelNodeSetParams_v2, KBN_NOTHING,
		   kbn_graph_node_changed(exec, node, p), exec, node, p);
}

static void any_node_changed(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
	if (p->type == CU_GRAPH_NODE_TYPE_KERNEL)
		kbn_graph_node_changed(exec, node, &p->kernel);
	else if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		kbn_graph_stale(exec);
}

KBN_WRAP(cuGraphExecNodeSetParams)(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	KBN_FRAMED(cuGraphExecNodeSetParams, KBN_NOTHING, any_node_changed(exec, node, p), exec,
		   node, p);
}

KBN_WRAP(cuGraphExecChildGraphNodeSetParams)(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	KBN_FRAMED(cuGraphExecChildGraphNodeSetParams, KBN_NOTHING, kbn_graph_stale(exec), exec,
		   node, child);
}

KBN_WRAP(cuGraphNodeSetEnabled)(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	KBN_FRAMED(cuGraphNodeSetEnabled, KBN_NOTHING,
		   kbn_graph_node_enabled(exec, node, enabled != 0), exec, node, enabled);
}

/* --------------------------------------------------------------------------------------- launches */

struct graph_call {
	struct kbn_shape *shape; /* NULL = not counted */
	uint64_t *bin;
};

static struct graph_call graph_begin(CUgraphExec exec, CUstream stream, bool ptsz)
{
	struct graph_call call = {NULL, NULL};
	struct kbn_thread *t = kbn_self();
	struct kbn_context *context;
	struct kbn_launch note;
	uint32_t version;

	if (!t || kbn_window_closed())
		return call;
	KBN_COUNT(t, graph_launches);
	version = kbn_graph_version(exec);
	if (!version)
		return call;
	context = kbn_registry_context(stream, ptsz);
	call.shape = kbn_shape_of(t, KBN_SLOT_GRAPH,
				  &(struct kbn_shape_key){.kernel = version,
							  .context = context ? context->id
									     : UINT32_MAX});
	if (!call.shape)
		return call;
	call.bin = &call.shape->slot->sampled_out;
	if (atomic_load_explicit(&kbn_open_captures, memory_order_relaxed) && context &&
	    kbn_capturing(stream, ptsz) == KBN_CAPTURING)
		call.bin = &call.shape->slot->captured;
	/* Its kernels run between the events of another thread's bracket, if there is one. */
	note = (struct kbn_launch){.stream = stream, .ptsz = ptsz, .context = context};
	kbn_time_note_launch(t, &note);
	return call;
}

static void graph_end(const struct graph_call *call, CUresult result)
{
	struct kbn_slot *s = call->shape ? call->shape->slot : NULL;

	if (s)
		kbn_slot_count(s, result == CUDA_SUCCESS ? call->bin : &s->failed);
}

#define GRAPH_LAUNCH(symbol, ptsz)                              \
	KBN_WRAP(symbol)(CUgraphExec exec, CUstream stream)     \
	{                                                       \
		struct graph_call call = {NULL, NULL};          \
		CUresult result;                                \
		int saved_errno;                                \
                                                                \
		if (!kbn_enter()) {                             \
			kbn_passed_launch();                    \
			return KBN_PASS(symbol, exec, stream);  \
		}                                               \
		saved_errno = errno;                            \
		if (kbn_recording())                            \
			call = graph_begin(exec, stream, ptsz); \
		errno = saved_errno;                            \
		result = KBN_REAL(symbol, exec, stream);        \
		graph_end(&call, result);                       \
		kbn_leave();                                    \
		return result;                                  \
	}

GRAPH_LAUNCH(cuGraphLaunch, false)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)
