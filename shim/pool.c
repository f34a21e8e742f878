/*
 * pool.c - event pairs of each context: makes them in batches, lends them to launching threads
 * without a lock, reads them when they have finished, and writes the time half of the slots.
 *
 * Never synchronises. Which launches get a pair is timing.c's decision.
 */
#include "pool.h"

#include <stddef.h>
#include <string.h>

#include "hook.h"
#include "registry.h"
#include "sys.h"
#include "timing.h"
#include "writer.h"

#define LOCK_NS 2000000000u /* longest wait for the drain thread to leave a pool that ends */
#define MISSES  64u         /* unfinished pairs met in one pass before it ends */

static _Atomic(struct pool *) pools;
static struct pool gone = {.dead = true}; /* stands for the pool of a context that has ended */

/* -------------------------------------------------------------------------------------- pairs */

/* Batch 0 has pairs 0..63, batch b the pairs from 64 << (b - 1) up to its double. */
static struct pair *pair_at(struct pool *p, uint32_t index)
{
	uint32_t b = index < POOL_FIRST ? 0 : 32u - (uint32_t)__builtin_clz(index / POOL_FIRST);

	return &p->batch[b][b ? index - (POOL_FIRST << (b - 1)) : index];
}

void kbn_pool_give(struct pair *pair)
{
	struct pool *p = pair->pool;
	uint64_t head = atomic_load_explicit(&p->free, memory_order_relaxed);
	uint64_t next;

	do { /* the tag grows: a list that changed and came back is not taken for unchanged */
		pair->next = (uint32_t)head;
		next = ((head >> 32) + 1) << 32 | (pair->index + 1);
	} while (!atomic_compare_exchange_weak_explicit(&p->free, &head, next, memory_order_release,
							memory_order_relaxed));
}

static struct pair *take_free(struct pool *p)
{
	uint64_t head = atomic_load_explicit(&p->free, memory_order_acquire);
	struct pair *pair;
	uint64_t next;

	do {
		if (!(uint32_t)head)
			return NULL;
		pair = pair_at(p, (uint32_t)head - 1);
		next = ((head >> 32) + 1) << 32 |
		       atomic_load_explicit(&pair->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&p->free, &head, next, memory_order_acquire,
							memory_order_acquire));
	return pair;
}

bool kbn_pool_failed(struct pool *p, CUresult r)
{
	if (!kbn_registry_error(p->context, r))
		return false;
	atomic_store(&p->dead, true);
	return true;
}

/* Make the pool's context current where it is not. `pushed` says whether to pop. */
static bool context_enter(struct pool *p, bool *pushed)
{
	CUcontext current = NULL;
	CUresult r;

	*pushed = false;
	if (real.cuCtxGetCurrent && real.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
	    current == p->handle)
		return true;
	if (!real.cuCtxPushCurrent_v2 || !real.cuCtxPopCurrent_v2)
		return false;
	r = real.cuCtxPushCurrent_v2(p->handle);
	*pushed = r == CUDA_SUCCESS;
	if (r != CUDA_SUCCESS)
		kbn_pool_failed(p, r);
	return *pushed;
}

static void context_leave(bool pushed)
{
	CUcontext popped;

	if (pushed)
		real.cuCtxPopCurrent_v2(&popped);
}

/* One pinned allocation with a word for each thread, once per context. */
static void make_words(struct pool *p)
{
	void *host = NULL;
	CUdeviceptr device = 0;
	int supported = 1;

	if (!real.cuMemHostAlloc || !real.cuMemHostGetDevicePointer_v2)
		return;
	/* The second form of the call works wherever it exists; the first has to be allowed. */
	if (!real.cuStreamWaitValue32_v2 &&
	    (!real.cuStreamWaitValue32 || !real.cuDeviceGetAttribute ||
	     real.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1,
				       p->context->ordinal) != CUDA_SUCCESS))
		supported = 0;
	if (!supported || real.cuMemHostAlloc(&host, KBN_GATE_THREADS * KBN_GATE_STRIDE,
					      CU_MEMHOSTALLOC_PORTABLE |
						      CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS)
		return;
	memset(host, 0, KBN_GATE_THREADS * KBN_GATE_STRIDE);
	if (real.cuMemHostGetDevicePointer_v2(&device, host, 0) != CUDA_SUCCESS)
		return; /* 32 KB stay pinned until the context ends */
	p->words_device = device;
	p->words = host;
}

static bool make_batch(struct pool *p, uint32_t b)
{
	uint32_t from = b ? POOL_FIRST << (b - 1) : 0, count = b ? from : POOL_FIRST;
	struct pair *pairs = p->batch[b] ? p->batch[b] : kbn_alloc(count * sizeof(*pairs));
	CUresult r = CUDA_SUCCESS;

	if (!pairs)
		return false;
	for (uint32_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
		pairs[i].pool = p;
		pairs[i].index = from + i;
		r = real.cuEventCreate(&pairs[i].start, CU_EVENT_DEFAULT);
		if (r == CUDA_SUCCESS)
			r = real.cuEventCreate(&pairs[i].stop, CU_EVENT_DEFAULT);
	}
	p->batch[b] = pairs;
	if (r != CUDA_SUCCESS) {
		kbn_pool_failed(p, r);
		return false; /* the batch's events are never used; the pool stays as it is */
	}
	atomic_store(&p->batches, b + 1);
	for (uint32_t i = 0; i < count; i++)
		kbn_pool_give(&pairs[i]);
	return true;
}

static void make_more(struct pool *p)
{
	uint32_t b = atomic_load(&p->batches);
	bool pushed;

	if (b >= POOL_BATCHES || !real.cuEventCreate || atomic_exchange(&p->making, 1))
		return;
	b = atomic_load(&p->batches);
	if (b < POOL_BATCHES && context_enter(p, &pushed)) {
		if (b == 0)
			make_words(p);
		if (!make_batch(p, b)) /* do not try this again and again */
			atomic_store(&p->batches, POOL_BATCHES);
		context_leave(pushed);
	}
	atomic_store(&p->making, 0);
}

struct pair *kbn_pool_take(struct pool *p)
{
	struct pair *pair = take_free(p);

	if (!pair && !atomic_load(&p->dead)) {
		make_more(p);
		pair = take_free(p);
	}
	if (pair)
		atomic_store_explicit(&pair->mixed, false, memory_order_relaxed);
	return pair;
}

bool kbn_pool_is_being_made(struct pool *p)
{
	return atomic_load_explicit(&p->making, memory_order_relaxed) &&
	       !(uint32_t)atomic_load_explicit(&p->free, memory_order_relaxed);
}

uint32_t kbn_pool_hand_over(struct pair *pair)
{
	struct pool *p = pair->pool;
	uint32_t n = atomic_fetch_add(&p->unread, 1) + 1;
	uint32_t head = atomic_load_explicit(&p->handed, memory_order_relaxed);

	do { /* taken whole by the harvest: no tag needed */
		pair->next = head;
	} while (!atomic_compare_exchange_weak_explicit(
		&p->handed, &head, pair->index + 1, memory_order_release, memory_order_relaxed));
	return n;
}

/* ---------------------------------------------------------------------------------- time half */

static void sketch_from_early(struct kbn_slot *s)
{
	uint32_t index;
	struct kbn_sketch *sketch = kbn_sketch_new(&index);

	if (!sketch)
		return;
	for (uint32_t i = 0; i < s->early_count; i++)
		if ((s->early[i].launch & ~KBN_EARLY_PLAIN) >= KBN_WARMUP)
			sketch->count[kbn_sketch_bucket(s->early[i].ns)]++;
	s->sketch = index + 1;
}

/* A good time. The sketch is made with the sample that `early` cannot hold, or not exactly. */
static void add_good(struct kbn_slot *s, uint64_t launch, uint64_t ns, bool is_plain)
{
	uint64_t before = s->gated + s->plain;
	bool exact = ns < UINT32_MAX;

	if (!s->sketch && before <= KBN_EARLY && (before == KBN_EARLY || !exact))
		sketch_from_early(s);
	if (s->early_count < KBN_EARLY) {
		struct kbn_early *e = &s->early[s->early_count++];

		e->launch = (launch < KBN_EARLY_PLAIN ? (uint32_t)launch : KBN_EARLY_PLAIN - 1) |
			    (is_plain ? KBN_EARLY_PLAIN : 0);
		e->ns = exact ? (uint32_t)ns : UINT32_MAX;
	}
	if (is_plain)
		s->plain++;
	else
		s->gated++;
	if (launch < KBN_WARMUP)
		return;
	if (!s->samples || ns < s->min_ns)
		s->min_ns = ns;
	if (ns > s->max_ns)
		s->max_ns = ns;
	s->sum_ns += ns;
	s->samples++;
	if (s->sketch)
		kbn_sketch_at(s->sketch - 1)->count[kbn_sketch_bucket(ns)]++;
}

/*
 * True time of a plain pair lies within [elapsed - host, elapsed], host being the span from before
 * the first record to after the second: good when that is at most 5% of it.
 */
static bool is_tight(uint64_t ns, uint64_t host_ns)
{
	return host_ns <= ns / 20;
}

/* Judge one finished pair; `ns` = 0 when its events failed. */
static void resolve(struct pair *pair, uint64_t ns)
{
	struct kbn_slot *s = pair->slot;

	/* Acquire: none of the writes below may come before the counter is odd. */
	__atomic_fetch_add(&s->time_seq, 1, __ATOMIC_ACQ_REL);
	if (!ns) {
		s->lost++;
	} else if (atomic_load_explicit(&pair->mixed, memory_order_relaxed)) {
		s->starved++;
	} else if (pair->held) {
		add_good(s, pair->launch, ns, false);
	} else if (pair->queued) {
		add_good(s, pair->launch, ns, true);
	} else if (is_tight(ns, pair->host_ns)) {
		s->slack_ns += pair->host_ns;
		add_good(s, pair->launch, ns, true);
	} else {
		s->starved++;
	}
	__atomic_fetch_add(&s->time_seq, 1, __ATOMIC_RELEASE);
	atomic_fetch_sub(&pair->pool->unread, 1);
}

/* ------------------------------------------------------------------------------------ harvest */

static bool harvest_lock(struct pool *p, uint64_t wait_ns)
{
	uint64_t give_up = wait_ns ? kbn_clock_ns() + wait_ns : 0;

	while (atomic_exchange(&p->harvest, 1)) {
		if (!wait_ns || kbn_clock_ns() > give_up)
			return false;
		kbn_sleep_ns(50000);
	}
	return true;
}

static void harvest_unlock(struct pool *p)
{
	atomic_store(&p->harvest, 0);
}

static void append(struct pool *p, struct pair *pair)
{
	pair->next = 0;
	if (p->last)
		pair_at(p, p->last - 1)->next = pair->index + 1;
	else
		p->first = pair->index + 1;
	p->last = pair->index + 1;
}

static struct pair *pop_first(struct pool *p)
{
	struct pair *pair = p->first ? pair_at(p, p->first - 1) : NULL;

	if (!pair)
		return NULL;
	p->first = pair->next;
	if (!p->first)
		p->last = 0;
	return pair;
}

/* What launching threads pushed, oldest first behind what waits already. Returns the number waiting. */
static uint32_t collect(struct pool *p)
{
	uint32_t at = atomic_exchange_explicit(&p->handed, 0, memory_order_acquire);
	uint32_t turned = 0, n = 0;

	while (at) {
		struct pair *pair = pair_at(p, at - 1);
		uint32_t next = pair->next;

		pair->next = turned;
		turned = at;
		at = next;
	}
	while (turned) {
		struct pair *pair = pair_at(p, turned - 1);

		turned = pair->next;
		append(p, pair);
	}
	for (at = p->first; at; at = pair_at(p, at - 1)->next)
		n++;
	return n;
}

/* Read up to `n` waiting pairs, once each. An unfinished one goes to the end of the line. */
static void read_pairs(struct pool *p, uint32_t n)
{
	struct pair *pair;

	for (uint32_t misses = 0; n && misses < MISSES && (pair = pop_first(p)); n--) {
		float ms = 0;
		CUresult r = real.cuEventElapsedTime(&ms, pair->start, pair->stop);

		if (r == CUDA_ERROR_NOT_READY) {
			append(p, pair);
			misses++;
			continue;
		}
		resolve(pair, r == CUDA_SUCCESS && ms > 0 && ms < 1e12f
				      ? (uint64_t)((double)ms * 1e6 + 0.5)
				      : 0);
		if (r != CUDA_SUCCESS && kbn_pool_failed(p, r))
			return;
		kbn_pool_give(pair);
	}
}

static void lose_all(struct pool *p)
{
	struct pair *pair;

	collect(p);
	while ((pair = pop_first(p)))
		resolve(pair, 0);
}

static void harvest(struct pool *p)
{
	struct kbn_relaxed relaxed;
	uint32_t n = collect(p);
	bool pushed;

	if (n && !atomic_load(&p->dead) && real.cuEventElapsedTime) {
		relaxed = kbn_relaxed_enter();
		if (context_enter(p, &pushed)) {
			read_pairs(p, n);
			context_leave(pushed);
		}
		kbn_relaxed_leave(&relaxed);
	}
	if (atomic_load(&p->dead))
		lose_all(p);
}

uint32_t kbn_pool_unread(void)
{
	uint32_t unread = 0;

	for (struct pool *p = atomic_load(&pools); p; p = p->next)
		if (!atomic_load(&p->retired))
			unread += atomic_load(&p->unread);
	return unread;
}

uint32_t kbn_pool_harvest_all(void)
{
	for (struct pool *p = atomic_load(&pools); p; p = p->next) {
		if (atomic_load(&p->retired) || !atomic_load(&p->unread))
			continue;
		if (harvest_lock(p, 0)) {
			harvest(p);
			harvest_unlock(p);
		}
	}
	return kbn_pool_unread();
}

/* ------------------------------------------------------------------------------ life of a pool */

static void pool_reset(struct pool *p, struct kbn_context *c)
{
	p->context = c;
	p->handle = c->handle;
	p->first = p->last = 0;
	p->words = NULL;
	p->words_device = 0;
	memset(p->values, 0, sizeof(p->values));
	atomic_store(&p->open, 0);
	atomic_store(&p->unread, 0);
	atomic_store(&p->batches, 0);
	atomic_store(&p->making, 0);
	atomic_store(&p->free, 0);
	atomic_store(&p->handed, 0);
	atomic_store(&p->gates_off, false);
	atomic_store(&p->blocking, 0);
	atomic_store(&p->dead, false);
}

/* A pool of a context that ended, whose memory can serve again; its retired mark is taken off. */
static struct pool *reuse(void)
{
	for (struct pool *p = atomic_load(&pools); p; p = p->next)
		if (atomic_load(&p->retired) && atomic_exchange(&p->retired, false))
			return p;
	return NULL;
}

static struct pool *pool_make(struct kbn_context *c)
{
	struct pool *p = reuse();
	bool fresh = !p;

	if (fresh)
		p = kbn_alloc(sizeof(*p));
	if (!p)
		return NULL;
	pool_reset(p, c);
	if (fresh) {
		p->next = atomic_load(&pools);
		while (!atomic_compare_exchange_weak(&pools, &p->next, p))
			;
	}
	return p;
}

struct pool *kbn_pool_of(struct kbn_context *c)
{
	void *known = atomic_load_explicit(&c->timing, memory_order_acquire);
	struct pool *p = known;

	if (!p) {
		if (atomic_load(&c->dead))
			return NULL;
		p = pool_make(c);
		if (!p)
			return NULL;
		if (!atomic_compare_exchange_strong(&c->timing, &known, p)) {
			atomic_store(&p->retired, true);
			p = known;
		}
	}
	return atomic_load_explicit(&p->dead, memory_order_relaxed) ? NULL : p;
}

void kbn_pool_context_gone(struct kbn_context *c)
{
	struct pool *p = atomic_exchange(&c->timing, &gone);
	bool locked;

	kbn_stream_forget_context(c->id);
	if (!p || p == &gone)
		return;
	locked = harvest_lock(p, LOCK_NS);
	if (locked)
		harvest(p);
	atomic_store(&p->dead, true);
	if (p->words)
		kbn_gate_forget((const void *)p->words, KBN_GATE_THREADS * KBN_GATE_STRIDE);
	if (!locked) /* the drain thread hangs in the driver: it will meet `dead` when it returns */
		return;
	lose_all(p);
	/* A bracket of another thread may still be open, against the rules of the driver: then the
	 * pool is not used again, so that its pair cannot turn up in somebody else's list. */
	if (!atomic_load(&p->open))
		atomic_store(&p->retired, true);
	harvest_unlock(p);
}

void kbn_pool_forget_all(void)
{
	atomic_store(&pools, NULL);
}
