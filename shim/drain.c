/*
 * drain.c - the one background thread that calls the driver: reads finished event pairs, keeps the
 * heartbeat. Also the end of the recording, when the exiting thread takes over what the drain thread
 * leaves. Input: pool.c's pairs. It touches no file, never synchronises and is never joined.
 */
#include "timing.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "gate.h"
#include "pool.h"
#include "state.h"
#include "sys.h"
#include "writer.h"

#define BUSY_NS         10000000u  /* between two looks while pairs are open */
#define IDLE_NS         200000000u /* else: the heartbeat */
#define FINISH_NS       200000u    /* between two looks at the end */
#define KEEP_WAIT_STEPS 500 /* of FINISH_NS; a loader lock that is held longer is held for good */
#define LEAVE_NS        20000000u /* the thread gives up so long before the exit goes on without it */

static _Atomic uint32_t started_epoch; /* recording whose drain thread has been started */
static _Atomic pid_t owner;            /* process that it belongs to */
static _Atomic uint32_t running;       /* 1 from the start until the thread has ended */
static _Atomic uint32_t sleeping;      /* futex: the thread waits while it is 1 */
static _Atomic bool stopping;
static _Atomic uint64_t finish_ns; /* kbn_now_ns clock; then the thread gives up */

/* Read until nothing is left or the time is up. */
static void finish(uint64_t deadline_ns)
{
	while (kbn_pool_harvest_all() && kbn_now_ns() < deadline_ns)
		kbn_sleep_ns(FINISH_NS);
}

static void *drain(void *unused)
{
	(void)unused;
	kbn_thread_name("kbn-drain");
	while (!atomic_load(&stopping)) {
		uint32_t unread;

		__atomic_store_n(&kbn_writer_header()->heartbeat_ns, kbn_now_ns(),
				 __ATOMIC_RELAXED);
		atomic_store(&sleeping, 1);
		unread = kbn_pool_harvest_all();
		if (!atomic_load(&stopping))
			kbn_futex_wait(&sleeping, 1, unread ? BUSY_NS : IDLE_NS);
		atomic_store(&sleeping, 0);
	}
	finish(atomic_load(&finish_ns));
	kbn_futex_wake(&running, 0);
	return NULL;
}

enum keep { KEEP_NONE, KEEP_WAITS, KEEP_RUNS, KEEP_DONE };

static _Atomic uint32_t keeping;

/*
 * Keeps the driver's code mapped should the program close its handle; never closed again. In a thread
 * of its own: the loader's lock may be held for long, by a constructor that waits for the very thread
 * that started us, and a look-up would change the dlerror text of that thread.
 */
static void *keep_driver(void *unused)
{
	uint32_t waits = KEEP_WAITS;

	(void)unused;
	kbn_thread_name("kbn-keep");
	if (atomic_compare_exchange_strong(&keeping, &waits, KEEP_RUNS)) {
		dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		atomic_store(&keeping, KEEP_DONE);
	}
	return NULL;
}

/*
 * Not after the exit handlers: the loader has run the driver's destructors then, and would run its
 * constructors again for this dlopen.
 */
static void keep_end(void)
{
	uint32_t waits = KEEP_WAITS;

	if (atomic_compare_exchange_strong(&keeping, &waits, KEEP_DONE))
		return;
	for (int i = 0; i < KEEP_WAIT_STEPS && atomic_load(&keeping) == KEEP_RUNS; i++)
		kbn_sleep_ns(FINISH_NS);
}

void kbn_drain_start(void)
{
	uint32_t epoch = kbn_writer_epoch();
	uint32_t seen = atomic_load(&started_epoch);

	if (seen == epoch || !atomic_compare_exchange_strong(&started_epoch, &seen, epoch))
		return;
	if (seen) /* a forked child with a recording of its own */
		kbn_time_restart();
	atomic_store(&owner, getpid());
	atomic_store(&sleeping, 0);
	atomic_store(&stopping, false);
	atomic_store(&running, 1);
	if (kbn_thread_start(drain) < 0) {
		atomic_store(&running, 0);
		kbn_time_stop("no thread could be started");
	} else {
		atomic_store(&keeping, KEEP_WAITS);
		kbn_thread_start(keep_driver);
	}
}

void kbn_drain_wake(void)
{
	if (atomic_load(&sleeping))
		kbn_futex_wake(&sleeping, 0);
}

uint32_t kbn_drain_finish(uint64_t deadline_ns)
{
	uint64_t now;

	if (!atomic_load(&started_epoch) || getpid() != atomic_load(&owner))
		return 0; /* nothing was launched here */
	keep_end();
	kbn_time_stop(NULL);
	kbn_gate_stop();
	/* Behind the deadline lies the end of the driver: no call of ours may slip past it. */
	atomic_store(&finish_ns, deadline_ns > LEAVE_NS ? deadline_ns - LEAVE_NS : 0);
	atomic_store(&stopping, true);
	kbn_futex_wake(&sleeping, 0);
	/* A thread that hangs in the driver must not hold up the exit. */
	while (atomic_load(&running) && (now = kbn_now_ns()) < deadline_ns)
		kbn_futex_wait(&running, 1, deadline_ns - now);
	if (atomic_load(&running))
		return kbn_pool_unread(); /* no call into a driver that may not return */
	finish(deadline_ns);
	return kbn_pool_unread();
}
