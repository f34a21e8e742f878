/*
 * exit.c - the end of a recording. Input: whatever is still open when the program's exit handlers
 * run. Output: a sealed process directory, and the report made by `kbn` in a process of its own.
 *
 * Returns in bounded time, whatever the driver, the disk or the report do.
 */
#include "exit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filer.h"
#include "image.h"
#include "log.h"
#include "spawn.h"
#include "state.h"
#include "timing.h"
#include "writer.h"

#define PATH_ROOM  1024u
#define MAPS_BYTES (64u << 20)
#define OFF_NS     100000000u /* after the recording was turned off only the threads are stopped */

extern char **environ;

/* ---------------------------------------------------------------------------------- environment */

/* "from-to perms ... /path": whether `at` lies in it; then its path is put in `out`. */
static bool line_has(const char *line, uintptr_t at, char out[PATH_ROOM])
{
	char *end;
	uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, NULL, 16);
	const char *path = strchr(line, '/');

	if (at < from || at >= to || !path || strlen(path) >= PATH_ROOM)
		return false;
	memcpy(out, path, strlen(path) + 1);
	return true;
}

/* The file that is mapped at `at`: a line of /proc/self/maps. */
static bool mapped_file(uintptr_t at, char out[PATH_ROOM])
{
	size_t bytes;
	char *maps = kbn_filer_read("/proc/self/maps", MAPS_BYTES, &bytes), *end;
	bool found = false;

	if (!maps)
		return false;
	for (char *line = maps; !found && (end = memchr(line, '\n', bytes - (size_t)(line - maps)));
	     line = end + 1) {
		*end = '\0';
		found = line_has(line, at, out);
	}
	munmap(maps, bytes);
	return found;
}

/*
 * Path of this library. The loader keeps the name that it was given, which may be relative to a
 * directory that the program has left; the kernel knows the file.
 */
static const char *own_path(void)
{
	static char path[PATH_ROOM];
	Dl_info info;

	if (mapped_file((uintptr_t)kbn_exit_handler, path))
		return path;
	return dladdr((void *)(uintptr_t)kbn_exit_handler, &info) && info.dli_fname ? info.dli_fname
										    : "libkbn.so";
}

static const char *base_name(const char *path, size_t n, size_t *bytes)
{
	size_t at = n;

	while (at > 0 && path[at - 1] != '/')
		at--;
	*bytes = n - at;
	return path + at;
}

static bool names_us(const char *entry, size_t n, const char *own)
{
	size_t a, b;
	const char *x = base_name(entry, n, &a), *y = base_name(own, strlen(own), &b);

	return a == b && memcmp(x, y, a) == 0;
}

/* "LD_PRELOAD=..." without our entry; NULL when nothing remains. The list is split by : and blank. */
static char *without_us(const char *variable, const char *own)
{
	const char *at = strchr(variable, '=') + 1;
	size_t used = (size_t)(at - variable);
	char *out = kbn_alloc(strlen(variable) + 1);
	bool any = false;

	if (!out)
		return NULL;
	memcpy(out, variable, used);
	while (*at) {
		size_t n = strcspn(at, ": ");

		if (n && !names_us(at, n, own)) {
			if (any)
				out[used++] = ':';
			memcpy(out + used, at, n);
			used += n;
			any = true;
		}
		at += n + (at[n] != '\0');
	}
	out[used] = '\0';
	return any ? out : NULL;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* The environment for the report: ours, without anything that would load us there. */
static char **child_environment(const char *own)
{
	size_t n = 0, used = 0;
	char **out;

	while (environ && environ[n])
		n++;
	out = kbn_alloc((n + 1) * sizeof(*out));
	if (!out)
		return NULL;
	for (size_t i = 0; i < n && environ[i]; i++) {
		char *entry = environ[i];

		if (is_variable(entry, "LD_PRELOAD"))
			entry = without_us(entry, own);
		else if ((is_variable(entry, "CUDA_INJECTION64_PATH") ||
			  is_variable(entry, "NVTX_INJECTION64_PATH")) &&
			 names_us(entry, strlen(entry), own))
			entry = NULL;
		if (entry)
			out[used++] = entry;
	}
	return out;
}

/* --------------------------------------------------------------------------------------- report */

/* A folder `kbn` is none. Before Linux 4.11 there is no answer, and none counts as yes. */
static bool is_file(const char *path)
{
	struct statx s;

	return syscall(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &s) != 0 || S_ISREG(s.stx_mode);
}

/* out = dir[0 .. n) + tail when that is a program. */
static bool usable(char *out, const char *dir, size_t n, const char *tail)
{
	size_t m = strlen(tail);

	if (n + m >= PATH_ROOM)
		return false;
	memcpy(out, dir, n);
	memcpy(out + n, tail, m + 1);
	return is_file(out) && access(out, X_OK) == 0;
}

/* The program `kbn`: beside this library, in ../bin, in PATH. */
static bool find_kbn(char *out, const char *own)
{
	const char *slash = strrchr(own, '/');
	size_t dir = slash ? (size_t)(slash - own) : 0;
	const char *path = secure_getenv("PATH");

	if (slash && (usable(out, own, dir, "/kbn") || usable(out, own, dir, "/../bin/kbn")))
		return true;
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && usable(out, path, n, "/kbn"))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool wants_report(void)
{
	return strcmp(kbn_settings.text[KBN_ENV_REPORT], "none") != 0 && !kbn_settings.defer &&
	       kbn_settings.world <= 1 && kbn_settings.exit_wait_ms > 0;
}

static void report(void)
{
	static char program[PATH_ROOM];
	static char *argv[] = {program, "report", NULL, "--at-exit", NULL};
	const char *own = own_path();
	char **envp;
	int status = -1;

	argv[2] = (char *)(uintptr_t)kbn_writer_run_dir();
	if (!find_kbn(program, own)) {
		kbn_say("no kbn program found; recorded in ", kbn_writer_run_dir());
		return;
	}
	envp = child_environment(own);
	if (envp)
		status = kbn_spawn(program, argv, envp,
				   (uint64_t)kbn_settings.exit_wait_ms * 1000000u);
	if (status == -2)
		kbn_say("the report is still being written to ", kbn_writer_run_dir());
	else if (status != 0)
		kbn_say("no report; recorded in ", kbn_writer_run_dir());
}

void kbn_exit_handler(void)
{
	static _Atomic uint32_t done_epoch;
	struct kbn_rec_end end = {0};
	uint64_t deadline;
	int saved = errno;

	if (!kbn_recording()) {
		/* Turned off, or a forked child, which has no drain thread and returns at once. */
		kbn_drain_finish(kbn_now_ns() + OFF_NS);
		errno = saved;
		return;
	}
	/* Registered once per recording: a child that records on its own has its parent's entry too. */
	if (atomic_exchange(&done_epoch, kbn_writer_epoch()) != kbn_writer_epoch()) {
		deadline = kbn_now_ns() + (uint64_t)kbn_settings.seal_wait_ms * 1000000u;
		end.unfinished = kbn_drain_finish(deadline);
		end.images_lost = kbn_image_finish(deadline);
		end.mono_ns = kbn_now_ns();
		kbn_writer_seal(KBN_SEALED, &end);
		if (wants_report())
			report();
	}
	errno = saved;
}
