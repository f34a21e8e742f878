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
#include "sys.h"
#include "writer.h"

#define EARLY_SAMPLES 12       /* first launches of a shape, sampled one by one */
#define EARLY_FEW     6        /* still sampled when the thread is deep in debt */
#define DEBT_HALF     10000000 /* ns of budget spent in advance for first launches */
#define DEBT_MAX      20000000
#define CREDIT_MAX    2000000 /* unused budget that is kept */
#define COST_GUESS    6000    /* ns of one sample until it has been measured */
#define COST_LEAST    500     /* keeps the mean from rounding away */
#define OUTLIER       16      /* times the mean cost: a sample is not charged more */
#define SPACING       64      /* a shape's next sample comes after 1/64 of its launches so far */
#define SKIP_MAX      4096
#define UNABLE_SKIP   32 /* launches until a shape that cannot be timed is tried again */
#define OFF_SKIP      (1u << 20)
#define DEADLINES_MAX 2 /* of a shape, then it is not gated any more */

/* What timing keeps per launching thread (kbn_thread.timing). */
struct own {
	struct own *next;            /* all that were ever made */
	_Atomic uint64_t stream;     /* key of the stream with an open bracket, 0 = none */
	_Atomic(struct pair *) pair; /* of that bracket */
	uint32_t cost_ns;            /* running mean of a sample */
};

static _Atomic(struct own *) owns;
_Atomic uint32_t kbn_time_open_brackets;
_Atomic uint32_t kbn_time_mode;

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
	kbn_writer_header()->timing = now == KBN_MODE_ON ? KBN_TIMING_EVENTS : KBN_TIMING_OFF;
	kbn_writer_header()->budget_ppm = kbn_settings.budget_ppm;
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
	kbn_pool_forget_all();
}

/* -------------------------------------------------------------------------------------- sampler */

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
	t->budget_clock_ns = kbn_now_ns();
	return o;
}

static uint32_t random_below(struct kbn_thread *t, uint32_t n)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	return n ? t->random % n : 0;
}

/* Budget that the time since the last question has earned. */
static void earn(struct kbn_thread *t, uint64_t now)
{
	uint64_t passed = now - t->budget_clock_ns;

	if (passed > 10000000000u)
		passed = 10000000000u;
	t->budget_clock_ns = now;
	t->credit_ns += (int64_t)(passed * kbn_settings.budget_ppm / 1000000u);
	if (t->credit_ns > CREDIT_MAX)
		t->credit_ns = CREDIT_MAX;
}

/*
 * Launches to leave out: about 1/64 of what the shape has launched, so that samples lie all over the
 * run however long it becomes; random, so that they do not fall into step with the program.
 */
static uint32_t spacing(struct kbn_thread *t, const struct kbn_shape *s)
{
	uint64_t even = s->launches / SPACING;
	uint32_t skip = even < SKIP_MAX ? (uint32_t)even : SKIP_MAX;

	return skip / 2 + random_below(t, skip + 1);
}

/*
 * First launches may borrow from the budget of later. Afterwards a sample is bought: the more a
 * shape has, the fuller the purse has to be, so that shapes with few come first.
 */
static bool wants(struct kbn_thread *t, const struct own *o, const struct kbn_shape *s)
{
	uint32_t factor = 1 + s->sampled / 16;

	if (s->sampled < EARLY_FEW && t->credit_ns > -DEBT_MAX)
		return true;
	if (s->sampled < EARLY_SAMPLES && t->credit_ns > -DEBT_HALF)
		return true;
	return t->credit_ns >= (int64_t)o->cost_ns * (factor < 64 ? factor : 64);
}

/*
 * Host time of one sample, paid and remembered. A sample in whose middle the processor was given to
 * someone else is paid like a dear one: on a busy machine a few of those would otherwise use up the
 * budget of a second each. Samples that are dear every time raise the mean, and are paid in full.
 */
static void pay(struct kbn_thread *t, struct own *o, uint64_t ns)
{
	uint64_t most = (uint64_t)o->cost_ns * OUTLIER;
	int64_t price = (int64_t)(ns < most ? ns : most);

	__atomic_fetch_add(&kbn_writer_header()->self_ns, ns, __ATOMIC_RELAXED);
	t->credit_ns -= price;
	o->cost_ns = (uint32_t)((int64_t)o->cost_ns + (price - (int64_t)o->cost_ns) / 8);
	if (o->cost_ns < COST_LEAST)
		o->cost_ns = COST_LEAST;
	if (o->cost_ns > DEBT_MAX)
		o->cost_ns = DEBT_MAX;
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

static bool may_gate(const struct kbn_thread *t, const struct kbn_launch *l, struct pool *p)
{
	if (!l->gate_allowed || !p->words || t->id >= KBN_GATE_THREADS ||
	    l->shape->deadlines >= DEADLINES_MAX ||
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

/* True when the gate held until now, which is when both events are queued. */
static bool open_gate(struct kbn_thread *t, struct kbn_shape *s)
{
	enum kbn_gate_end how = kbn_gate_open(t->id);

	if (how == KBN_GATE_DEADLINE) {
		s->deadlines++;
		__atomic_fetch_add(&kbn_writer_header()->gate_deadlines, 1, __ATOMIC_RELAXED);
	}
	return how == KBN_GATE_HELD;
}

/* ------------------------------------------------------------------------------------- brackets */

static struct pair *bracket_begin(struct kbn_thread *t, struct own *o, const struct kbn_launch *l,
				  struct kbn_bracket *b, struct pool *p, uint64_t key)
{
	struct pair *pair = kbn_pool_take(p);
	CUresult r;

	if (!pair)
		return NULL;
	bracket_publish(o, pair, key);
	b->gate_value = may_gate(t, l, p) ? shut_gate(t, l, p) : 0;
	b->host_start_ns = kbn_now_ns();
	r = atomic_load(&p->dead) ? CUDA_ERROR_INVALID_CONTEXT
				  : record(pair->start, l->stream, l->ptsz);
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
	earn(t, now);
	if (!wants(t, o, s)) {
		s->skip = 1 + random_below(t, 8 + spacing(t, s) / 4);
		return KBN_TIME_SKIP;
	}
	p = kbn_pool_of(l->context);
	key = kbn_stream_key(l->context, l->stream, l->ptsz);
	if (p && kbn_stream_takes_events(key) &&
	    !atomic_load_explicit(&o->stream, memory_order_relaxed)) {
		relaxed = kbn_relaxed_enter();
		b->pair = bracket_begin(t, o, l, b, p, key);
		kbn_relaxed_leave(&relaxed);
		b->self_ns = kbn_now_ns() - now;
		if (b->pair)
			return KBN_TIME_BRACKET;
		pay(t, o, b->self_ns);
		kbn_drain_wake();
	}
	s->skip = UNABLE_SKIP / 2 + random_below(t, UNABLE_SKIP);
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

bool kbn_time_end(struct kbn_thread *t, const struct kbn_launch *l, struct kbn_bracket *b,
		  CUresult launched)
{
	struct kbn_shape *s = l->shape;
	struct own *o = t->timing;
	struct pair *pair = b->pair;
	struct pool *p;
	struct kbn_relaxed relaxed;
	CUresult r = launched;
	uint64_t entered = kbn_now_ns(), recorded;
	bool held = false;
	int saved = errno;

	if (!pair || !o)
		return false;
	p = pair->pool;
	if (launched == CUDA_SUCCESS) {
		relaxed = kbn_relaxed_enter();
		r = atomic_load(&p->dead) ? CUDA_ERROR_INVALID_CONTEXT
					  : record(pair->stop, l->stream, l->ptsz);
		kbn_relaxed_leave(&relaxed);
	}
	recorded = kbn_now_ns();
	if (b->gate_value)
		held = open_gate(t, s);
	/* Both events are in: what launches from now on stands behind them. */
	bracket_withdraw(o, pair);
	if (r == CUDA_SUCCESS) {
		pair->slot = s->slot;
		pair->launch = l->ordinal;
		pair->host_ns = recorded - b->host_start_ns;
		pair->held = held;
		s->sampled++;
		s->skip = s->sampled < EARLY_SAMPLES ? 0 : spacing(t, s);
		if (kbn_pool_hand_over(pair) % 64 == 32)
			kbn_drain_wake();
	} else {
		if (launched == CUDA_SUCCESS)
			kbn_pool_failed(p, r);
		kbn_pool_give(pair);
	}
	pay(t, o, b->self_ns + (kbn_now_ns() - entered));
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
