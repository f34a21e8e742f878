/*
 * fake_stream.c - streams: handles and special values, gates, waiting.
 */
#include "fake_cuda.h"
#include "fake_clock.h"

static _Atomic uint64_t next_stream_id = 10;

static struct fake_stream *per_thread(struct fake_context *c)
{
	uint32_t id = fake_thread()->id;
	struct fake_stream *s;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s; s = s->next)
		if (s->special && s->thread == id)
			break;
	if (!s) {
		s = fake_new(FAKE_STREAM, sizeof(*s), NULL);
		s->context = c;
		s->special = true;
		s->thread = id;
		s->next = c->streams;
		c->streams = s;
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

struct fake_stream *fake_stream(struct fake_call *call, CUstream handle, bool ptsz, int *result)
{
	uintptr_t value = (uintptr_t)handle;
	struct fake_stream *s;
	struct fake_context *c;

	if (value > 2) {
		s = fake_need(call, handle, FAKE_STREAM);
		*result = s ? fake_sticky(call, s->context) : 400;
		return *result ? NULL : s;
	}
	c = fake_current_ok(call, result);
	if (!c)
		return NULL;
	return value == 2 || (value == 0 && ptsz) ? per_thread(c) : &c->legacy;
}

static int stream_create(struct fake_call *call, struct fake_context *c, CUstream *out,
			 unsigned flags, int priority)
{
	struct fake_stream *s;

	if (!out || flags > 1)
		return 1;
	if (fake_ours(call))
		fake_violation(call, "the recorder makes a stream");
	s = fake_new(FAKE_STREAM, sizeof(*s), call);
	s->context = c;
	s->flags = flags;
	s->priority = priority;
	s->unique = next_stream_id++;
	pthread_mutex_lock(&c->lock);
	s->next = c->streams;
	c->streams = s;
	c->blocking += !flags;
	pthread_mutex_unlock(&c->lock);
	*out = (CUstream)s;
	return 0;
}

FAKE_API(cuStreamCreate, CUstream *out, unsigned flags)
{
	FAKE_BEGIN(cuStreamCreate);
	int result;
	struct fake_context *c = fake_current_ok(&call, &result);
	char name[40];

	if (c)
		result = stream_create(&call, c, out, flags, 0);
	FAKE_END(result, "%u -> %s", flags, FAKE_MADE(out, name));
}

FAKE_API(cuStreamCreateWithPriority, CUstream *out, unsigned flags, int priority)
{
	FAKE_BEGIN(cuStreamCreateWithPriority);
	int result;
	struct fake_context *c = fake_current_ok(&call, &result);
	char name[40];

	if (c)
		result = stream_create(&call, c, out, flags, priority);
	FAKE_END(result, "%u %d -> %s", flags, priority, FAKE_MADE(out, name));
}

FAKE_API(cuGreenCtxStreamCreate, CUstream *out, CUgreenCtx handle, unsigned flags, int priority)
{
	FAKE_BEGIN(cuGreenCtxStreamCreate);
	struct fake_green *g = fake_need(&call, handle, FAKE_GREEN);
	char name[40];
	int result = g ? stream_create(&call, g->context, out, flags, priority) : 400;

	FAKE_END(result, "%u %d -> %s", flags, priority, FAKE_MADE(out, name));
}

static int stream_destroy(struct fake_call *call, CUstream handle)
{
	struct fake_stream *s = fake_need(call, handle, FAKE_STREAM), **at;
	struct fake_context *c;

	if (!s)
		return 400;
	c = s->context;
	pthread_mutex_lock(&c->lock);
	/* Destroying does not wait: what is queued goes on. Gates must not be left shut behind it. */
	fake_clock_pump(s, fake_now());
	for (at = &c->streams; *at && *at != s; at = &(*at)->next)
		;
	if (*at)
		*at = s->next;
	c->blocking -= !s->flags && !s->special;
	fake_stream_forget(s);
	pthread_mutex_unlock(&c->lock);
	fake_free(s);
	return 0;
}

FAKE_SINGLE(cuStreamDestroy, (CUstream handle), stream_destroy(&call, handle), "%s",
	    fake_name(handle, n1))

FAKE_SINGLE(cuStreamDestroy_v2, (CUstream handle), stream_destroy(&call, handle), "%s",
	    fake_name(handle, n1))

static int synchronize(struct fake_call *call, CUstream handle, bool ptsz)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (fake_ours(call))
		fake_violation(call, "the recorder waits for a stream");
	if (!s)
		return result;
	if (s->capture) {
		s->capture->invalid = true;
		return 900;
	}
	pthread_mutex_lock(&s->context->lock);
	result = fake_stream_drain(call, s);
	pthread_mutex_unlock(&s->context->lock);
	return result;
}

FAKE_TWINS(cuStreamSynchronize, (CUstream handle), synchronize(&call, handle, ptsz), "%s",
	   fake_name(handle, n1))

static int stream_query(struct fake_call *call, CUstream handle, bool ptsz)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (!s)
		return result;
	if (s->capture) {
		s->capture->invalid = true;
		return 900;
	}
	pthread_mutex_lock(&s->context->lock);
	fake_clock_pump(s, fake_now());
	result = s->op_count || fake_clock_order(s, 0) > fake_now() ? 600 : 0;
	pthread_mutex_unlock(&s->context->lock);
	return result;
}

FAKE_TWINS(cuStreamQuery, (CUstream handle), stream_query(&call, handle, ptsz), "%s",
	   fake_name(handle, n1))

static int stream_context(struct fake_call *call, CUstream handle, bool ptsz, CUcontext *out)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (s)
		*out = (CUcontext)s->context;
	return result;
}

FAKE_TWINS(cuStreamGetCtx, (CUstream handle, CUcontext *out),
	   stream_context(&call, handle, ptsz, out), "%s", fake_name(handle, n1))

static int stream_context_v2(struct fake_call *call, CUstream handle, bool ptsz, CUcontext *out,
			     CUgreenCtx *green)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (!s)
		return result;
	if (green)
		*green = (CUgreenCtx)s->context->green;
	/* A stream of a green context has no plain one. */
	if (out)
		*out = s->context->green ? NULL : (CUcontext)s->context;
	return 0;
}

FAKE_TWINS(cuStreamGetCtx_v2, (CUstream handle, CUcontext *out, CUgreenCtx *green),
	   stream_context_v2(&call, handle, ptsz, out, green), "%s", fake_name(handle, n1))

static int stream_fact(struct fake_call *call, CUstream handle, bool ptsz, unsigned *flags,
		       unsigned long long *id)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (s && flags)
		*flags = s->flags;
	if (s && id)
		*id = s == &s->context->legacy ? 1 : s->special ? 2 + s->thread : s->unique;
	return result;
}

FAKE_TWINS(cuStreamGetFlags, (CUstream handle, unsigned *flags),
	   stream_fact(&call, handle, ptsz, flags, NULL), "%s", fake_name(handle, n1))
FAKE_TWINS(cuStreamGetId, (CUstream handle, unsigned long long *id),
	   stream_fact(&call, handle, ptsz, NULL, id), "%s", fake_name(handle, n1))

static int host_func(struct fake_call *call, CUstream handle, bool ptsz, CUhostFn fn, void *user)
{
	int result, routed;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (!s)
		return result;
	if (fake_ours(call))
		fake_violation(call, "the recorder queues host work");
	routed = fake_capture_route(call, s, &result);
	if (routed > 0)
		fake_capture_chain(s,
				   fake_node_new(s->capture->graph, CU_GRAPH_NODE_TYPE_HOST, call));
	else if (!result)
		fn(user); /* early, which stream order allows nobody to notice here */
	return result;
}

FAKE_TWINS(cuLaunchHostFunc, (CUstream handle, CUhostFn fn, void *user),
	   host_func(&call, handle, ptsz, fn, user), "%s", fake_name(handle, n1))

/* ---- gates: memory operations of a stream ---- */

static int wait_value(struct fake_call *call, CUstream handle, bool ptsz, CUdeviceptr at,
		      uint32_t value, unsigned flags)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);
	struct fake_op op = {.kind = OP_GATE, .value = value};
	struct fake_context *c;

	if (!s)
		return result;
	c = s->context;
	if (fake_ours(call)) {
		atomic_fetch_add(&fake_counts->gates, 1);
		if (s == &c->legacy && c->blocking)
			fake_violation(call, "gate on the legacy stream beside blocking streams");
		if (s->capture)
			fake_violation(call, "gate in a capturing stream");
	}
	if (flags != CU_STREAM_WAIT_VALUE_GEQ || fake_option("FAKE_NO_WAIT"))
		return 801;
	if (fake_capture_route(call, s, &result) > 0) {
		fake_capture_chain(s, fake_node_new(s->capture->graph,
						    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, call));
		return 0;
	}
	if (result)
		return result;
	op.word = (const _Atomic uint32_t *)(uintptr_t)at;
	pthread_mutex_lock(&c->lock);
	fake_clock_submit(s, &op);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

FAKE_TWINS(cuStreamWaitValue32, (CUstream handle, CUdeviceptr at, cuuint32_t value, unsigned flags),
	   wait_value(&call, handle, ptsz, at, value, flags), "%s %u", fake_name(handle, n1), value)
FAKE_TWINS(cuStreamWaitValue32_v2,
	   (CUstream handle, CUdeviceptr at, cuuint32_t value, unsigned flags),
	   wait_value(&call, handle, ptsz, at, value, flags), "%s %u", fake_name(handle, n1), value)

static int write_value(struct fake_call *call, CUstream handle, bool ptsz, CUdeviceptr at,
		       uint32_t value)
{
	int result;
	struct fake_stream *s = fake_stream(call, handle, ptsz, &result);

	if (s && fake_capture_route(call, s, &result) == 0 && !result)
		atomic_store((_Atomic uint32_t *)(uintptr_t)at, value);
	return result;
}

FAKE_TWINS(cuStreamWriteValue32_v2,
	   (CUstream handle, CUdeviceptr at, cuuint32_t value, unsigned flags),
	   write_value(&call, handle, ptsz, at, value), "%s %u", fake_name(handle, n1), flags)
