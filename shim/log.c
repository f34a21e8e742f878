/*
 * log.c - messages to stderr. A program whose stderr is closed, full or a pipe nobody reads must
 * not notice: one write, no retry, and the result does not matter.
 */
#include "log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MESSAGES 16
#define MAX_LINE     512

static size_t append(char *line, size_t used, const char *text)
{
	size_t n = text ? strnlen(text, MAX_LINE) : 0;

	if (n > MAX_LINE - 1 - used)
		n = MAX_LINE - 1 - used;
	memcpy(line + used, text ? text : "", n);
	return used + n;
}

void kbn_say(const char *text, const char *detail)
{
	static _Atomic unsigned said;
	const int saved_errno = errno;
	const char *quiet = secure_getenv("KBN_QUIET");
	char line[MAX_LINE];
	size_t n = 0;

	if ((quiet && *quiet && strcmp(quiet, "0")) || atomic_fetch_add(&said, 1) >= MAX_MESSAGES)
		return;
	n = append(line, n, "kbn: ");
	n = append(line, n, text);
	n = append(line, n, detail);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		errno = saved_errno;
}
