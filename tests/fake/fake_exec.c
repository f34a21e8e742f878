/*
 * fake_exec.c - instantiated graphs: deep copies that can be changed, and launched.
 */
#include "fake_cuda.h"

static struct fake_exec *exec(struct fake_call *call, CUgraphExec handle)
{
	return fake_need(call, handle, FAKE_EXEC);
}

/* The node of an exec that stands for a node of its source. */
static struct fake_node *counterpart(struct fake_graph *g, CUgraphNode handle)
{
	struct fake_node *n = fake_get(handle, FAKE_NODE), *found;

	for (uint32_t i = 0; n && i < g->count; i++) {
		if (g->nodes[i]->source == n->object.id)
			return g->nodes[i];
		found = g->nodes[i]->child ? counterpart(g->nodes[i]->child, handle) : NULL;
		if (found)
			return found;
	}
	return NULL;
}

static int instantiate(struct fake_call *call, CUgraphExec *out, CUgraph handle)
{
	int result;
	struct fake_graph *g = fake_need(call, handle, FAKE_GRAPH);
	struct fake_context *c = fake_current_ok(call, &result);
	struct fake_exec *x;

	if (!g || !c)
		return g ? result : 400;
	if (fake_ours(call))
		fake_violation(call, "the recorder instantiates a graph");
	x = fake_new(FAKE_EXEC, sizeof(*x), call);
	x->graph = fake_graph_copy(g, call);
	x->context = c;
	*out = (CUgraphExec)x;
	return 0;
}

FAKE_SINGLE(cuGraphInstantiate,
	    (CUgraphExec * out, CUgraph handle, CUgraphNode *error, char *log, size_t bytes),
	    instantiate(&call, out, handle), "%s %d %d %zu -> %s", fake_name(handle, n1),
	    error != NULL, log != NULL, bytes, FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphInstantiate_v2,
	    (CUgraphExec * out, CUgraph handle, CUgraphNode *error, char *log, size_t bytes),
	    instantiate(&call, out, handle), "%s %d %d %zu -> %s", fake_name(handle, n1),
	    error != NULL, log != NULL, bytes, FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphInstantiateWithFlags,
	    (CUgraphExec * out, CUgraph handle, unsigned long long flags),
	    instantiate(&call, out, handle), "%s %llu -> %s", fake_name(handle, n1), flags,
	    FAKE_MADE(out, n2))
FAKE_TWINS(cuGraphInstantiateWithParams,
	   (CUgraphExec * out, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
	   (params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS, instantiate(&call, out, handle)),
	   "%s -> %s", fake_name(handle, n1), FAKE_MADE(out, n2))

static int exec_destroy(struct fake_call *call, CUgraphExec handle)
{
	struct fake_exec *x = exec(call, handle);

	if (!x)
		return 400;
	fake_graph_free(x->graph);
	fake_free(x);
	return 0;
}

FAKE_SINGLE(cuGraphExecDestroy, (CUgraphExec handle), exec_destroy(&call, handle), "%s",
	    fake_name(handle, n1))

static int exec_set(struct fake_call *call, CUgraphExec handle, CUgraphNode node,
		    const void *params, bool v1)
{
	struct fake_exec *x = exec(call, handle);
	struct fake_node *n = x ? counterpart(x->graph, node) : NULL;

	return x ? (n ? fake_node_set_params(call, n, params, v1) : 1) : 400;
}

FAKE_SINGLE(cuGraphExecKernelNodeSetParams,
	    (CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	    exec_set(&call, handle, node, params, true), "%s %s", fake_name(handle, n1),
	    fake_name(node, n2))
FAKE_SINGLE(cuGraphExecKernelNodeSetParams_v2,
	    (CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params),
	    exec_set(&call, handle, node, params, false), "%s %s", fake_name(handle, n1),
	    fake_name(node, n2))
FAKE_SINGLE(cuGraphExecNodeSetParams,
	    (CUgraphExec handle, CUgraphNode node, CUgraphNodeParams *params),
	    exec_set(&call, handle, node, &params->kernel, false), "%s %s", fake_name(handle, n1),
	    fake_name(node, n2))

static int enable(struct fake_call *call, CUgraphExec handle, CUgraphNode node, unsigned on)
{
	struct fake_exec *x = exec(call, handle);
	struct fake_node *n = x ? counterpart(x->graph, node) : NULL;

	if (n)
		n->disabled = !on;
	return x ? (n ? 0 : 1) : 400;
}

static int enabled(struct fake_call *call, CUgraphExec handle, CUgraphNode node, unsigned *out)
{
	struct fake_exec *x = exec(call, handle);
	struct fake_node *n = x ? counterpart(x->graph, node) : NULL;

	if (n)
		*out = !n->disabled;
	return x ? (n ? 0 : 1) : 400;
}

FAKE_SINGLE(cuGraphNodeSetEnabled, (CUgraphExec handle, CUgraphNode node, unsigned on),
	    enable(&call, handle, node, on), "%s %s %u", fake_name(handle, n1), fake_name(node, n2),
	    on)
FAKE_SINGLE(cuGraphNodeGetEnabled, (CUgraphExec handle, CUgraphNode node, unsigned *out),
	    enabled(&call, handle, node, out), "%s %s", fake_name(handle, n1), fake_name(node, n2))

static bool same_shape(struct fake_graph *a, struct fake_graph *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->nodes[i]->type != b->nodes[i]->type)
			return false;
	return true;
}

static int update(struct fake_call *call, CUgraphExec handle, CUgraph source,
		  CUgraphExecUpdateResult *out)
{
	struct fake_exec *x = exec(call, handle);
	struct fake_graph *g = fake_need(call, source, FAKE_GRAPH);

	if (!x || !g)
		return 400;
	if (!same_shape(x->graph, g)) {
		*out = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		return 910;
	}
	fake_graph_free(x->graph);
	x->graph = fake_graph_copy(g, call);
	*out = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return 0;
}

FAKE_SINGLE(cuGraphExecUpdate,
	    (CUgraphExec handle, CUgraph source, CUgraphNode *error, CUgraphExecUpdateResult *out),
	    update(&call, handle, source, out), "%s %s %d", fake_name(handle, n1),
	    fake_name(source, n2), error != NULL)
FAKE_SINGLE(cuGraphExecUpdate_v2,
	    (CUgraphExec handle, CUgraph source, CUgraphExecUpdateResultInfo *out),
	    update(&call, handle, source, &out->result), "%s %s", fake_name(handle, n1),
	    fake_name(source, n2))

static int exec_child(struct fake_call *call, CUgraphExec handle, CUgraphNode node, CUgraph source)
{
	struct fake_exec *x = exec(call, handle);
	struct fake_node *n = x ? counterpart(x->graph, node) : NULL;
	struct fake_graph *g = fake_need(call, source, FAKE_GRAPH);

	if (!n || !n->child || !g)
		return x && g ? 1 : 400;
	fake_graph_free(n->child);
	n->child = fake_graph_copy(g, call);
	return 0;
}

FAKE_SINGLE(cuGraphExecChildGraphNodeSetParams,
	    (CUgraphExec handle, CUgraphNode node, CUgraph source),
	    exec_child(&call, handle, node, source), "%s %s", fake_name(handle, n1),
	    fake_name(node, n2))

/* Time of all kernels one after the other; the body of a conditional node runs once. */
static uint64_t run_nodes(struct fake_graph *g)
{
	struct fake_thread_count *count = fake_thread()->count;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		struct fake_node *n = g->nodes[i];

		if (n->disabled)
			continue;
		if (n->child)
			ns += run_nodes(n->child);
		if (n->type != CU_GRAPH_NODE_TYPE_KERNEL)
			continue;
		ns += n->work.entry->duration_ns;
		atomic_fetch_add_explicit(&count->nodes, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&fake_counts->kernel[n->work.entry->counter].nodes, 1,
					  memory_order_relaxed);
	}
	return ns;
}

/* 1 = became a node of another graph. */
static int run(struct fake_call *call, CUgraphExec handle, CUstream stream, bool ptsz,
	       int *captured)
{
	int result;
	struct fake_exec *x = exec(call, handle);
	struct fake_stream *s = fake_stream(call, stream, ptsz, &result);

	*captured = 0;
	if (!x || !s)
		return x ? result : 400;
	if (fake_ours(call))
		fake_violation(call, "the recorder launches a graph");
	*captured = fake_capture_route(call, s, &result);
	if (*captured > 0) {
		struct fake_node *n =
			fake_node_new(s->capture->graph, CU_GRAPH_NODE_TYPE_GRAPH, call);

		n->child = fake_graph_copy(x->graph, call);
		fake_capture_chain(s, n);
	} else if (!result) {
		pthread_mutex_lock(&s->context->lock);
		fake_stream_work(s, run_nodes(x->graph));
		pthread_mutex_unlock(&s->context->lock);
	}
	return result;
}

static int launch(struct fake_call *call, CUgraphExec handle, CUstream stream, bool ptsz)
{
	struct fake_thread_count *count = fake_thread()->count;
	int captured, result = run(call, handle, stream, ptsz, &captured);

	atomic_fetch_add_explicit(result || captured ? &count->graphs_not_run : &count->graphs, 1,
				  memory_order_relaxed);
	return result;
}

FAKE_TWINS(cuGraphLaunch, (CUgraphExec handle, CUstream stream),
	   launch(&call, handle, stream, ptsz), "%s %s", fake_name(handle, n1),
	   fake_name(stream, n2))

static int upload(struct fake_call *call, CUgraphExec handle, CUstream stream, bool ptsz)
{
	int result;
	struct fake_exec *x = exec(call, handle);

	if (!x)
		return 400;
	fake_stream(call, stream, ptsz, &result);
	return result;
}

FAKE_TWINS(cuGraphUpload, (CUgraphExec handle, CUstream stream),
	   upload(&call, handle, stream, ptsz), "%s %s", fake_name(handle, n1),
	   fake_name(stream, n2))
