/* unit: shim */
/*
 * test_timing.c - sampler, brackets, gate, harvest, against a driver of a few lines that this file
 * plays itself: one time for every pair, scripted results, and a record of what was called.
 */
#include "kbn_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "gate.h"
#include "hook.h"
#include "pool.h"
#include "registry.h"
#include "sampler.h"
#include "state.h"
#include "sys.h"
#include "timing.h"
#include "writer.h"

/* ------------------------------------------------------------------------------------ driver */

static struct {
	_Atomic unsigned created, records, ptsz_records, waits, elapsed_calls, mode_calls;
	_Atomic unsigned asked;        /* whether the GPU has come to a start event */
	_Atomic unsigned marks;        /* the same of an event before a gate */
	_Atomic bool hang;             /* reading a time does not return */
	_Atomic unsigned records_good; /* so many succeed whatever record_result says */
	_Atomic CUresult start_result, mark_result; /* the answers */
	_Atomic int mode;                           /* of this process's one thread that asks */
	_Atomic unsigned not_relaxed;               /* event calls outside RELAXED mode */
	_Atomic unsigned late_waits; /* start event recorded while the gate stood open */
	_Atomic float ms;
	_Atomic CUresult elapsed_result, record_result, wait_result;
	_Atomic uint32_t wait_value;
	_Atomic CUdeviceptr wait_at;
} driver;

static _Alignas(64) uint8_t words[KBN_GATE_THREADS * KBN_GATE_STRIDE];
static __thread CUstreamCaptureMode thread_mode;

static CUresult d_exchange(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	driver.mode_calls++;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static void relaxed(void)
{
	driver.not_relaxed += thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

static CUresult d_event_create(CUevent *e, unsigned flags)
{
	relaxed();
	assert_int_equal(flags, CU_EVENT_DEFAULT);
	*e = (CUevent)(uintptr_t)(0x1000 + ++driver.created);
	return CUDA_SUCCESS;
}

static CUresult d_record(CUevent e, CUstream s)
{
	(void)e;
	(void)s;
	relaxed();
	return driver.records++ < driver.records_good ? CUDA_SUCCESS : driver.record_result;
}

static CUresult d_record_ptsz(CUevent e, CUstream s)
{
	driver.ptsz_records++;
	return d_record(e, s);
}

static CUresult d_elapsed(float *ms, CUevent a, CUevent b)
{
	relaxed();
	assert_true(a && b);
	if (a == b && (uintptr_t)a % 2 == 0) { /* the second of a pair, before the gate */
		driver.marks++;
		return driver.mark_result;
	}
	if (a == b) {
		driver.asked++;
		return driver.start_result;
	}
	driver.elapsed_calls++;
	while (driver.hang)
		kbn_sleep_ns(1000000);
	*ms = driver.ms;
	return driver.elapsed_result;
}

static CUresult d_current(CUcontext *c)
{
	*c = (CUcontext)0x77;
	return CUDA_SUCCESS;
}

static CUresult d_host_alloc(void **p, size_t bytes, unsigned flags)
{
	assert_int_equal(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	assert_true(bytes <= sizeof(words));
	*p = words;
	return CUDA_SUCCESS;
}

static CUresult d_device_pointer(CUdeviceptr *d, void *p, unsigned flags)
{
	assert_int_equal(flags, 0);
	*d = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

static CUresult d_wait(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	(void)s;
	relaxed();
	assert_int_equal(flags, CU_STREAM_WAIT_VALUE_GEQ);
	driver.waits++;
	driver.wait_value = value;
	driver.wait_at = at;
	/* A wait for a value that is there already would hold nothing. */
	driver.late_waits += __atomic_load_n((uint32_t *)(uintptr_t)at, __ATOMIC_RELAXED) >= value;
	return driver.wait_result;
}

/* ----------------------------------------------------------------------------------- fixture */

static char dir[256];
static struct kbn_context context;
static struct kbn_thread thread;
static struct kbn_slot *slot;
static struct kbn_shape shape;

static int setup(void **state)
{
	static uint32_t ids;
	char run[300];
	const char *why;
	uint32_t index;

	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.ms = 0.01f;
	memset(&real, 0, sizeof(real));
	real.cuThreadExchangeStreamCaptureMode = d_exchange;
	real.cuEventCreate = d_event_create;
	real.cuEventRecord = d_record;
	real.cuEventRecord_ptsz = d_record_ptsz;
	real.cuEventElapsedTime = d_elapsed;
	real.cuCtxGetCurrent = d_current;
	real.cuMemHostAlloc = d_host_alloc;
	real.cuMemHostGetDevicePointer_v2 = d_device_pointer;
	real.cuStreamWaitValue32_v2 = d_wait;
	real.cuStreamWaitValue32_v2_ptsz = d_wait;
	thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

	temp_dir(dir);
	snprintf(run, sizeof(run), "%s/run", dir);
	assert_int_equal(kbn_writer_open(run, 64, &why), 0);
	kbn_settings.timing = KBN_TIMING_EVENTS;
	kbn_settings.budget_ppm = 10000;
	memset(&context, 0, sizeof(context));
	context.handle = (CUcontext)0x77;
	context.id = ++ids;
	memset(&thread, 0, sizeof(thread));
	slot = kbn_slot_new(false, &index);
	memset(&shape, 0, sizeof(shape));
	shape.slot = slot;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kbn_drain_finish(kbn_now_ns() + 500000000u);
	assert_int_equal(driver.not_relaxed, 0);
	assert_int_equal(thread_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	remove_dir(dir);
	return 0;
}

static struct kbn_launch launch_of(struct kbn_shape *s, uintptr_t stream)
{
	return (struct kbn_launch){.stream = (CUstream)stream,
				   .gate_allowed = true,
				   .context = &context,
				   .shape = s,
				   .ordinal = s->launches};
}

/* One launch as a wrapper makes it; what its outcome was. */
static enum kbn_time_choice do_launch(struct kbn_launch *l, unsigned busy_us, CUresult result)
{
	enum kbn_time_choice choice;
	struct kbn_bracket b;
	bool counted = true;

	choice = kbn_time_begin(&thread, l, &b);
	if (choice != KBN_TIME_BRACKET)
		kbn_time_note_launch(&thread, l);
	for (uint64_t until = kbn_now_ns() + busy_us * 1000u; busy_us && kbn_now_ns() < until;)
		;
	if (choice == KBN_TIME_BRACKET)
		counted = kbn_time_end(&thread, l, &b, result);
	if (result == CUDA_SUCCESS) {
		l->shape->launches++;
		if (choice == KBN_TIME_BRACKET && counted)
			slot->bracketed++;
	}
	return choice == KBN_TIME_BRACKET && !counted ? KBN_TIME_UNABLE : choice;
}

static enum kbn_time_choice launch_on(uintptr_t stream)
{
	struct kbn_launch l = launch_of(&shape, stream);

	return do_launch(&l, 0, CUDA_SUCCESS);
}

/* Let the drain thread read what there is. */
static void settle(void)
{
	for (int i = 0; i < 1000 && kbn_pool_harvest_all(); i++)
		kbn_sleep_ns(1000000);
}

static uint64_t resolved(void)
{
	return slot->gated + slot->plain + slot->starved + slot->lost;
}

/* ------------------------------------------------------------------------------------- cases */

static void test_first_launches_are_sampled_and_gated(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		if (i >= 5) /* the first five are asked for by nobody */
			shape.skip = 0;
		assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
		/* The gate was shut before the start event and is open now. */
		assert_int_equal(*(uint32_t *)(uintptr_t)driver.wait_at, driver.wait_value);
	}
	if (shape.deadlines) /* the processor was taken away for 100 us with the gate shut */
		skip();
	assert_int_equal(driver.records, 36);
	assert_int_equal(driver.marks, 12);
	assert_int_equal(driver.waits, 12);
	assert_int_equal(driver.late_waits, 0);
	assert_int_equal(driver.asked, 0); /* a gate that held leaves no question */
	settle();
	assert_int_equal(slot->gated, 12);
	assert_int_equal(slot->bracketed, resolved());
	assert_int_equal(slot->samples, 9); /* without warm-up */
	assert_int_equal(slot->min_ns, 10000);
	assert_int_equal(slot->max_ns, 10000);
	assert_int_equal(slot->sum_ns, 90000);
	assert_int_equal(slot->early_count, KBN_EARLY);
	assert_int_equal(slot->early[0].launch, 0);
	assert_int_equal(slot->early[5].launch, 5);
	assert_int_equal(slot->early[5].ns, 10000);
	assert_int_equal(slot->time_seq % 2, 0);
	assert_true(slot->sketch > 0);
	assert_int_equal(kbn_sketch_at(slot->sketch - 1)->count[kbn_sketch_bucket(10000)], 9);
	assert_int_equal(kbn_writer_header()->gates, 12);
	assert_true(kbn_writer_header()->self_ns > 0);
}

static void test_sketch_begins_with_the_seventh(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		shape.skip = 0;
		launch_on(0x5000);
	}
	settle();
	assert_int_equal(slot->gated, 6);
	assert_int_equal(slot->sketch, 0);
	driver.ms = 5000; /* does not fit an early entry */
	shape.skip = 0;
	launch_on(0x5000);
	settle();
	assert_true(slot->sketch > 0);
	assert_int_equal(kbn_sketch_at(slot->sketch - 1)->count[kbn_sketch_bucket(5000000000u)], 1);
	assert_int_equal(slot->max_ns, 5000000000u);
}

static void test_plain_pair_is_published_only_when_tight(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	l.gate_allowed = false;
	driver.ms = 0.02f; /* 20 us measured over at least 10 us of host time */
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->starved, 1);
	assert_int_equal(slot->plain, 0);
	assert_int_equal(slot->early_count, 0);
	driver.ms = 50;
	l.ordinal = shape.launches;
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->plain, 1);
	assert_true(slot->slack_ns >= 10000 && slot->slack_ns < 2500000);
	assert_int_equal(slot->early[0].launch, 1 | KBN_EARLY_PLAIN);
	assert_int_equal(driver.waits, 0);
}

static void test_plain_pair_behind_other_work_is_exact(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	l.gate_allowed = false;
	driver.ms = 0.004f; /* far less than the host took for it */
	driver.start_result = CUDA_ERROR_NOT_READY;
	for (int i = 0; i < 5; i++) {
		l.ordinal = shape.launches;
		assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	}
	assert_int_equal(driver.asked, 5);
	settle();
	assert_int_equal(slot->plain, 5);
	assert_int_equal(slot->starved, 0);
	assert_int_equal(slot->slack_ns, 0);
	assert_int_equal(slot->min_ns, 4000);
	assert_int_equal(slot->early[4].launch, 4 | KBN_EARLY_PLAIN);
	/* The GPU has come by: what lies between the events may be the host. */
	driver.start_result = CUDA_SUCCESS;
	shape.skip = 0;
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->plain, 5);
	assert_int_equal(slot->starved, 1);
}

/* An answer that is an error proves nothing, and ends our part in the context when it is sticky. */
static void test_question_that_fails(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	l.gate_allowed = false;
	driver.start_result = CUDA_ERROR_INVALID_HANDLE;
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->starved, 1);
	assert_false(atomic_load(&context.dead));
	driver.start_result = CUDA_ERROR_ILLEGAL_ADDRESS;
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	assert_true(atomic_load(&context.dead));
	settle();
	assert_int_equal(slot->bracketed, resolved());
	assert_int_equal(slot->plain, 0);
}

/* Opened too early, but behind other work: no harm done. A pair that is used again starts afresh. */
static void test_early_opening_behind_other_work(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	driver.start_result = CUDA_ERROR_NOT_READY;
	assert_int_equal(do_launch(&l, 50000, CUDA_SUCCESS), KBN_TIME_BRACKET);
	assert_int_equal(shape.deadlines, 1);
	assert_int_equal(driver.asked, 1);
	settle();
	assert_int_equal(slot->gated, 0);
	assert_int_equal(slot->plain, 1);
	driver.start_result = CUDA_SUCCESS;
	l.gate_allowed = false;
	assert_int_equal(do_launch(&l, 10, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->plain, 1);
	assert_int_equal(slot->starved, 1);
}

/* The gate held, but what held up the GPU was earlier work: reads like a plain pair there. */
static void test_gate_behind_other_work_is_plain(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	driver.mark_result = CUDA_ERROR_NOT_READY;
	launch_on(0x5000);
	if (shape.deadlines)
		skip();
	assert_int_equal(driver.waits, 1);
	settle();
	assert_int_equal(slot->gated, 0);
	assert_int_equal(slot->plain, 1);
	assert_int_equal(slot->slack_ns, 0);
	driver.mark_result = CUDA_SUCCESS;
	launch_on(0x5000);
	if (shape.deadlines)
		skip();
	settle();
	assert_int_equal(slot->gated, 1);
	/* Opened by another thread meanwhile: what the GPU does at the end counts. */
	driver.mark_result = CUDA_ERROR_NOT_READY;
	l.ordinal = shape.launches;
	assert_int_equal(do_launch(&l, 50000, CUDA_SUCCESS), KBN_TIME_BRACKET);
	settle();
	assert_int_equal(slot->plain, 1);
	assert_int_equal(slot->starved, 1);
}

static void test_no_wait_while_the_pool_is_made(void **state)
{
	struct pool *p = kbn_pool_of(&context);

	(void)state;
	atomic_store(&p->making, 1);
	assert_int_equal(launch_on(0x5000), KBN_TIME_SKIP);
	assert_in_range(shape.skip, 1, 8);
	atomic_store(&p->making, 0);
	shape.skip = 0;
	assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
}

static void test_queued_pair_of_a_contended_stream(void **state)
{
	struct kbn_thread other = {.id = 5};
	struct kbn_shape theirs = {.slot = slot};
	struct kbn_launch mine = launch_of(&shape, 0x5000), their = launch_of(&theirs, 0x5000);
	struct kbn_bracket b;

	(void)state;
	mine.gate_allowed = false;
	driver.start_result = CUDA_ERROR_NOT_READY;
	assert_int_equal(kbn_time_begin(&thread, &mine, &b), KBN_TIME_BRACKET);
	kbn_time_note_launch(&other, &their);
	assert_true(kbn_time_end(&thread, &mine, &b, CUDA_SUCCESS));
	settle();
	assert_int_equal(slot->starved, 1);
	assert_int_equal(slot->plain, 0);
}

static enum kbn_time_choice launch_cluster(bool portable)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	l.gate_allowed = false;
	l.gate_late = portable;
	shape.skip = 0;
	return do_launch(&l, 10, CUDA_SUCCESS);
}

static void test_cluster_is_gated_when_plain_pairs_starve(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(launch_cluster(true), KBN_TIME_BRACKET);
		settle();
		assert_int_equal(slot->starved, i + 1);
	}
	assert_int_equal(driver.waits, 0);
	assert_int_equal(launch_cluster(false), KBN_TIME_BRACKET); /* another way to launch it */
	assert_int_equal(driver.waits, 0);
	for (int i = 0; i < 3 && !shape.deadlines; i++) { /* and so it stays, with good ones */
		assert_int_equal(launch_cluster(true), KBN_TIME_BRACKET);
		settle();
		assert_int_equal(driver.waits, i + 1);
	}
	if (!shape.deadlines)
		assert_int_equal(slot->gated, 3);
}

static void test_cluster_with_plain_times_is_not_gated(void **state)
{
	(void)state;
	driver.start_result = CUDA_ERROR_NOT_READY;
	for (int i = 0; i < 4; i++) /* the last is no warm-up */
		launch_cluster(true);
	driver.start_result = CUDA_SUCCESS;
	for (int i = 0; i < 6; i++)
		launch_cluster(true);
	settle();
	assert_int_equal(slot->plain, 4);
	assert_int_equal(slot->starved, 6);
	launch_cluster(true);
	assert_int_equal(driver.waits, 0);
}

static void test_deadline_opens_and_ends_gating(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);
	unsigned waits;

	(void)state;
	launch_on(0x5000); /* starts the watcher */
	kbn_sleep_ns(5000000);
	for (int i = 0; i < 2; i++) {
		l.ordinal = shape.launches;
		/* Longer than any scheduler keeps the watcher from its turn. */
		assert_int_equal(do_launch(&l, 50000, CUDA_SUCCESS), KBN_TIME_BRACKET);
	}
	assert_int_equal(shape.deadlines, 2);
	assert_int_equal(kbn_writer_header()->gate_deadlines, 2);
	waits = driver.waits;
	l.ordinal = shape.launches;
	assert_int_equal(do_launch(&l, 5, CUDA_SUCCESS), KBN_TIME_BRACKET);
	assert_int_equal(driver.waits, waits);
	settle();
	assert_int_equal(slot->gated, 1);
	assert_int_equal(slot->starved, 3);
}

static void test_watcher_is_in_time(void **state)
{
	uint32_t word[16] = {0};
	uint64_t begin, longest = 0;

	(void)state;
	assert_true(kbn_gate_ready());
	for (uint32_t i = 1; i <= 20; i++) {
		uint64_t held;

		if (i == 10)
			kbn_sleep_ns(10000000); /* the watcher has gone to sleep */
		begin = kbn_clock_ns();
		assert_true(kbn_gate_shut(3, word, i));
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < i &&
		       kbn_clock_ns() - begin < 2000000000u)
			kbn_sleep_ns(10000);
		held = kbn_clock_ns() - begin;
		assert_true(held >= KBN_GATE_NS);
		longest = held > longest ? held : longest;
		assert_int_equal(kbn_gate_open(3), KBN_GATE_DEADLINE);
		assert_int_equal(word[0], i);
	}
	assert_true(longest < 1000000000u);
}

static void test_blocking_call_opens_and_keeps_open(void **state)
{
	uint32_t word[16] = {0};

	(void)state;
	assert_true(kbn_gate_ready());
	assert_true(kbn_gate_shut(0, word, 1));
	kbn_time_block_enter();
	assert_int_equal(word[0], 1);
	assert_int_equal(kbn_gate_open(0), KBN_GATE_BLOCKED);
	assert_false(kbn_gate_shut(0, word, 2));
	assert_int_equal(word[0], 2);
	launch_on(0x5000);
	assert_int_equal(driver.waits, 0);
	kbn_time_block_leave();
	launch_on(0x5000);
	assert_int_equal(driver.waits, 1);
}

/* The very first gate of the process, while another thread is in a call that may block already. */
static void test_blocking_call_before_the_first_gate(void **state)
{
	uint32_t word[16] = {0};

	(void)state;
	kbn_time_block_enter();
	assert_true(kbn_gate_ready());
	assert_false(kbn_gate_shut(0, word, 1));
	kbn_time_block_leave();
	assert_true(kbn_gate_shut(0, word, 2));
	kbn_gate_open(0);
	/* One leave too many, as in a forked child that began within the call: no harm. */
	kbn_time_block_leave();
	assert_true(kbn_gate_shut(0, word, 3));
	kbn_gate_open(0);
}

static _Atomic bool go;

static void *ready_and_shut(void *arg)
{
	uint32_t *word = arg;
	uint32_t id = 10 + (uint32_t)(word - (uint32_t *)(void *)words) / 16;

	while (!atomic_load(&go))
		;
	/* Shut as soon as it is allowed, and left to the watcher. */
	while (!kbn_gate_ready())
		;
	kbn_gate_shut(id, word, 1);
	return NULL;
}

/* However many threads ask first, no gate is forgotten. */
static void test_first_gates_of_many_threads(void **state)
{
	enum { N = 8 };
	uint32_t *word = (uint32_t *)(void *)words;
	pthread_t t[N];

	(void)state;
	memset(words, 0, sizeof(words));
	atomic_store(&go, false);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, ready_and_shut, &word[16 * i]);
	atomic_store(&go, true);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < N; i++) {
		for (int wait = 0; wait < 2000 && !__atomic_load_n(&word[16 * i], __ATOMIC_ACQUIRE);
		     wait++)
			kbn_sleep_ns(1000000);
		assert_int_equal(__atomic_load_n(&word[16 * i], __ATOMIC_ACQUIRE), 1);
		assert_int_equal(kbn_gate_open(10 + (uint32_t)i), KBN_GATE_DEADLINE);
	}
}

static void test_no_gate_without_support(void **state)
{
	(void)state;
	driver.wait_result = CUDA_ERROR_NOT_SUPPORTED;
	assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
	assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
	assert_int_equal(driver.waits, 1);
	assert_int_equal(kbn_writer_header()->gates, 0);
}

static void test_legacy_stream_is_gated_only_alone(void **state)
{
	(void)state;
	launch_on(0);
	assert_int_equal(driver.waits, 1);
	kbn_time_stream_created(&context, (CUstream)0x9000, false);
	launch_on(0);
	assert_int_equal(driver.waits, 2);
	kbn_time_stream_created(&context, (CUstream)0x9100, true);
	launch_on(0);
	launch_on(1);
	assert_int_equal(driver.waits, 2);
	shape.skip = 0;
	launch_on(0x9100);
	shape.skip = 0;
	launch_on(2);
	assert_int_equal(driver.waits, 4);
	kbn_time_stream_destroyed(&context, (CUstream)0x9100);
	shape.skip = 0;
	launch_on(1);
	assert_int_equal(driver.waits, 5);
}

static void test_pdl_ends_events_on_a_stream(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0xa000);

	(void)state;
	launch_on(0xa000);
	l.pdl = true;
	assert_int_equal(do_launch(&l, 0, CUDA_SUCCESS), KBN_TIME_UNABLE);
	assert_int_equal(launch_on(0xa000), KBN_TIME_UNABLE);
	shape.skip = 0;
	assert_int_equal(launch_on(0xb000), KBN_TIME_BRACKET);
	/* The handle comes again for another stream. */
	kbn_time_stream_destroyed(&context, (CUstream)0xa000);
	kbn_time_stream_created(&context, (CUstream)0xa000, false);
	shape.skip = 0;
	assert_int_equal(launch_on(0xa000), KBN_TIME_BRACKET);
	assert_int_equal(driver.records, 9);
}

static void test_ptsz_uses_its_own_calls(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0);

	(void)state;
	l.ptsz = true;
	assert_int_equal(do_launch(&l, 0, CUDA_SUCCESS), KBN_TIME_BRACKET);
	assert_int_equal(driver.ptsz_records, 3);
}

static void test_contended_stream(void **state)
{
	struct kbn_thread other = {.id = 5};
	struct kbn_shape theirs = {.slot = slot};
	struct kbn_launch mine = launch_of(&shape, 0x5000), their = launch_of(&theirs, 0x5000);
	struct kbn_bracket a, b;

	(void)state;
	/* A launch of another thread between our events. */
	assert_int_equal(kbn_time_begin(&thread, &mine, &a), KBN_TIME_BRACKET);
	kbn_time_note_launch(&other, &their);
	assert_true(kbn_time_end(&thread, &mine, &a, CUDA_SUCCESS));
	settle();
	assert_int_equal(slot->starved, 1);
	/* Two brackets that overlap: both. */
	assert_int_equal(kbn_time_begin(&thread, &mine, &a), KBN_TIME_BRACKET);
	assert_int_equal(kbn_time_begin(&other, &their, &b), KBN_TIME_BRACKET);
	assert_true(kbn_time_end(&thread, &mine, &a, CUDA_SUCCESS));
	assert_true(kbn_time_end(&other, &their, &b, CUDA_SUCCESS));
	settle();
	assert_int_equal(slot->starved, 3);
	/* Another stream is none of our business. */
	their.stream = (CUstream)0x6000;
	assert_int_equal(kbn_time_begin(&thread, &mine, &a), KBN_TIME_BRACKET);
	kbn_time_note_launch(&other, &their);
	assert_true(kbn_time_end(&thread, &mine, &a, CUDA_SUCCESS));
	settle();
	assert_int_equal(slot->gated, 1);
}

static void test_failed_launch_gives_the_pair_back(void **state)
{
	struct kbn_launch l = launch_of(&shape, 0x5000);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		shape.skip = shape.sampled = 0;
		do_launch(&l, 0, CUDA_ERROR_INVALID_VALUE);
	}
	assert_int_equal(driver.created, 2 * POOL_FIRST);
	assert_int_equal(slot->bracketed, 0);
	assert_int_equal(kbn_pool_harvest_all(), 0);
	assert_int_equal(*(uint32_t *)(uintptr_t)driver.wait_at, driver.wait_value);
}

static void test_pool_is_bounded(void **state)
{
	unsigned unable = 0;

	(void)state;
	driver.elapsed_result = CUDA_ERROR_NOT_READY;
	for (int i = 0; i < 3 * (int)POOL_PAIRS; i++) {
		shape.skip = shape.sampled = 0;
		kbn_sampler_restart();
		unable += launch_on(0x5000) == KBN_TIME_UNABLE;
	}
	assert_int_equal(driver.created, 2 * POOL_PAIRS);
	assert_int_equal(unable, 2 * POOL_PAIRS);
	assert_int_equal(slot->bracketed, POOL_PAIRS);
	assert_int_equal(resolved(), 0);
	driver.elapsed_result = CUDA_SUCCESS;
	settle();
	assert_int_equal(resolved(), POOL_PAIRS);
	shape.skip = 0;
	assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
}

static void test_context_gone(void **state)
{
	unsigned created;

	(void)state;
	driver.elapsed_result = CUDA_ERROR_NOT_READY;
	for (int i = 0; i < 3; i++)
		launch_on(0x5000);
	kbn_time_context_gone(&context);
	assert_int_equal(slot->lost, 3);
	assert_int_equal(launch_on(0x5000), KBN_TIME_UNABLE);
	assert_int_equal(kbn_pool_harvest_all(), 0);
	created = driver.created;
	/* The next generation of the same handle has events of its own. */
	context.id += 1000;
	atomic_store(&context.timing, NULL);
	driver.elapsed_result = CUDA_SUCCESS;
	shape.skip = 0;
	assert_int_equal(launch_on(0x5000), KBN_TIME_BRACKET);
	assert_int_equal(driver.created, created + 2 * POOL_FIRST);
	kbn_time_context_gone(&context);
	assert_int_equal(slot->gated, 1);
}

static void test_sticky_error_ends_the_context_quietly(void **state)
{
	unsigned calls;

	(void)state;
	for (int i = 0; i < 3; i++)
		launch_on(0x5000);
	driver.elapsed_result = CUDA_ERROR_ILLEGAL_ADDRESS;
	settle();
	assert_int_equal(slot->lost + slot->gated, 3);
	launch_on(0x5000);
	settle();
	calls = driver.elapsed_calls + driver.records;
	assert_true(atomic_load(&context.dead));
	shape.skip = 0;
	assert_int_equal(launch_on(0x5000), KBN_TIME_UNABLE);
	settle();
	assert_int_equal(driver.elapsed_calls + driver.records, calls);
	assert_int_equal(slot->bracketed, resolved());
}

static void test_failing_start_event_leaves_nothing(void **state)
{
	(void)state;
	driver.record_result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	assert_int_equal(launch_on(0x5000), KBN_TIME_UNABLE);
	assert_int_equal(driver.waits, 0);
	/* The one before the gate succeeds, the next does not. */
	shape.skip = 0;
	driver.records_good = driver.records + 1;
	assert_int_equal(launch_on(0x5000), KBN_TIME_UNABLE);
	assert_int_equal(driver.waits, 1);
	assert_int_equal(*(uint32_t *)(uintptr_t)driver.wait_at, driver.wait_value);
	assert_int_equal(slot->bracketed, 0);
	assert_false(atomic_load(&context.dead));
}

struct pace {
	uint64_t launches, sampled, late; /* late: sampled in the second half */
};

/* Launches at full speed for a third of a second. */
static struct pace full_speed(void)
{
	const uint64_t span = 330000000;
	uint64_t begin = kbn_now_ns(), passed;
	struct pace p = {0};

	while ((passed = kbn_now_ns() - begin) < span) {
		if (launch_on(0x5000) == KBN_TIME_BRACKET) {
			p.sampled++;
			p.late += passed > span / 2;
		}
		p.launches++;
	}
	return p;
}

/* With budget to spare the spacing decides: enough samples, and late ones among them. */
static void test_samples_lie_all_over_the_run(void **state)
{
	struct pace p;

	(void)state;
	kbn_settings.budget_ppm = 1000000;
	p = full_speed();
	assert_true(p.launches > 10000);
	/* The second half holds about 64 ln 2 = 44; a stop of the machine may take some. */
	assert_true(p.late > 5);
	assert_true(p.sampled < p.launches / 20);
	settle();
}

/*
 * A budget of 0.01% is 33 us here, and no sample costs less than 0.2 us: beside the 32 that may be
 * borrowed for that is at most 165, where the spacing alone would allow several hundred.
 */
static void test_budget_binds(void **state)
{
	struct pace p;

	(void)state;
	kbn_settings.budget_ppm = 100;
	launch_on(0x5000); /* the recording begins with an empty purse */
	kbn_sampler_pay(0, (uint64_t)kbn_sampler_credit(kbn_now_ns()));
	p = full_speed();
	assert_true(p.launches > 10000);
	assert_in_range(p.sampled, 31, 32 + 165);
	settle();
}

static void test_off_costs_nothing(void **state)
{
	(void)state;
	kbn_settings.timing = KBN_TIMING_OFF;
	for (int i = 0; i < 100; i++)
		assert_int_equal(launch_on(0x5000), KBN_TIME_SKIP);
	assert_int_equal(driver.created + driver.records + driver.mode_calls, 0);
	assert_int_equal(kbn_writer_header()->timing, KBN_TIMING_OFF);
}

static void test_finish_is_bounded(void **state)
{
	uint64_t begin;

	(void)state;
	driver.elapsed_result = CUDA_ERROR_NOT_READY;
	launch_on(0x5000);
	launch_on(0x5000);
	begin = kbn_now_ns();
	assert_int_equal(kbn_drain_finish(begin + 100000000u), 2);
	assert_true(kbn_now_ns() - begin >= 100000000u);
	assert_true(kbn_now_ns() - begin < 2000000000u);
	/* Afterwards nothing is timed. */
	shape.skip = 0;
	assert_int_equal(launch_on(0x5000), KBN_TIME_SKIP);
}

/* The drain thread hangs in the driver: the end does not follow it there. */
static void test_finish_without_the_driver(void **state)
{
	static struct kbn_context second;
	struct kbn_launch l = launch_of(&shape, 0x6000);
	uint64_t begin;

	(void)state;
	memset(&second, 0, sizeof(second));
	second.handle = context.handle;
	second.id = context.id + 1000;
	driver.hang = true;
	launch_on(0x5000);
	kbn_drain_wake();
	for (int i = 0; i < 2000 && !driver.elapsed_calls; i++)
		kbn_sleep_ns(1000000);
	assert_int_equal(driver.elapsed_calls, 1);
	l.context = &second; /* a pool that the drain thread is not in */
	l.ordinal = shape.launches;
	assert_int_equal(do_launch(&l, 0, CUDA_SUCCESS), KBN_TIME_BRACKET);
	begin = kbn_now_ns();
	assert_int_equal(kbn_drain_finish(begin + 100000000u), 2);
	assert_true(kbn_now_ns() - begin < 2000000000u);
	assert_int_equal(driver.elapsed_calls, 1);
	driver.hang = false;
	settle();
}

static void *launch_many(void *arg)
{
	struct kbn_thread *t = arg;
	struct kbn_slot *own;
	struct kbn_shape s = {0};
	uint32_t index;

	own = kbn_slot_new(false, &index);
	s.slot = own;
	while (!atomic_load(&go))
		;
	for (int i = 0; i < 4000; i++) {
		struct kbn_launch l = launch_of(&s, t->id % 2 ? 0x5000 : 0x6000 + t->id);
		struct kbn_bracket b;

		s.skip = s.sampled = 0;
		kbn_sampler_restart();
		if (kbn_time_begin(t, &l, &b) == KBN_TIME_BRACKET)
			own->bracketed += kbn_time_end(t, &l, &b, CUDA_SUCCESS);
		s.launches++;
	}
	return own;
}

static void test_threads_lose_no_pair(void **state)
{
	enum { N = 6 };
	static struct kbn_thread threads[N];
	pthread_t t[N];
	struct kbn_slot *own[N];
	uint64_t all = 0;

	(void)state;
	memset(threads, 0, sizeof(threads));
	atomic_store(&go, false);
	for (uint32_t i = 0; i < N; i++) {
		threads[i].id = i;
		pthread_create(&t[i], NULL, launch_many, &threads[i]);
	}
	atomic_store(&go, true);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], (void **)&own[i]);
	settle();
	for (int i = 0; i < N; i++) {
		all += own[i]->bracketed;
		assert_int_equal(own[i]->bracketed,
				 own[i]->gated + own[i]->plain + own[i]->starved + own[i]->lost);
		assert_int_equal(own[i]->lost, 0);
	}
	assert_true(all >= POOL_PAIRS);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_blocking_call_before_the_first_gate), /* must be the first */
		CASE(test_first_launches_are_sampled_and_gated),
		CASE(test_sketch_begins_with_the_seventh),
		CASE(test_plain_pair_is_published_only_when_tight),
		CASE(test_plain_pair_behind_other_work_is_exact),
		CASE(test_question_that_fails),
		CASE(test_early_opening_behind_other_work),
		CASE(test_gate_behind_other_work_is_plain),
		CASE(test_no_wait_while_the_pool_is_made),
		CASE(test_queued_pair_of_a_contended_stream),
		CASE(test_cluster_is_gated_when_plain_pairs_starve),
		CASE(test_cluster_with_plain_times_is_not_gated),
		CASE(test_deadline_opens_and_ends_gating),
		CASE(test_watcher_is_in_time),
		CASE(test_blocking_call_opens_and_keeps_open),
		CASE(test_first_gates_of_many_threads),
		CASE(test_no_gate_without_support),
		CASE(test_legacy_stream_is_gated_only_alone),
		CASE(test_pdl_ends_events_on_a_stream),
		CASE(test_ptsz_uses_its_own_calls),
		CASE(test_contended_stream),
		CASE(test_failed_launch_gives_the_pair_back),
		CASE(test_pool_is_bounded),
		CASE(test_context_gone),
		CASE(test_sticky_error_ends_the_context_quietly),
		CASE(test_failing_start_event_leaves_nothing),
		CASE(test_samples_lie_all_over_the_run),
		CASE(test_budget_binds),
		CASE(test_off_costs_nothing),
		CASE(test_finish_is_bounded),
		CASE(test_finish_without_the_driver),
		CASE(test_threads_lose_no_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
