/*
 * files.c - see files.h. No stdio, no allocation. Called on the thread of filer.h; where that has no
 * descriptor table of its own, the program may close or reuse any number at any time.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "sys.h"

static bool faulty(void)
{
	if (!kbn_fault(KBN_FAULT_WRITE))
		return false;
	errno = ENOSPC;
	return true;
}

/* ------------------------------------------------------------------------------------- texts */

void kbn_text_add(struct kbn_text *t, const char *s, size_t n)
{
	if (t->used + n >= t->room) {
		t->room = 0;
		t->used = 0;
		t->at[0] = '\0';
		return;
	}
	memcpy(t->at + t->used, s, n);
	t->used += n;
	t->at[t->used] = '\0';
}

void kbn_text_number(struct kbn_text *t, uint64_t n, unsigned base)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	kbn_text_add(t, digits + at, sizeof(digits) - at);
}

bool kbn_path_join(char *out, const char *a, const char *b)
{
	struct kbn_text t = {out, 0, KBN_PATH_ROOM};

	kbn_text_add(&t, a, strlen(a));
	kbn_text_add(&t, "/", 1);
	kbn_text_add(&t, b, strlen(b));
	return out[0] != '\0';
}

const char *kbn_why_not(int error)
{
	switch (error) {
	case EACCES:
	case EPERM: return "permission denied";
	case ENOSPC:
	case EDQUOT: return "no space left";
	case EFBIG: return "file size limit reached";
	case EROFS: return "read-only file system";
	case EMFILE:
	case ENFILE: return "too many open files";
	case ENAMETOOLONG: return "path too long";
	case ENOTDIR:
	case EEXIST: return "the name is taken by something else";
	case ENOMEM: return "out of memory";
	default: return "the file system refused";
	}
}

/* ------------------------------------------------------------------------------------- files */

int kbn_file_open(const char *path, int flags)
{
	int fd, high;

	if (faulty())
		return -1;
	fd = kbn_fd_open(path, flags | O_NOFOLLOW);
	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	kbn_fd_close(fd);
	return high;
}

/* Whether a file may become `end` bytes long. Past RLIMIT_FSIZE the kernel sends SIGXFSZ. */
static bool may_grow(size_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	       end <= limit.rlim_cur;
}

static int write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	if (faulty())
		return -1;
	while (bytes) {
		ssize_t n = kbn_fd_write(fd, at, bytes < (16u << 20) ? bytes : 16u << 20);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int kbn_file_extend(int fd, size_t from, size_t bytes)
{
	static const char zeros[4096];

	if (faulty())
		return -1;
	if (kbn_fault(KBN_FAULT_STALL))
		kbn_sleep_ns(KBN_STALL_NS);
	if (!may_grow(from + bytes)) {
		errno = EFBIG;
		return -1;
	}
	if (syscall(SYS_fallocate, fd, 0, (off_t)from, (off_t)bytes) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != EINTR)
		return -1;
	if (lseek(fd, (off_t)from, SEEK_SET) < 0)
		return -1;
	while (bytes) {
		size_t n = bytes < sizeof(zeros) ? bytes : sizeof(zeros);

		if (write_all(fd, zeros, n) < 0)
			return -1;
		bytes -= n;
	}
	return 0;
}

int kbn_make_dir(const char *path)
{
	if (faulty())
		return -1;
	return mkdir(path, 0700);
}

int kbn_make_dirs(char *path, bool *made)
{
	*made = true;
	if (kbn_make_dir(path) == 0)
		return 0;
	if (errno == EEXIST) {
		*made = false;
		return 0; /* if it is no directory, the next step says so */
	}
	if (errno != ENOENT)
		return -1;
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (kbn_make_dir(path) < 0 && errno != EEXIST) {
			*slash = '/';
			return -1;
		}
		*slash = '/';
	}
	return kbn_make_dir(path);
}

bool kbn_is_private(const char *path)
{
	struct statx s;

	if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &s) != 0)
		return false;
	return S_ISDIR(s.stx_mode) && s.stx_uid == geteuid() && !(s.stx_mode & 022);
}

bool kbn_file_rename(const char *from, const char *to)
{
	if (faulty())
		return false;
	return rename(from, to) == 0;
}
