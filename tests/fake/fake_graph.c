/*
 * fake_graph.c - graphs: nodes, instantiation (a deep copy), updates, launches.
 */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- graphs and nodes ---- */

struct fake_graph *fake_graph_new(struct fake_call *call)
{
	return fake_new(FAKE_GRAPH, sizeof(struct fake_graph), call);
}

static void node_clear(struct fake_node *n)
{
	free(n->work.args);
	free(n->param_pointers);
	n->work.args = NULL;
	n->param_pointers = NULL;
}

static void node_free(struct fake_node *n)
{
	node_clear(n);
	free(n->from);
	n->from = NULL;
	if (n->child)
		fake_graph_free(n->child);
	fake_free(n);
}

void fake_graph_free(struct fake_graph *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		node_free(g->nodes[i]);
	free(g->nodes);
	g->nodes = NULL;
	g->count = 0;
	fake_free(g);
}

struct fake_node *fake_node_new(struct fake_graph *g, CUgraphNodeType type, struct fake_call *call)
{
	struct fake_node *n = fake_new(FAKE_NODE, sizeof(*n), call);

	n->graph = g;
	n->type = type;
	pthread_mutex_lock(&lock);
	if (g->count == g->cap) {
		g->cap = g->cap ? g->cap * 2 : 8;
		g->nodes = realloc(g->nodes, g->cap * sizeof(struct fake_node *));
	}
	g->nodes[g->count++] = n;
	pthread_mutex_unlock(&lock);
	return n;
}

/* A node owns its parameters: what was given may be gone when the graph runs. */
void fake_node_set_work(struct fake_node *n, const struct fake_work *w)
{
	const struct fake_entry *e = w->entry;

	node_clear(n);
	n->work = *w;
	n->work.args = calloc(1, w->arg_bytes + 1);
	if (w->args)
		memcpy(n->work.args, w->args, w->arg_bytes);
	n->param_pointers = calloc(e->param_count + 1, sizeof(void *));
	for (uint32_t i = 0; w->args && i < e->param_count; i++)
		n->param_pointers[i] = n->work.args + e->params[i].offset;
}

struct fake_graph *fake_graph_copy(struct fake_graph *g, struct fake_call *call)
{
	struct fake_graph *copy = fake_graph_new(call);

	for (uint32_t i = 0; i < g->count; i++) {
		struct fake_node *from = g->nodes[i], *n = fake_node_new(copy, from->type, call);

		n->source = from->object.id;
		n->disabled = from->disabled;
		if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
			fake_node_set_work(n, &from->work);
		if (from->child)
			n->child = fake_graph_copy(from->child, call);
	}
	return copy;
}

static struct fake_graph *graph(struct fake_call *call, CUgraph handle)
{
	return fake_need(call, handle, FAKE_GRAPH);
}

static int create(struct fake_call *call, CUgraph *out)
{
	if (fake_ours(call))
		fake_violation(call, "the recorder makes a graph");
	*out = (CUgraph)fake_graph_new(call);
	return 0;
}

static int clone_graph(struct fake_call *call, CUgraph *out, CUgraph handle)
{
	struct fake_graph *g = graph(call, handle);

	if (g)
		*out = (CUgraph)fake_graph_copy(g, call);
	return g ? 0 : 400;
}

static int destroy(struct fake_call *call, CUgraph handle)
{
	struct fake_graph *g = graph(call, handle);

	if (g)
		fake_graph_free(g);
	return g ? 0 : 400;
}

FAKE_SINGLE(cuGraphCreate, (CUgraph * out, unsigned flags), create(&call, out), "%u -> %s", flags,
	    FAKE_MADE(out, n1))
FAKE_SINGLE(cuGraphClone, (CUgraph * out, CUgraph handle), clone_graph(&call, out, handle),
	    "%s -> %s", fake_name(handle, n1), FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphDestroy, (CUgraph handle), destroy(&call, handle), "%s", fake_name(handle, n1))

static int destroy_node(struct fake_call *call, CUgraphNode handle)
{
	struct fake_node *n = fake_need(call, handle, FAKE_NODE);
	struct fake_graph *g;

	if (!n)
		return 400;
	g = n->graph;
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i] == n) {
			memmove(&g->nodes[i], &g->nodes[i + 1],
				(g->count - i - 1) * sizeof(struct fake_node *));
			g->count--;
			break;
		}
	node_free(n);
	return 0;
}

FAKE_SINGLE(cuGraphDestroyNode, (CUgraphNode handle), destroy_node(&call, handle), "%s",
	    fake_name(handle, n1))

/* ---- adding nodes ---- */

static void set_from(struct fake_node *n, const CUgraphNode *from, size_t count)
{
	n->from = count ? malloc(count * sizeof(struct fake_node *)) : NULL;
	n->from_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		n->from[i] = (struct fake_node *)(void *)from[i];
}

/* Both versions of the parameters in one shape; version 1 lacks the last two fields. */
static int kernel_work(struct fake_call *call, const CUDA_KERNEL_NODE_PARAMS_v2 *p, bool v1,
		       struct fake_work *w)
{
	int result;
	struct fake_context *c = fake_current_ok(call, &result);
	struct fake_launch l = {
		.function = p->func,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.smem = p->sharedMemBytes,
		.params = p->kernelParams,
		.extra = p->extra,
	};

	if (!l.function && !v1)
		l.function = (CUfunction)(void *)p->kern;
	return c ? fake_launch_check(call, &l, w, c, true) : result;
}

static int add_kernel(struct fake_call *call, CUgraphNode *out, CUgraph handle,
		      const CUgraphNode *from, size_t count, const void *params, bool v1)
{
	struct fake_graph *g = graph(call, handle);
	struct fake_work w;
	struct fake_node *n;
	int result;

	if (!g || !params || !out)
		return g ? 1 : 400;
	result = kernel_work(call, params, v1, &w);
	if (result)
		return result;
	n = fake_node_new(g, CU_GRAPH_NODE_TYPE_KERNEL, call);
	fake_node_set_work(n, &w);
	free(w.args);
	set_from(n, from, count);
	*out = (CUgraphNode)n;
	return 0;
}

FAKE_SINGLE(cuGraphAddKernelNode,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from, size_t n,
	     const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	    add_kernel(&call, out, handle, from, n, params, true), "%s %zu -> %s",
	    fake_name(handle, n1), n, FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphAddKernelNode_v2,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from, size_t n,
	     const CUDA_KERNEL_NODE_PARAMS_v2 *params),
	    add_kernel(&call, out, handle, from, n, params, false), "%s %zu -> %s",
	    fake_name(handle, n1), n, FAKE_MADE(out, n2))

static int add_other(struct fake_call *call, CUgraphNode *out, CUgraph handle,
		     const CUgraphNode *from, size_t count, CUgraphNodeType type, CUgraph child)
{
	struct fake_graph *g = graph(call, handle), *inner = child ? graph(call, child) : NULL;
	struct fake_node *n;

	if (!g || (child && !inner))
		return 400;
	n = fake_node_new(g, type, call);
	n->child = inner ? fake_graph_copy(inner, call) : NULL;
	set_from(n, from, count);
	*out = (CUgraphNode)n;
	return 0;
}

FAKE_SINGLE(cuGraphAddChildGraphNode,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from, size_t n, CUgraph child),
	    add_other(&call, out, handle, from, n, CU_GRAPH_NODE_TYPE_GRAPH, child), "%s %s",
	    fake_name(handle, n1), fake_name(child, n2))
FAKE_SINGLE(cuGraphAddEmptyNode,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from, size_t n),
	    add_other(&call, out, handle, from, n, CU_GRAPH_NODE_TYPE_EMPTY, NULL), "%s -> %s",
	    fake_name(handle, n1), FAKE_MADE(out, n2))

static int add_node(struct fake_call *call, CUgraphNode *out, CUgraph handle,
		    const CUgraphNode *from, size_t count, CUgraphNodeParams *p)
{
	struct fake_node *n;
	int result;

	if (p->type == CU_GRAPH_NODE_TYPE_KERNEL)
		return add_kernel(call, out, handle, from, count, &p->kernel, false);
	result = add_other(call, out, handle, from, count, p->type, NULL);
	if (!result && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		n = fake_get(*out, FAKE_NODE);
		n->child = fake_graph_new(call);
		n->child->owned = true;
		*p->conditional.phGraph_out = (CUgraph)n->child;
	}
	return result;
}

FAKE_SINGLE(cuGraphAddNode,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from, size_t n,
	     CUgraphNodeParams *params),
	    add_node(&call, out, handle, from, n, params), "%s %zu -> %s", fake_name(handle, n1), n,
	    FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphAddNode_v2,
	    (CUgraphNode * out, CUgraph handle, const CUgraphNode *from,
	     const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *params),
	    add_node(&call, out, handle, from, n, params), "%s %zu %d -> %s", fake_name(handle, n1),
	    n, edges != NULL, FAKE_MADE(out, n2))
FAKE_SINGLE(cuGraphConditionalHandleCreate,
	    (CUgraphConditionalHandle * out, CUgraph handle, CUcontext c, unsigned value,
	     unsigned flags),
	    (*out = 77, graph(&call, handle) ? 0 : 400), "%s %s %u %u", fake_name(handle, n1),
	    fake_name(c, n2), value, flags)
FAKE_SINGLE(cuGraphAddDependencies,
	    (CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t n),
	    graph(&call, handle) ? 0 : 400, "%s %d %d %zu", fake_name(handle, n1), from != NULL,
	    to != NULL, n)

/* ---- asking ---- */

static int get_nodes(struct fake_call *call, CUgraph handle, CUgraphNode *out, size_t *n)
{
	struct fake_graph *g = graph(call, handle);

	if (!g || !n)
		return g ? 1 : 400;
	if (fake_ours(call))
		fake_should_relax(call);
	for (size_t i = 0; out && i < *n; i++)
		out[i] = i < g->count ? (CUgraphNode)g->nodes[i] : NULL;
	if (!out || *n > g->count)
		*n = g->count;
	return 0;
}

static int node_type(struct fake_call *call, CUgraphNode handle, CUgraphNodeType *out)
{
	struct fake_node *n = fake_need(call, handle, FAKE_NODE);

	if (n)
		*out = n->type;
	return n ? 0 : 400;
}

static int get_params(struct fake_call *call, CUgraphNode handle, void *out, bool v1)
{
	struct fake_node *n = fake_need(call, handle, FAKE_NODE);
	CUDA_KERNEL_NODE_PARAMS_v2 p = {0};

	if (!n || n->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return n ? 1 : 400;
	p.func = n->work.function;
	p.gridDimX = n->work.grid[0];
	p.gridDimY = n->work.grid[1];
	p.gridDimZ = n->work.grid[2];
	p.blockDimX = n->work.block[0];
	p.blockDimY = n->work.block[1];
	p.blockDimZ = n->work.block[2];
	p.sharedMemBytes = n->work.smem;
	p.kernelParams = n->param_pointers;
	/* A node made from a CUkernel says so in the new fields only. */
	if (!v1 && fake_get(p.func, FAKE_KERNEL)) {
		p.kern = (CUkernel)(void *)p.func;
		p.func = NULL;
	}
	memcpy(out, &p, v1 ? sizeof(CUDA_KERNEL_NODE_PARAMS_v1) : sizeof(p));
	return 0;
}

static int child_graph(struct fake_call *call, CUgraphNode handle, CUgraph *out)
{
	struct fake_node *n = fake_need(call, handle, FAKE_NODE);

	if (!n || n->type != CU_GRAPH_NODE_TYPE_GRAPH)
		return n ? 1 : 400;
	*out = (CUgraph)n->child;
	return 0;
}

static int dependencies(struct fake_call *call, CUgraphNode handle, CUgraphNode *out, size_t *count)
{
	struct fake_node *n = fake_need(call, handle, FAKE_NODE);

	if (!n)
		return 400;
	for (size_t i = 0; out && i < *count && i < n->from_count; i++)
		out[i] = (CUgraphNode)n->from[i];
	*count = n->from_count;
	return 0;
}

static int node_attribute(struct fake_call *call, CUgraphNode handle, CUkernelNodeAttrID id,
			  CUkernelNodeAttrValue_v1 *out)
{
	if (!fake_need(call, handle, FAKE_NODE) || !out)
		return 400;
	(void)id;
	memset(out, 0, sizeof(*out));
	return 0;
}

FAKE_SINGLE(cuGraphGetNodes, (CUgraph handle, CUgraphNode *out, size_t *n),
	    get_nodes(&call, handle, out, n), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphNodeGetType, (CUgraphNode handle, CUgraphNodeType *out),
	    node_type(&call, handle, out), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphKernelNodeGetParams, (CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *out),
	    get_params(&call, handle, out, true), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphKernelNodeGetParams_v2, (CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2 *out),
	    get_params(&call, handle, out, false), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphChildGraphNodeGetGraph, (CUgraphNode handle, CUgraph *out),
	    child_graph(&call, handle, out), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphNodeGetDependencies, (CUgraphNode handle, CUgraphNode *out, size_t *n),
	    dependencies(&call, handle, out, n), "%s", fake_name(handle, n1))
FAKE_SINGLE(cuGraphKernelNodeGetAttribute,
	    (CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue_v1 *out),
	    node_attribute(&call, handle, id, out), "%s %d", fake_name(handle, n1), (int)id)

/* ---- changing ---- */

int fake_node_set_params(struct fake_call *call, struct fake_node *n, const void *params, bool v1)
{
	struct fake_work w;
	int result;

	if (!n || n->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return n ? 1 : 400;
	if (fake_ours(call))
		fake_violation(call, "the recorder changes a graph");
	result = kernel_work(call, params, v1, &w);
	if (result)
		return result;
	fake_node_set_work(n, &w);
	free(w.args);
	return 0;
}

FAKE_SINGLE(cuGraphKernelNodeSetParams,
	    (CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	    fake_node_set_params(&call, fake_need(&call, handle, FAKE_NODE), params, true), "%s",
	    fake_name(handle, n1))
FAKE_SINGLE(cuGraphKernelNodeSetParams_v2,
	    (CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v2 *params),
	    fake_node_set_params(&call, fake_need(&call, handle, FAKE_NODE), params, false), "%s",
	    fake_name(handle, n1))
FAKE_SINGLE(cuGraphNodeSetParams, (CUgraphNode handle, CUgraphNodeParams *params),
	    fake_node_set_params(&call, fake_need(&call, handle, FAKE_NODE), &params->kernel,
				 false),
	    "%s", fake_name(handle, n1))
