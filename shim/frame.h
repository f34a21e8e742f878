/*
 * frame.h - the shape of every wrapper that is not a launch: guard, gates held open, the real call
 * once, then the bookkeeping of a success.
 */
#ifndef KBN_SHIM_FRAME_H
#define KBN_SHIM_FRAME_H

#include <errno.h>
#include <stdbool.h>

#include "hook.h"
#include "state.h"
#include "timing.h"

/* A call that may wait for the device: gates stay open from begin to end. */
static inline bool kbn_frame_begin(void)
{
	const bool recording = kbn_recording();

	if (recording)
		kbn_time_block_enter();
	return recording;
}

static inline void kbn_frame_end(bool recording)
{
	if (recording)
		kbn_time_block_leave();
	kbn_leave();
}

/* `before` runs first and `after` after a success, both only while recording; errno is kept. */
#define KBN_FRAMED(symbol, before, after, ...)                \
	do {                                                  \
		CUresult result;                              \
		bool recording;                               \
		int saved_errno;                              \
                                                              \
		if (!kbn_enter())                             \
			return KBN_PASS(symbol, __VA_ARGS__); \
		recording = kbn_frame_begin();                \
		saved_errno = errno;                          \
		if (recording) {                              \
			before;                               \
			errno = saved_errno;                  \
		}                                             \
		result = KBN_REAL(symbol, __VA_ARGS__);       \
		saved_errno = errno;                          \
		if (result == CUDA_SUCCESS && recording) {    \
			after;                                \
		}                                             \
		kbn_frame_end(recording);                     \
		errno = saved_errno;                          \
		return result;                                \
	} while (0)

#define KBN_NOTHING (void)0

#endif
