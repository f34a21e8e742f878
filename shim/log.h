/*
 * log.h - messages to the user's stderr: few, short, and none with KBN_QUIET.
 */
#ifndef KBN_SHIM_LOG_H
#define KBN_SHIM_LOG_H

/*
 * Write "kbn: <text><detail>" and a newline with one write(2). `detail` may be NULL. Only the first
 * few messages of a process are written. No allocation, no stdio; errno is kept.
 */
void kbn_say(const char *text, const char *detail);

#endif
