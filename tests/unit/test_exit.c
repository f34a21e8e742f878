/* unit: shim */
/*
 * test_exit.c - the exit handler: seals, then runs `kbn` (a script here) in an environment without
 * the preload; and the cases in which it must not.
 */
#include "kbn_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exit.h"
#include "state.h"
#include "writer.h"

static char dir[256], out[300];
static const uint32_t alive = 1, wiped = 0;

static int setup(void **state)
{
	char script[300], text[1024];
	FILE *f;

	(void)state;
	temp_dir(dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	snprintf(script, sizeof(script), "%s/kbn", dir);
	f = fopen(script, "w");
	snprintf(text, sizeof(text), "#!/bin/sh\n{ echo args \"$@\"; /usr/bin/env; } >%s\n", out);
	fputs(text, f);
	fclose(f);
	chmod(script, 0755);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_dir(dir);
	return 0;
}

/* What differs from case to case. */
struct how {
	const char *report;
	int world;
	bool defer, twice, is_forked_child;
	uint32_t wait_ms;
};

/* Runs the handler in a process of its own; returns its exit status. */
static int at_exit_of(struct how h)
{
	char run[300], path[700];
	int status;
	pid_t pid;

	/* A folder of that name is no program, though it can be "executed". */
	snprintf(path, sizeof(path), "%s/folder/kbn", dir);
	if (mkdir(strcat(strcpy(run, dir), "/folder"), 0755) == 0)
		mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/folder:%s", dir, dir);
	pid = fork();

	if (pid == 0) {
		const char *why;
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2); /* the loader complains about the preload that does not exist */
		snprintf(run, sizeof(run), "%s/run", dir);
		/* This program takes the place of libkbn.so: the code stands in it. */
		setenv("LD_PRELOAD", "/a/first.so:/b/test_exit /c/last.so", 1);
		setenv("CUDA_INJECTION64_PATH", "/b/test_exit", 1);
		setenv("NVTX_INJECTION64_PATH", "/d/other.so", 1);
		setenv("KBN_REPORT", "md", 1);
		setenv("PATH", path, 1);
		if (kbn_writer_open(run, 64, &why) < 0)
			_exit(100);
		kbn_settings.text[KBN_ENV_REPORT] = h.report;
		kbn_settings.world = h.world;
		kbn_settings.defer = h.defer;
		kbn_settings.exit_wait_ms = h.wait_ms;
		kbn_live = h.is_forked_child ? &wiped : &alive;
		errno = 77;
		kbn_exit_handler();
		if (errno != 77)
			_exit(101);
		if (h.twice) {
			unlink(out);
			kbn_exit_handler();
		}
		_exit((int)kbn_writer_header()->state);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool ran(void)
{
	return access(out, F_OK) == 0;
}

static void test_seals_and_reports(void **state)
{
	char expected[400];
	char *text;

	(void)state;
	assert_int_equal(at_exit_of((struct how){.report = "md", .wait_ms = 10000}), KBN_SEALED);
	assert_true(ran());
	text = load_file(out, NULL);
	snprintf(expected, sizeof(expected), "args report %s/run --at-exit\n", dir);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "\nLD_PRELOAD=/a/first.so:/c/last.so\n"));
	assert_null(strstr(text, "CUDA_INJECTION64_PATH"));
	assert_non_null(strstr(text, "\nNVTX_INJECTION64_PATH=/d/other.so\n"));
	assert_non_null(strstr(text, "\nKBN_REPORT=md\n"));
	free(text);
}

static void test_only_seals(void **state)
{
	static const struct how cases[] = {
		{.report = "none", .wait_ms = 10000},
		{.report = "md", .wait_ms = 10000, .defer = true},
		{.report = "md", .wait_ms = 10000, .world = 8},
		{.report = "md", .wait_ms = 0},
		{.report = "md", .wait_ms = 10000, .twice = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(at_exit_of(cases[i]), KBN_SEALED);
		assert_false(ran());
	}
}

static void test_forked_child_does_nothing(void **state)
{
	struct how h = {.report = "md", .wait_ms = 10000, .is_forked_child = true};

	(void)state;
	assert_int_equal(at_exit_of(h), KBN_RUNNING);
	assert_false(ran());
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_seals_and_reports),
		CASE(test_only_seals),
		CASE(test_forked_child_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
