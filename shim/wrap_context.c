/*
 * wrap_context.c - cuInit, contexts, streams, capture, and the profiler range.
 *
 * Output: the start of the recording, the end of context generations, stream life for the timing
 * rules, and the count of open captures. A context is entered in the registry by its first launch.
 */
#include <stddef.h>
#include <unistd.h>

#include "frame.h"
#include "hook.h"
#include "launch.h"
#include "registry.h"
#include "state.h"
#include "timing.h"
#include "writer.h"

KBN_WRAP(cuInit)(unsigned flags)
{
	CUresult result;

	if (!kbn_enter())
		return KBN_PASS(cuInit, flags);
	result = KBN_REAL(cuInit, flags);
	if (result == CUDA_SUCCESS)
		kbn_start();
	kbn_leave();
	return result;
}

/* -------------------------------------------------------------------------------------- contexts */

/* The handle's present life ends: before the real call, while its events can still be read. */
static void context_ends(CUcontext handle)
{
	struct kbn_context *c = kbn_registry_find_context(handle);

	if (c)
		kbn_time_context_gone(c);
	kbn_registry_context_gone(handle);
}

/* A new context under a handle that we know: its end was not seen. Nothing of the old is touched. */
static void context_begins(const CUcontext *handle)
{
	if (handle && *handle && kbn_registry_find_context(*handle))
		kbn_registry_context_gone(*handle);
	if (handle)
		kbn_registry_context_made(*handle);
}

KBN_WRAP(cuCtxCreate)(CUcontext *c, unsigned flags, CUdevice d)
{
	KBN_FRAMED(cuCtxCreate, KBN_NOTHING, context_begins(c), c, flags, d);
}

KBN_WRAP(cuCtxCreate_v2)(CUcontext *c, unsigned flags, CUdevice d)
{
	KBN_FRAMED(cuCtxCreate_v2, KBN_NOTHING, context_begins(c), c, flags, d);
}

KBN_WRAP(cuCtxCreate_v3)
(CUcontext *c, CUexecAffinityParam *params, int n, unsigned flags, CUdevice d)
{
	KBN_FRAMED(cuCtxCreate_v3, KBN_NOTHING, context_begins(c), c, params, n, flags, d);
}

KBN_WRAP(cuCtxCreate_v4)(CUcontext *c, CUctxCreateParams *params, unsigned flags, CUdevice d)
{
	KBN_FRAMED(cuCtxCreate_v4, KBN_NOTHING, context_begins(c), c, params, flags, d);
}

KBN_WRAP(cuCtxDestroy)(CUcontext c)
{
	KBN_FRAMED(cuCtxDestroy, context_ends(c), KBN_NOTHING, c);
}

KBN_WRAP(cuCtxDestroy_v2)(CUcontext c)
{
	KBN_FRAMED(cuCtxDestroy_v2, context_ends(c), KBN_NOTHING, c);
}

KBN_WRAP(cuCtxAttach)(CUcontext *c, unsigned flags)
{
	KBN_FRAMED(cuCtxAttach, KBN_NOTHING, KBN_NOTHING, c, flags);
}

KBN_WRAP(cuCtxDetach)(CUcontext c)
{
	KBN_FRAMED(cuCtxDetach, context_ends(c), KBN_NOTHING, c);
}

KBN_WRAP(cuGreenCtxCreate)(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice d, unsigned flags)
{
	KBN_FRAMED(cuGreenCtxCreate, KBN_NOTHING, kbn_registry_greens(), green, desc, d, flags);
}

KBN_WRAP(cuGreenCtxDestroy)(CUgreenCtx green)
{
	KBN_FRAMED(cuGreenCtxDestroy, context_ends(kbn_registry_green_context(green)), KBN_NOTHING,
		   green);
}

KBN_WRAP(cuCtxFromGreenCtx)(CUcontext *c, CUgreenCtx green)
{
	KBN_FRAMED(cuCtxFromGreenCtx, KBN_NOTHING, kbn_registry_green(green, c ? *c : NULL), c,
		   green);
}

/* ------------------------------------------------------------------------------ primary contexts */

#define MAX_DEVICES 64

/*
 * The driver does not tell how often a primary context is retained, so retains are counted here. A
 * wrong guess costs little: a context that lives on after all begins another generation.
 */
static struct {
	_Atomic int retains;
	_Atomic(CUcontext) handle;
} primaries[MAX_DEVICES];

static bool is_device(CUdevice d)
{
	return d >= 0 && d < MAX_DEVICES;
}

static void primary_retained(const CUcontext *c, CUdevice d)
{
	if (!is_device(d) || !c)
		return;
	kbn_registry_context_made(*c);
	atomic_store(&primaries[d].handle, *c);
	atomic_fetch_add(&primaries[d].retains, 1);
}

static void primary_ends(CUdevice d)
{
	CUcontext c = is_device(d) ? atomic_load(&primaries[d].handle) : NULL;

	if (c)
		context_ends(c);
}

static void primary_before_release(CUdevice d)
{
	if (is_device(d) && atomic_load(&primaries[d].retains) <= 1)
		primary_ends(d);
}

static void primary_released(CUdevice d)
{
	struct kbn_context *c;
	unsigned flags;
	int active = 1;

	if (!is_device(d))
		return;
	if (atomic_load(&primaries[d].retains) > 0)
		atomic_fetch_sub(&primaries[d].retains, 1);
	if (!real.cuDevicePrimaryCtxGetState ||
	    real.cuDevicePrimaryCtxGetState(d, &flags, &active) != CUDA_SUCCESS || active)
		return;
	/* It ended although a retain was open: too late to read anything of it. */
	c = kbn_registry_find_context(atomic_load(&primaries[d].handle));
	if (c)
		atomic_store(&c->dead, true);
	primary_ends(d);
	atomic_store(&primaries[d].retains, 0);
}

KBN_WRAP(cuDevicePrimaryCtxRetain)(CUcontext *c, CUdevice d)
{
	KBN_FRAMED(cuDevicePrimaryCtxRetain, KBN_NOTHING, primary_retained(c, d), c, d);
}

KBN_WRAP(cuDevicePrimaryCtxRelease)(CUdevice d)
{
	KBN_FRAMED(cuDevicePrimaryCtxRelease, primary_before_release(d), primary_released(d), d);
}

KBN_WRAP(cuDevicePrimaryCtxRelease_v2)(CUdevice d)
{
	KBN_FRAMED(cuDevicePrimaryCtxRelease_v2, primary_before_release(d), primary_released(d), d);
}

KBN_WRAP(cuDevicePrimaryCtxReset)(CUdevice d)
{
	KBN_FRAMED(cuDevicePrimaryCtxReset, primary_ends(d), KBN_NOTHING, d);
}

KBN_WRAP(cuDevicePrimaryCtxReset_v2)(CUdevice d)
{
	KBN_FRAMED(cuDevicePrimaryCtxReset_v2, primary_ends(d), KBN_NOTHING, d);
}

/* --------------------------------------------------------------------------------------- streams */

static void stream_created(const CUstream *s, unsigned flags)
{
	if (s && *s)
		kbn_time_stream_created(kbn_registry_stream(*s), *s,
					!(flags & CU_STREAM_NON_BLOCKING));
}

/* Before the call: after it the value may already be another thread's new stream. */
static void stream_ends(CUstream s)
{
	struct kbn_context *c = (uintptr_t)s > 2 ? kbn_registry_context(s, false) : NULL;

	if (c)
		kbn_time_stream_destroyed(c, s);
	kbn_registry_stream_gone(s);
}

KBN_WRAP(cuStreamCreate)(CUstream *s, unsigned flags)
{
	KBN_FRAMED(cuStreamCreate, KBN_NOTHING, stream_created(s, flags), s, flags);
}

KBN_WRAP(cuStreamCreateWithPriority)(CUstream *s, unsigned flags, int priority)
{
	KBN_FRAMED(cuStreamCreateWithPriority, KBN_NOTHING, stream_created(s, flags), s, flags,
		   priority);
}

KBN_WRAP(cuGreenCtxStreamCreate)(CUstream *s, CUgreenCtx green, unsigned flags, int priority)
{
	KBN_FRAMED(cuGreenCtxStreamCreate, KBN_NOTHING, stream_created(s, flags), s, green, flags,
		   priority);
}

KBN_WRAP(cuStreamDestroy)(CUstream s)
{
	KBN_FRAMED(cuStreamDestroy, stream_ends(s), KBN_NOTHING, s);
}

KBN_WRAP(cuStreamDestroy_v2)(CUstream s)
{
	KBN_FRAMED(cuStreamDestroy_v2, stream_ends(s), KBN_NOTHING, s);
}

/* --------------------------------------------------------------------------------------- capture */

/*
 * The count goes up before the driver begins: a launch of another thread must not find it zero
 * while the capture is already open.
 */
#define CAPTURE_BEGIN(symbol, ...)                               \
	do {                                                     \
		CUresult result;                                 \
                                                                 \
		if (!kbn_enter())                                \
			return KBN_PASS(symbol, __VA_ARGS__);    \
		atomic_fetch_add(&kbn_open_captures, 1);         \
		result = KBN_REAL(symbol, __VA_ARGS__);          \
		if (result != CUDA_SUCCESS)                      \
			atomic_fetch_sub(&kbn_open_captures, 1); \
		kbn_leave();                                     \
		return result;                                   \
	} while (0)

KBN_WRAP(cuStreamBeginCapture)(CUstream s)
{
	CAPTURE_BEGIN(cuStreamBeginCapture, s);
}

KBN_WRAP(cuStreamBeginCapture_ptsz)(CUstream s)
{
	CAPTURE_BEGIN(cuStreamBeginCapture_ptsz, s);
}

KBN_WRAP(cuStreamBeginCapture_v2)(CUstream s, CUstreamCaptureMode mode)
{
	CAPTURE_BEGIN(cuStreamBeginCapture_v2, s, mode);
}

KBN_WRAP(cuStreamBeginCapture_v2_ptsz)(CUstream s, CUstreamCaptureMode mode)
{
	CAPTURE_BEGIN(cuStreamBeginCapture_v2_ptsz, s, mode);
}

KBN_WRAP(cuStreamBeginCaptureToGraph)
(CUstream s, CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t n,
 CUstreamCaptureMode mode)
{
	CAPTURE_BEGIN(cuStreamBeginCaptureToGraph, s, g, deps, data, n, mode);
}

KBN_WRAP(cuStreamBeginCaptureToGraph_ptsz)
(CUstream s, CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t n,
 CUstreamCaptureMode mode)
{
	CAPTURE_BEGIN(cuStreamBeginCaptureToGraph_ptsz, s, g, deps, data, n, mode);
}

/*
 * An end that fails with a capture error (9xx) has in most cases ended the capture all the same; from
 * the wrong thread it has not. Counted too high only costs queries.
 */
static void capture_ended(CUstream s, bool ptsz, CUresult result)
{
	if (result != CUDA_SUCCESS && (result < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
				       result >= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD ||
				       kbn_capturing(s, ptsz) != KBN_NOT_CAPTURING))
		return;
	if (atomic_fetch_sub(&kbn_open_captures, 1) <= 0)
		atomic_fetch_add(&kbn_open_captures, 1);
}

#define CAPTURE_END(symbol, ptsz)                      \
	KBN_WRAP(symbol)(CUstream s, CUgraph * g)      \
	{                                              \
		CUresult result;                       \
                                                       \
		if (!kbn_enter())                      \
			return KBN_PASS(symbol, s, g); \
		result = KBN_REAL(symbol, s, g);       \
		capture_ended(s, ptsz, result);        \
		kbn_leave();                           \
		return result;                         \
	}

CAPTURE_END(cuStreamEndCapture, false)
CAPTURE_END(cuStreamEndCapture_ptsz, true)

/* ---------------------------------------------------------------- profiler range and checkpoints */

static void window(bool open)
{
	const int saved_errno = errno;

	kbn_window(open);
	if (kbn_recording())
		kbn_log_note(KBN_NOTE_WINDOW, open, NULL);
	errno = saved_errno;
}

/* What the user means counts, not whether a profiler of the vendor's was there to answer. */
#define PROFILER(symbol, open)                   \
	KBN_WRAP(symbol)(void)                   \
	{                                        \
		CUresult result;                 \
                                                 \
		if (!kbn_enter())                \
			return KBN_PASS(symbol); \
		result = KBN_REAL(symbol);       \
		window(open);                    \
		kbn_leave();                     \
		return result;                   \
	}

PROFILER(cuProfilerStart, true)
PROFILER(cuProfilerStop, false)

/* Times that reach over the stop of a process mean nothing. */
static void checkpointed(int pid)
{
	if (pid == getpid())
		kbn_log_note(KBN_NOTE_CHECKPOINT, 0, NULL);
}

#define CHECKPOINT(symbol, type)                                               \
	KBN_WRAP(symbol)(int pid, type *args)                                  \
	{                                                                      \
		KBN_FRAMED(symbol, KBN_NOTHING, checkpointed(pid), pid, args); \
	}

CHECKPOINT(cuCheckpointProcessLock, CUcheckpointLockArgs)
CHECKPOINT(cuCheckpointProcessCheckpoint, CUcheckpointCheckpointArgs)
CHECKPOINT(cuCheckpointProcessRestore, CUcheckpointRestoreArgs)
CHECKPOINT(cuCheckpointProcessUnlock, CUcheckpointUnlockArgs)
