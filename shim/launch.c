/*
 * launch.c - the bookkeeping around a launch.
 *
 * Input: geometry, handle, stream and parameters of one call. Output: exactly one bin of exactly
 * one slot counts it. The path of an untimed launch is a few look-ups in memory of this thread:
 * no lock, no system call, no clock, no allocation. Timing itself is in timing.c.
 */
#include "launch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "hook.h"
#include "params.h"
#include "writer.h"

/* Keeps the registers of a rare path out of the prologue of the common one. */
#define COLD __attribute__((noinline, cold))

#define PORTABLE_CLUSTER 8u /* blocks that a cluster may have on every device with clusters */

_Atomic int kbn_open_captures;

static _Atomic bool window_open;

/* A launch that nothing of this thread can count, not even as seen. */
static COLD void drop_uncounted(void)
{
	__atomic_fetch_add(&kbn_writer_header()->dropped, 1, __ATOMIC_RELAXED);
}

void kbn_window(bool open)
{
	atomic_store(&window_open, open);
}

bool kbn_window_closed(void)
{
	return kbn_settings.window_profiler &&
	       !atomic_load_explicit(&window_open, memory_order_relaxed);
}

enum kbn_capturing kbn_capturing(CUstream stream, bool ptsz)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (ptsz && real.cuStreamIsCapturing_ptsz)
		r = real.cuStreamIsCapturing_ptsz(stream, &status);
	else if (!ptsz && real.cuStreamIsCapturing)
		r = real.cuStreamIsCapturing(stream, &status);
	if (r != CUDA_SUCCESS)
		return KBN_CAPTURE_UNKNOWN;
	return status == CU_STREAM_CAPTURE_STATUS_NONE ? KBN_NOT_CAPTURING : KBN_CAPTURING;
}

/* ------------------------------------------------------------------------------------ one launch */

static __attribute__((noinline)) struct kbn_kernel *kernel_search(struct kbn_handle_hit *hit,
								  CUfunction f)
{
	struct kbn_kernel *k = kbn_registry_resolve(f);

	if (k)
		*hit = (struct kbn_handle_hit){f, k};
	return k;
}

static struct kbn_kernel *kernel_of(struct kbn_thread *t, CUfunction f)
{
	/* Handles are addresses: the low bits say little. */
	struct kbn_handle_hit *hit =
		&t->handles[((uintptr_t)f >> 4 ^ (uintptr_t)f >> 10) % KBN_HANDLE_HITS];

	kbn_registry_refresh(t);
	if (hit->handle == (const void *)f && f)
		return hit->kernel;
	return kernel_search(hit, f);
}

/* Left out on request: by name, by window, or by its number among the launches of the kernel. */
static COLD bool is_left_out(struct kbn_kernel *k)
{
	uint64_t n;

	if (k->filtered || kbn_window_closed())
		return true;
	if (!kbn_settings.skip && !kbn_settings.count)
		return false;
	n = atomic_fetch_add_explicit(&k->launches, 1, memory_order_relaxed);
	return n < kbn_settings.skip ||
	       (kbn_settings.count && n - kbn_settings.skip >= kbn_settings.count);
}

/*
 * Whether the launch goes into a capture. The query is spared while no capture is open anywhere and
 * the sampler has decided already that no event goes into the stream.
 */
static enum kbn_capturing captured(const struct kbn_call *c)
{
	if (c->shape->skip && !atomic_load_explicit(&kbn_open_captures, memory_order_relaxed))
		return KBN_NOT_CAPTURING;
	return kbn_capturing(c->stream, c->ptsz);
}

/* Blocks of a cluster, 1 = no cluster, 9 = more than every device takes. */
static uint32_t cluster_blocks(const struct kbn_call *c)
{
	uint32_t n = 1;

	for (int i = 0; i < 3; i++) {
		const uint32_t d = c->key.cluster[i] ? c->key.cluster[i] : 1;

		if (d > PORTABLE_CLUSTER || n * d > PORTABLE_CLUSTER)
			return PORTABLE_CLUSTER + 1;
		n *= d;
	}
	return n;
}

static bool may_be_gated(const struct kbn_call *c)
{
	return c->shape->launches && !c->ungated && !(c->key.flags & KBN_SLOT_COOPERATIVE) &&
	       !c->kernel->is_comm &&
	       atomic_load_explicit(&c->kernel->launched, memory_order_relaxed);
}

static void describe(struct kbn_call *c)
{
	const bool may = may_be_gated(c);
	const uint32_t blocks = cluster_blocks(c);

	c->timing.stream = c->stream;
	c->timing.ptsz = c->ptsz;
	c->timing.pdl = c->pdl;
	c->timing.gate_allowed = may && blocks == 1;
	c->timing.gate_late = may && blocks > 1 && blocks <= PORTABLE_CLUSTER;
	c->timing.context = c->context;
	c->timing.shape = c->shape;
	c->timing.ordinal = c->shape->launches;
}

/* The sampler's turn, for one launch in many. */
static COLD enum kbn_time_choice begin_timing(struct kbn_call *c)
{
	describe(c);
	return kbn_time_begin(c->thread, &c->timing, &c->bracket);
}

static COLD void note_launch(struct kbn_call *c)
{
	describe(c);
	kbn_time_note_launch(c->thread, &c->timing);
}

static void choose_timing(struct kbn_call *c)
{
	struct kbn_slot *s = c->shape->slot;
	enum kbn_time_choice choice;

	if (c->untimed)
		return;
	if (!kbn_time_left_out(c->shape, c->pdl, &choice))
		choice = begin_timing(c);
	if (choice == KBN_TIME_BRACKET) {
		c->bracketed = true;
		c->bin = &s->bracketed;
		return;
	}
	if (choice == KBN_TIME_SKIP)
		c->bin = &s->sampled_out;
	if (kbn_time_any_open())
		note_launch(c);
}

static inline __attribute__((always_inline)) bool find_shape(struct kbn_call *c)
{
	c->key.kernel = c->kernel->id;
	c->key.context = c->context ? c->context->id : UINT32_MAX;
	if (!c->key.cluster[0] && c->kernel->cluster[0])
		memcpy(c->key.cluster, c->kernel->cluster, sizeof(c->key.cluster));
	c->shape = kbn_shape_of(c->thread, KBN_SLOT_LAUNCH, &c->key);
	if (!c->shape) {
		KBN_COUNT(c->thread, dropped);
		return false;
	}
	c->bin = &c->shape->slot->untimeable;
	return true;
}

/* What to do with a launch whose stream is good. In a context that has ended nothing is asked. */
static void choose(struct kbn_call *c)
{
	enum kbn_capturing capture;

	if (atomic_load_explicit(&c->context->dead, memory_order_relaxed))
		return;
	capture = captured(c);
	if (capture == KBN_CAPTURING) {
		c->captured = true;
		c->bin = &c->shape->slot->captured;
	} else if (capture == KBN_NOT_CAPTURING) {
		choose_timing(c);
	}
}

static COLD void copy_params(struct kbn_call *c)
{
	c->param_bytes = kbn_params_copy(c->thread, c->kernel, c->params, c->extra);
	if (!c->param_bytes) /* none, or not to be read: the next launch need not try */
		c->shape->params_taken++;
}

static void begin_recorded(struct kbn_call *c)
{
	c->context = kbn_registry_context_of(c->thread, c->stream);
	c->is_late = !c->context && (uintptr_t)c->stream > 2;
	if (!find_shape(c))
		return;
	if (kbn_params_due(c->shape))
		copy_params(c);
	if (c->context)
		choose(c);
}

/* A stream that nobody saw being created turned out to be one: it is known from now on. */
static COLD void recognise_stream(struct kbn_call *c)
{
	struct kbn_relaxed relaxed = kbn_relaxed_enter();

	c->context = kbn_registry_stream(c->stream);
	if (find_shape(c) && kbn_capturing(c->stream, c->ptsz) == KBN_CAPTURING) {
		c->captured = true;
		c->bin = &c->shape->slot->captured;
	}
	kbn_relaxed_leave(&relaxed);
}

void kbn_call_begin(struct kbn_call *c)
{
	struct kbn_thread *t = kbn_self();

	c->thread = t;
	c->shape = NULL;
	c->bracketed = c->captured = c->is_late = false;
	c->param_bytes = 0;
	if (!t || !t->counts) {
		drop_uncounted();
		return;
	}
	KBN_COUNT(t, seen);
	c->kernel = kernel_of(t, c->function);
	if (!c->kernel)
		KBN_COUNT(t, dropped);
	else if (kbn_settings.selects && is_left_out(c->kernel))
		KBN_COUNT(t, filtered);
	else
		begin_recorded(c);
}

static COLD void end_slowly(struct kbn_call *c, CUresult result)
{
	const int saved_errno = errno;

	if (c->is_late && result == CUDA_SUCCESS)
		recognise_stream(c);
	if (c->bracketed && !kbn_time_end(c->thread, &c->timing, &c->bracket, result))
		c->bin = &c->shape->slot->untimeable;
	if (c->shape && c->param_bytes && result == CUDA_SUCCESS)
		kbn_params_write(c->thread, c->kernel, c->shape, c->param_bytes, c->captured);
	errno = saved_errno;
}

void kbn_call_end(struct kbn_call *c, CUresult result)
{
	if (!c->shape)
		return;
	if (c->bracketed || c->param_bytes || c->is_late)
		end_slowly(c, result);
	if (!c->shape)
		return;
	if (result != CUDA_SUCCESS) {
		/* Below 700 the launch was wrong, not the context; from there on it may have ended. */
		if (result >= CUDA_ERROR_ILLEGAL_ADDRESS)
			kbn_registry_error(c->context, result);
		kbn_slot_count(c->shape->slot, &c->shape->slot->failed);
		return;
	}
	kbn_slot_count(c->shape->slot, c->bin);
	if (c->captured)
		return; /* a node was made, nothing ran */
	if (!atomic_load_explicit(&c->kernel->launched, memory_order_relaxed))
		atomic_store_explicit(&c->kernel->launched, true, memory_order_relaxed);
	c->shape->launches++;
}
