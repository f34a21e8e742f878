/*
 * session_end.c - how a recorded process ended: it said so, it is still there, or it was killed.
 * Input: the opened trace and, on the machine that recorded it, /proc. Output: end and duration.
 */
#include "session_join.h"

#include <stdio.h>
#include <string.h>
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

void join_end(struct join_process *p, struct session_run *run)
{
	const struct trace *t = &p->trace;
	char host[64] = "";

	if (!p->has_end)
		run->duration_ns = t->counters.heartbeat_ns > p->last_ns ? t->counters.heartbeat_ns
									 : p->last_ns;
	if (p->has_end || t->counters.state != KBN_RUNNING) {
		run->end = SESSION_END_EXIT;
		return;
	}
	if (!gethostname(host, sizeof(host)))
		host[sizeof(host) - 1] = '\0';
	run->end = SESSION_END_KILLED;
	if (!strcmp(host, run->host) ? is_alive(t) : is_fresh(t))
		run->end = SESSION_END_RUNNING;
}
