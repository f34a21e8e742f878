/*
 * cmd_run_status.c - see cmd_run_status.h. The recorder lives in the process and cannot see its end; who
 * waits for it can. Input: names of process directories (include/TRACE-FORMAT.md), read as they are made.
 */
#include "cmd_run_status.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kbn_trace.h"

uint64_t run_status_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether `n` bytes of a directory's name are this host, in which odd characters were replaced. */
static bool is_this_host(const char *name, size_t n)
{
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) || strlen(host) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (name[i] != host[i] && name[i] != '_')
			return false;
	return true;
}

/* The start in "proc-<host>-<pid>-<start>" when it is of that process of this host, else 0. */
static uint64_t start_of(const char *name, pid_t pid)
{
	const char *host = name + strlen(KBN_PROC_PREFIX), *start = strrchr(name, '-');
	char middle[24];
	size_t n;

	if (strncmp(name, KBN_PROC_PREFIX, strlen(KBN_PROC_PREFIX)))
		return 0;
	n = (size_t)snprintf(middle, sizeof(middle), "-%ld", (long)pid);
	if (start < host + n || strncmp(start - n, middle, n) ||
	    !is_this_host(host, (size_t)(start - n - host)))
		return 0;
	return strtoull(start + 1, NULL, 16);
}

static void write_status(const char *path, int status)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return;
	if (WIFSIGNALED(status))
		fprintf(f, "signal %d\n", WTERMSIG(status));
	else
		fprintf(f, "exit %d\n", WEXITSTATUS(status));
	fclose(f);
}

void run_status_leave(const char *dir, pid_t pid, uint64_t since_ns, int status)
{
	char path[PATH_MAX] = "";
	uint64_t newest = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		uint64_t start = start_of(e->d_name, pid);

		if (start < since_ns || start <= newest)
			continue;
		newest = start;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, e->d_name,
				     KBN_STATUS_FILE) >= sizeof(path))
			path[0] = '\0';
	}
	if (d)
		closedir(d);
	if (path[0])
		write_status(path, status);
}
