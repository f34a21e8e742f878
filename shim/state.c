/*
 * state.c - whether this process records, since when, and the states of its launching threads.
 *
 * Everything begins at the first successful cuInit. A forked child finds the live word wiped by the
 * kernel and does nothing until its own cuInit succeeds, which begins another recording. No
 * fork handlers, no signal handlers, nothing in a constructor.
 */
#include "state.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exit.h"
#include "graph.h"
#include "hook.h"
#include "log.h"
#include "process.h"
#include "registry.h"
#include "resolve.h"
#include "settings.h"
#include "writer.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14; older headers lack it */
#endif

__thread struct kbn_tls kbn_tls;

static const uint32_t never; /* what kbn_live points at before there is a page */
const volatile uint32_t *kbn_live = &never;

static _Atomic(uint32_t *) live_page;
static uint32_t live_word; /* what it holds while recording */
static pid_t owner;        /* process that the recording belongs to */
static uint64_t start_ns;  /* CLOCK_MONOTONIC at the start of the recording */
uint32_t kbn_epoch;

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

/* ---------------------------------------------------------------------------------- thread states */

static _Atomic(struct kbn_thread *) threads; /* all that were ever made, newest first */
static _Atomic uint32_t thread_count;
static pthread_key_t thread_key;
static bool has_thread_key;

/* End of a launching thread. Only marks: the driver may be gone, and so may other libraries. */
static void thread_ended(void *state)
{
	struct kbn_thread *t = state;

	kbn_tls.self = NULL;
	kbn_tls.epoch = 0;
	__atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
}

static struct kbn_thread *thread_take_free(void)
{
	for (struct kbn_thread *t = atomic_load(&threads); t; t = t->next) {
		uint32_t is_free = 0;

		if (__atomic_compare_exchange_n(&t->in_use, &is_free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return t;
	}
	return NULL;
}

static struct kbn_thread *thread_make(void)
{
	struct kbn_thread *t = kbn_alloc(sizeof(*t));
	uint32_t index;

	if (!t)
		return NULL;
	t->id = atomic_fetch_add(&thread_count, 1);
	t->in_use = 1;
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
	struct kbn_thread *t = thread_take_free();

	if (!t)
		t = thread_make();
	if (t) {
		t->registry_generation = 0; /* none: forgets the handles */
		if (t->counts)
			t->counts->tid = (uint32_t)syscall(SYS_gettid);
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
	atomic_store(&thread_count, 0);
	kbn_registry_reset();
	kbn_graphs_reset();
}

static void open_recording(void)
{
	char out[1024];
	const char *why = "no reason given";
	struct kbn_slots_header *h;

	kbn_expand_out(kbn_settings.text[KBN_ENV_OUT], out, sizeof(out));
	if (kbn_writer_open(out, kbn_settings.slot_cap, &why)) {
		kbn_say("nothing is recorded: ", why);
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
	/* Keeps the driver's code mapped should the program close its handle. Never closed. */
	dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	live_set(live_word);
	kbn_resolve_tell();
}

/*
 * Handlers that the program registered before cuInit run after this one and may launch; the driver
 * has ended by then, so nothing of ours may call it any more.
 */
static void at_exit(void)
{
	kbn_exit_handler();
	if (kbn_recording())
		live_set(0);
}

static void start(pid_t pid)
{
	static bool has_exit_handler; /* inherited by a child, like the handler itself */

	if (owner && owner != pid)
		forget_parent();
	owner = pid;
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
 * deadlock that the program would not have without us.
 */
static void wait_for_other(_Atomic uint64_t *phase, uint64_t starting)
{
	for (int i = 0; i < 20000 && atomic_load(phase) == starting; i++)
		nanosleep(&(struct timespec){0, 50000}, NULL);
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
		wait_for_other(&phase, starting);
	}
	errno = saved_errno;
}
