/*
 * filer.h - the one thread that touches files, `kbn-files`. It has a descriptor table of its own, so
 * that no number of the program's table is ever taken by us, and nothing of ours is there to be seen,
 * closed or inherited. It makes no driver call: the driver opens files for the program.
 */
#ifndef KBN_SHIM_FILER_H
#define KBN_SHIM_FILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Something to be done with files. It stands in memory that outlives every wait, never on a stack: a
 * thread that stopped waiting, or left by longjmp, leaves the job behind. Zeroed but for `run`.
 */
struct kbn_job {
	void (*run)(struct kbn_job *job);
	/* filer.c's */
	struct kbn_job *next;
	_Atomic uint32_t busy; /* futex: 1 from the request until it is done */
};

/*
 * Have the job done and wait, at most `wait_ns`. A job that is on its way already is waited for, not
 * done twice. False when it is not done in time: it will be done later. After that nobody waits until
 * the thread has finished something: a file system that hangs costs one wait. The thread is made by the
 * first request of a recording; where none could be made the caller does the job. Keeps errno.
 */
bool kbn_filer_do(struct kbn_job *job, uint64_t wait_ns);

/* The same without waiting; nothing happens when there is no thread. */
void kbn_filer_post(struct kbn_job *job);

/* The same as the first in a thread that ends with the job, for the start of a recording. */
bool kbn_filer_once(struct kbn_job *job, uint64_t wait_ns);

/* There are images to store. False when there is no thread. */
bool kbn_filer_wake(void);

/* The caller is that thread. */
bool kbn_filer_is_here(void);

/* From a long job of the thread itself: do what others wait for. Elsewhere nothing. */
void kbn_filer_yield(void);

/*
 * The whole file, *bytes long, in memory to be given back by munmap(); read, not mapped: a file that
 * shrinks meanwhile would be SIGBUS. NULL when it cannot be read, is empty, or longer than `most`.
 */
void *kbn_filer_read(const char *path, size_t most, size_t *bytes);

#endif
