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

#define PORTABLE_CLUSTER 8u /* blocks that a cluster may have on every device with clusters */

KBN_HOT _Atomic int kbn_open_captures;

static _Atomic bool window_open;

/* A launch that nothing of this thread can count, not even as seen. */
static KBN_COLD void drop_uncounted(void)
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
		*hit = (struct kbn_handle_hit){f, k, NULL};
	return k;
}

static KBN_ALWAYS_INLINE struct kbn_kernel *kernel_of(struct kbn_thread *t, CUfunction f,
						      struct kbn_handle_hit **where)
{
	/* Handles are addresses: the low bits say little. */
	struct kbn_handle_hit *hit =
		&t->handles[((uintptr_t)f * 0x9e3779b97f4a7c15u >> 32) % KBN_HANDLE_HITS];
	struct kbn_kernel *k;

	*where = hit;
	kbn_registry_refresh(t);
	k = hit->kernel;
	return KBN_LIKELY(k && hit->handle == (const void *)f) ? k : kernel_search(hit, f);
}

/* Left out on request: by name, by window, or by its number among the launches of the kernel. */
static KBN_COLD bool is_left_out(struct kbn_kernel *k)
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
static KBN_COLD enum kbn_time_choice begin_timing(struct kbn_call *c)
{
	describe(c);
	return kbn_time_begin(c->thread, &c->timing, &c->bracket);
}

static KBN_COLD void note_launch(struct kbn_call *c)
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
		c->bracketed = c->is_open = true;
		c->bin = &s->bracketed;
		return;
	}
	if (choice == KBN_TIME_SKIP)
		c->bin = &s->sampled_out;
	if (kbn_time_any_open())
		note_launch(c);
}

static KBN_ALWAYS_INLINE void put_first(struct kbn_shape **recent, struct kbn_shape *s)
{
	if (recent[0] != s) {
		recent[1] = recent[0];
		recent[0] = s;
	}
}

static KBN_ALWAYS_INLINE void fill_key(struct kbn_call *c, const struct kbn_kernel *k,
				       const struct kbn_context *context)
{
	c->key.kernel = k->id;
	c->key.flags = c->asked.flags;
	c->key.context = context ? context->id : UINT32_MAX;
	memcpy(c->key.grid, c->asked.grid, sizeof(c->key.grid));
	memcpy(c->key.block, c->asked.block, sizeof(c->key.block));
	memcpy(c->key.cluster,
	       !c->asked.cluster[0] ? (const uint32_t *)k->cluster : c->asked.cluster,
	       sizeof(c->key.cluster));
	c->key.dyn_smem_bytes = c->asked.dyn_smem_bytes;
}

/*
 * The accumulator of the launch, NULL = none could be had. Programs launch the same few shapes again
 * and again. (An overflow slot has another identity: it never matches here.)
 */
static struct kbn_shape *find_shape(struct kbn_call *c, struct kbn_thread *t, struct kbn_kernel *k,
				    const struct kbn_context *context)
{
	struct kbn_shape **recent = kbn_recent(t, c->function, c->asked.grid[0]), *s = recent[0];

	fill_key(c, k, context);
	if (!s || !kbn_shape_is(s, KBN_SLOT_LAUNCH, &c->key))
		s = kbn_shape_of(t, KBN_SLOT_LAUNCH, &c->key);
	if (s)
		put_first(recent, s);
	c->shape = s;
	return s;
}

/*
 * From now on such a launch needs no search: the same function into the same stream, asking for the
 * same, while no handle has changed its meaning. Into a special stream only of a function that has a
 * home, since the context is a part of the shape.
 */
static void remember_request(const struct kbn_call *c, const struct kbn_thread *t,
			     struct kbn_context *context, struct kbn_shape *s)
{
	if (!s->launches || (kbn_stream_is_special(c->stream) && !c->hit->home) ||
	    kbn_shape_may_improve(s))
		return;
	s->function = c->function;
	s->stream = c->stream;
	s->generation = t->registry_generation;
	s->context = context;
	s->asked = c->asked;
}

static KBN_ALWAYS_INLINE bool is_request_again(const struct kbn_call *c, const struct kbn_shape *s)
{
	return s && s->function == (const void *)c->function &&
	       s->stream == (const void *)c->stream &&
	       s->generation ==
		       atomic_load_explicit(&kbn_registry_generation, memory_order_acquire) &&
	       kbn_asked_is(&s->asked, &c->asked);
}

static KBN_ALWAYS_INLINE bool is_alive(const struct kbn_context *context)
{
	return context && !atomic_load_explicit(&context->dead, memory_order_relaxed);
}

/*
 * A special stream is one of the current context. A function with a home that is launched while another
 * context is current will fail; until it has, nothing of the home may go into that stream.
 */
static bool is_at_home(const struct kbn_call *c)
{
	CUcontext current;

	return !kbn_stream_is_special(c->stream) || !c->hit->home || !real.cuCtxGetCurrent ||
	       (real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == c->context->handle);
}

/* All other launches. Without a good stream, or in a context that has ended, nothing is asked. */
static KBN_COLD void choose(struct kbn_call *c)
{
	enum kbn_capturing capture;

	c->bin = &c->shape->slot->untimeable;
	if (!is_alive(c->context) || !is_at_home(c))
		return;
	capture = captured(c);
	if (capture == KBN_CAPTURING) {
		c->captured = true;
		c->bin = &c->shape->slot->captured;
	} else if (capture == KBN_NOT_CAPTURING) {
		choose_timing(c);
	}
}

/*
 * The most common launch of all, in short: the sampler leaves it out, no capture is open anywhere
 * and no bracket that it could disturb. Its context is alive.
 */
static KBN_ALWAYS_INLINE bool is_left_alone(struct kbn_call *c, struct kbn_shape *s)
{
	enum kbn_time_choice choice;

	if (c->untimed || kbn_params_due(s) || kbn_is_unusual() ||
	    !kbn_time_left_out(s, c->pdl, &choice))
		return false;
	c->bin = choice == KBN_TIME_SKIP ? &s->slot->sampled_out : &s->slot->untimeable;
	return true;
}

static KBN_COLD void copy_params(struct kbn_call *c)
{
	c->param_bytes = kbn_params_copy(c->thread, c->kernel, c->params, c->extra);
	if (c->param_bytes)
		c->is_open = true;
	else /* none, or not to be read: the next launch need not try */
		kbn_params_done(c->shape);
}

/*
 * Where a launch of a function with a home into a special stream has succeeded once, that context was
 * current, and must be for the next one to succeed. It need not be asked for again.
 */
static KBN_ALWAYS_INLINE struct kbn_context *context_of_launch(struct kbn_call *c,
							       struct kbn_thread *t)
{
	if (!kbn_stream_is_special(c->stream))
		return kbn_registry_context_of(t, c->stream);
	if (KBN_LIKELY(c->hit->home))
		return c->hit->home;
	c->is_first = c->is_open = !c->kernel->is_cukernel || kbn_registry_single();
	return kbn_registry_current(t);
}

static void begin_recorded(struct kbn_call *c, struct kbn_thread *t, struct kbn_kernel *k)
{
	struct kbn_context *context = context_of_launch(c, t);
	struct kbn_shape *s;

	c->context = context;
	if (!context)
		c->is_late = c->is_open = !kbn_stream_is_special(c->stream);
	s = find_shape(c, t, k, context);
	if (!s) {
		KBN_COUNT(t, dropped);
		return;
	}
	if (is_alive(context)) {
		remember_request(c, t, context, s);
		if (is_left_alone(c, s))
			return;
	}
	if (kbn_params_due(s))
		copy_params(c);
	choose(c);
}

/* A stream that nobody saw being created turned out to be one: it is known from now on. */
static KBN_COLD void recognise_stream(struct kbn_call *c)
{
	struct kbn_relaxed relaxed = kbn_relaxed_enter();

	c->context = kbn_registry_stream(c->stream);
	if (!find_shape(c, c->thread, c->kernel, c->context)) {
		KBN_COUNT(c->thread, dropped);
	} else if (kbn_capturing(c->stream, c->ptsz) == KBN_CAPTURING) {
		c->captured = true;
		c->bin = &c->shape->slot->captured;
	} else {
		c->bin = &c->shape->slot->untimeable;
	}
	kbn_relaxed_leave(&relaxed);
}

/* The request that the thread made just before the last one of this kind. */
static __attribute__((noinline)) struct kbn_shape *second_choice(const struct kbn_call *c,
								 struct kbn_shape **recent)
{
	struct kbn_shape *s = recent[1];

	if (!is_request_again(c, s))
		return NULL;
	put_first(recent, s);
	return s;
}

static __attribute__((noinline)) void search(struct kbn_call *c, struct kbn_thread *t)
{
	struct kbn_kernel *k = kernel_of(t, c->function, &c->hit);

	c->kernel = k;
	if (!KBN_LIKELY(k))
		KBN_COUNT(t, dropped);
	else if (kbn_selects && is_left_out(k))
		KBN_COUNT(t, filtered);
	else
		begin_recorded(c, t, k);
}

static KBN_ALWAYS_INLINE void begin(struct kbn_call *c)
{
	struct kbn_thread *t = kbn_self();
	struct kbn_shape **recent, *s;

	c->thread = t;
	c->shape = NULL;
	c->param_bytes = 0;
	c->bracketed = c->captured = c->is_late = c->is_open = c->is_first = false;
	if (!KBN_LIKELY(t && t->counts)) {
		drop_uncounted();
		return;
	}
	if (!KBN_LIKELY(kbn_busy_enter(t))) {
		kbn_busy_leave(t);
		return;
	}
	kbn_count_seen(t->counts);
	recent = kbn_recent(t, c->function, c->asked.grid[0]);
	s = KBN_LIKELY(is_request_again(c, recent[0])) ? recent[0] : second_choice(c, recent);
	if (KBN_LIKELY(s && is_left_alone(c, s))) {
		c->shape = s;
		c->context = s->context;
	} else {
		search(c, t);
	}
	kbn_busy_leave(t);
}

void kbn_call_begin(struct kbn_call *c)
{
	begin(c);
	c->guard = kbn_tls.frame;
	if (!KBN_LIKELY(c->shape))
		kbn_tls.passed.own = 0; /* has its outcome, whatever becomes of the guard */
}

static KBN_COLD void end_slowly(struct kbn_call *c, CUresult result)
{
	const int saved_errno = errno;

	if (!kbn_busy_enter(c->thread)) /* the driver may be gone: no stop event, no question */
		result = CUDA_ERROR_DEINITIALIZED;
	if (c->is_first && result == CUDA_SUCCESS && c->hit->handle == (const void *)c->function &&
	    kbn_registry_has_home(c->function))
		c->hit->home = c->context;
	if (c->is_late && result == CUDA_SUCCESS)
		recognise_stream(c);
	if (c->bracketed && !kbn_time_end(c->thread, &c->timing, &c->bracket, result))
		c->bin = &c->shape->slot->untimeable;
	if (c->shape && c->param_bytes && result == CUDA_SUCCESS)
		kbn_params_write(c->thread, c->kernel, c->shape, c->param_bytes, c->captured);
	kbn_busy_leave(c->thread);
	errno = saved_errno;
}

/* Below 700 the launch was wrong, not the context; from there on it may have ended. */
KBN_COLD void kbn_launch_failed(struct kbn_shape *s, struct kbn_context *context, CUresult result)
{
	if (result >= CUDA_ERROR_ILLEGAL_ADDRESS)
		kbn_registry_error(context, result);
	kbn_slot_count(s->slot, &s->slot->failed);
}

static KBN_ALWAYS_INLINE void end_counted(struct kbn_call *c, CUresult result)
{
	struct kbn_shape *s = c->shape;

	if (result != CUDA_SUCCESS) {
		kbn_launch_failed(s, c->context, result);
		return;
	}
	kbn_slot_count(s->slot, c->bin);
	if (c->captured)
		return;     /* a node was made, nothing ran */
	if (!s->launches++) /* what needs no search has run before */
		atomic_store_explicit(&c->kernel->launched, true, memory_order_relaxed);
}

static KBN_COLD void end_open(struct kbn_call *c, CUresult result)
{
	end_slowly(c, result);
	if (c->shape)
		end_counted(c, result);
}

/* Counted as dropped meanwhile, see kbn_is_guard(): what was begun is undone. */
static KBN_COLD void end_dropped(struct kbn_call *c)
{
	if (c->is_open)
		end_slowly(c, CUDA_ERROR_DEINITIALIZED);
}

void kbn_call_end(struct kbn_call *c, CUresult result)
{
	if (!c->shape)
		return;
	if (!KBN_LIKELY(kbn_tls.frame == c->guard))
		end_dropped(c);
	else if (c->is_open)
		end_open(c, result);
	else
		end_counted(c, result);
}
