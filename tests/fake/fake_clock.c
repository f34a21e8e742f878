/*
 * fake_clock.c - the simulated clock of streams.
 *
 * The clock is the host's monotonic one. Work starts when it was given and what is before it in
 * its stream is done, takes a fixed time, and is never executed. Only a shut gate makes a stream
 * keep a list: what is behind it has no time yet. Constants are those of one H200: a gated pair
 * around a kernel reads 2.08 us too much, a plain one 2.8 us, records alone 1.28 us.
 */
#include "fake_cuda.h"
#include "fake_clock.h"

#include <stdlib.h>
#include <time.h>

#define LAUNCH_NS     800  /* from the end of what is before to the start of a kernel */
#define RECORD_NS     1280 /* one record */
#define ALONE_NS      720  /* more for a kernel that was not queued up */
#define NEVER         UINT64_MAX
#define OPS_MAX       1024 /* then the program's call waits, as with a full queue */
#define GATE_LIMIT_NS 2000000000ull

uint64_t fake_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool blocking(const struct fake_stream *s)
{
	return s != &s->context->legacy && !(s->flags & CU_STREAM_NON_BLOCKING);
}

uint64_t fake_clock_order(struct fake_stream *s, uint64_t now)
{
	struct fake_context *c = s->context;
	uint64_t at = s->tail_ns > now ? s->tail_ns : now;

	if (s == &c->legacy) {
		for (struct fake_stream *o = c->streams; o; o = o->next)
			if (blocking(o) && o->tail_ns > at)
				at = o->tail_ns;
	} else if (blocking(s) && c->legacy.tail_ns > at) {
		at = c->legacy.tail_ns;
	}
	return at;
}

static void apply(struct fake_stream *s, const struct fake_op *op, uint64_t ready, bool queued)
{
	uint64_t at = fake_clock_order(s, ready);

	if (op->kind == OP_WORK) {
		uint64_t lead = LAUNCH_NS + (queued ? 0 : ALONE_NS);

		s->tail_ns = op->duration_ns == NEVER || at == NEVER ? NEVER
								     : at + lead + op->duration_ns;
		return;
	}
	s->tail_ns = at == NEVER ? NEVER : at + RECORD_NS;
	if (op->event && op->event->record == op->record) {
		op->event->time_ns = s->tail_ns;
		op->event->state = FAKE_EVENT_TIMED;
	}
}

static bool gate_open(const struct fake_op *op)
{
	uint32_t word = atomic_load_explicit(op->word, memory_order_acquire);

	return (int32_t)(word - op->value) >= 0;
}

void fake_clock_pump(struct fake_stream *s, uint64_t now)
{
	bool passed = false;

	while (s->op_count) {
		struct fake_op *op = &s->ops[s->op_head];

		if (op->kind == OP_GATE) {
			if (!gate_open(op))
				return;
			if (s->tail_ns < now)
				s->tail_ns = now;
			passed = true;
		} else {
			apply(s, op, op->submit_ns, passed || s->op_head > 0);
		}
		s->op_head++;
		s->op_count--;
	}
	s->op_head = 0;
}

void fake_clock_submit(struct fake_stream *s, struct fake_op *op)
{
	op->submit_ns = fake_now();
	fake_clock_pump(s, op->submit_ns);
	if (!s->op_count && (op->kind != OP_GATE || gate_open(op))) {
		if (op->kind != OP_GATE)
			apply(s, op, op->submit_ns, false);
		return;
	}
	if (op->event)
		op->event->state = FAKE_EVENT_PENDING;
	if (s->op_head + s->op_count == s->op_cap) {
		s->op_cap = s->op_cap ? s->op_cap * 2 : 16;
		s->ops = realloc(s->ops, s->op_cap * sizeof(*s->ops));
	}
	s->ops[s->op_head + s->op_count++] = *op;
}

/* A full queue holds the caller until the gate opens; one that nobody opens is a dead program. */
static void wait_for_room(struct fake_call *call, struct fake_stream *s)
{
	uint64_t start = 0;

	while (s->op_count >= OPS_MAX) {
		struct timespec nap = {0, 20000};

		fake_clock_pump(s, fake_now());
		if (!start)
			start = fake_now();
		if (fake_now() - start > GATE_LIMIT_NS) {
			fake_violation(call, "a gate was never opened");
			s->op_count = s->op_head = 0;
			return;
		}
		pthread_mutex_unlock(&s->context->lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&s->context->lock);
	}
}

void fake_stream_work(struct fake_stream *s, uint64_t duration)
{
	struct fake_op op = {.kind = OP_WORK, .duration_ns = duration};
	FAKE_CALL(launch);

	wait_for_room(&call, s);
	fake_clock_submit(s, &op);
}

/* The program waits; the time is spent for real, so that its timing looks like a device's. */
int fake_stream_drain(struct fake_call *call, struct fake_stream *s)
{
	struct fake_context *c = s->context;
	uint64_t start = fake_now();

	for (;;) {
		uint64_t now = fake_now(), at;
		struct timespec nap = {0, 20000};

		fake_clock_pump(s, now);
		at = fake_clock_order(s, 0);
		if (c->fault_ns && now >= c->fault_ns) {
			c->sticky = 700;
			return 700;
		}
		if (!s->op_count && at <= now)
			return 0;
		if (s->op_count && now - start > GATE_LIMIT_NS) {
			fake_violation(call, "waits for work behind a gate that nobody opens");
			return 999;
		}
		pthread_mutex_unlock(&c->lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&c->lock);
	}
}

void fake_stream_forget(struct fake_stream *s)
{
	fake_capture_drop(s);
	free(s->ops);
	s->ops = NULL;
	s->op_head = s->op_count = s->op_cap = 0;
}
