/*
 * sys.c - clock, sleep, futex and thread start for the shim; see sys.h. All keep errno.
 */
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"

/* The driver runs on our stack, and static TLS of the program's libraries is taken from it. */
#define STACK_BYTES (256u << 10)

uint64_t kbn_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void kbn_sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	int saved = errno;

	syscall(SYS_nanosleep, &t, NULL);
	errno = saved;
}

void kbn_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL, NULL, 0);
	errno = saved;
}

void kbn_futex_wake(_Atomic uint32_t *word, uint32_t value)
{
	int saved = errno;

	atomic_store(word, value);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

int kbn_fd_open(const char *path, int flags)
{
	int fd;

	do {
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

int kbn_fd_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

ssize_t kbn_fd_read(int fd, void *to, size_t bytes)
{
	size_t used = 0;

	while (used < bytes) {
		const ssize_t n =
			syscall(SYS_pread64, fd, (char *)to + used, bytes - used, (off_t)used);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			used += (size_t)n;
	}
	return (ssize_t)used;
}

ssize_t kbn_fd_write(int fd, const void *data, size_t bytes)
{
	return syscall(SYS_write, fd, data, bytes);
}

void *kbn_fd_map(int fd, void *at, size_t bytes, size_t offset)
{
	const long got = syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | (at ? MAP_FIXED : 0), fd, (off_t)offset);

	return got == -1 ? NULL : (void *)got;
}

void *kbn_map_memory(size_t bytes, int protection)
{
	/* What nobody may touch yet is a reservation, not a demand. */
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (protection == PROT_NONE ? MAP_NORESERVE : 0);
	void *at;

	if (kbn_fault(KBN_FAULT_ALLOC))
		return NULL;
	at = mmap(NULL, bytes, protection, flags, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void signal_fault(void)
{
	if (kbn_fault(KBN_FAULT_SIGNAL))
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
}

int kbn_thread_start(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int saved = errno, result = -1;

	signal_fault();
	if (kbn_fault(KBN_FAULT_ALLOC) || pthread_attr_init(&attr) != 0)
		return -1;
	sigfillset(&all);
	if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
	    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
	    pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
		result = pthread_create(&thread, &attr, run, NULL) == 0 ? 0 : -1;
		signal_fault(); /* let in by the next line */
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	errno = saved;
	return result;
}

void kbn_thread_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

void kbn_thread_exact_timers(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}
