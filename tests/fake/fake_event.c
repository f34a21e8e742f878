/*
 * fake_event.c - events: records with simulated times, queries, what a fault does to them.
 */
#include "fake_cuda.h"
#include "fake_clock.h"

#include <time.h>

#define FAULT_NS 50000000ull /* for so long nobody is told of a fault */

FAKE_API(cuEventCreate, CUevent *out, unsigned flags)
{
	FAKE_BEGIN(cuEventCreate);
	int result;
	struct fake_context *c = fake_current_ok(&call, &result);
	struct fake_event *e;
	char name[40];

	if (!c)
		FAKE_END(result, "%u", flags);
	if (fake_ours(&call)) {
		atomic_fetch_add(&fake_counts->own_events, 1);
		fake_should_relax(&call);
	}
	e = fake_new(FAKE_EVENT, sizeof(*e), &call);
	e->context = c;
	e->generation = c->generation;
	e->flags = flags;
	*out = (CUevent)e;
	FAKE_END(0, "%u -> %s", flags, fake_name(e, name));
}

/* The event when it and its context still live. */
static struct fake_event *event(struct fake_call *call, CUevent handle)
{
	struct fake_event *e = fake_need(call, handle, FAKE_EVENT);

	if (e && (!e->context->object.alive || e->generation != e->context->generation)) {
		if (fake_ours(call))
			fake_violation(call, "event of a context that has ended");
		return NULL;
	}
	return e;
}

static int event_destroy(struct fake_call *call, CUevent handle)
{
	struct fake_event *e = event(call, handle);

	if (!e)
		return 400;
	if (fake_ours(call))
		fake_should_relax(call);
	pthread_mutex_lock(&e->context->lock);
	e->record++;
	pthread_mutex_unlock(&e->context->lock);
	fake_free(e);
	return 0;
}

FAKE_SINGLE(cuEventDestroy_v2, (CUevent handle), event_destroy(&call, handle), "%s",
	    fake_name(handle, n1))

FAKE_SINGLE(cuEventDestroy, (CUevent handle), event_destroy(&call, handle), "%s",
	    fake_name(handle, n1))

static int record(struct fake_call *call, CUevent handle, CUstream stream, bool ptsz)
{
	int result;
	struct fake_event *e = event(call, handle);
	struct fake_stream *s = fake_stream(call, stream, ptsz, &result);
	struct fake_op op = {.kind = OP_RECORD};

	if (!e || !s)
		return e ? result : 400;
	if (e->context != s->context) {
		if (fake_ours(call))
			fake_violation(call, "event and stream of different contexts");
		return 400;
	}
	if (fake_ours(call)) {
		if (s->capture)
			fake_violation(call, "event record into a capturing stream");
		else if (s->overlap)
			fake_violation(call, "record in a stream whose launches overlap");
		else if (s == &s->context->legacy && s->context->captures)
			fake_violation(call, "record on the legacy stream while a stream captures");
	}
	switch (fake_capture_route(call, s, &result)) {
	case 1: return fake_capture_event_record(call, s, e);
	case 0: break;
	default: return result;
	}
	pthread_mutex_lock(&s->context->lock);
	op.event = e;
	op.record = ++e->record;
	e->capture = NULL;
	fake_clock_submit(s, &op);
	pthread_mutex_unlock(&s->context->lock);
	return 0;
}

FAKE_TWINS(cuEventRecord, (CUevent handle, CUstream stream), record(&call, handle, stream, ptsz),
	   "%s %s", fake_name(handle, n1), fake_name(stream, n2))

/* 0 done, 600 not yet, or the error. */
static int event_state(struct fake_event *e, uint64_t now)
{
	struct fake_context *c = e->context;

	if (e->state == FAKE_EVENT_CAPTURED)
		return 907;
	if (e->state == FAKE_EVENT_NEW)
		return 0;
	if (e->state == FAKE_EVENT_PENDING)
		for (struct fake_stream *s = &c->legacy; s;
		     s = s == &c->legacy ? c->streams : s->next)
			fake_clock_pump(s, now);
	/* After a device fault nothing behind it completes, and for a while nobody is told. */
	if (c->fault_ns && (e->state == FAKE_EVENT_PENDING || e->time_ns > c->fault_ns)) {
		if (now < c->fault_ns + FAULT_NS)
			return 600;
		return 700;
	}
	return e->state == FAKE_EVENT_TIMED && e->time_ns <= now ? 0 : 600;
}

FAKE_API(cuEventQuery, CUevent handle)
{
	FAKE_BEGIN(cuEventQuery);
	struct fake_event *e = event(&call, handle);
	char name[40];
	int result = fake_unsafe(&call);

	if (!e || result)
		FAKE_END(e ? result : 400, "%s", fake_name(handle, name));
	result = fake_sticky(&call, e->context);
	pthread_mutex_lock(&e->context->lock);
	if (!result)
		result = event_state(e, fake_now());
	pthread_mutex_unlock(&e->context->lock);
	FAKE_END(result, "%s", fake_name(handle, name));
}

FAKE_API(cuEventSynchronize, CUevent handle)
{
	FAKE_BEGIN(cuEventSynchronize);
	struct fake_event *e = event(&call, handle);
	char name[40];
	int result = fake_unsafe(&call);

	if (fake_ours(&call))
		fake_violation(&call, "the recorder waits for an event");
	if (!e || result)
		FAKE_END(e ? result : 400, "%s", fake_name(handle, name));
	pthread_mutex_lock(&e->context->lock);
	while ((result = event_state(e, fake_now())) == 600) {
		struct timespec nap = {0, 20000};

		pthread_mutex_unlock(&e->context->lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&e->context->lock);
	}
	if (result == 700)
		e->context->sticky = 700;
	pthread_mutex_unlock(&e->context->lock);
	FAKE_END(result, "%s", fake_name(handle, name));
}

static int elapsed(struct fake_call *call, float *ms, CUevent start, CUevent stop)
{
	struct fake_event *a = event(call, start), *b = event(call, stop);
	int first, second, result;
	uint64_t now = fake_now();

	if (!a || !b || !ms || a->context != b->context ||
	    (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return a && b && a->context == b->context && !ms ? 1 : 400;
	result = fake_sticky(call, a->context);
	if (result)
		return result;
	pthread_mutex_lock(&a->context->lock);
	first = a->state == FAKE_EVENT_NEW ? 400 : event_state(a, now);
	second = b->state == FAKE_EVENT_NEW ? 400 : event_state(b, now);
	if (!first && !second)
		*ms = (float)(((double)b->time_ns - (double)a->time_ns) / 1e6);
	pthread_mutex_unlock(&a->context->lock);
	if (fake_ours(call))
		fake_should_relax(call);
	if (first == 400 || second == 400)
		return 400;
	return first == 600 || second == 600 ? 600 : first ? first : second;
}

/* Times differ from run to run: not in the log. */
FAKE_SINGLE(cuEventElapsedTime, (float *ms, CUevent start, CUevent stop),
	    elapsed(&call, ms, start, stop), "%s %s", fake_name(start, n1), fake_name(stop, n2))

FAKE_SINGLE(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent stop),
	    elapsed(&call, ms, start, stop), "%s %s", fake_name(start, n1), fake_name(stop, n2))

static int wait_event(struct fake_call *call, CUstream stream, CUevent handle, bool ptsz)
{
	int result;
	struct fake_event *e = event(call, handle);
	struct fake_stream *s = fake_stream(call, stream, ptsz, &result);

	if (!e || !s)
		return e ? result : 400;
	if (fake_ours(call))
		fake_violation(call, "the recorder makes a stream wait");
	if (e->state == FAKE_EVENT_CAPTURED)
		return fake_capture_event_wait(s, e);
	if (s->capture) {
		s->capture->invalid = true;
		return 905;
	}
	pthread_mutex_lock(&s->context->lock);
	if (e->state == FAKE_EVENT_TIMED && e->time_ns > s->tail_ns)
		s->tail_ns = e->time_ns;
	pthread_mutex_unlock(&s->context->lock);
	return 0;
}

FAKE_TWINS(cuStreamWaitEvent, (CUstream stream, CUevent handle, unsigned flags),
	   wait_event(&call, stream, handle, ptsz), "%s %s %u", fake_name(stream, n1),
	   fake_name(handle, n2), flags)
