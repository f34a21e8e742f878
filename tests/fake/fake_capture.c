/*
 * fake_capture.c - stream capture: modes, threads, what is forbidden meanwhile, and what becomes a
 * node. Rules as stated by the driver's documentation and as measured on a device.
 */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

_Atomic unsigned fake_captures_open;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_capture *open_list;
static uint64_t next_id = 1;

/* May this thread not make unsafe calls while `p` is open? */
static bool forbids(const struct fake_capture *p, const struct fake_thread *t)
{
	if (t->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return (p->thread == t->id && p->mode != CU_STREAM_CAPTURE_MODE_RELAXED) ||
	       (t->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
		p->mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static bool any_forbids(bool invalidate)
{
	struct fake_thread *t = fake_thread();
	bool hit = false;

	if (!atomic_load_explicit(&fake_captures_open, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&lock);
	for (struct fake_capture *p = open_list; p; p = p->next)
		if (forbids(p, t)) {
			hit = true;
			p->invalid |= invalidate;
		}
	pthread_mutex_unlock(&lock);
	return hit;
}

int fake_unsafe(struct fake_call *call)
{
	if (!any_forbids(true))
		return 0;
	if (fake_ours(call))
		fake_violation(call, "unsafe call while a capture is open, not in RELAXED mode");
	return 900;
}

void fake_should_relax(struct fake_call *call)
{
	if (any_forbids(false))
		fake_violation(call, "own call during a capture, not in RELAXED mode");
}

int fake_capture_route(struct fake_call *call, struct fake_stream *s, int *result)
{
	(void)call;
	*result = 0;
	if (s->capture) {
		if (!s->capture->invalid)
			return 1;
		*result = 901;
		return -1;
	}
	/* Legacy work would depend on the capturing stream without saying so. */
	if (s == &s->context->legacy && s->context->captures) {
		pthread_mutex_lock(&s->context->lock);
		for (struct fake_stream *o = s->context->streams; o; o = o->next)
			if (o->capture && !(o->flags & CU_STREAM_NON_BLOCKING))
				o->capture->invalid = true;
		pthread_mutex_unlock(&s->context->lock);
		*result = 906;
		return -1;
	}
	return 0;
}

static void set_last(struct fake_stream *s, struct fake_node *const *nodes, uint32_t n)
{
	struct fake_node **copy = n ? malloc(n * sizeof(*copy)) : NULL;

	if (n)
		memcpy(copy, nodes, n * sizeof(*copy));
	free(s->last);
	s->last = copy;
	s->last_count = n;
}

void fake_capture_chain(struct fake_stream *s, struct fake_node *node)
{
	node->from = s->last;
	node->from_count = s->last_count;
	s->last = NULL;
	set_last(s, &node, 1);
}

int fake_capture_event_record(struct fake_call *call, struct fake_stream *s, struct fake_event *e)
{
	(void)call;
	e->record++;
	e->state = FAKE_EVENT_CAPTURED;
	e->capture = s->capture;
	free(e->nodes);
	e->node_count = s->last_count;
	e->nodes = s->last_count ? malloc(s->last_count * sizeof(*e->nodes)) : NULL;
	if (s->last_count)
		memcpy(e->nodes, s->last, s->last_count * sizeof(*e->nodes));
	return 0;
}

static void join(struct fake_stream *s, struct fake_capture *p)
{
	s->capture = p;
	s->context->captures += !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* A stream that waits for a captured event joins the capture. */
int fake_capture_event_wait(struct fake_stream *s, struct fake_event *e)
{
	struct fake_node **merged;
	uint32_t n = 0;

	if (s == &s->context->legacy)
		return 906;
	if (s->capture && s->capture != e->capture) {
		s->capture->invalid = true;
		return 902;
	}
	if (!s->capture)
		join(s, e->capture);
	merged = malloc((s->last_count + e->node_count + 1) * sizeof(*merged));
	for (uint32_t i = 0; i < s->last_count; i++)
		merged[n++] = s->last[i];
	for (uint32_t i = 0; i < e->node_count; i++)
		merged[n++] = e->nodes[i];
	set_last(s, merged, n);
	free(merged);
	return 0;
}

/* A stream leaves its capture, which is void when it was its origin and has not ended. */
void fake_capture_drop(struct fake_stream *s)
{
	if (s->capture && s->context->captures && !(s->flags & CU_STREAM_NON_BLOCKING))
		s->context->captures--;
	s->capture = NULL;
	free(s->last);
	s->last = NULL;
	s->last_count = 0;
}

static int begin(struct fake_call *call, CUstream handle, bool ptsz, CUstreamCaptureMode mode,
		 CUgraph to, const CUgraphNode *from, size_t from_count)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);
	struct fake_capture *p;

	if (!s)
		return result;
	if (fake_ours(call))
		fake_violation(call, "the recorder captures");
	if (s == &s->context->legacy)
		return 900;
	if (s->capture)
		return 401;
	p = calloc(1, sizeof(*p));
	p->mode = mode;
	p->thread = fake_thread()->id;
	p->graph = to ? fake_need(call, to, FAKE_GRAPH) : fake_graph_new(call);
	p->to_graph = to != NULL;
	p->origin = s;
	if (!p->graph) {
		free(p);
		return 400;
	}
	set_last(s, (struct fake_node *const *)(const void *)from, (uint32_t)from_count);
	join(s, p);
	pthread_mutex_lock(&lock);
	p->id = next_id++;
	p->next = open_list;
	open_list = p;
	fake_captures_open++;
	pthread_mutex_unlock(&lock);
	return 0;
}

FAKE_TWINS(cuStreamBeginCapture, (CUstream handle),
	   begin(&call, handle, ptsz, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0), "%s",
	   fake_name(handle, n1))
FAKE_TWINS(cuStreamBeginCapture_v2, (CUstream handle, CUstreamCaptureMode mode),
	   begin(&call, handle, ptsz, mode, NULL, NULL, 0), "%s %d", fake_name(handle, n1),
	   (int)mode)
FAKE_TWINS(cuStreamBeginCaptureToGraph,
	   (CUstream handle, CUgraph graph, const CUgraphNode *from, const CUgraphEdgeData *edges,
	    size_t n, CUstreamCaptureMode mode),
	   begin(&call, handle, ptsz, mode, graph, from, n), "%s %s %d", fake_name(handle, n1),
	   fake_name(graph, n2), edges != NULL)

static void close_capture(struct fake_capture *p)
{
	struct fake_context *c = p->origin->context;

	pthread_mutex_lock(&c->lock);
	for (struct fake_stream *s = c->streams; s; s = s->next)
		if (s->capture == p)
			fake_capture_drop(s);
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&lock);
	for (struct fake_capture **at = &open_list; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			fake_captures_open--;
			break;
		}
	pthread_mutex_unlock(&lock);
	/* Not freed: captured events still point at it. */
}

static int end(struct fake_call *call, CUstream handle, bool ptsz, CUgraph *out)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);
	struct fake_capture *p;

	if (!s)
		return result;
	p = s->capture;
	if (!p)
		return 401;
	if (p->origin != s)
		return 903;
	if (p->thread != fake_thread()->id && p->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return 908;
	close_capture(p);
	if (out)
		*out = NULL;
	if (p->invalid)
		return 901;
	if (out)
		*out = (CUgraph)p->graph;
	return 0;
}

FAKE_TWINS(cuStreamEndCapture, (CUstream handle, CUgraph *out), end(&call, handle, ptsz, out),
	   "%s -> %s", fake_name(handle, n1), out ? FAKE_MADE(out, n2) : "-")

struct info {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **nodes;
	size_t *count;
};

static int capture_info(struct fake_call *call, CUstream handle, bool ptsz, const struct info *out)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (!s || !out->status)
		return s ? 1 : result;
	if (s == &s->context->legacy && s->context->captures)
		return 906;
	*out->status = !s->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
		       : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (*out->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return 0;
	if (out->id)
		*out->id = s->capture->id;
	if (out->graph)
		*out->graph = (CUgraph)s->capture->graph;
	if (out->nodes)
		*out->nodes = (const CUgraphNode *)(const void *)s->last;
	if (out->count)
		*out->count = s->last_count;
	return 0;
}

FAKE_TWINS(cuStreamIsCapturing, (CUstream handle, CUstreamCaptureStatus *status),
	   capture_info(&call, handle, ptsz, &(struct info){status, NULL, NULL, NULL, NULL}), "%s",
	   fake_name(handle, n1))
FAKE_TWINS(cuStreamGetCaptureInfo, (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id),
	   capture_info(&call, handle, ptsz, &(struct info){status, id, NULL, NULL, NULL}), "%s",
	   fake_name(handle, n1))
FAKE_TWINS(cuStreamGetCaptureInfo_v2,
	   (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	    const CUgraphNode **nodes, size_t *n),
	   capture_info(&call, handle, ptsz, &(struct info){status, id, graph, nodes, n}), "%s",
	   fake_name(handle, n1))
FAKE_TWINS(cuStreamGetCaptureInfo_v3,
	   (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	    const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *n),
	   capture_info(&call, handle, ptsz, &(struct info){status, id, graph, nodes, n}), "%s %d",
	   fake_name(handle, n1), edges != NULL)

static int exchange(CUstreamCaptureMode *mode)
{
	struct fake_thread *t = fake_thread();
	CUstreamCaptureMode old = t->mode;

	if (!mode || (unsigned)*mode > 2)
		return 1;
	t->mode = *mode;
	*mode = old;
	return 0;
}

FAKE_SINGLE(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), exchange(mode),
	    "-> %d", (int)*mode)
