/*
 * timing.c - which launches are timed, and the bracket of events around them. Input: launches as the
 * wrappers see them. Output: event pairs handed to the drain thread (pool.c), gates (gate.c).
 *
 * An untimed launch costs a countdown here: no clock, no shared line, no driver call.
 */
#include "timing.h"

#include <errno.h>
#include <stdatomic.h>

#include "gate.h"
#include "hook.h"
#include "pool.h"
#include "registry.h"
#include "sampler.h"
#include "sys.h"
#include "writer.h"

#define COST_GUESS    6000 /* ns of one sample until it has been measured */
#define COST_LEAST    500  /* keeps the mean from rounding away */
#define COST_MOST     20000000
#define OUTLIER       4  /* times the mean cost: a sample is not charged more */
#define UNABLE_SKIP   32 /* launches until a shape that cannot be timed is tried again */
#define OFF_SKIP      (1u << 20)
#define DEADLINES_MAX 2 /* of a shape, then it is not gated any more */
#define STARVED_MAX   4 /* pairs of a shape that measured the host, then a late gate is shut */

/* What timing keeps per launching thread (kbn_thread.timing). */
struct own {
	struct own *next;            /* all that were ever made */
	_Atomic uint64_t stream;     /* key of the stream with an open bracket, 0 = none */
	_Atomic(struct pair *) pair; /* of that bracket */
	uint32_t cost_ns;            /* running mean of a sample */
};

static _Atomic(struct own *) owns;
KBN_HOT _Atomic uint32_t kbn_time_open_brackets;
KBN_HOT _Atomic uint32_t kbn_time_mode;

/* ------------------------------------------------------------------------------------ on or off */

/* Once per recording, when its first launch asks. */
static enum kbn_time_mode mode_begin(void)
{
	uint32_t now = KBN_MODE_ON, unknown = KBN_MODE_UNKNOWN;

	if (kbn_settings.timing == KBN_TIMING_OFF) {
		now = KBN_MODE_OFF;
	} else if (!real.cuEventCreate || !real.cuEventRecord || !real.cuEventElapsedTime) {
		kbn_log_note(KBN_NOTE_TIMING_OFF, 0, "the driver has no event calls");
		now = KBN_MODE_UNABLE;
	}
	if (!atomic_compare_exchange_strong(&kbn_time_mode, &unknown,
					    now)) /* another thread, or it was stopped */
		now = unknown;
	/* All threads that come here at once store the same. */
	__atomic_store_n(&kbn_writer_header()->timing,
			 now == KBN_MODE_ON ? KBN_TIMING_EVENTS : KBN_TIMING_OFF, __ATOMIC_RELAXED);
	__atomic_store_n(&kbn_writer_header()->budget_ppm, kbn_settings.budget_ppm,
			 __ATOMIC_RELAXED);
	return now;
}

void kbn_time_stop(const char *why)
{
	uint32_t was = atomic_exchange(&kbn_time_mode, why ? KBN_MODE_UNABLE : KBN_MODE_OFF);

	if (why && was != KBN_MODE_UNABLE)
		kbn_log_note(KBN_NOTE_TIMING_OFF, 0, why);
}

void kbn_time_restart(void)
{
	atomic_store(&kbn_time_mode, KBN_MODE_UNKNOWN);
	atomic_store(&kbn_time_open_brackets, 0);
	atomic_store(&owns, NULL);
	kbn_sampler_restart();
	kbn_pool_forget_all();
}

/* ----------------------------------------------------------------------------------- own state */

static struct own *own_of(struct kbn_thread *t)
{
	struct own *o = t->timing;

	if (o)
		return o;
	o = kbn_alloc(sizeof(*o));
	if (!o)
		return NULL;
	o->cost_ns = COST_GUESS;
	o->next = atomic_load(&owns);
	while (!atomic_compare_exchange_weak(&owns, &o->next, o))
		;
	t->timing = o;
	if (!t->random)
		t->random = 0x9e3779b9u * (t->id + 1);
	return o;
}

static uint32_t next_random(struct kbn_thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	return t->random;
}

/*
 * Host time of one sample, paid and remembered. A sample in whose middle the processor was given to
 * someone else, or the driver's lock was another thread's, is not paid in full: the program's own
 * launch would have waited as well. Samples that are dear every time raise the mean.
 */
static void pay(struct own *o, uint32_t sampled, uint64_t ns)
{
	uint64_t most = (uint64_t)o->cost_ns * OUTLIER;
	int64_t price = (int64_t)(ns < most ? ns : most);

	__atomic_fetch_add(&kbn_writer_header()->self_ns, ns, __ATOMIC_RELAXED);
	kbn_sampler_pay(sampled, (uint64_t)price);
	o->cost_ns = (uint32_t)((int64_t)o->cost_ns + (price - (int64_t)o->cost_ns) / 16);
	if (o->cost_ns < COST_LEAST)
		o->cost_ns = COST_LEAST;
	if (o->cost_ns > COST_MOST)
		o->cost_ns = COST_MOST;
}

/* ---------------------------------------------------------------------------------- contention */

/* Mark what other threads have open in this stream; true when there is something. */
static bool mix(const struct own *mine, uint64_t key)
{
	bool met = false;

	for (struct own *o = atomic_load_explicit(&owns, memory_order_acquire); o; o = o->next) {
		struct pair *pair;

		if (o == mine || atomic_load(&o->stream) != key)
			continue;
		pair = atomic_load(&o->pair);
		if (pair)
			atomic_store_explicit(&pair->mixed, true, memory_order_relaxed);
		met = true;
	}
	return met;
}

void kbn_time_note_launch_slowly(struct kbn_thread *t, const struct kbn_launch *l)
{
	if (!l->context)
		return;
	/* A per-thread stream is not shared. */
	if (l->stream != CU_STREAM_PER_THREAD && (l->stream || !l->ptsz))
		mix(t ? t->timing : NULL, kbn_stream_key(l->context, l->stream, l->ptsz));
}

static void bracket_publish(struct own *o, struct pair *pair, uint64_t key)
{
	atomic_store(&o->pair, pair);
	atomic_store(&o->stream, key);
	atomic_fetch_add(&kbn_time_open_brackets, 1);
	atomic_fetch_add(&pair->pool->open, 1);
	/* Published first, then looked: of two threads that begin at once at least one sees the other. */
	if (!(key >> 63 && (key & 3) == 2) && mix(o, key))
		atomic_store_explicit(&pair->mixed, true, memory_order_relaxed);
}

static void bracket_withdraw(struct own *o, struct pair *pair)
{
	atomic_store(&o->stream, 0);
	atomic_store(&o->pair, NULL);
	atomic_fetch_sub(&kbn_time_open_brackets, 1);
	atomic_fetch_sub(&pair->pool->open, 1);
}

/* ---------------------------------------------------------------------------------- driver calls */

static CUresult record(CUevent event, CUstream stream, bool ptsz)
{
	if (ptsz)
		return real.cuEventRecord_ptsz ? real.cuEventRecord_ptsz(event, stream)
					       : CUDA_ERROR_NOT_SUPPORTED;
	return real.cuEventRecord(event, stream);
}

static CUresult wait_value(CUstream stream, bool ptsz, CUdeviceptr word, uint32_t value)
{
	__typeof__(real.cuStreamWaitValue32) call = ptsz ? real.cuStreamWaitValue32_v2_ptsz
							 : real.cuStreamWaitValue32_v2;

	if (!call)
		call = ptsz ? real.cuStreamWaitValue32_ptsz : real.cuStreamWaitValue32;
	return call ? call(stream, word, value, CU_STREAM_WAIT_VALUE_GEQ)
		    : CUDA_ERROR_NOT_SUPPORTED;
}

/* Plain pairs read nothing but the host for this shape; or it is gated for that reason already. */
static bool is_starving(const struct kbn_slot *s)
{
	return __atomic_load_n(&s->gated, __ATOMIC_RELAXED) ||
	       (__atomic_load_n(&s->starved, __ATOMIC_RELAXED) >= STARVED_MAX &&
		!__atomic_load_n(&s->samples, __ATOMIC_RELAXED));
}

static bool may_gate(const struct kbn_thread *t, const struct kbn_launch *l, struct pool *p)
{
	if (!(l->gate_allowed || (l->gate_late && is_starving(l->shape->slot))) || !p->words ||
	    t->id >= KBN_GATE_THREADS || l->shape->deadlines >= DEADLINES_MAX ||
	    atomic_load_explicit(&p->gates_off, memory_order_relaxed))
		return false;
	if (kbn_stream_is_legacy(l->stream, l->ptsz) &&
	    atomic_load_explicit(&p->blocking, memory_order_relaxed) > 0)
		return false;
	return kbn_gate_ready();
}

/* Shut the gate in front of the start event. Returns its value, 0 when the stream is free. */
static uint32_t shut_gate(struct kbn_thread *t, const struct kbn_launch *l, struct pool *p)
{
	size_t at = (size_t)t->id * KBN_GATE_STRIDE;
	uint32_t *word = (uint32_t *)((char *)p->words + at);
	uint32_t value = ++p->values[t->id];
	CUresult r;

	if (!kbn_gate_shut(t->id, word, value))
		return 0;
	r = wait_value(l->stream, l->ptsz, p->words_device + at, value);
	if (r == CUDA_SUCCESS) {
		__atomic_fetch_add(&kbn_writer_header()->gates, 1, __ATOMIC_RELAXED);
		return value;
	}
	kbn_gate_open(t->id);
	kbn_pool_failed(p, r);
	if (r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NOT_PERMITTED ||
	    r == CUDA_ERROR_INVALID_VALUE)
		atomic_store(&p->gates_off, true);
	return 0;
}

/* True when the gate was shut until now, which is when both events are queued. */
static bool open_gate(struct kbn_thread *t, struct kbn_shape *s)
{
	enum kbn_gate_end how = kbn_gate_open(t->id);

	if (how == KBN_GATE_DEADLINE) {
		s->deadlines++;
		__atomic_fetch_add(&kbn_writer_header()->gate_deadlines, 1, __ATOMIC_RELAXED);
	}
	return how == KBN_GATE_HELD;
}

/*
 * Whether the GPU has still to come to an event that was recorded. The driver answers from its own
 * memory, without a queue: the cheapest question there is.
 */
static bool is_ahead(struct pool *p, CUevent event)
{
	float ms;
	CUresult r = real.cuEventElapsedTime(&ms, event, event);

	if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY)
		kbn_pool_failed(p, r);
	return r == CUDA_ERROR_NOT_READY;
}

/* ------------------------------------------------------------------------------------- brackets */

/*
 * The stop event is recorded before the gate too: what it says when the kernel has been launched
 * tells whether the gate held up the GPU or nothing but earlier work did.
 */
static CUresult record_start(struct kbn_thread *t, const struct kbn_launch *l,
			     struct kbn_bracket *b, struct pair *pair)
{
	CUresult r = CUDA_SUCCESS;

	if (atomic_load(&pair->pool->dead))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (may_gate(t, l, pair->pool)) {
		r = record(pair->stop, l->stream, l->ptsz);
		if (r == CUDA_SUCCESS)
			b->gate_value = shut_gate(t, l, pair->pool);
	}
	b->host_start_ns = kbn_now_ns();
	return r == CUDA_SUCCESS ? record(pair->start, l->stream, l->ptsz) : r;
}

static struct pair *bracket_begin(struct kbn_thread *t, struct own *o, const struct kbn_launch *l,
				  struct kbn_bracket *b, struct pool *p, uint64_t key)
{
	struct pair *pair = kbn_pool_take(p);
	CUresult r;

	if (!pair)
		return NULL;
	bracket_publish(o, pair, key);
	b->gate_value = 0;
	r = record_start(t, l, b, pair);
	if (r == CUDA_SUCCESS)
		return pair;
	if (b->gate_value)
		kbn_gate_open(t->id);
	kbn_pool_failed(p, r);
	bracket_withdraw(o, pair);
	kbn_pool_give(pair);
	return NULL;
}

/* The sampler's turn: skip has run out. */
static enum kbn_time_choice begin_asked(struct kbn_thread *t, const struct kbn_launch *l,
					struct kbn_bracket *b)
{
	struct kbn_shape *s = l->shape;
	struct own *o = own_of(t);
	struct kbn_relaxed relaxed;
	struct pool *p;
	uint64_t key, now;

	if (!o || !l->context) {
		s->skip = UNABLE_SKIP;
		return KBN_TIME_UNABLE;
	}
	now = kbn_now_ns();
	if (!kbn_sampler_wants(s->sampled, o->cost_ns, now)) {
		s->skip = kbn_sampler_skip_refused(s->launches, next_random(t));
		return KBN_TIME_SKIP;
	}
	p = kbn_pool_of(l->context);
	if (p && kbn_pool_is_being_made(p)) {
		s->skip = kbn_sampler_skip_refused(s->launches, next_random(t));
		return KBN_TIME_SKIP;
	}
	key = kbn_stream_key(l->context, l->stream, l->ptsz);
	if (p && kbn_stream_takes_events(key) &&
	    !atomic_load_explicit(&o->stream, memory_order_relaxed)) {
		relaxed = kbn_relaxed_enter();
		b->pair = bracket_begin(t, o, l, b, p, key);
		kbn_relaxed_leave(&relaxed);
		b->self_ns = kbn_now_ns() - now;
		if (b->pair)
			return KBN_TIME_BRACKET;
		pay(o, s->sampled, b->self_ns);
		kbn_drain_wake();
	}
	s->skip = UNABLE_SKIP / 2 + next_random(t) % UNABLE_SKIP;
	return KBN_TIME_UNABLE;
}

/* Everything but the countdown; apart, so that the countdown needs no stack frame. */
enum kbn_time_choice kbn_time_begin_slowly(struct kbn_thread *t, const struct kbn_launch *l,
					   struct kbn_bracket *b)
{
	enum kbn_time_choice choice;
	int saved = errno;
	uint32_t m;

	kbn_drain_start(); /* in a forked child with a recording of its own, once more */
	m = atomic_load_explicit(&kbn_time_mode, memory_order_relaxed);
	if (m == KBN_MODE_UNKNOWN)
		m = mode_begin();
	if (l->pdl) {
		if (l->context && m == KBN_MODE_ON)
			kbn_stream_mark_pdl(l->context,
					    kbn_stream_key(l->context, l->stream, l->ptsz));
		choice = KBN_TIME_UNABLE;
	} else if (m == KBN_MODE_ON) {
		choice = begin_asked(t, l, b);
	} else {
		l->shape->skip = OFF_SKIP;
		choice = m == KBN_MODE_UNABLE ? KBN_TIME_UNABLE : KBN_TIME_SKIP;
	}
	errno = saved;
	return choice;
}

/*
 * Stop event of a launch that succeeded, then the gate, and what the pair is judged by. There are
 * two ways for start, kernel and stop to follow each other without a pause. The GPU stood before
 * the gate until all were queued; or it had not come that far, being busy with earlier work, and
 * then a gate made no difference: such a pair reads what a plain one on a busy stream does, which
 * is some 0.7 us more.
 */
static CUresult bracket_end(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b,
			    struct pair *pair)
{
	struct pool *p = pair->pool;
	struct kbn_relaxed relaxed;
	bool was_shut = false;
	CUresult r;

	if (atomic_load(&p->dead)) {
		if (b->gate_value)
			open_gate(t, l->shape);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	relaxed = kbn_relaxed_enter();
	/* With a gate, `stop` stands before it for the time being. */
	pair->queued = b->gate_value && is_ahead(p, pair->stop);
	r = record(pair->stop, l->stream, l->ptsz);
	pair->host_ns = kbn_now_ns() - b->host_start_ns;
	if (b->gate_value)
		was_shut = open_gate(t, l->shape);
	pair->held = was_shut && !pair->queued;
	if (!was_shut)
		pair->queued = r == CUDA_SUCCESS && is_ahead(p, pair->start);
	kbn_relaxed_leave(&relaxed);
	return r;
}

bool kbn_time_end(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b,
		  CUresult launched)
{
	struct kbn_shape *s = l->shape;
	struct own *o = t->timing;
	struct pair *pair = b->pair;
	CUresult r = launched;
	uint64_t entered = kbn_now_ns();
	uint32_t sampled = s->sampled;
	int saved = errno;

	if (!pair || !o)
		return false;
	if (launched == CUDA_SUCCESS)
		r = bracket_end(t, l, b, pair);
	else if (b->gate_value)
		open_gate(t, s);
	/* Both events are in: what launches from now on stands behind them. */
	bracket_withdraw(o, pair);
	if (r == CUDA_SUCCESS) {
		pair->slot = s->slot;
		pair->launch = l->ordinal;
		s->sampled++;
		s->skip = kbn_sampler_skip(s->launches, next_random(t));
		if (kbn_pool_hand_over(pair) % 64 == 32)
			kbn_drain_wake();
	} else {
		if (launched == CUDA_SUCCESS)
			kbn_pool_failed(pair->pool, r);
		kbn_pool_give(pair);
	}
	pay(o, sampled, b->self_ns + (kbn_now_ns() - entered));
	errno = saved;
	return r == CUDA_SUCCESS;
}

void kbn_time_context_gone(struct kbn_context *c)
{
	int saved = errno;

	if (c)
		kbn_pool_context_gone(c);
	errno = saved;
}
