/*
 * gate.c - who opens a shut gate, and when. Input: shut and open calls of launching threads. Output:
 * words of pinned memory that only grow. Makes no driver call: the watcher must run while a launch
 * hangs in the driver behind our own gate, with any lock of the driver held.
 */
#include "gate.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "sys.h"
#include "timing.h"
#include "writer.h"

#define POLL_NS 40000u /* watcher's look at shut gates */
#define IDLE_NS \
	200000u /* without a gate for so long it sleeps until woken: a burst of samples finds it awake */

/* `since`: 0 = open, else the time it was shut, or how it was opened before its thread came. */
#define OPENED_DEADLINE 1u
#define OPENED_BLOCKED  2u

/* The gate of one thread: a thread is in one launch at a time. */
struct gate {
	_Atomic uint64_t since;
	_Atomic(uint32_t *) word;
	_Atomic uint32_t value;
	uint8_t pad[44];
};
_Static_assert(sizeof(struct gate) == 64, "a cache line each");

static struct gate gates[KBN_GATE_THREADS];
static _Atomic uint32_t ids;      /* gates[0 .. ids) have been used */
static _Atomic uint32_t shut;     /* how many are shut */
static _Atomic uint32_t touching; /* threads that may be writing a word of another thread */
static _Atomic uint32_t blocked;  /* threads inside a blocking call */
static _Atomic uint64_t last_use;
static _Atomic uint32_t asleep; /* futex: the watcher waits while it is 1 */
static _Atomic bool stopped;
/* Recordings whose watcher was asked for, runs, could not be had. */
static _Atomic uint32_t asked_epoch, started_epoch, failed_epoch;

/* Words only grow: a late opener must not shut what was opened for a later launch. */
static void word_raise(uint32_t *word, uint32_t value)
{
	uint32_t now = __atomic_load_n(word, __ATOMIC_RELAXED);

	while ((int32_t)(value - now) > 0 &&
	       !__atomic_compare_exchange_n(word, &now, value, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Open every gate that has been shut for `least` ns or longer. */
static void open_others(uint64_t least, uint64_t how)
{
	uint32_t n = atomic_load(&ids);

	atomic_fetch_add(&touching, 1);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t since = atomic_load(&gates[i].since);
		uint32_t *word = atomic_load(&gates[i].word);
		uint32_t value = atomic_load(&gates[i].value);

		if (since <= OPENED_BLOCKED || kbn_clock_ns() - since < least)
			continue;
		if (atomic_compare_exchange_strong(&gates[i].since, &since, how)) {
			word_raise(word, value);
			atomic_fetch_sub(&shut, 1);
		}
	}
	atomic_fetch_sub(&touching, 1);
}

/* A gate that is shut counts before any time: the watcher may get its turn very late. */
static bool is_idle(void)
{
	return !atomic_load(&shut) && kbn_clock_ns() - atomic_load(&last_use) >= IDLE_NS;
}

static void *watch(void *unused)
{
	(void)unused;
	kbn_thread_name("kbn-gate");
	kbn_thread_exact_timers();
	while (!atomic_load(&stopped)) {
		if (!is_idle()) {
			if (atomic_load(&shut))
				open_others(KBN_GATE_NS, OPENED_DEADLINE);
			kbn_sleep_ns(POLL_NS);
			continue;
		}
		atomic_store(&asleep, 1);
		if (is_idle())
			kbn_futex_wait(&asleep, 1, 0);
		atomic_store(&asleep, 0);
	}
	return NULL;
}

/*
 * A forked child begins with all gates open and no watcher. In the first recording threads may be
 * inside blocking calls already, and stay counted.
 */
static void start(uint32_t epoch, bool is_first)
{
	for (uint32_t i = 0; i < KBN_GATE_THREADS; i++)
		atomic_store(&gates[i].since, 0);
	atomic_store(&ids, 0);
	atomic_store(&shut, 0);
	atomic_store(&touching, 0);
	if (!is_first)
		atomic_store(&blocked, 0);
	atomic_store(&asleep, 0);
	atomic_store(&stopped, false);
	if (kbn_thread_start(watch) < 0)
		atomic_store(&failed_epoch, epoch);
}

/* While one thread starts the watcher, the others go without a gate: what they shut would be lost. */
bool kbn_gate_ready(void)
{
	uint32_t epoch = kbn_writer_epoch();
	uint32_t seen = atomic_load(&asked_epoch);

	if (seen != epoch && atomic_compare_exchange_strong(&asked_epoch, &seen, epoch)) {
		start(epoch, seen == 0);
		atomic_store(&started_epoch, epoch);
	}
	return atomic_load(&started_epoch) == epoch && atomic_load(&failed_epoch) != epoch &&
	       !atomic_load(&stopped);
}

bool kbn_gate_shut(uint32_t thread, uint32_t *word, uint32_t value)
{
	struct gate *g = &gates[thread];
	uint32_t n = atomic_load(&ids);
	uint64_t now = kbn_clock_ns();

	while (n <= thread && !atomic_compare_exchange_weak(&ids, &n, thread + 1))
		;
	atomic_store(&g->word, word);
	atomic_store(&g->value, value);
	atomic_fetch_add(&shut, 1);
	atomic_store(&last_use, now);
	atomic_store(&g->since, now);
	/* Shut first, then look: whoever enters a blocking call counts first, then looks at the gates. */
	if (atomic_load(&blocked) || atomic_load(&stopped)) {
		kbn_gate_open(thread);
		return false;
	}
	if (atomic_load(&asleep))
		kbn_futex_wake(&asleep, 0);
	return true;
}

enum kbn_gate_end kbn_gate_open(uint32_t thread)
{
	struct gate *g = &gates[thread];
	uint64_t since = atomic_exchange(&g->since, 0);

	word_raise(atomic_load(&g->word), atomic_load(&g->value));
	if (since == OPENED_BLOCKED)
		return KBN_GATE_BLOCKED;
	if (since == OPENED_DEADLINE)
		return KBN_GATE_DEADLINE;
	atomic_fetch_sub(&shut, 1);
	/* Too long is too long, also when the watcher did not get its turn in time. */
	return kbn_clock_ns() - since >= KBN_GATE_NS ? KBN_GATE_DEADLINE : KBN_GATE_HELD;
}

void kbn_time_block_enter(void)
{
	atomic_fetch_add(&blocked, 1);
	if (atomic_load(&shut))
		open_others(0, OPENED_BLOCKED);
}

void kbn_time_block_leave(void)
{
	uint32_t n = atomic_load(&blocked);

	while (n && !atomic_compare_exchange_weak(&blocked, &n, n - 1))
		;
}

void kbn_gate_forget(const void *words, size_t bytes)
{
	const char *from = words;
	uint64_t give_up = kbn_clock_ns() + 100000000u;
	uint32_t n = atomic_load(&ids);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t since = atomic_load(&gates[i].since);
		const char *word = (const char *)atomic_load(&gates[i].word);

		if (since > OPENED_BLOCKED && word >= from && word < from + bytes &&
		    atomic_compare_exchange_strong(&gates[i].since, &since, OPENED_BLOCKED)) {
			word_raise(atomic_load(&gates[i].word), atomic_load(&gates[i].value));
			atomic_fetch_sub(&shut, 1);
		}
	}
	while (atomic_load(&touching) && kbn_clock_ns() < give_up)
		kbn_sleep_ns(POLL_NS);
}

void kbn_gate_stop(void)
{
	atomic_store(&stopped, true);
	open_others(0, OPENED_BLOCKED);
	kbn_futex_wake(&asleep, 0);
}
