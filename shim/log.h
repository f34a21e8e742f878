/*
 * log.h - messages to the user's stderr: few, short, and none with KBN_QUIET.
 */
#ifndef KBN_SHIM_LOG_H
#define KBN_SHIM_LOG_H

#include <stdbool.h>

/*
 * Look at what descriptor 2 is, at the start of a recording: kbn_stderr_is_safe compares with it.
 */
void kbn_stderr_remember(void);

/*
 * Whether descriptor 2 is still a stderr. A program that closed it may have something of its own
 * under that number, where a line of ours would be damage. So anything but a character device must be
 * what was there at the start of the recording, and a file be open for writing alone and stay open
 * across exec, like one that a shell has opened.
 */
bool kbn_stderr_is_safe(void);

/*
 * Write "kbn: <text><detail>" and a newline with one write(2). `detail` may be NULL. Only the first
 * few messages of a process are written, and none when stderr is not safe. No allocation, no stdio; errno is kept.
 */
void kbn_say(const char *text, const char *detail);

#endif
