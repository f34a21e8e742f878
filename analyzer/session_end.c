/*
 * session_end.c - how a recorded process ended: it said so, it is still there, or it was killed.
 * Input: the opened trace, what `kbn run` was told and, on the machine that recorded it, /proc.
 * Output: end, status and duration.
 */
#include "session_join.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec;
}

/*
 * Is the recorded process still there? Its pid may have been taken by another one since, so the
 * start of that process must not be later than the start of the recording.
 */
static bool is_alive(const struct trace *t)
{
	struct timespec mono, boot;
	char path[64], stat[1024], state;
	unsigned long long ticks;
	uint64_t asleep_ns, start_ns;
	const char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/stat", t->head.pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(stat, 1, sizeof(stat) - 1, f);
	fclose(f);
	stat[n] = '\0';
	/* The command name may hold anything, also spaces and parentheses: read behind its end. */
	p = strrchr(stat, ')');
	if (!p ||
	    sscanf(p + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &state, &ticks) != 2)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	asleep_ns = nanoseconds(&boot) - nanoseconds(&mono);
	start_ns = ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	return start_ns <= count_sum(t->head.start_mono_ns, asleep_ns + SECOND_NS);
}

/* For another host or container: somebody wrote to the files within the last seconds. */
static bool is_fresh(const struct trace *t)
{
	struct timespec now;
	uint64_t last_ns = t->head.start_unix_ns + t->counters.heartbeat_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	/* within 3 s before or after now; unsigned, as the file may hold any number */
	return nanoseconds(&now) - last_ns + 3 * SECOND_NS < 6 * SECOND_NS;
}

/* The word of whoever waited for the process, where somebody did. */
static void read_status(const char *dir, struct session_run *run)
{
	char path[PATH_MAX], text[32] = "", kind[8] = "", newline = 0;
	int value, fd = -1;
	ssize_t n = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, KBN_STATUS_FILE) < sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%7s %4d%c", kind, &value, &newline) == 3 && newline == '\n') {
		if (!strcmp(kind, "exit") && value >= 0 && value <= 255)
			run->exit_status = value;
		else if (!strcmp(kind, "signal") && value > 0 && value <= 127)
			run->signal = value;
	}
}

void join_end(struct join_process *p, struct session_run *run)
{
	const struct trace *t = &p->trace;
	char host[64] = "";

	if (!p->has_end)
		run->duration_ns = t->counters.heartbeat_ns > p->last_ns ? t->counters.heartbeat_ns
									 : p->last_ns;
	read_status(t->dir, run);
	if (p->has_end || t->counters.state != KBN_RUNNING) {
		run->end = t->counters.state == KBN_STOPPED ? SESSION_END_STOPPED
							    : SESSION_END_EXIT;
		return;
	}
	if (!gethostname(host, sizeof(host)))
		host[sizeof(host) - 1] = '\0';
	run->end = SESSION_END_KILLED;
	if (run->exit_status >= 0 || run->signal > 0)
		return;
	if (!strcmp(host, run->host) ? is_alive(t) : is_fresh(t))
		run->end = SESSION_END_RUNNING;
}
