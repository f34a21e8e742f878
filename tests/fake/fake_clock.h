/*
 * fake_clock.h - the simulated clock, for the parts that put work into streams. The lock of the
 * stream's context is held in all of these.
 */
#ifndef KBN_FAKE_CLOCK_H
#define KBN_FAKE_CLOCK_H

#include "fake_cuda.h"

#pragma GCC visibility push(hidden)

struct fake_op {
	enum { OP_WORK, OP_RECORD, OP_GATE } kind;
	uint64_t submit_ns, duration_ns;
	struct fake_event *event;
	uint32_t record;
	const _Atomic uint32_t *word; /* a gate: open once *word >= value */
	uint32_t value;
};

/* Append to a stream: its time is known at once, or when the gates before it have opened. */
void fake_clock_submit(struct fake_stream *s, struct fake_op *op);
/* Let through what is behind gates that have opened meanwhile. */
void fake_clock_pump(struct fake_stream *s, uint64_t now);
/* The earliest start of new work: after its own stream, and in the legacy stream's order. */
uint64_t fake_clock_order(struct fake_stream *s, uint64_t now);

#pragma GCC visibility pop

#endif
