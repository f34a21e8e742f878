/*
 * spawn.c - see spawn.h. Two processes are made. The outer one is a child with exit signal 0, which
 * plain wait() does not see; it stays, because exec would give its exit signal back to SIGCHLD. It
 * makes the inner one, which becomes the program. Both share the host's memory until then, so they
 * use system calls only, on a stack of their own, with all signals blocked.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "sys.h"

#define STACK_BYTES  (32u << 10) /* of each of the two */
#define SIGSET_BYTES 8u
#define POLL_NS      2000000u

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct job {
	const char *path;
	char *const *argv;
	char *const *envp;
	uint64_t mask; /* of the host's thread */
	pid_t host;
	char *inner_stack;
	bool has_stderr;
	_Atomic bool leave; /* the host waits no longer */
};

/* Layout of the kernel's struct on all 64-bit machines up to the field we read. */
struct kernel_action {
	void *handler;
	unsigned long rest[3];
};

/* exec keeps ignored signals ignored; handlers must be gone before signals are let through. */
static void reset_signals(const struct job *j)
{
	struct kernel_action now, none = {NULL, {0}};

	for (long s = 1; s <= 64; s++)
		if (syscall(SYS_rt_sigaction, s, NULL, &now, SIGSET_BYTES) == 0 &&
		    now.handler != (void *)SIG_IGN)
			syscall(SYS_rt_sigaction, s, &none, NULL, SIGSET_BYTES);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &j->mask, NULL, SIGSET_BYTES);
}

static void close_from(unsigned first)
{
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	for (unsigned fd = first; fd < 1024; fd++)
		syscall(SYS_close, fd);
}

static int inner(void *arg)
{
	const struct job *j = arg;
	long null;

	null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (!j->has_stderr && null >= 0 && null != 2)
		syscall(SYS_dup3, null, 2, 0);
	if (null > 0)
		syscall(SYS_dup3, null, 0, 0);
	syscall(SYS_dup3, 2, 1, 0);
	close_from(3);
	reset_signals(j);
	syscall(SYS_execve, j->path, j->argv, j->envp);
	syscall(SYS_exit_group, 127);
	return 127;
}

static int outer(void *arg)
{
	struct job *j = arg;
	struct timespec nap = {0, POLL_NS};
	int status = 0;
	long got = 0;
	pid_t pid;

	/* CLONE_VFORK: returns when the inner process has its own memory, or has ended. */
	pid = clone(inner, j->inner_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, j);
	close_from(0); /* the host's devices must not stay open because of us */
	if (pid < 0)
		return 127;
	/* A host that stopped waiting, or died, must not keep its memory because of us either. */
	while (!atomic_load(&j->leave) && syscall(SYS_getppid) == j->host) {
		got = syscall(SYS_wait4, pid, &status, WNOHANG | __WALL, NULL);
		if (got != 0)
			break;
		syscall(SYS_nanosleep, &nap, NULL);
	}
	/* With SIGCHLD ignored the kernel reaps it: no status, and no failure. */
	if (got > 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

static int wait_for(pid_t pid, struct job *j, uint64_t wait_ns)
{
	uint64_t give_up = kbn_clock_ns() + wait_ns;
	int status;

	for (;;) {
		const long got = syscall(SYS_wait4, pid, &status, __WCLONE | WNOHANG, NULL);

		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			return 0; /* someone reaped it with __WALL */
		if (!atomic_load(&j->leave) && kbn_clock_ns() >= give_up) {
			atomic_store(&j->leave, true);
			give_up += 20 * POLL_NS;
		} else if (atomic_load(&j->leave) && kbn_clock_ns() >= give_up) {
			return -2;
		}
		kbn_sleep_ns(POLL_NS);
	}
	if (atomic_load(&j->leave))
		return -2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int kbn_spawn(const char *path, char *const argv[], char *const envp[], uint64_t wait_ns)
{
	size_t bytes = 2 * STACK_BYTES + 4096;
	uint64_t all = ~(uint64_t)0;
	struct job *j;
	char *map;
	pid_t pid;
	int result = -1, saved = errno;

	/* Never unmapped: a process that we stop waiting for still runs on it. */
	map = kbn_map_memory(bytes, PROT_READ | PROT_WRITE);
	if (!map) {
		errno = saved;
		return -1;
	}
	j = (struct job *)(map + 2 * STACK_BYTES);
	j->path = path;
	j->argv = argv;
	j->envp = envp;
	j->host = getpid();
	j->inner_stack = map;
	j->has_stderr = kbn_stderr_is_safe();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &j->mask, SIGSET_BYTES);
	pid = clone(outer, map + 2 * STACK_BYTES, CLONE_VM, j);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &j->mask, NULL, SIGSET_BYTES);
	if (pid > 0)
		result = wait_for(pid, j, wait_ns);
	errno = saved;
	return result;
}
