/*
 * cmd_run_child.c - see cmd_run_child.h. Signals are waited for, not handled: from before the fork
 * on all of them are blocked here, so none is lost, and none comes before we know whom it is for.
 */
#include "cmd_run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- LD_PRELOAD ---- */

static bool starts_with_one_of(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Sanitizer runtimes insist on being the first in the list. */
static bool is_sanitizer(const char *name)
{
	static const char *const runtimes[] = {"libasan", "libtsan", "liblsan", "libubsan",
					       "libclang_rt."};

	return starts_with_one_of(name, runtimes, sizeof(runtimes) / sizeof(runtimes[0]));
}

static void add_item(char *list, const char *item, size_t bytes)
{
	size_t used = strlen(list);

	sprintf(list + used, "%s%.*s", used ? ":" : "", (int)bytes, item);
}

/*
 * Put `library` in front of LD_PRELOAD, behind sanitizers; what is there stays, but for another
 * copy of the recorder: two would count everything twice. 0 or -1.
 */
static int set_preload(const char *library)
{
	static const char ours[] = "libkbn.so";
	const char *old = getenv("LD_PRELOAD"), *item, *base;
	bool is_placed = false;
	char *list;
	size_t n;
	int rc;

	old = old ? old : "";
	list = calloc(strlen(old) + strlen(library) + 3, 1);
	if (!list)
		return -1;
	for (item = old; *(item += strspn(item, " :")); item += n) {
		n = strcspn(item, " :");
		for (base = item + n; base > item && base[-1] != '/'; base--)
			;
		if ((size_t)(item + n - base) == strlen(ours) && !strncmp(base, ours, strlen(ours)))
			continue;
		if (!is_placed && !is_sanitizer(base)) {
			add_item(list, library, strlen(library));
			is_placed = true;
		}
		add_item(list, item, n);
	}
	if (!is_placed)
		add_item(list, library, strlen(library));
	rc = setenv("LD_PRELOAD", list, 1);
	free(list);
	return rc;
}

/* ---- signals ---- */

/* Passed on. SIGCHLD stands first: it only needs its default, so that the status is kept for us. */
static const int signals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* Also those that were ignored (nohup): the program may have installed a handler since. */
static void take_signals(struct sigaction old[SIGNALS])
{
	const struct sigaction sa = {.sa_handler = SIG_DFL};

	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &sa, &old[i]);
}

static void restore_signals(const struct sigaction old[SIGNALS])
{
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &old[i], NULL);
}

/* Forget a pending `sig` of this process; whether there was one. */
static bool take_pending(int sig)
{
	const struct timespec now = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, sig);
	return sigtimedwait(&one, NULL, &now) == sig;
}

/*
 * The program stays in our process group, as it would be without us. So a signal to the group (^C,
 * `kill -- -PGID`, kill 0) has reached it already, and one to our pid alone has not; nothing in a
 * signal tells which it was. The witness is a process of the group that all signals are blocked
 * in: what is pending there was sent to the group.
 */
struct witness {
	pid_t pid; /* -1 = there is none */
	int fd;    /* we write a signal number and read whether it was pending, a byte each */
};

/* timeout(1) and others send to the pid, then to the group: so long we wait for the second. */
#define GROUP_FOLLOWS_MS 20
#define ANSWER_MS        1000

static void witness_main(int fd)
{
	unsigned char sig, answer;

	while (read(fd, &sig, 1) == 1) {
		answer = take_pending(sig);
		if (write(fd, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

/* All signals are blocked. Ends with us, however we end: its socket is closed then. */
static struct witness witness_start(void)
{
	struct witness w = {-1, -1};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return w;
	w.fd = pair[0];
	w.pid = fork();
	if (w.pid == 0) {
		close(pair[0]);
		witness_main(pair[1]);
	}
	close(pair[1]);
	return w;
}

static void witness_end(struct witness *w)
{
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct witness){-1, -1};
}

/* Whether the group was sent `sig` since it was last asked: 1, 0, or -1 = there is no witness. */
static int witness_saw(struct witness *w, int sig)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	unsigned char byte = (unsigned char)sig;

	if (w->pid < 0)
		return -1;
	if (send(w->fd, &byte, 1, MSG_NOSIGNAL) == 1 && poll(&p, 1, ANSWER_MS) == 1 &&
	    read(w->fd, &byte, 1) == 1)
		return byte;
	witness_end(
		w); /* killed or stopped by somebody: a late answer would be taken for the next */
	return -1;
}

bool signal_is_ours_to_give(int witness_saw_it, int si_code, bool in_our_group)
{
	if (witness_saw_it < 0) /* of the kernel: by the terminal, to the whole group */
		witness_saw_it = si_code > 0;
	return !witness_saw_it || !in_our_group;
}

/*
 * One signal came: give it to the program unless that has it already. Two of a kind in quick
 * succession become one, as they may anywhere. What stays undecided: a sender that lets more than
 * GROUP_FOLLOWS_MS pass between pid and group is heard twice, as it is by a program without us.
 */
static void pass_on(pid_t program, struct witness *w, const siginfo_t *info)
{
	const struct timespec wait = {0, GROUP_FOLLOWS_MS * 1000000L};
	const int sig = info->si_signo;

	nanosleep(&wait, NULL);
	take_pending(sig);
	if (signal_is_ours_to_give(witness_saw(w, sig), info->si_code,
				   getpgid(program) == getpgrp()))
		kill(program, sig);
}

/* Until the program ends; its status. Not reaped meanwhile, so its pid cannot become another's. */
static int supervise(pid_t program, struct witness *w)
{
	sigset_t set;
	int status = 0;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	while (waitpid(program, &status, WNOHANG) == 0) {
		siginfo_t info;

		if (sigwaitinfo(&set, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(program, w, &info);
	}
	witness_end(w);
	/* those that came with its end were for it */
	for (size_t i = 0; i < SIGNALS; i++)
		take_pending(signals[i]);
	return status;
}

/* ---- the program ---- */

/* In the new process. Does not return; what failed is told through `tell`. */
static void become(char **argv, const char *library, int tell)
{
	int failed;

	if (set_preload(library) == 0)
		execvp(argv[0], argv);
	failed = errno;
	if (write(tell, &failed, sizeof(failed)) < 0) {
		/* nobody to tell: the exit status below has to do */
	}
	_exit(failed == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC);
}

int run_child(char **argv, const char *library, pid_t *started, int *code)
{
	struct sigaction old[SIGNALS];
	struct witness w;
	sigset_t all, mask;
	int tell[2], status = 0, failed = 0;
	pid_t pid;

	*code = EXIT_CANNOT_EXEC;
	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	take_signals(old);
	/* before the program, whose first act may make somebody signal the group */
	w = witness_start();
	if (pipe2(tell, O_CLOEXEC)) {
		tell[0] = tell[1] = -1;
		failed = errno;
	}
	pid = failed ? -1 : fork();
	if (pid == 0) {
		restore_signals(old);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		become(argv, library, tell[1]);
	}
	if (pid < 0 && !failed)
		failed = errno;
	*started = pid;
	close(tell[1]);
	if (pid > 0) {
		if (read(tell[0], &failed, sizeof(failed)) != (ssize_t)sizeof(failed))
			failed = 0;
		status = supervise(pid, &w);
	}
	close(tell[0]);
	witness_end(&w);
	restore_signals(old);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (failed) {
		fprintf(stderr, "kbn run: cannot run %s: %s\n", argv[0], strerror(failed));
		*code = failed == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
		return -1;
	}
	return status;
}
