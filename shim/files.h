/*
 * files.h - paths and files for the shim: bounded texts without stdio, and file operations that
 * never raise a signal and never hand the program one of its own descriptor numbers. Functions that
 * return int give 0 (or a descriptor), or -1 with errno. The operations can be made to fail (fault.h).
 */
#ifndef KBN_SHIM_FILES_H
#define KBN_SHIM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KBN_PATH_ROOM 1024u /* paths stand on stacks of the program: bounded */

/* A text that grows in `at`; one that does not fit becomes empty and stays so. */
struct kbn_text {
	char *at;
	size_t used, room;
};

void kbn_text_add(struct kbn_text *t, const char *s, size_t n);
void kbn_text_number(struct kbn_text *t, uint64_t n, unsigned base);

/* out[KBN_PATH_ROOM] = a/b; false, and out = "", when that is too long. */
bool kbn_path_join(char *out, const char *a, const char *b);

/* An errno of these functions in words. */
const char *kbn_why_not(int error);

/*
 * Open by absolute path, close-on-exec, mode 0600. Never 0, 1 or 2: in the program's table, one that
 * runs with them closed would write its output into our file; in our own, a sanitizer its messages.
 */
int kbn_file_open(const char *path, int flags);

/* Give [from, from + bytes) blocks on disk; zeros where the file system cannot allocate. */
int kbn_file_extend(int fd, size_t from, size_t bytes);

bool kbn_file_rename(const char *from, const char *to);

/* mkdir, mode 0700. `dirs` makes its parents too (`path` is changed meanwhile); *made: it is new. */
int kbn_make_dir(const char *path);
int kbn_make_dirs(char *path, bool *made);

/* A directory, no link, of this user, that nobody else may write to. */
bool kbn_is_private(const char *path);

#endif
