/*
 * gate.h - the one hold that the shim puts on a stream: a wait for a word of pinned memory, opened
 * by the launching thread, or by the watcher thread after KBN_GATE_NS, or when a thread enters a
 * call that may block the driver. Knows threads and words; streams and events are timing.c's.
 */
#ifndef KBN_SHIM_GATE_H
#define KBN_SHIM_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KBN_GATE_NS      100000u /* hard limit of a hold */
#define KBN_GATE_THREADS 512u    /* threads with a higher id are never gated */
#define KBN_GATE_STRIDE  64u     /* bytes between the words of two threads: a cache line each */

enum kbn_gate_end {
	KBN_GATE_HELD,     /* opened by the launching thread: both events were queued before it */
	KBN_GATE_DEADLINE, /* opened by the watcher, or later than it should have been */
	KBN_GATE_BLOCKED,  /* opened because another thread entered a blocking call */
};

/* Start the watcher if need be. False when there is none: then no gate may be shut. */
bool kbn_gate_ready(void);

/*
 * Before the wait for `*word >= value` is put into the stream: from now on somebody opens it.
 * False when a blocking call is under way: put no wait into the stream.
 */
bool kbn_gate_shut(uint32_t thread, uint32_t *word, uint32_t value);

/* Open the gate of this thread, whoever may have done so before; says who was first. */
enum kbn_gate_end kbn_gate_open(uint32_t thread);

/* The words [words, words + bytes) are about to vanish: nobody touches them after the return. */
void kbn_gate_forget(const void *words, size_t bytes);

/* End of the recording: no gate is shut any more and none is left shut. */
void kbn_gate_stop(void);

#endif
