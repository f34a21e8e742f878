/*
 * state.c - whether this process records, since when, and the states of its launching threads.
 *
 * Everything begins at the first successful cuInit. A forked child finds the live word wiped by the
 * kernel and does nothing until its own cuInit succeeds, which begins another recording. No
 * fork handlers, no signal handlers, nothing in a constructor.
 */
#include "state.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exit.h"
#include "filer.h"
#include "graph.h"
#include "hook.h"
#include "launch.h"
#include "log.h"
#include "process.h"
#include "registry.h"
#include "resolve.h"
#include "settings.h"
#include "sys.h"
#include "writer.h"

/* linux/membarrier.h, Linux 4.14; older headers lack them */
#define MEMBARRIER_PRIVATE_EXPEDITED          8
#define MEMBARRIER_REGISTER_PRIVATE_EXPEDITED 16

#define QUIET_STEP_NS 200000u /* the end looks at launching threads this often, */
#define QUIET_WAITS   100u    /* and not more often than that: 20 ms */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14; older headers lack it */
#endif

__thread struct kbn_tls kbn_tls;

static const uint32_t never; /* what kbn_live points at before there is a page */
KBN_HOT const volatile uint32_t *kbn_live = &never;

static _Atomic(uint32_t *) live_page;
static uint32_t live_word; /* what it holds while recording */
static pid_t owner;        /* process that the recording belongs to */
static uint64_t start_ns;  /* CLOCK_MONOTONIC at the start of the recording */
KBN_HOT uint32_t kbn_epoch;

/* ------------------------------------------------------------------------------------ live word */

static bool live_open(void)
{
	uint32_t *page = atomic_load(&live_page);

	if (page)
		return true; /* a child that begins its own recording uses the wiped page again */
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	live_word = madvise(page, 4096, MADV_WIPEONFORK) ? KBN_LIVE_BY_PID : KBN_LIVE;
	atomic_store(&live_page, page);
	return true;
}

static void live_set(uint32_t value)
{
	uint32_t *page = atomic_load(&live_page);

	if (!page)
		return;
	__atomic_store_n(page, value, __ATOMIC_RELEASE);
	__atomic_store_n(&kbn_live, page, __ATOMIC_RELEASE);
}

bool kbn_recording_by_pid(void)
{
	return getpid() == owner;
}

uint64_t kbn_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - start_ns;
}

void kbn_off(const char *why)
{
	static _Atomic uint32_t said; /* kbn_epoch + 1 that has been told */
	const int saved_errno = errno;

	if (kbn_recording() && atomic_exchange(&said, kbn_epoch + 1) != kbn_epoch + 1) {
		live_set(0);
		kbn_log_note(KBN_NOTE_OFF, 0, why);
		kbn_writer_seal(KBN_STOPPED, NULL);
		kbn_say("recording off: ", why);
	}
	errno = saved_errno;
}

/* ----------------------------------------------------------------------------- recursion guard */

/* More than one driver call, or an interposer around it, makes of calls that are hooked. */
#define PASSED_MAX 32u

/*
 * Nothing is known of the memory at a guard that may be void: the stack it was on can be gone. The
 * system call reads eight bytes of it, or fails, and then refuses to do anything.
 */
static bool is_readable(uintptr_t at)
{
	const int saved_errno = errno;
	const bool readable = syscall(SYS_rt_sigprocmask, -1, at & ~(uintptr_t)7, NULL, 8) == 0 ||
			      errno != EFAULT;

	errno = saved_errno;
	return readable;
}

__attribute__((no_sanitize("address", "thread"))) bool kbn_guard_holds(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t at = kbn_tls.frame + sizeof(uintptr_t);

	return (here / 4096 == at / 4096 || is_readable(at)) &&
	       *(const uintptr_t *)at == kbn_tls.caller;
}

/*
 * The guard is void: launches that passed under it were not part of another call, and the launch that
 * it stands for, seen already, has no outcome.
 */
static void guard_abandoned(void)
{
	const struct kbn_passed passed = kbn_tls.passed;
	struct kbn_thread *t;

	if (!kbn_tls.frame)
		return;
	kbn_tls.frame = 0;
	if (passed.launches + passed.own == 0 || !kbn_recording())
		return;
	t = kbn_self();
	for (uint32_t i = 0; i < passed.launches; i++)
		KBN_COUNT(t, seen);
	for (uint32_t i = 0; i < (uint32_t)passed.launches + passed.own; i++)
		KBN_COUNT(t, dropped);
}

bool kbn_enter_again(uintptr_t frame)
{
	if (frame < kbn_tls.frame && kbn_tls.passed.calls < PASSED_MAX && kbn_guard_holds()) {
		kbn_tls.passed.calls++;
		return false;
	}
	guard_abandoned();
	return true;
}

/* ---------------------------------------------------------------------------------- thread states */

#define ABANDONED_LOOKS 4

static _Atomic(struct kbn_thread *) threads;   /* all that were ever made, newest first */
static _Atomic(struct kbn_thread *) next_look; /* for abandoned ones */
static _Atomic uint32_t thread_count;
static pthread_key_t thread_key;
static bool has_thread_key;

/* End of a launching thread. Only marks: the driver may be gone, and so may other libraries. */
static void thread_ended(void *state)
{
	struct kbn_thread *t = state;

	guard_abandoned();
	kbn_tls.self = NULL;
	kbn_tls.epoch = 0;
	__atomic_store_n(&t->owner, 0, __ATOMIC_RELEASE);
}

static bool thread_take(struct kbn_thread *t, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&t->owner, &from, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static struct kbn_thread *thread_take_free(uint32_t tid)
{
	for (struct kbn_thread *t = atomic_load(&threads); t; t = t->next)
		if (thread_take(t, 0, tid))
			return t;
	return NULL;
}

static bool has_ended(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

/*
 * A thread that launches from late destructors, or that could have none of ours, ends without a word.
 * A few states are looked at for each one that would be made, so those left behind stay few.
 */
static struct kbn_thread *thread_take_abandoned(uint32_t tid)
{
	struct kbn_thread *t = atomic_load(&next_look);

	for (int i = 0; i < ABANDONED_LOOKS; i++, t = t->next) {
		uint32_t last;

		if (!t)
			t = atomic_load(&threads);
		if (!t)
			return NULL;
		last = __atomic_load_n(&t->owner, __ATOMIC_RELAXED);
		/* Signal 0 only asks. Our own id: this thread has no state, so that owner is gone. */
		if (last && (last == tid || has_ended(last)) && thread_take(t, last, tid))
			return t;
	}
	atomic_store(&next_look, t);
	return NULL;
}

static struct kbn_thread *thread_make(uint32_t tid)
{
	struct kbn_thread *t = kbn_alloc_lines(sizeof(*t));
	uint32_t index;

	if (!t)
		return NULL;
	t->id = atomic_fetch_add(&thread_count, 1);
	t->owner = tid;
	t->random = t->id * 2654435761u + 1;
	t->counts = (struct kbn_thread_slot *)kbn_slot_new(true, &index);
	if (t->counts) {
		t->counts->thread = t->id;
		__atomic_store_n(&t->counts->kind, KBN_SLOT_THREAD, __ATOMIC_RELEASE);
	}
	t->next = atomic_load(&threads);
	while (!atomic_compare_exchange_weak(&threads, &t->next, t))
		;
	return t;
}

struct kbn_thread *kbn_thread_begin(void)
{
	const int saved_errno = errno;
	const uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct kbn_thread *t = thread_take_free(tid);

	if (!t)
		t = thread_take_abandoned(tid);
	if (!t)
		t = thread_make(tid);
	if (t) {
		t->registry_generation = 0; /* none: forgets the handles */
		if (t->counts)
			t->counts->tid = tid;
		if (has_thread_key)
			pthread_setspecific(thread_key, t);
		kbn_tls.self = t;
		kbn_tls.epoch = kbn_epoch;
	}
	errno = saved_errno;
	return t;
}

/* ---------------------------------------------------------------------------------------- start */

/* What is inherited from a parent that recorded belongs to the parent: never touched, never freed. */
static void forget_parent(void)
{
	atomic_store(&threads, NULL);
	atomic_store(&next_look, NULL);
	atomic_store(&thread_count, 0);
	kbn_registry_reset();
	kbn_graphs_reset();
}

#define OPEN_NS 10000000000u /* a start that takes longer is none */

/* All that the start does with files. */
static struct opening {
	struct kbn_job job;
	char out[1024];
	const char *why;
	bool open;
	_Atomic bool abandoned;
} opening;

static void open_files(struct kbn_job *job)
{
	(void)job;
	opening.open = kbn_writer_open(opening.out, kbn_settings.slot_cap, &opening.why) == 0;
	if (opening.open)
		kbn_process_read();
	if (atomic_load(&opening.abandoned))
		kbn_writer_seal(KBN_STOPPED, NULL);
}

/*
 * The thread for it ends with it: a program that goes no further than cuInit keeps as many threads as
 * it has without us, and may fork, or leave a namespace, as one with a single thread may.
 */
static void open_recording(void)
{
	struct kbn_slots_header *h;

	/* First: with a second thread, ours, the kernel would take 10 ms for it. */
	syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	memset(&opening, 0, sizeof(opening));
	opening.job.run = open_files;
	kbn_expand_out(kbn_settings.text[KBN_ENV_OUT], opening.out, sizeof(opening.out));
	if (!kbn_filer_once(&opening.job, OPEN_NS)) {
		atomic_store(&opening.abandoned, true);
		kbn_say("nothing is recorded: ", "the file system does not answer");
		return;
	}
	if (!opening.open) {
		kbn_say("nothing is recorded: ", opening.why);
		return;
	}
	h = kbn_writer_header();
	h->budget_ppm = kbn_settings.budget_ppm;
	h->timing = kbn_settings.timing;
	start_ns = h->file.start_mono_ns;
	kbn_epoch++;
	if (!has_thread_key)
		has_thread_key = !pthread_key_create(&thread_key, thread_ended);
	kbn_process_record();
	live_set(live_word);
	kbn_resolve_tell();
}

/*
 * After the recording has ended: until no thread is in the part of a launch where it may still call
 * the driver for us. The order of its mark and its look at the recording is made here, by a barrier
 * on every processor, so that a launch need not pay for one. Bounded: the mark of a thread that was
 * stopped or cancelled there stays.
 */
static void wait_for_launches(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) != 0)
		kbn_sleep_ns(QUIET_STEP_NS * 10);
	for (uint32_t waits = 0; waits < QUIET_WAITS; waits++) {
		struct kbn_thread *t = atomic_load(&threads);

		while (t && !(__atomic_load_n(&t->owner, __ATOMIC_RELAXED) &&
			      __atomic_load_n(&t->busy, __ATOMIC_ACQUIRE)))
			t = t->next;
		if (!t)
			return;
		kbn_sleep_ns(QUIET_STEP_NS);
	}
}

/*
 * Handlers that the program registered before cuInit run after this one and may launch; the driver
 * has ended by then, so nothing of ours may call it any more.
 */
static void at_exit(void)
{
	if (getpid() != owner)
		return; /* also a vfork child that calls exit(), in its parent's memory */
	guard_abandoned();
	kbn_exit_handler();
	if (kbn_recording()) {
		live_set(0);
		wait_for_launches();
	}
}

static void start(pid_t pid)
{
	static bool has_exit_handler; /* inherited by a child, like the handler itself */

	if (owner && owner != pid)
		forget_parent();
	owner = pid;
	if (!kbn_is_first())
		return;
	kbn_settings_read();
	if (!kbn_settings_wanted() || !kbn_ready() || !live_open())
		return;
	if (!pthread_create) { /* compat.h: glibc before 2.34, libpthread came only with libcuda */
		kbn_say("not recording: ", "libpthread was not loaded when the program started");
		return;
	}
	open_recording();
	/* Handlers run in reverse order: after the driver's own registration is before its end. */
	if (kbn_recording() && !has_exit_handler)
		has_exit_handler = !atexit(at_exit);
}

/*
 * The launches of a thread whose cuInit returns count, so it must not return before recording has
 * begun, if another thread is the one that begins it. Bounded: a wait without end could be a
 * deadlock that the program would not have without us. In vain once only: who began may have left by
 * longjmp.
 */
static void wait_for_other(_Atomic uint64_t *phase, uint64_t starting, uint64_t done)
{
	for (int i = 0; i < 20000 && atomic_load(phase) == starting; i++)
		kbn_sleep_ns(50000);
	atomic_compare_exchange_strong(phase, &starting, done);
}

void kbn_start(void)
{
	static _Atomic uint64_t phase; /* pid << 2 | 1 starting, 2 done */
	const int saved_errno = errno;
	const pid_t pid = getpid();
	const uint64_t starting = (uint64_t)pid << 2 | 1, done = (uint64_t)pid << 2 | 2;
	uint64_t now = atomic_load(&phase);

	if (now == done)
		return;
	if (now != starting && atomic_compare_exchange_strong(&phase, &now, starting)) {
		start(pid);
		atomic_store(&phase, done);
	} else {
		wait_for_other(&phase, starting, done);
	}
	errno = saved_errno;
}
