/*
 * log.c - messages to stderr. A program whose stderr is closed, full or a pipe nobody reads must
 * not notice: one write, no retry, and the result does not matter. Nor may one that uses the number of
 * stderr for a file of its own.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys.h"

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

/* What descriptor 2 was at the start of the recording. */
static struct {
	_Atomic bool known;
	uint64_t device, inode;
} at_start;

/* False when it is closed, or before Linux 4.11, which cannot be asked this way. */
static bool look(struct statx *s, uint64_t *device)
{
	if (syscall(SYS_statx, STDERR_FILENO, "", AT_EMPTY_PATH, STATX_BASIC_STATS, s) != 0)
		return false;
	*device = (uint64_t)s->stx_dev_major << 32 | s->stx_dev_minor;
	return true;
}

void kbn_stderr_remember(void)
{
	const int saved_errno = errno;
	struct statx s;
	uint64_t device;

	atomic_store(&at_start.known, false);
	if (look(&s, &device)) {
		at_start.device = device;
		at_start.inode = s.stx_ino;
		atomic_store(&at_start.known, true);
	}
	errno = saved_errno;
}

static bool is_of_a_shell(void)
{
	const int mode = fcntl(STDERR_FILENO, F_GETFL), flags = fcntl(STDERR_FILENO, F_GETFD);

	return mode >= 0 && (mode & O_ACCMODE) == O_WRONLY && flags >= 0 && !(flags & FD_CLOEXEC);
}

bool kbn_stderr_is_safe(void)
{
	const int saved_errno = errno;
	struct statx s;
	uint64_t device;
	bool safe = false;

	if (look(&s, &device)) {
		const uint32_t type = s.stx_mode & S_IFMT;
		const bool same = !atomic_load(&at_start.known) ||
				  (at_start.device == device && at_start.inode == s.stx_ino);

		safe = type == S_IFCHR || (same && (type == S_IFIFO || type == S_IFSOCK ||
						    (type == S_IFREG && is_of_a_shell())));
	}
	errno = saved_errno;
	return safe;
}

void kbn_say(const char *text, const char *detail)
{
	static _Atomic unsigned said;
	const int saved_errno = errno;
	const char *quiet = secure_getenv("KBN_QUIET");
	char line[MAX_LINE];
	size_t n = 0;

	if ((quiet && *quiet && strcmp(quiet, "0")) || !kbn_stderr_is_safe() ||
	    atomic_fetch_add(&said, 1) >= MAX_MESSAGES)
		return;
	n = append(line, n, "kbn: ");
	n = append(line, n, text);
	n = append(line, n, detail);
	line[n++] = '\n';
	if (kbn_fd_write(STDERR_FILENO, line, n) < 0)
		errno = saved_errno;
}
