/*
 * app_graph.c - a program linked with the driver: stream capture and graphs, one case each.
 *
 * Usage: app_graph CASE. As app_direct.
 */
#include "client_program.h"

#include <pthread.h>
#include <sys/resource.h>

static void graph_of(CUgraph *g, CUstream s, CUstreamCaptureMode mode, int launches)
{
	OK(cuStreamBeginCapture_v2(s, mode));
	for (int i = 0; i < launches; i++)
		OK(launch2(s));
	OK(launch0(s, 3));
	OK(cuStreamEndCapture(s, g));
}

static void capture(void)
{
	CUstream s, other;
	CUgraph g = NULL;
	CUgraphExec x = NULL;
	CUevent e;
	CUstreamCaptureStatus status = 9;
	CUdeviceptr at = 0;
	size_t n = 0;

	start();
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	DO(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 15; i++)
		OK(launch2(s));
	for (int mode = 0; mode < 3; mode++) {
		graph_of(&g, s, (CUstreamCaptureMode)mode, 4);
		DO(cuGraphGetNodes(g, NULL, &n));
		printf("nodes %zu\n", n);
		DO(cuGraphInstantiateWithFlags(&x, g, 0));
		for (int i = 0; i < 10; i++)
			OK(cuGraphLaunch(x, s));
		DO(cuGraphExecDestroy(x));
		DO(cuGraphDestroy(g));
	}
	/* The capture spreads to another stream by an event. */
	DO(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	DO(launch2(s));
	DO(cuEventRecord(e, s));
	DO(cuStreamWaitEvent(other, e, 0));
	DO(launch2(other));
	DO(cuStreamIsCapturing(other, &status));
	printf("status %d\n", (int)status);
	DO(cuEventRecord(e, other));
	DO(cuStreamWaitEvent(s, e, 0));
	DO(cuEventQuery(e));
	DO(cuStreamEndCapture(s, &g));
	/* The first form has no mode. */
	DO(cuStreamBeginCapture(s));
	DO(launch0(s, 1));
	DO(cuStreamEndCapture(s, &g));
	DO(cuGraphGetNodes(g, NULL, &n));
	printf("nodes %zu\n", n);
	/* An unsafe call of the program's own ruins its capture. */
	DO(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	DO(launch2(s));
	DO(cuMemAlloc_v2(&at, 4096));
	DO(launch2(s));
	DO(cuStreamEndCapture(s, &g));
	DO(launch2(s));
	DO(cuCtxSynchronize());
}

/* Legacy work while a blocking stream captures: an implicit dependency. */
static void capture_legacy(void)
{
	CUstream s;
	CUgraph g = NULL;
	CUstreamCaptureStatus status = 9;

	start();
	DO(launch2(NULL));
	DO(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	for (int i = 0; i < 10; i++)
		OK(launch2(NULL));
	DO(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	DO(launch2(s));
	DO(cuStreamIsCapturing(NULL, &status));
	DO(launch2(s));
	DO(cuStreamEndCapture(s, &g));
	DO(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	DO(launch2(s));
	DO(launch2(NULL));
	DO(launch2(s));
	DO(cuStreamEndCapture(s, &g));
	DO(launch2(NULL));
	DO(cuCtxSynchronize());
}

static _Atomic int stop;

static void *busy_thread(void *arg)
{
	CUstream s;

	(void)arg;
	cuCtxSetCurrent(context);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 30000 && !stop; i++) {
		if (launch2(s))
			printf("launch failed\n");
		if (i % 16 == 0)
			usleep(200);
	}
	return NULL;
}

/* One thread captures in every mode while another launches: its timing must not touch captures. */
static void capture_threads(void)
{
	pthread_t t;
	CUstream s;
	CUgraph g = NULL;
	size_t n;
	int bad = 0;

	start();
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	pthread_create(&t, NULL, busy_thread, NULL);
	for (int i = 0; i < 30; i++) {
		/* Long enough open for whatever the recorder does on its own now and then. */
		OK(cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)(i % 3)));
		for (int k = 0; k < 4; k++) {
			OK(launch2(s));
			usleep(2000);
		}
		OK(cuStreamEndCapture(s, &g));
		n = 0;
		cuGraphGetNodes(g, NULL, &n);
		bad += n != 4;
		cuGraphDestroy(g);
		usleep(300);
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("bad graphs %d\n", bad);
	DO(cuCtxSynchronize());
}

static CUgraphNode kernel_node(CUgraph g, CUgraphNode after, CUfunction f, unsigned grid, int v1)
{
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};
	CUDA_KERNEL_NODE_PARAMS_v2 p = {.func = f,
					.gridDimX = grid,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 64,
					.blockDimY = 1,
					.blockDimZ = 1,
					.kernelParams = f == none ? NULL : params};
	CUgraphNode n = NULL;

	if (v1) {
		CUDA_KERNEL_NODE_PARAMS_v1 old;

		memcpy(&old, &p, sizeof(old));
		OK(cuGraphAddKernelNode(&n, g, &after, after != NULL, &old));
	} else {
		OK(cuGraphAddKernelNode_v2(&n, g, &after, after != NULL, &p));
	}
	return n;
}

static void graphs(void)
{
	CUgraph g, inner, copy;
	CUgraphNode a, b, c, child;
	CUgraphExec x, y;
	CUgraphExecUpdateResultInfo info;
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
	CUDA_KERNEL_NODE_PARAMS_v2 p = {0};
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	start();
	DO(cuGraphCreate(&g, 0));
	DO(cuGraphCreate(&inner, 0));
	a = kernel_node(g, NULL, k2, 5, 0);
	b = kernel_node(g, a, none, 6, 1);
	kernel_node(g, b, none, 6, 0);
	kernel_node(inner, NULL, k20, 7, 0);
	kernel_node(inner, NULL, k20, 7, 0);
	DO(cuGraphAddChildGraphNode(&child, g, &b, 1, inner));
	DO(cuGraphAddEmptyNode(&c, g, NULL, 0));
	DO(cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < 100; i++)
		OK(cuGraphLaunch(x, NULL));
	/* Another geometry for one node, then one node off, then back. */
	DO(cuGraphKernelNodeGetParams_v2(b, &p));
	p.gridDimX = 11;
	DO(cuGraphExecKernelNodeSetParams_v2(x, b, &p));
	for (int i = 0; i < 10; i++)
		OK(cuGraphLaunch(x, NULL));
	DO(cuGraphNodeSetEnabled(x, b, 0));
	for (int i = 0; i < 10; i++)
		OK(cuGraphLaunch(x, NULL));
	DO(cuGraphNodeSetEnabled(x, b, 1));
	/* The whole graph again, changed. */
	p.gridDimX = 12;
	DO(cuGraphKernelNodeSetParams_v2(b, &p));
	DO(cuGraphExecUpdate_v2(x, g, &info));
	for (int i = 0; i < 10; i++)
		OK(cuGraphLaunch(x, NULL));
	DO(cuGraphClone(&copy, g));
	DO(cuGraphInstantiateWithParams(&y, copy, &params));
	DO(cuGraphUpload(y, NULL));
	for (int i = 0; i < 5; i++)
		OK(cuGraphLaunch_ptsz(y, NULL));
	any.kernel = p;
	any.kernel.gridDimX = 13;
	DO(cuGraphAddNode(&c, g, NULL, 0, &any));
	DO(cuGraphExecUpdate_v2(x, g, &info));
	DO(cuGraphInstantiate_v2(&y, g, NULL, NULL, 0));
	DO(cuGraphLaunch(y, NULL));
	DO(cuGraphLaunch((CUgraphExec)(uintptr_t)0x77770, NULL));
	DO(cuGraphExecDestroy(x));
	DO(cuGraphExecDestroy(y));
	DO(cuGraphDestroy(g));
	DO(cuGraphDestroy(copy));
	DO(cuCtxSynchronize());
}

/* A loop that runs nobody knows how often. */
static void conditional(void)
{
	CUgraph g, body = NULL;
	CUgraphNode n;
	CUgraphExec x;
	CUgraphConditionalHandle handle;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};

	start();
	DO(cuGraphCreate(&g, 0));
	kernel_node(g, NULL, none, 2, 0);
	DO(cuGraphConditionalHandleCreate(&handle, g, context, 1, 0));
	p.conditional.handle = handle;
	p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	p.conditional.size = 1;
	p.conditional.phGraph_out = &body;
	DO(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p));
	kernel_node(body, NULL, none, 3, 0);
	DO(cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < 8; i++)
		OK(cuGraphLaunch(x, NULL));
	DO(cuCtxSynchronize());
}

/* Programs that make their graph anew at every step. */
static void reinstantiate(void)
{
	long rounds = client_number("ROUNDS", 3000);
	CUgraph g;
	CUgraphExec x;
	CUstream s;
	struct rusage half, end;

	start();
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			getrusage(RUSAGE_THREAD, &half);
		graph_of(&g, s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 2);
		OK(cuGraphInstantiateWithFlags(&x, g, 0));
		OK(cuGraphLaunch(x, s));
		OK(cuGraphExecDestroy(x));
		OK(cuGraphDestroy(g));
	}
	getrusage(RUSAGE_THREAD, &end);
	DO(cuCtxSynchronize());
	/* Memory that is mapped anew for each graph shows as a page fault for each. */
	printf("page faults at every graph: %d\n", end.ru_minflt - half.ru_minflt > rounds / 4);
}

static const struct client_case cases[] = {
	{"capture", capture},
	{"capture_legacy", capture_legacy},
	{"capture_threads", capture_threads},
	{"graphs", graphs},
	{"conditional", conditional},
	{"reinstantiate", reinstantiate},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
