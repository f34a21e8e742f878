/*
 * sys.h - clock, sleep, futex and the shim's own threads: thin wrappers over plain system calls, so
 * that nothing here depends on what the program does to its C library, and no thread of the program is
 * cancelled in a call that is no cancellation point without us.
 */
#ifndef KBN_SHIM_SYS_H
#define KBN_SHIM_SYS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t kbn_clock_ns(void);

void kbn_sleep_ns(uint64_t ns);

/* Wait while *word == value, at most `ns` (0 = for ever). May return early. */
void kbn_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);

/* Set *word = value and wake all that wait on it. */
void kbn_futex_wake(_Atomic uint32_t *word, uint32_t value);

/*
 * Descriptors. Close-on-exec, mode 0600; -1 with errno. Interposers, and the program's sanitizer, believe
 * in one table per process, and our numbers are none of theirs.
 */
int kbn_fd_open(const char *path, int flags);
int kbn_fd_close(int fd);

/* From the file's front, until `bytes` or its end: how many there were. */
ssize_t kbn_fd_read(int fd, void *to, size_t bytes);

/* Written, at most; once. */
ssize_t kbn_fd_write(int fd, const void *data, size_t bytes);

/* Shared, readable and writable, in place of what is at `at` unless that is NULL; NULL when refused. */
void *kbn_fd_map(int fd, void *at, size_t bytes, size_t offset);

/* Anonymous private memory, zeroed; `protection` as for mmap. NULL when none. */
void *kbn_map_memory(size_t bytes, int protection);

/* A detached thread with all signals blocked, so that no handler of the program runs on it. 0 or -1. */
int kbn_thread_start(void *(*run)(void *));

/* Of the calling thread, one of ours: its name, and sleeps that end when they are asked to end. */
void kbn_thread_name(const char *name);
void kbn_thread_exact_timers(void);

#endif
