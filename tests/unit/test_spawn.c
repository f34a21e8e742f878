/* unit: shim */
/*
 * test_spawn.c - the report's process: what it gets, and that the host cannot tell: its wait() finds
 * nothing, no SIGCHLD comes, its descriptors, handlers and errno stay as they were.
 */
#include "kbn_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "log.h"
#include "spawn.h"
#include "sys.h"

static char dir[256], out[300];

static int setup(void **state)
{
	(void)state;
	temp_dir(dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_dir(dir);
	return 0;
}

static int sh(const char *script, uint64_t wait_ms)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
	char assign[320];
	char *envp[] = {assign, (char *)"PATH=/usr/bin:/bin", NULL};

	snprintf(assign, sizeof(assign), "OUT=%s", out);
	return kbn_spawn("/bin/sh", argv, envp, wait_ms * 1000000);
}

static char *written(void)
{
	return load_file(out, NULL);
}

static void assert_written(const char *expected)
{
	char *text = written();

	assert_string_equal(text, expected);
	free(text);
}

static _Atomic int children_seen;

static void on_child(int sig)
{
	(void)sig;
	children_seen++;
}

static void test_status_is_returned(void **state)
{
	char *none[] = {NULL};

	(void)state;
	assert_int_equal(sh("exit 0", 5000), 0);
	assert_int_equal(sh("exit 7", 5000), 7);
	assert_int_equal(sh("kill -9 $$", 5000), 128 + 9);
	assert_int_equal(kbn_spawn("/no/such/program", none, none, 5000000000u), 127);
}

static void test_host_cannot_tell(void **state)
{
	struct sigaction act = {.sa_handler = on_child}, old;
	int status;

	(void)state;
	sigaction(SIGCHLD, &act, &old);
	children_seen = 0;
	errno = 4711;
	assert_int_equal(sh("exit 3", 5000), 3);
	assert_int_equal(errno, 4711);
	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(children_seen, 0);
	sigaction(SIGCHLD, &old, NULL);
}

static void test_host_that_ignores_children(void **state)
{
	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(sh("echo done >$OUT", 5000), 0);
	signal(SIGCHLD, SIG_DFL);
	assert_written("done\n");
}

/* A host that reaps everything it finds, in a thread of its own or in a loop. */
static void test_host_child_is_left_to_the_host(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(42);
	usleep(20000);
	assert_int_equal(sh("exit 0", 5000), 0);
	assert_int_equal(waitpid(-1, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
}

/* What a command prints, both streams; with stderr of this process sent to a file meanwhile. */
static char *printed_into(int mode, const char *path, char *const argv[])
{
	int saved = dup(2), fd = open(out, mode | O_CREAT | O_TRUNC, 0600);
	char *envp[] = {NULL};

	dup2(fd, 2);
	assert_int_equal(kbn_spawn(path, argv, envp, 5000000000u), 0);
	dup2(saved, 2);
	close(saved);
	close(fd);
	return written();
}

static char *printed(const char *path, char *const argv[])
{
	return printed_into(O_WRONLY, path, argv);
}

static void test_descriptors_of_the_child(void **state)
{
	char *const ls[] = {(char *)"ls", (char *)"-l", (char *)"/proc/self/fd/", NULL};
	int fd = open("/dev/null", O_RDONLY);
	char *text;

	(void)state;
	assert_true(fd > 2);
	assert_int_equal(dup2(fd, 77), 77); /* would be inherited through exec */
	text = printed("/bin/ls", ls);
	assert_non_null(strstr(text, " 0 -> /dev/null\n"));
	assert_non_null(strstr(text, " 1 -> "));
	assert_null(strstr(text, " 77 -> "));
	free(text);
	close(77);
	close(fd);
}

static void test_signals_of_the_child(void **state)
{
	/* Not a shell: that sets a mask of its own. */
	char *const grep[] = {(char *)"grep", (char *)"SigBlk\\|SigIgn",
			      (char *)"/proc/self/status", NULL};
	sigset_t block, old;
	char *text;

	(void)state;
	sigemptyset(&block);
	sigaddset(&block, SIGUSR2);
	sigprocmask(SIG_BLOCK, &block, &old);
	signal(SIGUSR1, on_child);
	signal(SIGINT, SIG_DFL); /* a shell ignores these two for what it runs in the background */
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	text = printed("/bin/grep", grep);
	signal(SIGHUP, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_non_null(
		strstr(text, "SigBlk:\t0000000000000800")); /* SIGUSR2, as the host has it */
	/* SIGHUP; make(1) leaves the two that belong to the C library ignored */
	assert_non_null(strstr(text, "SigIgn:\t"));
	assert_int_equal(strtoull(strstr(text, "SigIgn:\t") + 8, NULL, 16) & 0x7fffffff, 1);
	free(text);
}

/* Descriptor 2 is a file that the host reads and writes itself, or another one than at the start. */
static void test_a_file_of_the_host_is_left_alone(void **state)
{
	char *const ls[] = {(char *)"ls", (char *)"/", NULL};
	char *text = printed_into(O_RDWR, "/bin/ls", ls);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	kbn_stderr_remember();
	text = printed_into(O_WRONLY, "/bin/ls", ls);
	assert_string_equal(text, "");
	free(text);
}

static void test_closed_standard_descriptors(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		close(0);
		close(1);
		close(2);
		_exit(sh("echo to nowhere; echo alive >$OUT", 5000));
	}
	waitpid(pid, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_written("alive\n");
}

static void test_wait_is_bounded_and_the_child_lives_on(void **state)
{
	uint64_t begin = kbn_clock_ns();
	int status;

	(void)state;
	assert_int_equal(sh("sleep 0.6; echo late >$OUT", 100), -2);
	assert_true(kbn_clock_ns() - begin < 500000000u);
	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
	usleep(900000);
	assert_written("late\n");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_status_is_returned),
		CASE(test_host_cannot_tell),
		CASE(test_host_that_ignores_children),
		CASE(test_host_child_is_left_to_the_host),
		CASE(test_descriptors_of_the_child),
		CASE(test_signals_of_the_child),
		CASE(test_a_file_of_the_host_is_left_alone),
		CASE(test_closed_standard_descriptors),
		CASE(test_wait_is_bounded_and_the_child_lives_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
