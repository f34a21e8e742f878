/*
 * graph.c - walks graphs when they are instantiated and follows later changes.
 *
 * Output: one GRAPH record per distinct list of nodes, however often it is instantiated: training
 * loops that build the same graph anew each step stay small on disk and in memory. A change only
 * marks the exec; the next launch writes the new version, once for any number of changes.
 */
#include "graph.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "hook.h"
#include "kbn_hash.h"
#include "map.h"
#include "registry.h"
#include "state.h"
#include "sys.h"
#include "writer.h"

#define MAX_NODES 65536u
#define MAX_DEPTH 16 /* of child graphs */

struct node {
	CUgraphNode handle;
	struct kbn_graph_node what; /* count is 0 for a node that is switched off, else 1 */
};

struct exec {
	_Atomic uint32_t lock;    /* of all below; a driver call is never made under it */
	_Atomic bool changed;     /* version is to be made anew */
	_Atomic uint32_t version; /* id of its GRAPH record */
	uint32_t flags, other_nodes;
	uint32_t count;  /* nodes */
	uint32_t cursor; /* programs change nodes in the order they have */
	struct node *nodes;
	size_t node_bytes; /* mapped */
};

KBN_MAP(execs, 1024);
KBN_MAP(versions, 4096); /* hash of the record → id */
static _Atomic uint32_t version_count;

static void lock(struct exec *e)
{
	while (atomic_exchange_explicit(&e->lock, 1, memory_order_acquire))
		sched_yield();
}

static void unlock(struct exec *e)
{
	atomic_store_explicit(&e->lock, 0, memory_order_release);
}

/*
 * Memory for lists: powers of two from a page on. Unlike the arena's it goes back; a few of each of
 * the smaller sizes are kept for the next graph, since programs make graphs in loops, and mapping costs
 * more than walking. What comes from here holds anything.
 */
#define LIST_MIN_BITS 12
#define LIST_SIZES    7 /* 4 KB to 256 KB */
#define LIST_KEPT     4 /* of each: 2 MB at most */

static _Atomic(void *) lists[LIST_SIZES][LIST_KEPT];

/* Bytes that a list of `bytes` really has; its place in the table may be past the end. */
static size_t list_room(size_t bytes, unsigned *size)
{
	*size = 0;
	while (((size_t)1 << (LIST_MIN_BITS + *size)) < bytes)
		++*size;
	return (size_t)1 << (LIST_MIN_BITS + *size);
}

static void *list_map(size_t bytes)
{
	unsigned size;
	const size_t room = list_room(bytes, &size);

	for (int i = 0; size < LIST_SIZES && i < LIST_KEPT; i++) {
		void *p = atomic_load_explicit(&lists[size][i], memory_order_relaxed);

		if (p && atomic_compare_exchange_strong(&lists[size][i], &p, NULL))
			return p;
	}
	return kbn_map_memory(room, PROT_READ | PROT_WRITE);
}

static void list_unmap(void *p, size_t bytes)
{
	unsigned size;
	const size_t room = list_room(bytes, &size);

	for (int i = 0; p && size < LIST_SIZES && i < LIST_KEPT; i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&lists[size][i], &none, p))
			return;
	}
	if (p)
		munmap(p, room);
}

/* --------------------------------------------------------------------------------------- walking */

struct walk {
	struct node *nodes;
	size_t node_bytes;
	uint32_t count, other_nodes, flags;
	uint32_t context;
};

static bool walk_room(struct walk *w)
{
	const size_t bytes = w->node_bytes ? w->node_bytes * 2 : 4096;
	struct node *grown;

	if ((w->count + 1) * sizeof(*w->nodes) <= w->node_bytes)
		return true;
	grown = w->count < MAX_NODES ? list_map(bytes) : NULL;
	if (!grown)
		return false;
	if (w->count)
		memcpy(grown, w->nodes, w->count * sizeof(*grown));
	list_unmap(w->nodes, w->node_bytes);
	w->nodes = grown;
	w->node_bytes = bytes;
	return true;
}

static bool node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	memset(p, 0, sizeof(*p));
	if (real.cuGraphKernelNodeGetParams_v2)
		return real.cuGraphKernelNodeGetParams_v2(node, p) == CUDA_SUCCESS;
	/* The old structure is the beginning of the new one. */
	return real.cuGraphKernelNodeGetParams &&
	       real.cuGraphKernelNodeGetParams(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)p) ==
		       CUDA_SUCCESS;
}

/* Kernel and geometry; the rest of `what` stays. A node whose kernel is filtered out counts 0. */
static void set_params(struct kbn_graph_node *what, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	/* Of a library's kernel the CUkernel tells more: it leads to the image. */
	struct kbn_kernel *k = kbn_registry_resolve(p->kern ? (CUfunction)p->kern : p->func);

	what->kernel = k ? k->id : 0;
	what->count = k && !k->filtered;
	what->grid[0] = p->gridDimX;
	what->grid[1] = p->gridDimY;
	what->grid[2] = p->gridDimZ;
	what->block[0] = p->blockDimX;
	what->block[1] = p->blockDimY;
	what->block[2] = p->blockDimZ;
	what->dyn_smem_bytes = p->sharedMemBytes;
	if (k && !what->cluster[0])
		for (int i = 0; i < 3; i++)
			what->cluster[i] = (uint32_t)k->cluster[i];
}

static void set_attributes(struct kbn_graph_node *what, CUgraphNode node)
{
	CUlaunchAttributeValue v;

	if (!real.cuGraphKernelNodeGetAttribute)
		return;
	memset(&v, 0, sizeof(v));
	if (!real.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v) &&
	    v.cooperative)
		what->flags |= KBN_SLOT_COOPERATIVE;
	memset(&v, 0, sizeof(v));
	if (!real.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) &&
	    v.clusterDim.x) {
		what->cluster[0] = v.clusterDim.x;
		what->cluster[1] = v.clusterDim.y;
		what->cluster[2] = v.clusterDim.z;
	}
}

static void walk_kernel(struct walk *w, CUgraphNode handle)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	struct node n = {.handle = handle};

	if (!node_params(handle, &p)) {
		w->flags |= KBN_GRAPH_STALE;
		return;
	}
	if (!walk_room(w)) {
		w->flags |= KBN_GRAPH_TRUNCATED;
		return;
	}
	set_attributes(&n.what, handle);
	set_params(&n.what, &p);
	n.what.context = w->context;
	w->nodes[w->count++] = n;
}

static void walk_graph(struct walk *w, CUgraph graph, int depth);

static void walk_node(struct walk *w, CUgraphNode node, int depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	CUgraph child;

	if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) {
		w->flags |= KBN_GRAPH_STALE;
		return;
	}
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: walk_kernel(w, node); break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (real.cuGraphChildGraphNodeGetGraph && depth < MAX_DEPTH &&
		    real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
			walk_graph(w, child, depth + 1);
		else
			w->flags |= KBN_GRAPH_STALE;
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: w->flags |= KBN_GRAPH_CONDITIONAL; break;
	case CU_GRAPH_NODE_TYPE_EMPTY: break;
	default: w->other_nodes++; break;
	}
}

static void walk_graph(struct walk *w, CUgraph graph, int depth)
{
	CUgraphNode *list;
	size_t n = 0, room;

	if (!real.cuGraphGetNodes || !real.cuGraphNodeGetType ||
	    real.cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS) {
		w->flags |= KBN_GRAPH_STALE;
		return;
	}
	if (n > 4 * (size_t)MAX_NODES) {
		n = 4 * (size_t)MAX_NODES;
		w->flags |= KBN_GRAPH_TRUNCATED;
	}
	room = n * sizeof(CUgraphNode);
	list = n ? list_map(room) : NULL;
	if (!list)
		return;
	if (real.cuGraphGetNodes(graph, list, &n) == CUDA_SUCCESS)
		for (size_t i = 0; i < n && i < room / sizeof(CUgraphNode); i++)
			walk_node(w, list[i], depth);
	else
		w->flags |= KBN_GRAPH_STALE;
	list_unmap(list, room);
}

/* -------------------------------------------------------------------------------------- versions */

/* Nodes of one shape become one entry; the order is that of the first of each. */
struct summary {
	struct kbn_graph_node *entries;
	uint32_t *index; /* open-addressing table of entry + 1 */
	uint32_t count, mask;
	size_t entry_bytes, index_bytes;
};

static void summary_add(struct summary *s, const struct kbn_graph_node *what)
{
	struct kbn_graph_node key = *what;
	uint32_t i;

	key.count = 0;
	for (i = (uint32_t)kbn_hash64(&key, sizeof(key)) & s->mask; s->index[i];
	     i = (i + 1) & s->mask) {
		struct kbn_graph_node *e = &s->entries[s->index[i] - 1];

		key.count = e->count;
		if (!memcmp(e, &key, sizeof(key))) {
			e->count++;
			return;
		}
	}
	key.count = 1;
	s->entries[s->count++] = key;
	s->index[i] = s->count;
}

static bool summary_make(struct summary *s, const struct exec *e)
{
	uint32_t places = 64;

	while (places < e->count * 2)
		places *= 2;
	*s = (struct summary){.mask = places - 1};
	s->entry_bytes = (e->count + 1) * sizeof(*s->entries);
	s->index_bytes = places * sizeof(*s->index);
	s->entries = list_map(s->entry_bytes);
	s->index = list_map(s->index_bytes);
	if (!s->entries || !s->index)
		return false;
	memset(s->index, 0, s->index_bytes);
	for (uint32_t i = 0; i < e->count; i++)
		if (e->nodes[i].what.count)
			summary_add(s, &e->nodes[i].what);
	return true;
}

static uint32_t version_of(const struct exec *e, const struct summary *s)
{
	struct kbn_rec_graph r = {
		.nodes = s->count, .other_nodes = e->other_nodes, .flags = e->flags};
	const size_t bytes = s->count * sizeof(*s->entries);
	const uint64_t key = (kbn_hash64(s->entries, bytes) ^ kbn_hash64(&r, sizeof(r))) | 1;
	uint32_t id = (uint32_t)(uintptr_t)kbn_map_get(&versions, (void *)(uintptr_t)key), mine;

	if (id)
		return id;
	mine = atomic_fetch_add(&version_count, 1) + 1;
	id = (uint32_t)(uintptr_t)kbn_map_add(&versions, (void *)(uintptr_t)key,
					      (void *)(uintptr_t)mine);
	if (id != mine)
		return id;
	r.graph = id;
	r.previous = atomic_load(&e->version);
	kbn_log_append(KBN_REC_GRAPH, 0, (struct iovec[]){{&r, sizeof(r)}, {s->entries, bytes}}, 2);
	return id;
}

/* Under the exec's lock. */
static void version_make(struct exec *e)
{
	struct summary s;

	if (summary_make(&s, e))
		atomic_store(&e->version, version_of(e, &s));
	list_unmap(s.entries, s.entry_bytes);
	list_unmap(s.index, s.index_bytes);
	atomic_store(&e->changed, false);
}

uint32_t kbn_graph_version(CUgraphExec exec)
{
	struct exec *e = kbn_map_get(&execs, exec);

	if (!e)
		return 0;
	if (atomic_load(&e->changed)) {
		lock(e);
		if (atomic_load(&e->changed))
			version_make(e);
		unlock(e);
	}
	return atomic_load(&e->version);
}

/* --------------------------------------------------------------------------------- life of execs */

static struct exec *exec_of(CUgraphExec handle)
{
	struct exec *e = kbn_map_get(&execs, handle);

	if (e)
		return e;
	e = kbn_alloc(sizeof(*e));
	return e ? kbn_map_add(&execs, handle, e) : NULL;
}

static struct walk walk_all(CUgraph graph)
{
	const struct kbn_context *c = kbn_registry_context(NULL, false);
	struct walk w = {.context = c ? c->id : UINT32_MAX};
	struct kbn_relaxed relaxed = kbn_relaxed_enter();

	walk_graph(&w, graph, 0);
	kbn_relaxed_leave(&relaxed);
	return w;
}

/*
 * An update changes the nodes of the graph that the exec was made of; later calls name those. With
 * the same number of nodes, in the order of creation, they are the same nodes.
 */
static void keep_handles(const struct exec *e, struct walk *w)
{
	for (uint32_t i = 0; e->count == w->count && i < w->count; i++)
		w->nodes[i].handle = e->nodes[i].handle;
}

static void exec_set(CUgraphExec handle, CUgraph graph, bool is_update)
{
	struct exec *e = handle ? exec_of(handle) : NULL;
	struct walk w, old;

	if (!e)
		return;
	w = walk_all(graph);
	lock(e);
	if (is_update)
		keep_handles(e, &w);
	old = (struct walk){.nodes = e->nodes, .node_bytes = e->node_bytes};
	e->nodes = w.nodes;
	e->node_bytes = w.node_bytes;
	e->count = w.count;
	e->other_nodes = w.other_nodes;
	e->flags = w.flags;
	e->cursor = 0;
	version_make(e);
	unlock(e);
	list_unmap(old.nodes, old.node_bytes);
}

void kbn_graph_instantiated(CUgraphExec exec, CUgraph graph)
{
	exec_set(exec, graph, false);
}

void kbn_graph_updated(CUgraphExec exec, CUgraph graph)
{
	exec_set(exec, graph, true);
}

static void set_stale(struct exec *e)
{
	e->flags |= KBN_GRAPH_STALE;
	atomic_store(&e->changed, true);
}

/* Under the lock. A node that is not listed makes the exec stale. */
static struct node *node_of(struct exec *e, CUgraphNode handle)
{
	for (uint32_t i = 0; i < e->count; i++) {
		const uint32_t at = (e->cursor + i) % e->count;

		if (e->nodes[at].handle == handle) {
			e->cursor = at + 1;
			return &e->nodes[at];
		}
	}
	set_stale(e);
	return NULL;
}

void kbn_graph_node_changed(CUgraphExec exec, CUgraphNode node,
			    const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct exec *e = kbn_map_get(&execs, exec);
	struct kbn_graph_node now;
	struct node *n;

	if (!e || !params)
		return;
	memset(&now, 0, sizeof(now));
	set_params(&now, params); /* asks the driver, so before the lock */
	lock(e);
	n = node_of(e, node);
	if (n) {
		now.flags = n->what.flags;
		now.context = n->what.context;
		if (!now.cluster[0])
			memcpy(now.cluster, n->what.cluster, sizeof(now.cluster));
		now.count = now.count && n->what.count;
		/* New pointers for the same shape are no new version. */
		if (memcmp(&now, &n->what, sizeof(now))) {
			n->what = now;
			atomic_store(&e->changed, true);
		}
	}
	unlock(e);
}

void kbn_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled)
{
	struct exec *e = kbn_map_get(&execs, exec);
	struct node *n;

	if (!e)
		return;
	lock(e);
	n = node_of(e, node);
	if (n && n->what.count != enabled) {
		n->what.count = enabled;
		atomic_store(&e->changed, true);
	}
	unlock(e);
}

void kbn_graph_stale(CUgraphExec exec)
{
	struct exec *e = kbn_map_get(&execs, exec);

	if (!e)
		return;
	lock(e);
	set_stale(e);
	unlock(e);
}

void kbn_graph_destroyed(CUgraphExec exec)
{
	struct exec *e = kbn_map_get(&execs, exec);

	/* The entry stays for the next exec of the same value: the driver gives values out again. */
	if (!e)
		return;
	lock(e);
	list_unmap(e->nodes, e->node_bytes);
	e->nodes = NULL;
	e->node_bytes = 0;
	e->count = 0;
	atomic_store(&e->version, 0);
	atomic_store(&e->changed, false);
	unlock(e);
}

void kbn_graphs_reset(void)
{
	kbn_map_reset(&execs);
	kbn_map_reset(&versions);
	atomic_store(&version_count, 0);
}
